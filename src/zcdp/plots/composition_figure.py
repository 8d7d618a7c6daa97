"""Figure: epsilon of k-randomized response against the number of compositions, by each accounting route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zcdp.accounting.baselines import SQUARE, usual_total
from zcdp.mechanisms import RandomizedResponse
from zcdp.plots.style import BLUE, GREEN, GREY, PINK, RED, label_ends, panels, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COUNTS", "draw", "routes"]


DELTA = "1e-6"
MECHANISM = RandomizedResponse(epsilon=1, k=100)
COUNTS = sorted({round(n) for n in points(1, 10_000, 34)})
ROUTES = {
    "pure": ("pure ε added up", GREY),
    "usual": ("ε²/2 by zCDP", PINK),
    "zcdp": ("exact ρ by zCDP", RED),
    "rdp": ("Rényi curve", GREEN),
    "profile": ("exact profile", BLUE),
}


def routes(count: int) -> dict[str, float]:
    """epsilon of `count` releases by each route; all are certified upper ends."""
    plan = count * MECHANISM
    usual = usual_total(plan, DELTA)[SQUARE]["epsilon"]  # exact in floats: epsilon is 1
    return {**plan.routes(delta=DELTA), "usual": usual}


def draw() -> Figure:
    """Left: epsilon by each route; right: as a multiple of epsilon by the exact profile."""
    figure, first, second = panels(1.12)
    found = [routes(count) for count in COUNTS]
    for route, (label, colour) in ROUTES.items():
        epsilons = [one[route] for one in found]
        ratios = [one[route] / one["profile"] for one in found]
        first.plot(COUNTS, epsilons, color=colour, label=label)
        second.plot(COUNTS, ratios, color=colour, label=label)
    first.set(xscale="log", yscale="log", xlim=(1, 1e4), ylim=(0.8, 2e4), xlabel="releases", ylabel="ε at δ = 10⁻⁶")
    first.set_title("100-RR with ε = 1, composed")
    second.set(xscale="log", yscale="log", xlim=(1, 1e4), ylim=(0.9, 50), xlabel="releases", ylabel="ε / exact ε")
    second.set_title("as a multiple of the exact ε")
    second.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    second.minorticks_off()
    label_ends(first)
    label_ends(second)
    return figure
