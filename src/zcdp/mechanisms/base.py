"""What all mechanisms share: exact immutable parameters, a repr to paste back, calibration, groups."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Self

from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import Exact, Log, Value, integer, literal, positive_rational, times
from zcdp.numeric.search import greatest_float
from zcdp.privacy.curve import Curve
from zcdp.privacy.relation import Relation

__all__ = ["Mechanism"]


@dataclass(frozen=True, init=False, repr=False)
class Mechanism(Curve):
    """A mechanism is one file: parameters and their domains, the cumulant, the theorem for rho.

    Two mechanisms are equal when their parameters give them the same privacy loss.
    """

    theorem: ClassVar[str]
    """The page under docs/theorems/ that proves `cumulant` and `peak`."""

    @property
    def theorems(self) -> tuple[str, ...]:
        """The pages that these parameters call for, the most special one first."""
        return (self.theorem,)

    budget: ClassVar[str | None] = "epsilon"
    """The parameter that is the largest privacy loss, and that `calibrate` sets; None if there is no one such."""

    local: ClassVar[bool] = False
    """Whether every two inputs are neighbours, as for a local randomizer: then a group costs what one does."""

    known_elsewhere: ClassVar[bool] = False
    """Whether other accountants have its Renyi curve, as that of Gaussian noise: for comparisons alone."""

    adds_up: ClassVar[bool] = False
    """Whether so many steps are one step of so many times the budget, as for utilities that move further."""

    def _set(self, **parameters: object) -> None:
        for name, value in parameters.items():
            object.__setattr__(self, name, value)  # the one way to fill a frozen instance

    def __repr__(self) -> str:
        shown = (
            f"{field.name}={_source(value)}"
            for field in fields(self)
            if field.repr and (value := getattr(self, field.name)) != field.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getstate__(self) -> dict[str, object]:
        """The parameters alone: what is derived from them, samplers above all, is not pickled or copied."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def largest_loss(self) -> Exact | None:
        loss: Exact = getattr(self, self.budget or "epsilon")
        return loss

    @property
    def relation(self) -> Relation:
        """`REPLACE` for a local randomizer, whose neighbours are two inputs of one person; else `EITHER`."""
        return Relation.REPLACE if self.local else Relation.EITHER

    @property
    def relative_error(self) -> float | None:
        """Standard deviation of the noise over the sensitivity: on an answer, or on a score that is selected by.

        It has no unit, and falls where the budget grows; None where no such noise is known.
        """
        return None

    def blanket(self) -> int:
        """The k of the k-ary randomized response whose reports hide one another as these do: 2 is true of all.

        Theorem: docs/theorems/shuffling.md.
        """
        return 2

    @property
    def is_its_blanket(self) -> bool:
        """Whether it is that randomized response: then some clients attain what is known of their shuffled reports."""
        return False

    def usual_losses(self) -> tuple[tuple[int, float], ...]:
        """How many independent steps of which pure epsilon the usual bounds see: one, unless a mechanism says more."""
        return ((1, self.pure_epsilon),)

    def usual_divisor(self) -> int:
        """What epsilon^2 is usually divided by: 2; for bounded range 8."""
        return 2

    @classmethod
    def calibrate(cls, *, rho: Value, **fixed: Any) -> Self:
        """The mechanism of least noise that is certified to stay within `rho`.

        The budget parameter is the largest float that fits, the others are as given.
        See docs/theorems/calibration.md for why rho increases with it.
        """
        target = positive_rational(rho, "rho")
        if cls.budget is None:
            raise BadType(f"{cls.__name__} has no one parameter to calibrate")
        name: str = cls.budget
        for found in (name, "scale"):
            if found in fixed:
                raise BadValue(f"{found} ({fixed[found]}) is what calibrate finds: leave it out")

        best = greatest_float(lambda budget: cls(**{name: budget, **fixed}).rho <= target)
        if best is None:
            raise BadValue(f"rho ({rho}) is too small: no float {name} stays within it")
        return cls(**{name: best, **fixed})

    def group(self, size: Value) -> Mechanism:
        """What inputs at a distance of `size` neighbours are guaranteed, from the pure epsilon of one step.

        Unless a mechanism knows better this is a bound that it need not attain. Theorem: docs/theorems/group.md.

        >>> from zcdp import DiscreteStaircase
        >>> DiscreteStaircase(epsilon=1, sensitivity=5, r=2).group(3)
        PureGroup(epsilon=3, size=3)
        """
        from zcdp.mechanisms.pure_dp import PureGroup

        steps = integer(size, "size", 1)
        if self.local or steps == 1:
            return self
        loss = self.largest_loss
        if loss is None:
            raise BadValue(f"{self!r} has an unbounded privacy loss: no group bound from its pure epsilon")
        if self.adds_up and self.budget:
            others = {field.name: getattr(self, field.name) for field in fields(self) if field.name != self.budget}
            return type(self)(**others, **{self.budget: times(steps, loss)})
        if loss == 0:
            return self
        return PureGroup(epsilon=times(steps, loss), size=steps, neighbours=self.relation.value)


def _source(value: object) -> str:
    if isinstance(value, int | Fraction | Log) and not isinstance(value, bool):
        return literal(value)
    return repr(value)
