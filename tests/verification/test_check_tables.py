"""The checks of tables, of small cases and of collections fail where those are a little wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from verification.altered import assert_seen

from zcdp.tables.margins import Margins, whole
from zcdp.tables.table_query import rank_sensitivity
from zcdp.verification import check_tables
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


WRONG: list[tuple[str, str, dict[str, float]]] = [
    # words of the check's statement, mechanism, factors
    ("two of three counts", "TopK", {"pure_epsilon": 0.45}),
    ("two of three counts", "TopK", {"rho": 0.2}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name", "factors"), WRONG, ids=str)
def test_a_check_of_a_wrong_mechanism_fails(
    words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each direction that the theorem forbids."""
    assert_seen(check_tables, words, name, factors, monkeypatch)
