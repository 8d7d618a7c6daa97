"""Formulas on the pages are typeset without losing a symbol, and what is no formula is left alone."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from mathml import GREEK, formulas, inline, mathml, on_page_markdown, typeset  # noqa: E402 - a script, not a package

PAGES = sorted((ROOT / "docs" / "theorems").glob("*.md"))
BLOCKS = [
    (page.stem, block) for page in PAGES for block in re.findall(r"(?<=\n\n)((?: {4}.*\n)+)(?=\n|$)", page.read_text())
]
LETTERS = {value: key for key, value in GREEK.items()}
SIGNS = {"≤": "<=", "≥": ">=", "−": "-", "·": "*", "→": "->", "≠": "!=", "′": "'", "\u2061": ""}


def symbols(text: str) -> list[str]:
    """Names and numbers, in order: what a formula says apart from how it is laid out."""
    return re.findall(r"[A-Za-z]+|\d+", text)


def read(markup: str) -> list[str]:
    found: list[str] = []
    for math in ElementTree.fromstring(markup.replace("&nbsp;", " ")).iter("math"):
        for leaf in math.iter():
            if leaf.tag in ("mi", "mn", "mo", "mtext") and leaf.text:
                found += symbols(LETTERS.get(leaf.text, SIGNS.get(leaf.text, leaf.text)))
            if leaf.tag == "msqrt":
                found.append("sqrt")
    return found


def test_almost_every_block_of_a_theorem_page_is_typeset() -> None:
    done = [block for _, block in BLOCKS if formulas(block)]
    assert len(BLOCKS) > 60
    assert len(done) >= 0.9 * len(BLOCKS)


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{name}-{n}" for n, (name, _) in enumerate(BLOCKS)])
def test_no_symbol_is_lost_or_moved(page: str, block: str) -> None:
    if (markup := formulas(block)) is not None:
        assert read(markup) == symbols(block)


def test_fractions_are_drawn_only_where_there_is_no_doubt() -> None:
    assert "<mfrac>" in mathml("rho = (1 + v)/(1 + s)")
    assert "<mfrac>" not in mathml("E phi(v)/E phi(t) = 1")  # which E is below the line?
    assert "<mfrac>" not in mathml("a b/c = 1")
    assert mathml("e^-epsilon").count("<msup>") == 1


@pytest.mark.parametrize("text", ["    pip install '.[postgres]'\n", "    just words of prose\n", "    f( = 1\n"])
def test_what_is_no_formula_is_left_alone(text: str) -> None:
    page = f"Before.\n\n{text}\nAfter.\n"
    assert typeset(page) == page


@pytest.mark.parametrize(("folder", "becomes"), [("theorems", True), ("how-to", False), ("drop-in", False)])
def test_what_is_indented_is_a_formula_only_on_the_page_of_a_theorem(folder: str, becomes: bool) -> None:
    text = "In code or in words:\n\n    epsilon = 2\n\n"
    page = SimpleNamespace(file=SimpleNamespace(src_uri=f"{folder}/some.md"))
    assert ("<math" in on_page_markdown(text, page=page)) is becomes
    assert (on_page_markdown(text, page=page) != text) is becomes


def test_a_name_of_a_function_has_room_and_wide_gaps_may_break() -> None:
    thin = '<mspace width=".17em"/>'
    assert mathml("k max(a, b)").count(thin) == 1
    assert mathml("log V").count(thin) == 1
    assert thin not in mathml("1 + exp(x)")
    assert mathml("a = 1,    b = 2").count("<math") == 2


def test_code_in_fences_is_left_alone() -> None:
    page = "Before.\n\n```pycon\n>>> x\n\n    y = 1\n\n```\n"
    assert typeset(page) == page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_running_text_keeps_its_symbols_its_code_and_its_links(page: Path) -> None:
    before = page.read_text()
    after = inline(before)
    assert re.findall(r"`[^`\n]*`|\]\([^)]*\)", after) == re.findall(r"`[^`\n]*`|\]\([^)]*\)", before)
    back = re.sub(r"</?su[bp]>", " ", after)
    for letter, name in LETTERS.items():
        back = back.replace(letter, name)
    assert symbols(back) == symbols(before)
