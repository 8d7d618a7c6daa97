"""The privacy loss of discrete Laplace (two-sided geometric) noise: a row of equally spaced atoms.

A long row has its transform in closed form and its own bound on the decay; a very long one is replaced by the Laplace
pairs that enclose it. Theorem: docs/theorems/discrete-laplace-pair.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from flint import arb

from zcdp.numeric.balls import above, below, enclose, lift, trusted
from zcdp.numeric.exact import Exact, Log
from zcdp.numeric.functions import exp, expm1
from zcdp.privacy.loss.claim import Claim
from zcdp.privacy.loss.decay import DOWN, UP, Waves, WaveShare, least_square_sine, minus_log
from zcdp.privacy.loss.exponential_law import ExponentialSum, ExponentialSumFactor, Terms, laplace_pair
from zcdp.privacy.loss.transform import Taylor

__all__ = ["DiscreteLaplaceRow", "between_laplace_pairs", "discrete_laplace_claim", "discrete_laplace_pair"]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


FEW_TERMS = 8  # Up to so many terms are added up faster than the closed form is evaluated.
ALWAYS_LISTED, MOST_LISTED = 200, 20_000  # Rows of up to so many steps are always kept as they are, longer ones never.
NEGLIGIBLE_EXCESS = 4e-9  # relative difference of epsilon below which the two Laplace pairs are sharp enough


def discrete_laplace_claim(epsilon: Exact, sensitivity: int) -> Claim:
    """The claim of two-sided geometric noise that is moved by `sensitivity`: exact, unless its losses are too many.

    Then the two Laplace pairs that enclose it take its place, and also where these nearly agree.
    """
    apart = float((lift(epsilon) / (4 * sensitivity**2)).mid())  # This is (t^2/4)/epsilon.
    if sensitivity <= ALWAYS_LISTED or (sensitivity <= MOST_LISTED and apart > NEGLIGIBLE_EXCESS):
        return Claim.exactly(discrete_laplace_pair(epsilon, sensitivity))
    return between_laplace_pairs(epsilon, sensitivity)


def between_laplace_pairs(epsilon: Exact, sensitivity: int) -> Claim:
    """The same claim by Laplace noise: at epsilon below it, at epsilon + 2 log cosh(epsilon/(2 sensitivity)) above it.

    Theorem: docs/theorems/discrete-laplace-pair.md.
    """
    rational = Fraction(enclose(lambda: lift(epsilon))[1]) if isinstance(epsilon, Log) else epsilon
    upper = laplace_pair(rational + (rational / sensitivity) ** 2 / 4)
    return Claim(upper, lower=Claim.laws(laplace_pair(epsilon)))


def discrete_laplace_pair(epsilon: Exact, sensitivity: int) -> ExponentialSum:
    """The law of two-sided geometric noise and the same shifted by `sensitivity`: losses epsilon (1 - 2k/sensitivity).

    Theorem: docs/theorems/discrete-laplace-pair.md.
    """
    ratio, family = Fraction(2, sensitivity), partial(discrete_laplace_pair, sensitivity=sensitivity)
    kind = DiscreteLaplaceRow if sensitivity > FEW_TERMS else ExponentialSum
    return kind(epsilon, partial(_terms, epsilon, sensitivity), ratio, family)


def _masses(epsilon: Exact, sensitivity: int) -> tuple[arb, arb]:
    """The coefficients P(L = a_k) e^{-a_k/2} of the transform: of the two end atoms, and of each atom between them."""
    e = lift(epsilon)
    t = e / sensitivity
    edge = exp(-e / 2) / (1 + exp(-t))
    return edge, -expm1(-t) * edge


def _terms(epsilon: Exact, sensitivity: int) -> Terms:
    edge, inside = _masses(epsilon, sensitivity)
    return [[edge], *([inside] for _ in range(sensitivity - 1)), [edge]]


@dataclass(frozen=True, eq=False)
class DiscreteLaplaceRow(ExponentialSum):
    """Discrete Laplace noise with many atoms: M in closed form, and a bound on the sum over its inner atoms.

    M(z) = c_0 (e^{aw} + e^{-aw}) + c_1 e^{(a-g)w} (1 - e^{-(2a-g)w})/(1 - e^{-gw}), g = 2a/sensitivity.
    """

    def ready(self) -> ExponentialSumFactor:
        """The transform of one use, with constants at the working precision."""
        return _RowFactor(self.loss, self.ratio, self.terms())

    def _looks_symmetric(self) -> bool:
        """Whether the sum is symmetric, and the closed form agrees with the sum at a test point."""
        factor = self.ready()
        plain = ExponentialSumFactor(self.loss, self.ratio, factor.terms)
        at = arb(0.3)
        return super()._looks_symmetric() and bool(factor.moment(at).overlaps(plain.moment(at)))


class _RowFactor(ExponentialSumFactor):
    """The transform of a `DiscreteLaplaceRow`, in closed form."""

    def __init__(self, loss: Exact, ratio: Fraction, terms: Terms) -> None:
        super().__init__(loss, ratio, terms)
        self.weight = 2
        self.closed = self._closed()

    def _closed(self) -> Callable[[Any], Any]:
        loss, edge, inside = self.loss, self.terms[0][0], self.terms[1][0]
        gap = 2 * loss / (len(self.terms) - 1)

        def closed(z: Any) -> Any:
            w = z + arb(1) / 2
            within = exp(w * (loss - gap)) * expm1(w * (gap - 2 * loss)) / expm1(w * -gap)
            return (exp(w * loss) + exp(w * -loss)) * edge + within * inside

        return closed

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        return self.closed(z)

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """M(z), for a caller that has w = z + 1/2 and u = 1/w at hand."""
        return self.closed(z)

    def share(self, count: int, c: arb, taylor: Taylor) -> _RowShare:
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        growth = self.growth(c, taylor)
        atoms = [row[0] * g for row, g in zip(self.terms, growth, strict=True)]
        x, gap = c + arb(1) / 2, self.loss * self.ratio
        shrunk = (-gap * x).exp()
        return _RowShare(
            count,
            **self.bounds(growth, taylor),
            turns=trusted(gap / (2 * arb.pi())),
            ends=above(atoms[0] + atoms[-1]),
            end_wave=(below(2 * atoms[0] * atoms[-1]), trusted(self.loss / arb.pi())),
            size=above(atoms[1] * (1 + ((gap - 2 * self.loss) * x).exp())),
            least=max(below((1 - shrunk) ** 2), 0.0),
            wave=max(below(4 * shrunk), 0.0),
        )


@dataclass(frozen=True, kw_only=True)
class _RowShare(WaveShare):
    """The share of two end atoms with a geometric row of atoms between them.

    The sum over the row has a modulus of at most size/sqrt(least + wave sin^2(yg/2)), g the spacing of the atoms.
    """

    turns: float
    """g/(2 pi), to the nearest float."""
    ends: float
    """An upper bound on the tilted mass of the two end atoms."""
    end_wave: tuple[float, float]
    """The entry of `WaveShare.waves` for the two end atoms."""
    size: float
    """An upper bound on q_1 (1 + e^{-x(l-g)})/M(c), q_1 = c_1 e^{a_1 x}, l the distance of the two end atoms."""
    least: float
    """A lower bound on (1 - e^{-xg})^2."""
    wave: float
    """A lower bound on 4 e^{-xg}."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Waves:
        """The bound on the decay of all these laws together."""
        return _Rows(shares, x)


class _Rows(Waves):
    """The bounds of `Waves`, with the additional one of `_RowShare`, for many laws at once."""

    def __init__(self, shares: Sequence[_RowShare], x: float) -> None:
        super().__init__(shares, x)
        self.turns = self.column([s.turns for s in shares])
        self.ends, self.size = self.column([s.ends for s in shares]), self.column([s.size for s in shares])
        self.end_waves = tuple(self.column([s.end_wave[n] for s in shares]) for n in (0, 1))
        self.least, self.wave = self.column([s.least for s in shares]), self.column([s.wave for s in shares])

    def best(self, low: Floats, high: Floats, distance: float) -> Any:
        np, (weight, turns) = self.np, self.end_waves
        best = super().best(low, high, distance)
        apart = weight * least_square_sine(np, low * turns, high * turns) * DOWN
        away = np.sqrt(self.least + self.wave * least_square_sine(np, low * self.turns, high * self.turns)) * DOWN
        rest = np.sqrt(np.maximum(self.ends * self.ends * UP - 2 * apart, 0.0)) + self.size / away
        return np.maximum(best, minus_log(np, rest * UP))
