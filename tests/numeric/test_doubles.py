"""Arrays of doubles: waves and decays as near as is said, products in pieces whole."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpc, mpf

from zcdp.numeric.balls import at_precision
from zcdp.numeric.doubles import decays, power, product, wave_table, waves


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(40):
        yield


def test_waves_and_decays_in_doubles_are_as_near_as_is_said() -> None:
    """Each of 700 indices of every size, below 1024 and far above; and arguments across the table's steps."""
    random = Random(8)
    for angle in (0.001, 1.0, -2.5, 3.14159, 500.25):
        small = np.array(sorted([*random.sample(range(1024), 40), 0, 1, 511, 512, 1023]))
        large = np.array([random.randrange(1 << bits) for bits in range(11, 31)] + [1024, 1025, 1 << 20, (1 << 30) - 1])
        table = at_precision(128, lambda a=angle, k=small: wave_table([arb(a), arb(a) / 7], k))
        for indices, units in ((small, 6), (large, 32)):
            found = at_precision(128, lambda a=angle, k=indices: waves(arb(a), k))
            for k, value in zip(indices.tolist(), found.tolist(), strict=True):
                assert abs(mpc(value) - mp.expj(mpf(angle) * k)) <= mpf(units) * mpf(2) ** -53
        for row, part in zip(table, (mpf(angle), mpf(angle) / 7), strict=True):
            for k, value in zip(small.tolist(), row.tolist(), strict=True):
                assert abs(mpc(value) - mp.expj(part * k)) <= 6 * mpf(2) ** -53 + k * mpf(2) ** -61
    x = np.concatenate(
        [np.linspace(0, 66, 700), np.arange(66) + 1 / 32, np.nextafter(np.arange(1, 66) / 32, 0), [64.0]]
    )
    for place, value in zip(x.tolist(), decays(x).tolist(), strict=True):
        assert abs(mpf(value) - mp.exp(-mpf(place))) <= mpf(2) ** -50
    base = np.array([0.9 + 0.3j, -0.2j, 1.1 + 0j])
    for count in (1, 2, 3, 6, 7, 12, 33):
        assert power(base, count) == pytest.approx(base**count, rel=1e-12)


@settings(max_examples=15)
@given(st.integers(1, 40), st.integers(1, 3000), st.integers(1, 1500), st.randoms(use_true_random=False))
def test_products_in_pieces_are_whole(rows: int, inner: int, columns: int, draw: object) -> None:
    """Of integers so small that no order of sums matters."""
    import numpy as np

    random = np.random.default_rng(draw.randrange(2**32))  # type: ignore[attr-defined]
    left, right = random.integers(-99, 99, (rows, inner)), random.integers(-99, 99, (inner, columns))
    assert (product(left + 1j * left[::-1], right.astype(float)) == left @ right + 1j * (left[::-1] @ right)).all()
    assert (product(left.astype(float), right[:, 0].astype(float)) == left @ right[:, 0]).all()
