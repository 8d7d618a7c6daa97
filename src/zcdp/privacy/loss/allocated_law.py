"""The privacy loss of random allocation: each record takes part in one of T batches, drawn anew in each epoch.

If (P, Q) dominates a step, the T steps of an epoch are dominated by (A, Q^T), A the mean over the batches of the laws
in which that batch has P and all others Q. With X = dP/dQ the ratio dA/dQ^T is S/T, S the sum of T independent copies
of X, so that both directions of the profile are means of positive parts of x - S (ratio_sum.py).
Theorem: docs/theorems/random-allocation.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import comb, exp, inf

from flint import arb

from zcdp.numeric.balls import NotCertified, above, at_precision, ceiling, floor
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss.claim import Claim, rational_outcomes
from zcdp.privacy.loss.finite_law import FiniteLaw, finite_law
from zcdp.privacy.loss.gaussian_law import GaussianLaw
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.profile_law import NEGLIGIBLE, ProfileLaw
from zcdp.privacy.loss.profile_polygons import KnownProfile
from zcdp.privacy.loss.ratio_sum import AtomRatios, GaussianRatios, Ratios, RatioSum
from zcdp.privacy.loss.tradeoff_hull import BALL_BITS, GRID_BITS, Atom, hull, ratio_above, rounded, within_ratios

__all__ = ["allocated_claim", "listed_epoch"]

MOST_OUTCOMES, MOST_OUTCOME_BITS = 500, 1_000_000  # of an epoch whose outcomes are listed, and of all their masses
COARSE_LOSSES = 150  # losses at which the profile is looked at before the points of a finite law are chosen
FINE_LOSSES = 380  # points of the finite law
EVEN_PART = 0.6  # the part of them that is evenly spaced, for small deltas; the others are where the loss is likely
LARGEST_LOSS = 600.0  # beyond which floats propose nothing
RANGE_STEP = 0.25  # relative step of the search for the range of losses


def allocated_claim(claim: Claim, batches: int) -> Claim | None:
    """The claim of an epoch of T = `batches` steps, of which each record takes part in one; None if it is not known.

    `claim` is that of one step, for a record that is there or not. What an epoch attains is what the step attains, one
    record allocated to a batch and all others without a record. Theorem: docs/theorems/random-allocation.md.
    """
    if batches == 1:
        return claim
    ratios = _ratios(claim.upper, -1)
    if ratios is None:
        return None
    if (listed := _listed(ratios, batches)) is not None:
        if not claim.exact:
            return Claim(listed)
        inside = _ratios(claim.upper, 1)
        if inside == ratios:
            return Claim.exactly(listed)
        under = _listed(inside, batches)
        return Claim(listed, lower=() if under is None else Claim.laws(under))
    epoch = _Epoch(ratios, batches)
    if not claim.exact:
        return Claim(epoch.law)
    inner = _ratios(claim.upper, 1)
    below = epoch if inner == ratios else None if inner is None else _Epoch(inner, batches)
    if below is None:
        return Claim(epoch.law)
    return Claim(epoch.law, lower=Claim.laws(below.attained), lower_alone=Claim.laws(below.law))


def _listed(ratios: Ratios | None, batches: int) -> LossLaw | None:
    return listed_epoch(ratios.atoms, batches) if isinstance(ratios, AtomRatios) else None


def listed_epoch(atoms: Sequence[Atom], batches: int) -> LossLaw | None:
    """The law of an epoch by all of its outcomes, if these are few: by how often each outcome of a step occurs.

    Among T batches outcomes of the ratios x_1, ..., x_m occur k_1, ..., k_m times with the multinomial probability
    under Q; under A it is so many times the mean of x_i over the batches. What only A has is what only P has.
    """
    same: dict[Fraction, Fraction] = {}
    for p, q in atoms:
        if q:
            same[p / q] = same.get(p / q, Fraction(0)) + q
    steps = sorted(same.items())
    bits = max((number.denominator.bit_length() for pair in steps for number in pair), default=0)
    outcomes = comb(batches + len(steps) - 1, batches)
    if outcomes > MOST_OUTCOMES or outcomes * batches * bits > MOST_OUTCOME_BITS:
        return None
    found: dict[Fraction, Fraction] = {Fraction(0): Fraction(1)}  # sums of ratios of the batches so far
    for _ in range(batches):
        after: dict[Fraction, Fraction] = {}
        for total, mass in found.items():
            for ratio, q in steps:
                after[total + ratio] = after.get(total + ratio, Fraction(0)) + mass * q
        found = after
    listed = [(mass * total / batches, mass) for total, mass in found.items()]
    revealed = sum((p for p, q in atoms if not q), Fraction(0))
    return finite_law([*listed, *([(revealed, Fraction(0))] if revealed else [])])


def _ratios(law: LossLaw, side: int) -> Ratios | None:
    """The ratios dP/dQ under Q, of the pair or of finitely many outcomes of one above it (side -1) or below it (1)."""
    if isinstance(law, GaussianLaw):
        return GaussianRatios(law.curvature)
    finite = law.dots if isinstance(law, ProfileLaw) and side < 0 else law
    finite = getattr(finite, "source", finite)
    atoms = finite.atoms if isinstance(finite, FiniteLaw) else rational_outcomes(finite, side)
    return None if atoms is None else AtomRatios(tuple(atoms))


class _Epoch:
    """One epoch of T batches: H(g) = 1 - g + E (gT - S)_+/T of the pair (A, Q^T), and the laws that are made of it."""

    def __init__(self, ratios: Ratios, batches: int) -> None:
        self.ratios, self.batches = ratios, batches
        self.sum, self.coarse = RatioSum(ratios, batches), RatioSum(ratios, batches, coarse=True)

    def _forward(self, epsilon: arb) -> tuple[arb, arb]:
        """Certified bounds on delta(epsilon) of (A, Q^T)."""
        g = epsilon.exp()
        low, high = self.sum.ends(g * self.batches)
        return self._delta(g, low), self._delta(g, high)

    def _delta(self, g: arb, mean: arb) -> arb:
        return (1 - g + mean / self.batches).max(arb(0))

    def _backward(self, epsilon: arb) -> tuple[arb, arb]:
        """Certified bounds on delta(epsilon) of (Q^T, A)."""
        g = epsilon.exp()
        low, high = self.sum.ends(self.batches / g)
        return low * g / self.batches, high * g / self.batches

    def _infinite(self) -> arb:
        """The probability that a batch shows the record: that of a step."""
        return self.ratios.revealed()

    def _infinite_back(self) -> arb:
        """The probability, without the record, that no batch could have had it."""
        return self.ratios.hidden() ** self.batches

    def _top(self) -> arb:
        """The largest loss: all batches have the largest ratio."""
        return self.ratios.most().log()

    def _top_back(self) -> arb:
        """The largest finite loss of the reversed pair."""
        least = self.ratios.least()
        if least > 0:
            return -least.log()
        positive = self.ratios.least_positive()
        return (self.batches / positive).log() if positive > 0 else arb.pos_inf()

    @cached_property
    def law(self) -> LossLaw:
        """The law of (A, Q^T): one use by its profile, compositions by a finite law above it."""
        return self._law(self._made, self._infinite)

    @cached_property
    def law_below(self) -> LossLaw:
        """The same law, of which compositions use a finite law below it."""
        return self._law(self._made_below, lambda: (self._infinite() - NEGLIGIBLE).max(arb(0)))

    @property
    def attained(self) -> LossLaw | None:
        """A law below, for compositions; None if there is none.

        If some outcome is one that only one neighbour can produce, it is the finite law itself: beside a profile,
        the masses of such outcomes would be counted twice.
        """
        if at_precision(BALL_BITS, lambda: self._infinite().is_zero() and self._infinite_back().is_zero()):
            return self.law_below
        try:
            return self._made_below()
        except NotCertified:
            return None

    def _law(self, finite: Callable[[], LossLaw], infinite: Callable[[], arb]) -> LossLaw:
        one = ProfileLaw(self._forward, self._top, infinite, finite)
        back = replace(
            one,
            ends=self._backward,
            top=self._top_back,
            infinite=self._infinite_back,
            finite=lambda: forward.dots.reverse(),  # noqa: PLW0108 - made later
            other=lambda: forward,
        )
        forward = replace(one, other=lambda: back)
        return forward

    def _made(self) -> LossLaw:
        """A law with finitely many losses that dominates."""
        known = self._known

        def edges() -> list[Atom]:
            found = hull(rounded(known.above(), -1))
            most = self._top().exp() if self._infinite().is_zero() else arb.pos_inf()
            most_back = self._top_back().exp() if self._infinite_back().is_zero() else arb.pos_inf()
            return within_ratios(found, ratio_above(most), ratio_above(most_back))

        return finite_law(at_precision(BALL_BITS, edges))

    def _made_below(self) -> LossLaw:
        """A law with finitely many losses that is dominated."""
        known = self._known

        def points() -> list[tuple[Fraction, Fraction]]:
            unit = 2**GRID_BITS
            found = [(ceiling(q * unit), floor(p * unit)) for q, p in known.tests_below(self._infinite().lower())]
            return [(Fraction(q, unit), Fraction(p, unit)) for q, p in found if 0 <= q <= unit and p >= q]

        return finite_law(hull(at_precision(BALL_BITS, points)))

    @cached_property
    def _known(self) -> KnownProfile:
        """The profile at chosen points, in both directions."""
        try:
            return at_precision(BALL_BITS, self._chosen)
        except (ArithmeticError, ValueError):
            raise NotCertified("the losses of random allocation are too extreme for a finite law") from None

    def _height(self, loss: float) -> arb:
        """An upper bound on H(e^loss), for a loss of either sign, less P(L = +inf) and 1 - e^loss where these count."""
        g = arb(loss).exp()
        return self._delta(g, self.coarse.upper(g * self.batches))

    def _chosen(self) -> KnownProfile:
        first, last = self._range()
        coarse = [first + (last - first) * n / COARSE_LOSSES for n in range(COARSE_LOSSES + 1)]
        places = _spread(coarse, [self._height(loss) for loss in coarse])
        x = [arb(exp(loss)) for loss in places]
        if self._top() <= last:
            x[-1] = self._top().exp().upper()
        if self._top_back() <= -first:
            x[0] = (-self._top_back()).exp().lower()
        ends = [self.coarse.ends(g * self.batches) for g in x]
        lowest = [self._delta(g, low) for g, (low, _) in zip(x, ends, strict=True)]
        highest = [self._delta(g, high) for g, (_, high) in zip(x, ends, strict=True)]
        # Beyond the largest finite losses only those count that are infinite: coarse sums do not tell.
        if self._top() <= last:
            highest[-1] = highest[-1].min(self._infinite().upper())
        if self._top_back() <= -first:
            highest[0] = highest[0].min(1 - x[0] + x[0] * self._infinite_back().upper())
        return KnownProfile(x, lowest, highest)

    def _range(self) -> tuple[float, float]:
        """The losses below and above which almost nothing lies."""
        revealed, room = self._infinite().upper(), arb(NEGLIGIBLE) / 4

        def low(loss: float) -> bool:
            return bool(self._height(loss) - revealed < room)

        def high(loss: float) -> bool:
            g = arb(loss).exp()
            return bool(self.coarse.upper(self.batches / g) * g / self.batches - self._infinite_back().upper() < room)

        return -_reach(high, self._top_back()), _reach(low, self._top())


def _reach(negligible: Callable[[float], bool], top: arb) -> float:
    """A loss from which on a profile is negligible, or the largest one."""
    most = above(top) if top.is_finite() else inf
    end = min(RANGE_STEP, most)
    while end < most and not negligible(end):
        end = min(end * (1 + RANGE_STEP), most)
        if end > LARGEST_LOSS and end < most:
            raise NotCertified("the losses of an epoch are too large for floats")
    return end


def _spread(losses: list[float], heights: list[arb]) -> list[float]:
    """Points of which most lie where the loss is likely: by the third root of its density, which chords ask for."""
    x = [arb(loss).exp() for loss in losses]
    falls = [(heights[n] - heights[n + 1]) / (x[n + 1] - x[n]) for n in range(len(x) - 1)]
    jumps = [0.0] + [max(float((falls[n] - falls[n + 1]).mid()), 0.0) for n in range(len(falls) - 1)] + [0.0]
    sizes = [(jump * (1 + exp(loss))) ** (1 / 3) for jump, loss in zip(jumps, losses, strict=True)]
    sizes = [(a + b) / 2 for a, b in pairwise(sizes)]
    whole = sum(sizes) or 1.0
    steps = [(1 - EVEN_PART) * size / whole + EVEN_PART / len(sizes) for size in sizes]
    found, level, cell = [losses[0]], 0.0, 0
    for n in range(1, FINE_LOSSES):
        while cell < len(steps) - 1 and level + steps[cell] < n / FINE_LOSSES:
            level += steps[cell]
            cell += 1
        part = min(max((n / FINE_LOSSES - level) / steps[cell], 0.0), 1.0)
        place = losses[cell] + (losses[cell + 1] - losses[cell]) * part
        if place > found[-1]:
            found.append(place)
    return [*found, losses[-1]] if found[-1] < losses[-1] else found
