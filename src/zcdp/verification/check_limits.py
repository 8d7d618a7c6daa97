"""Checks of relations between mechanisms: identities, limits, inequalities, and divergences summed from definitions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from flint import arb

from zcdp.mechanisms import (
    RAPPOR,
    BoundedRange,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Logistic,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    PureDP,
    RandomizedResponse,
    SubsetSelection,
)
from zcdp.numeric.balls import at_precision
from zcdp.privacy.curve import Curve
from zcdp.verification.checks import Check

__all__ = ["checks"]

ORDERS = ("1", "1.1", "2", "7", "100")


def checks(*, deep: bool) -> Iterator[Check]:
    """One or more checks for each relation."""
    for e in ("0.01", "0.1", "0.5", "1", "3", "8", "20") if deep else ("0.1", "1", "5"):
        half = PureDP(epsilon=Fraction(e) / 2)
        fine = DiscreteLaplace(epsilon=e, sensitivity=10**15)
        yield _same("discrete-laplace", "sensitivity 1 is pure DP", DiscreteLaplace(epsilon=e), PureDP(epsilon=e), e)
        yield _same("discrete-laplace", "a fine lattice is Laplace", fine, Laplace(epsilon=e), e, 1e-12)
        yield _same("three-point", "2-RR is pure DP", RandomizedResponse(epsilon=e, k=2), PureDP(epsilon=e), e)
        yield _same("rappor", "two pure DP steps of epsilon/2", RAPPOR(epsilon=e), 2 * half, e)
        yield _same(
            "bounded-range",
            "the exponential mechanism is bounded range",
            ExponentialMechanism(epsilon=e),
            BoundedRange(eta=e),
            e,
        )
        yield _same(
            "three-point-maps",
            "subsets of size 1 are k-RR",
            SubsetSelection(epsilon=e, k=50, size=1),
            RandomizedResponse(epsilon=e, k=50),
            e,
        )
        yield Check("pure-dp", f"epsilon = {e}: no mechanism costs more than pure DP", partial(_within_pure, e))
        yield Check("cumulant", f"epsilon = {e}: 9-RR summed up from its probabilities", partial(_direct, e))
        yield Check("real-zeros", f"epsilon = {e}: rho equals the KL divergence", partial(_is_kl, e))
        yield Check("permute-and-flip", f"epsilon = {e}: between bounded range and pure DP", partial(_between, e))
    yield Check("group", "groups of three under pure DP: discrete Laplace of sensitivity 3", _group)


def _same(theorem: str, statement: str, one: Curve, two: Curve, e: str, tolerance: float = 1e-15) -> Check:
    def holds() -> bool:
        pairs = [(one.rho, two.rho), *((one.rdp(order), two.rdp(order)) for order in ORDERS)]
        return all(abs(a - b) <= tolerance * b for a, b in pairs)

    return Check(theorem, f"epsilon = {e}: {statement}", holds)


def _within_pure(e: str) -> bool:
    worst = PureDP(epsilon=e)
    others = (
        Laplace(epsilon=e),
        DiscreteLaplace(epsilon=e, sensitivity=4),
        RandomizedResponse(epsilon=e, k=9),
        RAPPOR(epsilon=e),
        BoundedRange(eta=e),
        OptimizedUnaryEncoding(epsilon=e),
        PermuteAndFlip(epsilon=e),
    )
    return all(m.rho <= worst.rho and all(m.rdp(a) <= worst.rdp(a) for a in ORDERS) for m in others)


def _direct(e: str) -> bool:
    """The divergence of 9-RR at order 3.7 equals log(sum over outcomes of p^alpha q^(1 - alpha))/(alpha - 1)."""
    m = RandomizedResponse(epsilon=e, k=9)

    def divergence() -> float:
        odds = (arb(Fraction(e).numerator) / Fraction(e).denominator).exp()
        p, q, alpha = odds / (odds + 8), 1 / (odds + 8), arb("3.7")
        whole = p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha) + 7 * q
        return float((whole.log() / (alpha - 1)).mid())

    direct = at_precision(256, divergence)
    return abs(m.rdp("3.7") - direct) <= 1e-15 * direct


def _is_kl(e: str) -> bool:
    tight = (PureDP(epsilon=e), Laplace(epsilon=e), DiscreteLaplace(epsilon=e, sensitivity=3), Logistic(epsilon=e))
    return all(m.rho == m.rdp(1) for m in tight)


def _between(e: str) -> bool:
    return BoundedRange(eta=e).rho <= PermuteAndFlip(epsilon=e).rho <= PureDP(epsilon=e).rho


def _group() -> bool:
    bound, true = PureDP(epsilon=1).group(3), DiscreteLaplace(epsilon=1).group(3)
    return bound == true and bound.rho > 3 * PureDP(epsilon=1).rho * 0.999
