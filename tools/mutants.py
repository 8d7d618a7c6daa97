"""Plants a kept list of bugs one at a time, runs the tests that must notice each, and prints those that nobody notices.

    python tools/mutants.py                    every bug of tools/mutants.toml
    python tools/mutants.py samplers "count"   those whose file, function or harm holds one of the words
    python tools/mutants.py --check            only that each can still be planted, and that its tests are still there

An entry names a function (`Filter.spend`; a class or a constant where it is none), a short text that stands once in
it, what replaces that, the harm that this does, and the tests that must turn red: so that neither moving a function
nor changing another line of it touches the list. Where several files have such a function with such a text, the file's
name stands before it (`grid: _rounded`). One with `survives` is out of reach of every test, for the reason given
there. The working tree is never touched: the bugs go into copies of it, one for each processor.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "zcdp")
LEFT_OUT = ".git", ".venv*", "build", "dist", ".*_cache", ".hypothesis", "__pycache__"
WORKERS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SECONDS = 600  # for the tests of one bug
PASSED, FAILED = 0, 1  # what pytest returns; all else means that it did not run the tests


class Place(NamedTuple):
    """A function, class or constant of the package, by its offsets in its file."""

    file: Path
    """Below src/zcdp."""
    start: int
    end: int


def places(package: Path) -> dict[str, list[Place]]:
    """All that a bug can be planted in, by its qualified name."""
    found: dict[str, list[Place]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        starts = [0, *accumulate(len(line) for line in source.splitlines(keepends=True))]

        def visit(node: ast.AST, prefix: str, file: Path, starts: list[int]) -> None:
            for child in ast.iter_child_nodes(node):
                inner = prefix
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                    name = f"{prefix}{child.name}"
                    found[name].append(Place(file, starts[first - 1], starts[child.end_lineno or first]))
                    inner = f"{name}."
                elif isinstance(child, ast.Assign | ast.AnnAssign) and isinstance(node, ast.Module | ast.ClassDef):
                    for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                        for one in ast.walk(target):
                            if isinstance(one, ast.Name):
                                end = starts[child.end_lineno or child.lineno]
                                found[f"{prefix}{one.id}"].append(Place(file, starts[child.lineno - 1], end))
                visit(child, inner, file, starts)

        visit(ast.parse(source), "", path.relative_to(package), starts)
    return found


@cache
def _places(package: Path) -> dict[str, list[Place]]:
    return places(package)


@dataclass(frozen=True)
class Mutant:
    """One bug, and who must notice it."""

    function: str
    harm: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""

    def __str__(self) -> str:
        return f"{self.function}: {self.harm}"

    @property
    def words(self) -> str:
        """What a filter looks at: the file, the function and the harm."""
        return f"{self.planted(ROOT / PACKAGE)[0].as_posix()} {self}"

    def planted(self, package: Path) -> tuple[Path, str]:
        """The file below `package` with the bug in it; a sentence as `ValueError` where that cannot be."""
        file, _, name = self.function.rpartition(": ")
        here = [one for one in _places(package)[name] if not file or one.file.stem == file] if name else []
        if not here:
            raise ValueError(f"{self}: there is no {self.function}")
        sources = {one.file: (package / one.file).read_text(encoding="utf-8") for one in here}
        found = {
            (one.file, sources[one.file].index(self.old, one.start, one.end))
            for one in here
            if sources[one.file].count(self.old, one.start, one.end)
        }
        count = sum(sources[one.file].count(self.old, one.start, one.end) for one in set(here))
        if count != 1:
            where = f" ({', '.join(sorted({str(one.file) for one in here}))})" if len(sources) > 1 else ""
            raise ValueError(f"{self}: {self.old!r} stands there {count} times, not once{where}")
        ((path, at),) = found
        source = sources[path]
        broken = source[:at] + self.new + source[at + len(self.old) :]
        if broken == source:
            raise ValueError(f"{self}: {self.old!r} is replaced by itself")
        try:
            compile(broken, str(path), "exec")
        except SyntaxError as error:
            raise ValueError(f"{self}: with {self.new!r} it is no Python ({error})") from None
        return path, broken

    def complaints(self, root: Path) -> Iterator[str]:
        """What is wrong with the entry itself, in the tree at `root`."""
        try:
            self.planted(root / PACKAGE)
        except ValueError as error:
            yield str(error)
        if not self.tests:
            yield f"{self}: names no test"
        for test in self.tests:
            path, _, name = test.partition("::")
            function = re.escape(name.partition("[")[0].rpartition("::")[2])  # of a class, the method
            if not (root / path).is_file():
                yield f"{self}: there is no {path}"
            elif not re.search(rf"\bdef {function}\b" if function else "", (root / path).read_text(encoding="utf-8")):
                yield f"{self}: there is no {test}"


class Run(NamedTuple):
    """What pytest made of some tests."""

    code: int | None
    """None where it did not end."""
    seconds: float
    output: str


class Outcome(NamedTuple):
    """What became of one bug."""

    mutant: Mutant
    run: Run

    @property
    def is_as_listed(self) -> bool:
        """Whether it was noticed, or else is known not to be; a test that no longer ends has noticed."""
        return self.run.code == PASSED if self.mutant.survives else self.run.code in {None, FAILED}

    def __str__(self) -> str:
        words = {None: "red, without an end", PASSED: "survives", FAILED: "red"}
        word = words.get(self.run.code, "no test was run")
        return f"{word if self.is_as_listed else word.upper():20} {self.run.seconds:4.0f} s  {self.mutant}"


class Trees:
    """Copies of the working tree, each lent to one thread at a time."""

    def __init__(self, folder: Path, count: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for n in range(count):
            tree = folder / str(n)
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
            self._free.put(tree)

    def outcome(self, mutant: Mutant) -> Outcome:
        """The tests of one bug, with it planted."""
        tree = self._free.get()
        path, broken = mutant.planted(ROOT / PACKAGE)
        place = tree / PACKAGE / path
        source = place.read_text(encoding="utf-8")
        try:
            place.write_text(broken, encoding="utf-8")
            return Outcome(mutant, _pytest(tree, mutant.tests, SECONDS))
        finally:
            place.write_text(source, encoding="utf-8")
            self._free.put(tree)

    def without_a_bug(self, tests: Iterable[str]) -> Run:
        """All of the tests: if they are not green now, red says nothing later."""
        tree = self._free.get()
        try:
            return _pytest(tree, ["-n", str(WORKERS), *sorted(tests)], 10 * SECONDS)
        finally:
            self._free.put(tree)


def _pytest(tree: Path, arguments: Iterable[str], seconds: float) -> Run:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not deep", "-p", "no:cacheprovider", *arguments]
    # the copy goes before the installed package, and leaves no compiled files that would outlive the bug
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    start = monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with subprocess.Popen(
            command, cwd=tree, env=environment, stdout=output, stderr=output, start_new_session=True
        ) as child:
            try:
                code: int | None = child.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
                os.killpg(child.pid, signal.SIGKILL)  # with whatever it has started
        output.seek(0)
        return Run(code, monotonic() - start, output.read())


def kept() -> list[Mutant]:
    """The list."""
    entries = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def complaints() -> list[str]:
    """What is wrong with the list, as the tree stands."""
    return [complaint for one in kept() for complaint in one.complaints(ROOT)]


def main(words: list[str]) -> int:
    """0 if every bug is noticed, but for those that are listed as out of reach."""
    if found := complaints():
        print(*found, sep="\n")
        return 1
    chosen = [one for one in kept() if not words or any(word in one.words for word in words)]
    if words == ["--check"]:
        print(f"{len(kept())} bugs can be planted")
        return 0
    start, wrong = monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(WORKERS) as pool:
        trees = Trees(Path(folder), WORKERS)
        clean = trees.without_a_bug({test for one in chosen for test in one.tests})
        if clean.code != PASSED:
            print(clean.output[-4000:], "the tests are not green without a bug", sep="\n")
            return 1
        print(f"green without a bug   {clean.seconds:.0f} s", flush=True)
        for outcome in pool.map(trees.outcome, chosen):
            print(outcome, flush=True)
            if not outcome.is_as_listed:
                wrong += 1
                print(outcome.run.output[-2000:], flush=True)
    print(f"{len(chosen)} bugs in {monotonic() - start:.0f} s, {wrong} of them not as listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
