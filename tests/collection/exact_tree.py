"""The exact law of what a client draws: coins and uniform numbers become the branches of a tree."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from zcdp.collection import client_coins, client_reports, heavy_hitters


class Tree:
    """Every way in which coins may fall and numbers may be drawn, one after another, with its exact probability."""

    def __init__(self) -> None:
        self._script: list[int] = []

    def law(self, draw: Callable[[], str]) -> dict[str, Fraction]:
        found: dict[str, Fraction] = {}
        while True:
            self._at, self._chance, self._sizes = 0, Fraction(1), []
            outcome = draw()
            found[outcome] = found.get(outcome, Fraction(0)) + self._chance
            while self._script and self._script[-1] == self._sizes[len(self._script) - 1] - 1:
                self._script.pop()
            if not self._script:
                return found
            self._script[-1] += 1

    def choose(self, chances: list[Fraction]) -> int:
        if self._at == len(self._script):
            self._script.append(0)
        taken = self._script[self._at]
        self._sizes.append(len(chances))
        self._at += 1
        self._chance *= chances[taken]
        return taken


def planted(monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A tree that takes the place of coins and numbers, whose own laws are tested beside `client_coins`."""
    tree = Tree()

    def flip(self: client_coins.Chance, source: Any) -> bool:
        p = self._rational
        assert p is not None
        assert 0 < p < 1
        return bool(tree.choose([1 - p, p]))

    def distinct(n: int, count: int, source: Any) -> list[int]:
        sets = [*combinations(range(n), count)]
        return [*sets[tree.choose([Fraction(1, len(sets))] * len(sets))]]

    def below(n: int, source: Any) -> int:
        return tree.choose([Fraction(1, n)] * n)

    monkeypatch.setattr(client_coins.Chance, "flip", flip)
    for module in (client_reports, heavy_hitters):
        monkeypatch.setattr(module, "below", below)
    monkeypatch.setattr(client_reports, "distinct_below", distinct)
    return tree
