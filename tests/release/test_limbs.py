"""Sums of 2^35 rows, or of their parts, stay within 64 bits whatever the clip. (bug T2)"""

from __future__ import annotations

from fractions import Fraction

import pytest

from zcdp.tables.amounts import Amount

ROWS = 2**35  # docs/theorems/table-sensitivity.md


@pytest.mark.parametrize("power", range(1, 53))
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_no_sum_of_parts_overflows(power: int, more: int) -> None:
    reach = 2**power + more
    one = Amount("pay", Fraction(1), 0, reach)
    parts = [reach] if one.limbs == 1 else [reach // 2**26 + 1, 2**26]
    assert all(part * ROWS < 2**63 for part in parts)
