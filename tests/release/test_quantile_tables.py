"""Published quantiles, by selection and from cumulated counts: bins, ranks and intervals against the rows."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from release.noise_laws import drawn_often, made, published_with

from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.privacy.curve import Plan
from zcdp.release import release, table_noise
from zcdp.release.bounding import Exact
from zcdp.release.quantile_tables import rank_scores, sorted_errors
from zcdp.tables.table_query import rank_sensitivity

HEAD = '[data]\nunit = "row"\nneighbours = "{}"\n[domain]\nregion = ["R1", "R2"]\n'
HEAD += 'bins = {{ column = "pay", from = 0, to = 50, bins = 5 }}\n'
QUANTILES = '[[query]]\nname = "a"\nmeasure = "quantiles"\nof = "bins"\nby = ["region"]\n'
QUANTILES += 'quantiles = [0.75, 0.1, 0.5]\nmechanism = "ExponentialMechanism(epsilon=2)"\n'


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_quantiles_are_those_of_their_cell_and_the_error_is_that_of_the_selection(neighbours: str) -> None:
    """So many rows that another bin is selected with a probability below 10^-40."""
    counts = [[4000, 1000, 1000, 4000, 9000], [300, 900, 6000, 2000, 1000]]
    plan = read_plan("plan.toml", HEAD.format(neighbours) + QUANTILES)
    table = made(plan, Exact([*counts[0], *counts[1]], []), neighbours)
    assert table.columns["region"] == ["R1"] * 3 + ["R2"] * 3
    assert table.columns["quantile"] == [0.1, 0.5, 0.75] * 2
    rows = [[10 * n for n, many in enumerate(one) for _ in range(many)] for one in counts]
    starts = [one[int(q * len(one))] for one in rows for q in (0.1, 0.5, 0.75)]
    assert table.columns["from"] == starts
    assert table.columns["to"] == [start + 10 for start in starts]
    for q, error in zip(table.columns["quantile"], table.columns["rank_error"], strict=True):
        # a rank moves by so much, and others that lie behind by x are selected with odds of at most 4 e^(-x/moves);
        # one of three misses with 1/20
        moves = 1 if neighbours == "replace" else max(q, 1 - q)
        least = moves * log(4 * 59)
        assert least * (1 - 1e-9) <= error <= least * (1 + 1e-3)


def test_sorting_bins_keeps_the_largest_error_of_those_that_change_places() -> None:
    """Every order of four bins over ranks of their own, with targets at all ranks: the errors after sorting hold."""
    counts = [3, 0, 5, 2, 4]
    sums = [0, *np.cumsum(counts).tolist()]

    def far(target: Fraction, place: int) -> Fraction:
        return max(Fraction(0), sums[place] - target, target - sums[place + 1])

    targets = [Fraction(1), Fraction(9, 2), Fraction(9), Fraction(13)]
    for places in product(range(5), repeat=4):
        errors = [float(far(target, place)) for target, place in zip(targets, places, strict=True)]
        after = sorted_errors(places, errors)
        for target, place, error in zip(targets, sorted(places), after, strict=True):
            assert far(target, place) <= error
        if list(places) == sorted(places):
            assert after == errors
    for places in permutations(range(3)):
        assert len(sorted_errors(places, [1.0, 2.0, 3.0])) == 3


MEDIAN = """
[data]
unit = "row"
[domain]
bins = { column = "pay", from = 0, to = 100, bins = 20 }
[[query]]
name = "median"
measure = "quantiles"
of = "bins"
quantiles = [0.25, 0.5]
mechanism = "ExponentialMechanism(epsilon=0.5)"
"""


def near_enough(runs: int) -> float:
    """How often the ranks of both quantiles are as near as the table says, by the rows themselves."""
    pays = sorted(n % 101 for n in range(130))
    counts = [sum(5 * n <= pay < 5 * n + 5 for pay in pays) for n in range(20)]
    plan, near = read_plan("plan.toml", MEDIAN), 0
    for _ in range(runs):
        columns = made(plan, Exact(counts, [])).columns
        off = []
        for q, low, high, reach in zip(*columns.values(), strict=True):
            rank, inside = q * sum(counts), (sum(p < low for p in pays), sum(p < high for p in pays))
            off.append(max(inside[0] - rank, rank - inside[1], 0) <= reach)
        near += all(off)
        assert columns["from"][0] <= columns["from"][1]
    return near / runs


def test_the_error_of_ranks_is_about_the_truth() -> None:
    assert near_enough(1000) > 0.95 - 0.02  # three standard errors


@pytest.mark.deep
def test_ranks_are_as_near_as_told_in_ten_thousand_draws() -> None:
    assert near_enough(10_000) > 0.95


ATOMS = """
[data]
unit = "row"
[domain]
bins = { column = "pay", from = 0, to = 100, bins = 100 }
[[query]]
name = "low pay"
measure = "quantiles"
of = "bins"
quantiles = [0.05, 0.1, 0.12, 0.5]
mechanism = "ExponentialMechanism(epsilon=0.5)"
"""
ZEROS = [2000] + 15 * [0] + [167] * 84


def test_a_quantile_within_an_atom_is_its_bin() -> None:
    """One row in eight is 0, and nothing else below 16: so are the quantiles of 5, 10 and 12%, not the gap above."""
    plan = read_plan("plan.toml", ATOMS)
    for _ in range(5):
        table = made(plan, Exact(ZEROS, []))
        for q, start, reach in zip(*(table.columns[name] for name in ("quantile", "from", "rank_error")), strict=True):
            rank, below = q * sum(ZEROS), sum(ZEROS[:start])
            assert max(below - rank, rank - below - ZEROS[start], 0) <= 3 * reach  # once in 10^9 further away
        *low, median = table.columns["from"]
        assert low == [0, 0, 0]
        assert 45 <= median <= 60  # of 16028 rows the middle one is 6014 above 16
        assert "of the bin" in table.about


def test_cumulated_counts_find_the_atom_too() -> None:
    text = ATOMS.replace("ExponentialMechanism(epsilon=0.5)", "DiscreteGaussian(sigma=8)")
    table = made(read_plan("plan.toml", text), Exact(ZEROS, []))
    assert table.columns["from"][:3] == [0, 0, 0]
    assert table.columns["lower"][:3] == [0, 0, 0]
    assert table.columns["upper"][:2] == [1, 1]
    assert 50 <= table.columns["from"][3] <= 54


@pytest.mark.parametrize("q", ["1/2", "1/4", "1/10", "9/10", "2/3"])
def test_scores_of_neighbours_move_as_far_as_is_derived_and_no_further(q: str) -> None:
    """Every table of three bins with up to three rows in each; ranks are counted here row by row."""
    target = Fraction(q)

    def scores(counts: list[int]) -> list[Fraction]:
        rows = [n for n, count in enumerate(counts) for _ in range(count)]
        rank = target * len(rows)
        ranks = [(sum(row < n for row in rows), sum(row <= n for row in rows)) for n in range(3)]
        return [-max(Fraction(0), low - rank, rank - high) for low, high in ranks]

    def furthest(one: list[int], other: list[int]) -> Fraction:
        return max(abs(a - b) for a, b in zip(scores(one), scores(other), strict=True))

    added = replaced = twice = Fraction(0)
    for counts in map(list, product(range(4), repeat=3)):
        assert rank_scores(counts, target) == [score * target.denominator for score in scores(counts)]
        assert max(scores(counts)) == 0
        more = [[count + (n == place) for n, count in enumerate(counts)] for place in range(3)]
        both = [[a + b - c for a, b, c in zip(*one, counts, strict=True)] for one in product(more, repeat=2)]
        added = max(added, *(furthest(counts, one) for one in more))
        twice = max(twice, *(furthest(counts, one) for one in both))
        replaced = max(replaced, *(furthest(one, other) for one in more for other in more))
    assert added * target.denominator == rank_sensitivity(target)
    assert twice * target.denominator == 2 * rank_sensitivity(target)  # a person of two rows
    assert replaced * target.denominator == rank_sensitivity(target, replaced=True)


# Cumulated counts: intervals hold at 95% whatever the data are, and are no longer than the noise makes them.


CUMULATED = """
[data]
unit = "row"
[domain]
bins = {{ column = "pay", from = 0, to = 200, bins = 20, clip = {clip} }}
[[query]]
name = "a"
measure = "quantiles"
of = "bins"
quantiles = [0.25, 0.5, 0.9]
mechanism = "DiscreteGaussian(sigma=6)"
"""
DATA = {
    "atom": [300, *[0] * 9, *[30] * 10],
    "gap": [50] * 4 + [0] * 12 + [50] * 4,
    "empty": [0] * 20,
    "one bin": [0] * 7 + [400] + [0] * 12,
    "even": [40] * 20,
    "few": [1, 0, 2, 0, 0, 1, *[0] * 14],
}


def held(name: str, runs: int) -> list[float]:
    """How often each interval has a bin in common with those that hold the quantile."""
    counts, found = DATA[name], np.zeros(3)
    total, sums = sum(counts), [0, *np.cumsum(counts).tolist()]
    for table in drawn_often(CUMULATED.format(clip="false"), Exact(counts, []), runs, 11, [("gaussian", 6.0)]):
        rows = list(zip(*table.columns.values(), strict=True))
        for n, (q, start, end, low, high) in enumerate(rows):
            # bins that hold it: one of them, the same in all runs, must be in the interval; the first is taken
            true = next(place for place in range(20) if sums[place] <= q * total <= sums[place + 1])
            found[n] += low <= 10 * true and 10 * true + 10 <= high
            assert (start is end is None and (low, high) == (0, 200)) or low <= start < end <= high
        known = [row for row in rows if row[1] is not None]
        assert all(a[1] <= b[1] for a, b in pairwise(known))
    return (found / runs).tolist()


@pytest.mark.parametrize("name", DATA)
def test_the_interval_of_a_quantile_holds_it(name: str) -> None:
    assert min(held(name, 400)) > 0.95 - 0.02  # of a fixed seed


def test_a_quantile_of_which_nothing_is_known_has_no_bin_in_any_file(tmp_path: Path) -> None:
    """One row under noise of 1000: its interval is everything; a spreadsheet must not find a figure beside it."""
    text = CUMULATED.format(clip="true").replace("sigma=6", "sigma=1000")
    made = release(read_plan("plan.toml", text), pl.DataFrame({"pay": [55.0]}), ledger=None)
    table = made.tables["a"]
    for start, end, low, high in zip(*(table.columns[name] for name in ("from", "to", "lower", "upper")), strict=True):
        assert ((start, end) == (None, None)) == ((low, high) == (-inf, inf))
    assert None in table.columns["from"]
    made.write(tmp_path)
    with (tmp_path / "a.csv").open() as file:
        assert [row["from"] == "" for row in csv.DictReader(file)] == [start is None for start in table.columns["from"]]
    described = json.loads((tmp_path / "a.csv-metadata.json").read_text())["tableSchema"]["columns"]
    assert {one["name"]: one["required"] for one in described if one["name"] in {"from", "lower"}} == {
        "from": False,
        "lower": True,
    }
    assert pq.read_table(tmp_path / "a.parquet").to_pydict()["from"] == table.columns["from"]


@pytest.mark.deep
@pytest.mark.parametrize("name", DATA)
def test_the_intervals_of_quantiles_hold_in_thousands_of_draws(name: str) -> None:
    assert min(held(name, 4000)) > 0.95 - 0.012


def test_an_interval_that_touches_a_clipped_end_is_open() -> None:
    counts = [900, *[0] * 18, 600]
    noise = [[0] * 2, [0] * 6, [0] * 20]
    for clip in ("true", "false"):
        table = published_with(CUMULATED.format(clip=clip), Exact(counts, []), noise)
        ends = [-inf, inf] if clip == "true" else [0, 200]
        assert table.columns["from"] == [0, 0, 190]
        assert [table.columns["lower"][0], table.columns["upper"][2]] == ends
        assert table.columns["to"] == [10, 10, 200]


def test_without_data_the_interval_is_everything() -> None:
    table = published_with(CUMULATED.format(clip="false"), Exact([0] * 20, []), [[0] * 2, [0] * 6, [0] * 20])
    assert table.columns["lower"] == [0, 0, 0]
    assert table.columns["upper"] == [200, 200, 200]


# Of persons, or of rows.


PERSONS = """
[data]
unit = "who"
[domain]
sex = ["f", "m"]
bins = {{ column = "pay", from = 0, to = 2000, bins = 200, clip = true }}
[[query]]
name = "a"
measure = "quantiles"
of = "bins"
by = ["sex"]
quantiles = [0.1, 0.25, 0.5]
{per}
mechanism = "{mechanism}"
"""
SURE = ("ExponentialMechanism(epsilon=500)", "DiscreteGaussian(sigma=0.1)")


def people() -> pl.DataFrame:
    """Persons with one to four rows each, of 0 to 500, in cents."""
    rng = np.random.default_rng(8)
    rows = [(who, "fm"[who % 2], round(float(pay), 2)) for who in range(301) for pay in rng.gamma(2, 60, 1 + who % 4)]
    return pl.DataFrame(rows, schema=["who", "sex", "pay"], orient="row")


@pytest.mark.parametrize("mechanism", SURE)
def test_quantiles_of_persons_are_those_of_their_totals(mechanism: str) -> None:
    """With next to no noise the bin of numpy's quantile of the totals."""
    frame = people()
    text = PERSONS.format(per='per = "person"\ngrid = "1/100"', mechanism=mechanism)
    table = release(read_plan("plan.toml", text), frame, ledger=None).tables["a"]
    totals = frame.group_by("who", "sex").agg(pl.col("pay").sum())
    for sex, q, start, end in zip(*(table.columns[name] for name in ("sex", "quantile", "from", "to")), strict=True):
        mine = totals.filter(pl.col("sex") == sex)["pay"].to_numpy()
        assert np.quantile(mine, q, method="lower") < end
        assert np.quantile(mine, q, method="higher") >= start


@pytest.mark.parametrize("mechanism", SURE)
def test_quantiles_of_rows_are_those_of_single_rows(mechanism: str) -> None:
    frame = people()
    text = PERSONS.format(per='per = "row"\nmax_rows = 4', mechanism=mechanism)
    table = release(read_plan("plan.toml", text), frame, ledger=None).tables["a"]
    for sex, q, start, end in zip(*(table.columns[name] for name in ("sex", "quantile", "from", "to")), strict=True):
        mine = frame.filter(pl.col("sex") == sex)["pay"].to_numpy()
        assert np.quantile(mine, q, method="lower") < end
        assert np.quantile(mine, q, method="higher") >= start


@pytest.mark.parametrize(("cells", "rows"), [(2, 1), (2, 3)])
def test_a_person_of_many_rows_moves_the_counts_of_all_levels_as_far_as_is_charged(cells: int, rows: int) -> None:
    """Where all rows of each cell are in one bin, which a person attains."""
    text = (
        PERSONS.format(
            per=f'per = "row"\nmax_rows = {rows}\nmax_cells = {cells}', mechanism="DiscreteGaussian(sigma=2)"
        )
        .replace("bins = 200", "bins = 5")
        .replace("0.1, 0.25, ", "")
    )
    plan, drawn, seen = read_plan("plan.toml", text), table_noise.drawn, list[list[int]]()

    def kept(entry: Any, values: list[int]) -> list[int]:
        seen.append(values)
        return drawn(entry, values)

    mine = pl.DataFrame(
        [(1000, sex, 55.0) for sex in "fm" for _ in range(5)], schema=["who", "sex", "pay"], orient="row"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_noise, "drawn", kept)
        for frame in (mine.clear(), mine):
            release(plan, frame, ledger=None)
    without, with_all = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    squares = sum(
        (a - b) ** 2 for one, other in zip(without, with_all, strict=True) for a, b in zip(one, other, strict=True)
    )
    charged = sum(float(Plan.repeated(entry.plan, entry.count).rho) for entry in plan.entries if entry.plan)
    assert charged == pytest.approx(squares / (2 * 2**2), rel=1e-9)
    assert squares == len(without) * cells * rows**2


HISTOGRAM = """
[data]
unit = "row"
[domain]
sex = ["f", "m"]
bins = { column = "pay", from = 0, to = 100, bins = 10 }
[[query]]
name = "pay"
measure = "histogram"
of = "bins"
by = ["sex"]
mechanism = "DiscreteGaussian(sigma=3)"
[[query]]
name = "quartiles"
measure = "quantiles"
histogram = "pay"
quantiles = [0.25, 0.5, 0.75]
"""


def test_quantiles_of_a_published_histogram_cost_nothing_and_follow_from_its_figures() -> None:
    plan = read_plan("plan.toml", HISTOGRAM)
    assert [entry.name for entry in plan.entries] == ["pay"]
    frame = pl.DataFrame({"sex": ["f", "m"] * 500, "pay": [float(n % 97) for n in range(1000)]})
    made_ = release(plan, frame, ledger=None)
    values, table = made_.tables["pay"].columns["value"], made_.tables["quartiles"]
    assert table.columns["sex"] == ["f"] * 3 + ["m"] * 3
    for n, (q, start) in enumerate(zip(table.columns["quantile"], table.columns["from"], strict=True)):
        mine = values[:10] if n < 3 else values[10:]
        place = start // 10
        assert sum(mine[: place + 1]) >= q * sum(mine) - 40  # the crossing, but for figures that fall
        assert sum(mine[:place]) <= q * sum(mine) + 40
        assert table.columns["lower"][n] <= start
        assert start + 10 <= table.columns["upper"][n]
        assert table.columns["upper"][n] - table.columns["lower"][n] <= 40  # 500 rows, 10 bins, noise of 3


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('histogram = "pay"', 'histogram = "age"', "there is no query 'age'"),
        ('histogram = "pay"', 'histogram = "quartiles"', "there is no query 'quartiles'"),
        ('of = "bins"\nby = ["sex"]', 'of = "bins"\nnon_negative = true', "non_negative"),
        ('measure = "histogram"\nof = "bins"\nby = ["sex"]', 'measure = "count"\nby = ["bins", "sex"]', "no counts by"),
        ('histogram = "pay"', 'histogram = "pay"\nby = ["sex"]', "no such field"),
    ],
)
def test_what_is_no_histogram_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(PlanFileError, match=why):
        read_plan("plan.toml", HISTOGRAM.replace(old, new))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ("", 'per is missing: per = "person"'),
        ('per = "house"', "must be one of person, row"),
        ('per = "row"', "max_rows is missing"),
        ('per = "person"\nmax_rows = 2', "goes with per"),
        ('per = "row"\nmax_rows = 2\ngrid = 1', "goes with per"),
        ('per = "person"\ngrid = 3', "must be multiples"),
        ('per = "person"\nmethod = "guess"', "select, cumulated"),
        ('per = "person"\nmethod = "cumulated"', "must add noise"),
    ],
)
def test_a_plan_must_say_what_quantiles_are_of(fields: str, why: str) -> None:
    with pytest.raises(PlanFileError, match=why):
        read_plan("plan.toml", PERSONS.format(per=fields, mechanism=SURE[0]))
