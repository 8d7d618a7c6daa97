"""Figure: the standard deviation of each kind of noise that a budget of rho allows, for a query of sensitivity 1."""

from __future__ import annotations

from math import exp, expm1, sqrt
from typing import TYPE_CHECKING

from zcdp.mechanisms import Gaussian, Laplace, Logistic, Staircase
from zcdp.plots.style import BLUE, GREEN, ORANGE, RED, label_ends, panels, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["deviations", "draw", "staircase_deviation"]


RHOS = points(1e-3, 10, 41)
COLOURS = {"Laplace": BLUE, "staircase": ORANGE, "logistic": GREEN, "Gaussian": RED}


def staircase_deviation(epsilon: float) -> float:
    """Standard deviation of l1-optimal staircase noise at sensitivity 1.

    |X| is G + gamma U or G + gamma + (1 - gamma) U, with G geometric of ratio b = e^-epsilon and U uniform, in
    proportions gamma to (1 - gamma) b (Geng and Viswanath 2014, Algorithm 1).
    """
    b, gamma = exp(-epsilon), 1 / (1 + exp(epsilon / 2))
    mean, square = b / -expm1(-epsilon), b * (1 + b) / expm1(-epsilon) ** 2
    near = square + gamma * mean + gamma**2 / 3
    far = square + (1 + gamma) * mean + (1 + gamma + gamma**2) / 3
    upper, lower = gamma, (1 - gamma) * b
    return sqrt((upper * near + lower * far) / (upper + lower))


def deviations(rho: float) -> dict[str, float]:
    """Standard deviation of each kind of noise, calibrated to the least that is certified to stay within rho."""
    return {
        "Laplace": sqrt(Laplace.calibrate(rho=rho).variance),
        "staircase": staircase_deviation(Staircase.calibrate(rho=rho).pure_epsilon),
        "logistic": sqrt(Logistic.calibrate(rho=rho).variance),
        "Gaussian": float(Gaussian(rho=rho).sigma),
    }


def draw() -> Figure:
    """Left: standard deviation; right: as a multiple of the Gaussian's."""
    figure, first, second = panels(0.78)
    found = [deviations(rho) for rho in RHOS]
    for label, colour in COLOURS.items():
        noise = [one[label] for one in found]
        ratios = [one[label] / one["Gaussian"] for one in found]
        first.plot(RHOS, noise, color=colour, label=label)
        second.plot(RHOS, ratios, color=colour, label=label)
    first.set(xscale="log", yscale="log", xlim=(1e-3, 10), xlabel="budget ρ", ylabel="standard deviation")
    first.set_title("Noise at sensitivity 1")
    second.set(xscale="log", xlim=(1e-3, 10), xlabel="budget ρ", ylabel="standard deviation / Gaussian's")
    second.set_title("as a multiple of Gaussian noise")
    label_ends(first)
    label_ends(second)
    return figure
