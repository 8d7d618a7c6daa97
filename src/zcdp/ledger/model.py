"""Accounts and spends as Python objects, and the exact arithmetic that admits or refuses a cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from zcdp.accounting.filter import GRID
from zcdp.errors import BadValue
from zcdp.ledger.chain import Entry
from zcdp.ledger.store import BudgetExceeded, LedgerError
from zcdp.ledger.terms import Terms

__all__ = ["Account", "Spend", "admitted", "amount", "refusal"]

LONGEST_AMOUNT = 2200
"""Characters of a stored amount; anything longer means that the ledger is damaged."""


@dataclass(frozen=True)
class Account:
    """One budget for one population, and the sum of what was spent; all amounts are exact."""

    name: str
    terms: Terms
    budget: Fraction
    spent: Fraction

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.budget - self.spent

    @property
    def currency(self) -> str:
        """The unit of the amounts, in words: rho, or a Renyi divergence."""
        order = self.terms.order
        return "rho" if order is None else f"Renyi divergence of order {float(order):g}"


@dataclass(frozen=True)
class Spend:
    """A recorded spend. `repeated` is True if it had been recorded before this call, which then charged nothing."""

    account: str
    key: str
    cost: Fraction
    repeated: bool
    entry: Entry


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


def admitted(budget: Fraction, spent: Fraction, cost: Fraction) -> Fraction:
    """The new sum of spends with this cost; raises `BudgetExceeded` if it exceeds the budget."""
    total = spent + cost
    if total > budget:
        raise BudgetExceeded(refusal(cost, budget - spent))
    return total


def refusal(cost: Fraction, remaining: Fraction) -> str:
    """The message of `BudgetExceeded`, the same for both databases."""
    return f"the cost ({float(cost):.17g}) exceeds what remains ({float(remaining):.17g}): nothing was spent"
