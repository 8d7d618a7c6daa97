"""The area Train: epsilon over epochs and noise over targets of DP-SGD, and what other accountants would say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, log10
from typing import Any

from zcdp.explore.frame import listed_commands
from zcdp.explore.pictures import Line, chart, figure
from zcdp.numeric.balls import NotCertified
from zcdp.report.charts import bars, escape
from zcdp.text.numbers import at_least, at_most, exactly, tagged
from zcdp.training import Allocation, Batches, FixedSize, Poisson, Training

__all__ = ["DRAWN", "Run", "area", "pictures"]

DRAWN = {
    "poisson": "each example with a fixed probability (Poisson)",
    "fixed": "batches of one size, without replacement",
    "allocation": "each example once an epoch, in a random batch",
}
EPSILON, DELTA = "\u03b5", "\u03b4"
TARGETS = (0.5, 1, 2, 4, 8)
NAMES = {
    "profile": "exact profile (used here)",
    "rdp": "a R\u00e9nyi (RDP) accountant, at best",
    "zcdp": "\u03c1 alone, blind to sampling",
    "pure": "largest loss",
}


@dataclass(frozen=True)
class Run:
    """One training run as the page asks for it: `noise` or `target` is given, never both."""

    examples: int
    batch: int
    epochs: Fraction
    delta: Fraction
    drawn: str
    noise: Fraction | None
    target: Fraction | None

    @property
    def sampling(self) -> Batches:
        """How batches are drawn."""
        if self.drawn == "fixed":
            return FixedSize(self.batch, of=self.examples)
        if self.drawn == "allocation":
            return Allocation(ceil(Fraction(self.examples, self.batch)))
        return Poisson(Fraction(self.batch, self.examples))

    def steps(self, epochs: Fraction | float) -> int:
        """How many steps so many epochs have, at least one; of allocated batches whole epochs."""
        if self.drawn == "allocation":
            return max(1, ceil(epochs)) * ceil(Fraction(self.examples, self.batch))
        return max(1, ceil(Fraction(epochs) * Fraction(self.examples, self.batch)))


def area() -> str:
    """The form and the places of the figures."""
    ways = "".join(f'<option value="{name}">{escape(words)}</option>' for name, words in DRAWN.items())

    def field(name: str, label: str, value: str, *, wide: int = 8, more: str = "") -> str:
        return (
            f'<div class="field"><label for="{name}">{label}</label><input id="{name}" name="{name}" value="{value}" '
            f'size="{wide}" inputmode="decimal" autocomplete="off" aria-describedby="{name}-problem"{more}>'
            f'<p class="problem" id="{name}-problem" hidden></p></div>'
        )

    figures = "".join(f'<figure id="{name}" class="drawn" aria-busy="true"></figure>' for name in PLACES)
    return (
        '<h1>Train with noisy gradients</h1><form class="asked" data-ask="train" autocomplete="off">'
        '<div class="controls">'
        f"{field('examples', 'Examples', '60000')}{field('batch', 'Batch', '256', wide=6)}"
        f"{field('epochs', 'Epochs', '60', wide=6)}"
        '<div class="field"><label for="drawn">Batches are drawn</label>'
        f'<select id="drawn" name="drawn">{ways}</select></div>'
        f"{field('delta', DELTA, '1e-5', wide=7)}</div>"
        '<div class="controls"><div class="field"><label for="sigma">Noise multiplier \u03c3, in clipping norms</label>'
        '<span class="both"><input type="range" id="slide-sigma" data-slides="sigma" min="0" max="200" value="100" '
        'data-low="-0.7" data-high="1.3" data-rises="1" aria-label="Slide the noise" aria-valuetext="" '
        'data-clears="target">'
        '<input id="sigma" name="sigma" value="1.1" size="7" inputmode="decimal" data-clears="target" '
        'aria-describedby="sigma-problem"></span><p class="problem" id="sigma-problem" hidden></p></div>'
        f"{field('target', 'or a target ' + EPSILON, '', wide=7, more=' placeholder=none')}</div></form>\n"
        f'<p class="verdict bad" id="left-out" hidden></p><div id="facts"></div><div class="figures">{figures}</div>\n'
        '<section class="commands" aria-labelledby="commands-title"><h2 id="commands-title">The same elsewhere</h2>'
        '<ul id="commands"></ul></section>\n'
    )


def elsewhere(given: Mapping[str, str], run: Run, found: Training) -> str:
    """The same run on the command line, and as a query of a plan."""
    typed = {name: given.get(name, "").strip() for name in ("examples", "batch", "epochs", "delta", "sigma")}
    if run.target is not None:
        typed["sigma"] = f"{float(found.noise_multiplier):.6g}"  # that was found for it, to its last digit
    options = " ".join(f"--{name} {shlex.quote(value)}" for name, value in typed.items())
    how = {"fixed": " --fixed", "allocation": " --allocation"}.get(run.drawn, "")
    return listed_commands(
        [
            ("On the command line", f"zcdp sgd {options}{how}"),
            ("As a query of a plan", f'mechanism = "{found!r}"'),
        ]
    )


PLACES = ("epochs-figure", "peers-figure", "sigma-figure")


def pictures(run: Run, given: Mapping[str, str], progress: Callable[[float, str], None]) -> Iterator[dict[str, Any]]:
    """The events of one run, of what was `given`: the answer first, then the pictures."""
    steps = run.steps(run.epochs)
    if run.target is not None:
        progress(0.1, "calibrating")
        found, (low, epsilon) = _within(run, steps, run.target)
    else:
        assert run.noise is not None
        found = Training(noise_multiplier=run.noise, steps=steps, sampling=run.sampling)
        low, epsilon = found.epsilon_bounds(delta=run.delta)
    noise = float(found.noise_multiplier)
    # the noise that meets a target stands in its field too, so that both say the same
    values = {} if run.target is None else {"sigma": f"{noise:.6g}"}
    facts = {"facts": _facts(run, found, low, epsilon, noise), "commands": elsewhere(given, run, found)}
    yield {"html": facts, "values": values, "said": f"epsilon {at_most(epsilon, 4)}"}
    progress(0.3, "comparing accountants")
    yield {"html": {"peers-figure": _peers(run, found, epsilon)}}
    yield {"html": {"epochs-figure": _epochs(run, found, epsilon, progress)}}
    yield {"html": {"sigma-figure": _targets(run, steps, noise, epsilon, progress)}}


def _within(run: Run, steps: int, target: Fraction) -> tuple[Training, tuple[float, float]]:
    """The training with the least noise of six digits whose certified epsilon is at most the target, and its bounds.

    Calibration certifies delta at the target; epsilon at that delta is a search of its own, which may end a little
    above. So noise is rounded up to the digits that are shown, and further, until the number beside it is within too.
    """
    least = Training.calibrate(epsilon=target, delta=run.delta, steps=steps, sampling=run.sampling).noise_multiplier
    unit = Fraction(10) ** (floor(log10(least)) - 5)
    for more in (0, 1, 10, 100, 1000):
        noise = (ceil(least / unit) + more) * unit
        found = Training(noise_multiplier=noise, steps=steps, sampling=run.sampling)
        bounds = found.epsilon_bounds(delta=run.delta)
        if bounds[1] <= target:
            return found, bounds
    raise NotCertified(f"no noise near {float(least):.6g} has a certified epsilon of at most {float(target):g}")


def _facts(run: Run, found: Training, low: float, epsilon: float, noise: float) -> str:
    exact = "exact" if epsilon <= low * (1 + 1e-6) else f"the truth is at least {at_least(low)}"
    facts = (
        (f"\u03b5 at \u03b4 = {exactly(float(run.delta))}", tagged(epsilon, at_most(epsilon)), f"certified; {exact}"),
        ("Noise multiplier \u03c3", tagged(noise, at_most(noise)), "standard deviation on the sum, in clipping norms"),
        ("Steps", f"{found.steps:,}", f"{exactly(float(run.epochs))} epochs"),
    )
    cards = "".join(
        f'<div class="fact"><dt>{label}</dt><dd>{value}<small>{note}</small></dd></div>' for label, value, note in facts
    )
    assumed = "".join(f"<li>{escape(one)}</li>" for one in found.assumed)
    return f'<dl class="facts">{cards}</dl><ul class="rules">{assumed}</ul>'


def _peers(run: Run, found: Training, epsilon: float) -> str:
    routes = found.routes(delta=run.delta)
    items = [(NAMES[name], value, at_most(value), name == "profile") for name, value in routes.items() if value < inf]
    shown = sorted(item for item in items if item[1] <= 40 * epsilon)
    shown.sort(key=lambda item: item[1])
    beyond = [item for item in items if item[1] > 40 * epsilon]
    drawn = bars(
        shown,
        name="peers-chart",
        title="epsilon by accountant",
        text="; ".join(f"{label}: epsilon {value}" for label, _, value, _ in shown),
    )
    rest = "".join(f" {escape(label)}, would say {value}." for label, _, value, _ in beyond)
    words = (
        "All are valid, the least is the sharpest. The R\u00e9nyi number is computed here over all orders, so an "
        "accountant that tries some orders, as the default ones of training libraries do, says that much or more. One "
        "that puts the privacy loss on a grid (PLD, PRV) comes near the exact number, and nearer with a finer grid."
        f"{rest}"
    )
    return figure("peers-figure", "The same training by each accountant", drawn, words, "rdp-to-approx")


def _epochs(run: Run, found: Training, epsilon: float, progress: Callable[[float, str], None]) -> str:
    most = float(run.epochs)
    counts = sorted({most * n / 8 for n in range(1, 9)} | {min(1.0, most)})
    sharp, renyi = [], []
    for n, epochs in enumerate(counts):
        progress(0.4 + 0.3 * n / len(counts), "counting epochs")
        part = Training(
            noise_multiplier=found.noise_multiplier, steps=run.steps(Fraction(epochs)), sampling=run.sampling
        )
        routes = part.routes(delta=run.delta)
        sharp.append((epochs, epsilon if part.steps == found.steps else min(routes.values())))
        renyi.append((epochs, routes.get("rdp", inf)))
    top = max(value for _, value in sharp)
    kept = [(x, y) for x, y in renyi if y <= 4 * top]
    last = sharp[-1]
    drawn = chart(
        [Line(kept, "other", "R\u00e9nyi"), Line(sharp, "line", "exact", dots=True)],
        name="epochs-chart",
        title="epsilon over epochs",
        text="; ".join(f"{x:g} epochs: epsilon {at_most(y)}" for x, y in sharp),
        across="epochs",
        up="\u03b5",
        mark=(last, f"\u03b5 = {at_most(last[1])}"),
    )
    words = "What has been spent after so many epochs, at this noise: each further one adds less than the one before."
    return figure("epochs-figure", "\u03b5 over epochs", drawn, words, "training")


def _targets(run: Run, steps: int, noise: float, epsilon: float, progress: Callable[[float, str], None]) -> str:
    points = []
    for n, target in enumerate(TARGETS):
        progress(0.7 + 0.3 * n / len(TARGETS), f"calibrating to epsilon {target:g}")
        try:
            one = Training.calibrate(epsilon=str(target), delta=run.delta, steps=steps, sampling=run.sampling)
        except (NotCertified, ValueError):
            continue
        points.append((float(target), float(one.noise_multiplier)))
    drawn = chart(
        [Line(points, "line", dots=True)],
        name="sigma-chart",
        title="noise over target epsilon",
        text="; ".join(f"epsilon {x:g}: sigma {y:.6g}" for x, y in points),
        across="target \u03b5",
        up="\u03c3",
        log_x=True,
        mark=((epsilon, noise), "this run") if points and TARGETS[0] / 4 < epsilon < TARGETS[-1] * 4 else None,
    )
    words = "The least noise that is certified to stay within each target, for the same examples, batches and epochs."
    return figure("sigma-figure", "\u03c3 over targets", drawn, words, "calibration")
