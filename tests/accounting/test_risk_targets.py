"""Budgets in what an attacker gains: against closed forms of Gaussian noise, and against the curve of what is found."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import Any

import pytest
from cli.program import called as zcdp

from zcdp import DiscreteLaplace, Gaussian, Laplace, Plan, Query, RandomizedResponse, allocate, calibrate
from zcdp.accounting.fill import fill
from zcdp.accounting.risk_targets import RiskTarget
from zcdp.errors import ZcdpError
from zcdp.plans.plan_file import read_plan

NORMAL = NormalDist()


@pytest.mark.parametrize(("tpr", "fpr"), [("0.01", "0.001"), ("0.6", "0.5"), ("0.999", "0.1")])
def test_gaussian_noise_for_a_rate_of_finds(tpr: str, fpr: str) -> None:
    sigma = calibrate(lambda s: 9 * Gaussian(sigma=s), tpr=tpr, fpr=fpr)
    assert 3 / sigma == pytest.approx(NORMAL.inv_cdf(float(tpr)) - NORMAL.inv_cdf(float(fpr)), rel=1e-8)
    assert Fraction((9 * Gaussian(sigma=sigma)).tpr_at(fpr=fpr)) <= Fraction(tpr)


def test_randomized_response_for_an_advantage() -> None:
    """tanh(epsilon/2) = 1/2 at epsilon = log 3."""
    assert calibrate(lambda e: RandomizedResponse(epsilon=e, k=2), advantage="1/2") == pytest.approx(1.0986122886681098)


@pytest.mark.parametrize("budget", [{"advantage": "0.1"}, {"tpr": "0.01", "fpr": "0.001"}])
@pytest.mark.parametrize("objective", ["worst", "total"])
def test_queries_share_what_an_attacker_may_gain(budget: dict[str, Any], objective: Any) -> None:
    found = allocate(
        [Query(DiscreteLaplace, count=3), Query(Laplace, sensitivity=50), Query(Gaussian)],
        **budget,
        objective=objective,
        beside=Laplace(epsilon="0.01"),
    )
    whole = Plan.sum_of(3 * found[0], *found[1:], Laplace(epsilon="0.01"))
    spent = whole.advantage if "advantage" in budget else whole.tpr_at(fpr="0.001")
    limit = Fraction(budget.get("advantage", budget.get("tpr")))
    assert limit * Fraction(9999, 10000) < Fraction(spent) <= limit


def test_a_plan_file_is_filled() -> None:
    queries = (("a", "Gaussian(sigma=?)"), ("b", "Laplace(epsilon=0.1)"))
    text = "\n".join(f'[[query]]\nname = "{name}"\nmechanism = "{one}"' for name, one in queries)
    filled = fill(read_plan("plan.toml", text), tpr="0.02", fpr="0.01")
    whole = Plan.sum_of(*(entry.plan for entry in filled.plan.entries if entry.plan))
    assert 0.01999 < whole.tpr_at(fpr="0.01") <= 0.02
    with pytest.raises(ZcdpError, match="one budget"):
        fill(read_plan("plan.toml", text), tpr="0.02", fpr="0.01", rho=1)


def test_the_command_line(tmp_path: Any) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=?)"')
    told = zcdp("allocate", str(plan), "--tpr", "0.02", "--fpr", "0.01")
    assert "of tpr = 0.02 at fpr = 0.01 spent, certified" in told.stdout
    assert "0.01999" in told.stdout or "0.02 of" in told.stdout


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tpr": 0.1}, "give tpr and fpr together"),
        ({"fpr": 0.1}, "give tpr and fpr together"),
        ({"tpr": "0.1", "fpr": "0.2"}, r"tpr \(0.1\) must be above fpr \(0.2\)"),
        ({"advantage": 1}, "advantage"),
        ({"advantage": "0.1", "tpr": "0.2", "fpr": "0.1"}, "not both"),
    ],
)
def test_bad_targets(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ZcdpError, match=message):
        RiskTarget.given(**{"advantage": None, "tpr": None, "fpr": None} | given)


@pytest.mark.parametrize(
    "find", [lambda **b: calibrate(lambda e: Laplace(epsilon=e), **b), lambda **b: allocate([Query(Laplace)], **b)]
)
def test_one_budget(find: Any) -> None:
    with pytest.raises(ZcdpError, match="give one budget"):
        find(advantage="0.1", epsilon=1, delta="1e-6")
