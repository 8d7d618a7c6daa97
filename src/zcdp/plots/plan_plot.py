"""Figures of one's own plan: its (epsilon, delta) curve, its privacy loss, and epsilon over many uses of it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import Value, integer, probability
from zcdp.plots.style import BLUE, GREY, RED
from zcdp.privacy.convert import zcdp_to_epsilon
from zcdp.privacy.curve import Curve, Plan
from zcdp.report.loss_cells import cells_of_loss, points_of_profile
from zcdp.text.suggestions import thing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["KINDS", "draw"]


def draw(plan: Curve, kind: str = "curve", *, delta: Value = "1e-6", uses: Value = 100) -> Figure:
    """The figure of one kind; `uses` is how often the plan is used at most, for the composition."""
    if not isinstance(plan, Curve):
        raise BadType(f"plan ({thing(plan)}) must be a mechanism or a plan")
    if kind not in KINDS:
        raise BadValue(f"kind ({kind!r}) must be one of {', '.join(KINDS)}")
    at, most = probability(delta, "delta"), integer(uses, "uses", 1)
    from matplotlib.figure import Figure

    made = Figure(figsize=(4.4, 3.2), layout="constrained")
    KINDS[kind](made.add_subplot(), Plan.sum_of(plan), at, most)
    return made


def _curve(ax: Axes, plan: Plan, delta: Fraction, _: int) -> None:
    points = [(x, y) for x, y in points_of_profile(plan, plan.epsilon_at(delta=delta / 1000), 40) if y > 0]
    ax.semilogy(*zip(*points, strict=True), color=BLUE, marker=".", markersize=3)
    epsilon = plan.epsilon_at(delta=delta)
    ax.plot([epsilon], [float(delta)], "o", color=RED, markerfacecolor="none")
    ax.annotate(f"ε = {epsilon:.4g}", (epsilon, float(delta)), textcoords="offset points", xytext=(-6, -14), ha="right")
    ax.set(xlabel="ε", ylabel="δ")


def _loss(ax: Axes, plan: Plan, delta: Fraction, _: int) -> None:
    last = min(plan.epsilon_at(delta=delta), plan.pure_epsilon)
    cells = cells_of_loss(plan, last)
    if not cells:
        raise BadValue("plan has no loss to draw: it costs nothing")
    ax.stairs([mass for _, _, mass in cells], [cells[0][0], *(end for _, end, _ in cells)], color=BLUE, fill=True)
    ax.set(xlabel="privacy loss", ylabel="probability of a cell")


def _composition(ax: Axes, plan: Plan, delta: Fraction, uses: int) -> None:
    counts = sorted({1, uses, *(max(1, round(uses ** (n / 11))) for n in range(12))})
    wholes = [Plan.repeated(plan, count) for count in counts]
    one = plan.epsilon_at(delta=delta)
    ax.loglog(counts, [count * one for count in counts], ":", color=GREY, label="ε added up")
    by_rho = [zcdp_to_epsilon(whole.rho, delta) if 0 < whole.rho < inf else whole.rho for whole in wholes]
    ax.loglog(counts, by_rho, color=RED, label="ρ alone")
    ax.loglog(
        counts, [whole.epsilon_at(delta=delta) for whole in wholes], color=BLUE, marker=".", label="exact profile"
    )
    ax.set(xlabel="uses", ylabel=f"ε at δ = {float(delta):g}")
    ax.legend()


KINDS: dict[str, Callable[[Axes, Plan, Fraction, int], None]] = {
    "curve": _curve,
    "loss": _loss,
    "composition": _composition,
}
