"""The area Train: epsilon over epochs and noise over targets of DP-SGD, and what other accountants would say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, log10
from typing import Any

from zcdp.explore.frame import certified, listed_commands
from zcdp.explore.pictures import Line, chart, figure
from zcdp.numeric.balls import NotCertified
from zcdp.report.charts import bars, escape
from zcdp.text.numbers import at_most, exactly, tagged
from zcdp.training import Allocation, Batches, FixedSize, Poisson, Training

__all__ = ["DRAWN", "Run", "area", "pictures"]

DRAWN = {
    "poisson": "each example with a fixed probability (Poisson)",
    "fixed": "batches of one size, without replacement",
    "allocation": "each example once an epoch, in a random batch",
}
EPSILON, DELTA = "\u03b5", "\u03b4"
TARGETS = (0.5, 1, 2, 4, 8)
EXACT = 1e-6
"""A relative gap of both ends up to which epsilon is exact, as it is shown."""
NAMES = {
    "profile": "privacy profile",
    "rdp": "R\u00e9nyi (RDP) curve",
    "zcdp": "\u03c1 alone, blind to sampling",
    "pure": "largest loss",
}
LEAST_NOISE, MOST_NOISE = 0.01, 1e6
HASTE = 1_000
"""By how much the first number of a run that takes long divides the work: it is certified, and some percent above."""


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

    @property
    def slow(self) -> bool:
        """Whether each number of the run takes seconds, so that a first one comes in haste and pictures have less."""
        return self.drawn == "allocation"

    def training(self, noise: Fraction, epochs: Fraction | float | None = None) -> Training:
        """The training of this run with that noise, after so many epochs, or all."""
        steps = self.steps(self.epochs if epochs is None else epochs)
        return Training(noise_multiplier=noise, steps=steps, sampling=self.sampling)

    def quick(self, found: Training) -> float:
        """A certified epsilon in haste."""
        return min(found._routes_in_haste(self.delta, HASTE).values(), default=inf)

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
        '<ul id="commands" class="drawn"></ul></section>\n'
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
    """The events of one run, of what was `given`: the answer first, then the pictures.

    Of a run that is slow a first answer is certified in haste, and the pictures are; the last answer comes after them.
    """
    if run.target is not None:
        found = _in_haste(run, run.target, progress) if run.slow else _within(run, run.target, progress)
    else:
        assert run.noise is not None
        found = run.training(run.noise)
    if run.slow:
        first, known = run.quick(found), dict[float, dict[str, float]]()
        yield _answer(run, given, found, 0.0, first, follows=True)
        yield {"html": {"peers-figure": "", "epochs-figure": _epochs(run, found, first, progress, known=known)}}
        yield {"html": {"sigma-figure": _targets(run, found, first, progress)}}
        progress(0.8, "computing the last digits")
        low, epsilon = found.epsilon_bounds(delta=run.delta)
        yield _answer(run, given, found, low, min(epsilon, first))
        last = min(epsilon, first)  # and the picture says the same as the number above it
        yield {"html": {"epochs-figure": _epochs(run, found, last, progress, known=known)}}
        yield {"html": {"peers-figure": _peers(run, found, low, last)}}
        return
    low, epsilon = found.epsilon_bounds(delta=run.delta)
    yield _answer(run, given, found, low, epsilon)
    progress(0.3, "comparing accountants")
    yield {"html": {"peers-figure": _peers(run, found, low, epsilon)}}
    yield {"html": {"epochs-figure": _epochs(run, found, epsilon, progress, exact=_is_exact(low, epsilon))}}
    yield {"html": {"sigma-figure": _targets(run, found, epsilon, progress)}}


def _answer(
    run: Run, given: Mapping[str, str], found: Training, low: float, epsilon: float, *, follows: bool = False
) -> dict[str, Any]:
    """The numbers of the run; of a first answer also that a sharper one follows."""
    # the noise that meets a target stands in its field too, so that both say the same
    values = {} if run.target is None else {"sigma": f"{float(found.noise_multiplier):.6g}"}
    facts = {
        "facts": _facts(run, found, low, epsilon, follows=follows),
        "commands": elsewhere(given, run, found),
    }
    return {"html": facts, "values": values, "said": f"epsilon {at_most(epsilon, 4)}"}


def _is_exact(low: float, epsilon: float) -> bool:
    return epsilon <= low * (1 + EXACT)


def _in_haste(run: Run, target: Fraction, progress: Callable[[float, str], None]) -> Training:
    """A training of nearly the least noise, to three digits, whose epsilon in haste is at most the target."""
    tries = 0

    def enough(noise: float) -> bool:
        nonlocal tries
        tries += 1
        progress(min(0.04 * tries, 0.6), f"trying noise {float(_three_digits(noise)):g}")
        return run.quick(run.training(_three_digits(noise))) <= target

    high = 1.0
    while not enough(high):
        high *= 2
        if high > MOST_NOISE:
            raise NotCertified(f"no noise up to {MOST_NOISE:g} has a certified epsilon of at most {float(target):g}")
    low = high / 2
    while high == 2 * low and high <= 1 and low > LEAST_NOISE and enough(low):
        high, low = low, low / 2
    while high > 1.005 * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if enough(middle) else (middle, high)
    return run.training(_three_digits(high))


def _three_digits(noise: float) -> Fraction:
    """A number of three digits, rounded up."""
    unit = Fraction(10) ** (floor(log10(noise)) - 2)
    return ceil(Fraction(noise) / unit) * unit


def _within(run: Run, target: Fraction, progress: Callable[[float, str], None]) -> Training:
    """The training with the least noise of six digits whose certified epsilon is at most the target.

    Calibration certifies delta at the target; epsilon at that delta is a search of its own, which may end a little
    above. So noise is rounded up to the digits that are shown, and further, until the number beside it is within too.
    """
    progress(0.1, "calibrating")
    steps = run.steps(run.epochs)
    least = Training.calibrate(epsilon=target, delta=run.delta, steps=steps, sampling=run.sampling).noise_multiplier
    unit = Fraction(10) ** (floor(log10(least)) - 5)
    for more in (0, 1, 10, 100, 1000):
        found = run.training((ceil(least / unit) + more) * unit)
        if found.epsilon_bounds(delta=run.delta)[1] <= target:
            return found
    raise NotCertified(f"no noise near {float(least):.6g} has a certified epsilon of at most {float(target):g}")


def _facts(run: Run, found: Training, low: float, epsilon: float, *, follows: bool = False) -> str:
    noise = float(found.noise_multiplier)
    sure = "certified: never below the truth; a sharper number follows\u2026" if follows else certified(low, epsilon)
    of_noise = "standard deviation on the sum, in clipping norms"
    if run.target is not None and run.slow:
        of_noise += "; enough for the target, and the least may be some percent less"
    facts = (
        (f"\u03b5 at \u03b4 = {exactly(float(run.delta))}", tagged(epsilon, at_most(epsilon)), sure),
        ("Noise multiplier \u03c3", tagged(noise, at_most(noise)), of_noise),
        ("Steps", f"{found.steps:,}", f"{exactly(float(run.epochs))} epochs"),
    )
    cards = "".join(
        f'<div class="fact"><dt>{label}</dt><dd>{value}<small>{note}</small></dd></div>' for label, value, note in facts
    )
    assumed = "".join(f"<li>{escape(one)}</li>" for one in found.assumed)
    return f'<dl class="facts">{cards}</dl><ul class="rules">{assumed}</ul>'


def _peers(run: Run, found: Training, low: float, epsilon: float) -> str:
    """What each way of accounting says; the least is the one that is used, whichever it is."""
    routes = {name: value for name, value in found.routes(delta=run.delta).items() if value < inf}
    used, exact = min(routes, key=lambda name: routes[name]), _is_exact(low, epsilon)

    def named(name: str) -> str:
        sort = "" if name != "profile" else ", exact" if exact else ", an upper bound"
        return NAMES[name] + sort + (" (used here)" if name == used else "")

    items = sorted((value, named(name), at_most(value), name == used) for name, value in routes.items())
    shown = [(label, value, words, mine) for value, label, words, mine in items if value <= 40 * epsilon]
    drawn = bars(
        shown,
        name="peers-chart",
        title="epsilon by accountant",
        text="; ".join(f"{label}: epsilon {value}" for label, _, value, _ in shown),
    )
    rest = "".join(f" {label}, would say {words}." for value, label, words, _ in items if value > 40 * epsilon)
    all_orders = "so an accountant that tries some orders, as the default ones of training libraries do, says "
    words = f"All are valid, and the least is the sharpest. The R\u00e9nyi number is over all orders, {all_orders}"
    words += "that much or more."
    if used == "profile" and exact:
        words += " One that puts the privacy loss on a grid (PLD, PRV) comes near the exact number, and nearer with a "
        words += "finer grid."
    elif used != "profile" and "profile" in routes:
        words += " The profile is that of a law which is proven to lie above the true one, and here says more."
    return figure("peers-figure", "The same training by each accountant", drawn, words + rest, "rdp-to-approx")


def _epochs(
    run: Run,
    found: Training,
    epsilon: float,
    progress: Callable[[float, str], None],
    *,
    exact: bool = False,
    known: dict[float, dict[str, float]] | None = None,
) -> str:
    """The picture over epochs; `known` keeps what is computed, for the same picture with another last number."""
    known = {} if known is None else known
    most = float(run.epochs)
    counts = sorted({most * n / 8 for n in range(1, 9)} | {min(1.0, most)})
    if run.slow:  # whole epochs, and few of them
        counts = sorted({1.0, *(float(ceil(most * n / 3)) for n in (1, 2, 3))})
    sharp, renyi = [], []
    for n, epochs in enumerate(counts):
        progress((0.6 if run.slow else 0.4) + (0.1 if run.slow else 0.3) * n / len(counts), "counting epochs")
        part = run.training(found.noise_multiplier, epochs)
        if epochs not in known:
            known[epochs] = part._routes_in_haste(run.delta, HASTE) if run.slow else part.routes(delta=run.delta)
        routes = known[epochs]
        sharp.append((epochs, epsilon if part.steps == found.steps else min(routes.values())))
        renyi.append((epochs, routes.get("rdp", inf)))
    top = max(value for _, value in sharp)
    kept = [(x, y) for (x, y), (_, least) in zip(renyi, sharp, strict=True) if 1.001 * least < y <= 4 * top]
    last = sharp[-1]
    drawn = chart(
        [
            *([Line(kept, "other", "R\u00e9nyi")] if len(kept) > 1 else []),
            Line(sharp, "line", "exact" if exact else "certified", dots=True),
        ],
        name="epochs-chart",
        title="epsilon over epochs",
        text="; ".join(f"{x:g} epochs: epsilon {at_most(y)}" for x, y in sharp),
        across="epochs",
        up="\u03b5",
        mark=(last, f"\u03b5 = {at_most(last[1])}"),
    )
    words = "What has been spent after so many epochs, at this noise: each further one adds less than the one before."
    if run.slow:
        words += f" {ROUGH}"
    return figure("epochs-figure", "\u03b5 over epochs", drawn, words, "training")


ROUGH = "Computed in haste: certified, and up to some percent above the least."


def _targets(run: Run, found: Training, epsilon: float, progress: Callable[[float, str], None]) -> str:
    noise = float(found.noise_multiplier)
    points = [(epsilon, noise)]
    if run.slow:
        for n, times in enumerate((0.7, 1.5, 2.5)):
            progress(0.7 + 0.03 * n, f"trying noise {times * noise:.3g}")
            one = run.training(_three_digits(times * noise))
            points.append((run.quick(one), float(one.noise_multiplier)))
    else:
        for n, target in enumerate(TARGETS):
            progress(0.7 + 0.3 * n / len(TARGETS), f"calibrating to epsilon {target:g}")
            steps = run.steps(run.epochs)
            try:
                one = Training.calibrate(epsilon=str(target), delta=run.delta, steps=steps, sampling=run.sampling)
            except (NotCertified, ValueError):
                continue
            points.append((float(target), float(one.noise_multiplier)))
        if not TARGETS[0] / 4 < epsilon < TARGETS[-1] * 4:  # too far off to be in the picture
            points = points[1:]
    points = sorted(point for point in points if point[0] < inf)
    drawn = chart(
        [Line(points, "line", dots=True)],
        name="sigma-chart",
        title="noise over target epsilon",
        text="; ".join(f"epsilon {x:.6g}: sigma {y:.6g}" for x, y in points),
        across="target \u03b5",
        up="\u03c3",
        log_x=True,
        log_y=True,
        mark=((epsilon, noise), "this run") if (epsilon, noise) in points else None,
    )
    words = "The least noise that is certified to stay within each target, for the same examples, batches and epochs."
    if run.slow:
        words = f"Noise that stays within each target, for the same examples, batches and epochs. {ROUGH}"
    return figure("sigma-figure", "\u03c3 over targets", drawn, words, "calibration")
