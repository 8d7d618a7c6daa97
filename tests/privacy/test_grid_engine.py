"""Laws on a grid of losses: one above and one below the profile at every epsilon, whatever the profile and the grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb, exp, log
from random import Random

import pytest
from flint import arb
from independent import profile_reference as reference
from mpmath import mp, mpf
from privacy.by_engine import ends

from zcdp import Gaussian, Laplace, LossPair
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss.finite_law import finite_law
from zcdp.privacy.loss.law import LossLaw, Parts
from zcdp.privacy.profile import grid_engine as grid
from zcdp.privacy.profile.engine import Question
from zcdp.privacy.profile.grid_engine import (
    Grid,
    GridLaw,
    SampledProfile,
    _Composed,
    _Window,
    law_above,
    law_below,
    sampled_profile,
)
from zcdp.privacy.profile.profile import _second, choose

F = Fraction
Atoms = list[tuple[Fraction, Fraction]]


def atoms_of(seed: int, size: int) -> Atoms:
    """A pair on so many outcomes, of which some are rare under one of the two."""
    rng = Random(seed)
    p, q = ([rng.randint(1, 9) ** rng.randint(1, 3) for _ in range(size)] for _ in range(2))
    return [(F(a, sum(p)), F(b, sum(q))) for a, b in zip(p, q, strict=True)]


def height(atoms: Atoms, x: float) -> float:
    """What P has above x times Q."""
    return sum(max(float(p) - x * float(q), 0.0) for p, q in atoms)


class Formula:
    """A law whose profiles are those of the outcomes, in each order."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms

    def alone(self) -> object:
        def value(epsilon: arb) -> arb:
            x = epsilon.exp()
            return sum(((lift(p) - x * lift(q)).max(arb(0)) for p, q in self.atoms), arb(0))

        return value

    def reverse(self) -> Formula:
        return Formula([(q, p) for p, q in self.atoms])

    def largest(self) -> arb:
        return lift(max(p / q for p, q in self.atoms)).log()


def profile_of(law: GridLaw, step: Fraction, x: float) -> tuple[float, float]:
    """E_P (1 - x e^{-L})_+ of a law on the grid, at both ends of its masses."""
    ends = []
    for end in (below, above):
        terms = [
            end(mass) * max(1 - x * exp(-n * float(step)), 0.0) for n, mass in enumerate(law.masses, start=law.first)
        ]
        ends.append(sum(terms) + end(law.revealed))
    return ends[0], ends[1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("step", "up", "down"), [(F(1, 2), 6, 6), (F(1), 2, 1), (F(1, 5), 12, 40), (F(2, 7), 3, 2)])
def test_one_law_is_above_the_profile_and_the_other_below_it(seed: int, step: Fraction, up: int, down: int) -> None:
    """At points of the grid and between them, within it and beyond: also where it ends before the losses do."""
    atoms = atoms_of(seed, 2 + seed % 3)
    law: LossLaw = Formula(atoms)  # type: ignore[assignment]

    def laws() -> tuple[GridLaw, GridLaw]:
        known = sampled_profile(law, lift(step), up, down)
        return law_above(known), law_below(known)

    high, low = at_precision(128, laws)
    rounding = 1e-13
    for n in range(-3 * down - 6, 3 * up + 8):
        x = exp(n * float(step) / 3)
        truth = height(atoms, x)
        assert profile_of(high, step, x)[1] >= truth - rounding, (n, "above")
        assert profile_of(low, step, x)[0] <= truth + rounding, (n, "below")
    assert profile_of(high, step, 0.0)[0] == pytest.approx(1, abs=1e-12)  # no mass is lost
    assert profile_of(low, step, 0.0)[1] <= 1 + rounding
    assert not any(mass < 0 for mass in low.masses)


@pytest.mark.parametrize("seed", range(4))
def test_heights_are_those_of_the_outcomes_left_and_right_of_one(seed: int) -> None:
    """Left of x = 1 by the other order's profile; beyond the largest loss 0."""
    atoms, step = atoms_of(seed, 4), F(1, 3)
    law: LossLaw = Formula(atoms)  # type: ignore[assignment]
    known = at_precision(128, lambda: sampled_profile(law, lift(step), 12, 12))
    assert known.first == -12
    assert len(known.x) == len(known.heights) == 25
    for j, (place, found) in enumerate(zip(known.x, known.heights, strict=True), start=-12):
        x = exp(j * float(step))
        assert below(place) - 1e-12 <= x <= above(place) + 1e-12
        truth = height(atoms, x)
        assert below(found) - 1e-13 <= truth <= above(found) + 1e-13
        assert above(found) - below(found) < 1e-13


def test_a_fine_grid_has_laws_close_to_each_other() -> None:
    """Both are off by the order of the step's square, so that neither is far from the truth."""
    atoms, step = [(F(3, 5), F(1, 4)), (F(2, 5), F(3, 4))], F(1, 40)
    law: LossLaw = Formula(atoms)  # type: ignore[assignment]
    known = at_precision(128, lambda: sampled_profile(law, lift(step), 40, 30))
    high, low = at_precision(128, lambda: (law_above(known), law_below(known)))
    for n in range(16):
        x = exp(n / 20)
        truth = height(atoms, x)
        assert truth - 0.02 < profile_of(low, step, x)[0]
        assert profile_of(high, step, x)[1] < truth + 0.02


def test_a_loss_that_is_a_point_of_the_grid_is_not_lost() -> None:
    """The largest loss is one step, as far as balls tell: the height there is at or next to 0, and all is covered."""
    pair = finite_law([(F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))])
    atoms = [(F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))]
    law: LossLaw = Formula(atoms)  # type: ignore[assignment]

    def laws() -> tuple[GridLaw, GridLaw, SampledProfile]:
        known = sampled_profile(law, pair.largest(), 1, 1)
        return law_above(known), law_below(known), known

    high, low, known = at_precision(128, laws)
    assert below(known.heights[-1]) <= 0 <= above(known.heights[-1])
    assert above(known.heights[-1]) < 1e-15
    for x in ("0.1", "0.5", "1", "2", "2.9", "3", "4"):
        truth = height(atoms, float(x))
        step = log(3)
        ends = []
        for one, end in ((low, below), (high, above)):
            terms = [
                end(mass) * max(1 - float(x) * exp(-n * step), 0.0)
                for n, mass in enumerate(one.masses, start=one.first)
            ]
            ends.append(sum(terms) + end(one.revealed))
        assert ends[0] <= truth + 1e-13
        assert truth <= ends[1] + 1e-13
        assert ends[1] <= truth + 1e-12  # with both losses on the grid the chords are the profile


@pytest.mark.parametrize("count", [2, 3])
def test_a_loss_just_beyond_the_window_is_revealed_with_all_of_its_mass(count: int) -> None:
    """Losses +-2, composed so that only the largest one is beyond: tilted masses are turned back at its place."""
    p = F(3, 4)
    window = _Window(arb(2), arb("0.7"), count - 1, 40)
    law = GridLaw(-1, [lift(1 - p), arb(0), lift(p)], arb(0))

    def asked(upward: bool) -> _Composed:
        return _Composed.of(window, law, upward=upward).power(count)

    largest = float(p**count)
    revealed = at_precision(128, lambda: asked(upward=True).revealed)
    assert below(revealed) <= largest * (1 + 1e-12)
    assert above(revealed) >= largest
    assert at_precision(128, lambda: asked(upward=False).revealed) == 0


class Wrapped(Formula):
    """All that a law knows, with formulas in both orders, or in one alone."""

    def __init__(self, atoms: Atoms, law: LossLaw, told: tuple[bool, bool] = (True, True)) -> None:
        super().__init__(atoms)
        self.law, self.told = law, told

    def alone(self) -> object:
        return super().alone() if self.told[0] else None

    def reverse(self) -> Wrapped:
        return Wrapped([(q, p) for p, q in self.atoms], self.law.reverse(), self.told[::-1])

    def largest(self) -> arb:
        return self.law.largest()

    def __getattr__(self, name: str) -> object:
        return getattr(self.law, name)


def test_a_grid_is_offered_only_where_its_chords_begin_at_one() -> None:
    """Infinite losses have P-mass that no chord from H(0) = 1 holds; and both orders must have a formula."""
    finite = [(F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))]
    revealing = [(F(1, 2), F(1, 4)), (F(2, 5), F(3, 4)), (F(1, 10), F(0))]

    def offered(atoms: Atoms, told: tuple[bool, bool] = (True, True)) -> bool:
        law = Wrapped(atoms, finite_law(atoms), told)
        return Grid.offer(Question(((law, 3),), epsilon=F(1, 2))) is not None  # type: ignore[arg-type]

    assert at_precision(128, lambda: offered(finite))
    assert not at_precision(128, lambda: offered(revealing))
    for told in ((True, False), (False, True)):
        assert not at_precision(128, lambda told=told: offered(finite, told))


Height = Callable[[arb], arb]


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def law_of(pair: LossPair) -> LossLaw:
    law = pair.pair().upper
    assert law is not None
    return law


def binomial_delta(p: Fraction, q: Fraction, count: int, epsilon: Fraction) -> mpf:
    """sum over k of C(n, k) (p^k (1-p)^{n-k} - e^epsilon q^k (1-q)^{n-k})_+."""
    e, total = mp.exp(real(epsilon)), mpf(0)
    for k in range(count + 1):
        one, other = real(p**k * (1 - p) ** (count - k)), real(q**k * (1 - q) ** (count - k))
        total += comb(count, k) * max(one - e * other, mpf(0))
    return total


# Few uses on a grid of losses


def gaussian_delta(mu: mpf, epsilon: Fraction) -> mpf:
    e = real(epsilon)
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


class TwoFormulas:
    """A law whose own profile, of one use, is told by a formula in each order; all else it knows as before."""

    def __init__(self, law: LossLaw, here: Height, back: Height | None = None) -> None:
        self.law, self.here, self.back = law, here, back or here

    def alone(self) -> Height:
        return self.here

    def reverse(self) -> TwoFormulas:
        return TwoFormulas(self.law.reverse(), self.back, self.here)

    def __getattr__(self, name: str) -> object:
        return getattr(self.law, name)


def laplace(loss: Fraction) -> TwoFormulas:
    return TwoFormulas(Laplace(epsilon=loss).pair().upper, lambda e: 1 - ((e - lift(loss)) / 2).exp())


def gaussian_height(mu: arb, e: arb) -> arb:
    below, beyond = mu / 2 - e / mu, -mu / 2 - e / mu
    return ((-below / arb(2).sqrt()).erfc() - e.exp() * (-beyond / arb(2).sqrt()).erfc()) / 2


def gaussian(mu: Fraction) -> TwoFormulas:
    return TwoFormulas(Gaussian(sigma=1 / mu).pair().upper, lambda e: gaussian_height(lift(mu), e))


def two_outcomes(p: Fraction, q: Fraction) -> TwoFormulas:
    """p > q: the first outcome has the larger loss."""
    pair = law_of(LossPair(p=[p, 1 - p], q=[q, 1 - q], ordered=True))
    return TwoFormulas(pair, lambda e: lift(p) - e.exp() * lift(q), lambda e: lift(1 - q) - e.exp() * lift(1 - p))


def _on_a_grid() -> Iterator[tuple[str, Parts, Fraction, mpf]]:
    with mp.workdps(60):
        for epsilon in (F(1, 2), F(13, 2)):
            truth = reference.many_laplace_delta(F(5, 2), 3, epsilon)
            yield f"3 laplace at {epsilon}", ((laplace(F(5, 2)), 3),), epsilon, truth
        for epsilon in (F(1, 4), F(3)):
            truth = reference.two_laplace_delta(F(5, 2), F(1), epsilon)
            yield f"two kinds at {epsilon}", ((laplace(F(5, 2)), 1), (laplace(F(1)), 1)), epsilon, truth
        for count, epsilon in ((1, F(1)), (4, F(1)), (7, F(4))):
            truth = gaussian_delta(mp.sqrt(mpf(count)) / 2, epsilon)
            yield f"{count} gaussian at {epsilon}", ((gaussian(F(1, 2)), count),), epsilon, truth
        for epsilon in (F(1, 3), F(3)):
            truth = binomial_delta(F(3, 5), F(1, 4), 5, epsilon)
            yield f"5 of two outcomes at {epsilon}", ((two_outcomes(F(3, 5), F(1, 4)), 5),), epsilon, truth


ON_A_GRID = {name: (parts, epsilon, truth) for name, parts, epsilon, truth in _on_a_grid()}


@pytest.mark.parametrize("name", ON_A_GRID)
@pytest.mark.parametrize(("points", "negligible"), [(24, 1e-13), (150, 1e-13), (60, 1e-2), (40, 0.5)])
def test_a_grid_of_losses_encloses(monkeypatch: pytest.MonkeyPatch, name: str, points: int, negligible: float) -> None:
    """Coarse and less coarse; and cut so near that what lies beyond the window is a good part of delta."""
    monkeypatch.setattr(grid, "NEGLIGIBLE", negligible)
    parts, epsilon, truth = ON_A_GRID[name]

    def asked() -> tuple[float, float]:
        found = Grid(Question(parts, epsilon=epsilon), points)
        bounds = ends(found.delta(epsilon))
        for other in (epsilon / 2, epsilon + 1):  # it answers for neighbours, too
            assert ends(found.delta(other))[0] <= ends(found.delta(other))[1]
        return bounds

    lower, upper = at_precision(160, asked)
    assert lower <= truth <= upper
    if points == 150:
        assert upper <= truth * 5 / 4
        assert lower >= truth / 2 or name.startswith("7")


@pytest.mark.parametrize(("high", "low"), [(40, 2), (3, 40), (5, 3), (40, 40)])
def test_losses_beyond_a_window_are_moved_to_the_side_that_costs_more(high: int, low: int) -> None:
    """A law on the multiples of 1/2, to the fifth power: above, and below where it must not be above."""
    masses = {-3: F(1, 10), -2: F(2, 5), 1: F(1, 5), 3: F(3, 10)}
    exact = {0: F(1)}
    for _ in range(5):
        longer: dict[int, Fraction] = {}
        for (j, one), (k, other) in product(exact.items(), masses.items()):
            longer[j + k] = longer.get(j + k, F(0)) + one * other
        exact = longer

    def composed(upward: bool, epsilon: Fraction) -> arb:
        window = _Window(arb(1) / 2, arb("0.7"), high, low)
        law = GridLaw(-3, [lift(masses.get(j, F(0))) for j in range(-3, 4)], arb(0))
        return _Composed.of(window, law, upward=upward).power(5).sums().delta(lift(epsilon))

    for epsilon in (F(0), F(1, 4), F(1), F(3)):
        truth = mp.fsum(real(m) * max(-mp.expm1(real(epsilon - F(j, 2))), mpf(0)) for j, m in exact.items())
        lower, upper = (at_precision(192, partial(composed, upward, epsilon)) for upward in (False, True))
        assert below(lower) <= truth <= above(upper)
        if high == low == 40:
            assert above(upper) <= truth * (1 + mpf(10) ** -12) <= below(lower) * (1 + mpf(10) ** -11)


def test_the_second_opinion_is_of_the_same_composition() -> None:
    """What a grid says beside another engine encloses the same truth."""
    parts, epsilon, truth = ON_A_GRID["3 laplace at 1/2"]

    def asked() -> tuple[float, float]:
        question = Question(parts, epsilon=epsilon)
        first, _ = choose(question)
        second = _second(question, first)
        assert isinstance(second, Grid)
        return ends(second.delta(epsilon))

    lower, upper = at_precision(160, asked)
    assert lower <= truth <= upper
