"""A total and cells of unequal noise, made to add up: their errors by hand. (bug A3)

Of a total with variance t and n cells with variance c each, least squares leaves the total a variance of
1/(1/t + 1/(n c)), and a cell one of c - c^2/(t + n c).
"""

from __future__ import annotations

from math import sqrt

import pytest

from zcdp.accounting.adjusted import adjusted_accuracies
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
