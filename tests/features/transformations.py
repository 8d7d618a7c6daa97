"""What is done to laws: the expression of the library, and the same written out on data sets and on pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import zcdp
from features.exact import Known, Mechanism, Pair, allocated, beside, fixed, joint, poisson, truncated
from features.kinds import Drawn, everybody
from zcdp import Allocation, Subsampled, TruncatedSample


@dataclass(frozen=True)
class Case:
    """An expression of the library, and what it is of."""

    curve: zcdp.Mechanism | zcdp.Plan
    parts: tuple[Known, ...]
    """What each of its uses may meet."""
    make: Callable[[Random], Mechanism]
    """A mechanism on data sets that it covers."""
    records: int | None
    """How many records both neighbours have; None: one of them has one more."""

    def neighbours(self, rng: Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two data sets."""
        if self.records is None:
            records = tuple(range(rng.randint(1, 3)))
            return records, records[:-1]
        others = tuple(rng.randrange(5) for _ in range(self.records - 1))
        return (*others, rng.choice((5, *others))), (*others, rng.choice((6, *others)))

    def met(self, rng: Random, uses: int) -> list[Known]:
        """What so many uses meet on two data sets, each asking something else of them."""
        one, other = self.neighbours(rng)
        found = []
        for _ in range(uses):
            law = self.make(rng)
            found.append(Known.ordered([Pair.of(law(one), law(other))]))
        return found


Transformation = Callable[[Drawn, Drawn, Random], Case]
TRANSFORMATIONS: dict[str, Transformation] = {}


def transformation(name: str) -> Callable[[Transformation], Transformation]:
    """Enters a function that makes a case of one or two mechanisms."""

    def enter(make: Transformation) -> Transformation:
        TRANSFORMATIONS[name] = make
        return make

    return enter


def some_rate(rng: Random) -> Fraction:
    rare, often = Fraction(1, 10**6), 1 - Fraction(1, 10**6)
    return rng.choice((Fraction(1, 3), Fraction(1, 2), Fraction(rng.randint(1, 999), 1000), rare, often, Fraction(1)))


def some_sizes(rng: Random, size: int | None) -> tuple[int, int]:
    """A size, or this one, of how many."""
    size = rng.randint(1, 2) if size is None else size
    return size, size + rng.randint(0, 2)


@transformation("as it is")
def _plain(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    records = one.clients or (None if one.ordered or rng.random() < 0.5 else rng.randint(1, 3))
    return Case(one.mechanism, (one.known,), lambda rng: one.world(rng, records is not None), records)


def _sampled_at(
    base: zcdp.Mechanism | zcdp.Plan, known: Known, world: Callable[[Random], Mechanism], rate: Fraction
) -> Case:
    curve = Subsampled(base, rate=rate)
    return Case(curve, (known.poisson(rate),), lambda rng: poisson(world(rng), rate), None)


def _drawn_of(base: zcdp.Mechanism | zcdp.Plan, bases: tuple[Drawn, ...], known: Known, size: int, of: int) -> Case:
    """Of data that are shuffled the others' values count: then all data sets are gone through."""
    curve = Subsampled(base, size=size, of=of)

    def make(rng: Random) -> Mechanism:
        return fixed(beside(*(one.world(rng, True) for one in bases)), size)

    if any(one.clients for one in bases):
        law, values = make(Random(0)), max(one.values for one in bases)
        return Case(curve, (everybody(law, values, of, complete=False),), make, of)
    return Case(curve, (known.fixed(Fraction(size, of)),), make, of)


@transformation("poisson")
def _poisson(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    return _sampled_at(one.mechanism, one.known, lambda rng: one.world(rng, False), some_rate(rng))


@transformation("fixed")
def _fixed(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    size, of = some_sizes(rng, one.clients)
    curve = Subsampled(one.mechanism, size=size, of=of)
    if not one.clients:
        return _drawn_of(one.mechanism, (one,), one.known, size, of)
    # every client's value is any of those there are, so that the list of data sets is whole
    law = fixed(one.world(Chosen(), True), size)
    known = everybody(law, one.values, of)
    return Case(curve, (known,), lambda rng: fixed(one.world(rng, True), size), of)


class Chosen(Random):
    """Records are their own values."""

    def __init__(self) -> None:
        super().__init__(0)
        self.next = 0

    def randrange(self, *args: int, **kwargs: int) -> int:  # type: ignore[override]
        self.next += 1
        return (self.next - 1) % args[0]


@transformation("poisson of poisson")
def _poisson_twice(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    inner, outer = some_rate(rng), some_rate(rng)
    curve = Subsampled(Subsampled(one.mechanism, rate=inner), rate=outer)

    def make(rng: Random) -> Mechanism:
        return poisson(poisson(one.world(rng, False), inner), outer)

    return Case(curve, (one.known.poisson(inner * outer),), make, None)


@transformation("fixed of fixed")
def _fixed_twice(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    size, middle = some_sizes(rng, one.clients)
    _, of = some_sizes(rng, middle)
    curve = Subsampled(Subsampled(one.mechanism, size=size, of=middle), size=middle, of=of)

    def make(rng: Random) -> Mechanism:
        return fixed(fixed(one.world(rng, True), size), middle)

    if one.clients:
        law = fixed(fixed(one.world(Chosen(), True), size), middle)
        return Case(curve, (everybody(law, one.values, of),), make, of)
    return Case(curve, (one.known.fixed(Fraction(size, of)),), make, of)


@transformation("poisson of plan")
def _poisson_plan(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    known = joint([one.known, one.known], rng)
    return _sampled_at(2 * one.mechanism, known, lambda rng: beside(*_worlds((one, one), rng, False)), some_rate(rng))


@transformation("fixed of plan")
def _fixed_plan(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    size, of = some_sizes(rng, one.clients)
    return _drawn_of(2 * one.mechanism, (one, one), joint([one.known, one.known], rng), size, of)


@transformation("poisson of mixed plan")
def _poisson_mixed(one: Drawn, other: Drawn, rng: Random) -> Case:
    known = joint([one.known, other.known], rng)
    base = one.mechanism + other.mechanism
    return _sampled_at(base, known, lambda rng: beside(*_worlds((one, other), rng, False)), some_rate(rng))


@transformation("fixed of mixed plan")
def _fixed_mixed(one: Drawn, other: Drawn, rng: Random) -> Case:
    size, of = some_sizes(rng, one.clients or other.clients)
    base = one.mechanism + other.mechanism
    return _drawn_of(base, (one, other), joint([one.known, other.known], rng), size, of)


def _worlds(bases: tuple[Drawn, ...], rng: Random, replaced: bool) -> list[Mechanism]:
    return [one.world(rng, replaced) for one in bases]


@transformation("poisson of group")
def _poisson_group(one: Drawn, other: Drawn, rng: Random) -> Case:
    """Households that are drawn as a whole: a record is two persons."""
    del other
    return _sampled_at(one.mechanism.group(2), one.far or one.known, lambda rng: one.world(rng, False), some_rate(rng))


@transformation("fixed of group")
def _fixed_group(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    size, of = some_sizes(rng, one.clients)
    curve = Subsampled(one.mechanism.group(2), size=size, of=of)
    known = (one.far or one.known).fixed(Fraction(size, of))
    return Case(curve, (known,), lambda rng: fixed(one.world(rng, True), size), of)


@transformation("poisson beside")
def _poisson_beside(one: Drawn, other: Drawn, rng: Random) -> Case:
    """A sample, and another mechanism on all records."""
    sample = _poisson(one, other, rng)
    return Case(
        sample.curve + other.mechanism,
        (*sample.parts, other.known),
        lambda rng: beside(sample.make(rng), other.world(rng, False)),
        None,
    )


@transformation("fixed beside")
def _fixed_beside(one: Drawn, other: Drawn, rng: Random) -> Case:
    size, of = some_sizes(rng, one.clients)
    curve = Subsampled(one.mechanism, size=size, of=of) + other.mechanism
    sample = _drawn_of(one.mechanism, (one,), one.known, size, of)
    return Case(curve, (*sample.parts, other.known), lambda rng: beside(sample.make(rng), other.world(rng, True)), of)


@transformation("poisson of a plan of samples")
def _samples_in_a_plan(one: Drawn, other: Drawn, rng: Random) -> Case:
    inner, outer = some_rate(rng), some_rate(rng)
    curve = Subsampled(Subsampled(one.mechanism, rate=inner) + other.mechanism, rate=outer)
    known = joint([one.known.poisson(inner), other.known], rng).poisson(outer)

    def make(rng: Random) -> Mechanism:
        return poisson(beside(poisson(one.world(rng, False), inner), other.world(rng, False)), outer)

    return Case(curve, (known,), make, None)


@transformation("poisson of fixed")
def _poisson_of_fixed(one: Drawn, other: Drawn, rng: Random) -> Case:
    """To be refused: neighbours of the one are of equal size, of the other not."""
    del other
    size, of = some_sizes(rng, one.clients)
    base = Subsampled(one.mechanism, size=size, of=of)
    return _sampled_at(base, one.known.fixed(Fraction(size, of)), lambda rng: one.world(rng, False), some_rate(rng))


@transformation("fixed of poisson")
def _fixed_of_poisson(one: Drawn, other: Drawn, rng: Random) -> Case:
    """To be refused likewise."""
    del other
    size, of = some_sizes(rng, one.clients)
    base = Subsampled(one.mechanism, rate=some_rate(rng))
    return _drawn_of(base, (one,), one.known, size, of)


def _allocated(
    base: zcdp.Mechanism | zcdp.Plan, known: Known, world: Callable[[Random], Mechanism], batches: int
) -> Case:
    curve = Allocation(base, batches=batches)
    return Case(curve, (known.allocated(batches),), lambda rng: allocated(world(rng), batches), None)


@transformation("allocated")
def _allocation(one: Drawn, other: Drawn, rng: Random) -> Case:
    """Each record is in one of the batches, all of which are seen."""
    del other
    return _allocated(one.mechanism, one.known, lambda rng: one.world(rng, False), rng.randint(1, 3))


@transformation("allocated plan")
def _allocated_plan(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    known = joint([one.known, one.known], rng)
    return _allocated(2 * one.mechanism, known, lambda rng: beside(*_worlds((one, one), rng, False)), 2)


@transformation("allocated group")
def _allocated_group(one: Drawn, other: Drawn, rng: Random) -> Case:
    """Households that are in one batch as a whole."""
    del other
    known = one.far or one.known
    return _allocated(one.mechanism.group(2), known, lambda rng: one.world(rng, False), rng.randint(2, 3))


@transformation("allocated samples")
def _allocated_samples(one: Drawn, other: Drawn, rng: Random) -> Case:
    """Of each batch a sample."""
    del other
    rate = some_rate(rng)

    def world(rng: Random) -> Mechanism:
        return poisson(one.world(rng, False), rate)

    return _allocated(Subsampled(one.mechanism, rate=rate), one.known.poisson(rate), world, 2)


@transformation("poisson of allocated")
def _poisson_of_allocated(one: Drawn, other: Drawn, rng: Random) -> Case:
    """Of a sample an epoch."""
    inner = _allocation(one, other, rng)
    return _sampled_at(inner.curve, inner.parts[0], inner.make, some_rate(rng))


@transformation("allocated beside")
def _allocated_beside(one: Drawn, other: Drawn, rng: Random) -> Case:
    """An epoch, and another mechanism on all records."""
    epoch = _allocation(one, other, rng)
    return Case(
        epoch.curve + other.mechanism,
        (*epoch.parts, other.known),
        lambda rng: beside(epoch.make(rng), other.world(rng, False)),
        None,
    )


@transformation("allocated fixed")
def _allocated_fixed(one: Drawn, other: Drawn, rng: Random) -> Case:
    """To be refused: neighbours of samples of one size are of equal size."""
    del other
    size, of = some_sizes(rng, one.clients)
    base = Subsampled(one.mechanism, size=size, of=of)
    return _allocated(base, one.known.fixed(Fraction(size, of)), lambda rng: one.world(rng, False), 2)


def _cut(base: zcdp.Mechanism, known: Known, world: Callable[[Random], Mechanism], rng: Random) -> Case:
    """What is known: the others' records count for nothing, but for pushing the one out."""
    rate, most, of = min(some_rate(rng), Fraction(9, 10)), rng.randint(1, 3), rng.randint(3, 4)
    curve = TruncatedSample(base, rate=rate, most=most, of=of)
    kept = truncated(lambda records: (Fraction(0 in records), Fraction(0 not in records)), rate, most)
    seen = kept(tuple(range(of)))[0]
    part = Known(known.poisson(seen).ways, complete=False)
    return Case(curve, (part,), lambda rng: truncated(world(rng), rate, most), None)


@transformation("truncated")
def _truncated(one: Drawn, other: Drawn, rng: Random) -> Case:
    """A sample of at most so many records."""
    del other
    return _cut(one.mechanism, one.known, lambda rng: one.world(rng, False), rng)


@transformation("truncated group")
def _truncated_group(one: Drawn, other: Drawn, rng: Random) -> Case:
    del other
    return _cut(one.mechanism.group(2), one.far or one.known, lambda rng: one.world(rng, False), rng)


@transformation("poisson of truncated")
def _poisson_of_truncated(one: Drawn, other: Drawn, rng: Random) -> Case:
    inner = _truncated(one, other, rng)
    return _sampled_at(inner.curve, inner.parts[0], inner.make, some_rate(rng))


@transformation("allocated truncated")
def _allocated_truncated(one: Drawn, other: Drawn, rng: Random) -> Case:
    """Of each batch a sample of at most so many records."""
    inner = _truncated(one, other, rng)
    return _allocated(inner.curve, inner.parts[0], inner.make, 2)


@transformation("truncated beside")
def _truncated_beside(one: Drawn, other: Drawn, rng: Random) -> Case:
    sample = _truncated(one, other, rng)
    return Case(
        sample.curve + other.mechanism,
        (*sample.parts, other.known),
        lambda rng: beside(sample.make(rng), other.world(rng, False)),
        None,
    )
