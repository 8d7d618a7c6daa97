"""Gaussian noise on a sum over a sample, for neighbours of which one record is replaced by another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from typing import ClassVar

from flint import arb, ctx

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise.gaussian import Gaussian
from zcdp.mechanisms.wrapper import Wrapper
from zcdp.numeric.balls import NotCertified, Undecided, lift
from zcdp.numeric.exact import Value, in_domain, integer, literal, rational
from zcdp.numeric.functions import Number
from zcdp.numeric.search import bisection
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.envelope import real_s
from zcdp.privacy.fixed_size_curve import FixedSizeGaussian
from zcdp.privacy.loss import Claim, replaced_claim
from zcdp.privacy.loss.replaced_sample_law import ReplacedSampleLaw
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

__all__ = ["ReplacedSample"]

LARGEST_QUADRATURE_ORDER = 1_000  # At larger orders the curve is a bound.


@dataclass(frozen=True, init=False, repr=False)
class ReplacedSample(Wrapper):
    """Gaussian noise on a sum over a random sample, where neighbours differ by one record that is replaced.

    The sensitivity of the mechanism is the norm C of one record, as of clipped gradients; another record in its place
    moves the sum by up to 2C. The sample is drawn anew in each use:

    `rate`: a Poisson sample, which contains each record independently with this probability. The worst records are
    opposite ones, in any number of uses: (1-q) N(0) + q N(C) against (1-q) N(0) + q N(-C). For a record that is there
    or not take `Subsampled`.
    `size` and `of`: a sample without replacement, uniform over all sets of `size` different records. It is never worse
    than `Subsampled` with noise of sensitivity 2C, which takes any three sums that are 2C from each other to be
    possible: records of norm C are not that far apart.

    rho of a sample of fixed size is exact, that of a Poisson sample an upper bound (see `is_tight`). Theorems:
    docs/theorems/replaced-samples.md, docs/theorems/fixed-size.md.

    >>> step = ReplacedSample(Gaussian(sigma=1), rate="0.01")
    >>> step.epsilon_at(delta=1e-5), (1000 * step).epsilon_at(delta=1e-5)
    (0.20937155..., 2.84344025...)
    >>> (10_000 * ReplacedSample(Gaussian(sigma=2), size=600, of=60_000)).epsilon_at(delta=1e-5)
    6.7627174...
    """

    theorem: ClassVar[str] = "replaced-samples"
    _no_group = "the members of a group are drawn one by one"

    mechanism: Gaussian
    rate: Fraction
    """The probability that a record is drawn."""
    size: int | None = None
    of: int | None = None
    """How many records there are."""

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        rate: Value | None = None,
        size: Value | None = None,
        of: Value | None = None,
    ) -> None:
        if not isinstance(mechanism, Gaussian):
            raise BadType(f"mechanism ({thing(mechanism)}) must be Gaussian noise, as Gaussian(sigma=1)")
        if rate is not None and size is None and of is None:
            drawn = rational(rate, "rate")
            if not 0 < drawn < 1:
                raise BadValue(f"rate ({literal(drawn)}) must be above 0 and below 1")
            self._set(mechanism=mechanism, rate=in_domain(drawn, "rate", rate), size=None, of=None)
        elif rate is None and size is not None and of is not None:
            count, whole = integer(size, "size", 1), integer(of, "of", 1)
            if count > whole:
                raise BadValue(f"size ({count}) must be at most of ({whole}): no record is drawn twice")
            self._set(mechanism=mechanism, rate=Fraction(count, whole), size=count, of=whole)
        else:
            raise BadType("give a rate, for a Poisson sample, or size and of, for one without replacement")

    def __repr__(self) -> str:
        how = f"rate={literal(self.rate)}" if self.size is None else f"size={self.size}, of={self.of}"
        return f"ReplacedSample({self.mechanism!r}, {how})"

    @property
    def relation(self) -> Relation:
        return Relation.REPLACE

    @property
    def largest_loss(self) -> None:
        return None

    @property
    def is_tight(self) -> bool:
        """Whether rho is exact: that of a sample of fixed size is (2C/sigma)^2/2, as without sampling."""
        return self.size is not None

    @property
    def relative_error(self) -> float | None:
        """The standard deviation of the noise divided by the norm of a record."""
        found: float | None = self.mechanism.relative_error
        return found

    @property
    def curve_of_pair(self) -> bool:  # type: ignore[override]
        """Whether the Renyi curve is that of the dominating pair: that of a sample of fixed size says less."""
        return self.size is None

    @cached_property
    def _law(self) -> ReplacedSampleLaw:
        square = 2 * self.mechanism.rho_fraction
        return ReplacedSampleLaw(self.rate, lambda: lift(square))

    @cached_property
    def _moved(self) -> Gaussian:
        """The same noise on a sum that moves by 2C."""
        return self.mechanism.group(2)

    @cached_property
    def _claim(self) -> Claim:
        if self.size is None:
            return Claim.exactly(self._law)
        claim = self._moved.pair()
        found = claim if self.rate == 1 else replaced_claim(claim, self.rate)
        assert found is not None, "Gaussian noise can be sampled"
        return found

    def pair(self) -> Claim:
        return self._claim

    @cached_property
    def _curve(self) -> Curve:
        if self.size is None:
            return _ReplacedCurve(self._law)
        square = 2 * self._moved.rho_fraction
        return self._moved if self.rate == 1 else FixedSizeGaussian(self.rate, lambda: lift(square))

    def witness(self) -> arb:
        return self._curve.witness()


class _ReplacedCurve(Curve):
    """The Renyi curve of the pair of a Poisson sample, with bounds at high orders; v = (C/sigma)^2."""

    is_envelope = True

    def __init__(self, law: ReplacedSampleLaw) -> None:
        self.law = law

    @property
    def largest_loss(self) -> None:
        """None: losses are unbounded."""
        return

    def cumulant(self, s: Number) -> Number:
        """K(s) = log F(1 + s) at real s; at high orders, and where balls fail, the smaller one of two bounds."""
        excess = real_s(s)
        q, v = lift(self.law.rate), self.law.curvature()
        growth = excess * (1 + excess) * v
        beside = -excess * (1 - q).log()
        most = _mixed(q, 2 * growth).min(beside + _mixed(q, growth / 2))
        if excess > LARGEST_QUADRATURE_ORDER:
            return most  # type: ignore[return-value]
        try:
            own: arb = self.law.noise().real(1 + excess, ctx.prec * log(2)).log()
        except (NotCertified, Undecided):
            return most  # type: ignore[return-value]
        return own.min(most)  # type: ignore[return-value]

    def kl(self) -> arb:
        """The divergence of order 1."""
        return self.law.noise().divergence(ctx.prec * log(2))

    def peak(self) -> Peak:
        """A bound on rho: one bound on K(s) up to some s, the other one from there on; any s is valid."""
        q, v = lift(self.law.rate), self.law.curvature()

        def ends(s: arb) -> tuple[arb, arb]:
            growth = s * (1 + s)
            return _mixed(q, 2 * v * growth) / growth, v / 2 - (1 - q).log() / (1 + s)

        def crossed(s: float) -> bool:
            low, high = ends(arb(s))
            return bool(low >= high)

        low, high = ends(arb(bisection(crossed, 1e-9, 1e9, relative=1e-6)[1]))
        return Peak(low.max(high).min(2 * v), arb.pos_inf())

    def witness(self) -> arb:
        """rho is at least v/2, its limit at high orders, and at least the divergence of order 1."""
        return (self.law.curvature() / 2).max(self.kl())

    @property
    def rho_order(self) -> float:
        """inf: of a bound no order is known that attains it."""
        return inf


def _mixed(q: arb, growth: arb) -> arb:
    """log(1 - q + q e^growth), growth >= 0."""
    return growth + (q + (1 - q) * (-growth).exp()).log()
