"""How often a calibration asks for a certified cost, which is nearly all of its time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, log

import mpmath
import pytest

from zcdp import RAPPOR, DiscreteLaplace, Gaussian, Laplace, Plan, calibrate
from zcdp.accounting.calibration import _distance_of_delta, _narrow
from zcdp.privacy.curve import Curve


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each delta that is asked for."""
    found: list[object] = []
    true = Curve.delta_at
    monkeypatch.setattr(Curve, "delta_at", lambda self, **point: found.append(self) or true(self, **point))
    return found


@pytest.mark.parametrize(
    ("build", "epsilon", "delta", "most"),
    [
        (lambda e: 5 * Laplace(epsilon=e), 0, "0.999999", 12),
        (lambda e: RAPPOR(epsilon=e) + 3 * Laplace(epsilon=0.01), 0, "0.99", 12),
        (lambda e: 100 * Laplace(epsilon=e), 1, "1e-6", 6),
        (lambda b: Gaussian(sigma=b) + 4 * Laplace(epsilon=0.1), 1, "1e-12", 6),
    ],
)
def test_few_costs_are_asked_for(
    asked: list[object], build: Callable[[float], Plan], epsilon: float, delta: str, most: int
) -> None:
    """Also where delta is next to 1, and its logarithm next to nothing."""
    found = calibrate(build, epsilon=epsilon, delta=delta)
    assert 2 <= len(asked) <= most
    rising = build(1.0).rho < build(2.0).rho
    assert build(found).delta_at(epsilon=epsilon) <= float(delta)
    near = 1e-6 if float(delta) > 0.999 else 1e-9  # Next to 1, deltas tell fewer digits.
    assert build(found * (1 + (near if rising else -near))).delta_at(epsilon=epsilon) > float(delta)


def test_a_budget_that_the_rest_exceeds_is_refused_soon(asked: list[object]) -> None:
    """What stays costs more than the budget at whatever parameter: the far end is asked before all that lie between."""
    with pytest.raises(ValueError, match="so small that no parameter fits"):
        calibrate(lambda b: Gaussian(sigma=b) + DiscreteLaplace(scale=3, sensitivity=5), epsilon=0, delta="0.03")
    assert len(asked) <= 7


def test_the_distance_of_a_delta_rises_all_the_way() -> None:
    """From the least float to the one before 1; it is 0 at the budget."""
    distance = _distance_of_delta(Fraction("0.9"))
    sizes = [-745.0, -700.0, -40.0, -30.0, -29.9, -2.0, -1.0, -0.99, log(0.9), -1e-3, -1e-9, -1e-16]
    found = [distance(size) for size in (-inf, *sizes, 0.0, 1.0)]
    assert found == sorted(found)
    assert (found[0], found[-2:]) == (-inf, [inf, inf])
    assert abs(distance(log(0.9))) < 1e-15
    for size in sizes[3:8]:
        assert distance(size) == pytest.approx(float(mpmath.log(-mpmath.log1p(-mpmath.exp(size)))) - log(log(10)))


def test_a_step_on_the_way_is_not_the_end() -> None:
    """A cost that is flat for long, and falls within the budget far out: it is found."""

    def build(b: float) -> Plan:
        return Plan.sum_of(Laplace(scale=b)) if b > 1e6 else 2 * Laplace(epsilon=50 + 1e-3 / b)

    assert calibrate(build, epsilon=1, delta="1e-3") >= 1e6


def test_a_cost_that_jumps_is_bisected() -> None:
    for below, above in ((-1e-12, 1e-12), (-1.0, inf), (-inf, inf), (-inf, 1.0)):
        found = _narrow(lambda x, below=below, above=above: below if x <= 2 else above, 1.0, 3.0, 2.0**-42)
        assert 2 * (1 - 1e-12) <= found <= 2


@pytest.mark.parametrize(
    ("build", "epsilon"),
    [(lambda b: 3 * Gaussian(sigma=b), 1), (lambda b: Gaussian(sigma=b) + Laplace(epsilon="0.1"), 7)],
)
def test_tiny_budgets_are_used_to_the_last_float(
    asked: list[object], build: Callable[[float], Plan], epsilon: float
) -> None:
    """Floats tell 20 from 21 times 2^-1074: what costs 20 of them is at the edge of 20.2, wherever it is."""
    found = calibrate(build, epsilon=epsilon, delta="1e-322")
    assert len(asked) < 40
    assert build(found).delta_at(epsilon=epsilon) == 20 * 2.0**-1074


def test_an_edge_far_from_the_first_guess_is_found() -> None:
    """Narrow noise, for which epsilon is 10^4: delta is that of the analytic Gaussian mechanism, by mpmath."""
    sigma = calibrate(lambda b: Gaussian(sigma=b), epsilon="1e4", delta="1e-6")
    with mpmath.workdps(60):
        a, b = 1 / (2 * mpmath.mpf(sigma)), 10**4 * mpmath.mpf(sigma)
        delta = mpmath.ncdf(a - b) - mpmath.exp(10**4) * mpmath.ncdf(-a - b)
        assert 1e-6 * (1 - 1e-9) < delta <= mpmath.mpf("1e-6")
