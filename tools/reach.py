"""Which tests reach which function: a pytest plugin that writes the map, and the questions that are asked of it.

    pytest -n 2 -m "not deep" -p reach --reach build/reach    one run of the tests, a fifth slower, writes the map
    python tools/reach.py src/zcdp/ledger/chain.py            the tests that reach a file, the quickest first

Only calls are traced, not lines, and only of functions below src/zcdp; programs that a test starts are traced too, as
pytest tells them the test by PYTEST_CURRENT_TEST. What runs when a module is imported belongs to no test.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MARK = os.path.join("src", "zcdp") + os.sep
FOLDER = "ZCDP_REACH"
"""The variable by which programs that tests start know where to write."""

_seen: dict[int, Any] = {}  # by identity: a code object's hash reads all of it


def _trace(frame: FrameType, _event: str, _argument: object) -> None:
    _seen[id(frame.f_code)] = frame.f_code


def _begin() -> None:
    threading.settrace(_trace)  # type: ignore[arg-type]
    sys.settrace(_trace)  # type: ignore[arg-type]


def _places() -> list[str]:
    """What was called since the last time, as `file::function`."""
    found = {
        f"{code.co_filename.rpartition(MARK)[2]}::{code.co_qualname}"
        for code in _seen.copy().values()
        if MARK in code.co_filename
    }
    _seen.clear()
    return sorted(found)


def _write(folder: str, test: str, seconds: float) -> None:
    if places := _places():
        with Path(folder, f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            print(json.dumps({"test": test, "seconds": seconds, "places": places}), file=file)


def pytest_addoption(parser: Any) -> None:
    """`--reach FOLDER`."""
    parser.addoption("--reach", metavar="FOLDER", help="write which functions each test reaches to this folder")


def pytest_configure(config: Any) -> None:
    """Start, and let programs that are started do the same."""
    if folder := config.getoption("--reach"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        os.environ[FOLDER] = str(Path(folder).resolve())
        hook = Path(os.environ[FOLDER], "hook")
        hook.mkdir(exist_ok=True)
        (hook / "sitecustomize.py").write_text(
            f"import os, sys\nif 'PYTEST_CURRENT_TEST' in os.environ:\n    sys.path.append({str(ROOT / 'tools')!r})\n"
            "    import reach\n    reach.of_a_program()\n",
            encoding="utf-8",
        )
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(hook), os.environ.get("PYTHONPATH", "")]))


def pytest_runtest_setup() -> None:
    """Tests that trace themselves may have ended it."""
    if os.environ.get(FOLDER):
        _begin()


def pytest_runtest_makereport(item: Any, call: Any) -> None:
    """Written where the test ran, whichever process that is."""
    folder = os.environ.get(FOLDER)
    if folder and call.when == "call":
        _write(folder, item.nodeid, call.duration)


def of_a_program() -> None:
    """Trace a program that a test has started, and write at its end."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and FOLDER in os.environ:
        import atexit

        _begin()
        atexit.register(lambda: (sys.settrace(None), threading.settrace(None), _write(os.environ[FOLDER], test, 0.0)))


def load(folder: Path) -> dict[str, dict[str, float]]:
    """For each `file::function` the tests that reach it, with their seconds."""
    seconds: dict[str, float] = defaultdict(float)
    reached: dict[str, set[str]] = defaultdict(set)
    for path in folder.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            seconds[row["test"]] = max(seconds[row["test"]], row["seconds"])
            for place in row["places"]:
                reached[place].add(row["test"])
    return {place: {test: seconds[test] for test in tests} for place, tests in reached.items()}


if __name__ == "__main__":
    wanted = sys.argv[1].rpartition(MARK)[2]
    tests = {
        test: seconds
        for place, some in load(ROOT / "build" / "reach").items()
        if place.startswith(wanted)
        for test, seconds in some.items()
    }
    for test, seconds in sorted(tests.items(), key=lambda item: item[1]):
        print(f"{seconds:7.2f}  {test}")
