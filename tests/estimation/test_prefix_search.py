"""The search for prefixes, and the counting of supports, against counting one by one."""

from __future__ import annotations

import numpy as np

from zcdp.estimation.prefix_search import Found, HashReports, by_all_levels, search, supports_of


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
    found = search(levels, g, 1 / g, keep=30, most=20, heavy=5, largest=np.full(6, 6), valid=lambda row: True)
    assert found.rows.shape == (20, 6)
    assert found.rows[:5].tolist() == heavy.tolist()
    for level, scores in zip(levels, found.scores.T, strict=True):  # by counting one by one
        counts = supports_of(level, found.rows[:, : level.digits], g)
        assert np.allclose(scores, (counts - level.size / g) / np.sqrt(level.size / g * (1 - 1 / g)))


def test_a_frequent_beginning_does_not_vouch_for_its_continuations() -> None:
    """One row is held by half, and has 48 sisters that nobody holds; rows of a hundredth are found all the same."""
    rng, g = np.random.default_rng(3), 7
    heavy = rng.integers(0, g, (6, 4))
    held = np.concatenate([np.repeat(heavy, [30000, 900, 900, 900, 900, 900], axis=0), rng.integers(0, g, (25500, 4))])
    levels = [drawn(held[rng.permutation(len(held))], g, digits, 0.6, rng) for digits in (2, 4)]
    ends = np.full(4, 6)
    found = search(levels, g, 1 / g, keep=30, most=8, heavy=6, largest=ends, valid=lambda row: True).rows.tolist()
    assert found[0] == heavy[0].tolist()
    assert sum(row in found for row in heavy.tolist()) == 6


def test_rows_beyond_the_largest_take_no_place_at_any_level() -> None:
    """Of 27 rows 14 are at most 1 1 1, and of these the one that is not valid is left out: all others are found."""
    rng, g = np.random.default_rng(4), 3
    levels = [drawn(rng.integers(0, g, (500, 3)), g, digits, 0.5, rng) for digits in (2, 3)]
    found = search(
        levels, g, 1 / g, keep=5, most=27, heavy=3, largest=np.array([1, 1, 1]), valid=lambda row: bool(row.any())
    ).rows
    numbers = (found @ [9, 3, 1]).tolist()
    assert sorted(numbers) == [*range(1, 14)]


def test_all_levels_order_the_rows() -> None:
    """Two rows of one prefix share its estimate; one whose prefix speaks for it comes before one of which it does not.

    Scores are in standard errors of a level of 100 reports.
    """
    rows = np.array([[0, 0], [0, 1], [1, 0], [2, 0]])
    prefix, whole = np.array([9.0, 9.0, 3.0, 6.0]), np.array([6.5, 3.0, 4.0, 3.9])
    found = Found(rows, np.stack([prefix, whole, whole], axis=1))
    order = by_all_levels(found, (1, 2, 2), (100, 100, 100), heavy=4).tolist()
    assert order == [0, 3, 2, 1]
    assert by_all_levels(Found(rows, found.scores[:, 1:]), (2, 2), (100, 100), heavy=4).tolist() == [0, 2, 3, 1]


def test_prefixes_with_much_else_say_nothing() -> None:
    """Half of the rows share a beginning with many others, half with very many: the order is that of whole rows."""
    rows = np.array([[n % 2, n] for n in range(6)])
    whole = np.array([3.0, 8.0, 5.0, 7.0, 2.0, 6.0])
    found = Found(rows, np.stack([np.where(rows[:, 0], 100.0, 1000.0), whole], axis=1))
    assert by_all_levels(found, (1, 2), (100, 100), heavy=6).tolist() == [1, 3, 5, 2, 0, 4]
