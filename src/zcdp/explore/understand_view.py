"""The area Understand: one mechanism or plan under the glass, in six pictures, each with one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf

from zcdp.explore.edits import noise_of
from zcdp.explore.frame import certified
from zcdp.explore.output_laws import Bars, output_laws
from zcdp.explore.pictures import Line, chart, columns, figure
from zcdp.mechanisms import Mechanism
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import float_above
from zcdp.privacy.convert import zcdp_to_epsilon
from zcdp.privacy.curve import Curve, Plan
from zcdp.report.charts import escape
from zcdp.report.loss_cells import cells_of_loss, points_of_profile
from zcdp.text.names import typeset
from zcdp.text.numbers import at_most, exactly, percent, tagged

__all__ = ["PLACES", "Asked", "area", "glass", "pictures"]

EXAMPLES = (
    "Laplace(epsilon=1)",
    "Gaussian(sigma=1)",
    "DiscreteGaussian(sigma=2, sensitivity=3)",
    "RandomizedResponse(epsilon=1, k=4)",
    "RAPPOR(epsilon=1)",
    "ExponentialMechanism(epsilon=1)",
    "Subsampled(Gaussian(sigma=1), rate=0.01)",
)
THIS_PLAN = "this plan"
PLACES = ("outputs", "loss", "renyi", "profile", "tradeoff", "composition")
"""The ids of the six figures, in the order in which they are computed."""
ORDERS = (1.0, *(1 + 0.08 * 1.28**n for n in range(24)))
MOST_USES = 10**6
FARTHEST = 50_000.0
SHORT = 10.0
"""Where the profile never reaches delta, pictures end here."""


@dataclass(frozen=True)
class Asked:
    """What is looked at: a plan, the text it was written as, delta, the most uses, and a rate of false alarms."""

    plan: Plan
    text: str
    delta: Fraction
    uses: int
    rate: Fraction
    relation: str = "either"
    """Which data sets are neighbours, by the value of `Relation`."""


def _slider(name: str, low: float, high: float, *, whole: bool = False, label: str) -> str:
    """A slider of a field, over logarithms."""
    return (
        f'<input type="range" id="slide-{name}" data-slides="{name}" min="0" max="200" value="100" data-low="{low}" '
        f'data-high="{high}" data-rises="1"{" data-whole=1" if whole else ""} aria-label="{label}" aria-valuetext="">'
    )


def glass(name: str) -> str:
    """The slider and field of the parameter `name`."""
    if not name:
        return ""
    letter = typeset(name)
    return (
        f'<label for="noise">{letter}</label><span class="both">{_slider("noise", -2, 2, label=f"Slide {name}")}'
        '<input id="noise" name="noise" size="8" inputmode="decimal" autocomplete="off" '
        f'aria-describedby="noise-problem"></span><input type="hidden" name="parameter" value="{escape(name)}">'
        '<p class="problem" id="noise-problem" hidden></p>'
    )


def area(delta: str | None = None, *, planned: bool = False) -> str:
    """The form and the places of the figures; `delta` is the plan's, and it opens on the plan if it is `planned`."""
    own = "" if delta is None else f' data-delta="{escape(delta)}"'
    examples = "".join(
        f'<button type="button" class="quiet" data-example="{escape(one)}"{own if one == THIS_PLAN else ""}>'
        f"<code>{escape(one)}</code></button>"
        for one in (THIS_PLAN, *EXAMPLES)
    )
    first = THIS_PLAN if planned else EXAMPLES[0]
    noise = noise_of(first)
    at = delta if planned and delta is not None else "1e-6"
    figures = "".join(f'<figure id="{name}" class="drawn" aria-busy="true"></figure>' for name in PLACES)
    return (
        '<h1>Understand a mechanism</h1><form class="asked" data-ask="understand" autocomplete="off">'
        '<div class="controls"><div class="field wide"><label for="mechanism">Mechanism, or a plan such as '
        "100 * Laplace(epsilon=0.1)</label>"
        f'<input id="mechanism" name="mechanism" value="{escape(first)}" spellcheck="false" data-clears="noise" '
        'aria-describedby="mechanism-problem"><p class="problem" id="mechanism-problem" hidden></p></div>'
        f'<div class="field" id="glass">{glass(noise.name if noise else "")}</div>'
        '<div class="field"><label for="uses">Uses, up to</label><span class="both">'
        f"{_slider('uses', 0, 4, whole=True, label='Slide the number of uses')}"
        '<input id="uses" name="uses" value="30" size="6" inputmode="numeric" aria-describedby="uses-problem"></span>'
        '<p class="problem" id="uses-problem" hidden></p></div>'
        '<div class="field"><label for="delta">\u03b4</label><input id="delta" name="delta" '
        f'value="{escape(at)}" size="7" inputmode="decimal" aria-describedby="delta-problem">'
        '<p class="problem" id="delta-problem" hidden></p></div>'
        '<div class="field"><label for="rate">False alarms, at most</label><span class="both">'
        f"{_slider('rate', -4, -0.01, label='Slide the rate of false alarms')}"
        '<input id="rate" name="rate" value="0.05" size="6" inputmode="decimal" aria-describedby="rate-problem"></span>'
        '<p class="problem" id="rate-problem" hidden></p></div></div>'
        f'<div class="examples"><span class="soft">Look at</span>{examples}</div></form>\n'
        f'<p class="verdict bad" id="left-out" hidden></p><div id="facts"></div><div class="figures">{figures}</div>\n'
    )


def pictures(asked: Asked, progress: Callable[[float, str], None]) -> Iterator[tuple[str, str]]:
    """The pictures one after the other, each with the id of its place."""
    yield "facts", _facts(asked)
    makers = (_outputs, _renyi, _profile, _loss, _tradeoff, _composition)
    for n, make in enumerate(makers):
        progress(n / len(makers), "drawing")
        yield from make(asked, progress)


def _facts(asked: Asked) -> str:
    plan = asked.plan
    low, epsilon = plan.epsilon_bounds(delta=asked.delta)
    pure = "the largest loss: \u03b5 with \u03b4 = 0"
    facts = (
        ("\u03c1 (zCDP)", plan.rho, "the least that is true" if plan.is_tight else "a proven upper bound"),
        (f"\u03b5 at \u03b4 = {exactly(float(asked.delta))}", epsilon, certified(low, epsilon)),
        ("pure \u03b5", plan.pure_epsilon, pure if plan.pure_epsilon < inf else "no \u03b5 holds with \u03b4 = 0"),
    )
    cards = "".join(
        f'<div class="fact"><dt>{label}</dt><dd>{tagged(value, at_most(value))}<small>{note}</small></dd></div>'
        for label, value, note in facts
    )
    return f'<dl class="facts">{cards}</dl>'


def _single(plan: Plan) -> Mechanism | None:
    parts = plan.parts
    one = parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else None
    return one if isinstance(one, Mechanism) else None


def _outputs(asked: Asked, _: object) -> Iterator[tuple[str, str]]:
    one = _single(asked.plan)
    laws = output_laws(one) if one is not None else None
    title = "Two neighbours, two laws"
    if laws is None:
        words = "Outputs are drawn for noise on one answer and for few outcomes; the privacy loss says what matters."
        yield "outputs", figure("outputs", title, "", words, "cumulant")
        return
    text = "The law of the output with one record and with its neighbour; the more they overlap, the less is told."
    if isinstance(laws, Bars):
        drawn = columns(laws.names, laws.one, laws.other, name="outputs-chart", title=title, text=text)
    else:
        drawn = chart(
            [
                Line(tuple(zip(laws.places, laws.one, strict=True)), "line", "with the record", filled="p-fill"),
                Line(tuple(zip(laws.places, laws.other, strict=True)), "neighbour", "its neighbour", filled="q-fill"),
            ],
            name="outputs-chart",
            title=title,
            text=text,
            across="output",
            up="mass" if laws.whole else "density",
        )
    words = "What is published follows one law or the other; where both are high, the output does not tell which."
    yield "outputs", figure("outputs", title, drawn, words, getattr(one, "theorem", "cumulant"))


def _renyi(asked: Asked, _: object) -> Iterator[tuple[str, str]]:
    plan, title = asked.plan, "R\u00e9nyi curve, and why \u03c1 is tight"
    if plan.rho == inf:
        words = "Some outcome gives an input away: every R\u00e9nyi divergence, and \u03c1, is infinite."
        yield "renyi", figure("renyi", title, "", words, "cumulant")
        return
    try:
        order: float | None = plan.rho_order
    except NotCertified:
        order = None
    top = max(8.0, 2.5 * order) if order is not None and order < 1e4 else 8.0
    orders = [1 + (top - 1) * n / 40 for n in range(41)]
    found = [(alpha, float(plan.rdp(alpha))) for alpha in orders]
    line = [(alpha, alpha * plan.rho) for alpha in orders]
    touches = f"They touch at order {at_most(order, 4)}" if order is not None else "The parts touch at different orders"
    if order is not None and order <= 1:
        touches = "They meet as the order falls to 1"
    if plan.is_tight and found[-1][1] >= line[-1][1] * (1 - 1e-9):
        touches = "Here the curve is that line"
    drawn = chart(
        [Line(line, "tangent", "\u03c1 \u03b1"), Line(found, "line", "D(\u03b1)")],
        name="renyi-chart",
        title=title,
        text=f"The divergence of each order lies below the line rho times alpha. {touches}.",
        across="order \u03b1",
        up="divergence",
        mark=((order, float(plan.rdp(order))), "touches") if order is not None and 1 <= order <= top else None,
        ends=(0.0, max(found[-1][1] * 1.15, line[-1][1] * 0.6)) if found[-1][1] else None,
    )
    words = (
        f"\u03c1 = {at_most(plan.rho)} is the slope of the flattest line through 0 that stays above the curve. "
        f"{touches}, so no smaller \u03c1 would be true."
        if plan.is_tight
        else f"\u03c1 = {at_most(plan.rho)} is proven; the curve is an upper bound too."
    )
    yield "renyi", figure("renyi", title, drawn, words, "cumulant")


def _last(asked: Asked) -> float:
    """The epsilon at which pictures of the profile end; one that never ends is cut."""
    last = asked.plan.epsilon_at(delta=min(asked.delta, Fraction(1, 10**6)) / 10)
    return last if last < FARTHEST else SHORT


def _profile(asked: Asked, _: object) -> Iterator[tuple[str, str]]:
    plan = asked.plan
    epsilon = plan.epsilon_at(delta=asked.delta)
    points = [(x, y) for x, y in points_of_profile(plan, _last(asked), 40) if y > 0]
    drawn = chart(
        [Line(points, "line", dots=True)],
        name="profile-chart",
        title="delta as a function of epsilon",
        text=f"Delta falls as epsilon grows; at delta = {float(asked.delta):g} epsilon is {at_most(epsilon)}.",
        across="\u03b5",
        up="\u03b4",
        log_y=True,
        mark=((epsilon, float(asked.delta)), f"\u03b5 = {at_most(epsilon)}") if epsilon < inf else None,
    )
    words = (
        "Every point is a guarantee: the probability of any set of outputs changes from P to at most "
        "e<sup>\u03b5</sup> P + \u03b4. All points hold at once."
    )
    yield "profile", figure("profile", "Privacy profile", drawn, words, "profile")


def _loss(asked: Asked, _: object) -> Iterator[tuple[str, str]]:
    """The privacy loss distribution, from differences of the profile: f(l) = delta''(l) - delta'(l)."""
    plan, title = asked.plan, "Privacy loss"
    try:
        last = min(_last(asked), plan.pure_epsilon * 1.1 if plan.pure_epsilon < inf else inf)
        cells = cells_of_loss(plan, last)
    except NotCertified:
        cells = []
    if not cells:
        yield (
            "loss",
            figure("loss", title, "", "The profile of this plan is not known from a law of its loss.", "profile"),
        )
        return
    least = max(mass for _, _, mass in cells) / 10_000
    seen = [n for n, (_, _, mass) in enumerate(cells) if mass > least]
    drawn = chart(
        [Line(_steps(cells[seen[0] : seen[-1] + 1]), "line", filled="p-fill")],
        name="loss-chart",
        title="Distribution of the privacy loss",
        text="How likely each loss is, in cells, for the worst pair of neighbours, with the record in the data.",
        across="loss log P/Q",
        up="probability",
    )
    words = (
        "How much more likely an output is with the record than with its neighbour, as a logarithm: to the right it "
        "speaks for the record, to the left against it. \u03b5 and \u03b4 say how heavy the right tail is."
    )
    yield "loss", figure("loss", title, drawn, words, "profile")


def _steps(cells: Sequence[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """Cells as a line of steps, their heights relative to a cell of usual width."""
    wide = cells[-1][1] - cells[-1][0]
    found: list[tuple[float, float]] = []
    for start, end, mass in cells:
        height = mass * wide / (end - start)
        found += [(start, height), (end, height)]
    return found


def caught(points: Sequence[tuple[float, float]], rate: float) -> float:
    """The most that is caught at a rate of false alarms, from certified points (epsilon, delta) of the profile.

    Each point says P(S) <= e^epsilon Q(S) + delta, and the same of the complement with P and Q exchanged.
    """
    return min(
        1.0,
        *(min(exp(min(x, 700.0)) * rate + y, 1 - exp(-min(x, 700.0)) * (1 - y - rate)) for x, y in points),
    )


def _tradeoff(asked: Asked, _: object) -> Iterator[tuple[str, str]]:
    plan, rate = asked.plan, float(asked.rate)
    points = points_of_profile(plan, _last(asked), 60)
    rates = sorted({*(n / 60 for n in range(61)), *(10 ** (-n / 6) for n in range(25))})
    found = [(one, caught(points, one)) for one in rates]
    best = float_above(1 - Fraction(plan.tradeoff(asked.rate)))
    right = plan.success(prior="1/2")
    drawn = chart(
        [
            Line([(0, 0), (1, 1)], "diagonal", "guessing"),
            Line(found, "line", "at most"),
        ],
        name="tradeoff-chart",
        title="What an attacker can do",
        text=f"At a rate of false alarms of {rate:g} no test finds more than {best:.4g} of the records.",
        across="false alarms",
        up="found",
        mark=((rate, best), percent(best, up=True)),
        ends=(0.0, 1.0),
    )
    alarms = percent(rate, up=True)
    most = f"<strong>{tagged(best, percent(best, up=True))}</strong>"
    guess = (
        "which of two records is yours. Naming the one wrongly in "
        f"{alarms} of cases, they name it rightly in at most {most}; blind guessing does in {alarms}."
        if asked.relation in ("replace", "local")
        else f"whether yours is in the data. With {alarms} false alarms they find at most {most} of those who are; "
        f"blind guessing finds {alarms}."
    )
    words = (
        f"An attacker who knows all other records looks at the output and says {guess} At even odds they are right at "
        f"most {tagged(right, percent(right, up=True))} of the time; a coin is in 50%."
    )
    yield "tradeoff", figure("tradeoff", "What an attacker can do", drawn, words, "tradeoff")


def _composition(asked: Asked, progress: Callable[[float, str], None]) -> Iterator[tuple[str, str]]:
    plan, most = asked.plan, asked.uses
    counts = sorted({1, most, *(max(1, round(most ** (n / 7))) for n in range(8))})
    sharp: list[tuple[float, float]] = []
    by_rho: list[tuple[float, float]] = []
    title = f"From 1 to {most:,} uses"
    one = plan.epsilon_at(delta=asked.delta)
    for n, count in enumerate(counts):
        progress(0.7 + 0.3 * n / len(counts), f"composing {count:,} uses")
        whole: Curve = Plan.repeated(plan, count)
        sharp.append((count, whole.epsilon_at(delta=asked.delta)))
        by_rho.append((count, zcdp_to_epsilon(whole.rho, asked.delta) if 0 < whole.rho < inf else whole.rho))
    lines = [
        Line([(count, count * one) for count in counts], "diagonal", "\u03b5 added up"),
        Line(by_rho, "other", "\u03c1 alone"),
        Line(sharp, "line", "exact", dots=True),
    ]
    drawn = chart(
        lines,
        name="composition-chart",
        title=title,
        text="; ".join(f"{count} uses: epsilon {at_most(value)}" for count, value in sharp),
        across="uses",
        up="\u03b5",
        log_x=most > 1,
        log_y=most > 1,
    )
    last = sharp[-1][1]
    cost = f"\u03b5 = {tagged(last, at_most(last))} at \u03b4 = {exactly(float(asked.delta))}"
    summed = min(most * asked.delta, Fraction(1))
    added = float_above(most * Fraction(one)) if one < inf else inf
    words = (
        f"{most:,} uses cost {cost}; added up they would have \u03b5 = {at_most(added)} at another \u03b4, the "
        f"sum of theirs: {at_most(float_above(summed), 3)}. Losses of many uses partly cancel, which the exact profile "
        "sees; \u03c1 just adds up."
        if most > 1
        else f"One use costs {cost}."
    )
    yield "composition", figure("composition", title, drawn, words, "composition")
