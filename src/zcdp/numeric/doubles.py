"""Products of matrices of doubles in pieces so small that each stays on one core.

A linear algebra library divides larger ones among threads that wait for each other: where other programs do the same,
they take twice as long and more (benchmarks/busy_cores.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from flint import acb, arb

from zcdp.numeric.balls import Undecided, at_precision, trusted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decays", "product", "wave_table", "waves"]


VECTOR, MATRIX = 4_000, 60_000  # products of numbers that stay on one core
NARROW = 64  # columns: fewer at a time take longer


def product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """`left @ right`, of a matrix and a vector or of two matrices; the order of the sums is another.

    >>> import numpy
    >>> product(numpy.eye(3), numpy.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    import numpy as np

    rows, inner = left.shape
    if right.ndim == 1:
        height = max(VECTOR // max(inner, 1), 1)
        return np.concatenate([left[n : n + height] @ right for n in range(0, rows, height)])
    columns = right.shape[1]
    width = min(max(MATRIX // max(rows * inner, 1), NARROW), columns)
    depth = max(MATRIX // max(rows * width, 1), 1)
    whole = np.empty((rows, columns), np.result_type(left, right))
    for n in range(0, columns, width):
        pieces = [left[:, k : k + depth] @ right[k : k + depth, n : n + width] for k in range(0, inner, depth)]
        whole[:, n : n + width] = sum(pieces[1:], pieces[0])
    return whole


# Arrays of e^{i k angle} and of e^{-x} in doubles, each with a proven error: from correctly rounded tables.
#
# Theorem: docs/theorems/doubles.md.

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]
    Floats = NDArray[np.float64]


SIZE, SIZE_BITS = 1024, 10  # of a table of e^{2 pi i t}
PER_UNIT, LAST_UNIT = 32, 64  # of a table of e^{-x}
TURN = 64  # bits of an angle, as a part of a whole turn
TABLE_BITS, KNOWN = 128, 2.0**-110


def waves(angle: arb, indices: NDArray[np.int64]) -> Complexes:
    """e^{i k angle} for non-negative k < 2^30, each within 32 units of 2^-53; within 6 where all k are below 1024."""
    import numpy as np

    answer: Complexes | None = None
    while True:
        part = _wave(np, angle, indices & (SIZE - 1))
        answer = part if answer is None else answer * part
        indices = indices >> SIZE_BITS
        if not indices.any():
            return answer
        angle = angle * SIZE


def wave_table(angles: Sequence[arb], indices: NDArray[np.int64]) -> Complexes:
    """e^{ik angle}, a row for each angle: within 6 units of 2^-53 and k 2^-61."""
    import numpy as np

    turns = np.array([_turns(angle) for angle in angles], dtype=np.uint64)
    answer: Complexes = _at_places(np, turns[:, None] * indices.astype(np.uint64))
    return answer


def _turns(angle: arb) -> int:
    """The angle in parts of 2^-64 of a whole turn, to the nearest."""
    turns = angle / (2 * arb.pi()) * arb(2) ** TURN
    if not turns.is_finite():
        raise Undecided
    whole = int((turns.mid() + arb(1) / 2).floor().mid().fmpz())
    if not abs(turns - whole) < 0.51:
        raise Undecided
    return whole % (1 << TURN)


def _wave(np: Any, angle: arb, indices: Any) -> Any:
    """For k < 1024: multiples of the angle in whole turns of 2^64, exactly."""
    return _at_places(np, indices.astype(np.uint64) * np.uint64(_turns(angle)))


def _at_places(np: Any, places: Any) -> Any:
    """A table, and a series for the rest."""
    r = (places & np.uint64((1 << (TURN - SIZE_BITS)) - 1)).astype(float) * (2 * np.pi / 2.0**TURN)
    square = r * r
    cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30))
    sine = r * (1 - square / 6 * (1 - square / 20))
    return _circle()[(places >> np.uint64(TURN - SIZE_BITS)).astype(np.int64)] * (cosine + 1j * sine)


def decays(x: Floats) -> Floats:
    """e^{-x} for x >= 0, within 2^-50 of 1 of the truth: from a table and a series; 0 from x = 64 on."""
    import numpy as np

    whole = np.minimum(np.floor(x * PER_UNIT), PER_UNIT * LAST_UNIT)
    r = np.minimum(x - whole / PER_UNIT, 1 / PER_UNIT)
    series = 1 - r * (1 - r / 2 * (1 - r / 3 * (1 - r / 4 * (1 - r / 5 * (1 - r / 6 * (1 - r / 7))))))
    answer: Floats = np.where(whole < PER_UNIT * LAST_UNIT, _exponentials()[whole.astype(np.int64)] * series, 0.0)
    return answer


@cache
def _circle() -> Complexes:
    import numpy as np

    def points() -> list[complex]:
        return [_point(acb(0, 2 * arb.pi() * n / SIZE).exp()) for n in range(SIZE)]

    return np.array(at_precision(TABLE_BITS, points))


@cache
def _exponentials() -> Floats:
    import numpy as np

    def values() -> list[float]:
        return [trusted((-arb(n) / PER_UNIT).exp()) for n in range(PER_UNIT * LAST_UNIT + 1)]

    return np.array(at_precision(TABLE_BITS, values))


def _point(value: acb) -> complex:
    return complex(trusted(value.real, within=KNOWN), trusted(value.imag, within=KNOWN))


def power(base: Complexes, count: int) -> Complexes:
    """base^count, by squares."""
    answer = None
    while count:
        if count % 2:
            answer = base if answer is None else answer * base
        count //= 2
        if count:
            base = base * base
    assert answer is not None
    return answer
