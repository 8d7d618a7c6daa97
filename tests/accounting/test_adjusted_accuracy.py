"""A total and cells of unequal noise, made to add up: their errors by hand. (bug A3)

Of a total with variance t and n cells with variance c each, least squares leaves the total a variance of
1/(1/t + 1/(n c)), and a cell one of c - c^2/(t + n c).
"""

from __future__ import annotations

from math import sqrt

import pytest

from zcdp import account
from zcdp.accounting.adjusted_accuracy import adjusted_accuracies
from zcdp.plans.plan_file import read_plan

PLAN = """
[data]
unit = "row"
[domain]
region = {{ values = ["a", "b", "c"], other = "d" }}
[[query]]
name = "all"
measure = "count"
adds_up = "x"
mechanism = "DiscreteGaussian(sigma={0})"
[[query]]
name = "cells"
measure = "count"
by = ["region"]
adds_up = "x"
mechanism = "DiscreteGaussian(sigma={1})"
"""


@pytest.mark.parametrize(("total", "cell"), [(40, 5), (5, 40), (7, 7), (3, 90)])
def test_both_tables(total: int, cell: int) -> None:
    plan = read_plan("plan.toml", PLAN.format(total, cell))
    assert plan.tables is not None
    found = adjusted_accuracies(plan.tables, plan.entries)
    t, c, n = total**2, cell**2, 4
    true = {"all": sqrt(1 / (1 / t + 1 / (n * c))), "cells": sqrt(c - c * c / (t + n * c))}
    for name, sd in true.items():
        assert found[name].standard_deviation == pytest.approx(sd, rel=1e-3)
        assert 1.95 * sd - 1 <= found[name].half_width <= 1.97 * sd + 1


@pytest.mark.parametrize("grid", [1, 10])
def test_an_account_tells_the_error_after_the_adjustment_and_that_before_it_beside(grid: int) -> None:
    """In the unit of the values: 40 and 5 grid steps become 4.9 and 4.5 of them."""
    text = PLAN.format(40, 5)
    if grid > 1:
        text = text.replace('measure = "count"', f'measure = "sum"\nof = "income"\nclip = [0, 100]\ngrid = {grid}')
    whole, cells = account(read_plan("plan.toml", text), curve=False).queries
    t, c, n = 40**2, 5**2, 4
    true = sqrt(1 / (1 / t + 1 / (n * c))), sqrt(c - c * c / (t + n * c))
    for query, own, sd in ((whole, 40, true[0]), (cells, 5, true[1])):
        assert query.accuracy is not None
        assert query.alone is not None
        assert query.alone.standard_deviation == pytest.approx(grid * own, rel=1e-9)
        assert query.accuracy.standard_deviation == pytest.approx(grid * sd, rel=1e-3)
        assert query.accuracy.half_width < query.alone.half_width
