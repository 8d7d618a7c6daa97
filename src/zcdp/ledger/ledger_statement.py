"""The statement of a ledger as plain data: what was spent, by whom, on what, over time, and what remains.

It is what `zcdp ledger report --json` prints and what `report/ledger_report.py` renders as a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from heapq import nlargest
from math import inf, nextafter
from typing import Any

from zcdp.accounting.plan_account import total_of
from zcdp.ledger.book import Ledger
from zcdp.ledger.chain import Entry
from zcdp.ledger.model import Account, amount
from zcdp.ledger.spend_text import plan_of
from zcdp.ledger.store import LedgerError
from zcdp.ledger.writing import now
from zcdp.numeric.exact import Value, probability
from zcdp.privacy.convert import zcdp_to_epsilon

__all__ = ["exact", "mechanism_of", "statement"]


MOST_POINTS = 400
"""Points of the curve of cumulative spending, thinned to about this many."""
MOST_ROWS = 10
"""Rows of each table: people, purposes, largest and latest spends."""


def exact(number: Fraction) -> dict[str, Any]:
    """A rational number for JSON: the exact fraction as text, and the nearest float.

    >>> exact(Fraction(1, 10))
    {'exact': '1/10', 'value': 0.1}
    """
    return {"exact": str(number), "value": float(number)}


@lru_cache(4096)
def mechanism_of(what: str) -> str:
    """The mechanisms of a spend, from the `what` of its entry; or that it was given as rho."""
    plan = plan_of(what)
    return "given as rho" if plan is None else repr(plan)


@dataclass
class _Tally:
    """Running sums over the entries of one account, fed one entry at a time."""

    opened: str = ""
    spends: int = 0
    total: Fraction = Fraction(0)
    latest: str = ""
    raises: list[dict[str, Any]] = field(default_factory=list)
    budgets: list[tuple[str, Fraction]] = field(default_factory=list)
    people: dict[tuple[str, str], tuple[int, Fraction]] = field(default_factory=dict)
    purposes: dict[str, tuple[int, Fraction]] = field(default_factory=dict)
    months: dict[str, tuple[int, Fraction]] = field(default_factory=dict)
    points: list[tuple[str, Fraction]] = field(default_factory=list)
    largest: list[tuple[Fraction, Entry]] = field(default_factory=list)
    recent: list[Entry] = field(default_factory=list)
    states: dict[str, int] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.latest = max(self.latest, entry.at)  # times in the chart never decrease, even if the clock did
        if entry.kind in ("open", "raise"):
            budget = amount(entry.amount)
            self.opened = self.opened or entry.at
            if entry.kind == "raise":
                said = {"at": entry.at, "to": exact(budget), "why": entry.why, "who": entry.who, "login": entry.login}
                self.raises.append(said)
            self.budgets.append((self.latest, budget))
        elif entry.kind == "spend":
            self._spend(entry, amount(entry.amount))
        else:
            self.states[entry.kind] = self.states.get(entry.kind, 0) + 1

    def _spend(self, entry: Entry, cost: Fraction) -> None:
        self.spends += 1
        self.total += cost
        _count(self.people, (entry.login, entry.who), cost)
        _count(self.purposes, entry.why or mechanism_of(entry.what), cost)
        _count(self.months, entry.at[:7], cost)
        self.points.append((self.latest, self.total))
        if len(self.points) > 8 * MOST_POINTS:
            self.points = _thinned(self.points, 4 * MOST_POINTS)
        self.largest.append((cost, entry))
        self.recent.append(entry)
        if len(self.recent) > 50 * MOST_ROWS:
            self.recent = self.recent[-MOST_ROWS:]
            self.largest = nlargest(MOST_ROWS, self.largest, key=_by_cost)


def _by_cost(one: tuple[Fraction, Entry]) -> tuple[Fraction, int]:
    return one[0], -one[1].seq


def _count(table: dict[Any, tuple[int, Fraction]], key: object, cost: Fraction) -> None:
    times, total = table.get(key, (0, Fraction(0)))
    table[key] = times + 1, total + cost


def _thinned(points: list[tuple[str, Fraction]], most: int) -> list[tuple[str, Fraction]]:
    """About `most` of the points, including the first and the last."""
    step = max(1, len(points) // most)
    return [*points[:-1:step], points[-1]]


def statement(ledger: Ledger, accounts: Iterable[str] = (), *, delta: Value = "1e-6") -> dict[str, Any]:
    """The statement of all accounts, or of those named. The ledger is verified on the way."""
    at = probability(delta, "delta")
    found = ledger.verify()
    chosen = [ledger.account(name) for name in accounts] or ledger.accounts()
    tallies = {account.name: _Tally() for account in chosen}
    for entry in ledger.history():
        if entry.account in tallies:
            with suppress(LedgerError, TypeError):  # an edited entry: `verify` has it among its findings
                tallies[entry.account].add(entry)
    from zcdp import __version__

    return {
        "zcdp": __version__,
        "made": now(),
        "source": repr(ledger)[len("Ledger(") : -1].strip("'\""),
        "head": str(found.head),
        "entries": found.entries,
        "passed": found.passed,
        "findings": list(found.findings),
        "delta": float(at),
        "accounts": [_account(ledger, account, tallies[account.name], at) for account in chosen],
    }


def _account(ledger: Ledger, account: Account, tally: _Tally, delta: Fraction) -> dict[str, Any]:
    terms = account.terms
    numbers = {"order": terms.order, "epsilon": terms.epsilon, "delta": terms.delta}
    return {
        "name": account.name,
        "unit": terms.unit,
        "neighbours": terms.neighbours,
        "measure": terms.measure,
        **{name: None if value is None else exact(value) for name, value in numbers.items()},
        "currency": account.currency,
        "budget": exact(account.budget),
        "spent": exact(account.spent),
        "remaining": exact(account.remaining),
        "share": float(account.spent / account.budget),
        "opened": tally.opened,
        "last": tally.latest,
        "spends": tally.spends,
        "sealed": tally.states.get("seal", 0),
        "delivered": tally.states.get("deliver", 0),
        "raises": tally.raises,
        "budgets": [[when, float(budget)] for when, budget in tally.budgets],
        "points": [[when, float(total)] for when, total in _thinned(tally.points, MOST_POINTS)] if tally.points else [],
        "months": [
            {"month": month, "spends": times, "cost": exact(cost)}
            for month, (times, cost) in sorted(tally.months.items())
        ],
        "people": _table(tally.people, lambda key: {"login": key[0], "who": key[1]}),
        "purposes": _table(tally.purposes, lambda key: {"why": key}),
        "largest": [_spend(entry) for _, entry in nlargest(MOST_ROWS, tally.largest, key=_by_cost)],
        "recent": [_spend(entry) for entry in reversed(tally.recent[-MOST_ROWS:])],
        "guarantee": _guarantee(account, delta),
        "information": _information(ledger, account, terms.delta or delta),
    }


def _table(table: Mapping[Any, tuple[int, Fraction]], name: Any) -> list[dict[str, Any]]:
    """The rows of highest cost first; those beyond MOST_ROWS are added up in one last row."""
    ranked = sorted(table.items(), key=lambda item: -item[1][1])
    rows = [{**name(key), "spends": times, "cost": exact(cost)} for key, (times, cost) in ranked[:MOST_ROWS]]
    rest = ranked[MOST_ROWS:]
    if rest:
        total = sum((cost for _, (_, cost) in rest), Fraction(0))
        rows.append({"others": len(rest), "spends": sum(times for _, (times, _) in rest), "cost": exact(total)})
    return rows


def _spend(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "at": entry.at,
        "key": entry.key,
        "mechanism": mechanism_of(entry.what),
        "why": entry.why,
        "who": entry.who,
        "login": entry.login,
        "cost": exact(amount(entry.amount)),
    }


def _guarantee(account: Account, delta: Fraction) -> dict[str, Any]:
    """The guarantee of the budget, which holds for adaptively chosen mechanisms too (privacy filter)."""
    terms = account.terms
    if terms.epsilon is not None and terms.delta is not None:
        return {"rho": None, "epsilon": _at_least(terms.epsilon), "delta": _at_least(terms.delta)}
    return {
        "rho": _at_least(account.budget),
        "epsilon": zcdp_to_epsilon(account.budget, delta),
        "delta": _at_least(delta),
    }


def _at_least(number: Fraction) -> float:
    """A float near the number whose printed decimal digits are not below the number.

    >>> _at_least(Fraction(3, 10)), _at_least(Fraction(1, 3))
    (0.3, 0.33333333333333337)
    """
    near = float(number)
    return near if Fraction(repr(near)) >= number else nextafter(near, inf)


def _information(ledger: Ledger, account: Account, delta: Fraction) -> dict[str, Any] | None:
    """epsilon of the mechanisms that ran, a guarantee only if they were fixed in advance; None if not computable."""
    try:
        total = total_of(ledger.plan(account.name), delta)
    except (ValueError, ArithmeticError):  # nothing was spent, or some spends were given as rho and have no plan
        return None
    return {"epsilon": total.epsilon, "delta": float(delta), "route": total.route}
