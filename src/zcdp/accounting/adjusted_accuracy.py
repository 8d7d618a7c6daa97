"""The accuracy of tables after the least squares that make them add up, known before any data is read.

Theorems: docs/theorems/totals.md, docs/theorems/forests.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf, nextafter, sqrt
from typing import Any

from zcdp.errors import BadValue
from zcdp.mechanisms.noise.additive import Accuracy
from zcdp.mechanisms.noise.gaussian import DiscreteGaussian
from zcdp.mechanisms.noise.gaussian_sums import reach_in_deviations
from zcdp.mechanisms.noise.noise_sums import NoiseSum, short_variance
from zcdp.plans.plan_file import Entry
from zcdp.tables.declaration import Declaration
from zcdp.tables.forest_margins import ForestMargins
from zcdp.tables.margins import Margins, non_negative, whole
from zcdp.tables.top_down import non_negative_figures
from zcdp.tables.totals import Together

__all__ = ["Adjustment", "CellErrors", "adjusted_accuracies", "adjustment"]

LEVEL = Fraction(19, 20)  # of half-widths
MOST_LAWS = 64
"""The most laws of errors of a set whose half-widths are found one by one; beyond it one factor serves all."""
MOST_TERMS = 4096
"""The most different coefficients of noise in these laws together."""
MOST_NODES = 2_000_000
"""The most coefficients that are computed to find them."""


@dataclass(frozen=True)
class CellErrors:
    """The accuracy of each cell of a table, in grid steps: cell n has `kinds[which[n]]`."""

    kinds: tuple[Accuracy, ...]
    which: list[int] = field(repr=False)

    @property
    def widest(self) -> Accuracy:
        """The largest deviation and the largest half-width of a cell."""
        half = max(one.half_width for one in self.kinds)
        return Accuracy(max(one.standard_deviation for one in self.kinds), half, float(LEVEL))


@dataclass(frozen=True)
class Adjustment:
    """The adjustment of a set of tables by least squares over `margins`; `laws` has the noise of each table."""

    together: Together
    margins: Margins | ForestMargins
    laws: tuple[Any, ...]

    def estimates(self, noisy: Sequence[Sequence[int]]) -> list[tuple[list[int], int]]:
        """The estimates of each table from its noisy figures: numerators and denominator, as its keys run."""
        found = self.margins.estimates([self.together.inner(k, one) for k, one in enumerate(noisy)])
        return [(self.together.outer(k, cells), below) for k, (cells, below) in enumerate(found)]

    def figures(self, estimates: Sequence[tuple[list[int], int]]) -> list[list[int]]:
        """The published integers of each table from the estimates: they add up, and none is below 0 if so asked."""
        together, tables = self.together, range(len(self.laws))
        if not together.finest.non_negative:
            shapes = ([domain.size for domain in query.by] for query in together.queries)
            return [whole(*one) for one in zip(estimates, shapes, strict=True)]
        if not isinstance(self.margins, ForestMargins):
            return non_negative(estimates, together.sizes, together.axes)
        by_node = [(together.inner(k, cells), below) for k, (cells, below) in enumerate(estimates)]
        keys = list(zip(together.levels, together.axes, strict=True))
        tree = self.margins.tree
        found = non_negative_figures(tree, together.sizes, keys, by_node, self.margins.below)
        return [together.outer(k, found[k]) for k in tables]

    def accuracy(self, k: int) -> Accuracy:
        """The accuracy of the estimate of a cell of table k, before it is rounded: that of its least accurate one."""
        return self.errors[k].widest

    @cached_property
    def errors(self) -> tuple[CellErrors, ...]:
        """The accuracy of the estimates of all cells of each table."""
        if isinstance(self.margins, Margins):
            cells = (query.cells for query in self.together.queries)
            noises = (self._sum(self.margins.terms(k)) for k in range(len(self.laws)))
            return tuple(CellErrors((noise.accuracy(LEVEL),), [0] * n) for noise, n in zip(noises, cells, strict=True))
        return self._one_by_one(self.margins) or self._by_one_factor(self.margins)

    def _one_by_one(self, margins: ForestMargins) -> tuple[CellErrors, ...] | None:
        """The errors by the exact law of each class of nodes; None if there are too many of them."""
        classes = [margins.classes(k) for k in range(len(self.laws))]
        laws = sum(int(one.max()) + 1 for one in classes)
        if laws > MOST_LAWS or laws * sum(query.cells for query in self.together.queries) > MOST_NODES:
            return None
        first = [{int(kind): n for n, kind in reversed(list(enumerate(one)))} for one in classes]
        sums = [[self._sum(margins.terms(k, nodes[kind])) for kind in sorted(nodes)] for k, nodes in enumerate(first)]
        if sum(len(one.terms) for many in sums for one in many) > MOST_TERMS and self._is_gaussian:
            return None
        return tuple(
            CellErrors(tuple(one.accuracy(LEVEL) for one in sums[k]), self._of_cells(k, classes[k].tolist()))
            for k in range(len(sums))
        )

    def _by_one_factor(self, margins: ForestMargins) -> tuple[CellErrors, ...]:
        """The errors by their variances, and one factor from deviations to half-widths."""
        if not self._is_gaussian:
            raise BadValue(
                f"mechanism: the tables that add up as {self.together.name!r} have over {MOST_LAWS} different errors, "
                "for which the noise must be DiscreteGaussian"
            )
        noise: Counter[Fraction] = Counter()
        for law, query in zip(self.laws, self.together.queries, strict=True):
            noise[law.variance] += query.cells
        factor = reach_in_deviations(noise, LEVEL)
        made = []
        for k in range(len(self.laws)):
            cells, below = margins.spread(k, [law.variance for law in self.laws])
            places: dict[int, int] = {}
            which = [places.setdefault(one, len(places)) for one in cells.tolist()]
            kinds = (_root_above(one, below) for one in places)
            told = tuple(Accuracy(sd, nextafter(factor * sd, inf), float(LEVEL)) for sd in kinds)
            made.append(CellErrors(told, self._of_cells(k, which)))
        return tuple(made)

    @property
    def _is_gaussian(self) -> bool:
        return all(isinstance(law, DiscreteGaussian) for law in self.laws)

    def _sum(self, terms: Iterable[tuple[int, Fraction, int]]) -> NoiseSum:
        """The law of a weighted sum of the tables' noise."""
        return NoiseSum(tuple((self.laws[n], share, cells) for n, share, cells in terms))

    def _of_cells(self, k: int, nodes: Sequence[int]) -> list[int]:
        """What is said of the nodes of table k, said of each of its cells, as its keys run."""
        repeated = self.together.queries[k].cells // len(nodes)
        return self.together.outer(k, [one for one in nodes for _ in range(repeated)])


def _root_above(square: int, below: int) -> float:
    """A float that is at least the root of square/below: each step is rounded to the nearest float, then one up."""
    return nextafter(sqrt(nextafter(square / below, inf)), inf)


def adjustment(together: Together, entries: Iterable[Entry]) -> Adjustment:
    """The least-squares adjustment of a set of tables, each weighted by the variance of its own noise."""
    laws = {entry.name: _law(entry) for entry in entries}
    mine = tuple(laws[query.name] for query in together.queries)
    variances = tuple(map(short_variance, mine))
    if together.tree is None:
        return Adjustment(together, Margins(together.sizes, together.axes, variances), mine)
    margins = ForestMargins(together.tree, together.sizes, together.levels, together.axes, variances)
    return Adjustment(together, margins, mine)


def adjusted_accuracies(tables: Declaration, entries: Iterable[Entry]) -> dict[str, Accuracy]:
    """The accuracy of each adjusted table after adjustment, by its name, in grid steps; of its least accurate cell."""
    found = [adjustment(one, entries) for one in tables.together]
    return {query.name: one.accuracy(k) for one in found for k, query in enumerate(one.together.queries)}


def _law(entry: Entry) -> Any:
    """The noise mechanism of the entry; None if its parameter is still `?`."""
    [(mechanism, _)] = entry.plan.parts if entry.plan else [(None, 1)]
    return mechanism
