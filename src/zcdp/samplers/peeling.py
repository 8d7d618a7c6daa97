"""Several selections, one after another: each among the candidates that are left."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadValue
from zcdp.samplers.arrays import exact_array
from zcdp.samplers.source import Source, secure

__all__ = ["Selection", "count_first", "peel"]

TIED = 4


class Selection(Protocol):
    """What selects from scores."""

    def select(self, scores: ArrayLike, source: Source = ...) -> int:
        """The index of one score."""
        ...

    def draw(self, scores: ArrayLike, count: int, source: Source = ...) -> NDArray[Any]:
        """`count` independent selections from the same scores."""
        ...


def peel(selection: Selection, scores: ArrayLike, k: int, source: Source = secure) -> list[int]:
    """The indices of k selected scores, in the order of selection.

    >>> from flint import arb
    >>> from zcdp.samplers.selection import ExponentialSelection
    >>> peel(ExponentialSelection(lambda: arb(1)), [0, 1000, 3000, 2000], 3)
    [2, 3, 1]
    """
    left: Any = list(scores) if isinstance(scores, list | tuple) else exact_array(scores, "scores")
    size = len(left) if isinstance(left, list) or left.ndim == 1 else 0
    if size and k > size:  # what is no list of numbers at all is refused by the selection
        raise BadValue(f"k ({k}) must be at most the number of scores ({size})")
    names, chosen = list(range(size)), []
    for _ in range(k):
        place = selection.select(left, source)
        chosen.append(names.pop(place))
        if isinstance(left, list):
            del left[place]
        else:
            left = np.delete(left, place)
    return chosen


def count_first(selection: Selection, first: int, other: int, rounds: int, size: int) -> NDArray[Any]:
    """How many of so many rounds go to the first of two groups of tied scores, in so many independent runs."""

    def run(left: tuple[int, int], rounds: int, size: int) -> NDArray[Any]:
        if not rounds or not size:
            return np.zeros(size, dtype=np.int64)
        scores = [first] * left[0] + [other] * left[1]
        hits = selection.draw(scores, size) < left[0]
        found = hits.astype(np.int64)
        taken = int(hits.sum())
        found[hits] += run((left[0] - 1, left[1]), rounds - 1, taken)
        found[~hits] += run((left[0], left[1] - 1), rounds - 1, size - taken)
        return found

    return run((TIED, TIED), rounds, size)
