"""Figures of the house: how much there is, in how many files, and how far five jobs walk through them.

    python tools/house.py [OTHER/src]           this checkout, or another one
    python tools/house.py --list 1000           the hops of the jobs whose name holds that word

A *hop* is a pair of files of which one calls the other. The jobs: rho of Laplace, epsilon of 1000 Laplace, DP-SGD,
`zcdp account --html`, and a release of a small table.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SMALL = 40
"""Modules below so many lines are rarely an idea of their own."""
PLAN = """
[data]
unit = "person"
[domain]
region = ["A", "B"]
[[query]]
name = "n"
measure = "count"
by = ["region"]
mechanism = "DiscreteLaplace(epsilon=1)"
"""


def sizes(package: Path) -> dict[str, int]:
    """Counts of files, lines and names."""
    files = sorted(package.rglob("*.py"))
    modules = [path for path in files if path.name not in {"__init__.py", "__main__.py"}]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    constants = [name for text in texts.values() for name in re.findall(r"^([A-Z][A-Z0-9_]+)(?:: .*)? = ", text, re.M)]
    return {
        "files": len(files),
        "modules, without __init__ and __main__": len(modules),
        "lines": sum(len(text.splitlines()) for text in texts.values()),
        "lines of code": sum(_code_lines(text) for text in texts.values()),
        f"modules below {SMALL} lines": sum(len(texts[path].splitlines()) < SMALL for path in modules),
        "names of modules that occur twice": sum(n > 1 for n in Counter(path.name for path in modules).values()),
        "module constants": len(constants),
        "names of constants": len(set(constants)),
        "names of constants in five files or more": sum(n >= 5 for n in Counter(constants).values()),
    }


def _code_lines(text: str) -> int:
    """Lines on which something stands that is no comment and no docstring."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            last = node.body[0].lineno - 1 if getattr(node, "body", None) else node.end_lineno or node.lineno
            lines.update(range(node.lineno, max(last, node.lineno) + 1))
    return len(lines)


def jobs(folder: Path) -> dict[str, Callable[[], object]]:
    """The five jobs, each ready to run."""
    import zcdp
    from zcdp.cli import main
    from zcdp.release import release

    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    (folder / "persons.csv").write_text("person,region\n" + "".join(f"{n},A\n" for n in range(9)), encoding="utf-8")
    census, page = str(ROOT / "examples" / "census.toml"), str(folder / "page.html")
    return {
        "rho of Laplace": lambda: zcdp.Laplace(epsilon=1).rho,
        "1000 Laplace": lambda: (1000 * zcdp.Laplace(epsilon=0.1)).epsilon_at(delta=1e-6),
        "DP-SGD": lambda: (1000 * zcdp.Subsampled(zcdp.Gaussian(sigma=1), rate="0.01")).epsilon_at(delta=1e-5),
        "account --html": lambda: main(["account", census, "--html", page]),
        "release": lambda: release(folder / "plan.toml", folder / "persons.csv", ledger=None),
    }


def hops(package: Path, job: Callable[[], object]) -> tuple[set[str], set[tuple[str, str]]]:
    """The files that a job enters, and the pairs of them of which one calls the other."""
    files: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    root = f"{package}/"

    def place(frame: FrameType | None) -> str | None:
        name = frame.f_code.co_filename if frame else ""
        return name.removeprefix(root) if name.startswith(root) else None

    def look(frame: FrameType, event: str, _: Any) -> None:
        here = place(frame)
        if event != "call" or here is None:
            return
        files.add(here)
        there = place(frame.f_back)
        if there is not None and there != here:
            pairs.add((there, here))

    job()  # what is imported the first time is no part of the way
    sys.setprofile(look)
    try:
        job()
    finally:
        sys.setprofile(None)
    return files, pairs


def report(source: Path, listed: str | None) -> None:
    """Print the figures, or the hops of some jobs."""
    sys.path.insert(0, str(source))
    import zcdp

    package = Path(zcdp.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        if listed is None:
            for name, count in sizes(package).items():
                print(f"{count:8}  {name}")
        for name, job in jobs(Path(folder)).items():
            if listed is not None and listed not in name:
                continue
            files, pairs = hops(package, job)
            both = sum((two, one) in pairs for one, two in pairs) // 2
            print(
                f"{name}: {len(files)} files, {len(pairs)} hops, {both} pairs that call each other both ways",
                flush=True,
            )
            if listed is not None:
                print(*(f"    {one} -> {two}" for one, two in sorted(pairs)), sep="\n")


if __name__ == "__main__":
    words = sys.argv[1:]
    wanted = words[words.index("--list") + 1] if "--list" in words else None
    others = [word for word in words if not word.startswith("--") and word != wanted]
    report(Path(others[0] if others else ROOT / "src").resolve(), wanted)
