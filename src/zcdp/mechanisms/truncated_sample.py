"""A Poisson sample that is cut where it is too large for its place: batches that are padded to a fixed shape."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import ClassVar

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.subsampled import Subsampled
from zcdp.mechanisms.wrapper import Wrapper
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.numeric.exact import Exact, Value, float_above, float_below, in_domain, integer, literal, rational
from zcdp.numeric.functions import Number, expm1, log1p
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss import Claim
from zcdp.privacy.loss.mixed_law import MixedLaw
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

__all__ = ["TruncatedSample"]

TAIL_BITS, MOST_TERMS = 192, 20_000  # of the probability that a sample is full


@dataclass(frozen=True, init=False, repr=False)
class TruncatedSample(Wrapper):
    """A mechanism on a Poisson sample of at most `most` records: of a larger one so many are kept, chosen at random.

    Each of at most `of` records is drawn by itself with probability `rate`. Neighbours are a data set and the same
    without one record. A record that pushes another one out of a full sample costs what two neighbouring steps cost:
    of a sum that one record moves by C that is a move of 2C, which happens only if the sample is full. The number `of`
    must be known, or an upper bound on it, and is public. If it is not a bound but the very number of records, of the
    larger of two neighbouring data sets, `exactly=True` also counts that a record is kept less often if the sample is
    full: that tells where many samples are cut.

    The pair is the sampled one, or with the probability of a full sample that of two steps; `is_tight` is False.
    Theorem: docs/theorems/truncated-batches.md.

    >>> from zcdp import Gaussian
    >>> step = TruncatedSample(Gaussian(sigma="1.1"), rate="256/60000", most=320, of=60_000)
    >>> (14063 * step).epsilon_bounds(delta="1e-5")
    (2.38168..., 2.40873...)
    """

    theorem: ClassVar[str] = "truncated-batches"
    _no_group = "the members of a group are drawn one by one"

    mechanism: Mechanism
    rate: Fraction
    """The probability that a record is drawn."""
    most: int
    """How many records a sample has at most."""
    of: int
    """How many records there are, at most."""
    exactly: bool = False
    """Whether there are just so many records as `of` says, one of them added or removed."""

    def __init__(self, mechanism: Mechanism, *, rate: Value, most: Value, of: Value, exactly: bool = False) -> None:
        if not isinstance(mechanism, Mechanism):
            raise BadType(f"mechanism ({thing(mechanism)}) must be a mechanism, as Gaussian(sigma=1)")
        drawn = rational(rate, "rate")
        if not 0 < drawn < 1:
            raise BadValue(f"rate ({literal(drawn)}) must be above 0 and below 1")
        in_domain(drawn, "rate", rate)
        if mechanism.local or mechanism.relation is not Relation.EITHER:
            raise BadValue(f"{mechanism!r} cannot run on a truncated sample: state it for a record added or removed")
        if not isinstance(exactly, bool):
            raise BadType(f"exactly ({thing(exactly)}) must be True or False")
        cut = integer(most, "most", 1)
        self._set(mechanism=mechanism, rate=drawn, most=cut, of=integer(of, "of", 1), exactly=exactly)
        if self._twice.relation is not Relation.EITHER or self._claim is None:
            raise BadValue(f"{mechanism!r} cannot run on a truncated sample: no law of two neighbouring steps is known")

    def __repr__(self) -> str:
        how = f"rate={literal(self.rate)}, most={self.most}, of={self.of}{', exactly=True' * self.exactly}"
        return f"TruncatedSample({self.mechanism!r}, {how})"

    @cached_property
    def _twice(self) -> Mechanism:
        """The mechanism for inputs at a distance of two neighbours: of one record removed, and another one added."""
        return self.mechanism.group(2)

    @cached_property
    def _once(self) -> Subsampled:
        return Subsampled(self.mechanism, rate=self.rate)

    @cached_property
    def _replaced(self) -> Subsampled:
        return Subsampled(self._twice, rate=self.rate)

    @cached_property
    def full(self) -> Fraction:
        """The probability, rounded up, that the other records fill the sample: that a draw of one pushes one out."""
        return self._full[1]

    @cached_property
    def _full(self) -> tuple[Fraction, Fraction]:
        """The same, rounded down and up."""
        return _at_least(self.of - 1, self.rate, self.most)

    @cached_property
    def _kept(self) -> Fraction:
        """The probability, rounded up, that a record of just `of` is drawn and kept if the others fill the sample."""
        least = self._full[0]
        kept = _at_least(self.of, self.rate, self.most + 1)[1] * Fraction(self.most, self.of)
        return min(Fraction(float_above(kept / least)), self.rate) if least else self.rate

    @cached_property
    def _claim(self) -> Claim | None:
        once, replaced = self._once.pair(), self._replaced.pair()
        if once is None or replaced is None:
            return None
        if not self.full:
            return once
        parts = [(once.upper, 1 - self.full), (replaced.upper, self.full)]
        if self.exactly and self._kept < self.rate:
            rarer = Subsampled(self._twice, rate=self._kept).pair()
            assert rarer is not None, "what can be sampled at one rate can be at another"
            # What is between both roundings of the probability has the pair that dominates the other two.
            parts = [parts[0], (rarer.upper, self._full[0]), (replaced.upper, self.full - self._full[0])]
        upper = MixedLaw(tuple((law, chance) for law, chance in parts if chance))
        attained = self._attained.pair() if self._attained else None
        below = attained.lower if attained is not None else ()
        return Claim(upper, lower=tuple(parts for parts in below if len(parts) == 1)).check()

    @cached_property
    def _attained(self) -> Subsampled | None:
        """The sample that neighbours attain: one record alone, or of just so many, of which all others are 0.

        The others add nothing to a sum, but push the one out; that rate is rounded down.
        """
        if not self.exactly:
            return self._once
        crowded = _at_least(self.of, self.rate, self.most + 1)[0] * Fraction(self.most, self.of)
        rate = Fraction(float_below(self.rate * (1 - self.full) + crowded))
        return Subsampled(self.mechanism, rate=rate) if rate else None

    def pair(self) -> Claim | None:
        return self._claim

    @cached_property
    def _curve(self) -> Curve:
        return _MixedCurve(self._once, self._replaced, self.full) if self.full else self._once

    @property
    def relation(self) -> Relation:
        return Relation.ADD_REMOVE

    @property
    def is_tight(self) -> bool:
        """False: the pair dominates, and need not be attained; True if no sample can be full."""
        return not self.full and self._once.is_tight

    @property
    def largest_loss(self) -> Exact | None:
        return self._worse.largest_loss

    @property
    def pure_epsilon(self) -> float:
        return self._worse.pure_epsilon

    @property
    def _worse(self) -> Subsampled:
        """Of the two sampled mechanisms the one with the larger pure epsilon: their laws need not be equally sharp."""
        both = (self._once, self._replaced) if self.full else (self._once,)
        return max(both, key=lambda one: one.pure_epsilon)

    @property
    def unbounded(self) -> bool:
        return self._curve.unbounded

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """Bounds on rho: of a sample that is drawn a little less often, and of two steps, which a rare part costs."""
        if not self.full:
            return self._once._peak_bounds
        upper = max(self._once.rho, self._replaced.rho)
        return min(self._attained.rho_bounds[0] if self._attained else 0.0, upper), upper

    @property
    def rho_bounds(self) -> tuple[float, float]:
        return self._peak_bounds

    @cached_property
    def rho_fraction(self) -> Fraction:
        once = self._once.rho_fraction
        return max(once, self._replaced.rho_fraction) if self.full else once


class _MixedCurve(Curve):
    """The Renyi curve of a sampled mechanism some of whose uses, known to all, cost what another one costs."""

    is_envelope = True

    def __init__(self, usual: Curve, rare: Curve, chance: Fraction) -> None:
        """A rare use costs what `rare` says, all others what `usual` says; `rare` is valid for all of them."""
        self.usual, self.rare, self.chance = usual, rare, chance

    @property
    def largest_loss(self) -> Exact | None:
        """That of the rare part."""
        return self.rare.largest_loss

    @property
    def unbounded(self) -> bool:
        """Whether the divergence of the rare part is infinite at every order."""
        return self.rare.unbounded

    @property
    def is_tight(self) -> bool:
        """False: the curve is only an upper bound."""
        return False

    def cumulant(self, s: Number) -> Number:
        """log((1-t) e^{K_1(s)} + t e^{K_2(s)})."""
        usual, rare, t = self.usual.cumulant(s), self.rare.cumulant(s), lift(self.chance)
        value: Number = usual + log1p(expm1(rare - usual) * t)
        return value

    def kl(self) -> arb:
        """The mean of both divergences of order 1."""
        return self.usual.kl() * lift(1 - self.chance) + self.rare.kl() * lift(self.chance)

    def peak(self) -> Peak:
        """The larger rho of the two, an upper bound: large orders see the rare part alone."""
        return Peak(self.usual.peak().rho.max(self.rare.peak().rho), arb.pos_inf())

    @property
    def rho_order(self) -> float:
        """inf: the bound is approached as the order grows."""
        return inf


def _at_least(trials: int, rate: Fraction, least: int) -> tuple[Fraction, Fraction]:
    """P(Bin(trials, rate) >= least), rounded down and up to floats: its first terms, and a geometric series for others.

    >>> low, high = _at_least(10, Fraction(1, 2), 10)
    >>> low <= Fraction(1, 1024) <= high, float(high), _at_least(3, Fraction(1, 2), 4)
    (True, 0.0009765625..., (Fraction(0, 1), Fraction(0, 1)))
    """
    if least > trials:
        return Fraction(0), Fraction(0)

    def tail() -> tuple[float, float]:
        q = lift(rate)
        odds = q / (1 - q)
        ways = arb(trials + 1).lgamma() - arb(least + 1).lgamma() - arb(trials - least + 1).lgamma()
        term = (ways + least * q.log() + (trials - least) * (1 - q).log()).exp()
        total = arb(0)
        for k in range(least, min(trials, least + MOST_TERMS) + 1):
            ratio = odds * (trials - k) / (k + 1)  # of the next term to this one; it falls as k grows
            if ratio < 1 and (rest := term * ratio / (1 - ratio)) <= (total + term) * arb(2) ** -60:
                return below(total + term), above(total + term + rest)
            total, term = total + term, term * ratio
        return below(total), above(total) if least + MOST_TERMS >= trials else 1.0

    low, high = at_precision(TAIL_BITS, tail)
    return Fraction(min(max(low, 0.0), 1.0)), Fraction(min(high, 1.0))
