"""Figure: standard error of each local randomizer at one total budget, over the number of values and over rounds."""

from __future__ import annotations

from fractions import Fraction
from math import exp, sqrt
from typing import TYPE_CHECKING

from zcdp.collection.collection_budget import Budget
from zcdp.collection.families import FAMILIES, tune
from zcdp.mechanisms import OptimizedUnaryEncoding, RandomizedResponse
from zcdp.plots.style import BLACK, BLUE, GREEN, ORANGE, PINK, RED, label_ends, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


NAMES = ("k-RR", "subsets", "unary", "hashing", "Hadamard")
COLOURS = (BLUE, GREEN, RED, PINK, ORANGE)
CLIENTS, ROUNDS, K = 10**6, 30, 256
KS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
ANSWERED = (1, 2, 3, 5, 8, 12, 20, 30)


def draw() -> Figure:
    """Left: all 30 rounds are answered; right: some of them, at k = 256. The total budget is (8, 1e-6)-DP."""
    budget = Budget.of(rho=None, epsilon=8, delta="1e-6")
    figure, first, second = panels(0.92)
    for kind, name, colour in zip(FAMILIES, NAMES, COLOURS, strict=True):
        errors = [1000 * sqrt(tune(kind(k), budget, ROUNDS, 1 / k).variance / CLIENTS) for k in KS]
        first.plot(KS, errors, color=colour, label=name)
        few = [1000 * _error(tune(kind(K), budget, answered, 1 / K).variance, answered) for answered in ANSWERED]
        second.plot(ANSWERED, few, color=colour, label=name)
    first.plot(KS, [1000 * _textbook(k) for k in KS], color=BLACK, linewidth=0.9, label="textbook")
    second.plot(ANSWERED, [1000 * _textbook(K)] * len(ANSWERED), color=BLACK, linewidth=0.9, label="textbook")
    first.set(xscale="log", xlim=(KS[0], KS[-1]), ylim=(3.5, 8), xlabel="k", ylabel="standard error, in thousandths")
    first.set_title("All of 30 rounds answered")
    second.set(xscale="log", yscale="log", xlim=(1, ROUNDS), ylim=(0.3, 10), xlabel="rounds answered, of 30")
    second.set_yticks([0.3, 0.5, 1, 2, 4, 8], ["0.3", "0.5", "1", "2", "4", "8"])
    second.set_xticks([1, 2, 3, 5, 10, 20, 30], ["1", "2", "3", "5", "10", "20", "30"])
    second.minorticks_off()
    second.set_title("k = 256: fewer rounds, less error")
    label_ends(first)
    label_ends(second)
    return figure


def _error(variance: float, answered: int) -> float:
    """Standard error if a client answers only some of the rounds: docs/theorems/estimator.md, part 7."""
    share, f = ROUNDS / answered, 1 / K
    return sqrt((share * variance + (share - 1) * f * (1 - f)) / CLIENTS)


def _textbook(k: int) -> float:
    """Standard error of the textbook design: epsilon split evenly over the rounds, and optimized unary encoding.

    For few values it is randomized response.
    """
    share = Fraction(8, ROUNDS)
    few = k < 3 * exp(share) + 2
    usual = RandomizedResponse(epsilon=share, k=k) if few else OptimizedUnaryEncoding(epsilon=share)
    return usual.standard_error(clients=CLIENTS, frequency=Fraction(1, k))
