"""Runs what concerns one file of the package, in at most half a minute: `make quick FILE=src/zcdp/ledger/chain.py`.

First its own tests (`test_<module>.py`) and its doctests, then tests that import it; where `make reach` has written its
map, those that reach the file, the quickest first, instead. What does not fit the time is left out, and counted.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import reach

SECONDS = 25.0
ROOT = reach.ROOT


class Limit:
    """Passes over the tests that are left when the time is up."""

    def __init__(self, seconds: float) -> None:
        self.end, self.left_out = monotonic() + seconds, 0

    def pytest_runtest_setup(self) -> None:
        """Skip instead of running."""
        if monotonic() > self.end:
            self.left_out += 1
            pytest.skip("the time is up")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many."""
        if self.left_out:
            terminalreporter.write_line(f"{self.left_out} tests were left out: {SECONDS:g} seconds are over")


def chosen(file: Path) -> list[str]:
    """What to run for a file: names of test files, or of single tests."""
    stem = file.parent.name if file.stem == "__init__" else file.stem
    own = [str(path) for path in (ROOT / "tests").rglob(f"test_{stem}.py")]
    if (ROOT / "build" / "reach").is_dir():
        wanted = file.relative_to(ROOT / "src" / "zcdp").as_posix()
        found: dict[str, float] = {}
        for place, tests in reach.load(ROOT / "build" / "reach").items():
            if place.startswith(f"{wanted}::"):
                found |= tests
        total, some = 0.0, []
        for test, seconds in sorted(found.items(), key=lambda item: item[1]):
            total += seconds
            if total > SECONDS:
                break
            some.append(test)
        return [*own, str(file), *some]
    module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    imports = re.compile(rf"\b{re.escape(module)}\b")
    lacks_its_system = runpy.run_path(str(ROOT / "conftest.py"))[
        "pytest_ignore_collect"
    ]  # files that are named are run
    others = [
        str(path)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if str(path) not in own and imports.search(path.read_text(encoding="utf-8")) and not lacks_its_system(path)
    ]
    return [*own, str(file), *others]


def main() -> int:
    """What pytest returns."""
    if len(sys.argv) != 2 or not (file := Path(sys.argv[1]).resolve()).is_file():
        sys.exit("usage: make quick FILE=src/zcdp/ledger/chain.py")
    if ROOT / "src" / "zcdp" not in file.parents:
        sys.exit(f"{file} is no file of the package: it is below src/zcdp")
    return int(pytest.main(["-m", "not deep", "-p", "no:randomly", *chosen(file)], plugins=[Limit(SECONDS)]))


if __name__ == "__main__":
    sys.exit(main())
