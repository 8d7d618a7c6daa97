"""Accounts: never below the truth however many the mechanisms, and honest about what others charge."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from zcdp import MECHANISMS, DiscreteLaplace, L0LInf, Laplace, Plan, RandomizedResponse, ReportNoisyMax, account
from zcdp.accounting.baselines import usual
from zcdp.accounting.plan_account import TITLES
from zcdp.plans.plan_file import PlanFileError, read_plan

PAGES = Path(__file__).parent.parent.parent / "docs" / "theorems"
QUERY = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\ncount = 3\n'


def test_titles_are_those_of_the_pages() -> None:
    assert {m.theorem for m in MECHANISMS} <= set(TITLES)
    for name, title in TITLES.items():
        assert (PAGES / f"{name}.md").read_text().splitlines()[0] == f"# {title}"


MANY = pytest.param(71, 8, marks=pytest.mark.deep)


@pytest.mark.parametrize(("laplaces", "responses"), [(12, 5), MANY])
def test_many_mechanisms_are_accounted_from_above(laplaces: int, responses: int) -> None:
    plan = Plan.sum_of(
        *(Laplace(epsilon=n / 200) for n in range(1, laplaces)),
        *(RandomizedResponse(epsilon=n / 100, k=500) for n in range(1, responses)),
    )
    whole = account(plan).to_dict()
    quick, full = account(plan, full=False, curve=False).to_dict()["total"], whole["total"]
    assert set(quick["routes"]) == {"zcdp", "pure"}
    assert "profile" in full["routes"]
    assert (quick["full"], full["full"]) == (False, True)
    assert full["epsilon_bounds"][0] * (1 + 1e-6) >= full["epsilon"]
    for point in whole["curve"][5::20]:
        lower, _ = plan.delta_bounds(epsilon=point["epsilon"])
        assert lower <= point["delta"] <= max(lower * 1.01, 1e-14)
    assert full["rho_bounds"][0] <= quick["rho"]
    assert full["rho"] <= quick["rho"] * (1 + 1e-9)
    assert quick["rho_bounds"][0] <= full["rho"]
    assert full["epsilon"] <= quick["epsilon"]


def test_an_envelope_among_others_keeps_its_enclosure() -> None:
    text = "20 * ExponentialMechanism(epsilon=0.5) + 5 * RandomizedResponse(epsilon=0.5, k=300)"
    quick, exact = account(text, curve=False).to_dict()["total"], Plan.parse(text)
    assert quick["rho_bounds"][0] <= exact.rho <= quick["rho"] * (1 + 1e-9)
    assert quick["rho"] <= exact.rho * (1 + 2e-6)


def test_equal_mechanisms_keep_the_words_they_were_written_in() -> None:
    text = "\n".join(f'[[query]]\nname = "{n}"\nmechanism = "Laplace(epsilon=1, sensitivity={n})"\n' for n in (2, 3))
    first, second = account(read_plan("x.toml", text), curve=False).to_dict()["queries"]
    assert first["mechanism"] == "Laplace(epsilon=1, sensitivity=2)"
    assert second["mechanism"] == "Laplace(epsilon=1, sensitivity=3)"


def test_cells_are_charged_one_by_one_elsewhere_too() -> None:
    many = DiscreteLaplace(scale=10, sensitivity=L0LInf(20, 1))
    assert usual(many)["epsilon^2/2"] == pytest.approx(20 * 0.1**2 / 2)


def test_gumbel_noise_is_charged_as_bounded_range() -> None:
    assert list(usual(ReportNoisyMax(epsilon=1, noise="gumbel"))) == ["epsilon^2/8", "epsilon tanh(epsilon/2)"]
    assert usual(ReportNoisyMax(epsilon=1, noise="exponential"))["epsilon^2/2"] == 0.5


@pytest.mark.parametrize(("rho", "exceeded"), [("1.1036383235143267", True), ("1.1036383235143273", False)])
def test_a_budget_is_compared_exactly(rho: str, exceeded: bool) -> None:
    """3/e = 1.10363832351432696..."""
    facts = account(read_plan("x.toml", f'[budget]\nrho = "{rho}"\n{QUERY}'), curve=False).to_dict()
    assert facts["budget"]["exceeded"] == exceeded


def test_delta_is_that_given_then_that_of_the_file_then_a_millionth() -> None:
    plain, own = read_plan("x.toml", QUERY), read_plan("x.toml", "delta = 1e-8\n" + QUERY)
    chosen = [
        account(plan, delta=delta, curve=False).to_dict()["delta"] for plan in (plain, own) for delta in (None, "1e-4")
    ]
    assert chosen == [1e-6, 1e-4, 1e-8, 1e-4]


def test_what_is_not_a_plan() -> None:
    with pytest.raises(TypeError, match="must be a plan"):
        account(7)  # type: ignore[arg-type]
    with pytest.raises(PlanFileError, match="no such file"):
        account(Path("nowhere.toml"))


def test_a_long_plan_with_a_mere_bound_claims_no_lower_end() -> None:
    parts = " + ".join(f"Laplace(epsilon='0.{n:03}')" for n in range(1, 70))
    result = account(f"{parts} + ReportNoisyMax(epsilon=1)", curve=False, full=False).to_dict()
    assert result["total"]["rho_bounds"][0] == 0
    assert result["total"]["rho_bounds"][1] == result["total"]["rho"] > 0.32


@pytest.mark.parametrize("kinds", [6, pytest.param(26, marks=pytest.mark.deep)])
def test_a_curve_is_drawn_in_haste_and_still_certified(kinds: int) -> None:
    """On no common lattice each point takes effort: less of it for what is drawn, and all of it again afterwards."""
    plan = Plan.sum_of(*(Laplace(epsilon=0.1 + 0.7123**n) for n in range(kinds)))
    points = account(plan, delta=1e-6).to_dict()["curve"]
    for point in points[1:-1:19]:
        lower, upper = plan.delta_bounds(epsilon=point["epsilon"])
        assert lower <= point["delta"]
        assert upper == pytest.approx(point["delta"], rel=1e-3)
    deltas = [point["delta"] for point in points]
    assert deltas == sorted(deltas, reverse=True)


@pytest.mark.parametrize(
    ("text", "first", "all_of_them"),
    [
        ("Laplace(epsilon=1)", "laplace", {"laplace"}),
        ("Laplace(epsilon=1, sensitivity=L0LInf(20, 1))", "vector-queries", {"laplace", "vector-queries"}),
        ("DiscreteLaplace(epsilon=1, sensitivity=L2(2))", "vector-queries", {"discrete-laplace", "vector-queries"}),
        ("PureDP(epsilon=1, total_variation='0.1')", "total-variation", {"pure-dp", "total-variation"}),
    ],
)
def test_the_theorem_of_the_parameters_is_cited(text: str, first: str, all_of_them: set[str]) -> None:
    found = account(text, curve=False)
    assert found.queries[0].theorem == first
    assert {one.id for one in found.theorems} >= all_of_them


@pytest.mark.parametrize(("grid", "sd", "half_width"), [("10", 30.0, 60.0), ("0.1", 0.3, 0.6)])
def test_noise_on_a_grid_is_told_in_the_unit_of_the_answers(
    tmp_path: Path, grid: str, sd: float, half_width: float
) -> None:
    (tmp_path / "plan.toml").write_text(f"""
[data]
unit = "row"
[domain]
region = ["north", "south"]
[[query]]
name = "income"
measure = "sum"
of = "income"
clip = [0, 100]
grid = {grid}
by = ["region"]
mechanism = "DiscreteGaussian(sigma=3)"
""")
    [query] = account(tmp_path / "plan.toml").queries
    assert query.accuracy is not None
    assert 0 <= query.accuracy.standard_deviation - sd < 1e-12 * sd
    assert 0 <= query.accuracy.half_width - half_width < 1e-12 * sd
    assert Fraction(query.accuracy.half_width) >= 6 * Fraction(grid)
