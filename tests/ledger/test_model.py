"""Amounts are what a grid can hold; what fits exactly is admitted and a hair more is not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from zcdp.accounting.filter import GRID
from zcdp.ledger import BudgetExceeded, LedgerError
from zcdp.ledger.model import Account, Level, amount, check_levels
from zcdp.ledger.terms import Terms


@pytest.mark.parametrize(
    "text", ["0", "5", "1/10", "1/3", "7/9801", "123456789/1000", f"1/{10**1000}"], ids=lambda text: text[:12]
)
def test_amounts_that_a_ledger_holds(text: str) -> None:
    assert amount(text) == Fraction(text)


@pytest.mark.parametrize(
    "text",
    ["", "-1", "-1/10", "2/4", "1/1", "0/5", " 1", "+1", "01", "0.5", "1e3", "1/0", "1/-2", "1/103", f"1/{10**1001}",
     "9" * 2201, None, 1, b"1", "1_0", "x"],
    ids=lambda text: ascii(text)[:12],
)  # fmt: skip
def test_amounts_that_it_does_not(text: object) -> None:
    with pytest.raises(LedgerError, match="is not an amount in a ledger"):
        amount(text)  # type: ignore[arg-type]


def test_what_fits_exactly_is_admitted_and_a_hair_more_is_not() -> None:
    third, hair = Fraction(1, 3), Fraction(1, 10**1000)

    def admitted(budget: Fraction, spent: Fraction, cost: Fraction) -> None:
        whole = (int(one * GRID) for one in (budget, spent))
        check_levels([Level("a", *whole, delta=0, delta_used=0, closed=False)], int(cost * GRID), 0)

    admitted(Fraction(1), 2 * third, third)
    admitted(Fraction(1), Fraction(0), third)
    for budget, spent, cost in ((Fraction(1) - hair, 2 * third, third), (Fraction(1), Fraction(1), hair)):
        with pytest.raises(BudgetExceeded, match=r"the cost \(.*\) exceeds what remains \(.*\): nothing was spent"):
            admitted(budget, spent, cost)
    with pytest.raises(BudgetExceeded, match=r"the cost \(0.75\) exceeds what remains \(0.5\)"):
        admitted(Fraction(1), Fraction(1, 2), Fraction(3, 4))
    account = Account("a", Terms("person"), Fraction(1), third)
    assert account.remaining == 2 * third
