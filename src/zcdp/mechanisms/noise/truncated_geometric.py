"""The truncated geometric mechanism: two-sided geometric noise, renormalised to the outputs 0..n (not clamped)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, factorial
from typing import Any, ClassVar, NoReturn

from flint import arb, arb_series

from zcdp.errors import BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import at_precision, enclose, lift, working_bits
from zcdp.numeric.exact import Exact, Log, Value, integer, positive
from zcdp.numeric.functions import coefficient, derivatives, exp, expm1, log, log1p, sinhc
from zcdp.numeric.supremum import Supremum, steepest_ratio
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_functions
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair, max_ball
from zcdp.privacy.loss import Claim, envelope_of_balls

__all__ = ["TruncatedGeometric"]


MOST_OUTCOMES = 2_000  # The envelope law is made only if all pairs together have at most so many outcomes.
ENVELOPE_BITS = 320  # of the masses in the envelope law
MOST_PAIRS = 2_000  # pairs of inputs that are searched
FEW_PAIRS = 4  # With fewer pairs than this all are searched, without a heuristic for the worst one.
LEAST_EPSILON = 1e-300  # against division by 0 in floats
WITNESS_SCALES = (0, 0.5, 2)  # distances from the end, in scales of the noise, of the pairs used for lower bounds
RUN_PARTS = 4  # A run of pairs that may contain the worst one is divided into so many parts.
ROUNDING_BITS = 16  # Pairs that may differ only in so many last bits of the working precision are not told apart.
SMALL_LOSS, SMALL_TERMS = arb(2) ** -16, 10  # For losses below the first, so many terms of a power series are enough.
FAR_BITS = 128  # Inputs so far from both ends that less than 2^-128 of the noise is cut off are treated together.
MOST_USEFUL_BITS = 1024  # Above it FAR_BITS limits the accuracy, so more bits gain nothing and pairs are not cached.
PAIR_FUNCTIONS, SERIES_FUNCTIONS = 18, 100  # cost of making a pair, or of its moment; and of the moment as a series


@dataclass(frozen=True)
class _Shift(FinitePair):
    """The pair of inputs x and x + d: the two end outcomes of `FinitePair`, and d - 1 outcomes between them.

    These have the P-masses inside * e^{-ty} and the losses losses[0] - 2ty, 0 < y < d.
    """

    t: arb
    d: int
    inside: arb

    def _moment(self, s: Any) -> Any:
        """E_P e^{sL}, for a ball or a series s."""
        count_functions(SERIES_FUNCTIONS if isinstance(s, arb_series) else PAIR_FUNCTIONS)
        total = sum((mass * exp(s * loss) for mass, loss in self._outcomes()), arb(0))
        if self.d > 1:
            fall = self.t * (1 + 2 * s)
            run = (self.d - 1) * exp(-self.d * fall / 2) * sinhc((self.d - 1) * fall / 2) / sinhc(fall / 2)
            total = total + self.inside * exp(s * self.losses[0]) * run
        return total

    def _cumulant(self, s: Any) -> Any:
        return log(self._moment(s))

    def value(self, s: arb) -> arb:
        result: arb = self._cumulant(s)
        return result

    def taylor(self, s: arb) -> tuple[arb, arb, arb]:
        return derivatives(self._cumulant(arb_series([s, 1], prec=3)))

    def kl(self) -> arb:
        largest = max_ball([abs(loss) for loss in self.losses])
        if not largest < SMALL_LOSS:
            return coefficient(self._cumulant(arb_series([0, 1], prec=2)), 1)
        # As E e^-L = 1, E L is the alternating sum of E L^j/j! over j >= 2: computed so, no digits cancel.
        moments = self._moment(arb_series([0, 1], prec=SMALL_TERMS))
        rest = (largest**SMALL_TERMS * largest.exp() / factorial(SMALL_TERMS)).upper()
        return sum(((-1) ** j * coefficient(moments, j) for j in range(2, SMALL_TERMS)), arb(0, rest))

    def outcomes(self) -> list[tuple[arb, arb]]:
        """The (P-mass, Q-mass) of all outcomes, the largest ratio first."""
        top = self.losses[0]
        inside = [(self.inside * exp(-self.t * y), top - 2 * self.t * y) for y in range(1, self.d)]
        (first, _), (last, least) = self._outcomes()
        return [(mass, mass * exp(-loss)) for mass, loss in ((first, top), *inside, (last, least))]


@dataclass(frozen=True, init=False, repr=False)
class TruncatedGeometric(FiniteEnvelope, Mechanism):
    """Output y in 0..n on input x in 0..n with probability proportional to e^{-t|x-y|}, t = epsilon/sensitivity.

    Renormalising is not clamping: the constant depends on x, and the pure epsilon exceeds `epsilon`. The guarantee is
    certified over all pairs of inputs within the sensitivity; more than 2000 different pairs are refused. (Clamping the
    unrestricted noise costs what the noise costs, for any n.) Theorem: docs/theorems/truncated-geometric.md.

    >>> m = TruncatedGeometric(epsilon=1, n=5)
    >>> m.rho, m.pure_epsilon
    (0.47346323346307695, 1.206080588268287)
    """

    theorem: ClassVar[str] = "truncated-geometric"
    budget = None
    epsilon: Exact
    n: int
    """The largest answer."""
    sensitivity: int = 1

    def __init__(self, *, epsilon: Value, n: Value, sensitivity: Value = 1) -> None:
        rate, top, distance = positive(epsilon, "epsilon"), integer(n, "n", 1), integer(sensitivity, "sensitivity", 1)
        if distance > top:
            raise BadValue(f"sensitivity ({sensitivity}) must be at most n ({n}), the largest distance there is")
        self._set(epsilon=rate, n=top, sensitivity=distance)
        if not self._inputs():
            raise BadValue(
                f"n ({n}) gives more than {MOST_PAIRS} different pairs of inputs, the most that are searched: "
                "clamp DiscreteLaplace instead, which costs what its noise costs"
            )

    @property
    def largest_loss(self) -> NoReturn:
        raise AttributeError("the largest loss of a truncated geometric has no closed form: see pure_epsilon")

    def group(self, size: Value) -> TruncatedGeometric:
        """Inputs at a distance of `size` neighbours: the same noise, with a larger sensitivity, at most n."""
        distance = min(integer(size, "size", 1) * self.sensitivity, self.n)
        if isinstance(self.epsilon, Log):
            raise BadValue(f"epsilon ({self.epsilon}) of a group is no logarithm of a rational: give it as a number")
        return TruncatedGeometric(epsilon=self.epsilon * distance / self.sensitivity, n=self.n, sensitivity=distance)

    def pair(self) -> Claim | None:
        """The envelope of all pairs of inputs; if they are too many, the pair of binary randomized response.

        Theorem: docs/theorems/envelope.md.
        """
        pure = super().pair()
        if (self.n - self.sensitivity + 1) * (self.sensitivity + 1) > MOST_OUTCOMES:
            return pure

        def claim() -> Claim | None:
            pairs = [pair.outcomes() for pair in self.pairs()]
            found = envelope_of_balls(pairs, coarser=pure)
            if found is None:
                return None
            # Which pair is the worst depends on epsilon: at an end of the range the largest losses are larger, further
            # away more losses are large.
            scale = min(self.sensitivity / max(enclose(lambda: lift(self.epsilon))[0], LEAST_EPSILON), len(pairs))
            places = {int(min(some * scale, len(pairs) // 2)) for some in WITNESS_SCALES}
            ends = (envelope_of_balls([pairs[n]]) for n in sorted(places))
            return replace(found, lower=found.lower + tuple(parts for end in ends if end for parts in end.lower))

        return at_precision(ENVELOPE_BITS, claim) or pure

    def _inputs(self) -> Sequence[tuple[int, int]]:
        """For each pair of inputs the numbers of outputs below x and above x + sensitivity; empty if they are too many.

        One entry stands for all pairs that are so far from both ends that a negligible part of the noise is cut off.
        """
        rest = self.n - self.sensitivity
        if rest < MOST_PAIRS:
            return [(x, rest - x) for x in range(rest + 1)]
        far = enclose(lambda: FAR_BITS * arb.const_log2() * self.sensitivity / lift(self.epsilon))[1]
        if 2 * far >= min(rest, MOST_PAIRS) - 2:
            return []
        near, beyond = [(x, rest - x) for x in range(ceil(far))], ceil(far)
        return [*near, (beyond, beyond), *((right, left) for left, right in reversed(near))]

    def pairs(self) -> Sequence[_Shift]:
        """The pairs of inputs (x, x + sensitivity) for all x.

        Those in the other direction are their mirror images, and no pair at a smaller distance is worse.
        Theorem: docs/theorems/likelihood-ratio.md.
        """
        made = self._made()
        return [made(inputs, inputs) for inputs in self._inputs()]

    def _made(self) -> Callable[[tuple[int, int], tuple[int, int]], _Shift]:
        """A function that makes a pair enclosing those of all entries of `_inputs` from a first to a last one.

        For equal entries it is the pair of that entry. From the first to the last entry the part of the noise that is
        cut off below decreases, and that cut off above increases.
        """
        d, t = self.sensitivity, lift(self.epsilon) / self.sensitivity
        least, middle = exp(-t * d), -exp(-t) * expm1(-t * (d - 1))
        kept = self._kept.setdefault(working_bits(), {})

        def made(first: tuple[int, int], last: tuple[int, int]) -> _Shift:
            count_functions(PAIR_FUNCTIONS)
            found = kept.get((first, last)) or make(first, last)
            if working_bits() <= MOST_USEFUL_BITS and len(kept) < 2 * MOST_PAIRS:
                kept[first, last] = found
            return found

        def make(first: tuple[int, int], last: tuple[int, int]) -> _Shift:
            left, right = first
            low, high = -expm1(-t * (left + 1)), -expm1(-t * (right + 1))
            single = first == last
            if not single:
                low, high = low.union(-expm1(-t * (last[0] + 1))), high.union(-expm1(-t * (last[1] + 1)))
            together = any(sum(entry) < self.n - d for entry in (first, last))
            if together:  # It stands for all pairs from this one to one without any cut.
                low, high = low.union(arb(1)), high.union(arb(1))
            whole = low + middle + least * high
            one = single and not together
            # With both ends cut off, W'/W - 1 = (A - B)(1 - e^-td)/W; this form of A - B has no cancellation.
            apart = exp(-t * (min(first) + 1)) * expm1(-t * abs(right - left))
            more = (apart if left > right else -apart) if one else high - low
            shift = arb(0) if one and left == right else log1p(-more * expm1(-t * d) / whole)
            ends = [low / whole, least * high / whole], [t * d + shift, shift - t * d]
            return _Shift(*ends, t, d, -expm1(-t) / whole)

        return made

    @cached_property
    def _kept(self) -> dict[int, dict[tuple[tuple[int, int], tuple[int, int]], _Shift]]:
        """Pairs made so far, by the working precision: every order alpha that is evaluated needs them again."""
        return {}

    def _largest(self, quantity: Callable[[FinitePair], arb]) -> arb:
        """The largest value of a quantity over all pairs, by branch and bound.

        A run of pairs is left out if a bound on all of them is not above the value of another pair.
        """
        if (
            self.n - self.sensitivity >= MOST_PAIRS and working_bits() > MOST_USEFUL_BITS
        ):  # FAR_BITS limits the accuracy.
            return at_precision(MOST_USEFUL_BITS, lambda: self._largest(quantity))
        inputs, made = self._inputs(), self._made()
        found = [arb(0), *(quantity(made(inputs[n], inputs[n])) for n in {0, len(inputs) // 2, len(inputs) - 1})]
        best = max_ball(found).lower()
        pending = [(0, len(inputs))]
        while pending:
            start, end = pending.pop()
            value = quantity(made(inputs[start], inputs[end - 1]))
            if value <= best:
                continue
            if end - start == 1 or value.rel_accuracy_bits() > working_bits() - ROUNDING_BITS:
                found.append(value)
                best = best.max(value.lower())
                continue
            size = -(-(end - start) // RUN_PARTS)
            pending += [(n, min(n + size, end)) for n in range(start, end, size)]
        return max_ball(found)

    def _search(self, tolerance: float) -> Supremum:
        return _searched(self, tolerance)

    def candidates(self) -> Sequence[int] | None:
        """The index of the pair with the largest D(alpha)/alpha on a grid of orders, in floats; None if pairs are few.

        It is a heuristic start of the search. Beyond the range of floats it is both ends and the middle; the certified
        search finds a worse pair in any case.
        """
        inputs = self._inputs()
        if len(inputs) < FEW_PAIRS:
            return None
        some = [0, len(inputs) // 2, len(inputs) - 1]
        if self.n > 2**53:
            return some
        import numpy as np

        d, t = self.sensitivity, float(lift(self.epsilon)) / self.sensitivity
        with np.errstate(all="ignore"):
            low, high = (-np.expm1(-t * (np.array(beyond, dtype=float) + 1)) for beyond in zip(*inputs, strict=True))
            least, middle = np.exp(-t * d), -np.exp(-t) * np.expm1(-t * (d - 1))
            whole = low + middle + least * high
            top = t * d + np.log((high + middle + least * low) / whole)
            best = np.full(len(low), -np.inf)
            for s in np.geomspace(1e-3, 1e3, 40) / max(t * d, 1e-3):
                fall = t * (1 + 2 * s)
                run = np.exp(-fall) * np.expm1(-(d - 1) * fall) / np.expm1(-fall)
                moment = (low + least * high * np.exp(-2 * t * d * s) - np.expm1(-t) * run) / whole
                best = np.maximum(best, (s * top + np.log(moment)) / (s * (1 + s)))
        return [int(best.argmax())] if np.isfinite(best).all() else some


@lru_cache(maxsize=64)
def _searched(mechanism: TruncatedGeometric, tolerance: float) -> Supremum:
    """The certified search over all pairs, cached: a calibration makes equal mechanisms often."""
    return steepest_ratio(mechanism.convexes, tolerance, mechanism.candidates())
