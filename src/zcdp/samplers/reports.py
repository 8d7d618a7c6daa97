"""Exact samplers of the reports of local randomizers, one after another in this file.

These are k-ary randomized response, unary encoding, subset selection, Hadamard response, linear hashing, and windows
for numbers.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from math import ceil, isqrt, log1p
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.numeric.balls import thin
from zcdp.samplers.coins import Coin
from zcdp.samplers.lazy_inversion import Law, LazyTable, Real
from zcdp.samplers.source import BLOCK, Source, blocks, integers, one_below, secure, words

__all__ = [
    "HadamardReports",
    "LinearHashReports",
    "Response",
    "SubsetSelection",
    "UnaryReports",
    "WindowReports",
    "digit_count",
    "distinct",
    "hadamard_width",
    "noisy_bits",
]


# k-ary randomized response: each value is kept with some probability, else replaced by a uniform one of the k.
#
# To tell the truth with probability e^epsilon/(e^epsilon + k - 1), keep it with probability
# (e^epsilon - 1)/(e^epsilon - 1 + k): the uniform replacement is the truth with probability 1/k.


class Response:
    """k-ary randomized response on the values 0 .. k-1 at an exact epsilon.

    >>> Response(lambda: arb(100), 4).respond(np.array([1, 2, 3]))
    array([1, 2, 3])
    """

    def __init__(self, epsilon: Real, k: int, *, first: int = 16) -> None:
        def keep() -> arb:
            gain = -(-epsilon()).expm1()  # 1 - e^-epsilon: no ball overflows at a large epsilon
            return gain / (gain + k * (-epsilon()).exp())

        self._keep = Coin(keep, first=first)
        self._k = k

    def respond(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One response for each of a one-dimensional array of values, in its type."""
        out = np.empty_like(values)
        for block in blocks(values.size):
            count = block.stop - block.start
            kept = self._keep.flips(count, source)
            fresh = integers(self._k, count, source).astype(values.dtype, copy=False)  # which has room for k - 1
            keeps = np.negative(kept.view(np.int8)).astype(values.dtype)  # all bits or none: faster than a branch
            out[block] = fresh ^ ((fresh ^ values[block]) & keeps)
        return out

    def respond_one(self, value: int, source: Source = secure) -> int:
        """One response."""
        return value if self._keep.flip(source) else one_below(self._k, source)


# Unary encoding: a vector of d bits, of which the true one is 1 with probability p and every other with probability q.
#
# Eight bits are drawn at once: a byte of independent Bernoulli(q) bits has a law on 0 .. 255, drawn from a lazy table.


class UnaryReports:
    """Reports as rows of packed bits: value v is bit 7 - v % 8 of byte v // 8, as numpy.unpackbits reads them.

    >>> sure = UnaryReports(lambda: arb(1) - arb(2) ** -999, lambda: arb(2) ** -999)
    >>> np.unpackbits(sure.report(np.array([1, 9]), 10), axis=1, count=10).argmax(axis=1)
    array([1, 9])
    """

    def __init__(self, p: Real, q: Real, *, first: int = 16, second: int = 62) -> None:
        self._true = Coin(p, first=first)
        self._bytes = LazyTable(_byte_law(q), first=first, second=second)

    def report(self, values: NDArray[Any], d: int, source: Source = secure) -> NDArray[Any]:
        """One row of ceil(d/8) bytes for each value in 0 .. d-1; the bits beyond d are 0."""
        width = (d + 7) // 8
        out = np.empty((values.size, width), dtype=np.uint8)
        flat = out.reshape(-1)
        for start in range(0, flat.size, 2 * BLOCK):
            part = flat[start : start + 2 * BLOCK]
            part[:] = self._bytes.draw(part.size, source, np.uint8)
        if d % 8:
            out[:, -1] &= (0xFF00 >> d % 8) & 0xFF
        column = (values // 8).astype(np.intp)
        bit = np.right_shift(128, (values % 8).astype(np.uint8)).astype(np.uint8)
        rows = np.arange(values.size)
        set_bit = np.where(self._true.flips(values.size, source), bit, np.uint8(0))
        out[rows, column] = out[rows, column] & ~bit | set_bit
        return out

    def report_one(self, value: int, d: int, source: Source = secure) -> NDArray[Any]:
        """One row of ceil(d/8) bytes."""
        cells = memoryview(source(2 * ((d + 7) // 8))).cast("H")
        report = bytearray(self._bytes.draw_few(cells.tolist(), source))
        bit = 128 >> value % 8
        report[value // 8] = report[value // 8] & ~bit | (bit if self._true.flip(source) else 0)
        if d % 8:
            report[-1] &= (0xFF00 >> d % 8) & 0xFF
        return np.frombuffer(report, dtype=np.uint8)


def noisy_bits(rows: NDArray[Any], one: Real, zero: Real, d: int, source: Source = secure) -> NDArray[Any]:
    """Randomizes each of the d packed bits of each row: a 1 stays 1 with probability `one`, a 0 turns 1 with `zero`."""
    flat = rows.reshape(-1)
    out = np.empty_like(flat)
    ones, zeros = (LazyTable(_byte_law(chance), first=16, second=62) for chance in (one, zero))
    for start in range(0, flat.size, 2 * BLOCK):
        part = flat[start : start + 2 * BLOCK]
        kept, risen = (table.draw(part.size, source, np.uint8) for table in (ones, zeros))
        out[start : start + 2 * BLOCK] = (part & kept) | (~part & risen)
    shaped = out.reshape(rows.shape)
    if d % 8:
        shaped[..., -1] &= (0xFF00 >> d % 8) & 0xFF
    return shaped


def _byte_law(q: Real) -> Law:
    """The law of a byte of eight independent bits, each 1 with probability q."""

    @lru_cache(maxsize=4)
    def sums(bits: int) -> list[arb]:
        one = q() + arb(0, arb(2) ** (-2 * bits))  # widened, as powers of a tiny q must not underflow
        masses = [one**ones * (1 - one) ** (8 - ones) for ones in range(9)]
        totals = list(accumulate(masses[byte.bit_count()] for byte in range(256)))
        thin(totals[-1])  # raises `Undecided` for wide balls, which must not stay in the cache
        return totals

    return Law(lambda byte: sums(ctx.prec)[byte], range(256), 0, 255)


# Subset selection: a random w-subset of 0 .. k-1, which contains the true value with a chosen probability.


class SubsetSelection:
    """Draws a w-subset with weight e^epsilon if it contains the value, else 1 (Ye and Barg 2018).

    The value is in with probability w e^epsilon/(w e^epsilon + k - w); the rest is a uniform subset of the others.

    >>> SubsetSelection(lambda: arb(100), 5, 1).report(np.array([3, 0])).tolist()
    [[3], [0]]
    """

    def __init__(self, epsilon: Real, k: int, w: int, *, first: int = 16) -> None:
        if k > 1 << 63:
            raise BadValue(f"k ({k}) must be at most 2^63 for reports in 64 bits")

        def held() -> arb:
            return w / (w + (k - w) * (-epsilon()).exp())

        self._held, self._k, self._w = Coin(held, first=first), k, w

    def report(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One row of w increasing numbers for each value."""
        values = values.astype(np.int64)
        held = self._held.flips(values.size, source)
        # w distinct numbers among the other k-1 values; where the value is in, it replaces the last of them
        others = distinct(self._k - 1, self._w, values.size, source)
        others += others >= values[:, None]  # numbers from the value on move up by 1
        others[held, -1] = values[held]
        others.sort(axis=1)  # the sequence in which they were drawn would tell the value
        return others


def distinct(n: int, w: int, count: int, source: Source) -> NDArray[Any]:
    """`count` rows of w distinct numbers below n; every sequence of distinct numbers is equally likely.

    For w up to n/2 a row has the first w distinct ones of some uniform numbers; for larger w it has the positions of
    the w least of n random words. A row with too few distinct numbers, or with two equal words, is drawn again: whether
    that happens does not depend on which number is which, and so every sequence remains equally likely.

    >>> from zcdp.samplers.source import secure
    >>> sorted(distinct(3, 3, 1, secure)[0].tolist())
    [0, 1, 2]
    """
    out = np.empty((count, w), dtype=np.int64)
    if w == 1:
        out[:, 0] = integers(n, count, source)
        return out
    draw, width = (_first_places, n) if 2 * w > n else (_first_seen, _enough(n, w))
    rows = max(1, BLOCK // width)
    for start in range(0, count, rows):
        part = out[start : start + rows]
        missing = np.arange(len(part))
        while missing.size:
            drawn, good = draw(n, w, missing.size, source)
            part[missing[good]] = drawn
            missing = missing[~good]
    return out


def _enough(n: int, w: int) -> int:
    """How many uniform numbers below n to draw to find w distinct ones, usually: n log(n/(n-w)), and some more."""
    return ceil(w if n > 1 << 40 else -n * log1p(-w / n)) + isqrt(w) + 2


def _first_seen(n: int, w: int, count: int, source: Source) -> tuple[NDArray[Any], NDArray[Any]]:
    """The first w distinct numbers of each row of uniform numbers that has so many, and which rows these are."""
    width = _enough(n, w)
    drawn = integers(n, count * width, source).reshape(count, width)
    sorting = drawn.argsort(axis=1, kind="stable")
    ranked = np.take_along_axis(drawn, sorting, axis=1)
    new = np.ones(drawn.shape, dtype=bool)
    np.put_along_axis(new, sorting[:, 1:], ranked[:, 1:] != ranked[:, :-1], axis=1)
    seen = new.cumsum(axis=1)
    good = seen[:, -1] >= w
    new &= seen <= w
    return drawn[good][new[good]].reshape(-1, w).astype(np.int64), good


def _first_places(n: int, w: int, count: int, source: Source) -> tuple[NDArray[Any], NDArray[Any]]:
    """The positions of the w least of n random words, for each row without equal words, and which rows these are."""
    keys = words(count * n, np.uint64, source).reshape(count, n)
    sorting = keys.argsort(axis=1)
    ranked = np.take_along_axis(keys, sorting, axis=1)
    good = (ranked[:, 1:] != ranked[:, :-1]).all(axis=1)
    return sorting[good, :w], good


# Hadamard response: a uniform output, or a uniform one among those where the value's row, in its block, has sign +1.


def hadamard_width(k: int, parts: int) -> int:
    """The size of a block: the least power of two with rows enough, not counting constant ones, for k values.

    `parts` is the number of blocks.

    >>> hadamard_width(7, 1), hadamard_width(8, 1), hadamard_width(2, 2)
    (8, 16, 2)
    """
    rows = -(-k // parts)
    return 1 << rows.bit_length()


class HadamardReports:
    """Draws outputs with weight e^epsilon where the value's row has sign +1, and weight 1 everywhere else.

    Value v has row 1 + v % (width - 1) of block v // (width - 1); output y of this block has the sign (-1)^|row & y|.
    With probability (e^epsilon - 1)/(e^epsilon - 1 + 2 parts), `parts` the number of blocks, the output is a uniform
    one of sign +1, else any uniform one.

    >>> HadamardReports(lambda: arb(100), 3, 1).report(np.array([0])).tolist()[0] in (0, 2)
    True
    """

    def __init__(self, epsilon: Real, k: int, parts: int, *, first: int = 16) -> None:
        if k > 1 << 31:
            raise BadValue(f"k ({k}) must be at most 2^31 for Hadamard response to be run")

        def told() -> arb:
            gain = -(-epsilon()).expm1()
            return gain / (gain + 2 * parts * (-epsilon()).exp())

        self._told, self._parts, self._width = Coin(told, first=first), parts, hadamard_width(k, parts)

    def report(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One output for each of a one-dimensional array of values."""
        width = self._width
        out = np.empty(values.size, dtype=np.int64)
        for block in blocks(values.size):
            count = block.stop - block.start
            value = values[block].astype(np.int64)
            part, row = value // (width - 1), value % (width - 1) + 1
            told = self._told.flips(count, source)
            fresh = integers(width * self._parts, count, source).astype(np.int64)
            column = integers(width, count, source).astype(np.int64)
            odd = _parity(row & column)
            column ^= np.where(odd, row & -row, 0)  # flipping one bit of the row flips the sign: a bijection
            out[block] = np.where(told, part * width + column, fresh)
        return out


def _parity(numbers: NDArray[Any]) -> NDArray[Any]:
    """1 if the number of set bits is odd, else 0, for numbers below 2^32; numpy can count bits from version 2 only."""
    for shift in (16, 8, 4, 2, 1):
        numbers = numbers ^ (numbers >> shift)
    return numbers & 1


# Linear hashing: a fresh vector a over Z_g is part of the report, and <a, v> mod g goes through randomized response.

LARGEST_REPORT = 1 << 62  # reports are below this number


def digit_count(k: int, g: int) -> int:
    """The number of digits in base g of the values below k.

    >>> digit_count(9, 3), digit_count(10, 3)
    (2, 3)
    """
    count = 1
    while g**count < k:
        count += 1
    return count


class LinearHashReports:
    """Reports (a, z) as one number a g + z: a and the value v are vectors of digits in base g, z is the noisy <a, v>.

    >>> from flint import arb
    >>> report = LinearHashReports(lambda: arb(100), 3, 9).report(np.array([5]))[0]  # 5 = 2 + 1 * 3
    >>> a, z = divmod(int(report), 3)
    >>> (a % 3 * 2 + a // 3 * 1) % 3 == z
    True
    """

    def __init__(self, epsilon: Real, g: int, k: int, *, first: int = 16) -> None:
        self._digits = digit_count(k, g)
        if g ** (self._digits + 1) > LARGEST_REPORT:
            raise BadValue(f"g ({g}) and k ({k}) must give reports of at most 62 bits")
        self._g, self._response = g, Response(epsilon, g, first=first)

    def report(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One report for each of a one-dimensional array of values."""
        out = np.empty(values.size, dtype=np.int64)
        for block in blocks(values.size):
            vector = integers(self._g**self._digits, block.stop - block.start, source).astype(np.int64)
            bucket = hashed(vector, values[block].astype(np.int64), self._g, self._digits)
            out[block] = vector * self._g + self._response.respond(bucket, source)
        return out


def hashed(vector: NDArray[Any], values: NDArray[Any], g: int, digits: int) -> NDArray[Any]:
    """<a, v> mod g for vectors and values that are given as numbers in base g."""
    total = np.zeros(np.broadcast(vector, values).shape, dtype=np.int64)
    for _ in range(digits):
        total = (total + vector % g * (values % g)) % g
        vector, values = vector // g, values // g
    return total


# Windows, for numbers: input i of 0 .. m has the window of outputs i .. i+w-1, out of m + w.


class WindowReports:
    """Draws outputs with weight e^epsilon inside the window of the input, and weight 1 outside.

    The output is inside with probability w e^epsilon/(w e^epsilon + m), and uniform there, else uniform outside.

    >>> WindowReports(lambda: arb(100), 4, 2).report(np.array([3])).tolist()[0] in (3, 4)
    True
    """

    def __init__(self, epsilon: Real, steps: int, width: int, *, first: int = 16) -> None:
        self._inside = Coin(lambda: width / (width + steps * (-epsilon()).exp()), first=first)
        self._steps, self._width = steps, width

    def report(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One output for each of a one-dimensional array of inputs."""
        out = np.empty(values.size, dtype=np.int64)
        for block in blocks(values.size):
            count, value = block.stop - block.start, values[block].astype(np.int64)
            inside = self._inside.flips(count, source)
            within = integers(self._width, count, source).astype(np.int64)
            beyond = integers(self._steps, count, source).astype(np.int64)
            out[block] = np.where(inside, value + within, beyond + self._width * (beyond >= value))
        return out
