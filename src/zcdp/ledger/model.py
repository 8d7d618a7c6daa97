"""Accounts and spends as Python objects, and the exact arithmetic that admits or refuses a cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import fmpz

from zcdp.accounting.filter import GRID, units
from zcdp.errors import BadValue
from zcdp.ledger.chain import Entry
from zcdp.ledger.store import MOST_LEVELS, AccountClosed, BudgetExceeded, LedgerError, Row
from zcdp.ledger.terms import Terms
from zcdp.text.notebook import shown

__all__ = [
    "Account",
    "Cost",
    "Level",
    "Reservation",
    "Spend",
    "account_of",
    "amount",
    "check_depth",
    "check_levels",
    "digits",
    "in_tree",
    "least_of",
    "level_of",
    "levels_of",
    "refusal",
    "row_of",
    "whole",
]

LONGEST_AMOUNT = 2200
"""Characters of a stored amount; anything longer means that the ledger is damaged."""


@dataclass(frozen=True)
class Account:
    """One budget for one population, and the sums of what was spent and reserved; all amounts are exact.

    Spends of an account include those of the accounts under it. `delta_spent` and `delta_reserved` are sums of the
    delta of approximate zCDP. In an account that renews the sums are those of `period`. `above` are the names of the
    accounts that every spend is charged to as well, the nearest first.
    """

    name: str
    terms: Terms
    budget: Fraction
    spent: Fraction
    reserved: Fraction = Fraction(0)
    delta_spent: Fraction = Fraction(0)
    delta_reserved: Fraction = Fraction(0)
    period: str = ""
    closed: bool = False
    above: tuple[str, ...] = ()

    @property
    def remaining(self) -> Fraction:
        """What may still be spent here: the budget without what is spent and reserved; above there may be less."""
        return self.budget - self.spent - self.reserved

    @property
    def delta_budget(self) -> Fraction:
        """The sum of delta that spends of approximate zCDP may have; 0 if there may be no such spends."""
        return self.terms.approximate or Fraction(0)

    @property
    def delta_remaining(self) -> Fraction:
        """The delta that spends of approximate zCDP may still have."""
        return self.delta_budget - self.delta_spent - self.delta_reserved

    @property
    def currency(self) -> str:
        """The unit of the amounts, in words: rho, or a Renyi divergence."""
        order = self.terms.order
        return "rho" if order is None else f"Renyi divergence of order {float(order):g}"

    def _repr_html_(self) -> str:
        """What a notebook shows: whom it protects, and what is left, rounded to the safe side."""
        return shown(self)


@dataclass(frozen=True)
class Spend:
    """A recorded spend. `repeated` is True if it had been recorded before this call, which then charged nothing."""

    account: str
    key: str
    cost: Fraction
    repeated: bool
    entry: Entry


@dataclass(frozen=True)
class Reservation:
    """A cost that is kept back for a key until a time (UTC); `repeated` is True if it had been recorded before."""

    account: str
    key: str
    cost: Fraction
    until: str
    repeated: bool
    entry: Entry


class Cost(NamedTuple):
    """What a spend takes from an account: rho or a divergence, and the delta of approximate zCDP, which is mostly 0."""

    size: Fraction
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        return f"{self.size} {self.delta}" if self.delta else str(self.size)

    @classmethod
    @lru_cache(4096)  # the same few costs are read many times
    def parse(cls, text: str) -> Cost:
        """Read the amount of an entry: a fraction, or two with a space between them.

        >>> Cost.parse("1/10 1/1000000").delta
        Fraction(1, 1000000)
        """
        if not isinstance(text, str):
            raise LedgerError("has an amount that is not text")
        size, space, delta = text.partition(" ")
        found = cls(amount(size), amount(delta) if space else Fraction(0))
        if str(found) != text:
            raise LedgerError(f"{text[:60]!r} is not an amount in a ledger: the ledger is damaged")
        return found


@lru_cache(4096)  # a budget is read at each spend, and a sum several times
def whole(text: str) -> int:
    """Read a stored sum: a whole number of units of 1/GRID, in decimal digits.

    >>> whole("17")
    17
    """
    known = type(text) is str and text.isascii() and text.isdigit() and len(text) <= LONGEST_AMOUNT
    if not known or (text[0] == "0" and text != "0"):
        raise LedgerError(f"{str(text)[:60]!r} is not a sum in a ledger: the ledger is damaged")
    return int(fmpz(text))  # sums have a thousand digits: Python takes three times as long to read them


def digits(number: int) -> str:
    """A sum as it is stored: the inverse of `whole`.

    >>> digits(17)
    '17'
    """
    return str(fmpz(number))


def amount(text: str) -> Fraction:
    """Read a stored amount: a fraction in lowest terms whose denominator divides GRID.

    >>> amount("1/10")
    Fraction(1, 10)
    """
    try:
        return _amount(text)
    except (ValueError, ZeroDivisionError, TypeError, AttributeError):
        raise LedgerError(f"{str(text)[:60]!r} is not an amount in a ledger: the ledger is damaged") from None


@lru_cache(4096)  # the same few costs and budgets are read many times
def _amount(text: str) -> Fraction:
    if not isinstance(text, str) or len(text) > LONGEST_AMOUNT:
        raise BadValue(text)
    number = Fraction(text)
    if str(number) != text or number.numerator < 0 or GRID % number.denominator:
        raise BadValue(text)
    return number


def account_of(row: Row) -> Account:
    """A stored account as an object."""
    sums = [Fraction(whole(text), GRID) for text in row[3:9]]
    budget, spent, reserved, _, delta_spent, delta_reserved = sums
    return Account(
        row.name,
        Terms.from_json(row.terms),
        budget,
        spent,
        reserved,
        delta_spent,
        delta_reserved,
        row.period,
        row.closed != "",
        tuple(levels_of(row)[1:]),
    )


def row_of(account: Account) -> Row:
    """An account as it is stored: the inverse of `account_of`."""
    a = account
    sums = (a.budget, a.spent, a.reserved, a.delta_budget, a.delta_spent, a.delta_reserved)
    texts = (a.name, a.terms.to_json(), "\n".join(a.above), *(digits(units(one)) for one in sums))
    return Row._make((*texts, a.period, "closed" if a.closed else ""))


def in_tree(accounts: Iterable[Account]) -> list[Account]:
    """The accounts, each followed by those under it; side by side by name."""
    return sorted(accounts, key=lambda account: (*reversed(account.above), account.name))


def least_of(levels: Iterable[Account]) -> Account:
    """Of the accounts that a spend is charged to, the one that decides: it is closed, or has least left."""
    return min(levels, key=lambda level: (not level.closed, level.remaining))


class Level(NamedTuple):
    """One of the accounts that a spend is charged to, as a store checks it; all amounts are whole units of 1/GRID."""

    name: str
    budget: int
    used: int
    delta: int
    delta_used: int
    closed: bool


def levels_of(row: Row) -> list[str]:
    """The names of an account and of all above it, the nearest first."""
    return [row.name, *row.above.split("\n")] if row.above else [row.name]


def level_of(row: Row) -> Level:
    """What a store checks of an account before it charges it."""
    used, delta_used = whole(row.spent) + whole(row.reserved), whole(row.delta_spent) + whole(row.delta_reserved)
    return Level(row.name, whole(row.budget), used, whole(row.delta), delta_used, row.closed != "")


def check_depth(above: Sequence[str]) -> None:
    """Raise `LedgerError` if an account would have too many above it."""
    if len(above) >= MOST_LEVELS:
        raise LedgerError(f"accounts stand under each other at most {MOST_LEVELS} deep: nothing was opened")


def check_levels(levels: Sequence[Level], size: int, delta: int) -> None:
    """Raise `BudgetExceeded` or `AccountClosed` at the first level, from the account upwards, that has no room."""
    for level in levels:
        if level.closed:
            raise AccountClosed(level.name)
        if level.used + size > level.budget:
            raise refusal(levels[0].name, level.name, size, level.budget - level.used)
        if level.delta_used + delta > level.delta:
            raise refusal(levels[0].name, level.name, delta, level.delta - level.delta_used, what="delta")


def refusal(account: str, level: str, cost: int, remaining: int, *, what: str = "cost") -> BudgetExceeded:
    """The refusal at a level for want of budget, the same for both databases; amounts are units of 1/GRID."""
    where = "" if level == account else f" of {level!r}, above {account!r}"
    said = f"the {what} ({_shown(cost)}) exceeds what remains ({_shown(remaining)}){where}: nothing was spent"
    return BudgetExceeded(said, account=level, remaining=Fraction(remaining, GRID), what=what)


def _shown(units: int) -> str:
    return f"{float(Fraction(units, GRID)):.17g}"
