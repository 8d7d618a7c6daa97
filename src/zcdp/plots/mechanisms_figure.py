"""The paper's figure: the tight rho of each of its mechanisms against epsilon, and as a share of epsilon^2/2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zcdp.paper import ROWS
from zcdp.plots.style import BLACK, BLUE, GREEN, ORANGE, PINK, RED, label_ends, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


LABELS = ("any ε-DP", "Laplace", "discrete Laplace", "4-RR", "RAPPOR", "bounded range")
COLOURS = (BLACK, BLUE, ORANGE, GREEN, PINK, RED)
EPSILONS = [n / 10 for n in range(1, 61)]


def draw() -> Figure:
    """Left: rho; right: rho as a share of epsilon^2/2; one line for each mechanism."""
    figure, first, second = panels(1.14)
    for row, label, colour in zip(ROWS, LABELS, COLOURS, strict=True):
        rhos = [row.at(epsilon).rho for epsilon in EPSILONS]
        ratios = [rho / (epsilon**2 / 2) for rho, epsilon in zip(rhos, EPSILONS, strict=True)]
        first.plot([0, *EPSILONS], [0, *rhos], color=colour, label=label)
        second.plot(EPSILONS, ratios, color=colour, label=label)
    first.set(xlim=(0, 6), ylim=(0, 7), xlabel="ε", ylabel="tight ρ", title="Tight zCDP (discrete: Δ = 5)")
    second.set(xlim=(0, 6), ylim=(0, 1.04), xlabel="ε", ylabel="ρ / (ε²/2)", title="as a share of ε²/2")
    label_ends(first)
    label_ends(second)
    return figure
