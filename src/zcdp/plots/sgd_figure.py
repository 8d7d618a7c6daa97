"""Figure: epsilon of DP-SGD over the epochs, by each accounting route."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from zcdp.mechanisms import Gaussian, Subsampled
from zcdp.plots.style import BLUE, GREEN, label_ends, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EPOCHS", "draw", "routes"]


DELTA = "1e-5"
EXAMPLES, BATCH = 60_000, 256
STEP = Subsampled(Gaussian(sigma="1.1"), rate=f"{BATCH}/{EXAMPLES}")
EPOCHS = (1, 2, 4, 7, 11, 16, 23, 31, 40, 50, 60)
ROUTES = {"rdp": ("Rényi curve", GREEN), "profile": ("exact profile", BLUE)}


def routes(epochs: int) -> dict[str, float]:
    """epsilon after this many epochs by each route; all are certified upper ends."""
    return (ceil(epochs * EXAMPLES / BATCH) * STEP).routes(delta=DELTA)


def draw() -> Figure:
    """Left: epsilon by each route; right: as a multiple of epsilon by the exact profile."""
    figure, first, second = panels(1.12)
    found = [routes(epochs) for epochs in EPOCHS]
    for route, (label, colour) in ROUTES.items():
        epsilons = [one[route] for one in found]
        ratios = [one[route] / one["profile"] for one in found]
        first.plot(EPOCHS, epsilons, color=colour, label=label)
        second.plot(EPOCHS, ratios, color=colour, label=label)
    first.set(xlim=(0, 60), ylim=(0, 3), xlabel="epochs", ylabel="ε at δ = 10⁻⁵")
    first.set_title("256 of 60 000 examples, σ = 1.1")
    second.set(xlim=(0, 60), ylim=(0.9, 2.6), xlabel="epochs", ylabel="ε / exact ε")
    second.set_title("as a multiple of the exact ε")
    label_ends(first)
    label_ends(second)
    return figure
