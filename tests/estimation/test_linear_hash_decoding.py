"""Supports of hashed values by hashing every value: where the table is too large to count, and reports have 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zcdp
from zcdp.estimation.linear_hash_decoding import linear_hash_supports


def directly(reports: Any, g: int, digits: int, values: Any) -> list[int]:
    vectors, buckets = (np.asarray(part, dtype=object) for part in (reports // g, reports % g))
    found = []
    for v in values:
        inner = sum((vectors // g**place) % g * (int(v) // g**place % g) for place in range(digits)) % g
        found.append(int((inner == buckets).sum()))
    return found


def reports_of(g: int, digits: int, values: Any, size: int) -> Any:
    """Half of them at random, half that speak for some of the values, the largest vector among them."""
    rng = np.random.default_rng(g)
    vectors = rng.integers(0, g**digits, size)
    vectors[0] = g**digits - 1
    buckets = rng.integers(0, g, size)
    for n in range(size // 2):
        v = int(rng.choice(values))
        inner = sum(int(vectors[n]) // g**place % g * (v // g**place % g) for place in range(digits)) % g
        buckets[n] = inner
    return vectors.astype(np.int64) * g + buckets


# of the first most reports are beyond 2^32, and values beyond g are decoded in a second pass
@pytest.mark.parametrize(("g", "digits", "k"), [(2053, 2, 2100), (13, 2, 160), (3, 4, 60)])
def test_supports_are_those_of_hashing_every_value(g: int, digits: int, k: int) -> None:
    mechanism = zcdp.LinearHashing(epsilon=1, g=g, k=k)
    values = np.unique(np.concatenate([np.arange(25), np.arange(k - 25, k)]))
    reports = reports_of(g, digits, values, 60)
    counts = mechanism.count(reports)
    assert counts.reports == 60
    assert counts.supports[values].tolist() == directly(reports, g, digits, values)
    size = g ** (digits + 1)
    for wrong in (-1, size):
        with pytest.raises(ValueError, match=rf"reports must lie in 0 .. {size - 1}: these are of another design"):
            mechanism.count([0, wrong])


def test_reports_that_came_often_count_as_often() -> None:
    reports, often = np.array([5, 17, 40]), np.array([3, 1, 7])
    several = linear_hash_supports(np.repeat(reports, often), 3, 14)
    assert linear_hash_supports(reports, 3, 14, often=often).tolist() == several.tolist()
    assert several.tolist() == directly(np.repeat(reports, often), 3, 3, range(14))
    m = zcdp.LinearHashing(epsilon=1, g=3, k=14)
    tally = np.zeros(81, dtype=int)
    tally[reports] = often
    assert m.tally(tally).supports.tolist() == several.tolist()
    assert m.tally(tally).reports == 11


def test_more_reports_than_are_decoded_without_error_are_refused() -> None:
    """However few kinds of them there are."""
    with pytest.raises(ValueError, match=r"are more than the 2\^40"):
        linear_hash_supports(np.array([1, 2]), 3, 5, often=np.array([2**40, 1]))
    assert linear_hash_supports(np.array([7]), 3, 3, often=np.array([2**40])).tolist() == [0, 0, 2**40]


def test_a_tally_of_too_many_kinds_of_reports_is_refused() -> None:
    with pytest.raises(ValueError, match="different reports: count the reports themselves"):
        zcdp.LinearHashing(epsilon=1, g=2053, k=2100).tally([1])
