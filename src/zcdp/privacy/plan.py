"""Composition: a sum of curves, each with a count, is a curve again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import inf, nextafter
from typing import ClassVar, NamedTuple

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import NotCertified, enclose, lift
from zcdp.numeric.exact import Exact, Log, integer
from zcdp.numeric.functions import Number
from zcdp.numeric.search import float_above
from zcdp.numeric.supremum import VALUE_WORK, Convex
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_functions
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss import LossLaw
from zcdp.privacy.relation import Relation
from zcdp.privacy.rho_search import TOLERANCES, search, searched_rho, sum_of_divergences, summand

__all__ = ["LARGEST_COUNT", "Forms", "Plan"]


LARGEST_COUNT = 10**12
TIGHT = 2e-10  # Two ends of rho so close count as its exact value: the search over orders is asked for it.


class Plan(Curve):
    """A composition: K = n_1 K_1 + n_2 K_2 + ..., adaptive choices included; equal parts are merged.

    Written as it reads, `100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)`; each `+` takes constant time.
    Theorem: docs/theorems/composition.md.
    """

    forms: ClassVar[Forms]
    """Supplied by `zcdp.accounting`, which knows the mechanisms by name."""

    _curve: Curve
    _times: int
    _left: Curve | None
    _relation: Relation

    def __init__(self) -> None:
        raise BadType("write a plan as a sum, 100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1), or use Plan.parse")

    @classmethod
    def _node(cls, curve: Curve, times: int, rest: Curve | None) -> Plan:
        plan = object.__new__(cls)
        plan._curve, plan._times, plan._left = curve, times, rest
        plan._relation = curve.relation if rest is None else rest.relation.joined(curve.relation)
        return plan

    @classmethod
    def sum_of(cls, *curves: Curve) -> Plan:
        """The composition of the curves."""
        whole: Plan | None = None
        for curve in curves:
            if not isinstance(curve, Curve):
                raise BadType(f"{curve!r} is not a mechanism or a plan")
            if whole is None:
                # A plan at the left is the chain itself, and needs no wrapping.
                whole = curve if isinstance(curve, Plan) else cls._node(curve, 1, None)
            elif whole._curve is curve:  # It is the same once more, and the chain does not grow.
                whole = cls._node(curve, whole._times + 1, whole._left)
            else:
                whole = cls._node(curve, 1, whole)
        if whole is None:
            raise BadValue("a plan needs at least one mechanism")
        return whole

    def __add__(self, other: Curve) -> Plan:
        if other is self._curve:  # A release repeats itself: there is nothing to check, and the chain does not grow.
            plan = object.__new__(Plan)
            plan._curve, plan._times, plan._left = other, self._times + 1, self._left
            plan._relation = self._relation
            return plan
        return Plan.sum_of(self, other)

    @classmethod
    def repeated(cls, curve: Curve, count: int) -> Plan:
        """`count` times the curve."""
        times = integer(count, "count", 1)
        if times > LARGEST_COUNT:
            raise BadValue(f"count ({count}) must be at most 10^12")
        plan = cls._node(curve, times, None)
        if isinstance(curve, Plan):
            plan.parts  # noqa: B018 - a product of counts is refused where it is written
        return plan

    @classmethod
    def parse(cls, text: str) -> Plan:
        """The plan that the text spells: `100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)`."""
        return cls.forms.parse(text)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The inverse of `to_json`."""
        return cls.forms.load(text)

    def to_json(self) -> str:
        """A list of parts: count, mechanism, and its parameters without loss."""
        return Plan.forms.dump(self)

    def leaves(self) -> Iterator[tuple[Curve, int]]:
        """Parts with their counts, in the order they were written; no recursion, so a plan may be a long chain."""
        stack: list[tuple[Curve, int]] = [(self, 1)]
        while stack:
            curve, times = stack.pop()
            if not isinstance(curve, Plan):
                yield curve, times
                continue
            stack.append((curve._curve, times * curve._times))
            if curve._left is not None:
                stack.append((curve._left, times))

    @cached_property
    def parts(self) -> tuple[tuple[Curve, int], ...]:
        """Each different mechanism with how often it runs, in the order of their first appearance."""
        same: dict[int, int] = {}  # First by identity, as hashing exact parameters costs more than all the rest.
        found: dict[int, Curve] = {}
        for part, count in self.leaves():
            key = id(part)
            found[key] = part
            same[key] = same.get(key, 0) + count
        parts = [(part, same[key]) for key, part in found.items()]
        if len(parts) > 1:
            merged: dict[Curve, int] = {}
            for part, count in parts:
                merged[part] = merged.get(part, 0) + count
            parts = list(merged.items())
        for part, count in parts:
            if count > LARGEST_COUNT:
                raise BadValue(f"count ({count}) of {type(part).__name__} in all must be at most 10^12")
        return tuple(parts)

    def __repr__(self) -> str:
        return " + ".join(repr(part) if count == 1 else f"{count} * {part!r}" for part, count in self.parts)

    def __eq__(self, other: object) -> bool:
        return dict(self.parts) == dict(other.parts) if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.parts))

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[tuple[tuple[Curve, int], ...]]]:
        return Plan._of, (self.parts,)

    @classmethod
    def _of(cls, parts: tuple[tuple[Curve, int], ...]) -> Plan:
        return cls.sum_of(*(cls._node(part, count, None) for part, count in parts))

    @property
    def relation(self) -> Relation:
        """The one relation of all parts; mechanisms for different ones do not add up."""
        return self._relation

    def cumulant(self, s: Number) -> Number:
        """The sum of the parts' cumulants."""
        count_functions(VALUE_WORK * len(self.parts))
        (first, count), *others = self.parts
        total = first.cumulant(s) * count
        for part, times in others:
            total = total + part.cumulant(s) * times
        return total

    @property
    def largest_loss(self) -> Exact | None:
        """The sum of the largest losses, where it is rational."""
        losses = [(part.largest_loss, count) for part, count in self.parts]
        if any(loss is None for loss, _ in losses):
            return None
        if not all(isinstance(loss, Fraction) for loss, _ in losses):
            raise BadValue("the largest loss is a sum with logarithms, not one exact number: use pure_epsilon")
        return sum((loss * count for loss, count in losses if isinstance(loss, Fraction)), Fraction(0))

    @cached_property
    def pure_epsilon(self) -> float:
        """The sum of the parts' largest losses, rounded up; inf where one of them is unbounded."""
        exact = [(_exact_loss(part), count) for part, count in self.parts]
        if any(loss is None for loss, _ in exact):
            return inf
        whole = sum((loss * count for loss, count in exact if isinstance(loss, Fraction)), Fraction(0))
        logs = [(loss, count) for loss, count in exact if isinstance(loss, Log)]
        if not logs:
            return float_above(whole)
        return enclose(lambda: sum((lift(loss) * count for loss, count in logs), lift(whole)))[1]

    def loss_ball(self) -> arb:
        """The sum of the parts' largest losses, at the working precision."""
        return sum((part.loss_ball() * count for part, count in self.parts), arb(0))

    @property
    def laws(self) -> list[tuple[LossLaw | None, int]]:
        """Those of all parts."""
        return [(one.pair(), count * times) for part, count in self.parts for one, times in part.coordinates]

    def pair(self) -> LossLaw | None:
        """A plan has one pair for each part, no single one."""
        raise BadType("ask the parts of a plan for their pairs")

    def peak(self) -> Peak:
        """The sum of the parts' peaks, where all are attained at one and the same order."""
        peaks = [(part.peak(), count) for part, count in self.parts]
        order = peaks[0][0].order
        if len(peaks) > 1 and not all(peak.order.is_exact() and peak.order == order for peak, _ in peaks):
            raise NotCertified("the parts peak at different orders")
        return Peak(sum((peak.rho * count for peak, count in peaks), arb(0)), order)

    @cached_property
    def rho_bounds(self) -> tuple[float, float]:
        """Floats that enclose the tight rho; where some part has only an upper bound, the rest is the lower end."""
        if self._of_tight_parts or self.unbounded:
            return self._peak_bounds
        return max(float(nextafter(part.rho_bounds[0] * count, 0)) for part, count in self.parts), self.rho

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """rho as a sum where all parts peak at one order, else as its own certified supremum, at most that sum."""
        if self.unbounded:
            return inf, inf
        try:
            return self._certified(lambda: self.peak().rho)
        except NotCertified:  # They peak at different orders, or a part's own peak is searched.
            pass
        if len(self.parts) == 1:
            [(part, count)] = self.parts
            ends = (0.0 if part.rho == inf else part._peak_bounds[0]), part.rho
            low, high = (Fraction(0 if end == inf else end) * count for end in ends)
            return enclose(lambda: lift(low))[0], inf if part.rho == inf else enclose(lambda: lift(high))[1]
        upper = inf if any(part.rho == inf for part, _ in self.parts) else enclose(lambda: lift(self._sum_of_rhos))[1]
        return searched_rho(self, upper)

    @cached_property
    def _sum_of_rhos(self) -> Fraction:
        """An upper bound on rho; an infinite one is refused."""
        return sum((part.rho_fraction * count for part, count in self.parts), Fraction(0))

    @cached_property
    def rho_fraction(self) -> Fraction:
        """The least rational known that bounds rho: three times a rho of 1/10 are 3/10, which no float is."""
        most = self._sum_of_rhos
        try:
            return most if self.rho == inf else min(most, Fraction(self.rho))
        except NotCertified:  # The sum of the parts is a bound whatever their composition does.
            return most

    def _divergence(self, excess: Fraction) -> float:
        whole = super()._divergence(excess)
        # The curve of a part that is only a bound may be above what is known of it otherwise.
        return whole if self._of_tight_parts else min(whole, sum_of_divergences(self, excess))

    def _divergence_by_rho(self, excess: Fraction) -> float:
        return min(super()._divergence_by_rho(excess), sum_of_divergences(self, excess))

    def kl(self) -> arb:
        """The sum of the parts' divergences of order 1."""
        return sum((part.kl() * count for part, count in self.parts), arb(0))

    @property
    def is_tight(self) -> bool:
        """Whether rho is the exact value: not where a part's is a bound, nor where the search over orders gave up."""
        if not self._of_tight_parts:
            return False
        lower, upper = self._peak_bounds
        return upper == inf or upper - lower <= TIGHT * upper

    @property
    def _of_tight_parts(self) -> bool:
        """Whether the rho of every part is its exact value, and one order of the neighbours may attain all of them.

        Ordered parts face the same way, and two of them may cost most in different orders: then the sum is a bound. Of
        sampled Gaussian noise, whose loss is unbounded, the order with the record always costs more.
        """
        ordered = [part for part, _ in self.parts if _differs_by_direction(part)]
        one_direction = len(ordered) < 2 or all(part.pure_epsilon == inf for part in ordered)
        return one_direction and all(part.is_tight for part, _ in self.parts)

    @property
    def unbounded(self) -> bool:
        """Whether some part is."""
        return any(part.unbounded for part, _ in self.parts)

    def convexes(self) -> list[Convex]:
        """What the certified search over orders needs: the sum of the parts, each with what is known of it."""
        parts = [(summand(part), count) for part, count in self.parts]
        return [Convex(self.cumulant, self.kl(), arb(self.pure_epsilon), parts=parts)]

    def search_rho(self, tolerance: float = TOLERANCES[0]) -> tuple[float, float]:
        """Floats around rho by a certified search over all orders of the sum of the curves."""
        return search(self, tolerance)


def _differs_by_direction(part: Curve) -> bool:
    """Whether its costs may differ between the two orders of add_remove neighbours."""
    return part.relation is Relation.ADD_REMOVE and any(law is None or not law.symmetric for law, _ in part.laws)


def _exact_loss(part: Curve) -> Exact | None:
    """The largest loss of a part, rounded up where it has no exact form; None where it is unbounded."""
    try:
        loss = part.largest_loss
    except (AttributeError, TypeError, ValueError):
        loss = None
    return Fraction(part.pure_epsilon) if loss is None and part.pure_epsilon < inf else loss


# How a plan is written down and read again: supplied from above, by those who know the mechanisms by name.


class Forms(NamedTuple):
    """The three functions that `Plan.parse`, `Plan.from_json` and `to_json` call."""

    parse: Callable[[str], Plan]
    """From text, as it would be written in Python."""
    load: Callable[[str], Plan]
    """From JSON."""
    dump: Callable[[Plan], str]
    """To JSON."""
