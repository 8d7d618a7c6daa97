"""The worst epsilon-DP mechanism there is, or the worst whose total variation distance is bounded too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.local.three_point import ThreePoint
from zcdp.mechanisms.noise.discrete_laplace import DiscreteLaplace
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive, rational, times
from zcdp.numeric.functions import Number, exp, expm1
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw, three_point_pair
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

__all__ = ["PureDP", "PureGroup"]


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


# What pure DP of each step says of a group: the guarantee for inputs that are several neighbours apart.


@dataclass(frozen=True, init=False, repr=False)
class PureGroup(Mechanism):
    """Any mechanism, over `size` steps between neighbours of which each is (epsilon/size)-DP.

    The bound is discrete Laplace noise of that sensitivity. Some mechanism attains it, but the one that is meant here
    need not: `is_tight` is False, and nothing is known from below. `neighbours` are those of a step: "add_remove",
    "replace", or "either" where the step is stated for any. Theorem: docs/theorems/group.md.

    >>> from zcdp import Staircase
    >>> Staircase(epsilon=1).group(2)
    PureGroup(epsilon=2, size=2)
    >>> PureGroup(epsilon=2, size=2).rho == DiscreteLaplace(epsilon=2, sensitivity=2).rho
    True
    """

    theorem: ClassVar[str] = "group"
    epsilon: Exact
    size: int = 1
    neighbours: str = "either"

    def __init__(self, *, epsilon: Value, size: Value = 1, neighbours: str = "either") -> None:
        self._set(epsilon=positive(epsilon, "epsilon"), size=integer(size, "size", 1), neighbours=_known(neighbours))

    @property
    def relation(self) -> Relation:
        return Relation(self.neighbours)

    @property
    def is_tight(self) -> bool:
        return False

    @property
    def _bound(self) -> DiscreteLaplace:
        return DiscreteLaplace(epsilon=self.epsilon, sensitivity=self.size)

    def cumulant(self, s: Number) -> Number:
        return self._bound.cumulant(s)

    def peak(self) -> Peak:
        return self._bound.peak()

    def witness(self) -> arb:
        """Nothing is known from below."""
        return arb(0)

    def pair(self) -> LossLaw | None:
        above = self._bound.pair()
        return None if above is None else replace(above, exact=False, witness=None)

    def group(self, size: Value) -> PureGroup:
        steps = integer(size, "size", 1)
        return PureGroup(epsilon=times(steps, self.epsilon), size=steps * self.size, neighbours=self.neighbours)


def _known(neighbours: str) -> str:
    names = [relation.value for relation in Relation]
    if not isinstance(neighbours, str):
        raise BadType(f"neighbours ({thing(neighbours)}) must be one of {', '.join(names)}")
    if neighbours not in names:
        raise BadValue(f"neighbours ({neighbours!r}) must be one of {', '.join(names)}")
    return neighbours
