"""One report of each local randomizer as a client draws it, and as bytes on the wire: the reference for all programs.

Which bytes of the stream are read does not depend on the value: what a randomizer may need it always draws. The page
docs/reference/wire-format.md says the same in words, with test vectors that are made here.
Theorem: docs/theorems/client-coins.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zcdp.collection.client_coins import Chance, Power, below, distinct_below
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import (
    RAPPOR,
    BinaryRandomizedResponse,
    HadamardResponse,
    HybridResponse,
    LinearHashing,
    LocalHashing,
    MemoizedRAPPOR,
    OptimizedUnaryEncoding,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from zcdp.numeric.exact import Exact, integer
from zcdp.samplers.reports import digit_count, hadamard_width
from zcdp.samplers.source import Source, secure

__all__ = [
    "ClientRandomizer",
    "answered_rounds",
    "grid_point",
    "kept_chance",
    "reports_from_wire",
    "respond",
    "wire_check",
]


Draw: TypeAlias = Callable[[int, Source], list[int]]
"""From a value and a stream to the numbers of a report: bits, members of a subset, or a single number."""


class ClientRandomizer:
    """A local randomizer on the values 0 .. k-1, drawn one report at a time.

    >>> stream = iter(bytes([255, 3, 250, 2, 7]))
    >>> client = ClientRandomizer(RandomizedResponse(epsilon=1, k=5), 5)
    >>> client.report(4, lambda count: bytes(next(stream) for _ in range(count)))
    b'\\x03'
    """

    def __init__(self, mechanism: Any, k: int) -> None:
        kind = _KINDS.get(type(mechanism))
        if kind is None:
            raise BadType(f"mechanism ({type(mechanism).__name__}) must be one that the wire format specifies")
        self.mechanism, self.k = mechanism, mechanism._values(integer(k, "k", 2))
        self._draw, self._width = kind(mechanism, self.k)
        self._memory = _memory(mechanism, self.k) if isinstance(mechanism, MemoizedRAPPOR) else None

    def report(self, value: int, source: Source = secure) -> bytes:
        """The report of a value, as bytes on the wire."""
        if self._memory:
            raise BadType("RAPPOR with memory reports what `remember` drew once: call `repeat`")
        return self._written(self._draw(self._checked(value), source))

    def remember(self, value: int, source: Source = secure) -> bytes:
        """The permanent bits of `MemoizedRAPPOR`, packed: drawn once for a client, and as secret as the value."""
        if self._memory is None:
            raise BadType(f"{self.mechanism!r} has nothing to remember")
        return self._written(self._memory(self._checked(value), source))

    def repeat(self, memory: bytes, source: Source = secure) -> bytes:
        """The report of one collection of `MemoizedRAPPOR`, from the permanent bits."""
        if self._memory is None:
            raise BadType(f"{self.mechanism!r} has nothing to remember")
        if len(memory) != (self.k + 7) // 8:
            raise BadValue(f"memory must have {(self.k + 7) // 8} bytes, as `remember` gives them")
        return self._written(self._draw(int.from_bytes(memory, "big"), source))

    def _checked(self, value: int) -> int:
        if not 0 <= (held := int(value)) < self.k:
            raise BadValue(f"values must lie in 0 .. {self.k - 1}")
        return held

    def _written(self, numbers: list[int]) -> bytes:
        if self._width is None:
            bits: int = int("".join(map(str, numbers)), 2) << -self.k % 8
            return bits.to_bytes((self.k + 7) // 8, "big")
        return b"".join(one.to_bytes(self._width, "little") for one in numbers)


def reports_from_wire(mechanism: Any, k: int, block: bytes) -> NDArray[Any]:
    """The reports of many clients, their bytes put one after another, as the array that `count` takes.

    >>> reports_from_wire(RandomizedResponse(epsilon=1, k=300), 300, bytes([43, 1, 0, 0]))
    array([299,   0])
    """
    width, members, _ = _form(mechanism, k)
    raw = np.frombuffer(block, dtype=np.uint8)
    length = (k + 7) // 8 if width is None else width * members
    if raw.size % length:
        raise BadValue(f"reports of {mechanism!r} on {k} values have {length} bytes each: {raw.size} are no multiple")
    rows = raw.reshape(-1, length)
    if width is None:
        return rows
    numbers = np.zeros((len(rows), members), dtype=np.int64)
    for place in range(width):
        numbers |= rows[:, place::width].astype(np.int64) << 8 * place
    return numbers if isinstance(mechanism, SubsetSelection) else numbers[:, 0]


def wire_check(mechanism: Any, k: int) -> Callable[[bytes], bool]:
    """Tells of bytes whether they are a report that a client may send: what `count` takes, whoever sent them.

    >>> check = wire_check(RandomizedResponse(epsilon=1, k=300), 300)
    >>> check(bytes([43, 1])), check(bytes([44, 1])), check(bytes([1]))
    (True, False, False)
    """
    width, members, outcomes = _form(mechanism, k)

    def bits(raw: bytes) -> bool:
        return len(raw) == (k + 7) // 8 and not raw[-1] & ((1 << -k % 8) - 1)

    def numbers(raw: bytes) -> bool:
        assert width is not None
        found = [int.from_bytes(raw[n : n + width], "little") for n in range(0, len(raw), width)]
        return len(raw) == width * members and found[-1] < outcomes and all(a < b for a, b in pairwise(found))

    return bits if width is None else numbers


def _form(mechanism: Any, k: int) -> tuple[int | None, int, int]:
    """The bytes of a number (None: bits), how many numbers a report has, and what each is below."""
    width = ClientRandomizer(mechanism, k)._width
    if isinstance(mechanism, SubsetSelection):
        return width, mechanism.size, k
    return width, 1, 2 if width is None else mechanism._outputs(k)


def answered_rounds(rounds: int, answered: int, source: Source = secure) -> list[int]:
    """Which of the rounds 1 .. `rounds` a client answers: a uniform set, drawn once and before any value is seen.

    >>> answered_rounds(3, 3)
    [1, 2, 3]
    """
    return [one + 1 for one in distinct_below(rounds, answered, source)]


def grid_point(number: Fraction | float, low: Fraction, high: Fraction, steps: int, source: Source = secure) -> int:
    """A point 0 .. steps of the grid next to a number of a range: rounded up or down by 64 random bits.

    Up with the probability of the distance to the lower point, rounded down to a multiple of 2^-64. Privacy does not
    rest on this: what is reported about the point is what is accounted.

    >>> grid_point(45.0, Fraction(0), Fraction(120), 4, lambda count: bytes([128]) + bytes(count - 1))
    1
    """
    exact = Fraction(number)
    if not low <= exact <= high:
        raise BadValue(f"numbers must lie between {low} and {high}: clip them first")
    scaled = (exact - low) / (high - low) * steps * (1 << 64)
    point, up = divmod(scaled.numerator // scaled.denominator, 1 << 64)
    return point + (int.from_bytes(source(8), "big") < up)


# The randomizers, each as its draw and the bytes of a number (None: the numbers are bits, packed).

Kind: TypeAlias = Callable[[Any, int], tuple[Draw, int | None]]


def _bytes_for(outputs: int) -> int:
    return max(1, ((outputs - 1).bit_length() + 7) // 8)


def respond(keep: Chance, k: int, value: int, source: Source) -> int:
    """k-ary randomized response: the coin and the uniform number are both drawn, whichever is used."""
    kept, fresh = keep.flip(source), below(k, source)
    return value if kept else fresh


def kept_chance(epsilon: Exact, k: int) -> Chance:
    """(1 - x)/(1 + (k-1) x): the truth is told with e^epsilon/(e^epsilon + k - 1), by chance at times."""
    return Chance(1, 1, -1, k - 1, Power(epsilon))


def _randomized_response(m: RandomizedResponse, k: int) -> tuple[Draw, int | None]:
    keep = kept_chance(m.epsilon, k)
    return lambda value, source: [respond(keep, k, value, source)], _bytes_for(k)


def _binary(m: BinaryRandomizedResponse, k: int) -> tuple[Draw, int | None]:
    chances = Chance.of(m.q), Chance.of(m.p)

    def draw(value: int, source: Source) -> list[int]:
        drawn = [chance.flip(source) for chance in chances]
        return [int(drawn[value])]

    return draw, _bytes_for(k)


def _unary(p: Chance, q: Chance, k: int) -> Draw:
    def draw(value: int, source: Source) -> list[int]:
        bits = [int(q.flip(source)) for _ in range(k)]
        bits[value] = int(p.flip(source))
        return bits

    return draw


def _rappor(m: RAPPOR, k: int) -> tuple[Draw, int | None]:
    x = Power(m.epsilon, half=True)
    return _unary(Chance(1, 1, 0, 1, x), Chance(0, 1, 1, 1, x), k), None


def _unary_encoding(m: UnaryEncoding, k: int) -> tuple[Draw, int | None]:
    return _unary(Chance.of(m.p), Chance.of(m.q), k), None


def _optimized(m: OptimizedUnaryEncoding, k: int) -> tuple[Draw, int | None]:
    return _unary(Chance(1, 2), Chance(0, 1, 1, 1, Power(m.epsilon)), k), None


def _subset(m: SubsetSelection, k: int) -> tuple[Draw, int | None]:
    held = Chance(m.size, m.size, 0, k - m.size, Power(m.epsilon))

    def draw(value: int, source: Source) -> list[int]:
        inside = held.flip(source)
        others = [one + (one >= value) for one in distinct_below(k - 1, m.size, source)]
        replaced = below(m.size, source)
        if inside:
            others[replaced] = value
        return sorted(others)

    return draw, _bytes_for(k)


def _hadamard(m: HadamardResponse, k: int) -> tuple[Draw, int | None]:
    width = hadamard_width(k, m.blocks)
    told = Chance(1, 1, -1, 2 * m.blocks - 1, Power(m.epsilon))

    def draw(value: int, source: Source) -> list[int]:
        block, row = value // (width - 1), value % (width - 1) + 1
        telling, fresh, column = told.flip(source), below(width * m.blocks, source), below(width, source)
        if (row & column).bit_count() % 2:
            column ^= row & -row
        return [block * width + column if telling else fresh]

    return draw, _bytes_for(width * m.blocks)


def _hashing(m: LinearHashing | LocalHashing, k: int) -> tuple[Draw, int | None]:
    m._runs()
    g, digits = m.g, digit_count(k, m.g)
    keep = kept_chance(m.epsilon, g)

    def draw(value: int, source: Source) -> list[int]:
        vector, bucket = [], 0
        for _ in range(digits):
            vector.append(below(g, source))
            bucket = (bucket + vector[-1] * (value % g)) % g
            value //= g
        report = 0
        for one in reversed(vector):
            report = report * g + one
        return [report * g + respond(keep, g, bucket, source)]

    return draw, _bytes_for(g ** (digits + 1))


def _window(epsilon: Exact, steps: int, width: int) -> Callable[[int, Source], int]:
    """A cell inside the window of the input with w/(w + m x), uniform there, else uniform outside."""
    inside = Chance(width, width, 0, steps, Power(epsilon))

    def draw(value: int, source: Source) -> int:
        heads, within, beyond = inside.flip(source), below(width, source), below(steps, source)
        return value + within if heads else beyond + width * (beyond >= value)

    return draw


def _square_wave(m: SquareWave, k: int) -> tuple[Draw, int | None]:
    draw = _window(m.epsilon, m.steps, m.width)
    return lambda value, source: [draw(value, source)], _bytes_for(m._outputs(k))


def _hybrid(m: HybridResponse, k: int) -> tuple[Draw, int | None]:
    share, window, bit = Chance.of(m.share), _window(m.epsilon, m.steps, m.width), _window(m.epsilon, 1, 1)

    def draw(value: int, source: Source) -> list[int]:
        chosen = share.flip(source)
        end = int(below(m.steps, source) < value)
        told, cell = bit(end, source), window(value, source)
        return [cell if chosen else m.steps + m.width + told]

    return draw, _bytes_for(m._outputs(k))


def _memory(m: MemoizedRAPPOR, k: int) -> Draw:
    return _unary(Chance.of(1 - m.f / 2), Chance.of(m.f / 2), k)


def _memoized(m: MemoizedRAPPOR, k: int) -> tuple[Draw, int | None]:
    """The numbers are drawn from the permanent bits, packed and read as one number."""
    chances = Chance.of(m.p), Chance.of(m.q)

    def draw(memory: int, source: Source) -> list[int]:
        bits = []
        for remembered in f"{memory >> -k % 8:0{k}b}":
            drawn = [int(chance.flip(source)) for chance in chances]
            bits.append(drawn[int(remembered)])
        return bits

    return draw, None


_KINDS: dict[type, Kind] = {
    RandomizedResponse: _randomized_response,
    BinaryRandomizedResponse: _binary,
    RAPPOR: _rappor,
    UnaryEncoding: _unary_encoding,
    OptimizedUnaryEncoding: _optimized,
    SubsetSelection: _subset,
    HadamardResponse: _hadamard,
    LocalHashing: _hashing,
    LinearHashing: _hashing,
    SquareWave: _square_wave,
    HybridResponse: _hybrid,
    MemoizedRAPPOR: _memoized,
}
