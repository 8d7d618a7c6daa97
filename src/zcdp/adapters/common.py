"""Exact numbers as the floats that other systems take, rounded to the side where more is spent."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from math import inf, nextafter
from typing import ClassVar

from flint import arb

from zcdp.errors import BadValue, MissingExtra
from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Value, literal, rational
from zcdp.numeric.functions import Number
from zcdp.privacy.curve import Peak

__all__ = ["RhoAlone", "UntestedVersion", "above", "below", "installed", "warn_unless"]


def above(number: Fraction) -> float:
    """The least float that is at least the number.

    >>> above(Fraction(1, 2)), above(Fraction(1, 10)) >= Fraction(1, 10)
    (0.5, True)
    """
    try:
        near = number.numerator / number.denominator
    except OverflowError:
        return inf if number > 0 else -nextafter(inf, 0.0)
    return near if Fraction(near) >= number else nextafter(near, inf)


def below(number: Fraction) -> float:
    """The largest float that is at most the number.

    >>> below(Fraction(1, 3)) < Fraction(1, 3) < above(Fraction(1, 3))
    True
    """
    return -above(-number)


# Which versions of another system a bridge was tested with, and what it says when it meets another.


class UntestedVersion(UserWarning):
    """The other system may draw from other laws than those that were proven to be covered."""


def installed(package: str, extra: str) -> str:
    """The version of the package that is installed; an error with the command to get it where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        raise MissingExtra(f"this needs {package}, which is not installed", extra=extra, name=package) from None


def warn_unless(package: str, extra: str, tested: tuple[str, ...]) -> None:
    """Say so, loudly, where the installed version is none of the tested ones."""
    found = installed(package, extra)
    if found not in tested:
        warnings.warn(
            f"{package} {found} is installed, and zcdp's bridge was tested with {', '.join(tested)}: "
            "what it says is proven for the laws that those draw from",
            UntestedVersion,
            stacklevel=3,
        )


# A guarantee of which nothing more is known: a Renyi divergence of at most xi + rho alpha at every order.


@dataclass(frozen=True, init=False, repr=False)
class RhoAlone(Mechanism):
    """Whatever was proven (xi, rho)-zCDP elsewhere: D(alpha) <= xi + rho alpha, and no pair of laws.

    In (epsilon, delta) it counts by its curve: that of Gaussian noise of the same rho would be too low.
    Theorem: docs/theorems/adapters.md.

    >>> RhoAlone(rho="0.1").epsilon_at(delta="1e-6")
    2.14193...
    """

    theorem: ClassVar[str] = "adapters"
    budget: ClassVar[None] = None
    is_envelope = True
    exact_rho: Fraction
    xi: Fraction

    def __init__(self, *, rho: Value, xi: Value = 0) -> None:
        amounts = {name: rational(value, name) for name, value in (("rho", rho), ("xi", xi))}
        for name, amount in amounts.items():
            if amount < 0:
                raise BadValue(f"{name} ({amount}) must not be negative")
        if not sum(amounts.values()):
            raise BadValue("rho and xi are both 0: nothing is spent, so there is nothing to account for")
        self._set(exact_rho=amounts["rho"], xi=amounts["xi"])

    def __repr__(self) -> str:
        return f"RhoAlone(rho={literal(self.exact_rho)}{f', xi={literal(self.xi)}' if self.xi else ''})"

    @property
    def largest_loss(self) -> None:
        """Not bounded, as far as is known."""
        return

    @property
    def is_tight(self) -> bool:
        """False: it is a bound."""
        return False

    @property
    def rho_fraction(self) -> Fraction:
        """The sum of both: D(alpha)/alpha is at most xi + rho, at order 1."""
        return self.exact_rho + self.xi

    def cumulant(self, s: Number) -> Number:
        """s (xi + rho (1 + s))."""
        return s * (lift(self.xi) + lift(self.exact_rho) * (1 + s))

    def kl(self) -> arb:
        """xi + rho."""
        return lift(self.rho_fraction)

    def peak(self) -> Peak:
        """At order 1."""
        return Peak(lift(self.rho_fraction), arb(1))

    def witness(self) -> arb:
        """Nothing is known from below."""
        return arb(0)
