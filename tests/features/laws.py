"""The law over the product: any kind of law, under any transformation, used once or several times."""

from __future__ import annotations

from random import Random

from features.checks import Tally, hold
from features.kinds import KINDS
from features.transformations import TRANSFORMATIONS
from zcdp import ZcdpError

SLOW = {"shuffled", "range"}
"""Laws that are known by their profile alone: beside another, or twice, a sample of them takes a minute."""
MIXED_ORDERS = {"poisson beside", "poisson of a plan of samples"}
"""Where what is beside may be ordered: on one sample no product of such laws is known."""

CUT = {"positive", "lattice", "pure", "geometric", "vector L1", "stairs"}
"""Kinds that may run on a sample that is cut: two neighbouring steps of them have a law."""
HEAVY = {"allocated plan", "truncated beside", "poisson of truncated"}
"""Transformations that take seconds for each kind: left to deep runs."""


def is_plan(transformation: str) -> bool:
    """Whether several laws are on one sample: used more than once, that takes seconds for each question."""
    return "plan" in transformation


def is_quick_enough(kind: str, transformation: str, uses: int) -> bool:
    """For deep runs: what takes minutes is left out."""
    return uses == 1 or (kind not in SLOW and (uses == 2 or not is_plan(transformation)))


def one(kind: str, transformation: str, uses: int, seed: int, tally: Tally, *, quick: bool = False) -> None:
    """A case drawn at random; that the library does not take it is counted, and sound. `quick`: nothing slow beside."""
    rng = Random(f"{kind} {transformation} {uses} {seed}")
    base = KINDS[kind](rng)
    others = [name for name in sorted(KINDS) if transformation in MIXED_ORDERS or not name.startswith("ordered")]
    quick = quick or (uses > 1 and is_plan(transformation))
    beside = KINDS[rng.choice([name for name in others if not (quick and name in SLOW)])](rng)
    try:
        case = TRANSFORMATIONS[transformation](base, beside, rng)
    except ZcdpError:
        tally.refused += 1
        return
    hold(tally, case, uses, rng)
