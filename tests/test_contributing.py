"""CONTRIBUTING says the truth about where a mechanism is written down, and about the files it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import test_derived

from zcdp.privacy.profile.profile import ENGINES

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
KNOWN = {"<name>": "laplace", "<theorem>": "laplace", "<family>": "noise"}
RECIPE = TEXT.partition("## Add a mechanism\n")[2].partition("\n## ")[0]
TABLE = re.findall(r"^\| `([^`]+)` \| .* \| (?:`([^`]+)`|itself|) *\|$", RECIPE, re.MULTILINE)


def place(text: str) -> Path:
    for word, known in KNOWN.items():
        text = text.replace(word, known)
    return ROOT / text


@pytest.mark.parametrize(("where", "test"), TABLE)
def test_a_mechanism_stands_in_every_place_of_the_table(where: str, test: str) -> None:
    if where != "CHANGELOG.md":
        assert re.search(r"\bLaplace\b|[^e]laplace", place(where).read_text())
    assert not test or (ROOT / test).exists()


def test_the_table_is_all_that_is_written_by_hand() -> None:
    """`test_derived` adds a mechanism in just these places."""
    assert [where for where, _ in TABLE] == [*test_derived.BY_HAND, "CHANGELOG.md"]
    assert "Four places are written by hand" in TEXT


@pytest.mark.parametrize("engine", [engine.__name__ for row in ENGINES for engine in row])
def test_every_engine_stands_in_the_table_of_what_each_earns(engine: str) -> None:
    assert TEXT.count(f"\n| `{engine}` |") == 1
    assert f'"{engine}"' in (ROOT / "benchmarks/earns.py").read_text()


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"\b((?:src|tests|tools|benchmarks)/[\w/]+\.(?:py|toml|gz))", TEXT)))
)
def test_every_file_it_names_exists(path: str) -> None:
    assert (ROOT / path).exists()
