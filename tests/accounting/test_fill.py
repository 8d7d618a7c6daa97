"""Plan files whose noise is found: which budget holds, and that weights, targets and counts of the file are kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import exp, log, log10, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from cli.program import called as zcdp

from zcdp import RAPPOR, Plan, account
from zcdp.accounting import plan_account as total
from zcdp.accounting.fill import fill
from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.plans.plan_text import parse


def query(mechanism: str, **fields: object) -> str:
    lines = (f"{name} = {value}" for name, value in fields.items())
    return "\n".join(["[[query]]", f'name = "{mechanism}"', f'mechanism = "{mechanism}"', *lines, ""])


def found(head: str, *queries: str, **budget: Any) -> list[Any]:
    """The mechanisms of the queries that were set."""
    return [mechanism for _, mechanism in fill(read_plan("plan.toml", head + "".join(queries)), **budget).found]


def log_delta(sigma: float, epsilon: float) -> float:
    """The exact delta of one Gaussian answer (Balle and Wang 2018), as a power of ten."""
    normal = NormalDist().cdf
    a, b = 1 / (2 * sigma), epsilon * sigma
    return log10(normal(a - b) - exp(epsilon) * normal(-a - b))


@pytest.mark.parametrize(
    ("head", "asked", "epsilon", "power"),
    [
        ("[budget]\nepsilon = 2\ndelta = 1e-4\n", {}, 2, -4),
        ("delta = 1e-3\n[budget]\nepsilon = 2\ndelta = 1e-4\n", {}, 2, -4),
        ("delta = 1e-3\n[budget]\nepsilon = 2\ndelta = 1e-4\n", {"epsilon": 1}, 1, -3),
        ("delta = 1e-3\n[budget]\nepsilon = 2\ndelta = 1e-4\n", {"epsilon": 1, "delta": "1e-5"}, 1, -5),
        ("[budget]\nepsilon = 2\ndelta = 1e-4\n", {"epsilon": 1}, 1, -4),
        ("[budget]\nrho = 2\n", {"epsilon": 1, "delta": 1e-5}, 1, -5),
        ("", {"epsilon": 1, "delta": 1e-5}, 1, -5),
    ],
)
def test_the_budget_asked_for_goes_before_that_of_the_file(
    head: str, asked: dict[str, Any], epsilon: float, power: int
) -> None:
    [made] = found(head, query("Gaussian(sigma=?)"), **asked)
    assert log_delta(float(made.sigma), epsilon) == pytest.approx(power, abs=1e-4)


def test_a_rho_asked_for_needs_no_delta() -> None:
    filled = fill(
        read_plan("plan.toml", "[budget]\nepsilon = 2\ndelta = 1e-4\n" + query("Gaussian(sigma=?)")), rho="1/8"
    )
    assert vars(filled.budget) == {"rho": "1/8", "epsilon": None, "delta": None}
    assert float(filled.found[0][1].sigma) == pytest.approx(2, rel=1e-7)


def test_a_delta_alone_is_no_budget() -> None:
    with pytest.raises(ValueError, match=r"delta \(0\.1\) needs an epsilon beside it"):
        found("[budget]\nepsilon = 2\ndelta = 1e-4\n", query("Gaussian(sigma=?)"), delta=0.1)
    with pytest.raises(PlanFileError, match="has no \\[budget\\]"):
        found("", query("Gaussian(sigma=?)"))


def test_the_weights_counts_and_targets_of_the_file_are_kept() -> None:
    """Weight times error squared is equal: rho of one use goes with the weight. Targets are those of the laws."""
    head = "[budget]\nrho = 1\n"
    nine, one = found(head, query("Gaussian(sigma=?)", weight=9), query("Gaussian(sigma= ?)", count=4))
    assert 9 * one.rho == pytest.approx(nine.rho, rel=1e-7)
    assert nine.rho + 4 * one.rho == pytest.approx(1, rel=1e-7)
    first, second, _ = found(
        head,
        query("Laplace(scale=?, sensitivity=2)", half_width=12, level=0.5),
        query("Laplace(scale=?)", sd=9),
        query("Gaussian(sigma=?)", weight='"1e9"'),
    )
    assert float(first.scale) == pytest.approx(12 / log(2), rel=1e-8)
    assert float(second.scale) == pytest.approx(9 / sqrt(2), rel=1e-8)


def test_what_is_fixed_is_held_with_its_uses_and_only_open_noise_is_set() -> None:
    filled = fill(
        read_plan(
            "plan.toml",
            "[budget]\nrho = 1\n" + query("2 * Gaussian(sigma=4)", count=5) + query("Gaussian(sigma=?)", count=2),
        )
    )
    assert filled.held == 10 / 32
    assert [entry.count for entry in filled.plan.entries] == [5, 2]
    assert filled.plan.entries[0].text == "2 * Gaussian(sigma=4)"
    assert float(filled.found[0][1].sigma) == pytest.approx(sqrt(1 / (1 - 10 / 32)), rel=1e-7)


@pytest.mark.parametrize(
    "text",
    [
        "Laplace(scale=3, sensitivity=2)",
        "Laplace(sensitivity=2, epsilon = '1/7')",
        "Laplace(scale=Fraction(1, 3))",
        'Gaussian(sigma=\\"2\\", sensitivity=3)',
        "Gaussian(rho='0.1')",
        "DiscreteLaplace(scale=3, sensitivity=L0LInf(2, 1))",
        "DiscreteGaussian(sensitivity=2, sigma=30)",
    ],
)
def test_noise_that_is_set_anew_stands_in_the_text_of_the_plan(text: str) -> None:
    """Where no parameter is open all noise is set; the text that is written says what was certified."""
    filled = fill(read_plan("plan.toml", "[budget]\nrho = 0.02\n" + query("Gaussian(sigma=99)") + query(text)))
    for (entry, mechanism), kind in zip(filled.found, ("Gaussian(", text[:7]), strict=True):
        assert parse(entry.text) == entry.plan == Plan.sum_of(mechanism)
        assert parse(entry.text).parts[0][0].sensitivity == mechanism.sensitivity
        assert entry.text.startswith(kind)
    assert 0.02 * (1 - 1e-6) <= account(filled.plan, curve=False).total.rho <= 0.02


def test_a_plan_without_noise_has_nothing_to_set(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("[budget]\nrho = 1\n" + query("RAPPOR(epsilon=1)"))
    with pytest.raises(PlanFileError, match="no query has noise to set"):
        fill(tmp_path / "plan.toml")


KINDS, LIMIT = 70, 64


@pytest.fixture(scope="module", autouse=True)
def _rho_alone() -> Iterator[None]:
    """Fewer kinds than the limit really is: it is the way beyond it that is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(total, "MOST_KINDS_IN_FULL", LIMIT)
        yield


def test_a_plan_that_is_filled_keeps_to_the_budget_whatever_stays(tmp_path: Path) -> None:
    plan = (
        '[budget]\nrho = 2\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=?)"\ncount = 5\n'
        '[[query]]\nname = "b"\nmechanism = "RAPPOR(epsilon=1)"\ncount = 7\n'
    )
    (tmp_path / "plan.toml").write_text(plan)
    found = json.loads(zcdp("allocate", "plan.toml", "--out", "out.toml", "--json", cwd=tmp_path).stdout)
    assert found["held"] == pytest.approx(7 * (7 * RAPPOR(epsilon=1)).rho / 7)
    filled = account(tmp_path / "out.toml", curve=False).to_dict()
    assert filled["total"]["rho"] > 1.999
    assert not filled["budget"]["exceeded"]
    assert 2 * (1 - 1e-7) <= sum(query["rho"] for query in filled["queries"]) <= 2


SUMS = """
[data]
unit = "who"
neighbours = "{neighbours}"
[[query]]
name = "pay"
measure = "mean"
publish = {publish}
of = "pay"
clip = [{low}, {high}]
grid = 1
mechanism = "DiscreteGaussian(sigma={sum})"
count_mechanism = "DiscreteGaussian(sigma={count})"
"""


def noises(**fields: Any) -> tuple[Any, ...]:
    """The noise of the sum about the middle and that of the count, of rho = 0.01 together."""
    given = {"neighbours": "add-remove", "publish": '["sum", "mean"]', "low": 0, "high": 9000, "sum": "?", "count": "?"}
    objective = fields.pop("objective", "worst")
    asked = read_plan("plan.toml", SUMS.format(**{**given, **fields}))
    return tuple(mechanism for _, mechanism in fill(asked, rho="0.01", objective=objective).found)


@pytest.mark.parametrize("objective", ["worst", "total"])
@pytest.mark.parametrize(("low", "high"), [(0, 9000), (-1000, 3000), (4000, 9000), (-900, -100)])
def test_a_sum_beside_its_mean_is_as_exact_as_a_sum_alone_at_the_same_rho(low: int, high: int, objective: str) -> None:
    above, below = noises(low=low, high=high, objective=objective)
    middle = (low + high) // 2
    error = float(above.variance) + middle**2 * float(below.variance)
    assert error == pytest.approx(max(abs(low), abs(high)) ** 2 / 0.02, rel=2e-3)
    assert above.rho + below.rho == pytest.approx(0.01, rel=1e-6)


def test_rho_is_shared_unevenly_only_for_a_sum_whose_noises_are_both_open() -> None:
    def share(**fields: Any) -> float:
        above, below = noises(**fields)
        return float(below.rho / (above.rho + below.rho))

    assert share(publish='["mean", "persons"]', low=4000, high=9000) == pytest.approx(1 / 2, rel=1e-6)
    assert share(low=-500, high=500) == pytest.approx(1 / 10, rel=1e-6)  # where the sum has no use for the count
    assert share(low=4000, high=9000) == pytest.approx(6500 / 9000, rel=1e-6)
    # a replaced person moves the sum about the middle by the whole width
    assert share(low=4000, high=9000, neighbours="replace") == pytest.approx(6500 / 11500, rel=1e-6)
    [one] = noises(low=4000, high=9000, count=90)
    assert one.rho == pytest.approx(0.01 - 1 / (2 * 90**2), rel=1e-6)
