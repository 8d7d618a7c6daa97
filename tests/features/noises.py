"""Noise of every kind and sensitivity under every sampling: pairs of true neighbours, in bins from below and above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

from neighbours import samples
from neighbours.case import Case, Row
from neighbours.game import envelope
from neighbours.law import Pair
from neighbours.table import ROWS

import zcdp
from features.kinds import KINDS
from zcdp import Subsampled

NOISES = {
    row.name: row
    for row in ROWS
    if row.mechanism.__module__.rpartition(".")[2]
    in {"laplace", "discrete_laplace", "logistic", "gaussian", "staircase"}
}
"""All of them symmetric: a pair that is turned is alike, so that nobody gains by choosing its order."""

OWN = {
    row.name: row
    for row in ROWS
    if row.mechanism.__module__.rpartition(".")[2] in {"integer_noise", "own_noise", "noise_families", "combined_noise"}
    and row.sensitivity == "scalar"
}
"""Known by a density or by masses: of any shape, so that each pair is met in both orders."""

BATCHED = {
    row.name: row
    for row in ROWS
    if row.mechanism.__module__.rpartition(".")[2]
    in {"mixture_of_gaussians", "replaced_sample", "truncated_sample", "random_allocation"}
}
"""Noise on what is drawn at random already: of neighbours in one order, or of which one record is replaced."""

EFFORT = 1


def _beside(cases: Sequence[Case]) -> Case:
    """The parts on the same records: the worst neighbours of each, and some others of each."""
    pairs = [_product([case.pairs[0] for case in cases])]
    pairs += [_product([case.pairs[n % len(case.pairs)] for case in cases]) for n in range(1, 3)]
    limits = [_product([(case.limits or case.pairs)[0] for case in cases])] if any(c.limits for c in cases) else []
    return Case(cases[0].mechanism, pairs, limits, far_rho=sum(case.far_rho for case in cases))


def _product(pairs: Sequence[Pair]) -> Pair:
    whole = pairs[0]
    for pair in pairs[1:]:
        whole = whole.times(pair)
    return whole


def _poisson(mechanism: zcdp.Mechanism, base: Case, rate: Fraction) -> Case:
    pairs, limits = ([samples.drawn(pair, float(rate)) for pair in some] for some in (base.pairs, base.limits))
    above = [envelope([pair.high for pair in (*pairs, *limits)])]
    return Case(mechanism, pairs, [*limits, *above], ordered=True, far_rho=base.far_rho)


def _fixed(mechanism: zcdp.Mechanism, base: Case, share: Fraction) -> Case:
    drawn = _poisson(mechanism, base, share)
    both = [side for pair in (*drawn.pairs, *drawn.limits) for side in pair.both()]
    return Case(mechanism, drawn.pairs, [envelope([pair.high for pair in both])], far_rho=base.far_rho)


def _rate(rng: Random) -> Fraction:
    return rng.choice((Fraction(rng.choice((1, 10, 100, 500, rng.randint(1, 999))), 1000), 1 - Fraction(1, 10**6)))


def _sizes(rng: Random) -> tuple[int, int]:
    of = rng.randint(2, 12)
    return rng.randint(1, of - 1), of


def _poisson_plan(one: Case, other: Case, rng: Random) -> Case:
    del other
    rate = _rate(rng)
    return _poisson(Subsampled(2 * one.mechanism, rate=rate), _beside([one, one]), rate)


def _fixed_plan(one: Case, other: Case, rng: Random) -> Case:
    del other
    size, of = _sizes(rng)
    return _fixed(Subsampled(2 * one.mechanism, size=size, of=of), _beside([one, one]), Fraction(size, of))


def _poisson_mixed(one: Case, other: Case, rng: Random) -> Case:
    rate = _rate(rng)
    return _poisson(Subsampled(one.mechanism + other.mechanism, rate=rate), _beside([one, other]), rate)


def _fixed_mixed(one: Case, other: Case, rng: Random) -> Case:
    size, of = _sizes(rng)
    sample = Subsampled(one.mechanism + other.mechanism, size=size, of=of)
    return _fixed(sample, _beside([one, other]), Fraction(size, of))


def _poisson_alone(one: Case, other: Case, rng: Random) -> Case:
    del other
    rate = _rate(rng)
    return _poisson(Subsampled(one.mechanism, rate=rate), one, rate)


def _fixed_alone(one: Case, other: Case, rng: Random) -> Case:
    del other
    size, of = _sizes(rng)
    return _fixed(Subsampled(one.mechanism, size=size, of=of), one, Fraction(size, of))


def _poisson_twice(one: Case, other: Case, rng: Random) -> Case:
    del other
    inner, outer = _rate(rng), _rate(rng)
    return _poisson(Subsampled(Subsampled(one.mechanism, rate=inner), rate=outer), one, inner * outer)


def _fixed_twice(one: Case, other: Case, rng: Random) -> Case:
    del other
    size, middle = _sizes(rng)
    of = middle + rng.randint(1, 4)
    sample = Subsampled(Subsampled(one.mechanism, size=size, of=middle), size=middle, of=of)
    return _fixed(sample, one, Fraction(size, of))


def _poisson_group(one: Case, other: Case, rng: Random) -> Case:
    del other
    rate = _rate(rng)
    assert one.group is not None
    far = Case(one.mechanism, one.group(2), far_rho=4 * one.far_rho)
    return _poisson(Subsampled(one.mechanism.group(2), rate=rate), far, rate)


PAIRS = ("positive", "zero in p", "zero in q", "zeros in both", "textbook", "given away", "lattice and zeros")


def _beside_pair(one: Case, rng: Random) -> tuple[zcdp.Plan, Case]:
    """The noise, and a pair with few outcomes, some of which the neighbour never has: in either order."""
    few = KINDS[rng.choice(PAIRS)](rng)
    sides = [Pair.exactly(*zip(*side.masses, strict=True)) for side in few.known.ways[0]]
    pairs = [one.pairs[0].times(side) for side in sides]
    limits = [(one.limits or one.pairs)[0].times(side) for side in sides]
    return one.mechanism + few.mechanism, Case(one.mechanism, pairs, limits, far_rho=one.far_rho)


def _poisson_pair(one: Case, other: Case, rng: Random) -> Case:
    del other
    rate, (plan, base) = _rate(rng), _beside_pair(one, rng)
    return _poisson(Subsampled(plan, rate=rate), base, rate)


def _fixed_pair(one: Case, other: Case, rng: Random) -> Case:
    del other
    (size, of), (plan, base) = _sizes(rng), _beside_pair(one, rng)
    return _fixed(Subsampled(plan, size=size, of=of), base, Fraction(size, of))


def _with_noise(one: Case, other: Case, rng: Random) -> Case:
    """Both on the same records: whoever is first in the one is first in the other."""
    del rng
    plan = one.mechanism + other.mechanism
    both = _beside([one, other])
    return Case(plan, both.pairs, both.limits, ordered=one.ordered, far_rho=both.far_rho)


SAMPLINGS: dict[str, Callable[[Case, Case, Random], Case]] = {
    "poisson": _poisson_alone,
    "fixed": _fixed_alone,
    "poisson of poisson": _poisson_twice,
    "fixed of fixed": _fixed_twice,
    "poisson of plan": _poisson_plan,
    "fixed of plan": _fixed_plan,
    "poisson of mixed plan": _poisson_mixed,
    "fixed of mixed plan": _fixed_mixed,
    "poisson of group": _poisson_group,
    "poisson of noise and pair": _poisson_pair,
    "fixed of noise and pair": _fixed_pair,
}


def drawn(row: Row, sampling: str, rng: Random) -> Case:
    """A case of this noise, beside any other where the sampling is of two."""
    other = NOISES[rng.choice(sorted(NOISES))]
    one = row.draw(rng, EFFORT)
    return SAMPLINGS[sampling](_turned(one) if row.name in OWN else one, other.draw(rng, EFFORT), rng)


def _turned(case: Case) -> Case:
    """The same with each pair in both orders, as a sample makes two mechanisms of these."""

    def both(pairs: Sequence[Pair]) -> list[Pair]:
        return [side for pair in pairs for side in pair.both()]

    group = case.group
    far = None if group is None else lambda steps: both(group(steps))
    return replace(case, pairs=both(case.pairs), limits=both(case.limits), group=far, every=False)


AGAIN = {
    "beside noise": _with_noise,
    "poisson": _poisson_alone,
    "poisson of poisson": _poisson_twice,
    "poisson of plan": _poisson_plan,
    "poisson of mixed plan": _poisson_mixed,
    "poisson of noise and pair": _poisson_pair,
    "fixed": _fixed_alone,
    "poisson of group": _poisson_group,
}
"""What noise on records that are drawn at random already may meet; most of it is refused."""


def batched(row: Row, sampling: str, rng: Random) -> Case | None:
    """A case of noise on what is drawn at random, sampled once more, or beside any noise; None of no known group."""
    one, other = row.draw(rng, EFFORT), NOISES[rng.choice(sorted(NOISES))].draw(rng, EFFORT)
    return AGAIN[sampling](one, other, rng) if one.group is not None or "group" not in sampling else None
