"""Proof by subdivision: a claim that holds on every box of a cover holds on all of it, and no box is a mere sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flint import arb

from zcdp.numeric.balls import at_precision

__all__ = ["Box", "Proof", "interval", "prove"]

BITS = 80
MOST = 300_000
NARROWEST = 2.0**-40

Side = tuple[float, float]
Box = tuple[Side, ...]
Claim = Callable[[Box], arb | None]
"""A ball that is positive where the claim is seen to hold on the whole box; None where nothing is claimed."""


@dataclass(frozen=True)
class Proof:
    """What became of a claim: proved, with so many boxes; or where it could not be, or is false."""

    proved: bool
    boxes: int
    where: Box | None = None
    refuted: bool = False


def interval(side: Side) -> arb:
    """The ball of all numbers between the two ends."""
    low, high = side
    return arb(low).union(arb(high))


def prove(claim: Claim, cover: Iterable[Box], *, most: int = MOST) -> Proof:
    """Halve boxes until the claim is seen on each: True is a proof, False says where it stopped.

    >>> prove(lambda box: 1 - interval(box[0]) * (1 - interval(box[0])), [((0.0, 1.0),)]).proved
    True
    >>> prove(lambda box: interval(box[0]) - arb("1.5"), [((0.0, 1.0),)]).refuted
    True
    """
    return at_precision(BITS, lambda: _prove(claim, list(cover), most))


def _prove(claim: Claim, open_boxes: list[Box], most: int) -> Proof:
    done = 0
    while open_boxes:
        box = open_boxes.pop()
        if done + len(open_boxes) > most:
            return Proof(False, done, box)
        margin = claim(box)
        if margin is None or margin > 0:
            done += 1
            continue
        if margin < 0:
            return Proof(False, done, box, refuted=True)
        widest = max(range(len(box)), key=lambda n: _width(box[n]))
        low, high = box[widest]
        middle = (low + high) / 2
        if _width(box[widest]) < NARROWEST:
            return Proof(False, done, box)
        open_boxes += [(*box[:widest], half, *box[widest + 1 :]) for half in ((low, middle), (middle, high))]
    return Proof(True, done)


def _width(side: Side) -> float:
    """Relative to its place, so that small numbers are divided as finely as large ones."""
    low, high = side
    return (high - low) / (0.05 + abs(high))
