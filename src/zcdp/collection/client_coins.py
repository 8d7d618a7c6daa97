"""Exact coins and uniform numbers from a stream of bytes, in integers alone, as every client program draws them.

A coin of probability p compares the stream, byte by byte, with the digits of p in base 256: the first byte that differs
decides. The digits are exact, so that programs in other languages read the same bytes in the same order and come to the
same result. `zcdp.samplers` has the same laws and is faster on arrays, but reads its bytes in another order.
Theorem: docs/theorems/client-coins.md.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from zcdp.numeric.exact import Exact, Log, rational_root
from zcdp.samplers.source import Source

__all__ = ["Chance", "Power", "below", "distinct_below"]


class Power:
    """The number x = e^-epsilon, or e^-(epsilon/2), strictly between 0 and 1.

    It is a rational, the root of a rational, or e to a rational power; `around` encloses the last two, which are
    irrational.

    >>> Power(Log(Fraction(9)), half=True).exact
    Fraction(1, 3)
    >>> low, high = Power(Fraction(1)).around(20)
    >>> low < 2**20 * 0.36787944 < high <= low + 3
    True
    """

    def __init__(self, epsilon: Exact, *, half: bool = False) -> None:
        self.exact: Fraction | None = None
        self._square = self._exponent = Fraction(0)
        if not isinstance(epsilon, Log):
            self._exponent = epsilon / 2 if half else epsilon
            return
        self._square = 1 / epsilon.argument
        self.exact = rational_root(self._square) if half else self._square

    def around(self, bits: int) -> tuple[int, int]:
        """Integers strictly below and strictly above x 2^bits; for an irrational x."""
        if self._square:
            scaled = self._square * 4**bits
            low = isqrt(scaled.numerator // scaled.denominator)
            return low, low + 1
        return _exponential(self._exponent, bits)


def _exponential(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Integers strictly below and strictly above 2^bits e^-exponent, for a positive rational exponent.

    With t = exponent/2^halvings at most 1/2, the sum of the series of e^-t lies between any two sums that follow each
    other; then it is squared `halvings` times. Each step rounds outwards.
    """
    halvings = max(0, (exponent.numerator // exponent.denominator).bit_length() + 1)
    top, bottom = exponent.numerator, exponent.denominator << halvings
    fine = bits + halvings + 16
    low = high = 0
    below_, above = 1 << fine, 1 << fine  # around the size of the term t^n/n!
    n = 0
    while above > 1:
        low, high = (low + below_, high + above) if n % 2 == 0 else (low - above, high - below_)
        n += 1
        below_, above = below_ * top // (bottom * n), -(-above * top // (bottom * n))
    high += above  # the first term left out, of either sign
    low -= above
    for _ in range(halvings):
        low, high = max(low, 0) ** 2 >> fine, -(-(high**2) >> fine)
    shift = fine - bits
    return (low >> shift) - 1, (high >> shift) + 1


class Chance:
    """The probability (a + b x)/(c + d x), by its digits in base 256; x is a `Power`, and without it p is a/c.

    >>> third = Chance(1, 3)
    >>> [third.digit(n) for n in (0, 1)]
    [85, 85]
    >>> third.flip(lambda count: bytes([84]) * count)
    True
    """

    def __init__(self, a: int, c: int, b: int = 0, d: int = 0, x: Power | None = None) -> None:
        self._form, self._x = (a, b, c, d), x
        self._rational: Fraction | None = Fraction(a, c) if x is None else None
        if x is not None and x.exact is not None:
            self._rational = (a + b * x.exact) / (c + d * x.exact)
        self._digits: list[int] = []

    @classmethod
    def of(cls, p: Fraction) -> Chance:
        """A rational probability."""
        return cls(p.numerator, p.denominator)

    def digit(self, n: int) -> int:
        """Digit n of p in base 256, from 0."""
        while len(self._digits) <= n:
            self._digits.append(self._floor(len(self._digits) + 1) & 255)
        return self._digits[n]

    def _floor(self, n: int) -> int:
        """The floor of 256^n p."""
        scale = 1 << 8 * n
        if self._rational is not None:
            return self._rational.numerator * scale // self._rational.denominator
        assert self._x is not None
        bits = 8 * n + 64
        while True:
            low, high = sorted(self._at(end, bits) for end in self._x.around(bits))
            least = low.numerator * scale // low.denominator
            most = -(-high.numerator * scale // high.denominator) - 1  # p is strictly below the upper end
            if least == most:
                return least
            bits *= 2

    def _at(self, x: int, bits: int) -> Fraction:
        """The value at x/2^bits, which is between 0 and 1: the ends of an enclosure beyond are moved there."""
        a, b, c, d = self._form
        unit = 1 << bits
        x = min(max(x, 0), unit)
        return Fraction(a * unit + b * x, c * unit + d * x)

    def flip(self, source: Source) -> bool:
        """True with probability exactly p: the first byte of the stream that is no digit of p decides."""
        n = 0
        while True:
            byte, digit = source(1)[0], self.digit(n)
            if byte != digit:
                return byte < digit
            n += 1


def below(n: int, source: Source) -> int:
    """A uniform integer in 0 .. n-1, from as many bits as n-1 has; those that are too large are drawn again.

    The bits are the last ones of the least number of bytes, the first byte being the most significant.

    >>> stream = iter(b"\\xff\\xff\\x01\\x2b")
    >>> below(300, lambda count: bytes(next(stream) for _ in range(count)))
    299
    """
    size = (n - 1).bit_length()
    count = (size + 7) // 8
    while count:
        drawn = int.from_bytes(source(count), "big") & ((1 << size) - 1)
        if drawn < n:
            return drawn
    return 0


def distinct_below(n: int, count: int, source: Source) -> list[int]:
    """A set of `count` different numbers of 0 .. n-1 in rising order; every set is equally likely.

    Numbers that have come already are drawn again. If more than half of all are asked for, the others are drawn.

    >>> distinct_below(4, 3, lambda count: bytes([2]) * count)
    [0, 1, 3]
    """
    if 2 * count > n:
        left = set(distinct_below(n, n - count, source))
        return [one for one in range(n) if one not in left]
    seen: set[int] = set()
    while len(seen) < count:
        seen.add(below(n, source))
    return sorted(seen)
