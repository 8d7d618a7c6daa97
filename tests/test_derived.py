"""A mechanism is its file, its page, its rows of tests and a line of the changelog: all else follows from them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import write_derived
import write_reference
from mutants import LEFT_OUT

from zcdp import mechanisms

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("path", [write_derived.ROOM, write_derived.TOP], ids=lambda path: path.parent.name)
def test_exports_follow_from_the_classes(path: Path) -> None:
    assert path.read_text() == write_derived.derived()[path], "stale: run `make derived`"


@pytest.mark.parametrize("path", write_reference.derived(), ids=lambda path: path.name)
def test_pages_follow_from_the_classes(path: Path) -> None:
    assert path.read_text() == write_reference.derived()[path], "stale: run `make derived`"


def test_mechanisms_of_a_room_stand_together() -> None:
    rooms = [one.__module__.split(".")[2] for one in mechanisms.MECHANISMS]
    changes = [room for room, before in zip(rooms, [None, *rooms], strict=False) if room != before]
    assert len(changes) == len(set(changes))


def test_a_new_mechanism_enters_after_the_last_one_of_its_room() -> None:
    homes = {"A": "zcdp.mechanisms.noise.a", "B": "zcdp.mechanisms.local.b", "C": "zcdp.mechanisms.noise.c"}
    assert write_derived.in_sequence(homes, ["A", "B"], homes) == ["A", "C", "B"]
    assert write_derived.in_sequence(homes, ["Gone", "B", "A"], homes) == ["B", "A", "C"]


# A mechanism from outside: the logistic one under another name, in a copy of the tree.

BY_HAND = {
    "src/zcdp/mechanisms/<family>/<name>.py": "src/zcdp/mechanisms/noise/made_up.py",
    "docs/theorems/<theorem>.md": "docs/theorems/made-up.md",
    "tests/rows/<name>.py": "tests/rows/made_up.py",
}
"""The files of a new mechanism, as CONTRIBUTING has them and in the copy; a line of the changelog is the fourth."""
WRITTEN = {
    "README.md",
    "docs/reference/mechanisms.md",
    "docs/theorems.md",
    "src/zcdp/__init__.py",
    "src/zcdp/mechanisms/__init__.py",
}
"""What `make derived` writes for it."""


def _texts(tree: Path) -> dict[str, str]:
    found = (path for path in tree.rglob("*") if path.suffix in {".py", ".md", ".toml"} and path.is_file())
    return {path.relative_to(tree).as_posix(): path.read_text() for path in found}


def _in_the_tree(tree: Path, *command: str) -> str:
    paths = {"PYTHONPATH": os.pathsep.join(str(tree / part) for part in ("src", "tests", "tools"))}
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, env=os.environ | paths, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree with one more mechanism in the three files, and nothing written yet."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT, "*.gz"))
    source, page, rows = (tree / path for path in BY_HAND.values())
    text = (source.with_name("logistic.py")).read_text()
    text = text.replace("Logistic", "MadeUp").replace('"logistic"', '"made-up"').replace("/logistic.md", "/made-up.md")
    source.write_text(
        re.sub(r",\s+docs/theorems/logistic-vectors\.md", "", text).replace("logistic-vectors", "made-up")
    )
    title, rest = (page.with_name("logistic.md")).read_text().split("\n", 1)
    assert title.startswith("# Logistic noise")
    page.write_text(f"# Made-up noise\n{rest.split('## Used in')[0]}## Used in\n\n`{source.relative_to(tree)}`\n")
    rows.write_text((rows.with_name("logistic.py")).read_text().replace('"Logistic', '"MadeUp'))
    return tree


DRAWN = "tests/samplers/test_what_is_drawn.py"
SEEN = """
import zcdp, table
from fuzz.inputs import Inputs, NAMES
from neighbours.table import ROWS
from samplers.test_what_is_drawn import CHANCES
from text.test_calls import RIGHT
from zcdp import MadeUp, MECHANISMS
from zcdp.verification.checks import checks

assert [one.__name__ for one in MECHANISMS if ".noise." in one.__module__][-1] == "MadeUp"
assert "MadeUp" in zcdp.__all__ and "MadeUp" in zcdp.mechanisms.__all__
assert zcdp.Plan.parse("2 * MadeUp(epsilon=1)").rho == 2 * MadeUp(epsilon=1).rho
assert "Made-up noise" in [one.title for one in zcdp.account("MadeUp(epsilon=1)", curve=False).theorems]
assert any(type(one) is MadeUp for one in table.EVERYDAY_ROWS)
assert {row.sensitivity for row in ROWS if row.mechanism is MadeUp} == {"scalar", "L1", "L0LInf", "L1LInf", "L2"}
assert "MadeUp" in RIGHT and "made-up" in {one.theorem for one in checks()}
assert "MadeUp" in CHANCES and "MadeUp" in NAMES and "MadeUp(" in Inputs(1).mechanism("MadeUp")
"""


def test_a_mechanism_is_three_files_and_a_line_of_the_changelog(tree: Path) -> None:
    """All that lists mechanisms takes it up, and when its files are gone it is gone from all of them."""
    before = {path: text for path, text in _texts(tree).items() if path not in BY_HAND.values()}
    _in_the_tree(tree, "tools/write_derived.py")
    after = _texts(tree)
    assert set(after) - set(before) == set(BY_HAND.values())
    assert {path for path, text in before.items() if after[path] != text} == WRITTEN
    assert "### MadeUp\n" in after["docs/reference/mechanisms.md"]
    assert "* [Made-up noise](theorems/made-up.md)\n" in after["docs/theorems.md"]
    assert re.search(r"^\| noise \|.*`, `MadeUp` \|", after["README.md"], re.MULTILINE)
    _in_the_tree(tree, "-c", SEEN)
    for path in BY_HAND.values():
        (tree / path).unlink()
    _in_the_tree(tree, "tools/write_derived.py")
    assert {path: text for path, text in _texts(tree).items() if before.get(path) != text} == {}


@pytest.mark.deep
def test_every_law_holds_of_a_mechanism_from_outside(tree: Path) -> None:
    """The laws, the tests of pages and of the table; and that a type checker sees the export."""
    _in_the_tree(tree, "tools/write_derived.py")
    for command in (("init", "-q"), ("add", "-A")):  # pages are found by what git knows
        subprocess.run(["git", *command], cwd=tree, check=True)
    run = ("-m", "pytest", "-p", "no:cacheprovider", "-m", "not deep")
    passed = _in_the_tree(tree, *run, "tests/laws", "tests/neighbours", DRAWN, "-k", "MadeUp")
    assert int(re.search(r"(\d+) passed", passed)[1]) > 200  # type: ignore[index]
    _in_the_tree(
        tree, *run, "tests/test_docs.py", "tests/test_theorems.py", "tests/test_contributing.py",
        "tests/test_independence.py", "tests/test_derived.py", "tests/neighbours/test_table.py",
        DRAWN, "tests/fuzz", "src/zcdp/mechanisms/noise/made_up.py",
        "-k", "not three_files and not code_block",
    )  # fmt: skip
    user = tree / "user.py"
    user.write_text("from zcdp import MadeUp\n\nspent: float = MadeUp(epsilon=1).rho\n")
    _in_the_tree(tree, "-m", "mypy", "--strict", str(user))
