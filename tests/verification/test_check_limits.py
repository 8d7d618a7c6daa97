"""The checks of limits and special cases fail where those are a little wrong."""

from __future__ import annotations

import pytest
from verification.altered import assert_seen

from zcdp.verification import check_limits

WRONG: list[tuple[str, str, dict[str, float]]] = [
    # words of the check's statement, mechanism, factors
    ("epsilon = 1: sensitivity 1 is pure DP", "PureDP", {"rdp": 1 + 1e-12}),
    ("epsilon = 1: sensitivity 1 is pure DP", "PureDP", {"rdp": 1 - 1e-12}),
    ("epsilon = 1: sensitivity 1 is pure DP", "PureDP", {"rho": 1 + 1e-12}),
    ("epsilon = 1: a fine lattice is Laplace", "Laplace", {"rho": 1 - 1e-10}),
    ("epsilon = 1: 2-RR is pure DP", "RandomizedResponse", {"rdp": 1 + 1e-12}),
    ("epsilon = 1: two pure DP steps", "RAPPOR", {"rdp": 1 - 1e-12}),
    ("epsilon = 1: the exponential mechanism is", "BoundedRange", {"rho": 1 + 1e-12}),
    ("epsilon = 1: subsets of size 1", "SubsetSelection", {"rdp": 1 - 1e-12}),
    ("epsilon = 1: no mechanism costs more", "RAPPOR", {"rho": 3}),
    ("epsilon = 1: no mechanism costs more", "PermuteAndFlip", {"rdp": 3}),
    ("epsilon = 1: 9-RR summed up", "RandomizedResponse", {"rdp": 1 + 1e-13}),
    ("epsilon = 1: 9-RR summed up", "RandomizedResponse", {"rdp": 1 - 1e-13}),
    ("epsilon = 1: rho equals the KL", "Logistic", {"rdp": 1 + 1e-15}),
    ("epsilon = 1: between bounded range and", "PermuteAndFlip", {"rho": 0.2}),
    ("epsilon = 1: between bounded range and", "PermuteAndFlip", {"rho": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name", "factors"), WRONG, ids=str)
def test_a_check_of_a_wrong_mechanism_fails(
    words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each direction that the theorem forbids."""
    assert_seen(check_limits, words, name, factors, monkeypatch)
