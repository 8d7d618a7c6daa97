"""What would do harm if it were wrong: counts, ends of budgets, many kinds, all times; each has its own truth."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from math import exp, expm1, log, sqrt
from pathlib import Path

import pytest
from cli.program import zcdp

from zcdp import (
    RAPPOR,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    NotCertified,
    Odometer,
    Plan,
    PureDP,
    Query,
    RandomizedResponse,
    account,
    allocate,
    calibrate,
)
from zcdp.accounting import plan_account as total
from zcdp.plans.plan_file import read_plan

KINDS, LIMIT = 70, 64


def laplace_rho(epsilon: float) -> float:
    return epsilon + expm1(-epsilon)


@pytest.fixture(scope="module", autouse=True)
def _rho_alone() -> Iterator[None]:
    """Fewer kinds than the limit really is: it is the way beyond it that is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(total, "MOST_KINDS_IN_FULL", LIMIT)
        yield


@pytest.fixture(scope="module")
def by_rho_alone() -> Iterator[None]:
    """The limit from which rho alone is added up, low enough to be passed by so few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zcdp.accounting.plan_account.MOST_KINDS_IN_FULL", KINDS - 1)
        yield


@pytest.fixture(scope="module")
def many(by_rho_alone: None) -> dict[str, object]:
    """More kinds than the profile is computed for, each with a count of its own."""
    plan = Plan.sum_of(*((n + 1) * Laplace(epsilon=(n + 1) / 1000) for n in range(KINDS)))
    return account(plan, delta=1e-6).to_dict()


def test_counts_of_many_kinds(many: dict[str, object]) -> None:
    rho = sum((n + 1) * laplace_rho((n + 1) / 1000) for n in range(KINDS))
    total = many["total"]
    assert total["rho"] == pytest.approx(rho, rel=1e-9)  # type: ignore[index]
    assert total["epsilon"] >= rho  # type: ignore[index]
    # at most what the simple conversion gives, at least the mean of the loss
    assert rho < total["epsilon"] < rho + 2 * sqrt(rho * log(1e6))  # type: ignore[index]
    assert total["pure_epsilon"] == pytest.approx(sum((n + 1) ** 2 / 1000 for n in range(KINDS)))  # type: ignore[index]
    assert [query["count"] for query in many["queries"]] == list(range(1, KINDS + 1))  # type: ignore[attr-defined]


def test_counts_of_many_kinds_that_peak_at_different_orders(by_rho_alone: None) -> None:
    """rho is at least the divergence of order 1, here epsilon (e^epsilon - 1)/(e^epsilon + k - 1) for each response."""
    parts = [(n + 2, (n + 1) / 500, 3 + 40 * n) for n in range(KINDS)]
    total = account(Plan.sum_of(*(n * RandomizedResponse(epsilon=e, k=k) for n, e, k in parts)), curve=False).to_dict()[
        "total"
    ]
    assert "profile" not in total["routes"]
    least = sum(n * e * expm1(e) / (exp(e) + k - 1) for n, e, k in parts)
    assert least * (1 - 1e-9) <= total["rho"] <= sum(n * e * e / 2 for n, e, k in parts)
    assert total["rho"] > sum(RandomizedResponse(epsilon=e, k=k).rho for n, e, k in parts) * 20
    assert total["epsilon"] > least


def test_the_curve_of_many_kinds_is_not_below_their_normal_limit(many: dict[str, object]) -> None:
    """So many small losses are nearly normal, of variance s^2 and mean s^2/2; half of rho would fall below that."""
    from statistics import NormalDist

    phi = NormalDist().cdf
    variance = sum((n + 1) * ((n + 1) / 1000) ** 2 for n in range(KINDS))
    mu = sqrt(variance)
    points = [(point["epsilon"], point["delta"]) for point in many["curve"]]  # type: ignore[attr-defined]
    assert points[0] == (0.0, 1.0)
    for epsilon, delta in points[1:]:
        normal = phi(mu / 2 - epsilon / mu) - exp(epsilon) * phi(-mu / 2 - epsilon / mu)
        assert delta >= 0.9 * normal
        assert epsilon < many["total"]["pure_epsilon"]  # type: ignore[index]


def test_a_curve_ends_at_the_pure_epsilon_and_not_before(by_rho_alone: None) -> None:
    plan = Plan.sum_of(*(PureDP(epsilon=Fraction(n + 1, 10**4)) for n in range(KINDS)))
    pure = sum(n + 1 for n in range(KINDS)) / 10**4
    for point in account(plan, delta="1e-300").to_dict()["curve"]:
        assert (point["delta"] == 0) == (point["epsilon"] >= pure)


def test_queries_that_are_alike_add_up() -> None:
    rows = "".join(f'[[query]]\nname = "{n}"\nmechanism = "Laplace(epsilon=1)"\ncount = 3\n' for n in range(4))
    facts = account(read_plan("x.toml", rows), curve=False).to_dict()
    assert facts["total"]["rho"] == pytest.approx(12 * laplace_rho(1))
    assert [query["rho"] for query in facts["queries"]] == pytest.approx([3 * laplace_rho(1)] * 4)
    assert facts["total"]["pure_epsilon"] == 12


def test_a_budget_is_held_at_its_own_delta() -> None:
    """epsilon of normal noise at delta 0.5 is far below that at 1e-9."""
    text = '[budget]\nepsilon = 4\ndelta = 1e-9\n[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=1)"\n'
    assert account(read_plan("x.toml", text), delta="0.5", curve=False).to_dict()["budget"]["exceeded"]
    assert account(read_plan("x.toml", text), curve=False).to_dict()["budget"]["exceeded"]
    assert not account(read_plan("x.toml", text.replace("1e-9", "0.5")), delta="1e-9", curve=False).to_dict()["budget"][
        "exceeded"
    ]


def test_the_edge_of_a_budget_is_within_it() -> None:
    assert calibrate(lambda e: PureDP(epsilon=e), epsilon=1, delta=0) == 1
    assert calibrate(lambda e: 4 * PureDP(epsilon=e), epsilon=8, delta=0) == 2
    assert calibrate(lambda r: Gaussian(rho=r), rho=1) == 1
    assert calibrate(lambda r: Gaussian(rho=r), rho="0.5") <= 0.5


def test_what_is_not_certified_does_not_fit() -> None:
    def build(epsilon: float) -> Laplace:
        if epsilon > 0.5:
            raise NotCertified("too hard")
        return Laplace(epsilon=epsilon)

    with pytest.raises(NotCertified):
        calibrate(build, rho=1000)

    class Shy(Laplace):
        """Its rho is certified for small epsilons only."""

        @property
        def rho(self) -> float:
            if self.epsilon > Fraction(1, 2):
                raise NotCertified("too hard")
            return super().rho

    assert calibrate(lambda e: Shy(epsilon=e), rho=1000) <= 0.5


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


@pytest.mark.parametrize("count", [1, 3, 7, 10**6])
def test_shares_never_add_up_to_more(count: int) -> None:
    for rho in ("0.1", "1/3", "0.7", "1e-5", "3.3"):
        queries = [Query(DiscreteLaplace, sensitivity=n + 1, count=count) for n in range(3)]
        found = allocate(queries, rho=rho)
        assert sum(m.rho_fraction * count for m in found) <= Fraction(rho)


@pytest.mark.parametrize("rho", ["0.001", "0.3", "0.9", "1", "1.1", "5", "100"])
def test_the_bound_for_all_times_pays_for_them(rho: str) -> None:
    """Against the theorem in floats: all powers of two share delta, by weights that sum to at most 1."""
    o = Odometer()
    for _ in range(3):
        o.spend(Gaussian(rho=Fraction(rho) / 3))
    rung = next(j for j in range(-20, 20) if Fraction(2) ** j >= Fraction(rho))
    weights = {j: 1 / (2.3 * (1 + abs(j)) ** 2) for j in range(-100_000, 100_000)}
    assert 0.99 < sum(weights.values()) <= 1
    top = 2.0**rung
    truth = top + 2 * sqrt(top * -log(1e-6 * weights[rung]))
    assert o.anytime_epsilon(delta=1e-6) == pytest.approx(truth, rel=1e-12)
