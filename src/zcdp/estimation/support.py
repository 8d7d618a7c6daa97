"""Support probabilities p, q and b of a local randomizer, which determine the accuracy of its estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import settled, trusted
from zcdp.numeric.threads import cached_property

__all__ = ["Support"]


@dataclass(frozen=True)
class Support:
    """A report supports a set of values: the true value with probability p, each other value with probability q.

    b is the probability that two given values are both supported if one of them is true.
    The estimate of a frequency is (c/n - q)/(p - q), where c of n reports support the value.
    Theorem: docs/theorems/estimator.md.

    >>> from zcdp import UnaryEncoding
    >>> UnaryEncoding("3/4", "1/4").support.exact
    (Fraction(3, 4), Fraction(1, 4), Fraction(3, 16))
    """

    balls: Callable[[], tuple[arb, arb, arb]]
    """A function that returns balls around p, q and b at the working precision."""

    exact: tuple[Fraction, Fraction, Fraction] | None = None
    """p, q and b as fractions, if they are rational."""

    def _near(self, part: Callable[[tuple[arb, arb, arb]], arb]) -> float:
        """The float nearest to a function of p, q and b, up to 2^-52 of itself."""
        return settled(lambda: trusted(part(self.balls())))

    @cached_property
    def p(self) -> float:
        """The probability that the true value is supported, as the nearest float."""
        return self._near(lambda s: s[0])

    @cached_property
    def q(self) -> float:
        """The probability that a given other value is supported, as the nearest float."""
        return self._near(lambda s: s[1])

    @cached_property
    def b(self) -> float:
        """The probability that the true value and a given other value are both supported, as the nearest float."""
        return self._near(lambda s: s[2])

    @cached_property
    def not_p(self) -> float:
        """1 - p as the nearest float: subtraction from 1 would lose it for a p near 1."""
        return self._near(lambda s: 1 - s[0])

    @cached_property
    def not_q(self) -> float:
        """1 - q as the nearest float."""
        return self._near(lambda s: 1 - s[1])

    @cached_property
    def gain(self) -> float:
        """p - q, the total variation distance of whether a value is supported, between true and other values."""
        return self._near(lambda s: s[0] - s[1])

    def variance(self, frequency: float, *, of: str = "clients") -> float:
        """The variance of the estimate, times the number of reports, at a true frequency.

        The frequency is that among the "clients", or in the "population" that they are drawn from. See
        docs/theorems/estimator.md.
        """
        checked(of)
        if of == "population":
            share = self.q + self.gain * frequency
            return share * (self.not_q - self.gain * frequency) / self.gain**2
        own = frequency * self.p * self.not_p + (1 - frequency) * self.q * self.not_q
        return own / self.gain**2

    def standard_error(self, reports: int, frequency: float, *, of: str = "clients") -> float:
        """The standard error of the estimate from this number of reports, at a true frequency."""
        return sqrt(self.variance(frequency, of=of) / reports)


def checked(of: str) -> None:
    """Raise `BadValue` unless `of` is "clients" or "population"."""
    if of not in ("clients", "population"):
        raise BadValue(f"of ({of!r}) must be 'clients' or 'population'")
