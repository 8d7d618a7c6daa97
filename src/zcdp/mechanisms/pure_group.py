"""What pure DP of each step says of a group: the guarantee for inputs that are several neighbours apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from flint import arb

from zcdp.display.things import thing
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.discrete_laplace import DiscreteLaplace
from zcdp.numeric.exact import Exact, Value, integer, positive, times
from zcdp.numeric.functions import Number
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw
from zcdp.privacy.relation import Relation

__all__ = ["PureGroup"]


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
