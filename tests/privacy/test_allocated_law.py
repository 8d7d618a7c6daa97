"""Laws of random allocation: both directions of one epoch and of several, against all outcomes written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, prod
from random import Random

import pytest
from flint import arb

from zcdp import Allocation, LossPair
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss import Claim, allocated_claim, gaussian_pair
from zcdp.privacy.loss.finite_law import finite_law
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


@pytest.mark.parametrize("case", CASES[::2])
def test_finite_laws_are_above_and_below_an_epoch(case: Atoms) -> None:
    """Also beyond the points through which they go: the pairs that compositions use, all of their mass counted."""
    claim = allocated_claim(Claim.exactly(finite_law(case)), 2)
    assert claim is not None
    if any(p == 0 or q == 0 for p, q in case):  # nothing is claimed to be attained by several epochs
        assert claim.lower == ()
        laws = [claim.upper]
    else:
        [[(lower, _)]] = claim.lower
        laws = [claim.upper, lower]
    whole = epoch(case, 2)
    pairs = []
    for law in laws:
        assert isinstance(law, ProfileLaw)
        finite = getattr(law.dots, "source", law.dots)
        pairs.append(finite.atoms)  # type: ignore[attr-defined]
        assert sum(p for p, _ in pairs[-1]) == sum(q for _, q in pairs[-1]) == 1
    for n in range(40):
        x = F(1, 8) * F(6, 5) ** n
        truth = delta(whole, x)
        assert delta(pairs[-1], x) <= truth <= delta(pairs[0], x) if len(pairs) > 1 else truth <= delta(pairs[0], x)
    assert delta(pairs[0], F(1)) - delta(whole if len(pairs) == 1 else pairs[1], F(1)) < F(1, 20)


def test_one_batch_is_the_step_itself() -> None:
    step = Claim.exactly(gaussian_pair(lambda: arb(1)))
    assert allocated_claim(step, 1) is step


def test_only_what_a_step_attains_is_attained() -> None:
    claim = allocated_claim(Claim(finite_law(CASES[0])), 2)
    assert claim is not None
    assert claim.lower == claim.lower_alone == ()


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(40))
def test_two_epochs_lie_between_both_ends(seed: int) -> None:
    """Of a pair that is no one's mirror image: all outcomes of both epochs, in both directions."""
    from zcdp import Allocation

    rng = Random(f"two epochs {seed}")
    rows = [[rng.randint(1, 9) for _ in range(3)] for _ in range(2)]
    p, q = ([F(x, sum(row)) for x in row] for row in rows)
    one = epoch(list(zip(p, q, strict=True)), 2)
    both = [(a * c, b * d) for a, b in one for c, d in one]
    plan = 2 * Allocation(LossPair(p, q, ordered=True), batches=2)
    for epsilon in (F(0), F(1, 4)):
        x = F(2.718281828459045) ** 0 if epsilon == 0 else lift(epsilon).exp()
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        scale = x if isinstance(x, F) else F(float(x.mid()))
        truth = float(max(delta(both, scale), delta([(b, a) for a, b in both], scale)))
        assert lower - 1e-12 <= truth <= upper + 1e-12
        assert upper - lower < 0.02


@pytest.mark.parametrize("batches", [2, 3])
def test_lower_ends_of_two_epochs_where_one_neighbour_alone_has_an_outcome(batches: int) -> None:
    """P has no mass at the first outcome; its mass under Q must not be counted twice in a law below."""
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
