"""Subset selection: large subsets are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from independent.bits import seeded

from zcdp import SubsetSelection
from zcdp.samplers import source


def test_large_subsets() -> None:
    chosen = SubsetSelection(epsilon=1, k=100_000, size=10_000).release(5)
    assert np.unique(chosen).size == 10_000
    assert (np.diff(chosen) > 0).all()
    assert chosen[0] >= 0
    assert chosen[-1] < 100_000
    most = SubsetSelection(epsilon=1, k=3000, size=2999).release([5, 6])
    assert (np.diff(most, axis=1) > 0).all()
    with pytest.raises(ValueError, match=r"must be at most 2\^63"):
        SubsetSelection(epsilon=1, k=2**63 + 1, size=2).release(5)


@pytest.fixture(autouse=True)
def same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_fill", seeded(20))
