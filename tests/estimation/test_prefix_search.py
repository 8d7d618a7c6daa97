"""The search for prefixes, and the counting of supports, against counting one by one."""

from __future__ import annotations

import numpy as np

from zcdp.estimation.prefix_search import HashReports, search, supports_of


def drawn(rows: np.ndarray, g: int, digits: int, truth: float, rng: np.random.Generator) -> HashReports:
    vectors = rng.integers(0, g, (len(rows), digits))
    right = (vectors * rows[:, :digits]).sum(axis=1) % g
    return HashReports(vectors, np.where(rng.random(len(rows)) < truth, right, rng.integers(0, g, len(rows))))


def test_supports_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(1)
    reports = HashReports(rng.integers(0, 5, (300, 3)), rng.integers(0, 5, 300))
    prefixes = rng.integers(0, 5, (20, 3))
    expected = [
        sum(int(a @ one) % 5 == z for a, z in zip(reports.vectors, reports.buckets, strict=True)) for one in prefixes
    ]
    assert supports_of(reports, prefixes, 5).tolist() == expected


def test_frequent_rows_are_found_and_come_first() -> None:
    rng, g = np.random.default_rng(2), 7
    heavy = rng.integers(0, g, (5, 6))
    held = np.concatenate([np.repeat(heavy, [4000, 2500, 1500, 1000, 700], axis=0), rng.integers(0, g, (5000, 6))])
    levels = [drawn(held[rng.permutation(len(held))], g, digits, 0.5, rng) for digits in (2, 4, 6)]
    found = search(levels, g, 1 / g, keep=30, most=20, possible=lambda row: True)
    assert found.shape == (20, 6)
    assert found[:5].tolist() == heavy.tolist()


def test_a_frequent_beginning_does_not_vouch_for_its_continuations() -> None:
    """One row is held by half, and has 48 sisters that nobody holds; rows of a hundredth are found all the same."""
    rng, g = np.random.default_rng(3), 7
    heavy = rng.integers(0, g, (6, 4))
    held = np.concatenate([np.repeat(heavy, [30000, 900, 900, 900, 900, 900], axis=0), rng.integers(0, g, (25500, 4))])
    levels = [drawn(held[rng.permutation(len(held))], g, digits, 0.6, rng) for digits in (2, 4)]
    found = search(levels, g, 1 / g, keep=30, most=8, possible=lambda row: True).tolist()
    assert found[0] == heavy[0].tolist()
    assert sum(row in found for row in heavy.tolist()) == 6


def test_impossible_rows_take_no_place() -> None:
    rng, g = np.random.default_rng(4), 3
    levels = [drawn(rng.integers(0, g, (500, 3)), g, digits, 0.5, rng) for digits in (2, 3)]
    found = search(levels, g, 1 / g, keep=9, most=6, possible=lambda row: row[0] != 1)
    assert len(found) == 6
    assert (found[:, 0] != 1).all()
