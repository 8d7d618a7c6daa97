"""Terms: budgets are rounded down and costs up, an epsilon is what its theorem gives, and nothing else is agreed to."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from zcdp import Gaussian, Laplace, Plan, RandomizedResponse
from zcdp.ledger import BudgetExceeded, Ledger, LedgerError
from zcdp.ledger.terms import Terms, _largest_rho, approx_to_rho, small, terms_of

PRIME = Fraction(1, 10**9 + 7)
"""A number of which no multiple of the ledger's grid is equal."""
OPEN = {"unit": "person", "neighbours": "add-remove"} | dict.fromkeys(("rho", "epsilon", "delta", "order", "workload"))  # type: ignore[operator]


def delta_of(rho: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Canonne, Kamath and Steinke 2020: the least over orders of exp((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1)."""

    def log_at(log_s: mpmath.mpf) -> mpmath.mpf:
        s = mpmath.exp(log_s)
        return s * ((1 + s) * rho - epsilon) - log_s + (1 + s) * mpmath.log(s / (1 + s))

    low, high = mpmath.mpf(-6), mpmath.mpf(12)
    for _ in range(120):  # convex in s, so one valley
        third = (high - low) / 3
        low, high = (low + third, high) if log_at(low + third) > log_at(high - third) else (low, high - third)
    return mpmath.exp(log_at((low + high) / 2))


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), ("1", "1e-9"), ("4", "1e-6"), ("10", "1e-5")])
def test_the_rho_of_an_epsilon_is_the_largest_that_keeps_it(epsilon: str, delta: str) -> None:
    found = approx_to_rho(Fraction(epsilon), Fraction(delta))
    with mpmath.workdps(40):
        rho = mpmath.mpf(found.numerator) / found.denominator
        assert delta_of(rho, mpmath.mpf(epsilon)) <= mpmath.mpf(delta) * (1 + mpmath.mpf(10) ** -20)
        assert delta_of(rho * (1 + mpmath.mpf(10) ** -12), mpmath.mpf(epsilon)) > mpmath.mpf(delta)
    budget = Terms("person", epsilon=Fraction(epsilon), delta=Fraction(delta)).budget()
    assert found - Fraction(1, 10**999) <= budget <= found
    assert Gaussian(rho=budget).delta_at(epsilon=epsilon) <= Fraction(delta)


@pytest.mark.parametrize("edge", [1e-9, 0.3, 0.999, 1.0, 1.001, 7.0, 1e6])
def test_the_bisection_ends_below_the_edge_and_next_to_it(edge: float) -> None:
    seen: list[float] = []

    def fits(rho: float) -> bool:
        if rho <= edge:
            seen.append(rho)
        return rho <= edge

    found = _largest_rho(fits, 1.0)
    assert found in seen
    assert edge * (1 - 3e-15) <= found <= edge
    with pytest.raises(ValueError, match="no rho fits"):
        _largest_rho(lambda _: False, 1.0)


def test_budgets_are_rounded_down_and_costs_up(quick: Path) -> None:
    with Ledger(quick / "a.db") as ledger:
        budget = ledger.open_account("a", unit="person", rho=PRIME).budget
        assert (
            PRIME - Fraction(1, 10**1000) < budget < PRIME < ledger.cost("a", rho=PRIME) < PRIME + Fraction(1, 10**1000)
        )
        assert not ledger.would_fit("a", rho=PRIME)
        with pytest.raises(BudgetExceeded):
            ledger.spend("a", rho=PRIME, key="all")
        raised = ledger.raise_budget("a", rho=3 * PRIME, why="more").budget
        assert 3 * PRIME - Fraction(1, 10**1000) < raised < 3 * PRIME
        assert ledger.would_fit("a", rho=raised)
        ledger.spend("a", rho=raised, key="all")
        assert ledger.remaining("a") == 0
        terms = Terms("person", epsilon=Fraction(4), delta=Fraction(1, 10**6), order=Fraction(21, 2))
        at = ledger.open_account("b", unit="person", epsilon=4, delta="1e-6", order="10.5")
        assert at.budget == terms.budget()
        # B at order a keeps (epsilon, delta) by the same formula, with B in place of a rho
        with mpmath.workdps(40):
            a, b = mpmath.mpf("10.5"), mpmath.mpf(at.budget.numerator) / at.budget.denominator
            kept = mpmath.exp((a - 1) * (b - 4)) * (1 - 1 / a) ** a / (a - 1)
            assert mpmath.mpf(10) ** -6 * (1 - mpmath.mpf(10) ** -12) <= kept <= mpmath.mpf(10) ** -6


@pytest.mark.parametrize("given", [10**9, Fraction(1, 7), Fraction(1, 10**1000)])
def test_budgets_that_someone_can_mean(given: Fraction) -> None:
    assert small(Fraction(given), given, "rho") == given


@pytest.mark.parametrize("given", [10**9 + Fraction(1, 10**9), 0, -1, 10**12])
def test_budgets_that_nobody_can_mean(given: Fraction) -> None:
    with pytest.raises(ValueError, match=r"rho \(.*\) (must be at most 10\^9|is smaller than a ledger can count)"):
        small(Fraction(given), given, "rho")


def test_a_cost_is_at_most_the_sum_of_its_parts_and_never_below_the_certified_rho() -> None:
    terms = Terms("person", neighbours="local")
    worst_apart = [3 * RandomizedResponse(epsilon="0.5", k=1000), 2 * Laplace(epsilon=4)]
    plan = Plan.sum_of(*worst_apart)
    apart = sum((one.rho_fraction * count for one, count in plan.parts), Fraction(0))
    assert Fraction(plan.rho_bounds[0]) <= terms.cost(plan) < apart  # worst at different orders
    assert terms.cost(7 * Laplace(epsilon="0.1")) == 7 * terms.cost(Laplace(epsilon="0.1"))
    for many in (64, 65):
        kinds = [Laplace(epsilon=Fraction(1, 10 + n)) for n in range(many - 1)]
        mixed = Plan.sum_of(*kinds, 3 * RandomizedResponse(epsilon=3, k=1000))
        added = sum((one.rho_fraction * count for one, count in mixed.parts), Fraction(0))
        assert Fraction(mixed.rho_bounds[0]) <= terms.cost(mixed) <= added + Fraction(1, 10**999)
        assert (terms.cost(mixed) < added) == (many == 64)


def test_at_an_order_a_cost_is_the_divergence_of_that_order() -> None:
    terms = Terms("person", order=Fraction(8), epsilon=Fraction(1), delta=Fraction(1, 10**6))
    noise = 3 * Gaussian(sigma=10)  # 8 * 3/200
    assert Fraction(24, 200) <= terms.cost(noise) <= Fraction(24, 200) * (1 + Fraction(1, 10**14))
    assert terms.cost(2 * noise) == pytest.approx(2 * terms.cost(noise), rel=1e-14)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rho": 1, "order": 3}, "not both"),
        ({"rho": 1, "delta": "1e-6"}, "not both"),
        ({"rho": 1, "workload": Laplace(epsilon=1)}, "not both"),
        ({"delta": "1e-6"}, "give a budget"),
        ({"epsilon": 1}, "give a budget"),
        ({}, "give a budget"),
        ({"epsilon": 1, "delta": "1e-6", "order": 3, "workload": Laplace(epsilon=1)}, "or a workload to choose it by"),
        ({"epsilon": 1, "delta": "1e-6", "workload": 3}, "must be a mechanism or a plan"),
        ({"epsilon": 1, "delta": 0}, "delta"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 0, "delta": "1e-6"}, "epsilon"),
        ({"rho": 1, "neighbours": "twins"}, "must be one of add-remove, replace, local"),
        ({"epsilon": 1, "delta": "1e-6", "order": 1}, "order"),
        ({"epsilon": 1, "delta": "1e-6", "workload": RandomizedResponse(epsilon=1, k=2)}, "is stated for local"),
    ],
)
def test_what_is_no_budget_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        terms_of(**(OPEN | given))  # type: ignore[arg-type]


def test_terms_are_read_back_as_they_were_written() -> None:
    for terms in (
        Terms("person"),
        Terms("h\u00e4user", "local", None, Fraction(1, 3), Fraction(1, 10**6)),
        Terms("a", "replace", Fraction(21, 2), Fraction(4), Fraction(1, 7)),
    ):
        assert Terms.from_json(terms.to_json()) == terms
        assert terms.measure == ("rho" if terms.order is None else "renyi")
    assert Terms("a").to_json() == '{"measure": "rho", "neighbours": "add-remove", "unit": "a"}'
    for bad in ("{}", "[]", "7", "", '{"unit": "a"}', Terms("a").to_json().replace("}", ', "more": "x"}')):
        with pytest.raises(LedgerError, match="cannot be read"):
            Terms.from_json(bad)
    with pytest.raises(ValueError, match="was given as rho"):
        Terms("person").budget()


def test_only_what_was_said_must_agree() -> None:
    terms = Terms("person", "replace")
    terms.agree()
    terms.agree(unit=None, neighbours="replace")
    for said in ({"unit": "row"}, {"neighbours": "local"}, {"unit": "person", "neighbours": "add-remove"}):
        with pytest.raises(ValueError, match="is not that of the account"):
            terms.agree(**said)


TABLES = '[data]\nunit = "row"\nprotects = "{}"\nneighbours = "{}"\n[[query]]\nname = "rows"\nmeasure = "count"\n'


TABLES += 'mechanism = "DiscreteLaplace(scale=20)"\n'


@pytest.mark.parametrize(
    "change",
    [{"neighbours": "twins"}, {"unit": ""}, {"delta": "1/10"}, {"order": "3"}, {"measure": "renyi", "order": "3"}],
)
def test_terms_that_no_account_was_opened_on_are_not_read(change: dict[str, str]) -> None:
    from zcdp.ledger.terms import Terms

    good = {"measure": "rho", "neighbours": "replace", "unit": "person"}
    assert Terms.from_json(json.dumps(good)).neighbours == "replace"
    with pytest.raises(LedgerError, match="cannot be read"):
        Terms.from_json(json.dumps(good | change, sort_keys=True))
