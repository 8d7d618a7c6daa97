"""The kept list of bugs is up to date: each can be planted, and the tests that must notice it are there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from mutants import PACKAGE, ROOT, Mutant, complaints, kept


def test_every_bug_can_be_planted() -> None:
    assert complaints() == []


def test_the_list_reaches_every_package() -> None:
    bugs = kept()
    assert len(bugs) >= 100
    assert len({(bug.function, bug.old, bug.new) for bug in bugs}) == len(bugs)
    packages = {bug.planted(ROOT / PACKAGE)[0].parts[0] for bug in bugs}
    assert packages >= {
        "numeric", "privacy", "mechanisms", "samplers", "accounting", "cli", "report", "auditing.py", "verification"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"function": "three"}, "there is no three"),
        ({"function": "other: one"}, "there is no other: one"),
        ({"old": "return 2"}, "stands there 0 times"),  # it does in the other function
        ({"old": "data"}, "stands there 2 times, not once"),
        ({"function": "K.run", "old": "return 3"}, "stands there 2 times, not once (file.py, same.py)"),
        ({"new": "return len(data)"}, "replaced by itself"),
        ({"new": "return ("}, "it is no Python"),
        ({"tests": ("tests/here.py::test_this_is_gone",)}, "there is no tests/here.py::test_this_is_gone"),
        ({"tests": ("tests/gone.py",)}, "there is no tests/gone.py"),
        ({"tests": ()}, "names no test"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_entry_that_is_out_of_date_is_seen(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    (tmp_path / PACKAGE).mkdir(parents=True)
    (tmp_path / PACKAGE / "file.py").write_text(
        "def one(data): return len(data)\ndef two(data): return 2\n\nclass K:\n    def run(self): return 3\n"
    )
    (tmp_path / PACKAGE / "same.py").write_text("class K:\n    def run(self): return 3\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "here.py").write_text("def test_this() -> None: ...\n")
    right = Mutant("one", "one more", "return len(data)", "return len(data) + 1", ("tests/here.py::test_this[1]",))
    assert list(right.complaints(tmp_path)) == []
    assert list(replace(right, function="same: K.run", old="return 3", new="return 4").complaints(tmp_path)) == []
    [found] = replace(right, **change).complaints(tmp_path)  # type: ignore[arg-type]
    assert complaint in found
