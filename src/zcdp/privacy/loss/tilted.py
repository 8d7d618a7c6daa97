"""A tilted law as finitely many terms: what the contour in doubles multiplies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from flint import acb, arb

__all__ = ["MOST_TERMS", "Exponentials", "Polynomial", "Tilted"]

MOST_TERMS = 1000  # exponentials that a contour in doubles may sum up at each node


@dataclass(frozen=True)
class Polynomial:
    """The terms e^{-iy offset} sum over k of (q_k0 + q_k1 x/w) e^{-iky gap}, x = c + 1/2, w = x + iy."""

    rows: Sequence[Sequence[arb]]
    """The q_kj, at most two for each k."""
    gap: arb
    offset: arb


@dataclass(frozen=True)
class Exponentials:
    """For 0 <= y <= highest, within `error` of the sum of g_j e^{iy l_j}, with Im l_j >= 0."""

    weights: Sequence[acb]
    """The g_j."""
    rates: Sequence[acb]
    """The l_j."""
    error: arb
    highest: float = inf


@dataclass(frozen=True)
class Tilted:
    """M(c + iy)/M(c) is e^{iy top} times the sum of the polynomials, or the exponentials; or that of a Gaussian law.

    Theorem: docs/theorems/doubles.md.
    """

    polynomials: Sequence[Polynomial]
    top: arb
    unlisted: arb
    """Not below the tilted mass of terms that are not listed."""
    curvature: arb = arb(0)  # noqa: RUF009 - balls are immutable
    """mu^2 of a Gaussian law, which is left to the sum over all nodes."""
    exponentials: Exponentials | None = None
