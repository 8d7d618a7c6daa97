"""What all mechanisms share: exact immutable parameters, a repr to paste back, calibration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Self

from zcdp.numeric.exact import Exact, Value, plain, positive_rational
from zcdp.numeric.floats import greatest_float
from zcdp.privacy.curve import Curve

__all__ = ["Mechanism"]


@dataclass(frozen=True, init=False, repr=False)
class Mechanism(Curve):
    """A mechanism is one file: parameters and their domains, the cumulant, the theorem for rho.

    Two mechanisms are equal when their parameters give them the same privacy loss.
    """

    theorem: ClassVar[str]
    """The page under docs/theorems/ that proves `cumulant` and `peak`."""

    budget: ClassVar[str] = "epsilon"
    """The parameter that is the largest privacy loss, and that `calibrate` sets."""

    def _set(self, **parameters: Exact | int) -> None:
        for name, value in parameters.items():
            object.__setattr__(self, name, value)  # the one way to fill a frozen instance

    @property
    def parameters(self) -> dict[str, int | float | str]:
        """The parameters that rebuild this mechanism: floats as they are, other exact numbers as text."""
        shown = {field.name: getattr(self, field.name) for field in fields(self)}
        defaults = {field.name: field.default for field in fields(self)}
        return {name: plain(value) for name, value in shown.items() if value != defaults[name]}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"

    @property
    def largest_loss(self) -> Exact:
        loss: Exact = getattr(self, self.budget)
        return loss

    @classmethod
    def calibrate(cls, *, rho: Value, **fixed: Value) -> Self:
        """The mechanism of least noise that is certified to stay within `rho`.

        The budget parameter is the largest float that fits, the others are as given.
        See docs/theorems/calibration.md for why rho increases with it.
        """
        target = positive_rational(rho, "rho")
        if cls.budget in fixed:
            raise ValueError(f"{cls.budget} ({fixed[cls.budget]}) is what calibrate finds: leave it out")

        parameters: dict[str, Value] = dict(fixed)

        def fits(budget: float) -> bool:
            return cls(**{cls.budget: budget, **parameters}).rho <= target

        best = greatest_float(fits)
        if best is None:
            raise ValueError(f"rho ({rho}) is too small: no float {cls.budget} stays within it")
        return cls(**{cls.budget: best, **parameters})
