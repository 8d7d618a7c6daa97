"""Of an array, too, each selection is made among those that are left."""

from __future__ import annotations

import numpy as np

from zcdp import TopK


def test_four_of_five_from_an_array_are_all_different_and_the_best() -> None:
    """Gaps of 10^6 at a scale of 8/1000 decide every selection: the order of the scores."""
    m = TopK(epsilon=1000, k=4)
    for scores in ([0, 1, 3, 2, 4], [4, 3, 2, 1, 0], [3, 0, 4, 1, 2]):
        best = sorted(range(5), key=lambda n: -scores[n])[:4]
        values = [10**6 * score for score in scores]
        assert m.release(values, sensitivity=1) == best
        assert m.release(np.array(values), sensitivity=1) == best
        assert m.release(np.array(values, dtype=float), sensitivity=1) == best
