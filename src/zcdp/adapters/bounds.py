"""A guarantee of which nothing more is known: a Renyi divergence of at most xi + rho alpha at every order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Value, literal, rational
from zcdp.numeric.functions import Number
from zcdp.privacy.curve import Peak

__all__ = ["RhoAlone"]


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
