"""Screenshots of `zcdp explore`, in a real browser: the picture of the README, or every area as one looks at it.

    python tools/screens.py                    docs/assets/explore.png, the page at work on examples/census.toml
    python tools/screens.py all build/screens  every area, at three widths, light, dark and printed

Needs Chromium on the path and Playwright: `make .venv/browser-ready`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from zcdp import Gaussian, Ledger
from zcdp.explore.server import Explorer

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "assets" / "explore.png"
SIZE = 1280, 1018
WIDTHS = 360, 768, 1280
READY = {
    "plan": "document.querySelector('#curve svg')",
    "understand": "document.querySelectorAll('figure svg').length === 5",
    "train": "document.querySelectorAll('figure svg').length === 3",
    "budget": "document.querySelector('#ledger article')",
    "theorem/laplace": "true",
}


@contextmanager
def served(plan: Path, ledger: str | None = None) -> Iterator[Explorer]:
    """The page of a plan, while one looks at it."""
    explorer = Explorer(plan, ledger=ledger)
    thread = threading.Thread(target=explorer.serve, daemon=True)
    thread.start()
    try:
        yield explorer
    finally:
        explorer.server.shutdown()
        thread.join(10)


def until(page: Any, condition: str) -> None:
    """Wait for a condition; the driver's own way needs eval, which the policy of the page forbids."""
    while not page.evaluate(f"Boolean({condition}) && isQuiet()"):
        page.wait_for_timeout(50)


def picture(browser: Any, folder: Path) -> None:
    """The census with a slider drawn and the mechanisms of equal accuracy unfolded, as the README shows it."""
    plan = Path(shutil.copy(ROOT / "examples" / "census.toml", folder / "census.toml"))
    with served(plan) as explorer:
        page = browser.new_page(viewport=dict(zip(("width", "height"), SIZE, strict=True)))
        page.goto(explorer.address)
        until(page, READY["plan"])
        page.evaluate(
            """() => {
              const slider = document.getElementById('slide-1');
              slider.value = 112;
              slider.dispatchEvent(new Event('input', { bubbles: true }));
            }"""
        )
        until(page, "!document.querySelector('.pending, .drawn[aria-busy]')")
        page.click("[data-which='1']")
        until(page, "document.querySelector('#which-1 table') && !document.querySelector('#which-1 [role=status]')")
        page.mouse.move(0, 0)
        page.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": SIZE[0], "height": SIZE[1]})
        page.close()


def every(browser: Any, folder: Path, out: Path) -> None:
    """Each area at each width, light and dark, and printed."""
    out.mkdir(parents=True, exist_ok=True)
    ledger = str(folder / "budget.db")
    with Ledger(ledger) as book:
        book.open_account("census", unit="person", neighbours="replace", rho=3)
        book.spend("census", Gaussian(sigma=2), key="first", why="first")
    plan = Path(shutil.copy(ROOT / "examples" / "census.toml", folder / "census.toml"))
    with served(plan, ledger) as explorer:
        page = browser.new_page()
        for area, ready in READY.items():
            page.goto(explorer.address.replace("/plan", f"/{area}"))
            until(page, ready) if "/" not in area else page.wait_for_timeout(200)
            name = area.replace("/", "-")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)
                    page.wait_for_timeout(400)
                    page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
            page.set_viewport_size({"width": 794, "height": 1123})  # A4
            page.emulate_media(media="print", color_scheme="light")
            page.screenshot(path=out / f"{name}-print.png", full_page=True)
            page.emulate_media(media="screen")
        page.close()


def main(arguments: list[str]) -> None:
    """The picture of the README, or with `all FOLDER` every area."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        if arguments[:1] == ["all"]:
            every(browser, Path(folder), Path(arguments[1]))
        else:
            picture(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
