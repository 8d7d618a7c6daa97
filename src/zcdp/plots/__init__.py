"""Figures by matplotlib (the extra `plots`): for papers, `figure("krr", "krr.pdf")`, or `plot` of one's own plan."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zcdp.errors import BadValue, MissingExtra

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

    from zcdp.numeric.exact import Value
    from zcdp.privacy.curve import Curve

__all__ = ["ABOUT", "NAMES", "build", "figure", "plot"]

ABOUT = {
    "mechanisms": "Figure 1 of the paper: tight rho of every mechanism of its table, against epsilon",
    "krr": "ours: k-randomized response beyond the paper's k = 6",
    "composition": "ours: epsilon of a composition by each route",
    "noise": "ours: the noise that each accounting needs for one budget",
    "sgd": "ours: training by noisy gradients",
    "designs": "ours: which local mechanism serves a collection best",
}
"""What each figure shows; the first is the paper's."""
NAMES = tuple(ABOUT)
FORMATS = {  # metadata by file ending; without dates, so that the same figure gives the same bytes
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
    ".png": {},
}


def figure(name: str, out: str | PathLike[str]) -> list[Path]:
    """Draw one figure, or `all` of them as out-<name>, in the format of the suffix of `out`; returns the files.

    >>> figure("krr", "krr.gif")
    Traceback (most recent call last):
    ...
    zcdp.errors.BadValue: out (krr.gif) must end in .pdf, .svg or .png
    """
    path = Path(out)
    if path.suffix.lower() not in FORMATS:
        raise BadValue(f"out ({out}) must end in .pdf, .svg or .png")
    if name != "all":
        _known(name)
    names = NAMES if name == "all" else (name,)
    paths = [path.with_stem(f"{path.stem}-{one}") if name == "all" else path for one in names]
    drawn = [_saved(build(one), path.suffix.lower()) for one in names]  # draw all of them before the first is written
    for target, content in zip(paths, drawn, strict=True):
        _write(target, content)
    return paths


def build(name: str) -> Figure:
    """The figure as a matplotlib `Figure`, which can be changed further."""
    _known(name)
    return _styled(lambda: import_module(f"zcdp.plots.{name}_figure").draw())


def plot(plan: Curve, kind: str = "curve", *, delta: Value = "1e-6", uses: Value = 100) -> Figure:
    """A figure of a mechanism or a plan: its (epsilon, delta) `curve`, its privacy `loss`, or its `composition`.

    The composition is epsilon at delta of 1 to so many `uses`. The values are certified, the lines only join them.

    >>> from zcdp import Laplace
    >>> plot(100 * Laplace(epsilon="0.1"), "curve").axes[0].get_ylabel()
    'δ'
    """

    def draw() -> Any:
        return import_module("zcdp.plots.plan_plot").draw(plan, kind, delta=delta, uses=uses)

    return _styled(draw)


def _styled(draw: Callable[[], Any]) -> Figure:
    """What `draw` returns, drawn in the style of all figures."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtra("figures need matplotlib", extra="plots", name="matplotlib") from None
    from zcdp.plots.style import STYLE

    with matplotlib.rc_context(STYLE):
        drawn: Figure = draw()
    return drawn


def _write(target: Path, content: bytes) -> None:
    """Write the file whole or not at all: to a temporary name, then renamed."""
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_bytes(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _known(name: str) -> None:
    if name not in NAMES:
        raise BadValue(f"figure ({name}) must be one of {', '.join(NAMES)}, or all")


def _saved(drawn: Figure, suffix: str) -> bytes:
    import matplotlib

    from zcdp.plots.style import STYLE

    content = BytesIO()
    with matplotlib.rc_context(STYLE):
        drawn.savefig(content, format=suffix[1:], metadata=FORMATS[suffix])
    return content.getvalue()
