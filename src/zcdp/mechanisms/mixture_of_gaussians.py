"""Gaussian noise on a sum that one person moves by a random amount, as by examples that are drawn one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf, log
from typing import ClassVar

from flint import arb, ctx

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import NotCertified, Undecided, lift
from zcdp.numeric.exact import Value, in_domain, integer, literal, positive_rational, rational
from zcdp.numeric.functions import Number
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import real_s
from zcdp.privacy.loss import Claim
from zcdp.privacy.loss.gaussian_mixture_law import GaussianMixtureLaw, Moves, gaussian_mixture_law
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

__all__ = ["MixtureOfGaussians"]

MOST_MOVES = 1_000  # different sensitivities
LARGEST_QUADRATURE_ORDER = 1_000  # At larger orders the curve is the bound by convexity.


@dataclass(frozen=True, init=False, repr=False)
class MixtureOfGaussians(Mechanism):
    """Normal noise of standard deviation sigma on a sum that a person's presence moves by a random amount.

    `sensitivities` and `probabilities`: with probability p_j the sum moves by at most the j-th sensitivity, in the l2
    norm; it moves by nothing with the probability that is left. Or `rate` and `examples`: a person has up to so many
    examples, each of norm at most 1, and each is drawn by itself with this rate. Neighbours are a data set and the same
    without one person. The moves may have any directions; it must stay secret which one was drawn.

    It is the worst pair in any number of uses: the mixture of normal laws at the sensitivities, against the one at 0.
    Theorem: docs/theorems/gaussian-mixtures.md.

    >>> MixtureOfGaussians(sigma=1, rate="0.01", examples=4).epsilon_at(delta=1e-5)
    1.050202...
    >>> (1000 * MixtureOfGaussians(sigma=10, rate="0.01", examples=16)).epsilon_at(delta=1e-5)
    2.038568...
    >>> MixtureOfGaussians(sigma=1, sensitivities=[1, "3/2"], probabilities=["0.01", "0.001"]).rho
    1.125
    """

    known_elsewhere = True
    is_envelope = True
    budget: ClassVar[None] = None
    theorem: ClassVar[str] = "gaussian-mixtures"

    sigma: Fraction
    sensitivities: tuple[Fraction, ...]
    """By how much the sum may move, where it moves."""
    probabilities: tuple[Fraction, ...]
    """How likely each of the sensitivities is."""
    rate: Fraction | None = None
    """The probability that an example is drawn."""
    examples: int | None = None
    """How many examples a person has, at most."""

    def __init__(
        self,
        *,
        sigma: Value,
        sensitivities: Sequence[Value] | None = None,
        probabilities: Sequence[Value] | None = None,
        rate: Value | None = None,
        examples: Value | None = None,
    ) -> None:
        noise = positive_rational(sigma, "sigma")
        listed, counted = (sensitivities, probabilities), (rate, examples)
        if None not in listed and counted == (None, None):
            assert sensitivities is not None
            assert probabilities is not None
            moves = _listed(sensitivities, probabilities)
            drawn = most = None
        elif listed == (None, None) and rate is not None and examples is not None:
            most, drawn = integer(examples, "examples", 1), rational(rate, "rate")
            if most >= MOST_MOVES:
                raise BadValue(f"examples ({most}) must be below {MOST_MOVES}: bound what one person contributes")
            if not 0 < drawn <= 1:
                raise BadValue(f"rate ({literal(drawn)}) must be above 0 and at most 1")
            in_domain(drawn, "rate", rate)
            moves = tuple((Fraction(j), chance) for j in range(most + 1) if (chance := _chance(most, j, drawn)) > 0)
        else:
            raise BadType("give sensitivities and probabilities, or rate and examples")
        moved = [(m, p) for m, p in moves if m > 0]
        self._set(sigma=noise, sensitivities=tuple(m for m, _ in moved), probabilities=tuple(p for _, p in moved))
        self._set(rate=drawn, examples=most)
        in_domain(self.rho_fraction, "rho", of="sensitivity^2/(2 sigma^2)")

    def __repr__(self) -> str:
        if self.rate is not None:
            how = f"rate={literal(self.rate)}, examples={self.examples}"
        else:
            lists = (", ".join(map(literal, row)) for row in (self.sensitivities, self.probabilities))
            how = "sensitivities=[{}], probabilities=[{}]".format(*lists)
        return f"MixtureOfGaussians(sigma={literal(self.sigma)}, {how})"

    @cached_property
    def moves(self) -> Moves:
        """Pairs (sensitivity, probability), increasing, that of no move included."""
        still = 1 - sum(self.probabilities, Fraction(0))
        moved = tuple(zip(self.sensitivities, self.probabilities, strict=True))
        return ((Fraction(0), still), *moved) if still else moved

    @property
    def relation(self) -> Relation:
        return Relation.ADD_REMOVE

    @property
    def largest_loss(self) -> None:
        return None

    @property
    def relative_error(self) -> float:
        """The standard deviation of the noise divided by the largest sensitivity."""
        return float(self.sigma / self.moves[-1][0])

    @cached_property
    def rho_fraction(self) -> Fraction:
        """rho as an exact rational number: that of the largest move, however rare it is."""
        return (self.moves[-1][0] / self.sigma) ** 2 / 2

    @cached_property
    def _law(self) -> GaussianMixtureLaw:
        return gaussian_mixture_law(self.moves, self.sigma**2)

    @cached_property
    def _claim(self) -> Claim:
        return Claim.exactly(self._law)

    def pair(self) -> Claim:
        return self._claim

    def cumulant(self, s: Number) -> Number:
        """K(s) at real s, the larger of both directions; at high orders, and where balls fail, the bound by convexity.

        At every order either direction is at most log of the sum of p_j e^{s(1+s) m_j^2/(2 sigma^2)}.
        """
        excess = real_s(s)
        scale = lift(self.sigma**2) * 2
        terms = [lift(p).log() + excess * (1 + excess) * lift(m * m) / scale for m, p in self.moves]
        top = max(terms, key=lambda term: term.mid())
        most: arb = top + sum(((term - top).exp() for term in terms), arb(0)).log()
        if excess > LARGEST_QUADRATURE_ORDER:
            return most  # type: ignore[return-value]
        try:
            noise = self._law.noise()
            fall = ctx.prec * log(2)
            own: arb = noise.real(1 + excess, fall).log().max(noise.real(-excess, fall).log())
        except (NotCertified, Undecided):
            return most  # type: ignore[return-value]
        return own.min(most)  # type: ignore[return-value]

    def kl(self) -> arb:
        """The larger of both divergences of order 1; that of (Q, A) is at most its divergence of a slightly larger one.

        Where it is not certain that (A, Q) has the larger one, the ball reaches up to the other bound.
        """
        noise, fall, slightly = self._law.noise(), ctx.prec * log(2), arb(2) ** -(ctx.prec // 4)
        own, other = noise.divergence(fall), noise.real(-slightly, fall).log() / slightly
        return own if own >= other else own.union(own.max(other))

    def peak(self) -> Peak:
        """rho of the largest move, in the limit of infinite order."""
        return Peak(lift(self.rho_fraction), arb.pos_inf())

    @property
    def rho_order(self) -> float:
        """inf: rho is the limit of D(alpha)/alpha as alpha grows."""
        return inf

    def group(self, size: Value) -> MixtureOfGaussians:
        """So many persons, each with up to `examples` examples: the same noise, and that many times the examples."""
        steps = integer(size, "size", 1)
        if steps == 1:
            return self
        if self.rate is None or self.examples is None:
            raise BadValue(f"{self!r} has no group bound: it is not said how the moves of several persons depend")
        return MixtureOfGaussians(sigma=self.sigma, rate=self.rate, examples=self.examples * steps)


def _chance(most: int, drawn: int, rate: Fraction) -> Fraction:
    """The probability that so many of the examples are drawn."""
    return comb(most, drawn) * rate**drawn * (1 - rate) ** (most - drawn)


def _listed(sensitivities: Sequence[Value], probabilities: Sequence[Value]) -> Moves:
    """The moves that a person listed, sorted, each once, and that of nothing with what is left of the probability."""
    for name, values in (("sensitivities", sensitivities), ("probabilities", probabilities)):
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise BadType(f"{name} ({thing(values)}) must be a list of numbers, as [1, 2]")
    if len(sensitivities) != len(probabilities) or not 1 <= len(sensitivities) <= MOST_MOVES:
        many = f"{len(sensitivities)} and {len(probabilities)}"
        raise BadValue(f"sensitivities and probabilities ({many}) must be equally many, 1 to {MOST_MOVES}")
    found: dict[Fraction, Fraction] = {}
    for move, chance in zip(sensitivities, probabilities, strict=True):
        distance, share = rational(move, "sensitivity"), rational(chance, "probability")
        if distance < 0 or share < 0:
            name, value = ("sensitivity", distance) if distance < 0 else ("probability", share)
            raise BadValue(f"{name} ({literal(value)}) must not be negative")
        if share:
            found[distance] = found.get(distance, Fraction(0)) + share
    whole = sum(found.values(), Fraction(0))
    if whole > 1:
        raise BadValue(f"probabilities must add up to at most 1, not {literal(whole)}")
    if whole < 1:
        found[Fraction(0)] = found.get(Fraction(0), Fraction(0)) + 1 - whole
    if max(found) == 0:
        raise BadValue("sensitivities must have one above 0 with a probability above 0: else nothing moves")
    in_domain(max(found), "sensitivity")
    return tuple(sorted(found.items()))
