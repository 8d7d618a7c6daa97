"""Bits drawn eight at a time: the law of a byte, and what becomes of bits that are reported again."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded
from mpmath import mp, mpf
from samplers.laws import exact, real

from zcdp.numeric.balls import at_precision
from zcdp.samplers import reports as unary
from zcdp.samplers.reports import noisy_bits


@pytest.mark.parametrize("d", [1, 3, 8, 13, 16, 17])
def test_each_bit_is_drawn_by_the_chance_of_what_it_was(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were 1 come from one table, those that were 0 from the other, and beyond the last all are 0."""
    width, bits = (d + 7) // 8, seeded(d)
    tables: dict[str, Any] = {}

    class Table:
        def __init__(self, law: Any, *, first: int, second: int) -> None:
            never = at_precision(80, lambda: law.cdf(0))  # (1 - q)^8: no bit is set
            self.drawn = np.frombuffer(bits(9 * width), dtype=np.uint8)
            tables["kept" if never < 0.5 else "risen"] = self.drawn

        def draw(self, count: int, source: Any, dtype: Any) -> Any:
            assert count == 9 * width
            return self.drawn

    monkeypatch.setattr(unary, "LazyTable", Table)
    rows = np.frombuffer(bits(9 * width), dtype=np.uint8).reshape(9, width).copy()
    rows[:, -1] &= 0xFF00 >> (d % 8 or 8) & 0xFF
    out = noisy_bits(rows, real(Fraction(99, 100)), real(Fraction(1, 100)), d)
    was, now, kept, risen = (
        np.unpackbits(x.reshape(9, width), axis=1)[:, :d] for x in (rows, out, tables["kept"], tables["risen"])
    )
    assert np.array_equal(now, np.where(was == 1, kept, risen))
    assert not np.unpackbits(out, axis=1)[:, d:].any()


def test_ones_and_zeros_are_reported_by_their_own_chances() -> None:
    """7/10 and 1/5, of bits in every place of a byte, and of one row as of many."""
    d, count = 11, 6000
    rows = np.packbits(np.tile([1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1], (count, 1)), axis=1)
    out = np.unpackbits(noisy_bits(rows, real(Fraction(7, 10)), real(Fraction(1, 5)), d, seeded(4)), axis=1)
    for place, (was, share) in enumerate(zip(np.unpackbits(rows[0])[:d], out[:, :d].mean(axis=0), strict=True)):
        chance = 0.7 if was else 0.2
        assert abs(share - chance) < 5 * (chance * (1 - chance) / count) ** 0.5, place
    assert noisy_bits(rows[0], real(Fraction(7, 10)), real(Fraction(1, 5)), d, seeded(4)).shape == (2,)


@pytest.mark.parametrize("q", [Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1, 10**12)], ids=str)
def test_a_byte_is_eight_independent_bits(q: Fraction) -> None:
    law = unary._byte_law(real(q))
    total = Fraction(0)
    with mp.workdps(60):
        for byte in range(256):
            ones = bin(byte).count("1")
            total += q**ones * (1 - q) ** (8 - ones)
            ball = at_precision(150, lambda byte=byte: law.cdf(byte))
            assert abs(mpf(ball.str(50, radius=False)) - exact(total)) < mpf(10) ** -40
    assert (law.least, law.most, law.window) == (0, 255, range(256))
