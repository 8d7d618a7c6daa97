"""The privacy loss of the Gaussian mechanism: normal, with mean mu^2/2 and variance mu^2, mu = sensitivity/sigma."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.privacy.loss.decay import GaussianShare, Share
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.transform import Factor, Taylor, Tilted

__all__ = ["GaussianFactor", "GaussianLaw", "gaussian_pair"]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GaussianLaw(LossLaw):
    """The pair of normal distributions whose means are mu standard deviations apart: M = exp(mu^2 (z^2 + z)/2)."""

    curvature: Callable[[], arb]
    """A function that returns mu^2 at the working precision."""

    def ready(self) -> GaussianFactor:
        """The transform of one use, with constants at the working precision."""
        return GaussianFactor(self.curvature())

    def mu_squared(self) -> arb:
        """mu^2, at the working precision."""
        return self.curvature()

    def sampled(self, rate: Fraction) -> LossLaw:
        """The law of ((1-q) Q + q P, Q), q the rate: amplification by Poisson sampling."""
        from zcdp.privacy.loss.sampled_gaussian_law import sampled_gaussian_law

        return sampled_gaussian_law(rate, self.curvature)

    def replaced(self, rate: Fraction) -> LossLaw:
        """The envelope of ((1-q) Q + q P, Q) in both directions, q the rate: samples of a fixed size."""
        from zcdp.privacy.loss.sampled_gaussian_law import replaced_gaussian_law

        return replaced_gaussian_law(rate, self.curvature)

    def _looks_symmetric(self) -> bool:
        """True, since z^2 + z has the same value at -1 - z."""
        return True


class GaussianFactor(Factor):
    """The transform M(z) = exp(mu^2 (z^2 + z)/2)."""

    def __init__(self, curvature: arb) -> None:
        self.curvature = curvature

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        return (self.curvature * (z * z + z) / 2).exp()

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:  # noqa: ARG002
        """The exact decay along every vertical line, log(M(c)/|M(c + iy)|) = mu^2 y^2/2."""
        return GaussianShare(count, self.curvature, cells=0)

    def tilted(self, c: arb) -> Tilted:  # noqa: ARG002
        """The tilted law as finitely many terms, for the contour integral in doubles."""
        return Tilted((), arb(0), arb(0), self.curvature)


def gaussian_pair(curvature: Callable[[], arb]) -> GaussianLaw:
    """The law of two normal distributions mu standard deviations apart; `curvature` returns mu^2."""
    return GaussianLaw(curvature)
