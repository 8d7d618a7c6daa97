"""`Plan`: the composition of mechanisms fixed beforehand, written as a sum; it is a `Curve` again."""

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


LARGEST_COUNT = 10**12  # the largest number of uses of one mechanism
TIGHT = 2e-10  # If its two ends are this close, relatively, rho counts as exact; the search aims at half of it.


class Plan(Curve):
    """A composition with the cumulant K = n_1 K_1 + n_2 K_2 + ..., valid also if queries are chosen adaptively.

    It is written as a sum, `100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)`; each `+` takes constant time, and equal
    parts are merged when the plan is used. Theorem: docs/theorems/composition.md.
    """

    forms: ClassVar[Forms]
    """Readers and writers of plans, set by a package above this one that knows all mechanisms by name."""

    _curve: Curve
    _times: int
    _left: Curve | None
    _relation: Relation

    def __init__(self) -> None:
        raise BadType("write a plan as a sum, 100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1), or use Plan.parse")

    @classmethod
    def _node(cls, curve: Curve, times: int, rest: Curve | None) -> Plan:
        """The plan rest + times * curve, as a link of a chain."""
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
            elif whole._curve is curve:  # The last mechanism is repeated: count it, so that the chain does not grow.
                whole = cls._node(curve, whole._times + 1, whole._left)
            else:
                whole = cls._node(curve, 1, whole)
        if whole is None:
            raise BadValue("a plan needs at least one mechanism")
        return whole

    def __add__(self, other: Curve) -> Plan:
        if other is self._curve:  # The last mechanism is repeated: count it without checks; the chain does not grow.
            plan = object.__new__(Plan)
            plan._curve, plan._times, plan._left = other, self._times + 1, self._left
            plan._relation = self._relation
            return plan
        return Plan.sum_of(self, other)

    @classmethod
    def repeated(cls, curve: Curve, count: int) -> Plan:
        """The composition of `count` uses of the curve."""
        times = integer(count, "count", 1)
        if times > LARGEST_COUNT:
            raise BadValue(f"count ({count}) must be at most 10^12")
        plan = cls._node(curve, times, None)
        if isinstance(curve, Plan):
            plan.parts  # noqa: B018 - this raises at once if a product of counts is too large
        return plan

    @classmethod
    def parse(cls, text: str) -> Plan:
        """The plan from its text, such as `100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)`."""
        return cls.forms.parse(text)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan from the JSON text that `to_json` returns."""
        return cls.forms.load(text)

    def to_json(self) -> str:
        """JSON text: a list of parts, each with its count, mechanism and exact parameters."""
        return Plan.forms.dump(self)

    def leaves(self) -> Iterator[tuple[Curve, int]]:
        """The mechanisms with their counts as they were written, not merged; without recursion, as chains are long."""
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
        """Each different mechanism with its number of uses, sorted by first appearance."""
        same: dict[int, int] = {}  # Merge by identity first: hashing exact parameters takes most of the time.
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
        """The plan of these parts, for pickles."""
        return cls.sum_of(*(cls._node(part, count, None) for part, count in parts))

    @property
    def relation(self) -> Relation:
        """The neighbouring relation of all parts; mechanisms for different relations cannot be composed."""
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
        """The sum of the largest losses if all are rational; None if one is unbounded; raises if one is a logarithm."""
        losses = [(part.largest_loss, count) for part, count in self.parts]
        if any(loss is None for loss, _ in losses):
            return None
        if not all(isinstance(loss, Fraction) for loss, _ in losses):
            raise BadValue("the largest loss is a sum with logarithms, not one exact number: use pure_epsilon")
        return sum((loss * count for loss, count in losses if isinstance(loss, Fraction)), Fraction(0))

    @cached_property
    def pure_epsilon(self) -> float:
        """The sum of the parts' largest losses, rounded up; inf if one of them is unbounded."""
        exact = [(_exact_loss(part), count) for part, count in self.parts]
        if any(loss is None for loss, _ in exact):
            return inf
        fractions = [loss * count for loss, count in exact if isinstance(loss, Fraction)]
        whole = sum(fractions[1:], fractions[0]) if fractions else Fraction(0)
        logs = [(loss, count) for loss, count in exact if isinstance(loss, Log)]
        if not logs:
            return float_above(whole)
        return enclose(lambda: sum((lift(loss) * count for loss, count in logs), lift(whole)))[1]

    def loss_ball(self) -> arb:
        """The sum of the parts' largest losses, at the working precision."""
        return sum((part.loss_ball() * count for part, count in self.parts), arb(0))

    @property
    def laws(self) -> list[tuple[LossLaw | None, int]]:
        """The dominating laws of all parts (None where none is known), with their numbers of uses."""
        return [(one.pair(), count * times) for part, count in self.parts for one, times in part.coordinates]

    def pair(self) -> LossLaw | None:
        """Raises: a plan has one dominating pair for each part, not a single one."""
        raise BadType("ask the parts of a plan for their pairs")

    def peak(self) -> Peak:
        """The sum of the parts' rhos if all are attained at the same order; else raises `NotCertified`."""
        peaks = [(part.peak(), count) for part, count in self.parts]
        order = peaks[0][0].order
        if len(peaks) > 1 and not all(peak.order.is_exact() and peak.order == order for peak, _ in peaks):
            raise NotCertified("the parts peak at different orders")
        return Peak(sum((peak.rho * count for peak, count in peaks), arb(0)), order)

    @cached_property
    def rho_bounds(self) -> tuple[float, float]:
        """Certified floats around the tight rho.

        If the rho of some part is only an upper bound, the lower end is the largest lower end of a single part.
        """
        if self._of_tight_parts or self.unbounded:
            return self._peak_bounds
        return max(float(nextafter(part.rho_bounds[0] * count, 0)) for part, count in self.parts), self.rho

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """Certified floats around rho: the sum over the parts if all peak at one order, else by a search."""
        if self.unbounded:
            return inf, inf
        try:
            return self._certified(lambda: self.peak().rho)
        except NotCertified:  # The parts peak at different orders, or the peak of a part is not known in closed form.
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
        """The exact sum of the parts' rhos, an upper bound on rho; raises if one of them is infinite."""
        return sum((part.rho_fraction * count for part, count in self.parts), Fraction(0))

    @cached_property
    def rho_fraction(self) -> Fraction:
        """The least rational upper bound known for rho. It need not be a float: three uses of rho = 1/10 cost 3/10."""
        most = self._sum_of_rhos
        try:
            return most if self.rho == inf else min(most, Fraction(self.rho))
        except NotCertified:  # The sum over the parts is always an upper bound.
            return most

    def _divergence(self, excess: Fraction) -> float:
        whole = super()._divergence(excess)
        # If the cumulant of a part is only a bound, the part may have a better bound on its divergence.
        return whole if self._of_tight_parts else min(whole, sum_of_divergences(self, excess))

    def _divergence_by_rho(self, excess: Fraction) -> float:
        return min(super()._divergence_by_rho(excess), sum_of_divergences(self, excess))

    def kl(self) -> arb:
        """The sum of the parts' divergences of order 1 (KL)."""
        return sum((part.kl() * count for part, count in self.parts), arb(0))

    @property
    def is_tight(self) -> bool:
        """Whether rho is exact: it is not if that of a part is only a bound, or if the search gave a wide enclosure."""
        if not self._of_tight_parts:
            return False
        lower, upper = self._peak_bounds
        return upper == inf or upper - lower <= TIGHT * upper

    @property
    def _of_tight_parts(self) -> bool:
        """Whether the rho of every part is exact and one direction of the neighbours can attain all of them.

        All parts for add_remove neighbours have the same direction. Two asymmetric ones may cost most in opposite
        directions; then the sum is only a bound. Asymmetric parts of unbounded loss are sampled Gaussian noise, for
        which P with the record always costs more.
        """
        asymmetric = [part for part, _ in self.parts if _differs_by_direction(part)]
        one_direction = len(asymmetric) < 2 or all(part.pure_epsilon == inf for part in asymmetric)
        return one_direction and all(part.is_tight for part, _ in self.parts)

    @property
    def unbounded(self) -> bool:
        """Whether the Renyi divergence of some part is infinite at every order."""
        return any(part.unbounded for part, _ in self.parts)

    def convexes(self) -> list[Convex]:
        """The cumulant of the plan for the certified search for rho, with its summands."""
        parts = [(summand(part), count) for part, count in self.parts]
        return [Convex(self.cumulant, self.kl(), arb(self.pure_epsilon), parts=parts)]

    def search_rho(self, tolerance: float = TOLERANCES[0]) -> tuple[float, float]:
        """Certified floats around rho by a search over all orders of the sum of the cumulants."""
        return search(self, tolerance)


def _differs_by_direction(part: Curve) -> bool:
    """Whether its divergences may differ between the two directions of add_remove neighbours."""
    return part.relation is Relation.ADD_REMOVE and any(law is None or not law.symmetric for law, _ in part.laws)


def _exact_loss(part: Curve) -> Exact | None:
    """The largest loss of a part, rounded up if it has no exact form; None if it is unbounded."""
    try:
        loss = part.largest_loss
    except (AttributeError, TypeError, ValueError):
        loss = None
    return Fraction(part.pure_epsilon) if loss is None and part.pure_epsilon < inf else loss


# Reading and writing of plans. A package above this one supplies the functions, because it knows all mechanisms.


class Forms(NamedTuple):
    """The functions behind `Plan.parse`, `Plan.from_json` and `Plan.to_json`."""

    parse: Callable[[str], Plan]
    """A plan from text, as it would be written in Python."""
    load: Callable[[str], Plan]
    """A plan from JSON."""
    dump: Callable[[Plan], str]
    """A plan to JSON."""
