"""The statement of a ledger as plain data: what was spent, by whom, on what, over time, and what remains.

It is what `zcdp ledger report --json` prints and what `report/ledger_report.py` renders as a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from heapq import nlargest
from math import inf, nextafter
from operator import itemgetter
from typing import Any

from zcdp.accounting.filter import left_of_delta
from zcdp.accounting.plan_account import total_of
from zcdp.ledger.book import Ledger
from zcdp.ledger.chain import Entry
from zcdp.ledger.model import Account, Cost, amount
from zcdp.ledger.spend_text import plan_of
from zcdp.ledger.store import LedgerError
from zcdp.ledger.terms import Terms
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


def purpose(entry: Entry) -> str:
    """What a spend was for: its reason, without the digest of a plan file that a release adds; else its mechanisms."""
    return re.sub(r": plan [0-9a-f]{64}$", "", entry.why) or mechanism_of(entry.what)


@dataclass
class _Tally:
    """Running sums over the entries of one account, fed one entry at a time."""

    opened: str = ""
    spends: int = 0
    total: Fraction = Fraction(0)
    latest: str = ""
    raises: list[dict[str, Any]] = field(default_factory=list)
    lowers: list[dict[str, Any]] = field(default_factory=list)
    periods: list[str] = field(default_factory=list)
    all_time: Fraction = Fraction(0)
    """The sum of all spends; `total` is that of the present period, in an account that renews."""
    budgets: list[tuple[str, Fraction]] = field(default_factory=list)
    most: tuple[Fraction, str] = (Fraction(0), "")
    """The largest budget there ever was, and its terms: what every period of an account that renews is bounded by."""
    people: dict[tuple[str, str], tuple[int, Fraction]] = field(default_factory=dict)
    purposes: dict[str, tuple[int, Fraction]] = field(default_factory=dict)
    months: dict[str, tuple[int, Fraction]] = field(default_factory=dict)
    points: list[tuple[str, Fraction]] = field(default_factory=list)
    largest: list[tuple[Fraction, Entry]] = field(default_factory=list)
    recent: list[Entry] = field(default_factory=list)
    states: dict[str, int] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.latest = max(self.latest, entry.at)  # times in the chart never decrease, even if the clock did
        if entry.kind in ("open", "raise", "lower"):
            budget = amount(entry.amount)
            self.opened = self.opened or entry.at
            if entry.kind != "open":
                said = {"at": entry.at, "to": exact(budget), "why": entry.why, "who": entry.who, "login": entry.login}
                (self.raises if entry.kind == "raise" else self.lowers).append(said)
            self.budgets.append((self.latest, budget))
            self.most = max(self.most, (budget, entry.what), key=itemgetter(0))
        elif entry.kind == "period":
            self.periods.append(entry.what)
            self.total = Fraction(0)
            self.points.append((self.latest, self.total))
        elif entry.kind == "spend":
            self._spend(entry, Cost.parse(entry.amount).size)
        else:
            self.states[entry.kind] = self.states.get(entry.kind, 0) + 1

    def _spend(self, entry: Entry, cost: Fraction) -> None:
        self.spends += 1
        self.total += cost
        self.all_time += cost
        _count(self.people, (entry.login, entry.who), cost)
        _count(self.purposes, purpose(entry), cost)
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
    known = ledger.accounts()
    levels = {account.name: (account.name, *account.above) for account in known}
    names = ledger.names()
    for stored in ledger.history():
        entry = stored._replace(who=names.get(stored.who, stored.who)) if stored.who else stored
        charged = levels.get(entry.account, ()) if entry.kind == "spend" else (entry.account,)
        for name in charged:
            if name in tallies:
                with suppress(LedgerError, TypeError):  # an edited entry: `verify` has it among its findings
                    tallies[name].add(entry)
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
        "accounts": [_account(ledger, account, known, tallies[account.name], at) for account in chosen],
    }


def _account(
    ledger: Ledger, account: Account, known: Sequence[Account], tally: _Tally, delta: Fraction
) -> dict[str, Any]:
    terms = account.terms
    numbers = {"order": terms.order, "epsilon": terms.epsilon, "delta": terms.delta}
    renewing = {one.name for one in known if one.terms.every is not None}
    return {
        "name": account.name,
        "unit": terms.unit,
        "neighbours": terms.neighbours,
        "measure": terms.measure,
        **{name: None if value is None else exact(value) for name, value in numbers.items()},
        "currency": account.currency,
        "budget": exact(account.budget),
        "spent": exact(account.spent),
        "reserved": exact(account.reserved),
        "remaining": exact(account.remaining),
        "above": list(account.above),
        "below": [one.name for one in known if account.name in one.above],
        "closed": account.closed,
        "every": terms.every,
        "zone": terms.zone,
        "period": account.period,
        "periods": len(tally.periods),
        "lasting": next((name for name in account.above if name not in renewing), None),
        "all_time": exact(tally.all_time),
        "approximate": None if terms.approximate is None else exact(terms.approximate),
        "delta_remaining": exact(account.delta_remaining),
        "share": float(account.spent / account.budget),
        "opened": tally.opened,
        "last": tally.latest,
        "spends": tally.spends,
        "sealed": tally.states.get("seal", 0),
        "delivered": tally.states.get("deliver", 0),
        "raises": tally.raises,
        "lowers": tally.lowers,
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
        "guarantee": _guarantee(_promised(account, tally), delta),
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
        "cost": exact(Cost.parse(entry.amount).size),
    }


def _promised(account: Account, tally: _Tally) -> Account:
    """The account with the budget that its promise is about.

    A budget is not lowered below what is spent, but an earlier period of an account that renews may have spent more:
    its promise is that of the largest budget there was.
    """
    budget, terms = tally.most
    if account.terms.every is None or budget <= account.budget:
        return account
    return replace(account, budget=budget, terms=Terms.from_json(terms))


def _guarantee(account: Account, delta: Fraction) -> dict[str, Any]:
    """The guarantee of the budget, which holds for adaptively chosen mechanisms too (privacy filter).

    Of an account under another it is about what its results add, and of one that renews about each period: `above` and
    `every` say so. Theorems: docs/theorems/approximate-filter.md, docs/theorems/budget-levels.md.
    """
    terms = account.terms
    if terms.epsilon is not None and terms.delta is not None:
        return {"rho": None, "epsilon": _at_least(terms.epsilon), "delta": _at_least(terms.delta)}
    mass = account.delta_budget
    part = left_of_delta(delta, mass) if mass < delta else delta
    return {
        "rho": _at_least(account.budget),
        "epsilon": zcdp_to_epsilon(account.budget, part),
        "delta": _at_least(delta if mass < delta else mass + (1 - mass) * delta),
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
