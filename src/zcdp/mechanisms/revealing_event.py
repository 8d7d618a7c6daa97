"""An event of small probability that gives a person away, as a pair of laws; and a plan without such events.

A plan with such an event has no finite rho: it is approximate zCDP, rho beside the probability of the event, delta.
Theorems: docs/theorems/discovered-keys.md, docs/theorems/approximate-filter.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from zcdp.errors import BadValue
from zcdp.mechanisms.channel import LossPair
from zcdp.privacy.curve import Curve, Plan
from zcdp.privacy.loss.claim import Claim
from zcdp.privacy.loss.finite_law import finite_law
from zcdp.tables.discovered_keys import appears

__all__ = ["Lone", "event_of", "lone_keys", "revealing_event", "without_events"]


class Lone(NamedTuple):
    """What decides how likely a key that one person alone has is published, for a person of so many keys."""

    variance: Fraction
    """Of the discrete Gaussian noise on the number of persons."""
    least: int
    """The number of persons, noise included, from which on a key is published."""
    keys: int

    @property
    def delta(self) -> Fraction:
        """The probability that at least one of them is, rounded up."""
        return appears(*self)


def revealing_event(delta: Fraction | Lone, *, replaced: bool = False) -> LossPair:
    """The pair of an event that only the data with the person can produce, with probability `delta`.

    If a person is replaced, each of the two data sets has such an event of its own. With `Lone` the probability is that
    of found keys, and the event knows what it comes from.

    >>> revealing_event(Fraction(1, 100))
    LossPair(p=['0.01', '0.99'], q=[0, 1], ordered=True)
    >>> revealing_event(Fraction(1, 100)).delta_at(epsilon=3)
    0.01
    """
    if isinstance(delta, Lone):
        made = revealing_event(delta.delta, replaced=replaced)
        made.__dict__["lone"] = delta
        return made
    if not 0 < delta < 1:
        raise BadValue(f"delta ({delta}) must lie between 0 and 1")
    if replaced:
        return _Event(p=[delta, 1 - delta, 0], q=[0, 1 - delta, delta])
    return _Event(p=[delta, 1 - delta], q=[0, 1], ordered=True)


def lone_keys(curve: Curve) -> list[Lone] | None:
    """What the events of a plan come from, one for each use; None if that is not known of one of them."""
    found: list[Lone] = []
    for part, count in curve.parts:
        if event_of(part) is not None:
            lone = getattr(part, "lone", None)
            if lone is None:
                return None
            found += [lone] * count
    return found


class _Event(LossPair):
    """A pair that bounds an event from above, and is attained by itself alone.

    Whose own key is published by chance moves no count that others make public, and whose keys are public anyway moves
    counts without any risk of this event: no neighbours attain it together with the noise.
    """

    def pair(self) -> Claim | None:
        found = super().pair()
        if found is None:
            return None
        nothing = finite_law([(Fraction(1), Fraction(1))])
        return Claim(found.upper, lower=Claim.laws(nothing), lower_alone=found.lower)


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
