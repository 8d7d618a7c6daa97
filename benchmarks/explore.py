"""From a change of one slider to certified numbers on the screen, in a real browser: milliseconds, in one run.

Needs Chromium on the path and Playwright: `make deep` installs it. For each plan: the first certified numbers, how far
their epsilon is above the last one, and when epsilon stands there to the last digit, with its lower end; medians and
the worst of ten changes. On a busy machine look at the last column: what the first answer takes of a processor, in the
process that computes it and in the one that draws it, which work one after the other.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from zcdp.explore.server import Explorer

ROOT = Path(__file__).parents[1]
CHANGES = 10
MOVE = """(step) => new Promise((told) => {
  const slider = document.getElementById('slide-ROW');
  const start = performance.now();
  const epsilon = () => Number(document.querySelector('#epsilon data').value);
  let first = 0, early = 0;
  globalThis.last = new Promise((done) => {
    const seen = ({ detail }) => requestAnimationFrame(() => {
      if (!first) {
        first = performance.now() - start;
        early = epsilon();
        told(first);
      }
      if (!detail.html || !("routes" in detail.html)) return;
      document.removeEventListener('numbers', seen);
      done([performance.now() - start, early / epsilon() - 1]);
    });
    document.addEventListener('numbers', seen);
  });
  slider.value = Number(slider.value) + step;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
})"""


def hundred() -> str:
    """A hundred queries of different noise."""
    queries = (
        f'[[query]]\nname = "table {n}"\nmechanism = "DiscreteLaplace(scale={40 + n * 0.37:.2f})"\n' for n in range(100)
    )
    return "delta = 1e-6\n[budget]\nrho = 1\n" + "".join(queries)


class Processors:
    """Milliseconds that the process that computes has been on a processor, and the one that draws."""

    def __init__(self, page: Any, explorer: Explorer) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._explorer = explorer

    def now(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        [drawing] = [one["value"] for one in metrics if one["name"] == "ProcessTime"]
        worker = self._explorer.quick._worker._process.pid
        return 1e3 * drawing + int(Path(f"/proc/{worker}/schedstat").read_text().split()[0]) / 1e6


def measure(path: Path, row: int) -> list[tuple[float, float, float, float]]:
    """Of each change: milliseconds to the first numbers and to the last ones, how far epsilon was above at first, and
    the processor time of the first.
    """
    explorer = Explorer(path)
    thread = threading.Thread(target=explorer.serve, daemon=True)
    thread.start()
    found = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(explorer.address)
        page.wait_for_selector("#curve svg", timeout=120_000)
        processors = Processors(page, explorer)
        for n in range(CHANGES + 1):
            before = processors.now()
            first = page.evaluate(MOVE.replace("ROW", str(row)), 3 if n % 2 else -2)
            taken = processors.now() - before
            last, above = page.evaluate("globalThis.last")
            found.append((first, last, above, taken))
            while not page.evaluate("isQuiet()"):
                page.wait_for_timeout(20)
        browser.close()
    explorer.server.shutdown()
    thread.join(10)
    return found[1:]


def main() -> None:
    print(
        "| plan | first certified numbers | their epsilon is above by | the last digit | processor time of the first |"
    )
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, row, text in (
            ("census", 1, (ROOT / "examples" / "census.toml").read_text()),
            ("product", 0, (ROOT / "examples" / "product.toml").read_text()),
            ("100 queries", 50, hundred()),
        ):
            path = Path(folder) / f"{name}.toml"
            path.write_text(text)
            first, last, above, processor = zip(*measure(path, row), strict=True)
            soon, late, busy = (
                f"{statistics.median(one):.0f} ms (worst {max(one):.0f})" for one in (first, last, processor)
            )
            print(f"| {name} | {soon} | {max(above):.1e} | {late} | {busy} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
