"""Mechanisms of which only pure epsilon-DP is known, possibly with a bound on the total variation distance.

`PureDP` is the worst such mechanism, `PureGroup` the guarantee that pure DP of each step gives for a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise.discrete_laplace import DiscreteLaplace
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, in_domain, integer, positive, rational, times
from zcdp.numeric.functions import Number, exp, expm1
from zcdp.numeric.parameter_domains import unlimited
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import Claim, three_point_pair
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

__all__ = ["PureDP", "PureGroup"]


@dataclass(frozen=True, init=False, repr=False)
class PureDP(ThreePoint):
    """Any epsilon-DP mechanism of which nothing more is known: rho = epsilon tanh(epsilon/2).

    rho is smaller if the total variation distance of neighbours is at most `total_variation`. Theorems:
    docs/theorems/pure-dp.md, docs/theorems/total-variation.md.

    >>> PureDP(epsilon=1).rho, PureDP(epsilon=1, total_variation="0.1").rho
    (0.4621171572600098, 0.1147749470836641)
    """

    theorem = "pure-dp"
    epsilon: Exact
    total_variation: Fraction | None = None
    """A bound on the total variation distance of two neighbours' outputs."""

    def __init__(self, *, epsilon: Value, total_variation: Value | None = None) -> None:
        distance = None if total_variation is None else rational(total_variation, "total_variation")
        if distance is not None and not 0 < distance <= 1:
            raise BadValue(f"total_variation ({total_variation}) must lie in (0, 1]")
        if distance is not None:
            in_domain(distance, "total_variation", total_variation)
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
        """Inputs at a distance of `size` neighbours: discrete Laplace noise is the worst of all epsilon-DP mechanisms.

        Theorem: docs/theorems/group.md.

        >>> PureDP(epsilon=1).group(3)
        DiscreteLaplace(epsilon=3, sensitivity=3)
        """
        if self.total_variation is not None:
            return super().group(size)
        steps = integer(size, "size", 1)
        return DiscreteLaplace(epsilon=times(steps, self.epsilon), sensitivity=steps)

    def pair(self) -> Claim:
        return Claim.exactly(three_point_pair(self.epsilon)) if self.total_variation is None else super().pair()


# The guarantee for groups that follows from pure DP of each step between neighbours.


@dataclass(frozen=True, init=False, repr=False)
class PureGroup(Mechanism):
    """Any mechanism, over `size` steps between neighbours of which each is (epsilon/size)-DP.

    The bound is that of discrete Laplace noise of sensitivity `size`. Some mechanism attains it, but the given one need
    not: `is_tight` is False, and there is no lower bound. `neighbours` are those of a single step: "add_remove",
    "replace", or "either" if the step is stated for both. Theorem: docs/theorems/group.md.

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
    """Those of one step: `'add_remove'`, `'replace'`, or `'either'`."""

    def __init__(self, *, epsilon: Value, size: Value = 1, neighbours: str = "either") -> None:
        self._set(epsilon=positive(epsilon, "epsilon"), size=integer(size, "size", 1), neighbours=_known(neighbours))

    @property
    def relation(self) -> Relation:
        return Relation(self.neighbours)

    @property
    def is_tight(self) -> bool:
        return False

    @property
    @unlimited
    def _bound(self) -> DiscreteLaplace:
        return DiscreteLaplace(epsilon=self.epsilon, sensitivity=self.size)

    def cumulant(self, s: Number) -> Number:
        return self._bound.cumulant(s)

    def peak(self) -> Peak:
        return self._bound.peak()

    def witness(self) -> arb:
        """The trivial lower bound 0: no better one is known."""
        return arb(0)

    def pair(self) -> Claim | None:
        bound = self._bound.pair()
        return bound and Claim(bound.upper)  # which the given mechanism need not attain

    def group(self, size: Value) -> PureGroup:
        steps = integer(size, "size", 1)
        return PureGroup(epsilon=times(steps, self.epsilon), size=steps * self.size, neighbours=self.neighbours)


def _known(neighbours: str) -> str:
    """The name of a neighbouring relation, if it is one; else an error."""
    names = [relation.value for relation in Relation]
    if not isinstance(neighbours, str):
        raise BadType(f"neighbours ({thing(neighbours)}) must be one of {', '.join(names)}")
    if neighbours not in names:
        raise BadValue(f"neighbours ({neighbours!r}) must be one of {', '.join(names)}")
    return neighbours
