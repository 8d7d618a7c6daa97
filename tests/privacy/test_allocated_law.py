"""Laws of random allocation: both directions of one epoch and of several, against all outcomes written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, prod
from random import Random

import pytest
from flint import arb

from zcdp import Allocation, LossPair
from zcdp.mechanisms import random_allocation
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss import Claim, allocated_claim, allocated_law, gaussian_pair
from zcdp.privacy.loss.allocated_law import listed_epoch
from zcdp.privacy.loss.finite_law import FiniteLaw, finite_law
from zcdp.privacy.loss.profile_law import ProfileLaw

F = Fraction
Atoms = list[tuple[Fraction, Fraction]]


def epoch(atoms: Atoms, batches: int) -> Atoms:
    """One batch, each alike, has the law P and all others Q; without the record all have Q."""
    found = []
    for drawn in product(atoms, repeat=batches):
        q = prod((b for _, b in drawn), start=F(1))
        with_it = sum(
            (prod((b for m, (_, b) in enumerate(drawn) if m != n), start=F(1)) * a for n, (a, _) in enumerate(drawn)),
            F(0),
        )
        found.append((with_it / batches, q))
    return found


def delta(atoms: Atoms, x: Fraction) -> Fraction:
    return sum((max(p - x * q, F(0)) for p, q in atoms), F(0))


CASES: list[Atoms] = [
    [(F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))],
    [(F(1, 2), F(1, 5)), (F(3, 10), F(3, 10)), (F(1, 5), F(1, 2))],
    [(F(1, 100), F(0)), (F(3, 4), F(6, 25)), (F(6, 25), F(3, 4)), (F(0), F(1, 100))],
]


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No outcomes are listed: epochs are known by integrals, as those of noise with a density."""
    monkeypatch.setattr(allocated_law, "MOST_OUTCOMES", 0)
    random_allocation._allocated.cache_clear()


@pytest.mark.parametrize("batches", [2, 3, 4])
@pytest.mark.parametrize("case", CASES)
def test_few_outcomes_are_listed_with_all_of_their_mass(case: Atoms, batches: int) -> None:
    claim = allocated_claim(Claim.exactly(finite_law(case)), batches)
    assert claim is not None
    assert claim.exact
    assert isinstance(claim.upper, FiniteLaw)
    assert sum(p for p, _ in claim.upper.atoms) == sum(q for _, q in claim.upper.atoms) == 1
    whole = epoch(case, batches)
    for x in (F(0), F(1, 7), F(1, 2), F(1), F(6, 5), F(2), F(3), F(10**9)):
        assert delta(list(claim.upper.atoms), x) == delta(whole, x)


def test_many_outcomes_are_not_listed() -> None:
    coin, die = CASES[0], [(F(n + 1, 21), F(6 - n, 21)) for n in range(6)]
    assert listed_epoch(coin, 100) is not None
    assert listed_epoch(coin, 1_000) is None
    assert listed_epoch(die, 20) is None


def test_where_only_one_neighbour_has_each_outcome() -> None:
    """Whatever the batch, its output says whether the record is there."""
    told = LossPair(p=[1, 0], q=[0, 1], ordered=True)
    for uses in (1, 2):
        assert (uses * Allocation(told, batches=2)).delta_bounds(epsilon=1) == (1.0, 1.0)


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("batches", [2, 3])
@pytest.mark.parametrize("case", CASES)
def test_one_epoch_lies_between_both_ends_in_each_direction(case: Atoms, batches: int) -> None:
    claim = allocated_claim(Claim.exactly(finite_law(case)), batches)
    assert claim is not None
    whole = epoch(case, batches)
    assert sum(p for p, _ in whole) == sum(q for _, q in whole) == 1
    turned = [(q, p) for p, q in whole]
    for law, atoms in ((claim.upper, whole), (claim.upper.reverse(), turned)):
        assert isinstance(law, ProfileLaw)
        for x in (F(1), F(6, 5), F(2)):
            low, high = at_precision(160, lambda x=x, law=law: law.ends(lift(x).log()))
            truth = float(delta(atoms, x))
            assert below(low) - 1e-15 <= truth <= above(high) + 1e-15
            assert above(high) - below(low) <= 0.02 * truth + 1e-3


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("case", CASES[::2])
def test_finite_laws_are_above_and_below_an_epoch(case: Atoms) -> None:
    """Also beyond the points through which they go: the pairs that compositions use, all of their mass counted."""
    claim = allocated_claim(Claim.exactly(finite_law(case)), 2)
    assert claim is not None
    [[(lower, _)]] = claim.lower
    assert isinstance(claim.upper, ProfileLaw)
    whole = epoch(case, 2)
    pairs = []
    for law in (claim.upper, lower):
        finite = law.dots if isinstance(law, ProfileLaw) else law  # outcomes of one neighbour alone: the law itself
        finite = getattr(finite, "source", finite)
        pairs.append(finite.atoms)  # type: ignore[attr-defined]
        assert sum(p for p, _ in pairs[-1]) == sum(q for _, q in pairs[-1]) == 1
    for n in range(40):
        x = F(1, 8) * F(6, 5) ** n
        truth = delta(whole, x)
        assert delta(pairs[1], x) <= truth <= delta(pairs[0], x)
        assert delta([(q, p) for p, q in pairs[1]], x) <= delta([(q, p) for p, q in whole], x)
    assert delta(pairs[0], F(1)) - delta(pairs[1], F(1)) < F(1, 20)


def test_one_batch_is_the_step_itself() -> None:
    step = Claim.exactly(gaussian_pair(lambda: arb(1)))
    assert allocated_claim(step, 1) is step


def test_only_what_a_step_attains_is_attained() -> None:
    claim = allocated_claim(Claim(finite_law(CASES[0])), 2)
    assert claim is not None
    assert claim.lower == claim.lower_alone == ()


@pytest.mark.deep
@pytest.mark.parametrize("by", ["list", "integral"])
@pytest.mark.parametrize("seed", range(40))
def test_two_epochs_lie_between_both_ends(seed: int, by: str, request: pytest.FixtureRequest) -> None:
    """Of a pair that is no one's mirror image: all outcomes of both epochs, in both directions."""
    if by == "integral":
        request.getfixturevalue("unlisted")
    rng = Random(f"two epochs {seed}")
    rows = [[rng.randint(1, 9) for _ in range(3)] for _ in range(2)]
    p, q = ([F(x, sum(row)) for x in row] for row in rows)
    one = epoch(list(zip(p, q, strict=True)), 2)
    both = [(a * c, b * d) for a, b in one for c, d in one]
    plan = 2 * Allocation(LossPair(p, q, ordered=True), batches=2)
    for epsilon in (F(0), F(1, 4)):
        scale = F(float(at_precision(128, lambda epsilon=epsilon: lift(epsilon).exp()).mid()))
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        truth = float(max(delta(both, scale), delta([(b, a) for a, b in both], scale)))
        assert lower - 1e-12 <= truth <= upper + 1e-12
        assert upper - lower < (1e-12 if by == "list" else 0.1)


@pytest.mark.parametrize("by", ["list", "integral"])
@pytest.mark.parametrize("batches", [2, pytest.param(3, marks=pytest.mark.deep)])
def test_lower_ends_of_two_epochs_where_one_neighbour_alone_has_an_outcome(
    batches: int, by: str, request: pytest.FixtureRequest
) -> None:
    """P has no mass at the first outcome; its mass under Q must not be counted twice in a law below."""
    if by == "integral":
        request.getfixturevalue("unlisted")
    atoms = [(F(0), F(12, 53)), (F(1), F(41, 53))]
    once = epoch(atoms, batches)
    twice = [(a * c, b * d) for (a, b), (c, d) in product(once, repeat=2)]
    plan = 2 * Allocation(LossPair(p=[0, 1], q=[F(12, 53), F(41, 53)], ordered=True), batches=batches)
    for epsilon in (0.0, 0.3, 0.984, 0.985):
        x = F(exp(epsilon))
        truth = float(max(delta(twice, x), delta([(q, p) for p, q in twice], x)))
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        assert lower <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= upper


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("batches", [2, pytest.param(5, marks=pytest.mark.deep)])
def test_two_epochs_in_which_a_batch_may_show_the_record(batches: int) -> None:
    """An outcome of probability 1/100 that only a record can produce, and two that tell little: by all outcomes."""
    p, q = [F(1, 100), F(59, 100), F(4, 10)], [F(0), F(4, 10), F(6, 10)]
    once = epoch(list(zip(p, q, strict=True)), batches)
    twice = [(a * c, b * d) for (a, b), (c, d) in product(once, repeat=2)]
    truth = float(max(delta(twice, F(exp(0.5))), delta([(b, a) for a, b in twice], F(exp(0.5)))))
    lower, upper = (2 * Allocation(LossPair(p, q, ordered=True), batches=batches)).delta_bounds(epsilon=0.5)
    assert 0.0199 * (1 - 1e-9) <= lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= upper <= 1.06 * lower


@pytest.mark.usefixtures("unlisted")
def test_the_mass_that_tells_all_is_not_raised_by_coarse_sums() -> None:
    plan = 2 * Allocation(
        LossPair([F(1, 100), F(59, 100), F(4, 10)], [F(0), F(4, 10), F(6, 10)], ordered=True), batches=50
    )
    lower, upper = plan.delta_bounds(epsilon="1/2")
    assert 0.0199 * (1 - 1e-12) <= lower <= upper <= 0.0199 * (1 + 1e-9)
