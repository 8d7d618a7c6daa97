"""What a ledger is asked for: accounts, spends, and the arithmetic that admits or refuses."""

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


@dataclass(frozen=True)
class Account:
    """One budget for one population, and what is left of it; all amounts are exact."""

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
        """What the amounts count, in words."""
        order = self.terms.order
        return "rho" if order is None else f"Renyi divergence of order {float(order):g}"


@dataclass(frozen=True)
class Spend:
    """A debit that is on the record. `repeated` is whether it was there before this call."""

    account: str
    key: str
    cost: Fraction
    repeated: bool
    entry: Entry


def amount(text: str) -> Fraction:
    """An amount as it is stored: a fraction in lowest terms of which the denominator divides GRID.

    >>> amount("1/10")
    Fraction(1, 10)
    """
    try:
        return _amount(text)
    except (ValueError, ZeroDivisionError, TypeError, AttributeError):
        raise LedgerError(f"{str(text)[:60]!r} is not an amount in a ledger: the ledger is damaged") from None


@lru_cache(4096)  # costs and budgets are read again and again
def _amount(text: str) -> Fraction:
    if not isinstance(text, str) or len(text) > LONGEST_AMOUNT:
        raise BadValue(text)
    number = Fraction(text)
    if str(number) != text or number.numerator < 0 or GRID % number.denominator:
        raise BadValue(text)
    return number


def admitted(budget: Fraction, spent: Fraction, cost: Fraction) -> Fraction:
    """What has been spent after this cost; raises `BudgetExceeded` where it does not fit."""
    total = spent + cost
    if total > budget:
        raise BudgetExceeded(refusal(cost, budget - spent))
    return total


def refusal(cost: Fraction, remaining: Fraction) -> str:
    """The same words whichever database refuses."""
    return f"the cost ({float(cost):.17g}) exceeds what remains ({float(remaining):.17g}): nothing was spent"
