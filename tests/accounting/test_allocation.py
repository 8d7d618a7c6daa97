"""Allocation in (epsilon, delta) and rho: all of the budget, equal errors, targets met by the laws themselves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import pytest
from cli.program import called as zcdp
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from zcdp import (
    L2,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    ExponentialMechanism,
    Gaussian,
    L0LInf,
    Laplace,
    Logistic,
    PermuteAndFlip,
    Plan,
    Query,
    RandomizedResponse,
    ReportNoisyMax,
    Staircase,
    TargetsDoNotFit,
    account,
    allocate,
)
from zcdp.accounting.allocation import Spending
from zcdp.accounting.fill import fill
from zcdp.numeric.balls import NotCertified
from zcdp.plans.plan_file import PlanFileError, read_plan

KINDS = [
    Query(DiscreteLaplace, sensitivity=L0LInf(2, 1)),
    Query(DiscreteLaplace, sensitivity=7, free="scale"),
    Query(Laplace, sensitivity=50_000, free="scale"),
    Query(Laplace, sensitivity=L2(3)),
    Query(Gaussian, sensitivity=3),
    Query(Gaussian, free="rho"),
    Query(DiscreteGaussian, sensitivity=2),
    Query(Logistic, sensitivity="0.01"),
    Query(Staircase),
    Query(Staircase, gamma="0.5", sensitivity=9),
    Query(DiscreteStaircase, sensitivity=3, r=1, count=3),
    Query(ExponentialMechanism),
    Query(PermuteAndFlip),
    Query(ReportNoisyMax, noise="gumbel"),
]


def composed(queries: list[Query], made: tuple[object, ...]) -> Plan:
    return Plan.sum_of(*(Plan.repeated(m, q.count) for q, m in zip(queries, made, strict=True)))


@pytest.mark.parametrize("objective", ["worst", "total"])
def test_every_kind_of_noise_and_selection_in_one_plan(objective: str) -> None:
    made = allocate(KINDS, epsilon=2, delta="1e-9", objective=objective)
    assert 2 - 1e-6 <= composed(KINDS, made).epsilon_at(delta="1e-9") <= 2
    errors = [m.relative_error for m in made]
    assert max(errors) <= min(errors) * (1 + 1e-8 if objective == "worst" else 3)


def test_the_unit_of_an_answer_does_not_matter() -> None:
    """The same query in thousands: the noise is a thousandth, and nobody else's changes."""

    def found(unit: int) -> list[float]:
        queries = [Query(Laplace), Query(Gaussian, sensitivity=Fraction(50_000, unit))]
        return [m.relative_error for m in allocate(queries, epsilon=1, delta=1e-6)]

    assert found(1) == pytest.approx(found(1000), rel=1e-9)


def test_total_is_the_least_sum_in_rho() -> None:
    """Gaussian noise has u^2 = 1/(2r): by hand, shares go with the square root of the weight."""
    queries = [Query(Gaussian, weight=9), Query(Gaussian, sensitivity=100, count=4)]
    nine, one = allocate(queries, rho="0.7", objective="total")
    assert float(nine.exact_rho / one.exact_rho) == pytest.approx(3, rel=1e-7)


def test_targets_are_met_first_and_the_rest_goes_to_the_others() -> None:
    queries = [Query(DiscreteLaplace, half_width=10), Query(Gaussian, sensitivity=40, sd=400), Query(Laplace)]
    made = allocate(queries, epsilon=2, delta="1e-9")
    counts, sums, others = made
    assert counts.accuracy().half_width == 10
    assert DiscreteLaplace(scale=float(counts.scale) * 1.001).accuracy().half_width == 11
    assert 400 * (1 - 1e-9) <= sums.accuracy().standard_deviation <= 400
    assert 2 - 1e-6 <= composed(queries, made).epsilon_at(delta="1e-9") <= 2
    assert others.relative_error > 1


def test_a_budget_that_is_larger_than_the_targets_is_used_up() -> None:
    queries = [Query(Gaussian, sd=200), Query(Laplace, sensitivity=10, sd=1000)]
    made = allocate(queries, epsilon=2, delta="1e-9")
    first, second = (float(m.accuracy().standard_deviation) for m in made)
    assert first / 200 == pytest.approx(second / 1000, rel=1e-8)
    assert first < 20
    assert composed(queries, made).epsilon_at(delta="1e-9") >= 2 - 1e-6


@pytest.mark.parametrize("budget", [{"epsilon": 2, "delta": "1e-9"}, {"rho": "0.2"}])
def test_targets_that_do_not_fit_are_refused_with_what_would(budget: dict[str, object]) -> None:
    def asked(factor: float) -> list[Query]:
        return [
            Query(DiscreteLaplace, half_width=Fraction(10) * Fraction(factor), count=50),
            Query(Gaussian, sd=Fraction(3) * Fraction(factor)),
        ]

    with pytest.raises(TargetsDoNotFit, match="would fit") as refused:
        allocate(asked(1), **budget)
    factor = refused.value.factor
    made = allocate(asked(factor), **budget)
    assert made[0].accuracy().half_width <= 10 * factor
    with pytest.raises(TargetsDoNotFit):
        allocate(asked(factor * 0.9), **budget)
    unit = next(iter(budget))
    larger = {**budget, unit: Fraction(refused.value.needed) * Fraction(1000001, 1000000)}
    assert allocate(asked(1), **larger)


def test_what_stays_as_it_is_is_paid_for_first() -> None:
    held = 3 * RandomizedResponse(epsilon=1, k=10)
    [made] = allocate([Query(Laplace)], epsilon=4, delta="1e-6", beside=held)
    assert 4 - 1e-6 <= (held + made).epsilon_at(delta="1e-6") <= 4
    with pytest.raises(ValueError, match=r"what stays as it is costs epsilon = 2\.9.* already: nothing of epsilon = 1"):
        allocate([Query(Laplace)], epsilon=1, delta="1e-6", beside=held)


def test_pure_budgets() -> None:
    made = allocate([Query(Laplace), Query(DiscreteLaplace, sensitivity=3)], epsilon=1, delta=0)
    assert 1 - 1e-6 <= Plan.sum_of(*made).pure_epsilon <= 1


@settings(deadline=None, max_examples=10)
@given(
    rows=st.lists(st.tuples(st.sampled_from(range(len(KINDS))), st.integers(1, 9)), min_size=1, max_size=3),
    epsilon=st.sampled_from(["0.05", "1", "7.5", "40"]),
    delta=st.sampled_from(["1e-3", "1e-9", "1e-30"]),
)
def test_any_plan_fits_and_fills_its_budget(rows: list[tuple[int, int]], epsilon: str, delta: str) -> None:
    queries = [Query(KINDS[n].mechanism, count=count, free=KINDS[n].free, **KINDS[n].fixed) for n, count in rows]
    whole = composed(queries, allocate(queries, epsilon=epsilon, delta=delta))
    assert float(epsilon) - 1e-6 <= whole.epsilon_at(delta=delta) <= float(epsilon)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: Query(Laplace, sd=1, half_width=2), r"give sd \(1\) or half_width \(2\), not both"),
        (lambda: Query(Laplace, sd=0), r"sd \(0\) must be positive"),
        (lambda: Query(Laplace, half_width=1, level=2), r"level \(2\) must lie strictly"),
        (lambda: Query(Laplace, free="sigma"), r"free \('sigma'\) must be epsilon or scale"),
        (lambda: Query(ExponentialMechanism, sd=1), "selects, and its answer has no standard deviation"),
        (lambda: Query(Laplace(epsilon=1)), "must be the class of one that adds noise"),
        (lambda: allocate([Query(Laplace)]), "give a budget"),
        (lambda: allocate([Query(Laplace)], rho=1, epsilon=1), "not both"),
        (lambda: allocate([Query(Laplace)], epsilon=1, delta=1), r"delta \(1\)"),
    ],
)
def test_bad_questions(asked: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        asked()


OFFICE = """# kept
title = "Office"
[budget]
epsilon = 2
delta = 1e-9
[[query]]
name = "population"
mechanism = "DiscreteLaplace(scale=?, sensitivity=L0LInf(2, 1))"
[[query]]
name = "incomes"
mechanism = "Laplace(epsilon=?, sensitivity=50000)"
[[query]]
name = "rents"
mechanism = "Gaussian(sigma=?, sensitivity='3000')"
count = 12
[[query]]
name = "language"
mechanism = "ExponentialMechanism(epsilon=?)"
[[query]]
name = "fixed"
mechanism = "Logistic(scale=20)"
"""


def test_a_statistics_office_from_a_plan_to_an_allocation_in_one_command(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(OFFICE)
    done = zcdp("allocate", "plan.toml", "--out", "filled.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "filled.toml").read_text()
    assert text.startswith("# kept")
    assert "?" not in text
    assert "DiscreteLaplace(scale=" in text  # as it was written, not as an epsilon
    filled = account(tmp_path / "filled.toml", curve=False)
    assert 2 - 1e-6 <= filled.total.epsilon <= 2
    assert not filled.budget.exceeded
    sizes = {"population": 1, "incomes": 50_000, "rents": 3000}
    errors = [q.accuracy.standard_deviation / sizes[q.name] for q in filled.queries if q.name in sizes]
    assert max(errors) <= 2 * min(errors)


def test_a_plan_file_says_what_is_wrong_with_its_targets() -> None:
    def asked(extra: str) -> None:
        fill(read_plan("plan.toml", OFFICE.replace('name = "incomes"', f'name = "incomes"\n{extra}')))

    for extra, message in (
        ("sd = 1", "plan.toml: the targets need epsilon = .* all targets times .* would fit"),
        ("sd = -1", r"plan.toml:11: sd \(-1\) must be positive"),
        ("sd = 1\nhalf_width = 1", "plan.toml:12: give sd or half_width, not both"),
        ("level = 0.9", "plan.toml:11: level: is that of a half_width"),
    ):
        with pytest.raises((PlanFileError, TargetsDoNotFit), match=message):
            asked(extra)


def test_equal_costs_of_other_noise_are_not_taken_for_one() -> None:
    """Laplace(scale=1) and Laplace(scale=10, sensitivity=10) cost the same, and err by one and by ten."""
    found = account("2 * Laplace(scale=1) + Laplace(scale=10, sensitivity=10) + Laplace(scale=1)", curve=False)
    assert [(q.count, q.mechanism) for q in found.queries] == [
        (3, "Laplace(scale=1)"),
        (1, "Laplace(scale=10, sensitivity=10)"),
    ]
    first, second = (q.accuracy.half_width for q in found.queries)
    assert second == pytest.approx(10 * first, rel=1e-15)


@pytest.mark.parametrize(("weights", "sds", "ratio"), [((9, 1), (200, 1000), 1.5), ((1, 4), (200, 500), 0.125)])
def test_total_counts_errors_in_units_of_their_targets(
    weights: tuple[int, int], sds: tuple[int, int], ratio: float
) -> None:
    """The sum of w/(2 r t^2) is least within r + s where r goes with sqrt(w)/t, t the target over the sensitivity."""
    queries = [
        Query(Gaussian, sd=sds[0], weight=weights[0]),
        Query(Gaussian, sensitivity=10, sd=sds[1], weight=weights[1]),
    ]
    first, second = allocate(queries, rho="0.7", objective="total")
    assert float(first.exact_rho / second.exact_rho) == pytest.approx(ratio, rel=1e-6)


@pytest.mark.parametrize("objective", ["worst", "total"])
@pytest.mark.parametrize(
    "light",
    [
        Query(Gaussian, sd=10, weight="1e-9"),
        Query(Gaussian, sd=10, weight="1e-9", free="rho"),
        Query(Laplace, sd=10, weight="1e-9"),
        Query(Laplace, sd=10, weight="1e-9", free="scale", sensitivity=2),
    ],
    ids=repr,
)
def test_however_little_weight_a_query_has_its_target_is_met(light: Query, objective: str) -> None:
    first, second = allocate([light, Query(Gaussian)], rho=1, objective=objective)
    assert 10 * (1 - 1e-8) <= first.accuracy().standard_deviation <= 10
    assert 1 - 1e-7 <= first.rho + second.rho <= 1


@pytest.mark.parametrize("sd", [3, 5, 7, 11, 13, 17, 19, 23, 29, 31])
def test_the_factor_that_would_fit_does_fit(sd: int) -> None:
    """Gaussian noise of so large an sd needs rho = 1/(2 sd^2): of a budget of 1/1234567 its root is the factor."""
    with pytest.raises(TargetsDoNotFit) as refused:
        allocate([Query(Gaussian, sd=sd)], rho="1/1234567")
    squared = Fraction(1234567, 2 * sd**2)
    assert squared <= Fraction(refused.value.factor) ** 2 <= squared * Fraction(1003, 1000)
    assert refused.value.needed == pytest.approx(1 / (2 * sd**2), rel=1e-8)


def test_what_would_fit_is_said_for_the_level_and_the_uses_asked_for() -> None:
    """Laplace noise of scale b exceeds b log 2 half of the time: three uses within 1 need epsilon 3 log 2."""
    asked = Query(Laplace, half_width=1, level="0.5", count=3, free="scale")
    with pytest.raises(TargetsDoNotFit, match=r"half_width 2\.08 instead of half_width 1") as refused:
        allocate([asked], epsilon=1, delta=0)
    assert refused.value.factor == pytest.approx(3 * log(2), rel=1e-3)
    assert refused.value.needed == pytest.approx(3 * log(2), rel=1e-8)
    with pytest.raises(TargetsDoNotFit, match="with nothing left for the 2 queries without a target"):
        allocate([asked, Query(Laplace), Query(Gaussian)], epsilon=1, delta="1e-6")


def test_what_stays_may_not_need_all_of_the_budget() -> None:
    with pytest.raises(ValueError, match=r"nothing of rho = 0\.5 is left"):
        allocate([Query(Laplace)], rho="1/2", beside=4 * Gaussian(sigma=2))


def variances(queries: list[Query], shares: list[Fraction]) -> float:
    made = [query.mechanism.calibrate(rho=share, **query.fixed) for query, share in zip(queries, shares, strict=True)]
    return sum(float(q.weight) * relative(m) ** 2 * q.count for q, m in zip(queries, made, strict=True))


def relative(m: Laplace | DiscreteLaplace) -> float:
    return float(m.variance) ** 0.5 / float(m.sensitivity)


QUERIES = [Query(Laplace), Query(Laplace, sensitivity=4, weight=3), Query(DiscreteLaplace, sensitivity=3, count=10)]


@pytest.mark.parametrize("rho", ["0.001", "0.1", 5])
def test_allocation_fits_and_no_exchange_is_better(rho: object) -> None:
    made = allocate(QUERIES, rho=rho, objective="total")
    spent = [Fraction(m.rho) for m in made]
    assert sum(s * q.count for s, q in zip(spent, QUERIES, strict=True)) <= Fraction(rho)
    assert sum(s * q.count for s, q in zip(spent, QUERIES, strict=True)) >= Fraction(rho) * (1 - Fraction(1, 10**7))
    best = variances(QUERIES, spent)
    for i, giver in enumerate(QUERIES):
        for j, taker in enumerate(QUERIES):
            if i != j:
                moved = list(spent)
                moved[i] -= spent[i] / 50
                moved[j] += spent[i] / 50 * giver.count / taker.count
                assert variances(QUERIES, moved) > best


def test_allocation_equalises() -> None:
    made = allocate(QUERIES, rho="0.1", objective="worst")
    errors = [relative(m) ** 2 * float(q.weight) for m, q in zip(made, QUERIES, strict=True)]
    assert max(errors) == pytest.approx(min(errors), rel=1e-8)
    assert sum(Fraction(m.rho) * q.count for m, q in zip(made, QUERIES, strict=True)) <= Fraction(1, 10)


@settings(deadline=None, max_examples=8)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 50), st.integers(1, 9)), min_size=1, max_size=4))
def test_any_allocation_fits(rows: list[tuple[int, int, int]]) -> None:
    queries = [Query(Laplace, sensitivity=s, weight=w, count=n) for s, w, n in rows]
    for objective in ("total", "worst"):
        made = allocate(queries, rho=1, objective=objective)
        assert sum(Fraction(m.rho) * q.count for m, q in zip(made, queries, strict=True)) <= 1


def test_what_cannot_be_allocated() -> None:
    with pytest.raises(TypeError, match="has no noise that allocate could weigh"):
        Query(RandomizedResponse, k=4)
    with pytest.raises(ValueError, match="is what allocate finds"):
        Query(Laplace, epsilon=1)
    with pytest.raises(ValueError, match="no queries"):
        allocate([], rho=1)
    with pytest.raises(ValueError, match="objective"):
        allocate(QUERIES, rho=1, objective="best")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("m", "tail"),
    [(Laplace(epsilon="0.5", sensitivity=3), None), (DiscreteLaplace(epsilon="0.7", sensitivity=2), lambda x: 0.7 / 2)],
)
def test_variance_is_that_of_the_noise(m: Laplace | DiscreteLaplace, tail: Callable[[int], float] | None) -> None:
    from math import exp

    if tail is None:
        assert m.variance == 72  # 2 (3/0.5)^2
        return
    q = exp(-0.35)
    direct = sum(x * x * (1 - q) / (1 + q) * q ** abs(x) for x in range(-400, 401))
    assert m.variance == pytest.approx(direct, rel=1e-12)


# An allocation of which the cost is not certified does not fit.


def test_what_is_not_certified_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost falls with x and would fit from x = 1 on, but is certified from x = 2 on only."""

    def cost(_: Spending, x: Any) -> Fraction:
        if x < 2:
            raise NotCertified("too extreme")
        return Fraction(exp(1 - x))

    monkeypatch.setattr(Spending, "cost", cost)
    for start in (0.0, 5.0):
        found = Spending(Fraction(1), None).fit(lambda x: x, start)  # type: ignore[arg-type,return-value]
        assert 2 <= found < 2.001


def beyond(scale: mpf, h: int) -> mpf:
    """P(|noise| > h) of discrete Laplace noise: the terms q^n (1 - q)/(1 + q) added up on both sides."""
    q = mp.exp(-1 / scale)
    return 1 - (1 - q) / (1 + q) * (1 + 2 * mp.fsum(q**n for n in range(1, h + 1)))


CASES: list[tuple[Query, Callable[[mpf], mpf], Any, bool]] = [
    # query, what its target is about as a function of the parameter, the target, whether noise rises with it
    (Query(Laplace, sd="1.7", free="scale"), lambda b: mp.sqrt(2) * b, mpf("1.7"), True),
    (Query(Laplace, sd=30, sensitivity=7), lambda e: mp.sqrt(2) * 7 / e, mpf(30), False),
    (Query(Laplace, half_width=3, level="0.5", free="scale"), lambda b: b * mp.log(2), mpf(3), True),
    (Query(Laplace, half_width=3, level="0.99"), lambda e: mp.log(100) / e, mpf(3), False),
    (Query(Laplace, half_width=3), lambda e: mp.log(20) / e, mpf(3), False),
    (Query(Gaussian, sd="0.3", sensitivity=5), lambda s: s, mpf("0.3"), True),
    (Query(Gaussian, sd="0.3", free="rho"), lambda r: 1 / mp.sqrt(2 * r), mpf("0.3"), False),
    (Query(Gaussian, half_width=40, level="0.8"), lambda s: s * mp.sqrt(2) * mp.erfinv(mpf("0.8")), mpf(40), True),
    (Query(DiscreteLaplace, half_width=12, level="0.9", free="scale"), lambda b: beyond(b, 12), mpf("0.1"), True),
    (Query(DiscreteLaplace, half_width=2), lambda e: beyond(1 / e, 2), mpf("0.05"), False),
]


@pytest.mark.parametrize(("query", "reached", "target", "rises"), CASES, ids=[repr(case[0]) for case in CASES])
def test_no_more_noise_meets_the_target(query: Query, reached: Callable[[mpf], mpf], target: mpf, rises: bool) -> None:
    assert query.noise_rises == rises
    found = mpf(query.at_target())
    with mp.workdps(40):
        assert reached(found) <= target * (1 + mpf(10) ** -15)
        assert reached(found * (1 + mpf("3e-9") * (1 if rises else -1))) > target


def test_a_larger_target_is_that_of_the_same_query() -> None:
    asked = Query(Laplace, half_width=2, level="0.9", count=5, weight=3, free="scale", sensitivity=4)
    larger = asked.times(1.5)
    assert (larger.half_width, larger.level, larger.count, larger.weight) == (3, Fraction(9, 10), 5, 3)
    assert (larger.free, larger.fixed, larger.sd) == ("scale", {"sensitivity": 4}, None)
    assert Query(Gaussian, sd=2).times(2).sd == 4


@pytest.mark.parametrize(
    ("query", "value"), [(Query(Laplace), 1.23456789012), (Query(Laplace, free="scale"), 1.23456789012)], ids=repr
)
def test_a_readable_parameter_is_the_nearest_or_the_quieter_one(query: Query, value: float) -> None:
    assert query.rounded(value) == 1.23456789
    assert query.rounded(value, quieter=True) == (1.23456789 if query.noise_rises else 1.234567891)
    assert query.rounded(1.23456788997) == 1.23456789
    assert query.rounded(1.23456788997, quieter=True) == (1.234567889 if query.noise_rises else 1.23456789)


@pytest.mark.parametrize("error", [0.5, 2.0, 90.0])
def test_the_parameter_of_an_error_has_it(error: float) -> None:
    """Standard deviation over sensitivity."""
    assert Query(Laplace, sensitivity=9).with_error(error) == pytest.approx(sqrt(2) / error, rel=1e-10)
    assert Query(Laplace, sensitivity=9, free="scale").with_error(error) == pytest.approx(
        9 * error / sqrt(2), rel=1e-10
    )
    assert Query(Gaussian, sensitivity=9).with_error(error) == pytest.approx(9 * error, rel=1e-10)
    assert Query(Gaussian, free="rho").with_error(error) == pytest.approx(1 / (2 * error**2), rel=1e-10)
