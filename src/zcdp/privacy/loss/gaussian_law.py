"""The loss of Gaussian noise: normal, and unbounded."""

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
    """Gaussian noise shifted by mu standard deviations: M = exp(mu^2 (z^2 + z)/2)."""

    curvature: Callable[[], arb]
    """mu^2, at the working precision."""

    def ready(self) -> GaussianFactor:
        """See `LossLaw`."""
        return GaussianFactor(self.curvature())

    def sampled(self, rate: Fraction) -> LossLaw:
        """See `LossLaw`."""
        from zcdp.privacy.loss.sampled_gaussian_law import sampled_gaussian_law

        return sampled_gaussian_law(rate, self.curvature)

    def replaced(self, rate: Fraction) -> LossLaw:
        """See `LossLaw`."""
        from zcdp.privacy.loss.sampled_gaussian_law import replaced_gaussian_law

        return replaced_gaussian_law(rate, self.curvature)

    def _looks_symmetric(self) -> bool:
        """z^2 + z is the same at -1 - z: the formula shows it."""
        return True


class GaussianFactor(Factor):
    """exp(mu^2 (z^2 + z)/2)."""

    def __init__(self, curvature: arb) -> None:
        self.curvature = curvature

    def moment(self, z: Any) -> Any:
        """See `Factor`."""
        return (self.curvature * (z * z + z) / 2).exp()

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:  # noqa: ARG002
        """log(M(c)/|M(c + iy)|) = mu^2 y^2/2."""
        return GaussianShare(count, self.curvature, cells=0)

    def tilted(self, c: arb) -> Tilted:  # noqa: ARG002
        """See `Factor`."""
        return Tilted((), arb(0), arb(0), self.curvature)


def gaussian_pair(curvature: Callable[[], arb], *, exact: bool = False) -> GaussianLaw:
    """Gaussian noise shifted by mu standard deviations: M = exp(mu^2 (z^2 + z)/2); `curvature` gives mu^2."""
    return GaussianLaw(curvature, exact=exact)
