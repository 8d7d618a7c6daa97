"""How often a report supports a value: the three probabilities that fix the accuracy of a local randomizer."""

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
    """A report supports a set of values: a true value with probability p, each other one with probability q.

    b is the probability that two given values are both supported when one of them is true.
    The estimate of a frequency is (c/n - q)/(p - q), c the reports of n that support the value.
    Theorem: docs/theorems/estimator.md.

    >>> from zcdp import UnaryEncoding
    >>> UnaryEncoding("3/4", "1/4").support.exact
    (Fraction(3, 4), Fraction(1, 4), Fraction(3, 16))
    """

    balls: Callable[[], tuple[arb, arb, arb]]
    """p, q and b at the working precision."""

    exact: tuple[Fraction, Fraction, Fraction] | None = None
    """p, q and b where they are rational."""

    def _near(self, part: Callable[[tuple[arb, arb, arb]], arb]) -> float:
        return settled(lambda: trusted(part(self.balls())))

    @cached_property
    def p(self) -> float:
        """The probability that the true value is supported, to the nearest float."""
        return self._near(lambda s: s[0])

    @cached_property
    def q(self) -> float:
        """The probability that another value is supported."""
        return self._near(lambda s: s[1])

    @cached_property
    def b(self) -> float:
        """The probability that the true value and a given other one are both supported."""
        return self._near(lambda s: s[2])

    @cached_property
    def not_p(self) -> float:
        """1 - p, which no float p near 1 tells."""
        return self._near(lambda s: 1 - s[0])

    @cached_property
    def not_q(self) -> float:
        """1 - q."""
        return self._near(lambda s: 1 - s[1])

    @cached_property
    def gain(self) -> float:
        """p - q, the total variation distance between a true value and another as far as support tells."""
        return self._near(lambda s: s[0] - s[1])

    def variance(self, frequency: float, *, of: str = "clients") -> float:
        """Of one report's estimate, at a true frequency: see docs/theorems/estimator.md."""
        checked(of)
        if of == "population":
            share = self.q + self.gain * frequency
            return share * (self.not_q - self.gain * frequency) / self.gain**2
        own = frequency * self.p * self.not_p + (1 - frequency) * self.q * self.not_q
        return own / self.gain**2

    def standard_error(self, reports: int, frequency: float, *, of: str = "clients") -> float:
        """Of the estimate from so many reports."""
        return sqrt(self.variance(frequency, of=of) / reports)


def checked(of: str) -> None:
    """Whether the clients themselves are meant, or the population that they are drawn from."""
    if of not in ("clients", "population"):
        raise BadValue(f"of ({of!r}) must be 'clients' or 'population'")
