"""All outcomes of a pair with their masses under P and Q: what a transformation of a law works on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.certify import Undecided

__all__ = ["CLOSE", "Outcomes"]

CLOSE = 2.0**-20  # A total that is known less well than this says nothing about what is missing from it.


class Outcomes:
    """The (P-mass, Q-mass) of every outcome, the largest ratio first, as balls at the working precision.

    Outcomes that only P can produce (loss +inf) or only Q (loss -inf) are part of the list, so that whoever samples,
    mixes or rounds a pair moves all of its mass. A list whose P- or Q-masses do not add up to 1 is refused. Outcomes of
    no mass are left out: rounding would give them one.
    """

    def __init__(self, masses: Sequence[tuple[arb, arb]]) -> None:
        self.masses = [(p, q) for p, q in masses if not (p.is_zero() and q.is_zero())]
        for name, side in (("P", 0), ("Q", 1)):
            total = sum((mass[side] for mass in self.masses), arb(0))
            if not total.rad() < CLOSE:
                raise Undecided
            if not total.overlaps(arb(1)):
                raise BadValue(f"the {name}-masses of all outcomes add up to {total.str(8)}, not to 1")

    def __iter__(self) -> Iterator[tuple[arb, arb]]:
        return iter(self.masses)

    def __len__(self) -> int:
        return len(self.masses)

    def largest_ratios(self) -> tuple[arb, arb]:
        """The largest P/Q and the largest Q/P of an outcome; +inf where the other is not surely positive."""
        (p, q), (last_p, last_q) = self.masses[0], self.masses[-1]
        infinite = arb.pos_inf()
        return (p / q if q > 0 else infinite), (last_q / last_p if last_p > 0 else infinite)
