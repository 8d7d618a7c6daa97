"""Selections one after another: each among those that are left, and nothing else."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded, untouchable

from zcdp.samplers.selection_draws import TIED_EACH, count_first, peel


class Told:
    """Selects the places that it is told, and keeps what it was given to select from."""

    def __init__(self, places: list[int]) -> None:
        self.places, self.seen, self.sources = list(places), list[list[Any]](), list[Any]()

    def select(self, scores: Any, source: Any = None) -> int:
        self.seen.append(list(scores))
        self.sources.append(source)
        return self.places.pop(0)

    def draw(self, scores: Any, count: int, source: Any = None) -> Any:
        raise AssertionError


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_each_is_selected_among_those_that_are_left(kind: Any) -> None:
    """Places in what is left stand for the indices of all: first, last and middle ones, until none is left."""
    scores = [5, 3, 8, 1, 9]
    given = kind(scores)
    told = Told([4, 0, 1, 1, 0])
    assert peel(told, given, 5, untouchable) == [4, 0, 2, 3, 1]
    assert told.seen == [[5, 3, 8, 1, 9], [5, 3, 8, 1], [3, 8, 1], [3, 1], [3]]
    assert told.sources == [untouchable] * 5
    assert list(given) == scores  # what is given stays as it is
    assert peel(Told([1, 1]), given, 2) == [1, 2]


def test_more_than_there_are_cannot_be_selected() -> None:
    for given in ([1, 2, 3], np.array([1.0, 2.0, 3.0]), [Fraction(1), Fraction(2), Fraction(3)]):
        with pytest.raises(ValueError, match=r"k \(4\) must be at most the number of scores \(3\)"):
            peel(Told([]), given, 4)
        assert sorted(peel(Told([0, 0, 0]), given, 3)) == [0, 1, 2]


class Uniform:
    """Every place that is left is equally likely."""

    def __init__(self) -> None:
        self.bits, self.seen = seeded(3), list[tuple[int, int]]()

    def select(self, scores: Any, source: Any = None) -> int:
        raise AssertionError

    def draw(self, scores: Any, count: int, source: Any = None) -> Any:
        self.seen.append((scores.count(7), scores.count(2)))
        assert scores == sorted(scores, reverse=True)
        words = np.frombuffer(self.bits(8 * count), dtype=np.uint64)
        return (words % np.uint64(len(scores))).astype(np.int64)


@pytest.mark.parametrize("rounds", range(9))
def test_selections_of_two_groups_are_counted_as_drawn_without_replacement(rounds: int) -> None:
    """Of two equal groups of four: hypergeometric, and with eight rounds four for certain."""
    select, size = Uniform(), 4000
    found = count_first(select, 7, 2, rounds, size)
    assert found.shape == (size,)
    assert all(TIED_EACH - rounds < a <= TIED_EACH and TIED_EACH - rounds < b <= TIED_EACH for a, b in select.seen)
    assert all(a + b > 2 * TIED_EACH - rounds for a, b in select.seen)
    counts = Counter(found.tolist())
    for hits in range(TIED_EACH + 1):
        chance = (
            comb(TIED_EACH, hits) * comb(TIED_EACH, rounds - hits) / comb(2 * TIED_EACH, rounds)
            if hits <= rounds
            else 0
        )
        assert abs(counts.pop(hits, 0) - size * chance) <= 5 * (size * chance * (1 - chance)) ** 0.5
    assert not counts
