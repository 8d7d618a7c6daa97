"""An event of small probability that gives a person away, as a pair of laws; and a plan without such events.

A plan with such an event has no finite rho: it is approximate zCDP, rho beside the probability of the event, delta.
Theorems: docs/theorems/discovered-keys.md, docs/theorems/approximate-filter.md.
"""

from __future__ import annotations

from fractions import Fraction

from zcdp.errors import BadValue
from zcdp.mechanisms.channel import LossPair
from zcdp.privacy.curve import Curve, Plan

__all__ = ["event_of", "revealing_event", "without_events"]


def revealing_event(delta: Fraction, *, replaced: bool = False) -> LossPair:
    """The pair of an event that only the data with the person can produce, with probability `delta`.

    If a person is replaced, each of the two data sets has such an event of its own.

    >>> revealing_event(Fraction(1, 100))
    LossPair(p=['0.01', '0.99'], q=[0, 1], ordered=True)
    >>> revealing_event(Fraction(1, 100)).delta_at(epsilon=3)
    0.01
    """
    if not 0 < delta < 1:
        raise BadValue(f"delta ({delta}) must lie between 0 and 1")
    if replaced:
        return LossPair(p=[delta, 1 - delta, 0], q=[0, 1 - delta, delta])
    return LossPair(p=[delta, 1 - delta], q=[0, 1], ordered=True)


def event_of(curve: Curve) -> Fraction | None:
    """The delta of a pair that tells nothing but by such an event; None for every other mechanism.

    It is a pair with just one outcome that both laws can produce: but for events of probability at most delta on
    either side, both outputs are this one.
    """
    if not isinstance(curve, LossPair):
        return None
    common = [n for n, (p, q) in enumerate(zip(curve.p, curve.q, strict=True)) if p and q]
    if len(common) != 1:
        return None
    [n] = common
    delta = 1 - min(curve.p[n], curve.q[n])
    return Fraction(delta) if delta else None


def without_events(curve: Curve) -> tuple[Plan | None, Fraction]:
    """A plan without its events (None if nothing is left), and the sum of their deltas.

    >>> plan, delta = without_events(revealing_event(Fraction(1, 100)) + LossPair(["1/2", "1/2"], ["1/4", "3/4"]))
    >>> plan.rho, delta
    (0.1455643760001538, Fraction(1, 100))
    """
    kept, total = [], Fraction(0)
    for part, count in curve.parts:
        delta = event_of(part)
        if delta is None:
            kept.append(Plan.repeated(part, count))
        else:
            total += delta * count
    if not total:
        return Plan.sum_of(curve), total
    return (Plan.sum_of(*kept) if kept else None), total
