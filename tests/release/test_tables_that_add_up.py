"""`adds_up` from the plan to the published figures: what is refused, what the tables say, and intervals that hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from release.adversary import cases
from release.engines_table import ENGINES

from zcdp import Ledger
from zcdp.accounting import account
from zcdp.accounting.adjusted_accuracy import adjustment
from zcdp.accounting.fill import fill
from zcdp.plans.plan_file import PlanFile, PlanFileError, read_plan
from zcdp.release import release
from zcdp.release.bounding import Exact, exact_table
from zcdp.release.expressions import source_of
from zcdp.release.table_noise import Table, adjusted_tables, exact_margins
from zcdp.tables.declaration import Declaration
from zcdp.tables.totals import Together

DATA = '[data]\nunit = "row"\n'
DOMAIN = """[domain]
region = { values = ["R1", "R2", "R3"], other = "elsewhere" }
sex = { values = [1, 2], other = 9, flat = true }
age = { from = 0, to = 20, step = 5, clip = true }
years = { column = "age", from = 0, to = 20, step = 1, clip = true }
month = { column = "day", from = 2024-01-01, to = 2026-01-01, step = "month" }
quarter = { column = "day", from = 2024-01-01, to = 2026-01-01, step = "quarter" }
kind = ["a", "b"]
"""


TOWN = """town = { within = "region", values = { R1 = ["a"], R2 = ["b", "c"], R3 = ["d"] }, other = "elsewhere" }
old = { values = [true], column = "ok", other = false }
"""


def table(name: str, by: str, *more: str, noise: str = "DiscreteGaussian(sigma=4)", measure: str = "count") -> str:
    lines = (f'name = "{name}"', f'measure = "{measure}"', f"by = [{by}]", 'adds_up = "all"', f'mechanism = "{noise}"')
    return "\n".join(("[[query]]", *lines, *more, ""))


TREE = (
    table("total", "")
    + table("regions", '"region"')
    + table("both", '"sex", "region"', noise="DiscreteLaplace(scale=3)")
)


def read(text: str) -> tuple[PlanFile, Declaration, Together]:
    plan = read_plan("plan.toml", text)
    assert plan.tables is not None
    [together] = plan.tables.together
    return plan, plan.tables, together


REFUSED = {
    "'all' is said of one table alone": DATA + DOMAIN + table("total", ""),
    "measure must be that of 'total'": DATA
    + DOMAIN
    + table("total", "")
    + table("pay", '"sex"', 'of = "pay"', "clip = [0, 9]", "grid = 1", measure="sum"),
    "where must be that of 'total'": DATA
    + DOMAIN
    + table("total", "")
    + table("b", '"sex"', 'where = [["ok", "==", true]]'),
    "of, clip and grid must be": DATA
    + DOMAIN
    + table("a", "", 'of = "pay"', "clip = [0, 9]", "grid = 1", measure="sum")
    + table("b", '"sex"', 'of = "pay"', "clip = [0, 8]", "grid = 1", measure="sum"),
    "max_rows must be that of": '[data]\nunit = "who"\n'
    + DOMAIN
    + table("a", "")
    + table("b", '"sex"', "max_rows = 2"),
    "max_cells must be that of": '[data]\nunit = "who"\n'
    + DOMAIN
    + table("a", "")
    + table("b", '"sex"', "max_cells = 2"),
    "max_cells = 1": '[data]\nunit = "who"\n'
    + DOMAIN
    + table("a", "", "max_cells = 2", measure="persons")
    + table("b", '"sex"', "max_cells = 2", measure="persons"),
    "rows without a key of 'kind' are in 'total'": DATA + DOMAIN + table("total", "") + table("b", '"kind"'),
    "rows without a key of 'age' are in 'total'": DATA + DOMAIN + table("total", "") + table("b", '"age"'),
    "rows without a key of 'month' are in 'b'": DATA
    + DOMAIN
    + table("a", '"month"', 'where = [["day", "<", 2026-01-01]]')
    + table("b", '"sex"', 'where = [["day", "<", 2026-01-01]]'),
    "are of one column, and not each": DATA
    + DOMAIN
    + 'year = { column = "day", from = 2023-01-01, to = 2025-01-01, step = "year" }\n'
    + table("a", '"month"')
    + table("b", '"year"'),
    "are of one column: a table that adds up": DATA + DOMAIN + table("a", '"month", "quarter"') + table("b", '"month"'),
    "where each table divides the cells of another": DATA
    + DOMAIN
    + table("a", '"region"', "non_negative = true")
    + table("b", '"sex"', "non_negative = true"),
    "non_negative must be that of 'a'": DATA + DOMAIN + table("a", '"region"', "non_negative = true") + table("b", ""),
    "no table is by both 'kind' and 'region'": DATA
    + DOMAIN.replace('["a", "b"]', '{ values = ["a", "b"], other = "c" }')
    + table("total", "")
    + table("kinds", '"kind", "sex"')
    + table("regions", '"region", "sex"'),
    "'town' and 'years' are both divided unevenly": DATA
    + DOMAIN.replace("step = 5, clip = true", 'step = 5, other = "?"').replace(
        "step = 1, clip = true", 'step = 1, other = "?"'
    )
    + TOWN
    + table("a", '"region", "age"')
    + table("b", '"town", "years"'),
    "'region' is read from a column of its own": DATA
    + DOMAIN.replace('other = "elsewhere"', 'other = "elsewhere", column = "region"')
    + TOWN
    + table("a", '"region"')
    + table("b", '"town"'),
    "all tables are by nested lists and one other key": DATA
    + DOMAIN
    + TOWN
    + table("a", '"region", "sex"', "non_negative = true")
    + table("b", '"town", "ok"', "non_negative = true").replace('"ok"', '"old"'),
    "the law of sums of this noise is not known": DATA
    + DOMAIN
    + table("a", "")
    + table("b", '"sex"', noise="DiscreteStaircase(epsilon=1, r=1)"),
    "a query that measures mean has no such field": DATA + DOMAIN + table("a", "", measure="mean"),
    "the keys of all tables have": DATA
    + DOMAIN.replace('"R3"', ", ".join(f'"Q{n}"' for n in range(900)))
    + "x = { values = ["
    + ", ".join(map(str, range(900)))
    + "], other = -1, flat = true }\n"
    + table("a", '"region"')
    + table("b", '"x"'),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_does_not_add_up_is_refused_in_one_sentence(said: str) -> None:
    with pytest.raises(PlanFileError, match=said) as refused:
        read_plan("plan.toml", REFUSED[said])
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("plan.toml:")  # with its line


LEFT_OUT = {
    '["age", ">=", 0], ["age", "<", 20]': True,
    '["age", ">=", 0], ["age", "<=", 20]': False,
    '["age", ">", -1], ["age", "<", 20]': False,
    '["age", "in", [0, 19.5]]': True,
    '["age", "in", [0, 20]]': False,
    '["age", ">=", 0], ["pay", "<", 20]': False,
    '["age", "<", 20]': False,
    '["age", "not in", [20]], ["age", ">=", 0]': False,
}


@pytest.mark.parametrize("conditions", LEFT_OUT)
def test_conditions_that_leave_a_row_outside_are_found_out(conditions: str) -> None:
    where = f"where = [{conditions}]"
    domain = "[domain]\nage = { from = 0, to = 20, step = 5 }\n"
    text = DATA + domain + table("total", "", where) + table("ages", '"age"', where)
    if LEFT_OUT[conditions]:
        assert read(text)[2].finest.cells == 4
    else:
        with pytest.raises(PlanFileError, match="rows without a key of 'age'"):
            read_plan("plan.toml", text)


CONDITIONS = (
    "[]",
    '[["age", ">=", 0], ["age", "<", 20]]',
    '[["age", "!=", 5]]',
    '[["day", ">", 2023-12-31], ["day", "<=", 2025-12-31]]',
    '[["day", ">=", 2024-01-01]]',
    '[["region", "in", ["R1", "\u00e9"]]]',
    '[["ok", "!=", true]]',
    '[["sex", "==", 2], ["age", "in", [5, 9.5]]]',
)
REGIONS = 'values = ["R1", "R2", "\u00e9"]'
TOWNS = 'within = "region", values = { R1 = ["a", "R1"], R2 = ["b"], "\u00e9" = ["\u00e9"] }'
KEYS = {
    "region": tuple(
        f"{{ {REGIONS}{other}{column} }}"
        for other in ("", ', other = "elsewhere"')
        for column in ("", ', column = "region"')
    ),
    "town": tuple(
        f"{{ {TOWNS}{other}{unknown} }}" for other in ("", ', other = "else"') for unknown in ("", ', unknown = "?"')
    ),
    "sex": ("[1, 2, 0]", "{ values = [1, 2], other = 9 }"),
    "age": tuple(f"{{ from = 0, to = 20, step = 2.5{more} }}" for more in (", clip = true", "", ', other = "?"')),
    "tens": tuple(
        '{ column = "age", from = 0, to = 20, step = 7.5, ' + c + " }"
        for c in ("clip = true", "clip = false", 'other = "-"')
    ),
    "fives": tuple('{ column = "age", from = 0, to = 20, step = "5/2", clip = ' + c + " }" for c in ("true", "false")),
    "day": ('{ from = 2024-01-01, to = 2026-01-01, step = "month", clip = true }',),
    "year": ('{ column = "day", from = 2024-01-01, to = 2026-01-01, step = "year", clip = true }',),
    "ok": ("[true, false]", "{ values = [true], other = false }"),
}
KEYS["tens"] = tuple(one.replace("step = 7.5", "bins = 2") for one in KEYS["tens"])


def random_plan(rng: random.Random, unit: str) -> str:
    """Some tables by random keys, with domains that may drop rows, under a random condition."""
    domains = "".join(f"{name} = {rng.choice(written)}\n" for name, written in KEYS.items())
    names = sorted(KEYS) if rng.random() < 0.5 else ["region", "sex", "tens", "town"]
    where, measure = f"where = {rng.choice(CONDITIONS)}", rng.choice(("count", "sum"))
    more = ('of = "pay"', "clip = [-3, 8]", "grid = 0.5") if measure == "sum" else ()
    if unit != "row":
        more = (*more, f"max_cells = {rng.choice((1, 2, 3))}")
    tables = "".join(
        table(
            f"t{n}",
            ", ".join(f'"{one}"' for one in rng.sample(names, rng.randrange(3))),
            where,
            *more,
            measure=measure,
        )
        for n in range(rng.randrange(2, 4))
    )
    return f'[data]\nunit = "{unit}"\n[domain]\n{domains}{tables}'


def accepted(seed: int, count: int, unit: str) -> Iterator[tuple[Declaration, Together]]:
    rng = random.Random(seed)
    while count:
        try:
            _, tables, together = read(random_plan(rng, unit))
        except PlanFileError:
            continue
        count -= 1
        yield tables, together


def figures(one: Exact, together: Together) -> list[int]:
    return one.amounts if together.finest.amount else one.counts


def check_tables_are_those_computed_alone(engine: str, seed: int, count: int) -> None:
    frames = [case.frame for case in cases(seed, 12)]
    for n, (tables, together) in enumerate(accepted(seed, count, "row")):
        data = ENGINES[engine](frames[n % len(frames)])
        with source_of(data, tables) as source:
            alone = [figures(exact_table(source, tables, one, 3), together) for one in together.queries]
            assert exact_margins(together, exact_table(source, tables, together.finest, 5)) == alone


def test_each_table_says_what_it_says_alone() -> None:
    """What is accepted drops no row of one table that another has: on values made to fall between the bins."""
    check_tables_are_those_computed_alone("polars", 7, 40)


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
def test_each_table_says_what_it_says_alone_in_every_engine(engine: str) -> None:
    check_tables_are_those_computed_alone(engine, 8, 150)


def test_sets_that_are_tried_have_nested_lists_among_them() -> None:
    """Crossed with other keys too, with unknown towns, and with several cells of a person in one region."""
    found = [one for _, one in accepted(5, 40, "who") if one.tree is not None]
    assert sum(one.tree.depth > 1 for one in found if one.tree) > 2
    assert sum(len(one.sizes) > 0 for one in found) > 2
    assert any("unknown" in repr(key) and key.size > 5 for one in found for key in one.finest.by)
    assert any(1 < query.merges < query.max_cells * 9 for one in found for query in one.queries if query.max_cells > 1)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_table_of_a_set_moves_further_than_is_accounted(neighbours: str) -> None:
    """One person removed, or replaced: cells, each cell, and all of them together, in the bound of the mechanism."""
    rng = random.Random(4)
    found = [case for case in cases(21, 14) if case.persons]
    seen = reached = 0
    for n, (tables, together) in enumerate(accepted(5, 16, "who")):
        case = found[n % len(found)]
        others = [
            case.without(person) if neighbours == "add-remove" else case.replaced(person, rng)
            for person in case.persons[:4]
        ]
        whole, *moved = (exact_of(one, tables, together) for one in (case.frame, *others))
        for less in moved:
            seen += 1
            for query, one, other in zip(together.queries, whole, less, strict=True):
                [statistic] = query.statistics(neighbours)
                far = [abs(a - b) for a, b in zip(one, other, strict=True) if a != b]
                assert max(far, default=0) <= statistic.distance
                assert statistic.total is not None or len(far) <= statistic.moves
                assert statistic.total is None or sum(far) <= statistic.total
                reached += statistic.total is not None and statistic.total / 2 < sum(far) > statistic.distance / 2
    assert (seen > 40, reached > 0) == (True, True)


def test_what_a_person_adds_to_several_cells_is_charged_where_they_are_added_up() -> None:
    text = '[data]\nunit = "who"\n' + DOMAIN
    for name, by in (("total", ""), ("sexes", '"sex"'), ("both", '"sex", "region"')):
        text += table(name, by, "max_cells = 3", "max_rows = 2")
    total, sexes, both = read_plan("plan.toml", text).entries
    assert (total.text, total.count) == ("DiscreteGaussian(sigma=4, sensitivity=6)", 1)
    assert (sexes.text, sexes.count) == ("DiscreteGaussian(sigma=4, sensitivity=L1LInf(6, 6))", 1)
    assert (both.text, both.count) == ("DiscreteGaussian(sigma=4, sensitivity=2)", 3)
    rows = account(read_plan("plan.toml", text), curve=False).queries
    assert [row.rho for row in rows] == pytest.approx([36 / 32, 36 / 32, 3 * 4 / 32])
    # a mechanism may be written with the sensitivity that follows, and with no other
    again = text.replace("sigma=4)", "sigma=4, sensitivity=6)", 1)
    assert read_plan("plan.toml", again).entries[0] == total
    with pytest.raises(PlanFileError, match="the bounds say 6"):
        read_plan("plan.toml", again.replace("sensitivity=6", "sensitivity=2"))
    budget = '[budget]\nrho = "0.5"\n' + text.replace("sigma=4", "sigma=?")
    assert account(fill(read_plan("plan.toml", budget)).plan, curve=False).total.rho == pytest.approx(0.5, rel=1e-6)


def exact_of(frame: pl.DataFrame, tables: Declaration, together: Together) -> list[list[int]]:
    with source_of(frame, tables) as source:
        return exact_margins(together, exact_table(source, tables, together.finest, 99))


def sums(made: Table, by: str) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in zip(made.columns[by], made.columns["value"], strict=True):
        found[key] = found.get(key, 0) + value
    return found


@pytest.mark.parametrize("more", ["", "non_negative = true\n"])
def test_published_files_add_up_and_the_same_key_gives_the_same_bytes(more: str, tmp_path: Path) -> None:
    text = DATA.replace("row", "who") + 'account = "people"\n' + DOMAIN
    text += TREE.replace('adds_up = "all"\n', 'adds_up = "all"\n' + more).replace(
        "DiscreteLaplace(scale=3)", "DiscreteGaussian(sigma=4)"
    )
    text += table("quarters", '"quarter"').replace('"all"', '"days"') + table("months", '"month"').replace(
        '"all"', '"days"'
    )
    plan, frame = read_plan("plan.toml", text), next(case.frame for case in cases(3, 9) if len(case.frame) > 20)
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.open_account("people", unit="person", rho="1")
        made = release(plan, frame, ledger=ledger, key="k")
        spent = ledger.account("people").spent
        again = release(plan, frame.clear(), ledger=ledger, key="k")
    assert made.files == again.files
    assert spent == Fraction(1, 32) * 5
    tables = made.tables
    assert tables["total"].columns["value"] == [sum(tables["regions"].columns["value"])]
    assert sums(tables["both"], "region") == dict(
        zip(*(tables["regions"].columns[n] for n in ("region", "value")), strict=True)
    )
    months = tables["months"].columns["value"]
    assert tables["quarters"].columns["value"] == [sum(months[n : n + 3]) for n in range(0, 24, 3)]
    for one in tables.values():
        assert {type(value) for name in ("value", "lower", "upper") for value in one.columns[name]} == {int}
        assert all(low <= value <= high for *_, value, _, low, high in one.rows)
        assert "adds up with" in made.report
    assert (min(tables["both"].columns["lower"]) >= 0) == bool(more)
    assert ("none below 0" in tables["both"].about) == bool(more)


def test_errors_are_told_before_any_data_is_read() -> None:
    plan, _, together = read(DATA + DOMAIN + TREE)
    rows = account(plan, curve=False).queries
    for k, row in enumerate(rows):
        assert row.accuracy is not None
        assert row.alone is not None
        assert row.accuracy.standard_deviation < row.alone.standard_deviation
        assert row.accuracy == adjustment(together, plan.entries).accuracy(k)
    alone = account(read_plan("plan.toml", (DATA + DOMAIN + TREE).replace('adds_up = "all"\n', "")), curve=False)
    assert [row.alone for row in rows] == [row.accuracy for row in alone.queries]
    assert [row.rho for row in rows] == [row.rho for row in alone.queries]


def check_coverage(text: str, runs: int, slack: float) -> None:
    """Of figures with noise of the real samplers, which are adjusted as a release does."""
    plan, _, together = read(text)
    cells = together.finest.cells
    rng = random.Random(1)
    exact = Exact([rng.choice((0, 0, 3, 40)) for _ in range(cells)], [])
    truth = exact_margins(together, exact)
    held, squares = ([0] * len(truth) for _ in range(2))
    ways = adjustment(together, plan.entries)
    laws = [entry.plan.parts[0][0] for entry in plan.entries if entry.plan]
    draws = [law.sample((runs, len(one))) for law, one in zip(laws, truth, strict=True)]  # type: ignore[attr-defined]
    for run in range(runs):
        noisy = [
            [a + int(b) for a, b in zip(one, draw[run], strict=True)] for one, draw in zip(truth, draws, strict=True)
        ]
        for k, made in enumerate(adjusted_tables(ways, plan.entries, noisy)):
            columns = (made.columns[name] for name in ("value", "lower", "upper"))
            for true, value, low, high in zip(truth[k], *columns, strict=True):
                held[k] += low <= true <= high
                squares[k] += (value - true) ** 2
    for k, one in enumerate(truth):
        one_cell = 5 * sqrt(0.05 * 0.95 / runs)
        assert held[k] / runs / len(one) > 0.95 - (slack if len(one) > 1 else one_cell), together.queries[k].name
        if not together.finest.non_negative:  # the sd is that of the estimate, before it is rounded
            spread, away = ways.accuracy(k).standard_deviation, 2 ** len(together.queries[k].by) / 2
            assert 0.8 * spread - away < sqrt(squares[k] / runs / len(one)) < 1.2 * spread + away


SMALL = "DiscreteGaussian(sigma='0.5')"
SETS = {
    "tree": DATA + DOMAIN + TREE,
    "small noise": DATA + DOMAIN + TREE.replace("DiscreteGaussian(sigma=4)", SMALL).replace("scale=3", "scale=0.7"),
    "none below 0": DATA + DOMAIN + TREE.replace('adds_up = "all"\n', 'adds_up = "all"\nnon_negative = true\n'),
    "margins": DATA + DOMAIN + TREE + table("sexes", '"sex"', noise="DiscreteLaplace(scale=5)"),
    "no finest": DATA + DOMAIN + table("regions", '"region"') + table("sexes", '"sex"', noise=SMALL),
    "nested": DATA + DOMAIN + TOWN + table("all", "") + table("r", '"region"') + table("t", '"sex", "town"'),
    "nested, none below 0": DATA
    + DOMAIN
    + TOWN
    + "".join(
        table(by.replace('"', "") or "all", by, "non_negative = true")
        for by in ("", '"region"', '"town"', '"sex", "region"')
    ),
    "quarters": DATA + DOMAIN + table("quarters", '"quarter"', noise=SMALL) + table("months", '"month"'),
}


def test_adjusted_intervals_hold() -> None:
    check_coverage(SETS["small noise"], 120, 0.04)


@pytest.mark.deep
@pytest.mark.parametrize("name", SETS)
def test_adjusted_intervals_hold_over_many_runs(name: str) -> None:
    check_coverage(SETS[name], 6000, 0.006)


def test_the_finest_table_has_the_finest_keys_once() -> None:
    _, _, together = read(DATA + DOMAIN + table("a", '"quarter", "sex"') + table("b", '"month"'))
    assert [one.name for one in together.finest.by] == ["month", "sex"]
    assert (together.sizes, together.axes) == ((8, 3, 3), ((0, 2), (0, 1)))


# Bins that clip and bins that drop are not divided one by the other: a table says what it says alone. (bug T10)


PLAN = """
[data]
unit = "row"
[domain]
coarse = {{ column = "{0}", from = {1}, to = {2}, step = {3}, clip = {5} }}
fine = {{ column = "{0}", from = {1}, to = {2}, step = {4}, clip = {6} }}
"""


QUERY = """[[query]]
name = "{0}"
measure = "count"
by = ["{0}"]
where = [["age", ">=", 0]]
{1}mechanism = "DiscreteGaussian(sigma=2)"
"""
BINS = ("age", "0", "20", "10", "5")
DAYS = ("day", "2024-01-01", "2024-01-15", "14", "7")
FRAME = pl.DataFrame({"age": [5, 15, 250], "day": ["2024-01-01", "2024-01-09", "2025-01-01"]}).with_columns(
    pl.col("day").str.to_date()
)


@pytest.mark.parametrize("which", [BINS, DAYS])
@pytest.mark.parametrize("clips", [("true", "false"), ("false", "true"), ("true", "true"), ("false", "false")])
def test_bins_that_clip_and_bins_that_drop_say_what_they_say_alone(
    which: tuple[str, ...], clips: tuple[str, str]
) -> None:
    text = PLAN.format(*which, *clips)
    alone = read_plan("plan.toml", text + QUERY.format("coarse", "") + QUERY.format("fine", ""))
    assert alone.tables is not None
    with source_of(FRAME, alone.tables) as source:
        true = [exact_table(source, alone.tables, one, 0).counts for one in alone.tables.queries]
    assert sum(true[0]) == (3 if clips[0] == "true" else 2)
    words = 'adds_up = "a"\n'
    if clips[0] != clips[1]:
        with pytest.raises(PlanFileError, match="do not add up"):
            read_plan("plan.toml", text + QUERY.format("coarse", words) + QUERY.format("fine", words))
        return
    plan = read_plan("plan.toml", text + QUERY.format("coarse", words) + QUERY.format("fine", words))
    assert plan.tables is not None
    [together] = plan.tables.together
    with source_of(FRAME, plan.tables) as source:
        assert exact_margins(together, exact_table(source, plan.tables, together.finest, 0)) == true
