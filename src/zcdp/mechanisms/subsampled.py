"""A mechanism that runs on a random sample of the records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from typing import ClassVar, NoReturn

from flint import arb, ctx

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.gaussian import Gaussian
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Value, rational
from zcdp.numeric.functions import Number
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss import LossLaw, gaussian_pair, sampled_gaussian_law
from zcdp.privacy.loss.sampled_normal import SampledNormal
from zcdp.privacy.relation import Relation

__all__ = ["Subsampled"]


@dataclass(frozen=True, init=False, repr=False)
class Subsampled(Mechanism):
    """A mechanism on a Poisson sample: each record takes part by itself with probability `rate`, anew in each use.

    Neighbours are a data set and the same with one record removed; the sample itself is not published. Batches of one
    size cut from a shuffled data set are no Poisson samples, and not covered. The base's sensitivity is stated for the
    same neighbours. rho is that of the base whatever the rate, as large losses stay as large: ask the profile.
    Theorem: docs/theorems/sampling.md.

    >>> step = Subsampled(Gaussian(sigma=1), rate="0.01")
    >>> step.rho, (10_000 * step).epsilon_at(delta=1e-5)
    (0.5, 6.18771238997154...)
    """

    theorem: ClassVar[str] = "sampling"
    budget: ClassVar[None] = None

    mechanism: Gaussian
    rate: Fraction

    def __init__(self, mechanism: Gaussian, *, rate: Value) -> None:
        if not isinstance(mechanism, Curve):
            raise TypeError(f"mechanism ({mechanism!r}) must be a mechanism, as Gaussian(sigma=1)")
        if not isinstance(mechanism, Gaussian):
            raise ValueError(f"sampling of {mechanism!r} is not covered: the base must be Gaussian noise")
        probability = rational(rate, "rate")
        if not 0 < probability <= 1:
            raise ValueError(f"rate ({rate}) must be above 0 and at most 1: the probability that a record takes part")
        self._set(mechanism=mechanism, rate=probability)

    def __repr__(self) -> str:
        return f"Subsampled({self.mechanism!r}, rate={_literal(self.rate)})"

    @property
    def relation(self) -> Relation:
        return Relation.ADD_REMOVE

    @property
    def largest_loss(self) -> None:
        return None

    @property
    def _curvature(self) -> Fraction:
        return 2 * self.mechanism.exact_rho

    def _noise(self) -> SampledNormal:
        return SampledNormal(lift(self.rate), lift(self._curvature))

    def cumulant(self, s: Number) -> Number:
        """log F(1 + s), with the record against without it: never below the other order at any s > 0."""
        if self.rate == 1:
            return self.mechanism.cumulant(s)
        if not isinstance(s, arb):
            raise TypeError("the curve of a sampled mechanism has values at real orders only")
        return self._noise().real(1 + s, _working()).log()

    def kl(self) -> arb:
        return self.mechanism.kl() if self.rate == 1 else self._noise().divergence(_working())

    def peak(self) -> Peak:
        """rho of the base: approached as the order grows, and attained at no finite one."""
        return self.mechanism.peak() if self.rate == 1 else Peak(lift(self.mechanism.exact_rho), arb.pos_inf())

    @property
    def rho_order(self) -> float:
        """inf: the supremum is a limit."""
        return 1.0 if self.rate == 1 else inf

    @property
    def rho_fraction(self) -> Fraction:
        """rho itself, which is rational here."""
        return self.mechanism.rho_fraction

    def pair(self) -> LossLaw:
        if self.rate == 1:
            return gaussian_pair(lambda: lift(self._curvature))
        return sampled_gaussian_law(self.rate, self._curvature)

    def group(self, size: Value) -> NoReturn:
        """Not known: members of a group are sampled one by one."""
        del size
        raise ValueError(f"{self!r} has no group bound: members of a group are sampled one by one")


def _working() -> float:
    """The working precision in e-folds."""
    return ctx.prec * log(2)
