"""The privacy loss of one of several pairs that is drawn at random, where the draw is seen: a mixture of laws.

Both P and Q draw pair i with the same probability t_i, and tell which. So the profile is the mean of the profiles, and
the transform the mean of the transforms. Theorem: docs/theorems/truncated-batches.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from typing import TYPE_CHECKING, Any

from flint import acb, arb

from zcdp.numeric.balls import Undecided, above, lift
from zcdp.numeric.doubles import decays
from zcdp.privacy.loss.decay import UP, MonotoneShare, Share, minus_log
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.transform import Estimate, Exponentials, Factor, Points, Taylor, Tilted

if TYPE_CHECKING:
    from zcdp.privacy.loss.decay import Floats

__all__ = ["MixedLaw"]

DECAY_ERROR = 2.0**-49  # `decays` errs by at most 2^-50


@dataclass(frozen=True, eq=False)
class MixedLaw(LossLaw):
    """The law of a pair that is drawn from several with the given probabilities, the draw being part of the output."""

    parts: tuple[tuple[LossLaw, Fraction], ...]
    """Laws with their probabilities, which are positive and sum to 1."""

    @property
    def cancels(self) -> bool:  # type: ignore[override]
        """Whether leading digits cancel in the transform of one of them."""
        return any(law.cancels for law, _ in self.parts)

    @property
    def symmetric(self) -> bool:
        """Whether all of them are."""
        return all(law.symmetric for law, _ in self.parts)

    def ready(self) -> MixedFactor:
        """The transform of one use, with constants at the working precision."""
        return MixedFactor([(law.factor(), lift(chance)) for law, chance in self.parts])

    def largest(self) -> arb:
        """The largest of the suprema of the finite losses."""
        tops = [law.largest() for law, _ in self.parts]
        return max(tops[1:], key=lambda top: top.mid(), default=tops[0]).max(tops[0])

    def reverse(self) -> LossLaw:
        """The law of the reversed pair: the same draw of the reversed ones."""
        return self if self.symmetric else MixedLaw(tuple((law.reverse(), chance) for law, chance in self.parts))

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """The law of ((1-q) Q + q P, Q): the draw is as likely under both, so it is the mixture of the sampled laws."""
        found = [(law.sampled(rate), chance) for law, chance in self.parts]
        known = tuple((law, chance) for law, chance in found if law is not None)
        return MixedLaw(known) if len(known) == len(found) else None

    def alone(self) -> Callable[[arb], arb] | None:
        """The mean of the formulas for a single use, if all of them have one; beyond its largest loss a law has 0."""
        formulas = [(law.alone(), law.largest(), lift(chance)) for law, chance in self.parts]
        known = [(formula, top, chance) for formula, top, chance in formulas if formula is not None]
        if len(known) < len(formulas):
            return None

        def delta(epsilon: arb) -> arb:
            total = arb(0)
            for formula, top, chance in known:
                if epsilon < top:
                    total += chance * formula(epsilon)
                elif not epsilon >= top:
                    raise Undecided
            return total

        return delta


class MixedFactor(Factor):
    """The mean of several transforms."""

    def __init__(self, parts: Sequence[tuple[Factor, arb]]) -> None:
        self.parts = parts
        self.weight = sum(factor.weight for factor, _ in parts)
        self.quick = all(factor.quick for factor, _ in parts)
        self.atomic = all(factor.atomic for factor, _ in parts)
        self.revealed = sum((factor.revealed * chance for factor, chance in parts), arb(0))

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        first, *others = (factor.moment(z) * chance for factor, chance in self.parts)
        return sum(others, first)

    def once(self, z: Any, w: Any, u: Any) -> Any:
        """M(z), for a caller that has w = z + 1/2 and u = 1/w at hand."""
        first, *others = (factor.once(z, w, u) * chance for factor, chance in self.parts)
        return sum(others, first)

    def real_moment(self, s: arb) -> arb:
        """M(s) at a real s, with the accuracy that a check needs."""
        return sum((factor.real_moment(s) * chance for factor, chance in self.parts), arb(0))

    def moments(self, points: Points) -> Sequence[acb]:
        """M at all given points of a vertical line."""
        rows = [[value * chance for value in factor.moments(points)] for factor, chance in self.parts]
        return [sum(column[1:], column[0]) for column in zip(*rows, strict=True)]

    def along(self, z: Any, w: Any, u: Any, estimate: Estimate | None = None) -> Taylor:  # noqa: ARG002
        """M(c), K(c), certified; and K'(c), K''(c) from those of the parts."""
        self._tilt = z[0], [factor.along(z, w, u) for factor, _ in self.parts]
        shares = [taylor.moment * chance for taylor, (_, chance) in zip(self._tilt[1], self.parts, strict=True)]
        moment = sum(shares, arb(0))
        tilted = [share / moment for share in shares]
        slope = sum((t * one.slope for t, one in zip(tilted, self._tilt[1], strict=True)), arb(0))
        square = sum((t * (one.variance + one.slope**2) for t, one in zip(tilted, self._tilt[1], strict=True)), arb(0))
        return Taylor(moment, moment.log(), slope, square - slope * slope)

    def estimate(self, c: float) -> Estimate:
        """Heuristic values of K(c), K'(c), K''(c), from those of the parts."""
        found = [
            (value + log(max(float(chance.mid()), 1e-300)), slope, bend)
            for (value, slope, bend), chance in ((factor.estimate(c), chance) for factor, chance in self.parts)
        ]
        top = max(value for value, _, _ in found)
        masses = [exp(value - top) for value, _, _ in found]
        whole = sum(masses)
        mean = sum(mass * slope for mass, (_, slope, _) in zip(masses, found, strict=True)) / whole
        square = sum(mass * (bend + slope**2) for mass, (_, slope, bend) in zip(masses, found, strict=True)) / whole
        return top + log(whole), mean, max(square - mean * mean, 0.0)

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """Certified bounds on the decay of |M| along Re z = c: |M| is at most the mean of the moduli of the parts.

        It needs a bound of each part that is valid for all larger heights; else the trivial bound is left.
        """
        line, tilts = self._tilt
        assert line == c
        decayed: list[tuple[float, Callable[[Floats], Floats]]] = []
        for (factor, chance), one in zip(self.parts, tilts, strict=True):
            factor.uses = self.uses
            share = factor.share(count, c, one)
            if not isinstance(share, MonotoneShare):
                return super().share(count, c, taylor)
            decayed.append((above(one.moment * chance / taylor.moment), share.least))

        def least(heights: Floats) -> Floats:
            import numpy

            total = sum(size * (decays(bound(heights)) + DECAY_ERROR) for size, bound in decayed)
            answer: Floats = minus_log(numpy, total * UP)
            return answer

        return MonotoneShare(count, least)

    def tilted(self, c: arb) -> Tilted | None:
        """M(c + iy)/M(c) as finitely many exponentials, if each part has such a form."""
        whole = self.once(c, c + arb(1) / 2, 1 / (c + arb(1) / 2))
        weights: list[acb] = []
        rates: list[acb] = []
        error, highest = arb(0), float("inf")
        for factor, chance in self.parts:
            one = factor.tilted(c)
            if one is None or one.exponentials is None:
                return None
            size = factor.once(c, c + arb(1) / 2, 1 / (c + arb(1) / 2)) * chance / whole
            weights += [weight * size for weight in one.exponentials.weights]
            rates += one.exponentials.rates
            error, highest = error + one.exponentials.error * size, min(highest, one.exponentials.highest)
        return Tilted((), arb(0), arb(0), exponentials=Exponentials(weights, rates, error, highest))
