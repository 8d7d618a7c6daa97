"""Products of transforms, what is given away, and ends next to the largest loss, against explicit outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, exp, expm1, log

import pytest
from flint import acb, arb

from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss import (
    LossLaw,
    discrete_gaussian_pair,
    finite_law,
    gaussian_pair,
    laplace_pair,
    logistic_pair,
    three_point_pair,
)
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Factor, Transform


def revealing(share: str) -> LossLaw:
    """Gives the input away with this probability, and tells nothing else."""
    p = Fraction(share)
    atoms = [(p, Fraction(0)), (Fraction(0), p), (1 - p, 1 - p)]
    return finite_law(atoms)


def test_a_composition_is_the_product_with_its_counts() -> None:
    parts: Parts = (
        (three_point_pair(Fraction(1, 2)), 3),
        (laplace_pair(Fraction(1)), 2),
        (gaussian_pair(lambda: arb(2)), 1),
    )

    def single(z: complex) -> complex:
        binary = (exp(0.5) * complex(exp(0.5)) ** z + complex(exp(-0.5)) ** z) / (exp(0.5) + 1)
        between = (1 - complex(exp(1)) ** (-(2 * z + 1))) / (2 * (2 * z + 1))
        laplace = complex(exp(1)) ** z * (0.5 + between) + complex(exp(1)) ** (-z) * exp(-1) / 2
        return binary**3 * laplace**2 * complex(exp(1)) ** (z * z + z)

    def asked() -> None:
        transform = Transform(parts)
        for z in (0.3 + 0j, 1 + 2j, 2 - 0.7j):
            assert complex(transform.moment(acb(z.real, z.imag))) == pytest.approx(single(z), rel=1e-9)
        values = transform.moments(arb(0.5), arb(0.3), [0, 2, 7])
        assert [complex(one) for one in values] == pytest.approx([single(0.5 + 0.3j * k) for k in (0, 2, 7)])
        assert float(transform.log_moment(arb(1.5))) == pytest.approx(log(single(1.5).real))
        assert transform.largest == arb.pos_inf()
        bounded = Transform(parts[:2])
        assert float(bounded.largest) == pytest.approx(3.5)
        tilt = transform.tilt(arb(1.5))
        step = 1e-4
        left, here, right = (log(single(1.5 + n * step).real) for n in (-1, 0, 1))
        assert float(tilt.value) == pytest.approx(here)
        assert float(tilt.slope) == pytest.approx((right - left) / (2 * step), rel=1e-5)
        assert float(tilt.variance) == pytest.approx((right + left - 2 * here) / step**2, rel=1e-4)
        assert [share.count for share in tilt.shares] == [3, 2, 1]
        value, slope, bend = transform.estimate(1.5)
        assert (value, slope, bend) == pytest.approx(
            (float(tilt.value), float(tilt.slope), float(tilt.variance)), rel=1e-3
        )
        assert transform.revealed.is_zero()

    at_precision(128, asked)


@pytest.mark.parametrize(("share", "count"), [("1/10", 1), ("1/10", 7), ("1/1000000", 3), ("1/2", 2)])
def test_what_is_given_away_in_some_use_is_given_away(share: str, count: int) -> None:
    other = Fraction(1, 7)
    parts: Parts = ((revealing(share), count), (three_point_pair(Fraction(1)), 2), (revealing("1/7"), 3))
    truth = 1 - (1 - Fraction(share)) ** count * (1 - other) ** 3
    assert at_precision(128, lambda: Transform(parts).revealed.overlaps(lift(truth)))


@dataclass(frozen=True, eq=False)
class Vague(LossLaw):
    """Gives the input away with a probability that is hardly known."""

    ball: arb

    def ready(self) -> Factor:
        class Known(Factor):
            revealed = self.ball

            def moment(self, z: object) -> object:
                return z

        return Known()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_probability_that_may_be_one_is_still_counted_in_every_use(count: int) -> None:
    ball = arb(0.6).union(arb(1.01))
    parts: Parts = ((Vague(ball), count), (Vague(arb(0.1)), count))
    found = at_precision(128, lambda: Transform(parts).revealed)
    for mass in (0.6, 0.8, 1.0):
        truth = 1 - ((1 - mass) * 0.9) ** count
        assert below(found) - 1e-12 <= truth <= above(found) + 1e-12
    assert below(found) >= 1 - (0.4 * 0.9) ** count - 1e-6


def test_a_delta_next_to_one_is_bounded_from_below() -> None:
    """1000 uses of binary response at log 3: delta(epsilon) by its sum over all counts."""
    n = 1000
    law = three_point_pair(Fraction(2))
    up = exp(2) / (exp(2) + 1)

    def delta(epsilon: float) -> float:
        """1 less what is missing: E min(1, e^{epsilon - L})."""
        rest = 0.0
        for k in range(n + 1):
            log_mass = k * log(up) + (n - k) * log(1 - up) + log(comb(n, k))
            rest += exp(log_mass + min(0.0, epsilon - 2 * (2 * k - n)))
        return rest

    for epsilon in (0, 100, 1000):
        found = at_precision(200, lambda e=epsilon: Transform(((law, n),)).near_one(arb(e)))
        assert found is not None
        assert at_precision(200, lambda f=found: 1 - f) >= delta(epsilon)
    assert at_precision(200, lambda: Transform(((law, n),)).near_one(arb(1500))) is None
    assert at_precision(200, lambda: Transform(((law, 3),)).near_one(arb(1))) is None


def test_floats_next_to_the_largest_loss_are_given_only_where_delta_is_above_the_target() -> None:
    """With an atom at the top, delta at a distance g below it is the atom's mass times 1 - e^-g."""
    for count in (1, 4, 10):
        size = 2.0 * count
        true = -((exp(2) / (exp(2) + 1)) ** count) * expm1(-size * 2.0**-55)
        parts: Parts = ((three_point_pair(Fraction(2)), count),)
        found = at_precision(200, lambda p=parts, t=true / 5: Transform(p).at_top(arb(t)))
        assert found is not None
        assert size * (1 - 1e-15) <= found[0] < size <= found[1]
        assert at_precision(200, lambda p=parts, t=true * 1.01: Transform(p).at_top(arb(t))) is None


def test_for_a_density_the_room_at_the_top_is_shared_among_its_uses() -> None:
    """delta(top - gap) of n uses against the exact chance that all of them are so near: uniform near the top."""
    for n in (2, 5):
        eta = 2.0
        gap = eta * n * 2.0**-55
        height = exp(eta / 2) / (4 * (exp(eta / 2) - exp(-eta / 2)) / 2)  # the density of one loss at its top
        volume = (height * gap) ** n
        for k in range(1, n + 1):
            volume /= k  # the chance that the n gaps add up to less than `gap`
        for times in (1.01, 10.0):
            target = volume * gap * times  # delta(top - gap) is below the chance times 1 - e^-gap
            parts: Parts = ((logistic_pair(Fraction(2)), n),)
            assert at_precision(300, lambda p=parts, t=target: Transform(p).at_top(arb(t))) is None
        tiny = at_precision(300, lambda p=parts, v=volume, g=gap: Transform(p).at_top(arb(v) * arb(g) / 10**6))
        assert tiny is not None


def test_a_loss_that_occurs_is_not_above_what_is_certain() -> None:
    cases: list[tuple[Parts, float]] = [
        (((three_point_pair(Fraction(1, 2)), 4),), 2.0),
        (((laplace_pair(Fraction(3)), 2), (three_point_pair(Fraction(1)), 3)), 9.0),
        (((logistic_pair(Fraction(2)), 5),), 10.0),
        (((gaussian_pair(lambda: arb(1)), 3), (three_point_pair(Fraction(1)), 2)), 2.0),
        (((discrete_gaussian_pair(Fraction(1), 1), 1),), 0.0),
    ]
    for parts, largest in cases:
        found = at_precision(200, lambda p=parts: Transform(p).loss_that_occurs())
        assert float(found) == pytest.approx(largest, rel=1e-15)
        assert at_precision(200, lambda f=found, t=largest: f <= t and f >= t * (1 - arb(2) ** -59))
    atoms, density = (
        at_precision(200, lambda law=law: Transform(((law, 5),)).loss_that_occurs())
        for law in (three_point_pair(Fraction(2)), logistic_pair(Fraction(2)))
    )
    assert atoms >= 10
    assert density < 10
