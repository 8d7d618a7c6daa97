"""The worst epsilon-DP mechanism there is, or the worst whose total variation distance is bounded too."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.discrete_laplace import DiscreteLaplace
from zcdp.mechanisms.three_point import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive, rational, times
from zcdp.numeric.functions import exp, expm1
from zcdp.privacy.loss import LossLaw, three_point_pair

__all__ = ["PureDP"]


@dataclass(frozen=True, init=False, repr=False)
class PureDP(ThreePoint):
    """Any epsilon-DP mechanism of which nothing more is known: rho = epsilon tanh(epsilon/2).

    If no two neighbours are further apart than `total_variation`, less. Theorems: docs/theorems/pure-dp.md,
    docs/theorems/total-variation.md.

    >>> PureDP(epsilon=1).rho, PureDP(epsilon=1, total_variation="0.1").rho
    (0.4621171572600098, 0.1147749470836641)
    """

    theorem = "pure-dp"
    epsilon: Exact
    total_variation: Fraction | None = None

    def __init__(self, *, epsilon: Value, total_variation: Value | None = None) -> None:
        distance = None if total_variation is None else rational(total_variation, "total_variation")
        if distance is not None and not 0 < distance <= 1:
            raise BadValue(f"total_variation ({total_variation}) must lie in (0, 1]")
        self._set(epsilon=positive(epsilon, "epsilon"), total_variation=None if distance == 1 else distance)

    @property
    def theorems(self) -> tuple[str, ...]:
        return (self.theorem,) if self.total_variation is None else ("total-variation", self.theorem)

    def kappa(self) -> arb:
        if self.total_variation is None:
            return arb(2)
        epsilon = lift(self.epsilon)
        return (-expm1(-epsilon) / exp(-epsilon) * lift(1 / self.total_variation - 1)).max(arb(2))

    def group(self, size: Value) -> Mechanism:
        """Inputs at a distance of `size` neighbours: of all of pure DP discrete Laplace noise is the worst.

        Theorem: docs/theorems/group.md.

        >>> PureDP(epsilon=1).group(3)
        DiscreteLaplace(epsilon=3, sensitivity=3)
        """
        if self.total_variation is not None:
            return super().group(size)
        steps = integer(size, "size", 1)
        return DiscreteLaplace(epsilon=times(steps, self.epsilon), sensitivity=steps)

    def pair(self) -> LossLaw:
        return three_point_pair(self.epsilon, exact=True) if self.total_variation is None else super().pair()
