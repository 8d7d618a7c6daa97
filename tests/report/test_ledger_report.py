"""The page of a ledger: true numbers, safe words, and, in a real browser, quiet and within the screen."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from report.browser import Browser, chromium
from report.drawing import Drawing, scale, stairs
from report.ledger_sample import year

from zcdp.errors import BadValue
from zcdp.ledger import Ledger
from zcdp.ledger.ledger_statement import statement
from zcdp.report.charts import even_ticks
from zcdp.report.ledger_report import (
    _dates,
    account_section,
    evidence,
    months_chart,
    periods,
    render_ledger,
    spending_chart,
)

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


# What was spent over time stands where the axes say, and no spend is lost between the periods.


NEAR = 0.16  # places are written to a tenth


START = datetime(2025, 10, 20, 6, 30, tzinfo=UTC)


def written(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def account(spends: list[tuple[int, float]], budgets: list[tuple[int, float]]) -> dict[str, Any]:
    """Spends and budgets by their day after the opening."""
    sums = list(accumulate(cost for _, cost in spends))
    return {
        "points": [[written(START + timedelta(days=day)), total] for (day, _), total in zip(spends, sums, strict=True)],
        "budgets": [[written(START + timedelta(days=day)), value] for day, value in budgets],
        "spends": len(spends),
        "spent": {"value": sums[-1] if sums else 0.0},
        "budget": {"value": budgets[-1][1]},
    }


LEDGERS: dict[str, tuple[list[tuple[int, float]], list[tuple[int, float]], int]] = {
    "a raise in between": ([(20, 0.25), (90, 0.5), (200, 0.1)], [(0, 1.0), (150, 2.5)], 300),
    "spent beyond what a forged budget says": ([(100, 0.5), (250, 3.0)], [(0, 1.0)], 400),
    "nothing spent": ([], [(0, 0.02)], 170),
    "told before its last spend": ([(30, 0.3), (380, 0.2)], [(0, 1.0), (390, 1.25)], 100),
}


@pytest.mark.parametrize("name", LEDGERS)
def test_steps_and_budget_are_at_every_day_what_was_spent_and_allowed(name: str) -> None:
    spends, budgets, told = LEDGERS[name]
    found = Drawing(spending_chart(account(spends, budgets), name="n", until=written(START + timedelta(days=told))))
    down = scale([(float(label), place) for label, place in found.labels(level=True)])
    [year] = [place for label, place in found.labels(level=False) if label == "2026"]
    months = {label: place for label, place in found.labels(level=False) if label != "2027"}
    later = next(name for name in ("Apr", "Mar", "Mar", "Feb") if name in months)
    month = ["Jan", "Feb", "Mar", "Apr"].index(later) + 1
    dates = [(datetime(2026, 1, 1, tzinfo=UTC), year), (datetime(2026, month, 1, tzinfo=UTC), months[later])]
    across = scale([((at - START).total_seconds() / 86400, place) for at, place in dates])
    last = max(told, *(day for day, _ in [*spends, *budgets]))
    days = [day + 0.4 for day in range(0, last - 1, 3)]

    def read(path: str, day: float) -> float:
        x = across(day)
        return next(y for start, end, y in stairs(path) if start - 0.05 <= x <= end + 0.05)

    [line], [limit], [area] = (found.of("path", kind) for kind in ("line", "limit", "area"))
    for day in days:
        if min(abs(day - one) for one, _ in [*spends, *budgets]) < 2:
            continue
        assert read(line.given["d"], day) == pytest.approx(down(sum(c for d, c in spends if d < day)), abs=NEAR)
        assert read(limit.given["d"], day) == pytest.approx(down([b for d, b in budgets if d < day][-1]), abs=NEAR)
    for path in (line, limit):
        assert stairs(path.given["d"])[0][0] == pytest.approx(across(0), abs=0.5)
        assert stairs(path.given["d"])[-1][1] == pytest.approx(across(last), abs=0.5)
    assert line.given["d"].removeprefix("M") in area.given["d"]
    assert area.given["d"].endswith(f"V{down(0):.0f}Z")
    [word] = [one for one in found.of("text") if one.text == "budget"]
    assert 0 < down(budgets[-1][1]) - word.at("y")[0] < 10
    assert found.is_inside()
    total, budget = sum(cost for _, cost in spends), budgets[-1][1]
    assert f"{len(spends)} spends add up to {total:.6g} of {budget:.6g}" in str(found.said)
    assert f"From 2025-10-20 to {START + timedelta(days=last):%Y-%m-%d}" in str(found.said)


def test_a_ledger_of_one_minute_is_drawn() -> None:
    facts = account([(0, 0.5)], [(0, 1.0)])
    found = Drawing(spending_chart(facts, name="n", until=written(START)))
    down = scale([(float(label), place) for label, place in found.labels(level=True)])
    [line] = found.of("path", "line")
    assert stairs(line.given["d"])[-1][2] == pytest.approx(down(0.5), abs=NEAR)
    assert [label for label, _ in found.labels(level=False)] == ["06:30"] * 3


@pytest.mark.parametrize("days", [0.01, 1, 1.9, 2.1, 30, 59, 61, 100, 200, 400, 800, 1500, 4000, 9000, 30000])
def test_the_dates_below_a_chart_are_true_and_few(days: float) -> None:
    end = START + timedelta(days=days)
    found = _dates(START, end)
    assert 1 <= len(found) <= 6 + (days > 60)
    for at, label in found:
        assert START <= at <= end
        if days < 2:
            assert label == f"{at.hour:02}:{at.minute:02}"
        elif days < 60:
            assert label == f"{at.day:02} {at:%b}"
        else:
            assert (at.day, at.hour, at.minute) == (1, 0, 0)
            assert label == (str(at.year) if at.month == 1 else f"{at:%b}")
    if days < 60:
        assert [(at - START) / (end - START) for at, _ in found] == pytest.approx([0.25, 0.5, 0.75], abs=1e-4)
    else:
        gaps = {(two.year - one.year) * 12 + two.month - one.month for (one, _), (two, _) in pairwise(found)}
        assert len(gaps) <= 1


@pytest.mark.parametrize("largest", [0.003, 0.02, 0.1, 0.32, 0.99, 1.04, 1.3, 2.6, 5, 8, 10.4, 99])
def test_levels_are_zero_and_round_numbers_up_to_the_largest(largest: float) -> None:
    found = even_ticks(largest, 4)
    step = found[1]
    assert found[0] == 0
    assert found == pytest.approx([n * step for n in range(len(found))], rel=1e-9)
    assert found[-1] <= largest * (1 + 1e-12) <= (found[-1] + step) * (1 + 1e-9)
    assert 3 <= len(found) <= 5
    assert round(float(f"{step:e}".split("e")[0]), 9) in (1, 2, 2.5, 5)


def months(*rows: tuple[str, int, float]) -> list[dict[str, Any]]:
    return [{"month": month, "spends": count, "cost": {"exact": "1", "value": value}} for month, count, value in rows]


def test_periods_are_every_month_up_to_two_years_and_then_years_that_add_up() -> None:
    two_years = periods(months(("2024-02", 2, 0.5), ("2025-03", 1, 0.25), ("2026-01", 3, 0.125)))
    assert len(two_years) == 24
    assert [one for one in two_years if one[1]] == [("2024-02", 2, 0.5), ("2025-03", 1, 0.25), ("2026-01", 3, 0.125)]
    assert [one[0] for one in two_years[9:13]] == ["2024-11", "2024-12", "2025-01", "2025-02"]
    more = months(("2024-02", 2, 0.5), ("2024-12", 5, 0.25), ("2026-02", 3, 0.125), ("2026-01", 1, 1.0))
    assert periods(more) == [("2024", 7, 0.75), ("2025", 0, 0.0), ("2026", 4, 1.125)]
    assert periods(months(("2026-12", 1, 1.0))) == [("2026-12", 1, 1.0)]
    with pytest.raises(BadValue, match="five hundred years"):
        periods(months(("1500-01", 1, 1.0), ("2026-01", 1, 1.0)))
    assert len(periods(months(("1526-01", 1, 1.0), ("2026-01", 1, 1.0)))) == 501


@pytest.mark.parametrize("count", [1, 5, 7, 13, 24])
def test_bars_of_months_are_as_high_as_their_cost_and_named(count: int) -> None:
    rows = [(f"{2025 + n // 12}-{n % 12 + 1:02}", n, 0.01 * ((n * 7) % 11)) for n in range(1, count + 1)]
    found = Drawing(months_chart(rows, name="n"))
    down = scale([(float(label), place) for label, place in found.labels(level=True)])
    boxes = found.of("rect")
    for box, (_, _, cost) in zip(boxes, rows, strict=True):
        top, tall = box.at("y", "height")
        assert top == pytest.approx(down(cost), abs=NEAR)
        assert top + tall == pytest.approx(down(0), abs=NEAR)
    ends = [(box.at("x")[0], sum(box.at("x", "width"))) for box in boxes]
    assert all(one[1] < two[0] for one, two in pairwise(ends))
    names = {f"{datetime.strptime(month, '%Y-%m'):%b %y}": n for n, (month, _, _) in enumerate(rows)}
    labels = [one for one in found.of("text") if one.text in names]
    assert 1 <= len(labels) <= 6
    assert labels[0].text == next(iter(names))
    for one in labels:
        start, end = ends[names[one.text]]
        assert one.at("x")[0] == pytest.approx((start + end) / 2, abs=NEAR)
    assert found.is_inside()
    said = str(found.said)
    assert all(f"{month}: {cost:.6g} in {n} spends" in said for month, n, cost in rows)


def test_the_chart_says_whether_its_bars_are_months_or_years() -> None:
    assert "in each year" in months_chart([("2024", 1, 1.0), ("2025", 2, 0.5)], name="n")
    assert "in each month" in months_chart([("2024-05", 1, 1.0)], name="n")
    assert [one.text for one in Drawing(months_chart([("2024", 1, 1.0)], name="n")).of("text")][-1] == "2024"


# The page of a ledger rounds what is spent and promised up, what remains down, and mixes no two numbers up.


def exact(value: float) -> dict[str, Any]:
    return {"exact": repr(value), "value": value}


def spend(n: int) -> dict[str, Any]:
    return {
        "seq": n, "at": f"2026-03-{n:02}T10:00:00.000000Z", "key": f"key {n}", "mechanism": f"Laplace({n})",
        "why": f"why {n}", "who": f"who {n}" if n % 2 else "", "login": f"login {n}", "cost": exact(0.001000000123 * n),
    }  # fmt: skip


def an_account(**changes: Any) -> dict[str, Any]:
    """Numbers of which the sixth digit tells how they were rounded."""
    return {
        "name": "census <1>", "unit": "person", "neighbours": "add-remove", "measure": "rho", "order": None,
        "budget": exact(2.00000123), "spent": exact(0.50000123), "remaining": exact(1.50000987), "share": 0.25012,
        "spends": 1234, "sealed": 77, "delivered": 56, "raises": [], "months": [
            {"month": "2026-02", "spends": 1000, "cost": exact(0.40000123)},
            {"month": "2026-04", "spends": 234, "cost": exact(0.10000987)},
        ],
        "budgets": [["2026-02-01T00:00:00.000000Z", 2.00000123]], "points": [["2026-02-03T00:00:00.000000Z", 0.5]],
        "people": [
            {"login": "ana", "who": "job", "spends": 1200, "cost": exact(0.30000123)},
            {"others": 12, "spends": 34, "cost": exact(0.20000987)},
        ],
        "purposes": [{"why": "tables & more", "spends": 1234, "cost": exact(0.50000123)}],
        "largest": [spend(9), spend(7)], "recent": [spend(12), spend(11)],
        "guarantee": {"rho": 2.00000123, "epsilon": 12.3400012, "delta": 1e-7},
        "information": {"epsilon": 3.21000012, "delta": 1e-6, "route": "profile"},
    } | changes  # fmt: skip


def plain(html: str) -> str:
    """What a person reads."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "|", html)))


def section(**changes: Any) -> str:
    return account_section(an_account(**changes), 3, "2026-05-01T00:00:00.000000Z")


def test_the_cards_say_budget_spent_and_remaining() -> None:
    told = re.findall(r"<dt>(\w+)</dt><dd>(.*?)<small>(.*?)</small>", section())
    assert [(name, plain(text).strip("|"), note) for name, text, note in told] == [
        ("Budget", "2.00000", "\u03c1 (zCDP)"),
        ("Spent", "0.500002", "25.1% of the budget"),
        ("Remains", "1.50000", "exact to the last digit"),
        ("Spends", "1,234", "56 delivered"),
    ]
    values = re.findall(r'<dd><data value="([^"]*)">', section())
    assert values == ["2.00000123", "0.50000123", "1.50000987"]
    assert 'class="verdict good">1.50000 of 2.00000 remain. 25.1% of the budget is spent.' in section()
    assert '<div class="meter"><span style="width:25.0%">' in section()
    assert '<article id="account-3"><h2>census &lt;1&gt;</h2>' in section()


@pytest.mark.parametrize("rest", [0.0, -0.25])
def test_a_budget_that_is_used_up_says_so(rest: float) -> None:
    text = section(remaining=exact(rest), share=1.125)
    assert 'class="verdict bad">The budget is used up. 112.5% of the budget is spent.' in text
    assert "width:100.0%" in text
    assert 'class="verdict good"' in section(remaining=exact(1e-9), share=0.9999)


def test_the_currency_is_named() -> None:
    text = section(measure="renyi", order=exact(12.5))
    assert "<small>R\u00e9nyi divergence of order 12.5</small>" in text
    assert "\u03c1 (zCDP)</small>" not in text


@pytest.mark.parametrize(
    ("neighbours", "said"),
    [("add-remove", "added or removed"), ("replace", "replaced by another"), ("local", "given any other answer")],
)
def test_the_promise_is_rounded_up_and_says_for_which_neighbours(neighbours: str, said: str) -> None:
    text = plain(section(neighbours=neighbours, unit="device"))
    assert (
        "together satisfy \u03c1 = 2.00001 (zCDP), and so (\u03b5, \u03b4)-differential privacy with "
        f"\u03b5 = 12.3401 at \u03b4 = 10\u207b\u2077, when one device is {said}."
    ) in text
    assert "fixed in advance, \u03b5 would be 3.21001 at \u03b4 = 10\u207b\u2076." in text
    assert "was raised" not in text


def test_what_does_not_hold_is_not_said() -> None:
    text = plain(section(guarantee={"rho": None, "epsilon": 4.0, "delta": 1e-8}, information=None))
    assert "together satisfy (\u03b5, \u03b4)-differential privacy with \u03b5 = 4 at \u03b4 = 10\u207b\u2078" in text
    assert "fixed in advance" not in text


def test_a_raise_is_told_with_its_reason() -> None:
    one = {"at": "2026-03-09T00:00:00Z", "to": exact(2.00000123), "why": "the <board>", "who": "DPO", "login": "ana"}
    text = plain(section(raises=[one, one | {"who": "", "login": "ben"}]))
    assert "2026-03-09|: to 2.00001, by ana (DPO): the <board>" in text
    assert "2026-03-09|: to 2.00001, by ben: the <board>" in text
    assert "only if the raise was not decided by looking at results" in text


def test_shares_of_people_and_purposes_are_of_what_was_spent() -> None:
    rows = re.findall(r'<tr><th scope="row">((?:(?!</tr>).)*?%)', section(), re.DOTALL)
    read = [plain(row).replace("||", "|").split("|") for row in rows]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in read]
    assert cells == [
        ["ana", "job", "1,200", "0.300002", "60.1%"],
        ["12 others", "34", "0.200010", "40.1%"],
        ["tables & more", "1,234", "0.500002", "100.0%"],
    ]
    assert "width:60.0%" in section()
    assert "By whom" not in section(spends=0)


def test_periods_stand_in_a_table() -> None:
    text = section()
    body = text[text.index('<table class="narrow">') :]
    rows = re.findall(r'<th scope="row">([^<]*)</th><td class="number">([^<]*)</td><td class="number">([^<]*)<', body)
    assert rows[:3] == [("2026-02", "1,000", "0.400002"), ("2026-03", "0", "0"), ("2026-04", "234", "0.100010")]
    assert "Nothing was spent yet" in section(months=[])


def test_the_costliest_and_the_latest_are_listed_and_only_once_where_they_are_all() -> None:
    text = section()
    first, second = text.index("The costliest spends"), text.index("The latest spends")
    assert re.findall(r"<br><code>(.*?)</code>", text[first:second]) == ["Laplace(9)", "Laplace(7)"]
    assert re.findall(r"<br><code>(.*?)</code>", text[second:]) == ["Laplace(12)", "Laplace(11)"]
    row = plain(text[second:]).split("key 11")[1]
    assert [cell.strip() for cell in row.split("|") if cell.strip()][:5] == [
        "Laplace(11)", "why 11", "2026-03-11", "login 11 (who 11)", "0.0110001",
    ]  # fmt: skip
    assert "login 12|" in plain(text)
    assert "All spends" not in text
    for spends, alone in ((2, True), (3, False)):
        assert ("All spends" in section(spends=spends)) == alone
        assert ("The costliest spends" in section(spends=spends)) != alone


def facts_of(**changes: Any) -> dict[str, Any]:
    accounts = [
        an_account(),
        an_account(name="other", share=1.5, remaining=exact(-0.5), neighbours="local"),
    ]
    return {
        "head": "17:" + "ab" * 32, "entries": 12345, "passed": True, "findings": [], "made": "2026-05-01T12:34:56Z",
        "source": "/data/my ledger's.db", "zcdp": "9.8.7", "accounts": accounts,
    } | changes  # fmt: skip


def test_several_accounts_are_compared_first() -> None:
    page = render_ledger(facts_of())
    table = page[page.index("<tbody>") : page.index("</tbody>")]
    rows = [[cell for cell in plain(row).split("|") if cell.strip()] for row in table.split("</tr>")[:2]]
    assert rows == [
        ["census <1>", "2.00000", "0.500002", "25.1%", "1.50000"],
        ["other", "2.00000", "0.500002", "150.0%", "-0.5"],
    ]
    assert re.findall(r'href="#account-(\d)"', table) == ["0", "1"]
    assert re.findall(r'class="share" style="width:([\d.]+)%', table) == ["25.0", "100.0"]
    assert re.findall(r'<article id="account-(\d)"', page) == ["0", "1"]
    assert "tampered with" not in page
    alone = render_ledger(facts_of(accounts=[an_account()]))
    assert 'href="#account-0"' not in alone
    assert "There are no accounts yet" not in alone
    assert "There are no accounts yet" in render_ledger(facts_of(accounts=[]))


@pytest.mark.parametrize("accounts", [0, 1, 2])
def test_a_record_that_does_not_hold_says_so_first_and_why(accounts: int) -> None:
    page = render_ledger(
        facts_of(passed=False, findings=["entry 3: <was> changed"], accounts=facts_of()["accounts"][:accounts])
    )
    assert page.index("This record was tampered with or is damaged") < page.index('id="evidence"')
    assert "<li>entry 3: &lt;was&gt; changed</li>" in page
    assert "entries are as they were written" not in page


def test_the_evidence_names_the_head_and_the_command_to_check_it() -> None:
    text = unescape(evidence(facts_of()))
    assert "All 12,345 entries are as they were written." in text
    assert f"verify '/data/my ledger'\\''s.db' --expect-head 17:{'ab' * 32}<" in text
    assert "Made 2026-05-01 12:34 UTC by zcdp 9.8.7, from /data/my ledger's.db." in text
    for bare in ("budget.db", "/var/lib/a_b-c.db", "postgresql://host:5432/x"):
        assert f"zcdp ledger verify {bare} --expect-head" in evidence(facts_of(source=bare))
    for quoted in ("a b", "a;b", "$(x)", "\u00e9", ""):
        assert f"zcdp ledger verify '{quoted}' --expect-head" in unescape(evidence(facts_of(source=quoted)))


@pytest.mark.parametrize("field", ["head", "entries", "passed", "findings", "made", "source", "zcdp", "accounts"])
def test_a_statement_that_lacks_a_part_is_refused(field: str) -> None:
    given = facts_of()
    del given[field]
    with pytest.raises(ValueError, match=f"the statement has no '{field}'"):
        render_ledger(given)
