"""CONTRIBUTING says the truth about where a mechanism is written down, and about the files it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
KNOWN = {"<name>": "laplace", "<theorem>": "laplace", "<family>": "noise"}
TABLE = re.findall(r"^\| `([^`]+)` \| .* \| (?:`([^`]+)`|itself|) *\|$", TEXT, re.MULTILINE)


def place(text: str) -> Path:
    for word, known in KNOWN.items():
        text = text.replace(word, known)
    return ROOT / text


@pytest.mark.parametrize(("where", "test"), TABLE)
def test_a_mechanism_stands_in_every_place_of_the_table(where: str, test: str) -> None:
    if where != "CHANGELOG.md":
        assert re.search(r"\bLaplace\b|[^e]laplace", place(where).read_text())
    assert not test or (ROOT / test).exists()


def test_the_table_is_there_and_says_how_long_it_is() -> None:
    assert len(TABLE) == 13
    assert "twelve other places" in TEXT


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"\b((?:src|tests|tools|benchmarks)/[\w/]+\.(?:py|toml|gz))", TEXT)))
)
def test_every_file_it_names_exists(path: str) -> None:
    assert (ROOT / path).exists()
