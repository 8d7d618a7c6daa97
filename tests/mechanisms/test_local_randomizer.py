"""Local randomizers at the edges of what they accept, and what a report supports where nothing is rational."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded

import zcdp

LOCAL: list[tuple[Any, int, dict[str, int]]] = [
    (zcdp.RandomizedResponse(epsilon=1, k=6), 6, {}),
    (zcdp.BinaryRandomizedResponse("0.7", "0.2"), 2, {}),
    (zcdp.RAPPOR(epsilon=1), 6, {"d": 6}),
    (zcdp.UnaryEncoding("0.7", "0.2"), 6, {"d": 6}),
    (zcdp.OptimizedUnaryEncoding(epsilon=1), 6, {"d": 6}),
    (zcdp.SubsetSelection(epsilon=1, k=6, size=2), 6, {}),
    (zcdp.HadamardResponse(epsilon=1), 6, {"k": 6}),
    (zcdp.HadamardResponse(epsilon=1, blocks=2), 6, {"k": 6}),
    (zcdp.LocalHashing(epsilon=1, g=3, random_hash=True), 6, {"k": 6}),
    (zcdp.LinearHashing(epsilon=1, g=3, k=6), 6, {}),
]


@pytest.mark.parametrize(("mechanism", "k", "told"), LOCAL, ids=repr)
def test_values_are_0_to_k_less_1_and_nothing_else(mechanism: Any, k: int, told: dict[str, int]) -> None:
    """One by one, in a list and in an array; a value beyond would be reported by a law that nothing accounts for."""
    for value in (0, k - 1):
        mechanism.release(value, **told)
        assert len(mechanism.release([value, 1], **told)) == 2
    for value in (-1, k, k + 1):
        for given in (value, [0, value], np.array([0, value])):
            with pytest.raises(ValueError, match=rf"0|{k - 1}"):
                mechanism.release(given, **told)


CLEAR: list[tuple[Any, int, dict[str, int]]] = [
    (zcdp.RandomizedResponse(epsilon=12, k=6), 6, {}),
    (zcdp.BinaryRandomizedResponse("0.9999", "0.0001"), 2, {}),
    (zcdp.RAPPOR(epsilon=24), 6, {"d": 6}),
    (zcdp.UnaryEncoding("0.9999", "0.0001"), 6, {"d": 6}),
    (zcdp.SubsetSelection(epsilon=12, k=6, size=2), 6, {}),
    (zcdp.HadamardResponse(epsilon=12), 6, {"k": 6}),
    (zcdp.HadamardResponse(epsilon=12, blocks=2), 6, {"k": 6}),
    (zcdp.LocalHashing(epsilon=12, g=3, random_hash=True), 6, {"k": 6}),
    (zcdp.LinearHashing(epsilon=12, g=5, k=6), 6, {}),
]


@pytest.mark.parametrize(("mechanism", "k", "told"), CLEAR, ids=repr)
def test_almost_without_noise_a_report_speaks_for_its_own_value(
    mechanism: Any, k: int, told: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Released one by one and together, in every type that holds the values: only the true one is always supported."""
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(7))
    for value in range(k):
        alone = np.stack([mechanism.release(value, **told) for _ in range(40)])
        together = [mechanism.release(np.full(40, value, kind), **told) for kind in (np.uint8, np.int64)]
        for some in (alone, *together, mechanism.release([value] * 40, **told)):
            counts = mechanism.count(np.asarray(some), k=k)
            assert counts.reports == 40
            assert counts.supports.argmax() == value
            assert counts.supports[value] >= 38
            assert np.delete(counts.supports, value).max() <= 34


def test_rows_of_bits_are_not_taken_for_values() -> None:
    for m in (zcdp.RAPPOR(epsilon=1), zcdp.UnaryEncoding("0.7", "0.2")):
        for rows in ([[0, 1, 0]], [(0, 1, 0), (1, 0, 0)], np.zeros((4, 3), dtype=int), ((1, 0, 0),)):
            with pytest.raises(ValueError, match="one a person, and not rows of 3 bits"):
                m.release(rows, d=3)
        assert np.asarray(m.release([0, 1, 2], d=3)).shape == (3, 1)
        assert np.asarray(m.release(np.zeros((4, 2), dtype=int), d=3)).shape == (4, 2, 1)


def test_a_truth_that_is_no_likelier_than_a_guess_is_refused() -> None:
    for p, k in (("1/4", 4), ("1/5", 4), ("1/2", 2)):
        with pytest.raises(ValueError, match="must be above 1/k"):
            zcdp.RandomizedResponse.from_probability(p, k)
    m = zcdp.RandomizedResponse.from_probability("26/100", 4)
    assert m.support.exact[:2] == (Fraction(26, 100), Fraction(74, 300))


def test_limits_of_sizes_are_those_that_are_told() -> None:
    assert zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=1000).collections == 1000
    with pytest.raises(ValueError, match=r"collections \(1001\) must be at most 1000"):
        zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=1001)
    assert zcdp.SubsetSelection(epsilon=1, k=4, size=3).size == 3
    for size in (4, 5):
        with pytest.raises(ValueError, match="must be below k"):
            zcdp.SubsetSelection(epsilon=1, k=4, size=size)
    for g in (1, 4, 9, 15, 21, 2047, 2**31 - 3, 2147483659):  # the last is a prime above 2^31
        with pytest.raises(ValueError, match=r"g \("):
            zcdp.LinearHashing(epsilon=1, g=g, k=4)
    assert zcdp.LinearHashing(epsilon=1, g=2**31 - 1, k=4).g == 2**31 - 1
