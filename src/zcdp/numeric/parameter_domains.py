"""The domains of parameters: how large and how small a number may be that a person writes, and why.

The functions of `zcdp.numeric.exact` that read parameters look their names up here and refuse what lies beyond, so that
no formula in floats meets a number whose powers and products leave their range. The same table stands on the page
docs/explanation/limits.md, where a test compares it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, wraps
from typing import ParamSpec, TypeVar

__all__ = ["DOMAINS", "WHOLE_DOMAINS", "Domain", "domain", "switched_on", "unlimited", "whole_domain"]


@dataclass(frozen=True)
class Domain:
    """The least and the most that the parameters of these names may be, as a person writes them.

    `least` is empty for whole numbers, whose least value is that of the mechanism; `most` is empty if "below 1" is all.
    """

    names: tuple[str, ...]
    least: str
    most: str
    why: str

    @cached_property
    def _limits(self) -> tuple[Fraction | None, Fraction | None]:
        return (_lower_limit(self.least) if self.least else None), (_upper_limit(self.most) if self.most else None)

    def holds(self, number: Fraction) -> bool:
        """Whether the number is neither below the least nor above the most.

        >>> domain("epsilon").holds(Fraction(1)), domain("epsilon").holds(Fraction(10) ** 300)
        (True, False)
        """
        least, most = self._limits
        return (least is None or number >= least) and (most is None or number <= most)

    @property
    def rule(self) -> str:
        """The limits as the end of a sentence that begins with the parameter: "must be between 1e-12 and 1e9".

        >>> domain("epsilon").rule, domain("delta").rule, whole_domain("count").rule
        ('must be between 1e-12 and 1e9', 'must be at least 1e-300', 'must be at most 10^12')
        """
        if self.least and self.most:
            return f"must be between {self.least} and {self.most}"
        return f"must be at least {self.least}" if self.least else f"must be at most {self.most}"


def _value(written: str) -> Fraction:
    """The number of a limit: a decimal, a power such as 10^12, or 1 - 1e-30."""
    if "^" in written:
        base, exponent = written.split("^")
        return Fraction(int(base) ** int(exponent))
    return 1 - Fraction(written.removeprefix("1 - ")) if written.startswith("1 - ") else Fraction(written)


def _lower_limit(written: str) -> Fraction:
    """The limit, or the float nearest to it if that is below: whoever writes 1e-12 without quotes means the limit."""
    return min(_value(written), Fraction(float(_value(written))))


def _upper_limit(written: str) -> Fraction:
    """The limit, or the float nearest to it if that is above it, but not 1 for a limit below 1."""
    number = _value(written)
    return number if number < 1 or "^" in written else max(number, Fraction(float(number)))


DOMAINS = (
    Domain(
        ("epsilon", "eta", "epsilon_threshold", "epsilon_queries"),
        "1e-12",
        "1e9",
        "10^12 uses, the most that a plan counts, of the least one sum to 1; a group of a million at 1000 has the most",
    ),
    Domain(
        ("rho",),
        "1e-100",
        "1e30",
        "below that of the rarest sample at the least epsilon, above that of 10^12 uses at the most",
    ),
    Domain(
        (
            *("sensitivity", "scale", "left", "right", "sigma", "noise_multiplier", "grid", "a", "b", "c", "d"),
            *("sd", "half_width"),
        ),
        "1e-30",
        "1e30",
        "in the unit of the answers, with any prefix of the SI: only ratios of them count",
    ),
    Domain(("delta",), "1e-300", "", "below 1, or 0 where that may be asked for; floats lose digits from 2e-308 down"),
    Domain(
        ("p", "q", "f", "level", "confidence"),
        "1e-30",
        "1 - 1e-30",
        "probabilities: no report is that certain, and nobody waits for a rarer one",
    ),
    Domain(("rate", "total_variation"), "1e-30", "1", "one record of 10^12, and less in samples of samples"),
    Domain(("order",), "", "1e15", "from 1 on, or infinity: the pure epsilon; alpha - 1 is exact in floats up to 2^53"),
    Domain(("weight",), "1e-30", "1e30", "only ratios of weights count"),
    Domain(
        ("degrees",), "0.1", "1000", "of freedom: below, tails too heavy to cut; above, Gaussian noise but for them"
    ),
    Domain(
        ("power",),
        "0.1",
        "20",
        "of a density that falls like exp(-x^power): below, tails too heavy to cut; above, a box",
    ),
)
"""Of real parameters."""

WHOLE_DOMAINS = (
    Domain(
        (
            *("count", "size", "of", "m", "positives", "collections", "clients", "rounds", "answered", "answers"),
            *("candidates", "steps", "draws", "examples", "batch", "batches", "most", "examples_per_user"),
        ),
        "",
        "10^12",
        "there are no more uses, records, persons or rounds",
    ),
    Domain(("k", "g", "d", "blocks", "n"), "", "2^64", "the values that 64 bits tell apart"),
    Domain(
        ("sensitivity", "r"), "", "2^1200", "in steps of a lattice, which may be as fine as the least float, 2^-1074"
    ),
)
"""Of parameters that are whole numbers."""

_BY_NAME = {name: one for one in DOMAINS for name in one.names}
_WHOLE_BY_NAME = {name: one for one in WHOLE_DOMAINS for name in one.names}


def domain(name: str) -> Domain | None:
    """The domain of a real parameter; None if its name is not in the table or limits are lifted."""
    return None if _UNLIMITED.get() else _BY_NAME.get(name)


def whole_domain(name: str) -> Domain | None:
    """The domain of a parameter that is a whole number; None if its name is not in the table or limits are lifted."""
    return None if _UNLIMITED.get() else _WHOLE_BY_NAME.get(name)


# Parameters that no person writes.

_UNLIMITED: ContextVar[bool] = ContextVar("_UNLIMITED", default=False)


P = ParamSpec("P")
T = TypeVar("T")


def switched_on(switch: ContextVar[bool], work: Callable[P, T]) -> Callable[P, T]:
    """The same function, within which, in its thread and task alone, the switch is True.

    It runs in a copy of the context, which the interpreter leaves by itself: Ctrl-C, whenever it comes, leaves the
    switch as it was.
    """

    @wraps(work)
    def within(*args: P.args, **kwargs: P.kwargs) -> T:
        def on() -> T:
            switch.set(True)
            return work(*args, **kwargs)

        return copy_context().run(on)

    return within


def unlimited(work: Callable[P, T]) -> Callable[P, T]:
    """The same function, within which numbers are taken as they are: for what a person did not write.

    These are the parts of a mechanism, such as one of a million coordinates; the steps of a search, of which the result
    is checked; and what an earlier version wrote into a ledger.
    """
    return switched_on(_UNLIMITED, work)
