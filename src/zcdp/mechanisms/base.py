"""The base class of all mechanisms: exact immutable parameters, a repr that is Python source, calibration, groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Self

from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import Exact, Log, Value, integer, literal, positive_rational, times
from zcdp.numeric.parameter_domains import domain
from zcdp.numeric.search import greatest_float
from zcdp.privacy.curve import Curve
from zcdp.privacy.relation import Relation

__all__ = ["Mechanism", "greatest_in_domain"]


@dataclass(frozen=True, init=False, repr=False)
class Mechanism(Curve):
    """The base class of mechanisms. A subclass has parameters with their domains, the cumulant and the theorem for rho.

    Two mechanisms are equal if their parameters give the same privacy loss.
    """

    theorem: ClassVar[str]
    """The page under docs/theorems/ that proves `cumulant` and `peak`."""

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorem pages on which the guarantee for these parameters rests, the most special one first."""
        return (self.theorem,)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is not proven but was stated by whoever wrote the mechanism: the guarantee holds if it is true."""
        return ()

    budget: ClassVar[str | None] = "epsilon"
    """The name of the parameter that is the largest privacy loss and that `calibrate` sets; None if there is none."""

    local: ClassVar[bool] = False
    """Whether any two inputs are neighbours, as for a local randomizer: a group then costs no more than one person."""

    @property
    def takes_absence(self) -> bool:
        """Whether an absent record may send the report of a fixed input, which is a neighbour of all others."""
        return self.local

    @property
    def note(self) -> str:
        """What a statement of its cost must say besides; empty for most mechanisms."""
        return ""

    known_elsewhere: ClassVar[bool] = False
    """Whether other accountants have the mechanism's Renyi curve, as for Gaussian noise; used in comparisons only."""

    adds_up: ClassVar[bool] = False
    """Whether the guarantee for k neighbouring steps is that of one step with k times the budget."""

    def _set(self, **parameters: object) -> None:
        for name, value in parameters.items():
            object.__setattr__(self, name, value)  # An instance of a frozen dataclass can be filled in no other way.

    def __repr__(self) -> str:
        shown = (
            f"{field.name}={_source(value)}"
            for field in fields(self)
            if field.repr and (value := getattr(self, field.name)) != field.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getstate__(self) -> dict[str, object]:
        """The parameters only: derived values, and samplers above all, are neither pickled nor copied."""
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
        """The standard deviation of the noise divided by the sensitivity of the answer, or of the score in a selection.

        It has no unit and decreases as the budget grows; None if the mechanism has no such noise.
        """
        return None

    def blanket(self) -> int:
        """The k for which the shuffling bound of k-ary randomized response is valid; 2 is valid for every randomizer.

        The bound rests on the privacy blanket (Balle et al. 2019) of k-ary randomized response with the same epsilon.
        Theorem: docs/theorems/shuffling.md.
        """
        return 2

    @property
    def is_its_blanket(self) -> bool:
        """Whether the mechanism is the k-ary randomized response of `blanket`, so that lower bounds hold for it too."""
        return False

    def usual_losses(self) -> tuple[tuple[int, float], ...]:
        """Numbers of independent steps with the pure epsilon of each, as textbook bounds count them; by default one."""
        return ((1, self.pure_epsilon),)

    def usual_divisor(self) -> int:
        """The d of the textbook bound rho = epsilon^2/d: 2, or 8 for mechanisms of bounded range."""
        return 2

    @classmethod
    def calibrate(cls, *, rho: Value, **fixed: Any) -> Self:
        """The mechanism of least noise that is certified to stay within `rho`.

        The budget parameter is the largest float that fits, the others are as given. That rho increases with it is
        proved in docs/theorems/calibration.md.
        """
        target = positive_rational(rho, "rho")
        if cls.budget is None:
            raise BadType(f"{cls.__name__} has no one parameter to calibrate")
        name: str = cls.budget
        for found in (name, "scale"):
            if found in fixed:
                raise BadValue(f"{found} ({fixed[found]}) is what calibrate finds: leave it out")

        return cls(**{name: greatest_in_domain(name, rho, lambda x: cls(**{name: x, **fixed}).rho <= target), **fixed})

    def group(self, size: Value) -> Mechanism:
        """The guarantee for inputs at a distance of `size` neighbours, from the pure epsilon of one step.

        Unless a mechanism overrides it, this is an upper bound that need not be tight. Theorem: docs/theorems/group.md.

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


def greatest_in_domain(name: str, rho: Value, fits: Callable[[float], bool]) -> float:
    """The greatest float of a parameter's domain that fits; `BadValue` if none does: the rho is too small."""
    allowed = domain(name)

    def fitting(x: float) -> bool:
        """Whether it fits; what is below the domain counts as fitting, what is above it does not."""
        if allowed is not None and not allowed.holds(Fraction(x)):
            return x < 1
        return fits(x)

    best = greatest_float(fitting)
    if best is None or (allowed is not None and not allowed.holds(Fraction(best))):
        least = "" if allowed is None else f" from {allowed.least} on"
        raise BadValue(f"rho ({rho}) is too small: no float {name}{least} stays within it")
    return best


def _source(value: object) -> str:
    """A parameter as Python source."""
    if isinstance(value, int | Fraction | Log) and not isinstance(value, bool):
        return literal(value)
    return repr(value)
