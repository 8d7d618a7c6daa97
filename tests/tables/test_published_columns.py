"""The columns of published tables: as they are published, and refused before anything is read where two are alike."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.release import release
from zcdp.tables.published_columns import figure_columns, key_columns

HEAD = """
[data]
unit = "who"
vintage = "2026-Q1"
[domain]
"{name}" = {{ column = "word", values = ["a", "b"] }}
town = {{ values = [["x", "a"], ["y", "b"]], within = "{name}" }}
pay = {{ from = 0, to = 40, step = 10, clip = true }}
found = {{ column = "word", discover = true, mechanism = "DiscreteGaussian(sigma=1)", delta = "1e-9", other = "rest" }}
"""
NOISE = 'mechanism = "DiscreteGaussian(sigma=1)"\n'
COUNT = 'count_mechanism = "DiscreteGaussian(sigma=1)"\n'
AMOUNT = 'of = "pay"\nclip = [0, 40]\ngrid = 1\n'
SELECT = 'mechanism = "ExponentialMechanism(epsilon=1)"\n'
QUERIES = {
    "persons": NOISE,
    "sum": NOISE + AMOUNT,
    "mean": NOISE + COUNT + AMOUNT,
    "mean: all": NOISE + COUNT + AMOUNT + 'publish = ["sum", "mean", "persons"]\n',
    "mean: bare": NOISE + COUNT + AMOUNT + 'publish = ["mean"]\n',
    "ratio": NOISE
    + AMOUNT
    + 'over = "pay"\nover_clip = [0, 40]\nover_grid = 1\nover_mechanism = "DiscreteGaussian(sigma=1)"\n',
    "variance": NOISE + COUNT + AMOUNT + 'square_mechanism = "DiscreteGaussian(sigma=9)"\n',
    "quantiles": NOISE + 'of = "pay"\nper = "person"\nquantiles = [0.5]\n',
    "quantiles: selected": SELECT + 'of = "pay"\nper = "person"\nquantiles = [0.5]\n',
    "top": SELECT + "k = 1\n",
    "top: counted": SELECT + COUNT + "k = 1\n",
}
FRAME = pl.DataFrame({"who": range(60), "word": ["a", "b"] * 30, "town": ["x", "y"] * 30, "pay": [5.0, 15.0] * 30})


def text(name: str, domain: str, by: str) -> str:
    measure = name.partition(":")[0]
    keys = f'of = "{by}"\n' if measure == "top" else f'by = ["{by}"]\n'
    return HEAD.format(name=domain) + f'[[query]]\nname = "a"\nmeasure = "{measure}"\n{keys}{QUERIES[name]}'


@pytest.mark.parametrize("name", QUERIES)
def test_the_columns_are_those_that_are_published(name: str) -> None:
    for by in ("region", "town") if name.startswith("top") else ("region", "town", "found"):
        plan = read_plan("plan.toml", text(name, "region", by))
        assert plan.tables is not None
        [query] = plan.tables.queries
        table = release(plan, FRAME, ledger=None).tables["a"]
        keys = [one for domain in (query.by or (query.of,)) if domain for one in key_columns(domain)]
        assert keys == {"town": ["region", "town"]}.get(by, [by])
        assert sorted(table.columns) == sorted(["vintage", *keys, *figure_columns(query)])
        if not name.startswith("top"):
            assert list(table.columns) == ["vintage", *keys, *figure_columns(query)]


@pytest.mark.parametrize("name", QUERIES)
def test_a_domain_with_the_name_of_a_figure_is_refused_before_anything_is_read(name: str) -> None:
    plan = read_plan("plan.toml", text(name, "region", "region"))
    assert plan.tables is not None
    for taken in (*figure_columns(plan.tables.queries[0]), "vintage"):
        for by in (taken, "town"):  # the keys of a coarser list are printed with those of the finer one
            with pytest.raises(PlanFileError, match=f"the keys of '.*' would be a column '{taken}', and so is"):
                read_plan("plan.toml", text(name, taken, by))


def test_a_name_that_no_column_of_the_table_has_is_free() -> None:
    """A table of persons has no column `persons`, and one of quantiles no column `value`."""
    for name, domain in (("persons", "persons"), ("sum", "sum"), ("quantiles", "value"), ("top", "lower")):
        published = release(read_plan("plan.toml", text(name, domain, domain)), FRAME, ledger=None).tables["a"]
        assert set(published.columns[domain]) <= {"a", "b"}


def test_found_keys_with_the_name_of_a_figure_are_refused_also_where_no_query_uses_them() -> None:
    whole = text("persons", "region", "region")
    assert read_plan("plan.toml", whole).tables is not None
    for taken in ("value", "sd", "lower", "upper", "vintage"):
        with pytest.raises(PlanFileError, match=f"plan.toml:9: {taken}: the keys of '{taken}' would be a column"):
            read_plan("plan.toml", whole.replace("\nfound =", f"\n{taken} ="))


def test_ends_of_bins_are_columns_too() -> None:
    more = 'pay_from = ["a", "b"]\n[[query]]'
    both = text("persons", "region", "region").replace("[[query]]", more)
    with pytest.raises(PlanFileError, match="would be a column 'pay_from', and so is that of the keys of 'pay'"):
        read_plan("plan.toml", both.replace('["region"]', '["pay", "pay_from"]'))
    assert read_plan("plan.toml", both.replace('["region"]', '["region", "pay"]')).tables is not None


def test_the_message_says_how_to_keep_the_column() -> None:
    """Of data with a column `value`: another name for the domain, read from that column."""
    plan: Any = text("persons", "value", "value")
    with pytest.raises(PlanFileError, match=r'give the domain another name, .* column = "word"'):
        read_plan("plan.toml", plan)
