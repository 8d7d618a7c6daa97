"""How many files a question passes on its way to an answer, and how often it goes from one to another.

`python tools/hops.py [OTHER/src]` asks two questions of this checkout, or of another one, and counts for each the files
that are entered and the *hops*: pairs of files of which one calls the other. What `zcdp.numeric` does is arithmetic,
not a step on the way; the second pair of numbers counts it too. `--list` names the hops.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

OFF_LATTICE = " + ".join(f"Laplace(epsilon={0.1 + 0.0137 * n**1.3})" for n in range(30))
QUESTIONS = {"1000 Laplace": "1000 * Laplace(epsilon=0.1)", "a plan on no lattice": OFF_LATTICE}
TRANSPARENT = ("numeric/threads.py", "text/calls.py")  # what is computed once, or explained, is asked for by the caller


def hops(package: Path, text: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The files entered by `epsilon_at` of the plan, and the pairs of them that call one another."""
    from zcdp import Plan

    files: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    root = f"{package}/"

    def place(frame: FrameType | None) -> str | None:
        name = frame.f_code.co_filename if frame else ""
        return name.removeprefix(root) if name.startswith(root) else None

    def look(frame: FrameType, event: str, _: Any) -> None:
        here, before = place(frame), frame.f_back
        if event != "call" or here is None or here in TRANSPARENT:
            return
        files.add(here)
        while place(before) in TRANSPARENT:
            before = before.f_back if before else None
        there = place(before)
        if there is not None and there != here:
            pairs.add((there, here))

    Plan.parse(text).epsilon_at(delta="1e-6")  # what is imported at the first question is no part of the way
    plan = Plan.parse(text)
    sys.setprofile(look)
    try:
        plan.epsilon_at(delta="1e-6")
    finally:
        sys.setprofile(None)
    return files, pairs


def main(source: Path, *, listed: bool) -> None:
    """Count, and print."""
    sys.path.insert(0, str(source))
    import zcdp

    package = Path(zcdp.__file__).parent
    for name, text in QUESTIONS.items():
        files, pairs = hops(package, text)
        own = {pair for pair in pairs if not any(one.startswith("numeric/") for one in pair)}
        rooms = {one for one in files if not one.startswith("numeric/")}
        print(f"{name}: {len(rooms)} files, {len(own)} hops ({len(files)} and {len(pairs)} with numeric)")
        for one in sorted({pair[0] for pair in own}) if listed else ():
            print(f"    {one} -> {', '.join(sorted(there for here, there in own if here == one))}")


if __name__ == "__main__":
    places = [Path(text).resolve() for text in sys.argv[1:] if text != "--list"]
    main(places[0] if places else Path(__file__).parent.parent / "src", listed="--list" in sys.argv)
