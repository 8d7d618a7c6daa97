"""What memoized RAPPOR reports of a remembered 0 and a remembered 1 is set with p and q, each its own."""

from __future__ import annotations

import numpy as np
import pytest

from zcdp import MemoizedRAPPOR


@pytest.mark.parametrize(("p", "q"), [("1/2", "3/4"), ("1/10", "1/4"), ("1/4", "1/2")])
def test_a_remembered_bit_is_reported_with_its_own_probability(p: str, q: str) -> None:
    m = MemoizedRAPPOR(f="1/2", p=p, q=q, collections=3)
    n, d = 4_000, 16
    for byte, share in ((0x00, p), (0xFF, q)):
        memory = np.full((n, d // 8), byte, dtype=np.uint8)
        ones = int(np.unpackbits(m.release(memory, d=d)).sum())
        top, bottom = map(int, share.split("/"))
        mean = n * d * top / bottom
        spread = (mean * (1 - top / bottom)) ** 0.5
        assert abs(ones - mean) < 7 * spread, (byte, ones, mean)  # by chance once in 10^11
