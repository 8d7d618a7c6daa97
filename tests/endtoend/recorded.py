"""A release whose samplers are exchanged for ones that write down what they are asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from independent.tables import Charge, Noise, Selection, charge_of
from release.engines_table import duck

from zcdp.accounting.adjusted_accuracy import Adjustment
from zcdp.accounting.rank_accuracy import RankErrors
from zcdp.ledger import Ledger
from zcdp.mechanisms.noise.quotients import End, Quotients
from zcdp.numeric.balls import at_precision
from zcdp.plans.plan_file import read_plan
from zcdp.release import release
from zcdp.release import release_tables as release_run
from zcdp.release.table_noise import Table, drawn

SCHEMA = {"who": pl.Int64, "region": pl.String, "town": pl.String, "sex": pl.Int64, "ok": pl.Boolean}
SCHEMA |= {"age": pl.Float64, "pay": pl.Float64, "day": pl.Date}  # type: ignore[dict-item]
ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "duckdb": duck,
    "pandas": lambda frame: frame.to_pandas().astype({"who": "Int64", "sex": "Int64"}),
}
APART = 10**6
"""Noise that stands for itself: no two draws are alike, and all are further apart than any exact figure is from 0."""


class Recorder:
    """What is drawn; noise is 0, or where it is told apart, a number that nothing else has."""

    def __init__(self, *, told_apart: bool) -> None:
        self.told_apart = told_apart
        self.draws: Counter[Noise | Selection] = Counter()
        self.scores: list[tuple[Fraction, list[int]]] = []
        self.laws: list[Noise] = []
        self.sets: list[list[list[int]]] = []
        self.tables: list[tuple[Noise, list[int]]] = []

    def noise(self, law: str, number: Fraction, count: int) -> list[int]:
        made = [APART * (len(self.laws) + n + 1) if self.told_apart else 0 for n in range(count)]
        self.draws[Noise(law, number)] += count
        self.laws += [Noise(law, number)] * count
        return made

    def law_of(self, figure: int) -> tuple[int, Noise, int]:
        """Which draw is in a published figure, of which law, and what is left without it."""
        n, rest = divmod(figure + APART // 2, APART)
        return n, self.laws[n - 1], rest - APART // 2

    def select(self, rate: Fraction, scores: Sequence[int]) -> int:
        self.draws[Selection(rate, len(scores))] += 1
        self.scores.append((rate, [int(score) for score in scores]))
        return 0  # so that neighbours are asked for the same candidates


def _number(rate: Any) -> Fraction:
    return Fraction(float(at_precision(128, rate).mid())).limit_denominator(10**6)


def _without_noise(_: Quotients, a: int, b: int, low: End = -inf, high: End = inf) -> tuple[End, End]:
    """The quotient that is known to the last digit, unless nothing is below the line."""
    return (min(max(Fraction(a, b), low), high),) * 2 if b else (low, high)


@contextmanager
def recorded(*, told_apart: bool = False, whole: bool = False) -> Iterator[Recorder]:
    """Samplers that record; unless the whole is wanted, without the report and other files, which cost most time."""
    made = Recorder(told_apart=told_apart)

    class Gaussian:
        def __init__(self, variance: Fraction, **_: Any) -> None:
            self.law = "gaussian", variance

        def draw(self, count: int, *_: Any) -> Any:
            return np.array(made.noise(*self.law, count), dtype=np.int64)

        def draw_one(self, *_: Any) -> int:
            return made.noise(*self.law, 1)[0]

    class Laplace(Gaussian):
        def __init__(self, rate: Any, **_: Any) -> None:
            self.law = "laplace", _number(rate)

    class Exponential:
        def __init__(self, rate: Any, **_: Any) -> None:
            self.rate = _number(rate)

        def select(self, scores: Any, *_: Any) -> int:
            return made.select(self.rate, scores)

    def noisy(entry: Any, values: list[int]) -> list[int]:
        found = drawn(entry, values)
        made.tables.append((made.laws[-1], list(values)))
        return found

    estimates = Adjustment.estimates

    def adjusted(self: Adjustment, noisy: Sequence[Sequence[int]]) -> Any:
        made.sets.append([list(one) for one in noisy])
        return estimates(self, noisy)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zcdp.samplers.discrete_gaussian_noise.DiscreteGaussianNoise", Gaussian)
        patch.setattr("zcdp.samplers.geometric.DiscreteLaplaceNoise", Laplace)
        patch.setattr("zcdp.samplers.selection_draws.ExponentialSelection", Exponential)
        patch.setattr("zcdp.release.table_noise.drawn", noisy)
        patch.setattr(Adjustment, "estimates", adjusted)
        patch.setattr(release_run, "bits", lambda *_: 12345)
        if not whole:
            facts = SimpleNamespace(budget=None, zcdp="", delta=0, total=SimpleNamespace(rho=0, epsilon=0))
            patch.setattr(release_run, "account_of", lambda *_, **__: facts)
            patch.setattr("zcdp.report.release_report.render_release", lambda *_: "")
            patch.setattr("zcdp.release.archive.parquet", lambda *_: b"")
            error = SimpleNamespace(half_width=1, standard_deviation=1.0)
            patch.setattr("zcdp.mechanisms.noise.noise_sums.NoiseSum.accuracy", lambda *_: error)
            patch.setattr(Quotients, "ends", _without_noise)
            patch.setattr(RankErrors, "span", lambda _, q, ranks, below: (0, len(ranks)))
        yield made


def released(
    text: str, rows: list[dict[str, Any]], ledger: Ledger, key: str, engine: str = "polars"
) -> dict[str, Table]:
    """The tables of a plan, spent from the account that it names."""
    frame = ENGINES[engine](pl.DataFrame(rows, schema=SCHEMA))
    return release(read_plan("plan.toml", text), frame, ledger=ledger, key=key).tables


def debited(ledger: Ledger, key: str) -> tuple[dict[Charge, int], Fraction]:
    """What is on the record under a key: the uses of each mechanism, and the amount."""
    [entry] = [one for one in ledger.history() if one.kind == "spend" and one.key == key]
    found: Counter[Charge] = Counter()
    for part in json.loads(entry.what):
        found[charge_of(part["mechanism"])] += part["count"]
    return dict(found), Fraction(entry.amount)
