"""Code and theorem pages name each other, and pages have all their parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from zcdp import MECHANISMS
from zcdp.accounting.theorem_pages import title
from zcdp.mechanisms import WRAPPERS

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "theorems").glob("*.md"))
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def used_in(page: Path) -> list[str]:
    section = page.read_text().split("## Used in")[1]
    return re.findall(r"`((?:src|docs)/[^`]+)`", section)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_statement_proof_and_use(page: Path) -> None:
    text = page.read_text()
    headings = re.findall(r"^##? (.+)$", text, re.MULTILINE)
    assert headings[1:] == ["Statement", "Proof", "Used in"]
    assert used_in(page)


COVERS = (
    "the cumulant, not the profile",
    "the profile, not the cumulant",
    "the profile, hence also the cumulant",
    "the cumulant and the profile",
    "neither",
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_whether_it_is_about_cumulants_or_profiles(page: Path) -> None:
    """Near the top, once; a guarantee in (epsilon, delta) must not rest on a page about rho."""
    _, below, *rest = page.read_text().split("\n\n")
    found = re.fullmatch(r"\*\*Covers:\*\* ([^;]+); .+\.", below.replace("\n", " "))
    assert found, "what stands below the title must read **Covers:** ...; ..."
    assert found[1] in COVERS
    assert not any("**Covers:**" in other for other in rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_files_that_name_it(page: Path) -> None:
    for path in used_in(page):
        user = (ROOT / path).read_text()
        assert page.name in user or f'"{page.stem}"' in user, f"{path} does not name {page.name}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_code_cites_pages_that_exist_and_cite_it(source: Path) -> None:
    for name in re.findall(r"docs/theorems/([\w-]+)\.md", source.read_text()):
        page = ROOT / "docs" / "theorems" / f"{name}.md"
        assert page.exists(), f"{source.name} cites {name}"
        assert str(source.relative_to(ROOT)) in used_in(page)


@pytest.mark.parametrize("mechanism", [*MECHANISMS, *WRAPPERS], ids=lambda mechanism: mechanism.__name__)
def test_every_mechanism_has_its_theorem(mechanism: type) -> None:
    assert (ROOT / "docs" / "theorems" / f"{mechanism.theorem}.md").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_account_cites_pages_by_their_titles(page: Path) -> None:
    assert page.read_text().startswith(f"# {title(page.stem)}\n")
    assert title(page.stem) != page.stem


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs" / "errata.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
