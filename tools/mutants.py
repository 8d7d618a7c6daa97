"""Plants a kept list of bugs one at a time, runs the tests that must notice each, and prints those that nobody notices.

    python tools/mutants.py                    every bug of tools/mutants.toml
    python tools/mutants.py samplers "count"   those whose file or harm holds one of the words
    python tools/mutants.py --check            only that each can still be planted, and that its tests are still there

An entry names a file below src/zcdp, a text that stands there once, what replaces it, the harm that this does, and the
tests that must turn red. One with `survives` is out of reach of every test, for the reason given there. The working
tree is never touched: the bugs go into copies of it, one for each processor.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Mutant:
    """One bug, and who must notice it."""

    file: str
    harm: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.harm}"

    def planted(self, source: str) -> str:
        """The file with the bug in it; a sentence as `ValueError` where that cannot be."""
        if (found := source.count(self.old)) != 1:
            raise ValueError(f"{self}: {self.old!r} stands there {found} times, not once")
        broken = source.replace(self.old, self.new)
        if broken == source:
            raise ValueError(f"{self}: {self.old!r} is replaced by itself")
        try:
            compile(broken, self.file, "exec")
        except SyntaxError as error:
            raise ValueError(f"{self}: with {self.new!r} it is no Python ({error})") from None
        return broken

    def complaints(self, root: Path) -> Iterator[str]:
        """What is wrong with the entry itself, in the tree at `root`."""
        try:
            self.planted((root / PACKAGE / self.file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
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
        place = tree / PACKAGE / mutant.file
        source = place.read_text(encoding="utf-8")
        try:
            place.write_text(mutant.planted(source), encoding="utf-8")
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
    chosen = [one for one in kept() if not words or any(word in str(one) for word in words)]
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
