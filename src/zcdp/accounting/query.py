"""A query for `allocate`, which finds its noise: mechanism, fixed parameters, number of uses, weight and target."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from inspect import signature
from math import exp, inf, log
from typing import Any, Final

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import Mechanism
from zcdp.mechanisms.accuracy import Noise
from zcdp.numeric.exact import Value, integer, log_of, positive_rational, probability, shown
from zcdp.numeric.search import straight
from zcdp.text.calls import spoken_class
from zcdp.text.suggestions import thing, unknown

__all__ = ["Query"]

LEAST_STATED, MOST_STATED = 1e-100, 1e100
"""The range of weights and targets, within which the search in floats neither overflows nor underflows."""
DIGITS = 10  # of the parameters found
STAYS = "give all its parameters, and it stays as it is"
NOISE: Final = ("scale", "sigma", "rho")
"""Parameters other than the budget that set the amount of noise."""


@spoken_class
class Query:
    """A query to be answered with noise: its mechanism, fixed parameters, number of uses, and wanted accuracy.

    `sd` is the largest acceptable standard deviation, `half_width` the largest acceptable error at `level`, both in the
    unit of the answers. Without a target the error is measured in units of the sensitivity. The larger the weight, the
    smaller the error. `free` names the parameter to find, if it is not the mechanism's budget: scale, sigma or rho.

    >>> from zcdp import Laplace
    >>> Query(Laplace, sensitivity=3, weight=2)
    Query(Laplace, weight=2, sensitivity=3)
    >>> Query(Laplace, free="scale", half_width=100)
    Query(Laplace, half_width=100, free='scale')
    """

    def __init__(
        self,
        mechanism: type[Mechanism],
        *,
        weight: Value = 1,
        count: int = 1,
        sd: Value | None = None,
        half_width: Value | None = None,
        level: Value = Fraction(19, 20),
        free: str | None = None,
        **fixed: Any,
    ) -> None:
        if not (isinstance(mechanism, type) and issubclass(mechanism, Mechanism)):
            raise BadType(f"mechanism ({thing(mechanism)}) must be the class of one that adds noise, as Laplace")
        self.mechanism, self.fixed = mechanism, dict(fixed)
        self.weight, self.count = _moderate(weight, "weight"), integer(count, "count", 1)
        self.free = _free(mechanism) if free is None else _checked(mechanism, free)
        known = [*signature(mechanism).parameters, "weight", "count", "sd", "half_width", "level", "free"]
        for name in fixed:
            if name not in known:
                raise BadType(f"Query: {unknown('parameter', name, known)}")
        for name in (_free(mechanism), *NOISE):
            if name in fixed:
                raise BadValue(f"{name} ({fixed[name]}) is what allocate finds: leave it out")
        if sd is not None and half_width is not None:
            raise BadValue(f"give sd ({sd}) or half_width ({half_width}), not both")
        self.sd = None if sd is None else _moderate(sd, "sd")
        self.half_width = None if half_width is None else _moderate(half_width, "half_width")
        self.level = probability(level, "level")
        name = mechanism.__name__
        if self.at(1.0).relative_error is None:
            raise BadType(f"{name} has no noise that allocate could weigh: {STAYS}")
        if self.has_target and not issubclass(mechanism, Noise):
            raise BadType(f"{name} selects, and its answer has no standard deviation: give a weight, not a target")

    def __repr__(self) -> str:
        shown_: dict[str, object] = {"weight": self.weight, "count": self.count}
        shown_ = {name: value for name, value in shown_.items() if value != 1}
        targets: dict[str, object] = {"sd": self.sd, "half_width": self.half_width}
        shown_ |= {name: value for name, value in targets.items() if value is not None}
        if self.half_width is not None and self.level != Fraction(19, 20):
            shown_["level"] = self.level
        if self.free != _free(self.mechanism):
            shown_["free"] = repr(self.free)
        shown_ |= {name: value if not isinstance(value, str) else repr(value) for name, value in self.fixed.items()}
        return f"Query({', '.join([self.mechanism.__name__, *(f'{k}={v}' for k, v in shown_.items())])})"

    @property
    def has_target(self) -> bool:
        """Whether the accuracy of the answers is prescribed, by `sd` or `half_width`."""
        return self.sd is not None or self.half_width is not None

    def times(self, factor: float) -> Query:
        """A copy of the query with its target multiplied by `factor`."""
        targets = {"sd": self.sd, "half_width": self.half_width}
        larger = {name: value * Fraction(factor) for name, value in targets.items() if value is not None}
        return Query(
            self.mechanism,
            weight=self.weight,
            count=self.count,
            level=self.level,
            free=self.free,
            **larger,
            **self.fixed,
        )

    @property
    def wish(self) -> str:
        """The target, in words."""
        if self.half_width is not None:
            return f"half_width {shown(self.half_width, 6)}"
        return "" if self.sd is None else f"sd {shown(self.sd, 6)}"

    def at(self, value: float) -> Mechanism:
        """The mechanism with this value of its free parameter."""
        return self.mechanism(**{self.free: value, **self.fixed})

    def with_error(self, error: float, guess: float = 1.0) -> float:
        """The value of the free parameter at which the relative error is `error`, to eleven digits (heuristic)."""
        target = log(error)

        def miss(value: float) -> float:
            found = self.at(value).relative_error
            assert found is not None
            return log(found) - target if 0 < found < inf else (inf if found else -inf)

        return straight(miss, guess=guess, slope=1.0 if self.noise_rises else -1.0, tolerance=1e-11)

    @property
    def noise_rises(self) -> bool:
        """Whether noise rises with the free parameter, as for a scale; it falls with an epsilon."""
        return self.free in ("scale", "sigma")

    def rounded(self, value: float, *, quieter: bool = False) -> float:
        """The parameter rounded to ten digits, for readability; with `quieter` never towards more noise."""
        near = float(f"{value:.{DIGITS}g}")
        if not quieter or (near <= value) == self.noise_rises or near == value:
            return near
        step = 10.0 ** (1 - DIGITS)
        return float(f"{value * (1 - step if self.noise_rises else 1 + step):.{DIGITS}g}")

    def at_target(self) -> float:
        """The parameter of most noise at which the accuracy is certified to meet the target."""
        assert self.has_target

        def meets(value: float) -> bool:
            found = self.at(value)
            assert isinstance(found, Noise)
            reached = found.accuracy(self.level)
            if self.sd is not None:
                return reached.standard_deviation <= self.sd
            return reached.half_width <= (self.half_width or 0)

        best = _last(meets, self.noise_rises)
        if best is None:
            raise BadValue(f"no noise of {self.mechanism.__name__} has a {self.wish}: state a larger one")
        found = self.rounded(best, quieter=True)
        return found if meets(found) else best


def _last(meets: Callable[[float], bool], rising: bool) -> float | None:
    """The largest parameter that meets the target, to twelve digits, by bisection in logarithms; None beyond 1e±250.

    If noise falls with the parameter, the smallest one.
    """
    factor = 2.0 if rising else 0.5
    inside, step = 1.0, factor
    if meets(inside):
        while meets(outside := inside * step):
            inside, step = outside, step * step
            if not 1e-250 < inside < 1e250:
                return None
    else:
        outside = inside
        while not meets(inside := outside / step):
            outside, step = inside, step * step
            if not 1e-250 < outside < 1e250:
                return None
    while abs(log(outside) - log(inside)) > 1e-12:
        middle = exp((log(inside) + log(outside)) / 2)
        if middle in (inside, outside):
            break
        inside, outside = (middle, outside) if meets(middle) else (inside, middle)
    return inside


def _free(mechanism: type[Mechanism]) -> str:
    """The default free parameter of a mechanism: its budget, or sigma."""
    if mechanism.budget is not None:
        return mechanism.budget
    if "sigma" in signature(mechanism).parameters:
        return "sigma"
    raise BadType(f"{mechanism.__name__} has no one parameter to find: {STAYS}")


def _checked(mechanism: type[Mechanism], free: str) -> str:
    """The name of the free parameter, if the mechanism has such a noise parameter."""
    known = (_free(mechanism), *(name for name in NOISE if name in signature(mechanism).parameters))
    if free not in known:
        names = " or ".join(dict.fromkeys(known))
        raise BadValue(f"free ({free!r}) must be {names}, of {mechanism.__name__}")
    return free


def _moderate(value: Value, name: str) -> Fraction:
    """A weight or target as an exact positive number within the range of the search."""
    number = positive_rational(value, name)
    if not log(LEAST_STATED) < log_of(number) < log(MOST_STATED):
        raise BadValue(f"{name} ({value}) must be between 1e-100 and 1e100")
    return number
