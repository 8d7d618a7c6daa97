"""A law of finitely many losses against the profile that it is to dominate, of which only rough numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, nan

import pytest
from flint import arb

from zcdp import NotCertified, RandomizedResponse, Shuffled
from zcdp.privacy.loss import LossLaw, profile_law

TOP = 3


def binary(top: float, x: float) -> float:
    """The profile in x = e^epsilon of binary randomized response: (e^top - x)/(e^top + 1), and its mirror image."""
    return 1 - x + x * binary(top, 1 / x) if x < 1 else max((exp(top) - x) / (exp(top) + 1), 0.0)


def truth(x: float) -> float:
    """One of several of them at random, of which it is seen which: small losses likelier than large ones."""
    return sum(2.0 ** -min(n, 29) * binary(TOP * n / 30, x) for n in range(1, 31))


def profile(law: LossLaw, x: float) -> float:
    """E (1 - x e^{-L})_+ of the finite law."""
    made = getattr(law.dots, "source", law.dots)
    return float(made.revealed + sum(max(1 - Fraction(x) / g, Fraction(0)) * p for g, p in made.masses))


def rough(above: Callable[[float], float], asked: list[float] | None = None) -> LossLaw:
    """The law of a profile that is known up to a factor."""

    def ends(epsilon: arb) -> tuple[arb, arb]:
        place = float(epsilon)
        if asked is not None:
            asked.append(place)
        return arb(0), arb(truth(exp(place)) * above(place))

    return profile_law(ends, lambda: arb(TOP), exact=False)


@pytest.mark.parametrize(
    ("above", "most"),
    [
        (lambda _: 1, 1.05),
        (lambda place: 1 + 0.5 * (int(20 * place) % 2), 1.15),  # It rises here and there.
        (lambda place: 1.05 if place < 1 else 1, 1.1),
        (lambda place: 2 if place < 0.1 else 1, 1.15),  # Chords of it start above 1.
        (lambda place: 2 if 0.5 < place < 0.6 else 1, 1.15),
        (lambda place: 1 + place, 4.1),
    ],
    ids=["exact", "rising", "high", "near", "step", "growing"],
)
def test_it_dominates_and_passes_over_what_is_too_high(above: Callable[[float], float], most: float) -> None:
    law = rough(above)
    for x in (0.06, 0.3, 0.9, 1, 1.001, 1.05, 1.2, 1.7, 1.8, 2.5, 2.75, 4, 7, 11, 16, 19, 20):
        assert truth(x) <= profile(law, x) * (1 + 1e-12) <= most * truth(x)
    assert profile(law, exp(TOP) * (1 + 1e-12)) == 0


def test_where_nothing_is_known_it_is_that_of_the_largest_loss() -> None:
    """As the other order has the same profile: binary randomized response."""
    law = rough(lambda _: inf)
    for x in (0.05, 0.5, 1, 2, 19):
        assert profile(law, x) == pytest.approx(binary(TOP, x), rel=1e-12)


@pytest.mark.parametrize("top", [700, 10**9, 10**30])
def test_losses_beyond_all_grids_are_refused_before_anything_is_asked(top: int) -> None:
    asked: list[arb] = []

    def ends(epsilon: arb) -> tuple[arb, arb]:
        asked.append(epsilon)
        return arb(0), arb(1)

    with pytest.raises(NotCertified, match="too large for a law through points"):
        _ = profile_law(ends, lambda: arb(top), exact=False).dots
    assert not asked


def test_what_cannot_be_made_is_tried_once() -> None:
    asked: list[float] = []
    law = rough(lambda _: nan, asked)
    for _ in range(3):
        with pytest.raises(NotCertified):
            _ = law.dots
    assert 0 < len(asked) < 100


def test_blind_reports_of_many_kinds_are_not_lost() -> None:
    """Where the numbers of the profile are not convex, and the law once cost what a report alone does."""
    one = Shuffled(RandomizedResponse(epsilon=10, k=1000), clients=1000)
    assert one.rho < 0.62 * RandomizedResponse(epsilon=10, k=1000).rho
    assert (10 * one).epsilon_at(delta="1e-6") < 67
