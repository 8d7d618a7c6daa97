"""Arrays of doubles: matrix products on one core, and e^{i k angle} and e^{-x} with proven errors.

`product` multiplies matrices in pieces so small that the linear algebra library does not use several threads. Larger
products are divided among threads that wait for each other; on a busy machine they take twice as long or more
(benchmarks/busy_cores.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import mul
from typing import TYPE_CHECKING, Any, TypeVar

from flint import acb, arb

from zcdp.numeric.balls import Undecided, at_precision, trusted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decays", "power", "product", "wave_table", "waves"]

T = TypeVar("T")


# The most multiplications in one piece of a matrix-vector and of a matrix-matrix product: one core does so many.
VECTOR_PIECE, MATRIX_PIECE = 4_000, 60_000
LEAST_COLUMNS = 64  # Narrower pieces are slower.


def product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """`left @ right`, of a matrix and a vector or of two matrices; sums are added up in another sequence than there.

    >>> import numpy
    >>> product(numpy.eye(3), numpy.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    import numpy as np

    rows, inner = left.shape
    if right.ndim == 1:
        height = max(VECTOR_PIECE // max(inner, 1), 1)
        return np.concatenate([left[n : n + height] @ right for n in range(0, rows, height)])
    columns = right.shape[1]
    width = min(max(MATRIX_PIECE // max(rows * inner, 1), LEAST_COLUMNS), columns)
    depth = max(MATRIX_PIECE // max(rows * width, 1), 1)
    whole = np.empty((rows, columns), np.result_type(left, right))
    for n in range(0, columns, width):
        pieces = [left[:, k : k + depth] @ right[k : k + depth, n : n + width] for k in range(0, inner, depth)]
        whole[:, n : n + width] = sum(pieces[1:], pieces[0])
    return whole


# Arrays of e^{i k angle} and of e^{-x} in doubles, with proven errors: a correctly rounded table times a short series.
#
# Theorem: docs/theorems/doubles.md.

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]
    Floats = NDArray[np.float64]


CIRCLE_POINTS, CIRCLE_BITS = 1024, 10  # The table of e^{2 pi i t} has 1024 = 2^10 points.
STEPS_PER_UNIT, LAST_EXPONENT = 32, 64  # The table of e^{-x} has steps of 1/32 and ends at x = 64.
TURN_BITS = 64  # An angle is a whole number of 2^-64 turns.
TABLE_BITS, TABLE_RADIUS = 128, 2.0**-110  # working precision of the tables, and the largest radius of an entry


def waves(angle: arb, indices: NDArray[np.int64]) -> Complexes:
    """e^{i k angle} for non-negative k < 2^30, each within 32 units of 2^-53; within 6 where all k are below 1024."""
    import numpy as np

    answer: Complexes | None = None
    while True:
        part = _wave(np, angle, indices & (CIRCLE_POINTS - 1))
        answer = part if answer is None else answer * part
        indices = indices >> CIRCLE_BITS
        if not indices.any():
            return answer
        angle = angle * CIRCLE_POINTS


def wave_table(angles: Sequence[arb], indices: NDArray[np.int64]) -> Complexes:
    """e^{ik angle}, one row for each angle: the error of each is at most 6 units of 2^-53, plus k 2^-61."""
    import numpy as np

    turns = np.array([_turns(angle) for angle in angles], dtype=np.uint64)
    answer: Complexes = _at_places(np, turns[:, None] * indices.astype(np.uint64))
    return answer


def _turns(angle: arb) -> int:
    """The angle modulo one turn, in units of 2^-64 turns, certified to 0.51 units."""
    turns = angle / (2 * arb.pi()) * arb(2) ** TURN_BITS
    if not turns.is_finite():
        raise Undecided
    whole = int((turns.mid() + arb(1) / 2).floor().mid().fmpz())
    if not abs(turns - whole) < 0.51:
        raise Undecided
    return whole % (1 << TURN_BITS)


def _wave(np: Any, angle: arb, indices: Any) -> Any:
    """e^{i k angle} for k < 1024: multiples of the rounded angle are exact in integers modulo 2^64, one turn."""
    return _at_places(np, indices.astype(np.uint64) * np.uint64(_turns(angle)))


def _at_places(np: Any, places: Any) -> Any:
    """e^{2 pi i t} at t = places 2^-64: the table at the leading 10 bits of t, times a series in the other 54."""
    r = (places & np.uint64((1 << (TURN_BITS - CIRCLE_BITS)) - 1)).astype(float) * (2 * np.pi / 2.0**TURN_BITS)
    square = r * r
    cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30))
    sine = r * (1 - square / 6 * (1 - square / 20))
    return _circle()[(places >> np.uint64(TURN_BITS - CIRCLE_BITS)).astype(np.int64)] * (cosine + 1j * sine)


def decays(x: Floats) -> Floats:
    """e^{-x} for x >= 0, with an absolute error of at most 2^-50: a table times a series; 0 from x = 64 on."""
    import numpy as np

    whole = np.minimum(np.floor(x * STEPS_PER_UNIT), STEPS_PER_UNIT * LAST_EXPONENT)
    r = np.minimum(x - whole / STEPS_PER_UNIT, 1 / STEPS_PER_UNIT)
    series = 1 - r * (1 - r / 2 * (1 - r / 3 * (1 - r / 4 * (1 - r / 5 * (1 - r / 6 * (1 - r / 7))))))
    answer: Floats = np.where(
        whole < STEPS_PER_UNIT * LAST_EXPONENT, _exponentials()[whole.astype(np.int64)] * series, 0.0
    )
    return answer


@cache
def _circle() -> Complexes:
    """e^{2 pi i n/1024} for n < 1024."""
    import numpy as np

    def points() -> list[complex]:
        return [_point(acb(0, 2 * arb.pi() * n / CIRCLE_POINTS).exp()) for n in range(CIRCLE_POINTS)]

    return np.array(at_precision(TABLE_BITS, points))


@cache
def _exponentials() -> Floats:
    """e^{-n/32} for n <= 32 * 64."""
    import numpy as np

    def values() -> list[float]:
        return [trusted((-arb(n) / STEPS_PER_UNIT).exp()) for n in range(STEPS_PER_UNIT * LAST_EXPONENT + 1)]

    return np.array(at_precision(TABLE_BITS, values))


def _point(value: acb) -> complex:
    return complex(trusted(value.real, within=TABLE_RADIUS), trusted(value.imag, within=TABLE_RADIUS))


def power(base: T, count: int, multiply: Callable[[T, T], T] = mul) -> T:
    """base^count for count >= 1 by repeated squaring; by default element by element."""
    answer = None
    while count:
        if count % 2:
            answer = base if answer is None else multiply(answer, base)
        count //= 2
        if count:
            base = multiply(base, base)
    assert answer is not None
    return answer
