"""The accuracy of a plan's tables before any data is read, for a guessed number of persons in a cell.

The guess is public text of the plan (`expect`), or 100, 1000 and 10,000: nothing is looked up in data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from zcdp.accounting.quotient_accuracy import HALF_LEVEL, mean_quotients, ratio_quotients, square_quotients
from zcdp.accounting.rank_accuracy import rank_errors, selected_rank_errors
from zcdp.mechanisms import DiscreteGaussian
from zcdp.mechanisms.noise.noise_sums import NoiseSum
from zcdp.numeric.balls import NotCertified
from zcdp.plans.plan_file import Entry, PlanFile
from zcdp.tables.cumulated_counts import group_sizes
from zcdp.tables.table_query import Statistic, TableQuery
from zcdp.text.numbers import grouped

__all__ = ["Prediction", "first_counts", "predictions"]

GUESSES = (100, 1000, 10_000)
"""Numbers of persons of a cell that accuracies are told for, where the plan does not say what to expect."""
LEVEL = Fraction(19, 20)


@dataclass(frozen=True)
class Prediction:
    """What figures of a table are off by if a cell has so many persons; for quantiles of rows, so many rows."""

    what: str
    """mean, ratio or variance, in the unit of the values; rank, as a part of all persons; or count, of a top list."""
    persons: int | None
    """The guess; None if the accuracy does not depend on it."""
    half_width: float
    """Half of the interval at 95%, for the worst data: at an end of the clip, or at the worst edge of the bins."""
    typical: float | None = None
    """The same for means in the middle between the centre and an end of the clip, or values in the middle of it."""
    note: str | None = None
    """Advice, where another query would tell more for the same rho."""

    def words(self, number: Callable[[float, int], str]) -> str:
        """What is predicted, in words; `number` writes a number to so many digits, rounded up.

        >>> Prediction("rank", 1000, 0.0213).words(lambda value, digits: f"{value:.{digits}g}")
        'the rank of a quantile within 2.13% of all'
        >>> Prediction("rank", 100, 1.0).words(lambda value, digits: f"{value:.{digits}g}")
        'nothing is known of a quantile'
        """
        if self.what == "rank" and self.half_width >= 1:
            return "nothing is known of a quantile"
        typical = number(self.typical, 4) if self.typical is not None else ""
        share = number(100 * self.half_width, 3) + "%"
        return WITHIN[self.what].format(half=number(self.half_width, 4), typical=typical, share=share)


WITHIN = {
    "mean": "mean within {half} at an end of the clip, within {typical} half way to its middle",
    "ratio": "ratio within {half}, for values in the middle of both clips",
    "variance": "variance within {half}, for values spread evenly over the clip",
    "rank": "the rank of a quantile within {share} of all",
    "count": "a selected key falls behind the best by at most {half}",
}


def predictions(plan: PlanFile) -> dict[str, tuple[Prediction, ...]]:
    """The predictions for each query of tables, by its name; for counts and sums `Accuracy` says it all."""
    if plan.tables is None or any(entry.plan is None for entry in plan.entries):
        return {}
    mine: dict[str, list[Entry]] = {}
    entries = iter(plan.query_entries)
    for query in plan.tables.queries:
        fields = {one.field for one in query.statistics(plan.tables.neighbours)}
        mine[query.name] = [next(entries) for _ in fields]
    found = {}
    for query in plan.tables.queries:
        make = MAKERS.get(query.measure)
        statistics = query.statistics(plan.tables.neighbours)
        if query.histogram:
            laws = [_law(one) for one in mine[query.histogram]]
            found[query.name] = tuple(_ranks(query, laws, statistics))
        elif make is not None:
            found[query.name] = tuple(make(query, [_law(one) for one in mine[query.name]], statistics))
    return found


def _law(entry: Entry) -> Any:
    assert entry.plan is not None
    return entry.plan.parts[0][0]


def _guesses(query: TableQuery) -> Sequence[int]:
    return (query.expect,) if query.expect else GUESSES


def _means(query: TableQuery, laws: Sequence[Any], _: Sequence[Statistic]) -> Iterator[Prediction]:
    assert query.amount is not None
    one, quotients = query.amount, mean_quotients(query.amount, *laws)
    for n in _guesses(query):
        halves = (quotients.half_width(Fraction(one.farthest, part)) / n for part in (1, 2))
        # no interval is longer than the clip; where persons are within their noise it is all of that
        worst, typical = (
            float(min(half, Fraction(one.farthest)) * one.grid)
            if quotients.tells(n)
            else float(one.farthest * one.grid)
            for half in halves
        )
        yield Prediction("mean", n, worst, typical)


def _ratios(query: TableQuery, laws: Sequence[Any], _: Sequence[Statistic]) -> Iterator[Prediction]:
    """For persons whose two amounts are both in the middle of their clips."""
    assert query.amount is not None
    assert query.over is not None
    quotients, below = ratio_quotients(query, *laws), query.over
    if not below.middle:
        return
    ratio, grid = Fraction(query.amount.middle, below.middle), query.amount.grid / below.grid
    for n in _guesses(query):
        if quotients.tells(n * below.middle):
            half = float(quotients.half_width(ratio) * grid / (n * abs(below.middle)))
            yield Prediction("ratio", n, half, half)


def _variances(query: TableQuery, laws: Sequence[Any], _: Sequence[Statistic]) -> Iterator[Prediction]:
    """For values that are spread evenly over the clip."""
    assert query.amount is not None
    one, (total, squares, count) = query.amount, laws
    first = mean_quotients(one, total, count, level=HALF_LEVEL)
    second = square_quotients(one, squares, count)
    away = Fraction(one.farthest) ** 2
    for n in _guesses(query):
        half = second.half_width(away / 2 - away / 3) / n + (first.half_width(Fraction(0)) / n) ** 2 / 2
        told = float(min(half, away / 2) if first.tells(n) else away / 2) * float(one.grid) ** 2
        yield Prediction("variance", n, told, told)


def _ranks(query: TableQuery, laws: Sequence[Any], statistics: Sequence[Statistic]) -> Iterator[Prediction]:
    assert query.of is not None
    if query.method == "select":
        distances = [one.distance for one in statistics]
        worst = max(selected_rank_errors(laws[0], distances, query.quantiles, query.of.size))
    else:
        sizes = (query.of.size,) if query.histogram else group_sizes(query.of.size)
        worst = max(rank_errors(sizes, laws[0]).widest(q)[1] for q in query.quantiles)
    many = query.method == "select" and len(query.quantiles) > 2
    note = "noise such as DiscreteGaussian, method = cumulated, finds three quantiles and more better" if many else None
    for n in _guesses(query):
        yield Prediction("rank", n, min(worst / n, 1.0), note=note)


def _tops(query: TableQuery, laws: Sequence[Any], statistics: Sequence[Statistic]) -> Iterator[Prediction]:
    assert query.of is not None
    keys, distance = query.of.size, statistics[0].distance
    level = 1 - (1 - LEVEL) / query.k
    reach = float(laws[0].falls_behind(keys, sensitivity=distance, level=level))
    yield Prediction(
        "count", None, reach, note=_counts_instead(query, Fraction(laws[0].rho) * query.k, distance, reach)
    )


def _counts_instead(query: TableQuery, rho: Fraction, distance: Fraction, reach: float) -> str | None:
    """Advice to publish all counts, if at this rho the first k of them fall behind by no more than selected keys."""
    assert query.of is not None
    keys = query.of.size
    if keys < 2:
        return None

    def apart(cells: int) -> float:
        return first_counts(keys, query.k, DiscreteGaussian(rho=rho / cells, sensitivity=distance))

    try:
        alone = apart(1)
        cells = max(floor((reach / alone) ** 2), 1)  # about: noise grows with the square root of the cells of a person
        while cells and apart(cells) > reach:
            cells -= 1
    except NotCertified:  # too wide for its sums
        return None
    if not cells:
        return None
    return (
        f"for the same rho all counts by {query.of.name}, DiscreteGaussian noise and max_cells up to {cells}, tell the "
        f"largest as well or better: at 95% none of the first {query.k} falls behind one that is left by more than "
        f"{grouped(ceil(alone))} for max_cells = 1"
    )


def first_counts(keys: int, k: int, noise: DiscreteGaussian) -> float:
    """By how much one of the k largest noisy counts may fall behind one that is left, at 95%.

    For that a key must seem larger than one of the k largest by as much; such pairs are k keys - k(k+1)/2, and the
    difference of two noises has a known law. Theorem: docs/theorems/top-k.md.

    >>> first_counts(10, 5, DiscreteGaussian(sigma=20)) < 100
    True
    """
    pairs = k * keys - k * (k + 1) // 2
    level = 1 - 2 * (1 - LEVEL) / pairs  # in both directions, of which one counts
    return float(NoiseSum(((noise, Fraction(1), 2),)).accuracy(level).half_width)


MAKERS: dict[str, Callable[[TableQuery, Sequence[Any], Sequence[Statistic]], Iterator[Prediction]]] = {
    "mean": _means,
    "ratio": _ratios,
    "variance": _variances,
    "quantiles": _ranks,
    "top": _tops,
}
