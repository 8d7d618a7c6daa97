"""Every page of the documentation site in a real browser. Under `make deep`, which says what was not checked."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from report.browser import Browser, chromium

ROOT = Path(__file__).parent.parent
SHEET = 688  # CSS pixels between the margins of A4: 210 mm less twice 14 mm
pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(chromium() is None, reason="NOT CHECKED: the site in a browser needs chromium on the path"),
    pytest.mark.skipif(find_spec("material") is None, reason="NOT CHECKED: the site needs the extra docs"),
]

# What is beyond the right edge, but for what can be scrolled to; on paper nothing can be.
BEYOND = """((width, paper) => [...document.querySelectorAll('.md-container *, .md-container')].filter(one => {
  const box = one.getBoundingClientRect();
  if (!box.width || !box.height || one.closest('.md-sidebar, .md-search, .md-nav')) return false;
  const hidden = getComputedStyle(one).overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1;
  if (paper && hidden && one.clientWidth) return true;
  if (box.right <= width + (paper ? 8 : 1)) return false;  // a padded end of a line stays well inside the margin
  for (let up = one.parentElement; up && !paper; up = up.parentElement)
    if (getComputedStyle(up).overflowX !== 'visible') return false;
  return true;
}).map(one => `${one.tagName} ${one.className} ${one.textContent.slice(0, 70)}`).slice(0, 3))"""
SCROLLED = "document.documentElement.scrollWidth"
SCHEME = "document.body.dataset.mdColorScheme"
FOUND = "document.querySelectorAll('.md-search-result__link').length"
SEARCH = """(() => { document.querySelector('[data-md-toggle=search]').click();
const box = document.querySelector('.md-search__input'); box.focus(); box.value = 'sparse vector';
box.dispatchEvent(new Event('keyup')); box.dispatchEvent(new Event('input', {bubbles: true})); return 1; })()"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "profile") as one:
        yield one


def pages(site: Path) -> list[Path]:
    """All but the page that a server shows for what is not there, whose links start at the server's root."""
    found = sorted(page for page in site.rglob("*.html") if page.name != "404.html")
    assert len(found) > 100
    return found


def complaints(browser: Browser, site: Path) -> list[object]:
    asked = [request["request"]["url"] for request in browser.told("Network.requestWillBeSent")]
    outside = [url for url in asked if not url.startswith((site.as_uri(), "data:", "about:"))]
    return [*outside, *browser.told("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]


@pytest.mark.parametrize(("width", "dark"), [(360, False), (768, True), (1280, False)])
def test_every_page_is_quiet_and_fits(site: Path, browser: Browser, width: int, dark: bool) -> None:
    wrong = []
    for page in pages(site):
        browser.open(page, width=width, dark=dark)
        seen = (browser.value(SCROLLED), browser.value(SCHEME), browser.value(f"{BEYOND}({width}, false)"))
        if seen != (width, "slate" if dark else "default", []) or complaints(browser, site):
            wrong.append((page.name, *seen, *complaints(browser, site)))
    assert wrong == []


def test_nothing_is_cut_off_on_paper(site: Path, browser: Browser) -> None:
    wrong = []
    for page in pages(site):
        browser.open(page, width=SHEET, media="print")
        if cut := browser.value(f"{BEYOND}({SHEET}, true)"):
            wrong.append((page.name, *cut))
    assert wrong == []


def test_it_prints(site: Path, browser: Browser) -> None:
    browser.open(site / "theorems" / "laplace.html", width=1280, dark=True)
    sheet = base64.b64decode(browser.ask("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert sheet.startswith(b"%PDF")
    assert 1 <= sheet.count(b"/Type /Page\n") <= 3


def test_the_search_works_from_a_folder(site: Path, browser: Browser) -> None:
    browser.open(site / "how-to" / "release.html", width=1280)
    browser.value(SEARCH)
    for _ in range(200):
        if browser.value(FOUND):
            break
        time.sleep(0.1)
    assert browser.value(FOUND) >= 3
    assert complaints(browser, site) == []
