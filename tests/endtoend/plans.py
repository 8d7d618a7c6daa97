"""Random plans of every measure, as words, and random rows for them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from typing import Any

DOMAINS = """[domain]
region = {{ values = ["R1", "R2", "R3"]{other}{column} }}
town = {{ within = "region", values = {{ R1 = ["a", "b"], R2 = ["c"], R3 = ["d"] }}{other}{unknown} }}
sex = [1, 2]
ok = [true, false]
age = {{ from = 0, to = 20, step = {step}, clip = true }}
decade = {{ column = "age", from = 0, to = 20, step = 10, clip = true }}
day = {{ from = 2024-01-01, to = 2026-01-01, step = "{months}" }}
pay_bins = {{ column = "pay", from = -8, to = 8, bins = {bins} }}
"""
MEASURES = ("count", "persons", "histogram", "sum", "mean", "ratio", "variance", "quantiles", "cumulated", "top")
GAUSSIANS = ("DiscreteGaussian(sigma=2)", "DiscreteGaussian(sigma='7/2')", "DiscreteGaussian(rho='1/8')")
LAPLACES = ("DiscreteLaplace(scale=3)", "DiscreteLaplace(scale='5/2')", "DiscreteLaplace(epsilon='1/2')")
WIDE = "DiscreteGaussian(sigma=4503599627370496)"
SELECTIONS = ("ExponentialMechanism(epsilon='1/2')", "ExponentialMechanism(epsilon=1)")
CLIPS = ((0, 10), (-3, 8), (2, 9), (-9, -1), (-5, 5), (0, 7))
WHERE = ('["ok", "==", true]', '["age", ">=", 5]', '["sex", "==", 1], ["age", "<", 15]')
WHO = tuple(range(100, 112))


def plan(rng: random.Random) -> str:
    """One to three tables, and in a third of all plans a set of tables that add up."""
    unit = "row" if rng.random() < 0.2 else "who"
    neighbours = rng.choice(("add-remove", "replace"))
    other = rng.choice(("", ', other = "elsewhere"'))
    column, unknown = rng.choice((("", ""), (', column = "region"', ""), (', column = "region"', ', unknown = "?"')))
    domains = DOMAINS.format(
        other=other,
        column=column,
        unknown=unknown,
        step=rng.choice((5, 2)),
        months=rng.choice(("quarter", "year")),
        bins=rng.choice((4, 8)),
    )
    lines = [f'[data]\nunit = "{unit}"\nprotects = "person"\nneighbours = "{neighbours}"\naccount = "all"', domains]
    if rng.random() < 1 / 3:
        lines += _set(rng, unit, nested=bool(other) and bool(unknown or not column))
    for n in range(rng.randrange(1, 4)):
        lines += _query(rng, f"q{n}", unit)
    return "\n".join(lines) + "\n"


def _some(rng: random.Random, least: int, most: int) -> list[str]:
    return rng.sample(["region", "town", "sex", "ok", "age", "day"], rng.randrange(least, most + 1))


def _listed(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _query(rng: random.Random, name: str, unit: str) -> Iterator[str]:
    kind = rng.choice(MEASURES if unit == "who" else [one for one in MEASURES if one != "persons"])
    measure = "quantiles" if kind == "cumulated" else kind
    yield f'[[query]]\nname = "{name}"\nmeasure = "{measure}"'
    most = 1 if unit == "row" else rng.choice((1, 2, 3, 7))
    if measure != "top":
        yield f"by = {_listed(_some(rng, 0, 2 if measure == 'quantiles' else 3))}\nmax_cells = {most}"
    if measure in ("count", "histogram", "top"):
        yield f"max_rows = {1 if unit == 'row' else rng.choice((1, 2, 5))}"
    if measure in ("sum", "mean", "ratio", "variance"):
        yield from _amount(rng)
    if measure == "ratio":
        yield 'over = "age"\nover_clip = [-2, 20]\nover_grid = 2'
    if measure in ("histogram", "quantiles"):
        yield 'of = "pay_bins"'
    if measure == "quantiles":
        levels = rng.sample(("0.5", "0.25", "0.1", "0.75", "0.99"), rng.randrange(1, 4))
        yield f"quantiles = [{', '.join(levels)}]"
        if unit == "who":
            yield rng.choice(('per = "person"', f'per = "row"\nmax_rows = {rng.choice((1, 2, 3))}'))
    if measure == "top":
        yield f'of = "{rng.choice(("region", "town", "age"))}"\nk = {rng.choice((1, 2, 3))}'
    if rng.random() < 0.3:
        yield f"where = [{rng.choice(WHERE)}]"
    if kind in ("quantiles", "top"):
        yield f'mechanism = "{rng.choice(SELECTIONS)}"'
        if kind == "top" and rng.random() < 0.5:
            yield f'count_mechanism = "{_noise(rng)}"'
        return
    yield f'mechanism = "{_noise(rng)}"'
    if measure in ("mean", "variance"):
        yield f'count_mechanism = "{_noise(rng)}"'
    if measure == "mean" and rng.random() < 0.5:
        yield 'publish = ["sum", "mean", "persons"]'
    if measure == "variance":
        yield f'square_mechanism = "{_noise(rng)}"'
    if measure == "ratio":
        yield f'over_mechanism = "{_noise(rng)}"'
    if measure in ("count", "persons", "histogram") and rng.random() < 0.2:
        yield "non_negative = true"


def _noise(rng: random.Random) -> str:
    return WIDE if rng.random() < 0.05 else rng.choice((*GAUSSIANS, *LAPLACES))


def _amount(rng: random.Random) -> Iterator[str]:
    grid = rng.choice(("1", "0.5", "2"))
    low, high = (Fraction(end) * Fraction(grid) for end in rng.choice(CLIPS))
    yield f'of = "pay"\nclip = [{float(low)}, {float(high)}]\ngrid = {grid}'


def _set(rng: random.Random, unit: str, *, nested: bool) -> Iterator[str]:
    """Tables by keys that drop no row: lists with `other`, both booleans of rows that have one, clipped bins."""
    measure = rng.choice(("count", "sum", "histogram", "persons") if unit == "who" else ("count", "sum"))
    most = 1 if unit == "row" or measure == "persons" else rng.choice((1, 2, 3, 7))
    pool = [["ok"], ["age"], ["ok", "age"], ["decade"], ["ok", "decade"], []]
    if nested and rng.random() < 0.6:
        pool = [["town"], ["region"], ["ok", "region"], ["decade", "town"], ["ok"], []]
    first, rest = pool[rng.choice((0, 1, 2, 3))], pool
    chosen = [first, *rng.sample([one for one in rest if one != first], rng.randrange(1, 3))]
    amount = list(_amount(rng)) if measure == "sum" else []
    rows = f"max_rows = {1 if unit == 'row' else rng.choice((1, 2))}"
    for n, by in enumerate(chosen):
        yield f'[[query]]\nname = "s{n}"\nadds_up = "all"\nmax_cells = {most}'
        bins = next((one for one in by if one in ("age", "decade")), None)
        if measure == "histogram" and bins:
            yield f'measure = "histogram"\nof = "{bins}"\nby = {_listed([one for one in by if one != bins])}'
        else:
            yield f'measure = "{"count" if measure == "histogram" else measure}"\nby = {_listed(by)}'
        yield from amount
        if measure in ("count", "histogram"):
            yield rows
        yield 'where = [["ok", "in", [true, false]], ["age", ">=", 0]]'
        yield f'mechanism = "{rng.choice((*GAUSSIANS[:2], *LAPLACES[:2]))}"'


def rows(rng: random.Random, *, most: int = 40) -> list[dict[str, Any]]:
    """Rows of a few persons, one of whom has very many, with odd values in every column."""
    pool = rng.sample(WHO, rng.randrange(1, 8))
    extreme = pool[0]
    made = [_row(rng, rng.choice([*pool, None])) for _ in range(rng.randrange(0, most))]
    side, same = rng.choice((-1, 1)), {**_row(rng, extreme), "ok": True, "age": 9.0}
    for _ in range(rng.randrange(0, 25)):  # half of them in one cell of every table, all on one side of the others
        one = same if rng.random() < 0.5 else _row(rng, extreme)
        made.append({**one, "pay": side * rng.choice((50.0, 6.0, 4.0, 2.0))})
    rng.shuffle(made)
    return made


def _row(rng: random.Random, who: int | None) -> dict[str, Any]:
    return {
        "who": who,
        "region": rng.choice(("R1", "R2", "R3", "R9", None)),
        "town": rng.choice(("a", "b", "c", "d", "e", None)),
        "sex": rng.choice((1, 2, 3, None)),
        "ok": rng.choice((True, False, None)),
        "age": rng.choice((None, 0.0, 4.5, 5.0, 9.0, 13.0, 19.0, 25.0)),
        "pay": rng.choice((None, -50.0, -6.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0, 50.0)),
        "day": rng.choice((None, date(2024, 2, 29), date(2024, 12, 31), date(2025, 7, 1), date(2026, 1, 1))),
    }
