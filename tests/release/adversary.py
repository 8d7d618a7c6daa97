"""Tables and plans made to break bounds: every odd value that an engine reads in a way of its own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from math import inf, nan
from typing import Any

import polars as pl

from zcdp.plans.plan_file import read_plan
from zcdp.tables.declaration import Declaration

PERSONS: dict[str, tuple[Any, ...]] = {
    "integer": (None, 0, 1, -1, 7, 8, 9, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)),
    "text": (None, "", "a", "a ", "A", "\u00e9", "e\u0301", "1", "01", "NaN", "null", "\u200ba", "x" * 40),
}
REGIONS = ("R1", "R2", "R3", "r1", "R1 ", "elsewhere", "\u00e9", "e\u0301", "", None, "R9")
TOWNS = ("a", "b", "c", "\u00e9", "A", "a ", "nowhere", "elsewhere", "", None, "R1")
AGES = (None, nan, inf, -inf, -0.0, 0.0, 4.999999999999999, 5.0, 9.5, 10.0, 19.999, 20.0, -1e-300, 1e308)
SEXES = (None, 0, 1, 2, 3, -5, 2**62)
AMOUNTS = (None, nan, inf, -inf, -0.0, 0.0, 0.5, 1.5, 2.5, -0.5, 0.005, 1e-320, 1e308, -1e308, 3.0, 1e16, -7.25)
WHOLE = (None, 0, 1, -1, 5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 100)
DAYS = (None, *map(date.fromisoformat, ("0001-01-01", "1900-02-28", "2023-12-31", "2024-02-29", "2024-03-01")))
DAYS += tuple(map(date.fromisoformat, ("2024-12-31", "2025-01-01", "2025-06-30", "2025-12-31", "9999-12-31")))
SCHEMA = {
    "region": pl.String,
    "town": pl.String,
    "age": pl.Float64,
    "sex": pl.Int64,
    "pay": pl.Float64,
    "days": pl.Int64,
    "ok": pl.Boolean,
    "day": pl.Date,
}


@dataclass(frozen=True)
class Case:
    """A plan and a table, and the persons in it."""

    tables: Declaration
    frame: pl.DataFrame
    text: str

    @property
    def persons(self) -> list[Any]:
        return self.frame["who"].drop_nulls().unique(maintain_order=True).to_list()

    def without(self, person: Any) -> pl.DataFrame:
        return self.frame.filter(pl.col("who").ne_missing(person))

    def replaced(self, person: Any, rng: random.Random) -> pl.DataFrame:
        rows = [{**row(rng), "who": person} for _ in range(rng.randrange(1, 6))]
        return pl.concat([self.without(person), pl.DataFrame(rows, schema=self.frame.schema, strict=False)])


def row(rng: random.Random) -> dict[str, Any]:
    return {
        "region": rng.choice(REGIONS),
        "town": rng.choice(TOWNS),
        "age": rng.choice(AGES) if rng.random() < 0.5 else rng.uniform(-2, 22),
        "sex": rng.choice(SEXES),
        "pay": rng.choice(
            (rng.choice(AMOUNTS), rng.choice(AMOUNTS), rng.uniform(-50, 50), rng.uniform(-(2**41), 2**41))
        ),
        "days": rng.choice(WHOLE),
        "ok": rng.choice((True, True, False, None)),
        "day": rng.choice(DAYS),
    }


def cases(seed: int, count: int, *, neighbours: str = "add-remove") -> Iterator[Case]:
    """Random plans, each with a table of its own; the first table is empty."""
    rng = random.Random(seed)
    for n in range(count):
        kind = rng.choice(tuple(PERSONS))
        size = 0 if n == 0 else rng.randrange(1, 60)
        pool = rng.sample(PERSONS[kind], rng.randrange(2, len(PERSONS[kind])))
        rows = [{"who": rng.choice(pool), **row(rng)} for _ in range(size)]
        rows += rng.sample(rows, len(rows) // 4)  # rows that are there twice
        who = pl.Int64 if kind == "integer" else pl.String
        frame = pl.DataFrame(rows, schema={"who": who, **SCHEMA}, strict=False)
        text = plan(rng, neighbours)
        tables = read_plan("plan.toml", text).tables
        assert tables is not None
        yield Case(tables, frame, text)


def plan(rng: random.Random, neighbours: str) -> str:
    """One query of each kind, with random keys and bounds."""
    other = rng.choice(("", ', other = "elsewhere"'))
    clip = rng.choice(("true", "false"))
    column, unknown = rng.choice(
        (("", ""), (', column = "region"', ""), (', column = "region"', ', unknown = "nowhere"'))
    )
    rest = rng.choice(("", ', other = "not stated"'))
    towns = 'values = { R1 = ["a", "R1"], R2 = ["b"], R3 = ["c"], "\u00e9" = ["\u00e9"] }'
    lines = [
        f'[data]\nunit = "who"\nneighbours = "{neighbours}"\n[domain]',
        f'region = {{ values = ["R1", "R2", "R3", "\u00e9"]{other}{column} }}',
        f'town = {{ {towns}, within = "region"{other}{unknown} }}',
        f"age = {{ from = 0, to = 20, step = {rng.choice(('5', '2.5', '0.5'))}, clip = {clip}{rest} }}",
        f"sex = {{ values = [1, 2, 0]{rng.choice(('', ', other = 9'))} }}",
        f"day = {{ from = 2024-01-01, to = 2026-01-01, step = {rng.choice(STEPS)}, clip = {clip} }}",
        'ok = [true, false]\npay_bins = { column = "pay", from = -10, to = 10, bins = 8 }',
    ]
    measures = ("count", "persons", "histogram", "sum", "mean", "ratio", "variance", *QUANTILES, "top")
    return "\n".join([*lines, *("\n".join(_query(rng, measure)) for measure in measures)])


def _query(rng: random.Random, measure: str) -> Iterator[str]:
    yield f'[[query]]\nname = "{measure}"\nmeasure = "{"quantiles" if measure in QUANTILES else measure}"'
    if measure != "top":
        yield f"by = {rng.sample(['region', 'town', 'age', 'sex', 'ok', 'day'], rng.randrange(0, 4))}".replace("'", '"')
        yield f"max_cells = {rng.choice((1, 1, 2, 3, 7))}"
    if measure in ("count", "histogram", "top"):
        yield f"max_rows = {rng.choice((1, 2, 5))}"
    if measure in ("sum", "mean", "ratio", "variance"):
        wide = ((-(2**40), 2**40), (0, 2**50)) if measure != "variance" else ((-(2**26), 2**26),)
        low, high = rng.choice(((0, 10), (-3, 8), (2, 9), (-9, -1), *wide))
        yield f"clip = [{low}, {high}]\ngrid = {rng.choice((1, '0.5', '0.25', '0.1')) if high < 2**20 else 1}"
    of = dict.fromkeys(("sum", "mean", "ratio", "variance"), ("pay", "days"))
    of |= dict.fromkeys(("histogram", *QUANTILES), ("pay_bins",))
    of["top"] = ("region", "town", "age", "sex")
    if measure in of:
        yield f'of = "{rng.choice(of[measure])}"'
    if measure in QUANTILES:
        yield "quantiles = [0.1, 0.5]"
        yield f"per = {QUANTILES[measure].format(rows=rng.choice((1, 2, 5)), grid=rng.choice(('1/4', '1/2', '1/100')))}"
    if measure == "ratio":
        yield 'over = "age"\nover_clip = [-1, 9.5]\nover_grid = 0.5\nover_mechanism = "DiscreteGaussian(sigma=2)"'
    if measure == "variance":
        yield 'square_mechanism = "DiscreteGaussian(sigma=2)"'
    if measure == "top":
        yield "k = 2"
    if rng.random() < 0.5:
        yield f"where = [{rng.choice(CONDITIONS)}]"
    selects = measure == "top" or measure.startswith("selected")
    yield f'mechanism = "{"ExponentialMechanism(epsilon=1)" if selects else "DiscreteGaussian(sigma=2)"}"'
    if measure in ("mean", "variance"):
        yield 'count_mechanism = "DiscreteGaussian(sigma=2)"'


QUANTILES = {
    "selected of rows": '"row"\nmax_rows = {rows}',
    "selected of persons": '"person"\ngrid = "{grid}"',
    "cumulated of rows": '"row"\nmax_rows = {rows}',
    "cumulated of persons": '"person"\ngrid = "{grid}"',
}
STEPS = ('"month"', '"quarter"', '"year"', "17", "43")
CONDITIONS = (
    '["day", "<", 2025-01-01]',
    '["day", "not in", [2024-02-29, 2025-12-31]]',
    '["ok", "==", true]',
    '["ok", "!=", true]',
    '["age", "<", 10]',
    '["age", "!=", 5]',
    '["pay", ">=", -0.0]',
    '["days", "not in", [1, 5]]',
    '["region", "not in", ["R1", "r1"]]',
    '["region", "!=", "R2"]',
    '["sex", "in", [1, 2, 3]], ["age", ">", -1e9]',
)
