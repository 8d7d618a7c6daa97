"""The accuracy of tables after the least squares that make them add up, known before any data is read.

Theorem: docs/theorems/totals.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zcdp.mechanisms.noise.additive import Accuracy
from zcdp.mechanisms.noise.noise_sums import NoiseSum, short_variance
from zcdp.plans.plan_file import Entry
from zcdp.tables.declaration import Declaration
from zcdp.tables.margins import Margins
from zcdp.tables.totals import Together

__all__ = ["Adjustment", "adjusted_accuracies", "adjustment"]

LEVEL = Fraction(19, 20)  # of half-widths


@dataclass(frozen=True)
class Adjustment:
    """The adjustment of a set of tables by least squares over `margins`.

    `noises` has for each table the law of a cell's error after it, in grid steps: a weighted sum of the tables' noise.
    """

    together: Together
    margins: Margins
    noises: tuple[NoiseSum, ...]

    def accuracy(self, k: int) -> Accuracy:
        """The accuracy of the estimate of a cell of table k, in grid steps, before it is rounded to whole ones."""
        return self.noises[k].accuracy(LEVEL)


def adjustment(together: Together, entries: Iterable[Entry]) -> Adjustment:
    """The least-squares adjustment of a set of tables, each weighted by the variance of its own noise."""
    laws = {entry.name: _law(entry) for entry in entries}
    mine = [laws[query.name] for query in together.queries]
    margins = Margins(together.sizes, together.axes, tuple(map(short_variance, mine)))
    noises = (
        NoiseSum(tuple((mine[n], share, cells) for n, share, cells in margins.terms(k))) for k in range(len(mine))
    )
    return Adjustment(together, margins, tuple(noises))


def adjusted_accuracies(tables: Declaration, entries: Iterable[Entry]) -> dict[str, Accuracy]:
    """The accuracy of each adjusted table after adjustment, by its name, in grid steps."""
    found = [adjustment(one, entries) for one in tables.together]
    return {query.name: one.accuracy(k) for one in found for k, query in enumerate(one.together.queries)}


def _law(entry: Entry) -> Any:
    """The noise mechanism of the entry; None if its parameter is still `?`."""
    [(mechanism, _)] = entry.plan.parts if entry.plan else [(None, 1)]
    return mechanism
