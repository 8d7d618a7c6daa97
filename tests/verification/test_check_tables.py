"""The checks of tables, of small cases and of collections fail where those are a little wrong."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from zcdp.collection import keyed
from zcdp.estimation import frequency_intervals as intervals
from zcdp.mechanisms import SubsetSelection
from zcdp.tables.margins import Margins, whole
from zcdp.tables.table_query import rank_sensitivity
from zcdp.verification import check_collection as collection
from zcdp.verification import check_small_cases as small_cases
from zcdp.verification import check_tables as tables


@pytest.mark.parametrize(("change", "holds"), [(0, True), (1, False), (-1, False)])
def test_the_sensitivity_of_ranks(change: int, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "rank_sensitivity", lambda q: rank_sensitivity(q) + change)
    assert tables._ranks(2) is holds


@pytest.mark.parametrize(("width", "holds"), [(6.0, True), (6.1, True), (5.99, False), (7.0, False)])
def test_the_half_width_of_a_sum_of_noises(width: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    told = SimpleNamespace(accuracy=lambda: SimpleNamespace(half_width=width))
    monkeypatch.setattr(tables, "NoiseSum", lambda _terms: told)
    assert tables._two_noises() is holds


@pytest.mark.parametrize("wrong", ["", "total", "shares", "figures"])
def test_a_total_and_its_parts(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Told(Margins):
        def estimates(self, given: Any) -> Any:
            [([total], below), parts] = super().estimates(given)
            return [([total + (wrong == "total")], below), parts]

        def terms(self, n: int) -> Any:
            return [(m, share * (2 if wrong == "shares" else 1), count) for m, share, count in super().terms(n)]

    def figures(parts: Any, shape: Any) -> list[int]:
        found = list(whole(parts, shape))
        return [found[0] + 1, *found[1:]] if wrong == "figures" and shape else found

    monkeypatch.setattr(tables, "Margins", Told)
    monkeypatch.setattr(tables, "whole", figures)
    assert tables._adds_up() is (not wrong)


def test_a_profile_above_its_chords(monkeypatch: pytest.MonkeyPatch) -> None:
    class Told:
        def __init__(self, **_: Any) -> None: ...

        def __rmul__(self, _: int) -> Any:
            return SimpleNamespace(delta_at=lambda epsilon: -((np.exp(epsilon) - 1) ** 2))

    assert small_cases._chords()
    monkeypatch.setattr(small_cases, "Laplace", Told)
    assert not small_cases._chords()


@pytest.mark.parametrize(("same", "varied", "holds"), [(True, True, True), (False, True, False), (True, False, False)])
def test_a_retry(same: bool, varied: bool, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    class Told:
        def __init__(self, _secret: bytes) -> None: ...

        def release(self, _mechanism: object, values: list[int], ids: list[int]) -> Any:
            calls.append(1)
            return np.array(ids if varied else values) + (0 if same else len(calls))

    monkeypatch.setattr(keyed, "KeyedNoise", Told)
    assert small_cases._retry() is holds


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
