"""Two uses of sampled Gaussian noise by one integral: against cells of losses, and when it is offered."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from privacy.test_sampled_gaussian_twice import integral, parts

from zcdp import Gaussian, Subsampled
from zcdp.numeric.balls import at_precision
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.profile.cells import Cells
from zcdp.privacy.profile.engine import Question
from zcdp.privacy.profile.two_uses import TwoUses


def compared(settings: int) -> None:
    """At random rates and noise both ends of the cells enclose the integral, in both directions."""
    rng = random.Random(random.getrandbits(64))
    for _ in range(settings):
        rate, mu = Fraction(10 ** rng.uniform(-6, -0.05)), Fraction(rng.uniform(0.3, 2.0))
        epsilon = Fraction(float(rate) * 10 ** rng.uniform(-1, 1))
        for removed in (True, False):
            both = parts(rate, mu, removed=removed)
            lower, upper = integral(both, epsilon)
            below, above = at_precision(128, lambda both=both, epsilon=epsilon: _cells(both, epsilon))
            assert lower <= upper
            assert below <= upper
            assert lower <= above
            assert upper - lower <= 1e-9 * (above + 1e-15)


def _cells(parts: Parts, epsilon: Fraction) -> tuple[float, float]:
    question = Question(parts, epsilon=epsilon)
    if (known := question.known()) is not None:
        return known.lower, known.upper
    offer = Cells.second(question)
    assert offer is not None
    lower, upper = offer.build().delta(epsilon)
    return float(lower.lower()), float(upper.upper())


def test_cells_enclose_it() -> None:
    compared(1)


@pytest.mark.deep
def test_cells_enclose_it_at_many_settings() -> None:
    compared(200)


def test_two_steps_at_a_tiny_rate_are_known_to_many_digits() -> None:
    lower, upper = (2 * Subsampled(Gaussian(sigma=1), rate="1e-5")).epsilon_bounds(delta="1e-6")
    assert 3.8878210031e-5 < lower <= upper < 3.8878210032e-5
    assert upper - lower < 1e-10 * upper


def test_it_is_for_two_uses_of_one_law() -> None:
    law = parts(Fraction(1, 10), Fraction(1), removed=True)[0][0]
    offers = {
        count: at_precision(128, lambda count=count: TwoUses.offer(Question(((law, count),), epsilon=Fraction(1, 2))))
        for count in (1, 2, 3)
    }
    assert [count for count, offer in offers.items() if offer is not None] == [2]
