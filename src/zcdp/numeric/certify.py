"""Certified floats: raise the precision of a ball until it pins the value between neighbouring floats."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nextafter
from warnings import warn

from flint import arb

from zcdp.errors import ZcdpError
from zcdp.numeric.balls import Undecided, above, at_precision, below

__all__ = ["NotCertified", "Undecided", "enclose", "failure", "upper_float"]

FIRST_BITS = 128
LAST_BITS = 1 << 16
# A ball this thin that still holds a float in its inside sits on that float (as 9999 + e^-10000 does): stop. At a tiny
# power of two rho is epsilon^2/2 less one part in epsilon^-2, just below a float: 2^-1074 takes 2200 bits to tell.
DECISIVE_BITS = 2400
ENOUGH_BITS = 40


class NotCertified(ZcdpError, ArithmeticError):
    """No certified answer was reached; there is never a number instead."""


def failure(what: str, error: Exception) -> NotCertified:
    """What to raise where a method met with something that it should not have: no answer, and a warning to report it.

    Other methods can then still answer; nothing is passed over in silence.
    """
    warn(f"the {what} failed where it should not, please report it: {error!r}", RuntimeWarning, stacklevel=2)
    return NotCertified(f"the {what} failed: {error!r}")


def enclose(evaluate: Callable[[], arb], *, floor: float = 0.0) -> tuple[float, float]:
    """Floats around the value of `evaluate`, known beforehand to be at least `floor`.

    They are neighbours, or two apart where the value cannot be told from the float between them.

    `evaluate` is run at growing precision (Ziv's strategy), so formulas need no care for cancellation.

    >>> enclose(lambda: (arb(10) ** -30).exp() - 1)
    (9.999999999999999e-31, 1e-30)
    """

    def pin() -> tuple[float, float, bool]:
        ball = evaluate()
        if not ball.is_finite():
            raise Undecided
        lower, upper = max(below(ball), floor), above(ball)
        return lower, upper, upper <= nextafter(lower, inf) or ball.rel_accuracy_bits() >= DECISIVE_BITS

    bits, cause = FIRST_BITS, None
    while bits <= LAST_BITS:
        try:
            lower, upper, done = at_precision(bits, pin)
            if done:
                return lower, upper
        except NotCertified:
            raise
        except (ArithmeticError, ValueError) as error:  # `Undecided`, or of a number that is none: NaN
            cause = error
        bits *= 2
    raise NotCertified(f"no certified value within {LAST_BITS} bits: the parameters are too extreme") from cause


def upper_float(evaluate: Callable[[], arb]) -> float:
    """A float that is not below a positive value, to twelve digits: where the last ones are not worth the effort.

    >>> upper_float(lambda: arb(2).sqrt())
    1.4142135623730951
    """
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        try:
            ball = at_precision(bits, evaluate)
            if ball.is_finite() and ball.rel_accuracy_bits() > ENOUGH_BITS:
                return above(ball)
        except (Undecided, ValueError):
            pass
        bits *= 4
    raise NotCertified(f"no certified value within {LAST_BITS} bits: the parameters are too extreme")
