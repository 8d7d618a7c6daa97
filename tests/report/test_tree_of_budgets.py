"""What the page of a ledger says of caps, periods and deltas: whose loss is bounded, and what is not promised."""

from __future__ import annotations

from pathlib import Path

import pytest

from zcdp import Laplace
from zcdp.ledger import Ledger
from zcdp.ledger.ledger_statement import statement
from zcdp.privacy.convert import zcdp_to_epsilon
from zcdp.report.ledger_report import render_ledger


@pytest.fixture
def facts(tmp_path: Path) -> dict[str, object]:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1, approximate="1e-7")
        ledger.open_account("team <b>", unit="person", rho=1, under="census")
        ledger.open_account("monthly", unit="person", rho="1/2", under="census", every="month", zone="Europe/Berlin")
        ledger.open_account("keys", unit="person", rho="1/2", under="census", approximate="1e-8")
        ledger.open_account("free", unit="person", rho="1/2", every="year")
        ledger.spend("team <b>", Laplace(epsilon="0.1"), key="a", why="Tables of ages: plan " + "ab" * 32)
        ledger.spend("monthly", rho="1/4", key="b")
        ledger.reserve("monthly", rho="1/8", key="c", expires=1000)
        ledger.spend("census", rho="1/8", delta="1e-8", key="d")
        ledger.spend("free", rho="1/8", key="e")
        ledger.lower_budget("free", rho="1/4", why="less")
        ledger.close_account("team <b>", why="over")
        return statement(ledger)


def test_a_level_has_the_spends_of_those_under_it(facts: dict[str, object]) -> None:
    accounts = {one["name"]: one for one in facts["accounts"]}  # type: ignore[attr-defined]
    census = accounts["census"]
    assert census["spends"] == 3
    assert census["below"] == ["keys", "monthly", "team <b>"]
    assert {row["why"] for row in accounts["team <b>"]["purposes"]} == {"Tables of ages"}
    assert accounts["monthly"]["lasting"] == "census"
    assert accounts["free"]["lasting"] is None
    assert facts["passed"]


def test_epsilon_is_told_at_what_is_left_of_delta(facts: dict[str, object]) -> None:
    accounts = {one["name"]: one for one in facts["accounts"]}  # type: ignore[attr-defined]
    given = accounts["census"]["guarantee"]
    assert given["delta"] == 1e-6
    assert given["epsilon"] > zcdp_to_epsilon(1, "1e-6")
    assert given["epsilon"] <= zcdp_to_epsilon(1, "8.9e-7")


def test_the_page_says_what_is_promised_and_what_is_not(facts: dict[str, object]) -> None:
    page = render_ledger(facts)
    for words in (
        "(approximate zCDP)",
        "their caps may add up to more than this budget",
        "The promise of this cap.",
        "What is paid for here is charged to census as well.",
        "is bounded by this budget, but for an event of probability at most 10⁻⁸, whatever else was asked.",
        "The promise of this period.",
        "in each month of the calendar (Europe/Berlin)",
        "Over the whole time the budget of census is the bound",
        "Over the whole time nothing is promised: each further year adds as much.",
        "The budget was lowered",
        "The account is closed.",
        "Accounts under accounts",
        "<dt>Reserved</dt>",
    ):
        assert words in page, words
    assert "<b>" not in page.replace("<body", "")


def test_sums_over_all_time_and_of_the_present_period_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        for month, rho in (("10", "1/4"), ("11", "1/8")):
            for module in ("sqlite", "writing", "ledger_statement"):
                monkeypatch.setattr(
                    f"zcdp.ledger.{module}.now", lambda month=month: f"2026-{month}-07T12:00:00.000000Z"
                )
            ledger.open_account("monthly", unit="person", rho="1/2", every="month")
            ledger.spend("monthly", rho=rho, key=month)
        page = render_ledger(statement(ledger))
    for words in (
        "2 spends add up to 0.375; in 2026-11 0.125 of 0.5 is spent",
        "0.375 of 0.5 remain in 2026-11.",
        "25.0% of the budget is spent in 2026-11.",
        "The sum of the spends of each month, under the budget",
        "2 were opened, and 0.375 was spent in all of them together",
    ):
        assert words in page, words
    assert "The sum of all spends" not in page
