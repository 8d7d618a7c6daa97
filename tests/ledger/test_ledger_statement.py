"""The statement says what the entries say: each sum, list and date told again from the bare history."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from zcdp import Gaussian, Laplace
from zcdp.ledger import Ledger
from zcdp.ledger.chain import Entry
from zcdp.ledger.ledger_statement import statement
from zcdp.ledger.store import Request
from zcdp.privacy.convert import zcdp_to_epsilon

SPENDS = 3500  # more than are kept on the way
PEOPLE = [f"login {n}" for n in range(14)]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[Entry]]:
    """An account of many spends by many people on many things over two years, and its entries."""
    chance, clock = Random(7), [datetime(2024, 11, 5, tzinfo=UTC)]

    def now() -> str:
        clock[0] += timedelta(hours=5)
        return clock[0].strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    with pytest.MonkeyPatch.context() as patch, Ledger(tmp_path_factory.mktemp("many") / "a.db") as ledger:
        patch.setattr("zcdp.ledger.sqlite.now", now)
        patch.setattr("zcdp.ledger.sqlite.login", lambda: PEOPLE[min(chance.randrange(20), 13)])
        ledger.open_account("other", unit="person", rho=1)
        ledger.open_account("many", unit="person", rho=1, why="the first")
        ledger.spend("other", rho="0.5", key="not mine")
        for part in range(2):
            asked = []
            for n in range(part * SPENDS // 2, (part + 1) * SPENDS // 2):
                cost = Fraction(chance.randrange(1, 2**12), 2**26)
                why = chance.choice(["", *(f"purpose {n}" for n in range(12))])
                asked.append(
                    Request("many", f"key {n}", f'{{"rho": "{cost}"}}', str(cost), why, chance.choice(["", "job"]), "1")
                )
            ledger._store.spend(asked)
            if part == 0:
                ledger.raise_budget("many", rho=2, why="the board", who="DPO")
        for n in range(5):
            ledger.seal("many", f"key {n}", b"noisy")
        for n in range(3):
            ledger.deliver("many", f"key {n}")
        [facts] = statement(ledger, ["many"], delta="1e-7")["accounts"]
        return facts, list(ledger.history("many"))


def spends(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind == "spend"]


def exact(number: Fraction) -> dict[str, Any]:
    return {"exact": f"{number.numerator}/{number.denominator}", "value": number.numerator / number.denominator}


def test_budget_spent_and_remaining(told: tuple[dict[str, Any], list[Entry]]) -> None:
    facts, entries = told
    spent = sum((Fraction(one.amount) for one in spends(entries)), Fraction(0))
    assert facts["budget"] == {"exact": "2", "value": 2.0}
    assert (facts["spent"], facts["remaining"]) == (exact(spent), exact(2 - spent))
    assert facts["share"] == float(spent / 2)
    assert (facts["spends"], facts["sealed"], facts["delivered"]) == (SPENDS, 5, 3)
    assert (facts["opened"], facts["last"]) == (entries[0].at, entries[-1].at)
    assert (facts["measure"], facts["unit"], facts["neighbours"]) == ("rho", "person", "add-remove")
    assert (facts["order"], facts["epsilon"], facts["delta"]) == (None, None, None)


def test_who_spent_what_on_what_in_which_month(told: tuple[dict[str, Any], list[Entry]]) -> None:
    """The ten costliest by name, the rest as one row."""
    facts, entries = told
    keys = {
        "people": lambda one: (one.login, one.who),
        "purposes": lambda one: one.why or "given as rho",
        "months": lambda one: one.at[:7],
    }
    for name, key in keys.items():
        counts, costs = Counter(map(key, spends(entries))), defaultdict(Fraction)
        for one in spends(entries):
            costs[key(one)] += Fraction(one.amount)
        rows = facts[name]
        if name == "months":
            assert [row["month"] for row in rows] == sorted(costs)
            shown = sorted(costs)
        else:
            shown = sorted(costs, key=lambda one: costs[one], reverse=True)[:10]
            fields = ("login", "who") if name == "people" else ("why",)
            said = [tuple(row[field] for field in fields) for row in rows[:10]]
            assert said == [one if isinstance(one, tuple) else (one,) for one in shown]
            rest = set(costs) - set(shown)
            assert rows[10:] == [
                {
                    "others": len(rest),
                    "spends": sum(counts[one] for one in rest),
                    "cost": exact(sum((costs[one] for one in rest), Fraction(0))),
                }
            ]
        assert [(row["spends"], row["cost"]) for row in rows[: len(shown)]] == [
            (counts[one], exact(costs[one])) for one in shown
        ]


def test_the_costliest_and_the_latest_spends(told: tuple[dict[str, Any], list[Entry]]) -> None:
    facts, entries = told
    costly = sorted(spends(entries), key=lambda one: (-Fraction(one.amount), one.seq))[:10]
    assert [one["seq"] for one in facts["largest"]] == [one.seq for one in costly]
    assert [one["seq"] for one in facts["recent"]] == [one.seq for one in spends(entries)[:-11:-1]]
    for row, entry in zip(facts["largest"], costly, strict=True):
        assert row == {
            "seq": entry.seq,
            "at": entry.at,
            "key": entry.key,
            "mechanism": "given as rho",
            "why": entry.why,
            "who": entry.who,
            "login": entry.login,
            "cost": exact(Fraction(entry.amount)),
        }


def test_the_curve_of_spending_goes_through_true_sums(told: tuple[dict[str, Any], list[Entry]]) -> None:
    facts, entries = told
    total, sums = Fraction(0), {}
    for one in spends(entries):
        total += Fraction(one.amount)
        sums[one.at] = float(total)
    points = facts["points"]
    assert 300 <= len(points) <= 900
    assert all(sums[when] == value for when, value in points)
    assert points == sorted(points)
    assert points[0][0] == spends(entries)[0].at
    assert points[-1] == [spends(entries)[-1].at, float(total)]
    [raised] = [one for one in entries if one.kind == "raise"]
    assert facts["budgets"] == [[entries[0].at, 1.0], [raised.at, 2.0]]
    two = {"exact": "2", "value": 2.0}
    assert facts["raises"] == [
        {"at": raised.at, "to": two, "why": "the board", "who": "DPO", "login": raised.login},
    ]


def test_the_promise_is_of_the_budget_and_not_of_what_was_spent(told: tuple[dict[str, Any], list[Entry]]) -> None:
    facts, _ = told
    assert facts["guarantee"] == {"rho": 2.0, "epsilon": zcdp_to_epsilon(2, "1e-7"), "delta": 1e-7}
    assert facts["information"] is None  # of a bare rho nothing more is known


def test_an_account_of_epsilon_promises_its_own_epsilon_and_delta(quick: Path) -> None:
    with Ledger(quick / "a.db") as ledger:
        ledger.open_account("by order", unit="person", epsilon=2, delta="1e-8", order=12, neighbours="replace")
        ledger.open_account("by rho", unit="person", epsilon=3, delta="1e-9")
        ledger.open_account("plain", unit="person", rho=1)
        plan = 3 * Laplace(epsilon="0.1") + Gaussian(sigma=20)
        for name in ("by order", "by rho", "plain"):
            ledger.spend(name, Laplace(epsilon="0.1"), key="a")
            ledger.spend(name, 2 * Laplace(epsilon="0.1") + Gaussian(sigma=20), key="b")
        facts = {one["name"]: one for one in statement(ledger, delta="1e-5")["accounts"]}
        assert list(facts) == ["by order", "by rho", "plain"]
        assert [one["name"] for one in statement(ledger, ["plain", "by rho"])["accounts"]] == ["plain", "by rho"]
        whole = statement(ledger)
        assert (whole["head"], whole["entries"], whole["delta"]) == (ledger.head, 10, 1e-6)
        assert whole["source"] == str(quick / "a.db")
    assert facts["by order"]["guarantee"] == {"rho": None, "epsilon": 2.0, "delta": 1e-8}
    assert facts["by rho"]["guarantee"] == {"rho": None, "epsilon": 3.0, "delta": 1e-9}
    assert facts["by order"]["currency"] == "Renyi divergence of order 12"
    assert facts["by order"]["order"] == {"exact": "12", "value": 12.0}
    assert (facts["by rho"]["epsilon"]["exact"], facts["by rho"]["delta"]["exact"]) == ("3", "1/1000000000")
    assert facts["plain"]["largest"][0]["mechanism"] == repr(2 * Laplace(epsilon="0.1") + Gaussian(sigma=20))
    for name, delta in (("by order", "1e-8"), ("by rho", "1e-9"), ("plain", "1e-5")):
        known = facts[name]["information"]
        assert known["delta"] == float(delta)
        assert plan.epsilon_bounds(delta=delta)[0] <= known["epsilon"] <= plan.epsilon_at(delta=delta)


@pytest.mark.parametrize("share", ["1/3", "2/3", "1/7", "0.3", "4/99", "1.1", "1/9801"])
def test_a_promise_is_never_below_what_was_agreed(share: str, quick: Path) -> None:
    """As it is printed: 0.3333333333333333 would be less than a third."""
    number, delta = Fraction(share), Fraction(share) / 10**6
    with Ledger(quick / "a.db") as ledger:
        ledger.open_account("epsilon", unit="person", epsilon=number, delta=delta)
        ledger.open_account("rho", unit="person", rho=number)
        epsilon, rho = (one["guarantee"] for one in statement(ledger, delta=delta)["accounts"])
    for said, agreed in (
        (epsilon["epsilon"], number),
        (epsilon["delta"], delta),
        (rho["rho"], number),
        (rho["delta"], delta),
    ):
        assert agreed <= Fraction(repr(said)) <= agreed * (1 + Fraction(1, 10**15))


def test_a_clock_that_ran_backwards_does_not_draw_backwards(quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([f"{year}-05-01T00:00:00.000000Z" for year in (2024, 2025, 2027, 2026, 2026, 2028)])
    monkeypatch.setattr("zcdp.ledger.sqlite.now", lambda: next(times))
    with Ledger(quick / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        for n in range(2):
            ledger.spend("census", rho="0.25", key=f"{n}")
        ledger.raise_budget("census", rho=3, why="more")
        [facts] = statement(ledger)["accounts"]
    assert [(when[:4], value) for when, value in facts["points"]] == [("2027", 0.25), ("2027", 0.5)]
    assert [(when[:4], value) for when, value in facts["budgets"]] == [("2025", 1.0), ("2027", 3.0)]
    assert [row["month"] for row in facts["months"]] == ["2026-05", "2027-05"]
    assert facts["raises"][0]["at"].startswith("2026")
    assert (facts["opened"][:4], facts["last"][:4]) == ("2025", "2027")
