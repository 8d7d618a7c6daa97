"""Style of all figures: colours that colour-blind readers can tell apart, two panels, labels at the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLACK", "BLUE", "GREEN", "GREY", "ORANGE", "PINK", "RED", "STYLE", "label_ends", "panels", "points"]

# The palette of Okabe and Ito 2008 without yellow and sky blue, which are too light for lines on paper.
BLACK, ORANGE, GREEN, BLUE, RED, PINK = ["#000000", "#E69F00", "#009E73", "#0072B2", "#D55E00", "#CC79A7"]
GREY = "#777777"

STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that figures look the same everywhere
    "font.size": 8,
    "axes.labelsize": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "pdf.fonttype": 42,  # embed TrueType fonts, as journals require
    "savefig.dpi": 300,
    "svg.hashsalt": "zcdp",
}


def panels(room: float) -> tuple[Figure, Axes, Axes]:
    """A figure as wide as a page of text, with two panels and `room` inches for labels to the right of each."""
    from matplotlib.figure import Figure

    width, height, margin, below, above = 7.2, 2.9, 0.64, 0.45, 0.3
    figure = Figure(figsize=(width, height))
    size = width / 2 - margin - room
    first, second = (
        figure.add_axes(((left + margin) / width, below / height, size / width, (height - below - above) / height))
        for left in (0, width / 2)
    )
    return figure, first, second


def points(low: float, high: float, count: int) -> list[float]:
    """`count` numbers from low to high with equal ratios."""
    return [low * (high / low) ** (n / (count - 1)) for n in range(count)]


LABEL_GAP = 10.5  # between the labels of two lines, in points


def label_ends(axes: Axes, lines: Sequence[Any] | None = None) -> None:
    """Write the label of each line (all, if not given) beside its end. The axes' limits must be final."""
    scale = 72 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    by_height = sorted(axes.get_lines() if lines is None else lines, key=lambda line: line.get_ydata()[-1])
    wanted = [float(axes.transData.transform(line.get_xydata()[-1])[1]) * scale for line in by_height]
    placed = list(wanted)
    for _ in range(500):
        for n in range(len(placed) - 1):
            lack = LABEL_GAP - (placed[n + 1] - placed[n])
            if lack > 0:
                placed[n] -= lack / 2
                placed[n + 1] += lack / 2
    for line, old, new in zip(by_height, wanted, placed, strict=True):
        colour = line.get_color()
        axes.annotate(
            line.get_label(),
            line.get_xydata()[-1].tolist(),
            xytext=(11, new - old),
            textcoords="offset points",
            va="center",
            color=colour,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "lw": 0.5,
                "color": colour,
                "shrinkA": 0,
                "shrinkB": 1.5,
                "relpos": (0, 0.5),
            },
        )
