"""Additive noise with exponential tails: what Laplace and discrete Laplace share."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose
from zcdp.numeric.exact import Exact, Log, Value, positive, positive_rational
from zcdp.numeric.functions import Number, expm1, log1p

__all__ = ["noise_epsilon", "noise_scale", "noise_variance", "shift_cumulant"]


def noise_epsilon(epsilon: Value | None, scale: Value | None, sensitivity: Fraction) -> Exact:
    """epsilon as given, or sensitivity/scale."""
    if epsilon is not None and scale is not None:
        raise ValueError(f"give epsilon ({epsilon}) or scale ({scale}), not both: epsilon = sensitivity/scale")
    if epsilon is not None:
        return positive(epsilon, "epsilon")
    if scale is None:
        raise TypeError("give epsilon, or scale (with sensitivity)")
    return sensitivity / positive_rational(scale, "scale")


def noise_scale(epsilon: Exact, sensitivity: Fraction) -> Fraction | float:
    """sensitivity/epsilon: exact, or rounded up where epsilon is a logarithm."""
    if isinstance(epsilon, Log):
        return enclose(lambda: lift(sensitivity) / lift(epsilon))[1]
    return sensitivity / epsilon


def noise_variance(scale: Fraction | float) -> Fraction | float:
    """2 scale^2, of Laplace noise: exact, or rounded up where the scale is not rational."""
    return 2 * scale * scale if isinstance(scale, Fraction) else enclose(lambda: 2 * arb(scale) ** 2)[1]


def shift_cumulant(s: Number, epsilon: arb, tails: Number) -> Number:
    """K(s) = s epsilon + log( (1 + tails e^{-(1+2s) epsilon}) / (1 + tails) ).

    `tails` is what the far side weighs against the near side: s/(1+s) for Laplace noise.
    Theorems: docs/theorems/laplace.md, docs/theorems/discrete-laplace.md.
    """
    return s * epsilon + log1p(tails * expm1(-(1 + 2 * s) * epsilon) / (1 + tails))
