"""Every number in docs/errata.md, and the paper's formulas against ours."""

from __future__ import annotations

from math import cosh, exp, log, sinh, sqrt

import pytest
import sympy

from zcdp import RandomizedResponse


def k_star(epsilon: float) -> float:
    """The paper's threshold, from its lemma lem:non-opt-rr."""
    e = exp(epsilon)
    return 2 * (e - 1) * (e - 1 - epsilon) / (epsilon * (e + 1) - 2 * e + 2)


def test_the_loose_bound_is_below_the_truth_at_tiny_epsilon() -> None:
    k, epsilon = 1000, 1e-12
    root = sqrt(k - 1 + exp(epsilon))
    printed = epsilon**2 * max(1 / log(root / epsilon), 1 / root)
    truth = RandomizedResponse(epsilon=epsilon, k=k).rho_bounds[0]
    assert printed / truth == pytest.approx(0.889, abs=5e-4)
    assert epsilon * root < 1  # where the proof's logarithm is negative, and only its second term is left
    assert epsilon**2 / root / truth == pytest.approx(0.874, abs=5e-4)


def test_the_gap_in_the_discrete_laplace_proof() -> None:
    def x(alpha: float, a: float) -> float:
        top = (2 * alpha - 1) * (exp(2 * a * alpha) - exp(2 * a))
        return 1 - top / ((alpha - 1) * (exp(4 * a * alpha) - exp(2 * a)))

    for a in (0.1, 1.0, 3.0):
        values = [x(alpha, a) for alpha in (1.1, 1.5, 2, 3, 5)]
        assert values == sorted(values)  # increasing, where the proof asks for decreasing
        shares = [x(alpha, a) / alpha for alpha in (1.1, 1.5, 2, 3, 5)]
        assert shares == sorted(shares, reverse=True)  # what would be enough, and is true


def test_k_star_tends_to_six_at_zero_not_at_one() -> None:
    assert k_star(1e-3) == pytest.approx(6, abs=0.01)
    assert k_star(1) == pytest.approx(8.762, abs=0.001)


def test_the_threshold_of_the_theorem_is_the_papers() -> None:
    epsilon = sympy.symbols("epsilon", positive=True)
    x, e = epsilon / 2, sympy.exp(epsilon)
    ratio = (sympy.sinh(x) * sympy.cosh(x) - x) / (x * sympy.cosh(x) - sympy.sinh(x))
    ours = 2 + 2 * sympy.exp(x) * ratio
    papers = 2 * (e - 1) * (e - 1 - epsilon) / (epsilon * (e + 1) - 2 * e + 2)
    assert sympy.simplify((ours - papers).rewrite(sympy.exp)) == 0


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 2, 5, 9, 20])
def test_the_order_leaves_one_exactly_beyond_the_threshold(epsilon: float) -> None:
    k = int(k_star(epsilon))
    assert RandomizedResponse(epsilon=epsilon, k=k).rho_order == 1
    assert RandomizedResponse(epsilon=epsilon, k=k + 1).rho_order > 1


def test_the_derivative_in_the_shift_has_a_negative_term() -> None:
    # third term of f' in lem:dlap-rdp, as it should be; with the first it is negative near d = 0
    a, alpha, d = 1.0, 1.05, 0.01
    first = -a * alpha * exp(-a * alpha * d) / (exp(a) - 1)
    third = a * (alpha - 1) * exp(a * (alpha - 1) * d) / (exp(a) - 1)
    assert first + third < 0
    y, t = alpha - 0.5, a
    assert y * cosh(t * y) / sinh(t * y) >= cosh(t / 2) / sinh(t / 2) / 2  # the repair
