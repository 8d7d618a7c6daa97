"""The documentation is complete, its links lead somewhere, its examples run and its formulas survive Markdown."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from cli.program import called as program

import zcdp

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
REFERENCE = sorted((DOCS / "reference").glob("*.md"))

sys.path.insert(0, str(ROOT / "tools"))
import wrap  # noqa: E402 - scripts, not a package
import write_reference  # noqa: E402


def name(page: Path) -> str:
    return str(page.relative_to(DOCS))


def prose(page: Path) -> list[str]:
    """Lines outside of code blocks, without code spans."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [re.sub(r"`[^`]*`|<!--.*?-->", "", line) for line in text.split("\n") if not line.startswith("    ")]


def test_every_public_name_has_one_entry() -> None:
    named = [
        n
        for page in REFERENCE
        for _, kind, what, _ in write_reference.MARKED.findall(page.read_text())
        if kind in {"api", "mechanisms"}
        for n in write_reference.named(kind, what, page.read_text())
    ]
    assert sorted(named) == sorted(zcdp.__all__)


def test_the_index_names_every_theorem_once() -> None:
    text = (DOCS / "theorems.md").read_text()
    linked = re.findall(r"\]\(theorems/([\w-]+)\.md\)", text)
    assert sorted(linked) == sorted(page.stem for page in (DOCS / "theorems").glob("*.md"))


def test_the_site_shows_every_page() -> None:
    shown = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(shown) == sorted(name(page) for page in PAGES if page.parent.name != "theorems")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", "\n".join(prose(page))):
        assert (page.parent / target).is_file(), target


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md")], ids=lambda page: page.name)
def test_headings_stand_between_blank_lines(page: Path) -> None:
    lines = re.sub(r"^```.*?^```$", "code", page.read_text(), flags=re.DOTALL | re.MULTILINE).split("\n")
    around = [(*lines[max(n - 1, 0) : n], lines[n + 1]) for n, line in enumerate(lines) if re.match(r"#+ ", line)]
    assert not [one for one in around if any(one)]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_what_is_to_be_installed_is_in_the_clone_or_elsewhere_known(page: Path) -> None:
    """zcdp is on no package index: `pip install zcdp` would fail, or fetch what somebody else put there."""
    asked = re.findall(r"pip install ([^`\n]+)", page.read_text())
    assert not [what for what in asked if re.search(r"\bzcdp\b", what)]
    extras = {extra for what in asked for some in re.findall(r"\.\[([\w,-]+)\]", what) for extra in some.split(",")}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras <= set(declared)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_code_block_is_an_example_that_runs(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    for block in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        language, body = block.groups()
        if language == "csv":  # the file that was named last
            (tmp_path / re.findall(r"[\w-]+\.csv", text[: block.start()])[-1]).write_text(body)
        elif language == "console":
            command, shown = body.removeprefix("$ zcdp ").split("\n", 1)
            done = program(*shlex.split(command))
            assert (done.returncode, done.stdout) == (0, shown)
        elif language == "toml":
            (tmp_path / "plan.toml").write_text(body)
            assert program("account", str(tmp_path / "plan.toml")).returncode == 0
        else:
            assert language == "pycon"
            assert body.startswith(">>> ")
            assert body.endswith("\n\n")  # else the fence would be taken for output


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_formula_is_taken_for_markup(page: Path) -> None:
    for line in prose(page):
        assert not re.search(r"(?<![\w\\])_(?=\S)", line), f"an underscore that starts emphasis: {line}"
        assert not line.startswith(">"), f"a comparison that starts a quotation: {line}"
        assert not re.search(r"<[A-Za-z/]", line), f"a comparison that looks like a tag: {line}"


@pytest.mark.parametrize("page", wrap.pages(), ids=lambda page: page.name)
def test_prose_is_at_most_120_columns_wide(page: Path) -> None:
    """Tables, code, formulas, HTML, and one word or link that is longer by itself, may be wider."""
    for line in prose(page):
        if len(line) > 120 and not re.match(r"\||<|!?\[[^\]]*\]\(\S+\)$", line):
            pytest.fail(f"python tools/wrap.py wraps this line of {len(line)} columns: {line}")


def test_wrapping_changes_no_word_and_starts_no_list() -> None:
    """What Markdown takes for a marker at the start of a line stays behind the word before it."""
    text = "1. " + " ".join(
        f"{word} - {word} + 3. {word} > 2 # {word} `a - b` [x - y](z.md) {{a + b}}" for word in "abcdefgh" * 9
    )
    lines = wrap.wrapped(text).split("\n")
    assert " ".join(line.strip() for line in lines) == text
    assert len(lines) > 3
    assert max(map(len, lines)) <= 120
    assert all(line.startswith("   ") and re.match(r"[`\[{]?\w", line.strip()) for line in lines[1:])
    for kept in ("# " + text, "| " + text, "    " + text, f"```\n{text}\n```"):
        assert wrap.wrapped(kept) == kept
