"""The page of a ledger: true numbers, safe words, and, in a real browser, quiet and within the screen."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from report.browser import Browser, chromium
from report.ledger_sample import year

from zcdp.ledger import Ledger
from zcdp.ledger.ledger_statement import statement
from zcdp.report.ledger_report import periods, render_ledger

NO_BROWSER = "NOT CHECKED: the page in a browser needs chromium on the path"
WIDEST = "Math.max(...[...document.querySelectorAll('body *')].map(one => one.getBoundingClientRect().right))"
OVERLAPS = """(() => { let count = 0;
for (const chart of document.querySelectorAll('svg')) {
  const boxes = [...chart.querySelectorAll('text')].map(one => one.getBoundingClientRect());
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
    if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) count += 1; }));
} return count; })()"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        return year(tmp_path_factory.mktemp("year") / "budget.db", patch)


@pytest.fixture(scope="module")
def page(facts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_ledger(facts), encoding="utf-8")
    return path


def test_the_numbers_add_up(facts: dict[str, Any]) -> None:
    assert facts["passed"]
    for account in facts["accounts"]:
        spent = account["spent"]["value"]
        for table in ("people", "purposes", "months"):
            assert sum(row["cost"]["value"] for row in account[table]) == pytest.approx(spent, rel=1e-12)
            assert sum(row["spends"] for row in account[table]) == account["spends"]
        assert account["points"][-1][1] == spent
        assert account["budgets"][-1][1] == account["budget"]["value"]
        assert account["budget"]["value"] == pytest.approx(spent + account["remaining"]["value"])
        costs = [one["cost"]["value"] for one in account["largest"]]
        assert costs == sorted(costs, reverse=True)


def test_head_and_promise_stand_on_the_page(facts: dict[str, Any], page: Path) -> None:
    text = page.read_text()
    assert facts["head"] in text
    assert f"All {facts['entries']:,} entries are as they were written" in text
    assert "had exactly these mechanisms been fixed in advance" in text
    assert "the raise was not decided by looking at results" in text
    assert "order 9" in text


def test_words_are_harmless(page: Path) -> None:
    text = page.read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
    assert "&lt;script&gt;" in text


def test_a_record_that_was_tampered_with_says_so_first(tmp_path: Path) -> None:
    import sqlite3

    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        assert "Nothing was spent yet" in render_ledger(statement(ledger))
        ledger.spend("census", rho="0.5", key="a")
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("DROP TRIGGER entry_is_not_edited")
    connection.execute("UPDATE entry SET at = 'never' WHERE seq = 3")
    connection.commit()
    connection.close()
    with Ledger(tmp_path / "a.db") as ledger:
        text = render_ledger(statement(ledger))
    assert "This record was tampered with or is damaged" in text
    assert text.index("tampered with") < text.index("census")
    assert "entry 3: was changed" in text


def test_months_without_a_spend_are_shown_and_many_become_years() -> None:
    def row(month: str) -> dict[str, Any]:
        return {"month": month, "spends": 1, "cost": {"exact": "1", "value": 1.0}}

    assert periods([row("2025-11"), row("2026-02")]) == [
        ("2025-11", 1, 1.0),
        ("2025-12", 0, 0.0),
        ("2026-01", 0, 0.0),
        ("2026-02", 1, 1.0),
    ]
    assert periods([row("2020-01"), row("2020-05"), row("2026-02")])[0] == ("2020", 2, 2.0)
    assert periods([]) == []


@pytest.mark.deep
@pytest.mark.skipif(chromium() is None, reason=NO_BROWSER)
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_quiet_and_fits(page: Path, tmp_path: Path, width: int, dark: bool) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, width=width, dark=dark)
        assert browser.value("document.querySelectorAll('svg .line').length") == 2
        assert browser.value(WIDEST) <= width
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value(OVERLAPS) == 0
        asked = [request["request"]["url"] for request in browser.told("Network.requestWillBeSent")]
        assert [url for url in asked if url != "data:,"] == [page.as_uri()]
        assert browser.told("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []


@pytest.mark.deep
@pytest.mark.skipif(chromium() is None, reason=NO_BROWSER)
def test_it_prints(page: Path, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, width=1280, dark=True)
        sheet = base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"])
    assert sheet.startswith(b"%PDF")
    assert 2 <= sheet.count(b"/Type /Page\n") <= 10
