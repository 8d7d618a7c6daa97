"""The checks of collections fail where those are a little wrong."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from verification.altered import assert_seen

from zcdp.estimation import frequency_intervals as intervals
from zcdp.mechanisms import SubsetSelection
from zcdp.verification import check_collection
from zcdp.verification import check_collection as collection


@pytest.mark.parametrize("place", [None, 0, 1])
def test_an_estimate_with_another_chance_is_biased(place: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(**given: Any) -> Any:
        exact = list(SubsetSelection(**given).support.exact or ())
        if place is not None:
            exact[place] += Fraction(1, 10**9)
        return SimpleNamespace(support=SimpleNamespace(exact=tuple(exact)))

    monkeypatch.setattr(collection, "SubsetSelection", told)
    assert collection._unbiased() is (place is None)


@pytest.mark.parametrize("side", ["", "low", "high"])
def test_intervals_of_another_level_do_not_cover(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One end of an interval that fails three times in ten."""
    right = intervals.clients_interval

    def told(counts: Any, n: int, support: Any, alpha: float) -> Any:
        low, high = right(counts, n, support, alpha)
        shorter = right(counts, n, support, 0.6)
        return shorter[0] if side == "low" else low, shorter[1] if side == "high" else high

    monkeypatch.setattr(intervals, "clients_interval", told)
    assert collection._covers(8) is (not side)


WRONG: list[tuple[str, str, dict[str, float]]] = [
    # words of the check's statement, mechanism, factors
    ("all hashes of four values", "LinearHashing", {"rho": 1 + 1e-8}),
    ("all hashes of four values", "LinearHashing", {"rho": 1 - 1e-8}),
    ("all reports of two collections", "MemoizedRAPPOR", {"rho": 1 + 1e-8}),
    ("all reports of two collections", "MemoizedRAPPOR", {"rho": 1 - 1e-8}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name", "factors"), WRONG, ids=str)
def test_a_check_of_a_wrong_mechanism_fails(
    words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each direction that the theorem forbids."""
    assert_seen(check_collection, words, name, factors, monkeypatch)
