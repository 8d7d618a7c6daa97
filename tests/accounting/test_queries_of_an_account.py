"""Each field of an account, by hand: queries with uses, shares and savings; delta, neighbours, budget and date."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf

import pytest

from zcdp import Account, account
from zcdp.plans.plan_file import read_plan

GAUSSIAN = '[[query]]\nname = "first"\nmechanism = "Gaussian(sigma=3)"\ncount = 4\nnote = "n"\n'
LAPLACE = '[[query]]\nname = "second"\nmechanism = "2 * Laplace(epsilon=1)"\ncount = 3\n'


def made(text: str, **asked: object) -> Account:
    return account(read_plan("plan.toml", text), curve=False, **asked)  # type: ignore[arg-type]


def test_a_query_is_told_of_one_use_and_of_all() -> None:
    """One use is sigma 3, rho 1/18; or two Laplace answers of rho 1/e each, for which others charge 1/2."""
    first, second = made(GAUSSIAN + LAPLACE).queries
    assert (first.name, first.mechanism, first.count, first.note) == ("first", "Gaussian(sigma=3)", 4, "n")
    assert (first.rho_one, first.rho) == (pytest.approx(1 / 18, rel=1e-15), pytest.approx(4 / 18, rel=1e-15))
    assert first.rho_bounds_one[0] <= Fraction(1, 18) <= first.rho_bounds_one[1]
    assert (first.pure_epsilon_one, first.saved, first.is_tight) == (inf, None, True)
    assert (second.count, second.note, second.is_tight) == (3, None, True)
    assert (second.rho_one, second.rho) == (pytest.approx(2 / exp(1), rel=1e-15), pytest.approx(6 / exp(1), rel=1e-15))
    assert second.pure_epsilon_one == 2
    assert second.usual["epsilon^2/2"] == 3
    assert second.saved == pytest.approx(1 - 2 / exp(1), rel=1e-12)
    whole = 4 / 18 + 6 / exp(1)
    assert (first.share, second.share) == (pytest.approx(4 / 18 / whole), pytest.approx(6 / exp(1) / whole))
    assert not made(GAUSSIAN.replace("Gaussian(sigma=3)", "ReportNoisyMax(epsilon=1)")).queries[0].is_tight


def test_the_total_is_that_of_all_uses() -> None:
    total = made(GAUSSIAN + LAPLACE).total
    assert total.rho == pytest.approx(4 / 18 + 6 / exp(1), rel=1e-14)
    assert total.pure_epsilon == inf
    assert made(LAPLACE).total.pure_epsilon == 6
    assert total.saved_rho == pytest.approx(1 - total.rho / (4 / 18 + 3), rel=1e-12)
    found = [one.epsilon for one in total.elsewhere]
    assert found == sorted(found)
    assert total.saved_epsilon == pytest.approx(1 - total.epsilon / found[0], rel=1e-12)


@pytest.mark.parametrize(
    ("head", "asked", "delta"),
    [
        ("", {}, 1e-6),
        ("[budget]\nepsilon = 9\ndelta = 1e-4\n", {}, 1e-4),
        ("delta = 1e-8\n[budget]\nepsilon = 9\ndelta = 1e-4\n", {}, 1e-8),
        ("delta = 1e-8\n[budget]\nepsilon = 9\ndelta = 1e-4\n", {"delta": "1e-3"}, 1e-3),
        ("delta = 1e-8\n", {"delta": 1e-3}, 1e-3),
        ("[budget]\nrho = 9\n", {}, 1e-6),
    ],
)
def test_delta_is_that_asked_for_then_of_the_file_then_of_its_budget(
    head: str, asked: dict[str, object], delta: float
) -> None:
    assert made(head + GAUSSIAN, **asked).delta == delta


@pytest.mark.parametrize(
    ("said", "mechanism", "relation"),
    [
        ("", "Gaussian(sigma=3)", "either"),
        ('neighbours = "add_remove"\n', "Gaussian(sigma=3)", "add_remove"),
        ('neighbours = "add-remove"\n', "Gaussian(sigma=3)", "add_remove"),
        ('neighbours = "replace"\n', "Gaussian(sigma=3)", "replace"),
        ("", "Subsampled(Gaussian(sigma=3), rate='0.1')", "add_remove"),
        ("", "Subsampled(Gaussian(sigma=3, sensitivity=2), size=1, of=9)", "replace"),
        ('neighbours = "replace"\n', "Subsampled(Gaussian(sigma=3), rate='0.1')", None),
        ('neighbours = "add-remove"\n', "Subsampled(Gaussian(sigma=3, sensitivity=2), size=1, of=9)", None),
    ],
)
def test_the_neighbours_are_those_of_the_file_and_of_its_mechanisms(
    said: str, mechanism: str, relation: str | None
) -> None:
    text = said + GAUSSIAN.replace("Gaussian(sigma=3)", mechanism)
    if relation is None:
        with pytest.raises(ValueError, match="state both for one relation"):
            read_plan("plan.toml", text)
        return
    plan = read_plan("plan.toml", text)
    assert plan.entries[0].plan is not None
    assert plan.relation_of(plan.entries[0].plan).value == relation
    if mechanism == "Gaussian(sigma=3)":
        assert account(plan, curve=False).total.relation == relation


@pytest.mark.parametrize(
    ("rho", "exceeded"),
    [("0.3", False), ('"0.3"', False), ("0.29999999999999993", True), ("0.30000000000000004", False)],
)
def test_a_budget_is_the_decimal_that_stands_in_the_file(rho: str, exceeded: bool) -> None:
    """Three times one tenth is three tenths, and not above the float that is nearest to it."""
    budget = made(f"[budget]\nrho = {rho}\n" + GAUSSIAN.replace("Gaussian(sigma=3)", "Gaussian(rho='0.075')")).budget
    assert budget is not None
    assert budget.exceeded == exceeded
    left = Fraction(rho.strip('"')) - Fraction(3, 10)
    assert Fraction(budget.left) <= left <= Fraction(budget.left) + Fraction(1, 10**17)


@pytest.mark.parametrize("rho", ["1/3", "2/7", "1/7", "0.1"])
def test_what_is_left_is_rounded_down_whether_there_is_any_or_not(rho: str) -> None:
    """Four answers of sigma 3 cost 2/9."""
    budget = made(f'[budget]\nrho = "{rho}"\n' + GAUSSIAN).budget
    assert budget is not None
    left = Fraction(rho) - Fraction(2, 9)
    assert Fraction(budget.left) < left < Fraction(budget.left) + Fraction(1, 10**16)
    assert budget.exceeded == (left < 0)
    assert budget.spent == pytest.approx(float(Fraction(2, 9) / Fraction(rho)), rel=1e-14)


def test_the_day_is_that_of_the_build_where_it_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(365 * 86400 - 1))
    assert made(GAUSSIAN).date == "1970-12-31"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(365 * 86400))
    assert made(GAUSSIAN).date == "1971-01-01"


def test_the_unit_is_that_of_the_file_or_whom_its_tables_protect() -> None:
    table = (
        '[data]\nunit = "row"\nprotects = "visit"\n[domain]\na = ["x", "y"]\n[[query]]\nname = "q"\nmeasure = "count"\n'
    )
    assert made(table + 'by = ["a"]\nmechanism = "DiscreteGaussian(sigma=9)"\n').unit == "visit"
    assert made('unit = "household"\n' + GAUSSIAN).unit == "household"
    assert made(GAUSSIAN).unit is None
