"""Figure: rho of k-randomized response over k, exact, beside the paper's bounds and its boundary k*(epsilon)."""

from __future__ import annotations

from math import exp, expm1, log, sqrt
from typing import TYPE_CHECKING

from zcdp.mechanisms import RandomizedResponse
from zcdp.plots.style import BLACK, BLUE, GREEN, GREY, PINK, RED, label_ends, panels, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "k_star", "papers_bound"]


EPSILONS = ((0.25, BLUE), (0.5, GREEN), (1.0, RED), (2.0, PINK), (4.0, BLACK))
KS = sorted({round(k) for k in points(2, 1e6, 80)})


def k_star(epsilon: float) -> float:
    """The k up to which rho is attained at order 1; beyond it the order is larger (the paper's lem:non-opt-rr)."""
    growth = expm1(epsilon)
    return 2 * growth * (growth - epsilon) / (epsilon * (growth + 2) - 2 * growth)


def papers_bound(epsilon: float, k: int) -> float:
    """The smaller of the paper's cor:krr-general and thm:rr-loose-large-k, as printed.

    It is computed in floats, not certified, and false at very small epsilon.
    """
    root = sqrt(k - 1 + exp(epsilon))
    general = epsilon * expm1(epsilon) / (expm1(epsilon) + min(k, 6))
    return min(general, epsilon**2 * max(1 / log(root / epsilon), 1 / root))


def draw() -> Figure:
    """Left: rho and the paper's bound; right: the paper's bound as a multiple of rho."""
    figure, first, second = panels(0.74)
    exact = []
    for epsilon, colour in EPSILONS:
        label = f"ε = {epsilon:g}"
        rhos = [RandomizedResponse(epsilon=epsilon, k=k).rho for k in KS]
        bounds = [papers_bound(epsilon, k) for k in KS]
        ratios = [bound / rho for bound, rho in zip(bounds, rhos, strict=True)]
        first.plot(KS, bounds, color=colour, linewidth=0.8, linestyle=(0, (4, 2)), label=f"{label}, paper")
        exact += first.plot(KS, rhos, color=colour, label=label)
        second.plot(KS, ratios, color=colour, label=label)
    border = points(0.1, 6, 60)
    edge = [epsilon * expm1(epsilon) / (expm1(epsilon) + k_star(epsilon)) for epsilon in border]
    first.plot([k_star(epsilon) for epsilon in border], edge, color=GREY, linewidth=1, label="k*")
    first.set(xscale="log", yscale="log", xlim=(2, 1e6), ylim=(6e-4, 6), xlabel="k", ylabel="ρ")
    first.set_title("k-RR: exact (solid), paper's bound (dashed)")
    first.annotate("k*(ε)", (k_star(0.1), edge[0]), xytext=(4, -1), textcoords="offset points", color=GREY, va="center")
    second.set(xscale="log", xlim=(2, 1e6), ylim=(0.8, None), xlabel="k", ylabel="paper's bound / exact ρ")
    second.set_title("How much the paper's bound overcharges")
    label_ends(first, exact)
    label_ends(second)
    return figure
