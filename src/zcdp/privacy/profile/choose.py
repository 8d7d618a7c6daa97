"""Which engine answers: one table, from the first resort to the last."""

from __future__ import annotations

from zcdp.numeric.certify import NotCertified
from zcdp.privacy.profile.adaptive import Adaptive
from zcdp.privacy.profile.binomial_sum import BinomialSum
from zcdp.privacy.profile.closed_form import ClosedForm
from zcdp.privacy.profile.contour import Contour
from zcdp.privacy.profile.effort import CHEAP
from zcdp.privacy.profile.engine import Engine, Offer
from zcdp.privacy.profile.finite_sum import CutSum, WholeSum
from zcdp.privacy.profile.grid import Grid
from zcdp.privacy.profile.lattice_contour import LatticeContour
from zcdp.privacy.profile.question import Question
from zcdp.privacy.profile.smoothed import Smoothed

__all__ = ["ENGINES", "choose", "second"]

FEW_USES = 8  # up to which a grid of losses may beat smoothing

ENGINES: list[tuple[type[Engine], ...]] = [
    (ClosedForm,),
    (Adaptive,),
    (WholeSum,),
    (BinomialSum,),
    (Contour, LatticeContour),
    (CutSum,),
    (Smoothed,),
    (Grid,),
]
"""Engines of one row compete by cost; the next row is asked where none of them makes an offer, or can keep it."""


def choose(question: Question) -> tuple[Engine, float]:
    """The engine, and what it is expected to cost in nanoseconds."""
    reason = NotCertified("no engine has an offer: the composition is too extreme")
    for row in ENGINES:
        best: Offer | None = None
        for engine in row:
            if engine.of_one_law and len(question.parts) > 1:
                continue
            offer = engine.offer(question)
            if offer is not None and (best is None or offer.cost < best.cost):
                best = offer
                if best.cost <= CHEAP:
                    break
        if best is not None:
            try:
                return best.build(), best.cost
            except NotCertified as error:
                reason = error
    raise reason


def second(question: Question, first: Engine) -> Engine | None:
    """Another engine that may know more, where the first one's answer is wide; of the same laws, so both hold."""
    uses = sum(count for _, count in question.parts)
    offer = Grid.offer(question) if uses <= FEW_USES and not isinstance(first, Grid) else None
    try:
        return None if offer is None else offer.build()
    except NotCertified:
        return None
