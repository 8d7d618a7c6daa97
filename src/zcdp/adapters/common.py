"""Parts shared by the adapters: directed rounding to floats, checks of versions, and a guarantee known by rho alone."""

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


# Versions: an adapter warns if the installed version of its library is not one that it was tested with.


class UntestedVersion(UserWarning):
    """The installed version was not tested: it may draw noise from other distributions than the proven ones."""


def installed(package: str, extra: str) -> str:
    """The installed version of the package; raises `MissingExtra`, with the command to install it, if there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        raise MissingExtra(f"this needs {package}, which is not installed", extra=extra, name=package) from None


def warn_unless(package: str, extra: str, tested: tuple[str, ...]) -> None:
    """Warn with `UntestedVersion` if the installed version is not one of the tested ones."""
    found = installed(package, extra)
    if found not in tested:
        warnings.warn(
            f"{package} {found} is installed, and zcdp's bridge was tested with {', '.join(tested)}: "
            "what it says is proven for the laws that those draw from",
            UntestedVersion,
            stacklevel=3,
        )


# A guarantee of which only a Renyi curve is known: D(alpha) <= xi + rho alpha at every order alpha.


@dataclass(frozen=True, init=False, repr=False)
class RhoAlone(Mechanism):
    """A mechanism known to be (xi, rho)-zCDP, D(alpha) <= xi + rho alpha, and without a dominating pair.

    Its (epsilon, delta) is converted from that curve: the profile of Gaussian noise of the same rho would be too low.
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
        """None: no bound on the privacy loss is known."""
        return

    @property
    def is_tight(self) -> bool:
        """False: rho is only an upper bound."""
        return False

    @property
    def rho_fraction(self) -> Fraction:
        """xi + rho, the supremum of (xi + rho alpha)/alpha over alpha >= 1, attained at order 1."""
        return self.exact_rho + self.xi

    def cumulant(self, s: Number) -> Number:
        """The bound s (xi + rho (1 + s)) on K(s), where s = alpha - 1."""
        return s * (lift(self.xi) + lift(self.exact_rho) * (1 + s))

    def kl(self) -> arb:
        """The bound on the KL divergence: xi + rho."""
        return lift(self.rho_fraction)

    def peak(self) -> Peak:
        """rho of the curve, xi + rho, attained at order 1."""
        return Peak(lift(self.rho_fraction), arb(1))

    def witness(self) -> arb:
        """The lower bound 0: nothing is known from below."""
        return arb(0)
