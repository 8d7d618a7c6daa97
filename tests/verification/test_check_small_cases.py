"""The checks of small cases fail where those are a little wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from verification.altered import assert_seen

from zcdp.collection import keyed
from zcdp.verification import check_small_cases
from zcdp.verification import check_small_cases as small_cases


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


WRONG: list[tuple[str, str, dict[str, float]]] = [
    # words of the check's statement, mechanism, factors
    ("shuffled binary reports", "Shuffled", {"delta_at": 1 - 1e-9}),
    ("one use on a sample of fixed size", "Subsampled", {"delta_at": 1 - 1e-5}),
    ("one use on a sample of fixed size", "Subsampled", {"delta_at": 1 + 1e-5}),
    ("a uniform answer against", "BinaryRandomizedResponse", {"pure_epsilon": 1 - 1e-12}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name", "factors"), WRONG, ids=str)
def test_a_check_of_a_wrong_mechanism_fails(
    words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each direction that the theorem forbids."""
    assert_seen(check_small_cases, words, name, factors, monkeypatch)
