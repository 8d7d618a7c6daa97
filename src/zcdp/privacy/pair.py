"""Dominating pairs: what the exact privacy profile needs to know of a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose
from zcdp.numeric.exact import Exact, Log
from zcdp.numeric.functions import exp, expm1
from zcdp.privacy.discrete_normal import DiscreteNormal

__all__ = [
    "Pair",
    "Terms",
    "discrete_gaussian_pair",
    "discrete_laplace_pair",
    "gaussian_pair",
    "laplace_pair",
    "logistic_pair",
    "three_point_pair",
]

Terms: TypeAlias = list[list[arb]]

FEW_TERMS = 8  # which are added faster than a closed form is evaluated
LONG, LONGEST = 200, 20_000  # terms of a pair that are always listed, and that may be
SAME = 4e-9  # relative distance of two losses that are next to equal


@dataclass(frozen=True, eq=False)
class Pair:
    """A symmetric pair (P, Q) whose profile is at least the mechanism's: L = log dP/dQ under P is -L under Q.

    With w = z + 1/2 its moment transform is
        M(z) = E_P exp(z L) = sum over k of e^{a_k w} (c_k0 + c_k1/w),  a_k = largest_loss (1 - k ratio),
    where c_k0 is an atom of the loss and the rest its density. See docs/theorems/profile.md.
    """

    largest_loss: Exact | None
    """The exact supremum of the loss; None where it is unbounded."""

    terms: Callable[[], Terms] | None = None
    """The c_kj at the working precision, a list over k of lists over j; None for Gaussian pairs."""

    ratio: Fraction = Fraction(2)
    """Distance of neighbouring exponents a_k, as a part of the largest loss."""

    curvature: Callable[[], arb] | None = None
    """mu^2 of a Gaussian pair, log M(z) = mu^2 (z^2 + z)/2; None for every other pair."""

    atomic: bool = False
    """Whether all of the loss is atoms."""

    exact: bool = True
    """Whether this is the mechanism's own worst-case pair, not only one that dominates it."""

    witness: Pair | None = None
    """Where it is not: a symmetric pair whose profile is at most the mechanism's, for lower bounds."""

    neighbours: tuple[tuple[tuple[Pair, int], ...], ...] = ()
    """The same, where one is not enough: true neighbours, each as independent pairs with how many are alike."""

    at: Callable[[Fraction], Pair] | None = None
    """The same family at another largest loss; a larger one must dominate (docs/theorems/calibration.md)."""

    moment: Callable[[], Callable[[Any], Any]] | None = None
    """M in closed form, its constants at the working precision, where the terms are many."""

    normal: DiscreteNormal | None = None
    """Discrete Gaussian noise, whose atoms have no end; None for every other pair."""

    def attained(self) -> tuple[tuple[tuple[Pair, int], ...], ...]:
        """Compositions of pairs whose profile is at most the mechanism's: none, one or several."""
        if self.exact or self.witness is not None:
            return (((self if self.exact or self.witness is None else self.witness, 1),),)
        return self.neighbours


def three_point_pair(
    epsilon: Exact,
    kappa: Callable[[], arb] | int = 2,
    *,
    exact: bool = True,
    at: Callable[[Fraction], Pair] | None = None,
) -> Pair:
    """Losses epsilon, 0, -epsilon with P-masses (e^epsilon, kappa - 2, 1)/(e^epsilon + kappa - 1).

    Binary randomized response is kappa = 2 and dominates every epsilon-DP mechanism.
    """

    def terms() -> Terms:
        e = lift(epsilon)
        if kappa == 2:
            edge = 1 / (exp(e / 2) + exp(-e / 2))
            return [[edge], [edge]]
        size = arb(kappa) if isinstance(kappa, int) else kappa()
        whole = exp(e) + size - 1
        return [[exp(e / 2) / whole], [(size - 2) / whole], [exp(e / 2) / whole]]

    if at is None and isinstance(kappa, int):
        at = partial(three_point_pair, kappa=kappa, exact=exact)
    return Pair(epsilon, terms, Fraction(2 if kappa == 2 else 1), atomic=True, exact=exact, at=at)


def laplace_pair(epsilon: Exact, *, exact: bool = True, witness: Pair | None = None) -> Pair:
    """Laplace noise shifted by epsilon scales: M = e^{-epsilon/2} (cosh(epsilon w) + sinh(epsilon w)/(2 w))."""

    def terms() -> Terms:
        edge = exp(-lift(epsilon) / 2)
        return [[edge / 2, edge / 4], [edge / 2, -edge / 4]]

    return Pair(epsilon, terms, exact=exact, witness=witness, at=laplace_pair)


def logistic_pair(eta: Exact, *, exact: bool = True, witness: Pair | None = None) -> Pair:
    """Logistic noise shifted by eta scales: M = sinh(eta w)/(2 w sinh(eta/2)); dominates all of eta-bounded range.

    Theorem: docs/theorems/logistic-pair.md.
    """

    def terms() -> Terms:
        edge = 1 / (4 * (lift(eta) / 2).sinh())
        return [[arb(0), edge], [arb(0), -edge]]

    return Pair(eta, terms, exact=exact, witness=witness, at=logistic_pair)


def discrete_laplace_pair(epsilon: Exact, sensitivity: int, *, listed: bool | None = None) -> Pair:
    """Two-sided geometric noise shifted by `sensitivity`: losses epsilon (1 - 2k/sensitivity).

    A long one lies between Laplace noise at epsilon and at epsilon + 2 log cosh(t/2), t = epsilon/sensitivity. They
    take its place where they are next to equal, or its losses too many to list.
    Theorem: docs/theorems/discrete-laplace-pair.md.
    """
    if listed is None:
        apart = float(lift(epsilon).mid()) / (4 * sensitivity**2)  # t^2/4, as a part of epsilon
        listed = sensitivity <= LONG or (sensitivity <= LONGEST and apart > SAME)
    if not listed:
        rational = Fraction(enclose(lambda: lift(epsilon))[1]) if isinstance(epsilon, Log) else epsilon
        return laplace_pair(rational + (rational / sensitivity) ** 2 / 4, exact=False, witness=laplace_pair(epsilon))

    def masses() -> tuple[arb, arb]:
        """P(X = k) e^{-a_k/2}, at both ends, and at each k between them."""
        e = lift(epsilon)
        t = e / sensitivity
        edge = exp(-e / 2) / (1 + exp(-t))
        return edge, -expm1(-t) * edge

    def terms() -> Terms:
        edge, inside = masses()
        return [[edge], *([inside] for _ in range(sensitivity - 1)), [edge]]

    def moment() -> Callable[[Any], Any]:
        (edge, inside), loss = masses(), lift(epsilon)
        gap = 2 * loss / sensitivity

        def closed(z: Any) -> Any:
            w = z + arb(1) / 2
            within = exp(w * (loss - gap)) * expm1(w * (gap - 2 * loss)) / expm1(w * -gap)
            return (exp(w * loss) + exp(w * -loss)) * edge + within * inside

        return closed

    return Pair(
        epsilon,
        terms,
        Fraction(2, sensitivity),
        atomic=True,
        at=partial(discrete_laplace_pair, sensitivity=sensitivity, listed=True),
        moment=moment if sensitivity > FEW_TERMS else None,
    )


def discrete_gaussian_pair(variance: Fraction, shift: int) -> Pair:
    """Discrete Gaussian noise and the same shifted: losses shift (shift - 2x)/(2 variance) over all integers x.

    Theorem: docs/theorems/discrete-gaussian.md.
    """
    noise = DiscreteNormal(variance, shift)
    return Pair(None, atomic=True, moment=noise.moment, normal=noise)


def gaussian_pair(curvature: Callable[[], arb]) -> Pair:
    """Gaussian noise shifted by mu standard deviations: M = exp(mu^2 (z^2 + z)/2); `curvature` gives mu^2."""
    return Pair(None, curvature=curvature)
