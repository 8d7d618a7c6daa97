"""Renyi curves of mechanisms on a random sample (privacy amplification by sampling), and the law of a sampled plan."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, log

from flint import arb, ctx

from zcdp.errors import BadType
from zcdp.numeric.balls import (
    NotCertified,
    Undecided,
    above,
    at_precision,
    below,
    ceiling,
    floor,
    lift,
    upper_float,
)
from zcdp.numeric.exact import Exact, Log
from zcdp.numeric.functions import Number, expm1, log1p
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak, Plan
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair, real_s
from zcdp.privacy.loss import Claim, LossLaw, gaussian_pair, profile_law
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.gaussian_law import GaussianLaw
from zcdp.privacy.loss.profile_law import ProfileLaw
from zcdp.privacy.loss.sampled_gaussian_law import SampledGaussianLaw
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.profile import Profile

__all__ = [
    "SampledConvex",
    "SampledFinite",
    "SampledGaussian",
    "SampledProfile",
    "finite_curve",
    "product_claim",
    "replaced_curve",
    "sampled_curve",
]


DOMINATED_TOLERANCE = 1e-4  # relative width of the enclosure of rho, for a law that only dominates
LARGEST_QUADRATURE_ORDER = 1_000  # Up to this order the moment is computed by quadrature,
LARGEST_BINOMIAL_ORDER = 100_000  # and up to this one by a binomial sum.
LARGEST_EXPONENT = 700  # If the base's pure epsilon is larger, the sample's is taken to be the base's.


def sampled_curve(law: LossLaw | None, base: Curve, rate: Fraction) -> Curve:
    """The Renyi curve of a base mechanism on a Poisson sample of this rate, whose dominating law is `law`.

    It is exact for Gaussian noise and for finite laws. For plans with bounded losses it is that of a finite law that
    dominates, for all others the bound by convexity.
    """
    if isinstance(law, SampledGaussianLaw):
        return SampledGaussian(law)
    if isinstance(law, ProfileLaw) and not base.unbounded:
        return SampledProfile(base, rate, law)
    finite = getattr(law, "source", law)
    if isinstance(finite, FiniteLaw):
        curve = SampledFinite(finite)
        return SampledConvex(base, rate) if curve.unbounded and not base.unbounded else curve
    return SampledConvex(base, rate)


def replaced_curve(law: LossLaw | None, base: Curve, rate: Fraction) -> Curve:
    """The Renyi curve of a base mechanism on a sample without replacement, for replace-one neighbours.

    For a finite law it is the envelope of its two directions. For plans with bounded losses it is that of a finite law
    that dominates, for all others the bound by convexity.
    """
    if isinstance(law, ProfileLaw) and not base.unbounded:
        return SampledProfile(base, rate, law)
    finite = getattr(law, "source", law)
    if isinstance(finite, FiniteLaw):
        curve = SampledFinite(finite)
        return SampledConvex(base, rate) if curve.unbounded and not base.unbounded else curve
    return SampledConvex(base, rate, law)


def finite_curve(law: LossLaw) -> SampledFinite:
    """The Renyi curve of the finite law that replaces a law known only by its profile."""
    finite = getattr(law, "dots", law)
    finite = getattr(finite, "source", finite)
    if not isinstance(finite, FiniteLaw):
        raise BadType(f"{law!r} has no finite law")
    curve = SampledFinite(finite)
    curve.tolerance = DOMINATED_TOLERANCE
    return curve


class SampledGaussian(Curve):
    """Poisson-sampled Gaussian noise: K(s) = log F(1 + s), with F(a) = E_Q (1 - q + q e^l)^a, l the Gaussian loss.

    This is the direction in which P has the record; its divergence is at least that of the reverse, at every order.
    rho is that of the Gaussian pair without sampling: it is approached as the order grows, and not attained.
    Theorem: docs/theorems/sampling.md.
    """

    def __init__(self, law: SampledGaussianLaw) -> None:
        self.law = law

    @property
    def largest_loss(self) -> None:
        """None: the privacy loss is unbounded."""
        return None

    def cumulant(self, s: Number) -> Number:
        """K(s) at real s, s = alpha - 1: exact by quadrature, at high orders an upper bound by binomial sums."""
        order = 1 + real_s(s)
        if order > LARGEST_QUADRATURE_ORDER:
            return self._by_binomials(order)  # type: ignore[return-value]
        value: Number = self.law.noise().real(order, _working()).log()  # type: ignore[assignment]
        return value

    def _by_binomials(self, order: arb) -> arb:
        """An upper bound on K at a high order: at integers the binomial sum, between two integers their chord.

        At an integer a, F(a) is the sum over k of C(a, k) (1-q)^{a-k} q^k e^{k(k-1) mu^2/2}; K is convex, so it is at
        most its chord. At orders too high for sums, F(a) is at most 1 - q + q e^{a(a-1) mu^2/2}.
        """
        low, high = floor(order), ceiling(order)
        if high > LARGEST_BINOMIAL_ORDER:
            q, growth = lift(self.law.rate), (order * (order - 1) / 2) * self.law.curvature()
            return (1 - q + q * growth.exp()).log() if growth < 1e9 else growth
        values = [self._sum(a).log() for a in (low, high)]
        return values[0] + (values[1] - values[0]) * (order - low)

    def _sum(self, a: int) -> arb:
        """F(a) at an integer, as a binomial sum."""
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
        """K'(0), the KL divergence, at the working precision."""
        return self.law.noise().divergence(_working())

    def peak(self) -> Peak:
        """rho = mu^2/2, in the limit of infinite order."""
        return Peak(self.law.curvature() / 2, arb.pos_inf())

    @property
    def rho_order(self) -> float:
        """inf: rho is the limit of D(alpha)/alpha as alpha grows."""
        return inf


class SampledConvex(Curve):
    """An upper bound for any sampled base, by convexity: log(1 - q + q e^{K(s)}), K the cumulant of the base.

    If a dominating law is given, divergences are the smaller of this bound and that of the law.
    Theorem: docs/theorems/sampling.md.
    """

    def __init__(self, base: Curve, rate: Fraction, law: LossLaw | None = None) -> None:
        """`law`, if given, must dominate the sampled mechanism in both directions."""
        self.base, self.rate, self.law = base, rate, law

    @property
    def largest_loss(self) -> Exact | None:
        """log(1 + q (e^epsilon - 1)) with the pure epsilon of the base; e^epsilon - 1 is rounded up to 256 bits."""
        pure = self.base.pure_epsilon
        if pure == inf:
            return None
        if pure > LARGEST_EXPONENT:
            return Fraction(pure)
        man, power = at_precision(256, lambda: self.base.loss_ball().expm1().upper()).man_exp()
        return Log(1 + self.rate * Fraction(int(man)) * Fraction(2) ** int(power))

    @property
    def is_tight(self) -> bool:
        """False: the curve is only an upper bound."""
        return False

    @property
    def unbounded(self) -> bool:
        """Whether the divergence of the base is infinite at every order."""
        return self.base.unbounded

    def cumulant(self, s: Number) -> Number:
        """The upper bound log(1 - q + q e^{K(s)}), s = alpha - 1."""
        value: Number = log1p(expm1(self.base.cumulant(s)) * lift(self.rate))
        return value

    @property
    def is_envelope(self) -> bool:  # type: ignore[override]
        """Whether the base's cumulant is a maximum over several pairs; then this one has no power series either."""
        return self.base.is_envelope

    def kl(self) -> arb:
        """The slope at s = 0, q times that of the base; the base may know it even if its cumulant has no series."""
        return lift(self.rate) * self.base.kl()

    def _divergence(self, excess: Fraction) -> float:
        """The smaller of the bound by convexity and the law's own divergence, rounded up.

        The law's takes a quadrature at each order, so the search for rho does not use it.
        """
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
        """The rho of the base, an upper bound; the order 1 is a placeholder."""
        return Peak(self.base.peak().rho, arb(1))

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """The lower end is 0."""
        return 0.0, self._rho_above()

    def _rho_above(self) -> float:
        """The rho of the base, which sampling does not increase, or that of pure DP if it is less."""
        pure = self.pure_epsilon
        if pure == inf:
            return self.base.rho
        return min(self.base.rho, upper_float(lambda: arb(pure) * (arb(pure) / 2).tanh()))

    @property
    def rho_bounds(self) -> tuple[float, float]:
        """Certified floats around rho; the lower one is 0."""
        return 0.0, self.rho


class SampledProfile(SampledConvex):
    """The smaller of the bound by convexity and that of a finite law, through points of the profile of a sample.

    Hockey sticks bound every Renyi divergence, so that a law which dominates bounds the curve. The finite law is made
    when a divergence is asked for; the largest loss is known without it. Theorem: docs/theorems/sampling.md.
    """

    @cached_property
    def _finite(self) -> SampledFinite | None:
        """The curve of the finite law; None if there is none, or its losses are unbounded where the base's are not."""
        try:
            curve = finite_curve(self.law)  # type: ignore[arg-type]
        except NotCertified:
            return None
        return None if curve.unbounded else curve

    def cumulant(self, s: Number) -> Number:
        """That of the finite law, s = alpha - 1; by convexity where there is none."""
        return super().cumulant(s) if self._finite is None else self._finite.cumulant(s)

    @property
    def is_envelope(self) -> bool:  # type: ignore[override]
        """Whether the cumulant is a maximum over several pairs."""
        return self._finite is not None or super().is_envelope

    def kl(self) -> arb:
        """The slope at s = 0, of the same."""
        return super().kl() if self._finite is None else self._finite.kl()

    def peak(self) -> Peak:
        """The rho of the base where there is no finite law, whose own is searched."""
        return super().peak() if self._finite is None else self._finite.peak()

    def _divergence(self, excess: Fraction) -> float:
        by_convexity = super()._divergence(excess)
        return by_convexity if self._finite is None else min(by_convexity, self._finite._divergence(excess))

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """The lower end 0, as the finite law only dominates; as upper end the smaller of both bounds."""
        upper = self._rho_above()
        return 0.0, upper if self._finite is None else min(self._finite._peak_bounds[1], upper)


class SampledFinite(FiniteEnvelope):
    """A finite pair, at each order in the worse of its two directions. Theorem: docs/theorems/sampling.md."""

    def __init__(self, law: FiniteLaw) -> None:
        self.law = law
        self._alike = law.symmetric
        self._last: tuple[int, Sequence[FinitePair]] | None = None

    @property
    def unbounded(self) -> bool:
        """Whether some outcome has an infinite loss in one of the directions."""
        return bool(self.law.revealed or self.law.hidden)

    @property
    def largest_loss(self) -> Exact | None:
        """The exact largest loss in either direction; None if it is unbounded."""
        if self.unbounded:
            return None
        ratios = [g for g, _ in self.law.masses]
        largest = max(ratios[0], 1 / ratios[-1])
        return Log(largest) if largest > 1 else Fraction(0)

    def pairs(self) -> Sequence[FinitePair]:
        """The pair in both directions, or in one if it is symmetric; cached for the last working precision."""
        last = self._last
        if last is None or last[0] != ctx.prec:
            last = self._last = ctx.prec, self._pairs()
        return last[1]

    def _pairs(self) -> Sequence[FinitePair]:
        if all(g == 1 for g, _ in self.law.masses):
            return []  # P and Q are equal.
        losses = [lift(loss) for loss in self.law.losses]
        with_it = FinitePair([lift(p) for _, p in self.law.masses], losses)
        if self._alike:
            return [with_it]
        without = [lift(p / g) for g, p in self.law.masses]
        return [with_it, FinitePair(without, [-loss for loss in losses])]


def _working() -> float:
    """The working precision as a natural logarithm: -log of the relative rounding error."""
    return ctx.prec * log(2)


# The law of a whole plan that runs on one sample. It is that of the product of the parts, which share the sample.


def product_claim(plan: Plan) -> Claim | None:
    """The claim of the composition of all parts of a plan; None if some part has no symmetric dominating pair.

    Its law is Gaussian if those of all parts are, else it is known by its profile. It is exact if those of all parts
    are, and in the second case for a single use only: a product of laws that only dominate does not do more.
    Theorem: docs/theorems/sampling.md.
    """
    parts = plan.claims
    claims = [(claim, count) for claim, count in parts if claim is not None and claim.upper.symmetric]
    if len(claims) < len(parts):
        return None
    exact = all(claim.exact for claim, _ in claims)
    laws = [(claim.upper, count) for claim, count in claims]
    noises = [(law, count) for law, count in laws if isinstance(law, GaussianLaw)]
    if len(noises) == len(laws):
        noise = gaussian_pair(lambda: sum((law.curvature() * count for law, count in noises), arb(0)))
        return Claim.exactly(noise) if exact else Claim(noise)
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

    law = profile_law(ends, top, infinite)
    return Claim(law, lower_alone=Claim.laws(law) if exact else ())
