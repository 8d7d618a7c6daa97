"""An allocation of which the cost is not certified does not fit."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import pytest

from zcdp.accounting.allocation import Spending
from zcdp.numeric.balls import NotCertified


def test_what_is_not_certified_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost falls with x and would fit from x = 1 on, but is certified from x = 2 on only."""

    def cost(_: Spending, x: Any) -> Fraction:
        if x < 2:
            raise NotCertified("too extreme")
        return Fraction(exp(1 - x))

    monkeypatch.setattr(Spending, "cost", cost)
    for start in (0.0, 5.0):
        found = Spending(Fraction(1), None).fit(lambda x: x, start)  # type: ignore[arg-type,return-value]
        assert 2 <= found < 2.001
