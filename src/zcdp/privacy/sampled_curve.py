"""The Renyi curve of a sampled law: of Gaussian noise, and of finitely many losses."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, log

from flint import arb, ctx

from zcdp.errors import BadType
from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, below, ceiling, floor, lift
from zcdp.numeric.exact import Exact, Log
from zcdp.numeric.functions import Number, expm1, log1p
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair, real_s
from zcdp.privacy.loss import LossLaw, gaussian_pair, profile_law
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.gaussian_law import GaussianLaw
from zcdp.privacy.loss.sampled_gaussian_law import SampledGaussianLaw
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.plan import Plan
from zcdp.privacy.profile.profile import Profile

__all__ = [
    "SampledConvex",
    "SampledFinite",
    "SampledGaussian",
    "finite_curve",
    "product_law",
    "replaced_curve",
    "sampled_curve",
]


ROUGHLY = 1e-4  # the search on a law that only dominates
BY_QUADRATURE = 1_000  # orders up to which the transform is a quadrature
LARGEST_EXPONENT = 700  # of e, beyond which a sample's largest loss is taken for its base's
LARGEST_SUM = 100_000  # and up to which it is a binomial sum


def sampled_curve(law: LossLaw | None, base: Curve, rate: Fraction) -> Curve:
    """The curve of a sampled law, of this base."""
    if isinstance(law, SampledGaussianLaw):
        return SampledGaussian(law)
    finite = getattr(law, "source", law)
    if isinstance(finite, FiniteLaw):
        curve = SampledFinite(finite)
        return SampledConvex(base, rate) if curve.unbounded and not base.unbounded else curve
    return SampledConvex(base, rate)


def replaced_curve(law: LossLaw | None, base: Curve, rate: Fraction) -> Curve:
    """The curve of a sample without replacement: of finitely many losses that of their envelope, else by convexity."""
    finite = getattr(law, "source", law)
    if isinstance(finite, FiniteLaw):
        curve = SampledFinite(finite)
        return SampledConvex(base, rate) if curve.unbounded and not base.unbounded else curve
    return SampledConvex(base, rate, law)


def finite_curve(law: LossLaw) -> SampledFinite:
    """The curve of the finite law that stands for one known by its profile."""
    finite = getattr(law, "dots", law)
    finite = getattr(finite, "source", finite)
    if not isinstance(finite, FiniteLaw):
        raise BadType(f"{law!r} has no finite law")
    curve = SampledFinite(finite)
    curve.tolerance = ROUGHLY
    return curve


class SampledGaussian(Curve):
    """K(s) = log F(1 + s), with the record against without it: never below the other order at any s > 0.

    rho is that of the Gaussian pair: approached as the order grows, and attained at no finite one.
    Theorem: docs/theorems/sampling.md.
    """

    def __init__(self, law: SampledGaussianLaw) -> None:
        self.law = law

    @property
    def largest_loss(self) -> None:
        """See `Curve`."""
        return None

    def cumulant(self, s: Number) -> Number:
        """See `Curve`."""
        order = 1 + real_s(s)
        if order > BY_QUADRATURE:
            return self._by_binomials(order)  # type: ignore[return-value]
        value: Number = self.law.noise().real(order, _working()).log()  # type: ignore[assignment]
        return value

    def _by_binomials(self, order: arb) -> arb:
        """K at a whole order as a binomial sum; between two of them not above the chord, as K is convex.

        F(a) is the sum over k of C(a, k) (1-q)^{a-k} q^k e^{k(k-1) mu^2/2}. At orders beyond all sums the largest is
        not above the mean of 1 and e^{a(a-1) mu^2/2}.
        """
        low, high = floor(order), ceiling(order)
        if high > LARGEST_SUM:
            q, growth = lift(self.law.rate), (order * (order - 1) / 2) * self.law.curvature()
            return (1 - q + q * growth.exp()).log() if growth < 1e9 else growth
        values = [self._sum(a).log() for a in (low, high)]
        return values[0] + (values[1] - values[0]) * (order - low)

    def _sum(self, a: int) -> arb:
        q, mu = lift(self.law.rate), self.law.curvature()
        odds, step = q / (1 - q), mu.exp()
        term = (1 - q) ** a
        total, growth = term, odds
        for k in range(a):
            term *= growth * (a - k) / (k + 1)
            total += term
            growth *= step
        return total

    def kl(self) -> arb:
        """See `Curve`."""
        return self.law.noise().divergence(_working())

    def peak(self) -> Peak:
        """See `Curve`."""
        return Peak(self.law.curvature() / 2, arb.pos_inf())

    @property
    def rho_order(self) -> float:
        """inf: the supremum is a limit."""
        return inf


class SampledConvex(Curve):
    """log(1 - q + q e^{K(s)}) with K of the base: by convexity a bound for any base; or log M(s) of a law, if less.

    Theorem: docs/theorems/sampling.md.
    """

    def __init__(self, base: Curve, rate: Fraction, law: LossLaw | None = None) -> None:
        """`law` dominates the sampled mechanism in both orders."""
        self.base, self.rate, self.law = base, rate, law

    @property
    def largest_loss(self) -> Exact | None:
        """See `Curve`: log(1 + q (e^epsilon - 1)) with the pure epsilon of the base, to 2^-256 of e^epsilon - 1."""
        pure = self.base.pure_epsilon
        if pure == inf:
            return None
        if pure > LARGEST_EXPONENT:
            return Fraction(pure)
        man, power = at_precision(256, lambda: self.base.loss_ball().expm1().upper()).man_exp()
        return Log(1 + self.rate * Fraction(int(man)) * Fraction(2) ** int(power))

    @property
    def is_tight(self) -> bool:
        """See `Curve`."""
        return False

    @property
    def unbounded(self) -> bool:
        """See `Curve`."""
        return self.base.unbounded

    def cumulant(self, s: Number) -> Number:
        """See `Curve`."""
        value: Number = log1p(expm1(self.base.cumulant(s)) * lift(self.rate))
        return value

    @property
    def is_envelope(self) -> bool:  # type: ignore[override]
        """See `Curve`."""
        return self.base.is_envelope

    def kl(self) -> arb:
        """See `Curve`: the slope at 0, where K is 0; of the base it may be known where its curve has no series."""
        return lift(self.rate) * self.base.kl()

    def _divergence(self, excess: Fraction) -> float:
        """The less of both bounds; the law's own takes a quadrature, so no search is made on it."""
        plain = super()._divergence(excess)
        if self.law is None or excess == 0:
            return plain
        law = self.law

        def own() -> float:
            return above(law.renyi(lift(excess)))

        try:
            value = at_precision(192, own)
        except (Undecided, NotCertified, OverflowError):
            return plain
        return min(plain, value) if value > 0 else plain

    def peak(self) -> Peak:
        """See `Curve`."""
        return Peak(self.base.peak().rho, arb(1))

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """That of the base, which may be searched where it has no one peak: by convexity a bound."""
        return 0.0, self.base.rho

    @property
    def rho_bounds(self) -> tuple[float, float]:
        """See `Curve`."""
        return 0.0, self.rho


class SampledFinite(FiniteEnvelope):
    """The larger of the two orders of a pair with finitely many losses. Theorem: docs/theorems/sampling.md."""

    def __init__(self, law: FiniteLaw) -> None:
        self.law = law
        self._alike = law._looks_symmetric()
        self._last: tuple[int, Sequence[FinitePair]] | None = None

    @property
    def unbounded(self) -> bool:
        """See `Curve`."""
        return bool(self.law.revealed or self.law.hidden)

    @property
    def largest_loss(self) -> Exact | None:
        """See `Curve`."""
        if self.unbounded:
            return None
        ratios = [g for g, _ in self.law.masses]
        largest = max(ratios[0], 1 / ratios[-1])
        return Log(largest) if largest > 1 else Fraction(0)

    def pairs(self) -> Sequence[FinitePair]:
        """See `FiniteEnvelope`; of the last precision they are kept, as a search asks often."""
        last = self._last
        if last is None or last[0] != ctx.prec:
            last = self._last = ctx.prec, self._pairs()
        return last[1]

    def _pairs(self) -> Sequence[FinitePair]:
        if all(g == 1 for g, _ in self.law.masses):
            return []  # P and Q are the same.
        losses = [lift(loss) for loss in self.law.losses]
        with_it = FinitePair([lift(p) for _, p in self.law.masses], losses)
        if self._alike:
            return [with_it]
        without = [lift(p / g) for g, p in self.law.masses]
        return [with_it, FinitePair(without, [-loss for loss in losses])]


def _working() -> float:
    """The working precision in e-folds."""
    return ctx.prec * log(2)


# The law of a whole plan that runs on one sample: of its product, not of its parts.


def product_law(plan: Plan) -> LossLaw | None:
    """The law of the product of all parts' symmetric pairs: Gaussian, or known by its profile; None: not known.

    Theorem: docs/theorems/sampling.md.
    """
    parts = [(one.pair(), count * times) for part, count in plan.parts for one, times in part.coordinates]
    laws = [(law, count) for law, count in parts if law is not None and law.symmetric]
    if len(laws) < len(parts):
        return None
    exact = all(law.exact for law, _ in laws)  # A product of laws that only dominate does no more.
    noises = [(law, count) for law, count in laws if isinstance(law, GaussianLaw)]
    if len(noises) == len(laws):
        return gaussian_pair(lambda: sum((law.curvature() * count for law, count in noises), arb(0)), exact=exact)
    profile = Profile(tuple(laws))

    def infinite() -> arb:
        return Transform(tuple(laws)).revealed

    def ends(epsilon: arb) -> tuple[arb, arb]:
        low, high = max(below(epsilon), 0.0), max(above(epsilon), 0.0)
        if not high < inf:
            return (mass := infinite()), mass if low == high else arb(1)
        try:
            answer = profile.delta(Fraction(low))
            lower = answer.lower if low == high else profile.delta(Fraction(high)).lower
        except NotCertified as error:
            raise Undecided from error
        return arb(lower), arb(answer.upper)

    def top() -> arb:
        return sum((law.largest() * count for law, count in laws), arb(0))

    return profile_law(ends, top, infinite, exact_alone=exact)
