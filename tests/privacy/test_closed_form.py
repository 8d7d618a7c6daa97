"""A profile by formula: both ends are those that the law tells, each for itself."""

from __future__ import annotations

from fractions import Fraction
from math import log

import pytest
from flint import arb

from zcdp.numeric.balls import above, at_precision, below
from zcdp.privacy.loss import finite_law
from zcdp.privacy.profile.closed_form import ClosedForm
from zcdp.privacy.profile.engine import Question


def test_each_end_is_the_one_that_the_law_tells() -> None:
    """An upper end that is no lower end, and the other way round."""
    engine = ClosedForm(lambda epsilon: (arb(1) / 8 - epsilon / 100, arb(1) / 4 - epsilon / 100))
    for epsilon in (Fraction(0), Fraction(1), Fraction(5, 2)):
        lower, upper = engine.delta(epsilon)
        assert below(lower) <= 1 / 8 - float(epsilon) / 100 <= above(lower) < 0.126
        assert 0.2 < below(upper) <= 1 / 4 - float(epsilon) / 100 <= above(upper)
        assert above(engine.upper(epsilon)) == above(upper)
        assert engine.estimate(float(epsilon)) == pytest.approx(log(1 / 4 - float(epsilon) / 100))
    with pytest.raises(OverflowError):
        engine.estimate(1e300)


def test_it_is_offered_for_one_use_alone() -> None:
    """Of several uses, or of two kinds, the formula of one says nothing."""
    law = finite_law([(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))])
    other = finite_law([(Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))])

    def asked(*parts: tuple[object, int]) -> bool:
        return at_precision(128, lambda: ClosedForm.offer(Question(parts, epsilon=Fraction(1, 2)))) is not None  # type: ignore[arg-type]

    assert asked((law, 1)) == (at_precision(128, law.ends_alone) is not None)
    assert not asked((law, 2))
    assert not asked((law, 1), (other, 1))
