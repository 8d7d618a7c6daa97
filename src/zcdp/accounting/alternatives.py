"""Mechanisms that answer a query as accurately as the one it has, and what the whole plan would cost with each.

Equal accuracy is, for noise, an equal standard deviation of each answer; for a selection, one of the noise on each
score; for a local randomizer, an equal standard error of an estimated frequency. The search for it is heuristic but
for noise, whose standard deviation is certified; what a plan would cost is certified for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from typing import Any

from zcdp.accounting.allocation import Query
from zcdp.accounting.plan_account import Total, total_of
from zcdp.errors import BadValue, ZcdpError
from zcdp.mechanisms import (
    RAPPOR,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    HadamardResponse,
    Laplace,
    Logistic,
    Mechanism,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    Staircase,
    SubsetSelection,
)
from zcdp.mechanisms.noise.additive import Accuracy, AddedNoise
from zcdp.mechanisms.sensitivity import L2, Sensitivity
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import literal, positive_rational
from zcdp.numeric.search import bisection, gallop
from zcdp.plans.plan_file import Entry, PlanFile, declared_mechanism
from zcdp.plans.plan_text import parse
from zcdp.privacy.curve import Plan

__all__ = ["Alternative", "Priced", "alternatives", "mechanism_of", "prices", "with_accuracy"]

WHOLE = (DiscreteLaplace, DiscreteGaussian)
REAL = (Laplace, Gaussian, Logistic, Staircase)
SELECTIONS = (ExponentialMechanism, PermuteAndFlip, ReportNoisyMax)
SEARCHED: dict[type, str] = {
    **dict.fromkeys((Laplace, DiscreteLaplace, Logistic), "scale"),
    **dict.fromkeys((Gaussian, DiscreteGaussian), "sigma"),
}
"""The parameter that is found, where it is not the mechanism's budget: that which people know the noise by."""
DIGITS = 6  # of an epsilon that is found by a heuristic search
MOST_EPSILON = 40.0
"""The largest of a randomizer that is looked for: it hides nothing as it is."""
SMALL_FREQUENCY = 0.01
"""At which the errors of randomizers are compared whose number of values is not known."""


@dataclass(frozen=True)
class Alternative:
    """A mechanism with its text, as a plan writes it, and the accuracy of one answer, if it adds noise."""

    text: str
    mechanism: Mechanism
    accuracy: Accuracy | None
    own: bool
    """Whether it is the mechanism that the query has."""


@dataclass(frozen=True)
class Priced:
    """What the whole plan costs with an alternative in the place of the query's mechanism."""

    alternative: Alternative
    total: Total


def mechanism_of(entry: Entry) -> Mechanism | None:
    """The one mechanism of a query; None if a parameter of it is open, or if it is a sum."""
    parts = entry.plan.parts if entry.plan is not None else ()
    one = parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else None
    return one if isinstance(one, Mechanism) else None


def alternatives(entry: Entry, k: int | None = None) -> list[Alternative]:
    """The mechanisms of equal accuracy, the query's own first; `k` is the number of values of a local collection.

    >>> from zcdp.plans.plan_file import read_plan
    >>> text = '[[query]]\\nname = "a"\\nmechanism = "DiscreteLaplace(scale=10)"'
    >>> [one.text for one in alternatives(read_plan("plan.toml", text).entries[0])]
    ['DiscreteLaplace(scale=10)', 'DiscreteGaussian(sigma=14.1362...)', 'Laplace(scale=9.99583...', ...]
    """
    own = mechanism_of(entry)
    if own is None:
        return []
    found = [Alternative(entry.text, own, _accuracy(entry, own), own=True)]
    if isinstance(own, AddedNoise):
        found += _noises(entry, own)
    elif isinstance(own, SELECTIONS):
        found += _selections(entry, own)
    elif hasattr(own, "standard_error"):
        found += _randomizers(own, k)
    return found


def _accuracy(entry: Entry, mechanism: Mechanism) -> Accuracy | None:
    if not isinstance(mechanism, AddedNoise):
        return None
    try:
        return entry.in_values(mechanism.accuracy())
    except (TypeError, NotCertified):
        return None


def _noises(entry: Entry, own: Mechanism) -> Iterator[Alternative]:
    try:
        sd = own.accuracy().standard_deviation  # type: ignore[attr-defined]
    except (TypeError, NotCertified):
        return
    for kind in WHOLE if entry.statistic is not None else (*WHOLE, *REAL):
        if kind is not type(own):
            try:
                yield _noise(entry, kind, _bound(own), sd=sd)
            except (ZcdpError, TypeError, OverflowError):  # it does not take this sensitivity, or no such noise
                continue


def _bound(own: Mechanism) -> Any:
    """The sensitivity of the query for other noise.

    A number is the Euclidean length of a move for `Gaussian`, and the move of one answer for all others, which would
    promise too much for a vector: for them it becomes `L2` of that number.
    """
    bound = own.sensitivity  # type: ignore[attr-defined]
    return L2(bound) if isinstance(own, Gaussian) and not isinstance(bound, Sensitivity) else bound


def _noise(entry: Entry, kind: type[Mechanism], bound: Any, **target: Any) -> Alternative:
    free = SEARCHED.get(kind)
    query = Query(kind, free=free, sensitivity=bound, **target)
    value = query.at_target()
    assumed = bound == 1 and "sensitivity" not in entry.text and kind is not Staircase  # whose accuracy rests on it
    stated = "" if entry.statistic is not None or assumed else f", sensitivity={_written(bound)}"
    text = f"{kind.__name__}({query.free}={literal(Fraction(value))}{stated})"
    mechanism = _read(entry, text)
    return Alternative(text, mechanism, _accuracy(entry, mechanism), own=False)


def _written(bound: Any) -> str:
    return repr(bound) if isinstance(bound, Sensitivity) else literal(bound)


def _read(entry: Entry, text: str) -> Mechanism:
    """The mechanism that a plan means by the text in the place of this entry's."""
    if entry.statistic is not None:
        made = declared_mechanism(text, entry.statistic)[1]
        assert made is not None
        return made
    [(one, _)] = parse(text).parts
    assert isinstance(one, Mechanism)
    return one


def with_accuracy(entry: Entry, *, sd: str | None = None, half_width: str | None = None) -> str:
    """The text of the query's mechanism with the most noise that meets a target, in the unit of its answers.

    >>> from zcdp.plans.plan_file import read_plan
    >>> text = '[[query]]\\nname = "a"\\nmechanism = "Gaussian(sigma=10, sensitivity=2)"'
    >>> with_accuracy(read_plan("plan.toml", text).entries[0], sd="5")
    'Gaussian(sigma=4.999999995, sensitivity=2)'
    """
    kind, bound = _open(entry)
    own = set(re.findall(r"(\w+)\s*=", entry.text)) - {"scale", "sigma", "epsilon", "rho", "eta", "sensitivity"}
    if own or (kind.budget is None and kind not in SEARCHED):  # which a search for the noise would not keep
        which = f" with {min(own)}" if own else ""
        raise BadValue(f"no accuracy can be asked of {kind.__name__}{which}: change its noise")
    step = Fraction(1) if entry.statistic is None else entry.statistic.grid
    given = {"sd": sd, "half_width": half_width}
    wanted = {name: positive_rational(value, name) / step for name, value in given.items() if value is not None}
    return _noise(entry, kind, bound, **wanted).text


def _open(entry: Entry) -> tuple[type[Mechanism], Any]:
    """The class and the sensitivity of a query's noise, whether its amount is given or open."""
    own = mechanism_of(entry)
    if entry.open is not None:
        kind, parameters = entry.open
        return kind, parameters.get("sensitivity", 1)
    if own is None or not isinstance(own, AddedNoise):
        raise BadValue("an accuracy can be asked of one mechanism that adds noise")
    return type(own), own.sensitivity


def _selections(entry: Entry, own: Mechanism) -> Iterator[Alternative]:
    error, monotone = own.relative_error, own.monotone  # type: ignore[attr-defined]
    kinds = (ExponentialMechanism,) if entry.statistic is not None else SELECTIONS
    for kind in kinds:
        if kind is type(own) or error is None:
            continue
        query = Query(kind, monotone=monotone)
        value = float(f"{query.with_error(error):.{DIGITS}g}")
        text = f"{kind.__name__}(epsilon={value!r}{', monotone=True' if monotone else ''})"
        yield Alternative(text, _read(entry, text), None, own=False)


def _randomizers(own: Any, k: int | None) -> Iterator[Alternative]:
    k = k or getattr(own, "k", None)
    frequency = 1 / k if k else SMALL_FREQUENCY
    target = own.standard_error(clients=1, frequency=frequency)

    def subsets(epsilon: float) -> Mechanism:
        assert k is not None
        return SubsetSelection(epsilon=epsilon, k=k, size=min(max(1, round(k / (exp(epsilon) + 1))), k - 1))

    makers: list[tuple[type[Mechanism], Any]] = [
        (RAPPOR, lambda epsilon: RAPPOR(epsilon=epsilon)),
        (OptimizedUnaryEncoding, lambda epsilon: OptimizedUnaryEncoding(epsilon=epsilon)),
    ]
    if k:
        makers += [
            (RandomizedResponse, lambda epsilon: RandomizedResponse(epsilon=epsilon, k=k)),
            (SubsetSelection, subsets),
            (HadamardResponse, lambda epsilon: HadamardResponse(epsilon=epsilon)),
        ]
    for kind, make in makers:
        if kind is type(own):
            continue

        def meets(value: float, make: Any = make) -> bool:
            tried = make(min(value, MOST_EPSILON))  # the steps of a gallop may lead far beyond
            return bool(tried.standard_error(clients=1, frequency=frequency) <= target)

        around = gallop(meets, 1.0, 0.8, faster=True, least=1e-6, most=MOST_EPSILON)
        if around is None:
            continue
        least = exp(bisection(lambda x, meets=meets: meets(exp(x)), *map(log, around), absolute=1e-9)[1])  # type: ignore[misc]
        made = make(float(f"{least:.{DIGITS}g}"))
        yield Alternative(repr(made), made, None, own=False)


def prices(plan: PlanFile, n: int, options: Sequence[Alternative], delta: Fraction) -> Iterator[Priced]:
    """What the whole plan costs with each alternative for query n; open queries are left out."""
    others = [
        Plan.repeated(entry.plan, entry.count)
        for k, entry in enumerate(plan.entries)
        if k != n and entry.plan is not None
    ]
    count = plan.entries[n].count
    for one in options:
        try:
            whole = Plan.sum_of(*others, Plan.repeated(one.mechanism, count))
            plan.relation_of(whole)
            yield Priced(one, total_of(whole, delta))
        except (ZcdpError, NotCertified, ValueError):  # it is for other neighbours, or gives an input away
            continue
