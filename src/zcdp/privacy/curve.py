"""`Curve`: anything with a privacy-loss cumulant K(s), and what follows from K: rho, Renyi DP, (epsilon, delta).

Curves add up to a `Plan`, the composition of mechanisms that is fixed beforehand, which is a `Curve` again.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

from flint import arb, arb_series

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import NotCertified, above, at_precision, below, enclose, lift
from zcdp.numeric.exact import Exact, Log, Value, float_above, float_below, in_domain, integer, probability, rational
from zcdp.numeric.functions import Number, coefficient, derivatives
from zcdp.numeric.supremum import VALUE_WORK, Convex, steepest_ratio
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_functions
from zcdp.privacy.loss import Claim, three_point_pair
from zcdp.privacy.relation import Relation
from zcdp.privacy.rho_search import (
    LARGEST_QUICK_ORDER,
    TOLERANCES,
    Peak,
    from_below,
    is_infinite,
    quick_divergence,
    search,
    searched_rho,
    sum_of_divergences,
    summand,
)
from zcdp.text.calls import spoken_class
from zcdp.text.notebook import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from zcdp.privacy.profile.profile import Profile
    from zcdp.privacy.routes import Routes
    from zcdp.privacy.tradeoff import TradeOff

__all__ = ["AUTHORS_ONLY", "LARGEST_COUNT", "Curve", "Forms", "Peak", "Plan", "why_infinite"]

INTEGRATED_BITS = 128
AUTHORS_ONLY = {
    *(
        "adds_up",
        "budget",
        "claims",
        "convexes",
        "coordinates",
        "cumulant",
        "curve_of_pair",
        "forms",
        "is_envelope",
        "is_integrated",
        "kl",
        "local",
    ),
    *("loss_ball", "noise", "pair", "peak", "profile", "shape", "theorems", "usual_divisor", "usual_losses", "witness"),
}
"""Members for authors of mechanisms; `dir` and the reference pages show users only the others."""


@spoken_class
class Curve(metaclass=ABCMeta):
    """A mechanism or a composition, whose privacy loss L = log dP/dQ has the cumulant K(s) = log E_P exp(s L).

    K is that of the worst pair of neighbours (P, Q). With alpha = 1 + s, the Renyi divergence of order alpha is K(s)/s,
    its limit at order 1 is the KL divergence K'(0), and rho is the supremum over s > 0 of K(s)/(s(1+s)).
    Theorem: docs/theorems/cumulant.md.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrong arguments raise an error that names the class and the parameter, as the caller wrote them."""
        super().__init_subclass__(**options)
        spoken_class(cls)

    def __dir__(self) -> list[str]:
        """The members for users, without those for authors of mechanisms."""
        return [name for name in super().__dir__() if name not in AUTHORS_ONLY]

    @abstractmethod
    def cumulant(self, s: Number) -> Number:
        """K(s), s = alpha - 1, at the working precision; K(0) = 0."""

    @property
    @abstractmethod
    def largest_loss(self) -> Exact | None:
        """The exact supremum of the privacy loss; None if it is unbounded."""

    is_envelope: ClassVar[bool] = False
    """Whether K is a maximum over several pairs, another one at each order: it is convex, but not a cumulant itself."""

    @abstractmethod
    def peak(self) -> Peak:
        """rho and the order alpha that attains it, at the working precision, as a theorem states them."""

    @property
    def is_tight(self) -> bool:
        """True: rho is the exact value. False: rho is a proven upper bound, and rho_bounds an enclosure."""
        return True

    @property
    def unbounded(self) -> bool:
        """Whether the Renyi divergence is infinite at every order, as if some outcome reveals the input; rho is inf."""
        return False

    def witness(self) -> arb:
        """A lower bound on rho that a concrete pair attains, as a ball; for curves whose `peak` is an upper bound."""
        raise NotCertified(f"{self!r} has no concrete pair for a lower bound")

    @cached_property
    def pure_epsilon(self) -> float:
        """The least float epsilon for which pure epsilon-DP holds; inf if there is none."""
        loss = self.largest_loss
        if isinstance(loss, Fraction):
            return float_above(loss)
        return inf if loss is None else enclose(lambda: lift(loss))[1]

    def _repr_html_(self) -> str:
        """What a notebook shows: rho, pure epsilon, neighbours and theorem, and the profile if it takes a moment."""
        return shown(self)

    @cached_property
    def rho_bounds(self) -> tuple[float, float]:
        """Certified floats (lower, upper) around the tight zCDP parameter."""
        return self._peak_bounds if self.is_tight else (from_below(self.witness), self.rho)

    @property
    def rho(self) -> float:
        """The tight zCDP parameter (see `is_tight`), rounded up: never below the truth."""
        return self._peak_bounds[1]

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """Certified floats around the rho of `peak`."""
        return self._certified(lambda: self.peak().rho)

    @cached_property
    def rho_fraction(self) -> Fraction:
        """`rho` as an exact rational, for sums that must not be rounded; raises if rho is infinite."""
        return rational(self.rho, "rho")

    @cached_property
    def rho_order(self) -> float:
        """The order alpha at which D(alpha)/alpha attains rho; 1.0 means in the limit alpha -> 1."""
        return enclose(lambda: self.peak().order, floor=1.0)[0]

    @overload
    def rdp(self, order: Value) -> float: ...

    @overload
    def rdp(self, order: ArrayLike) -> float | np.ndarray: ...

    def rdp(self, order: Value | ArrayLike) -> float | np.ndarray:
        """Tight Renyi divergence at an order in [1, inf], or at each of an array of orders; rounded up.

        Order 1 is the Kullback-Leibler divergence, order infinity the pure epsilon.
        """
        if (type(order) is float or type(order) is int) and 1 < order < LARGEST_QUICK_ORDER:
            found = self._quick(float(order))
            if found is not None:
                return found
        if isinstance(order, Real | Decimal | str):
            return self._rdp(order)
        import numpy as np

        # An array of objects keeps each order exact: numpy would convert a large int beside a float to a float.
        orders = order if isinstance(order, np.ndarray) else np.array(order, dtype=object)
        flat = [self._rdp(one) for one in orders.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(orders.shape)

    def _quick(self, order: float) -> float | None:
        """The divergence, rounded up, if one evaluation pins it down and no subclass overrides `_divergence`."""
        if self.unbounded or type(self)._divergence is not Curve._divergence:
            return None
        found = quick_divergence(self.cumulant, order)
        return None if found is None else min(found, self.pure_epsilon)

    def _rdp(self, order: Value) -> float:
        if is_infinite(order):
            return self.pure_epsilon
        excess = rational(order, "order") - 1
        if excess < 0:
            raise BadValue(f"order ({order}) must be at least 1")
        in_domain(1 + excess, "order", order)
        return self._divergence(excess)

    def _divergence(self, excess: Fraction) -> float:
        """The Renyi divergence of order 1 + excess, rounded up."""
        if self.unbounded:
            return inf

        def divergence() -> arb:
            if not excess:
                return self.kl()
            s = lift(excess)
            return self.cumulant(s) / s

        # If K is only a bound, K(s)/s may exceed the largest loss, which bounds every divergence.
        try:
            return min(self._certified(divergence)[1], self.pure_epsilon)
        except NotCertified:  # K cannot be evaluated at this order, but D(alpha) <= alpha rho always holds.
            if self.rho == inf:
                raise
            return min(self._divergence_by_rho(excess), self.pure_epsilon)

    def _divergence_by_rho(self, excess: Fraction) -> float:
        """The bound alpha rho on the Renyi divergence of order alpha = 1 + excess, rounded up."""
        return enclose(lambda: lift((1 + excess) * Fraction(self.rho)))[1]

    def _certified(self, evaluate: Callable[[], arb]) -> tuple[float, float]:
        """Certified floats around a divergence, which is at most the largest loss."""
        if any(part.is_integrated for part, _ in self.parts):  # more bits make integrals slower, and hardly sharper
            ball = at_precision(INTEGRATED_BITS, evaluate)
            if not ball.is_finite():
                raise NotCertified("a Renyi divergence of this density is not known: ask for epsilon at a delta")
            return max(below(ball), 0.0), min(above(ball), self.pure_epsilon)
        lower, upper = enclose(evaluate)
        if upper > nextafter(lower, inf):  # The value is close to the float in between, which may be the largest loss.
            upper = min(upper, self.pure_epsilon)
        return lower, upper

    def loss_ball(self) -> arb:
        """The largest loss as a ball, or as the float above it if it has no exact form; +inf if it is unbounded."""
        try:
            loss = self.largest_loss
        except (AttributeError, TypeError, ValueError):  # The largest loss has no exact form.
            loss = None
        return arb(self.pure_epsilon) if loss is None else lift(loss)

    def kl(self) -> arb:
        """K'(0), the divergence of order 1 (KL), at the working precision, from the power series of K at 0."""
        return coefficient(self.cumulant(arb_series([0, 1], prec=3)), 1)

    def convexes(self) -> Sequence[Convex]:
        """The cumulants whose maximum is K, for the certified search for rho, at the working precision."""
        loss = self.largest_loss
        if loss is None:
            raise NotCertified("the search over orders needs a bounded privacy loss")

        def taylor(s: arb) -> tuple[arb, arb, arb]:
            # Three terms are needed; a removable singularity may use up a fourth.
            return derivatives(self.cumulant(arb_series([s, 1], prec=4)))

        return [Convex(self.cumulant, self.kl(), lift(loss), None if self.is_envelope else taylor)]

    def search_rho(self, tolerance: float = 1e-10) -> tuple[float, float]:
        """Certified floats around rho by a search over all orders, which uses no theorem about the peak."""
        return steepest_ratio(self.convexes, tolerance)[:2]

    @property
    def relation(self) -> Relation:
        """The neighbouring relation; `EITHER` if the mechanism is stated for whatever relation the plan has."""
        return Relation.EITHER

    def pair(self) -> Claim | None:
        """What is known of the privacy profile: a pair that dominates, and pairs that are attained; None if nothing is.

        By default binary randomized response dominates, as it does every pure epsilon-DP mechanism.
        """
        loss = self.pure_epsilon
        return None if loss == inf else Claim(three_point_pair(Fraction(loss)))

    curve_of_pair: ClassVar[bool] = False
    """Whether the Renyi curve is that of the pair that dominates: a conversion from the curve then gains nothing."""
    is_integrated: ClassVar[bool] = False
    """Whether the Renyi curve takes a certified integral at each order, which may take seconds."""

    @property
    def parts(self) -> tuple[tuple[Curve, int], ...]:
        """The mechanisms that are composed, each with its number of uses."""
        return ((self, 1),)

    @property
    def coordinates(self) -> tuple[tuple[Curve, int], ...]:
        """The independent coordinates of one mechanism, each with its multiplicity; the mechanism itself by default."""
        return ((self, 1),)

    @property
    def claims(self) -> Sequence[tuple[Claim | None, int]]:
        """What each coordinate claims of its profile (None if nothing is known), with its multiplicity."""
        return [(one.pair(), count) for one, count in self.coordinates]

    @cached_property
    def _approximate(self) -> Routes:
        """The routes to approximate DP, (epsilon, delta)."""
        from zcdp.privacy.routes import Routes  # imported late, because rho does not need the engines of the profile

        return Routes(self, self.claims, self.relation)

    @property
    def profile(self) -> Profile | None:
        """The exact privacy profile of the composed dominating pairs; None if some part has no such pair."""
        return self._approximate.profile

    def epsilon_at(self, *, delta: Value) -> float:
        """The least epsilon that any route certifies for (epsilon, delta)-DP, rounded up."""
        return self._approximate.epsilon_at(_exact_delta(delta))

    def epsilon_bounds(self, *, delta: Value) -> tuple[float, float]:
        """Certified floats (lower, upper) around the least epsilon at `delta`."""
        return self._approximate.epsilon_bounds(_exact_delta(delta))

    def delta_at(self, *, epsilon: Value) -> float:
        """The least delta that any route certifies for (epsilon, delta)-DP, rounded up."""
        return self._approximate.delta_bounds(_exact_epsilon(epsilon), upper_only=True)[1]

    def _curve_in_haste(self, epsilons: Sequence[Fraction], haste: int) -> list[float]:
        """Certified upper bounds on delta at increasing epsilons, by the profile alone: for curves of large plans.

        Neighbouring epsilons share engines; `haste` divides the work.
        """
        return self._approximate.curve_above(epsilons, haste=haste)

    def _delta_in_haste(self, epsilon: Value, haste: int) -> float:
        """A certified upper bound on delta like `delta_at`, with the work divided by `haste`: possibly less tight."""
        return self._approximate.delta_bounds(_exact_epsilon(epsilon), upper_only=True, haste=haste)[1]

    def delta_bounds(self, *, epsilon: Value) -> tuple[float, float]:
        """Certified floats (lower, upper) around the least delta at `epsilon`."""
        return self._approximate.delta_bounds(_exact_epsilon(epsilon))

    def routes(self, *, delta: Value) -> dict[str, float]:
        """Certified epsilon at `delta` by each route: exact profile, Renyi curve, rho alone, largest loss."""
        return self._approximate.epsilons(_exact_delta(delta))

    def _routes_in_haste(self, delta: Fraction, haste: int) -> dict[str, float]:
        """Like `routes`, with the work of the profile divided by `haste`, without rho and routes that cannot win."""
        return self._approximate.epsilons(delta, haste=haste)

    # What an attacker gains, who guesses from the output whether a person's data were used.

    @cached_property
    def _tradeoff(self) -> TradeOff:
        """The true positive rate at each false positive rate, from the profile."""
        from zcdp.privacy.tradeoff import TradeOff

        return TradeOff(self._delta_above, self._approximate.delta_bounds, self.pure_epsilon, self._revealed)

    @property
    def _revealed(self) -> float:
        """A lower end of the probability of an outcome that tells all."""
        return self._approximate.revealed_from_below() if self.unbounded else 0.0

    def _delta_above(self, epsilon: Fraction) -> float:
        return self._approximate.delta_bounds(epsilon, upper_only=True)[1]

    def tpr_at(self, *, fpr: Value) -> float:
        """The largest share of members that any attack can find at this share of false alarms, rounded up.

        `fpr` is the false positive rate, the answer the true positive rate, over all neighbours in both orders. An
        attack that guesses something else of a person, such as an attribute, and is right with probability `fpr`
        without the output, is right with at most this probability with it. Theorem: docs/theorems/tradeoff.md.

        >>> from zcdp import Gaussian
        >>> Gaussian(sigma=1).tpr_at(fpr="0.001")
        0.018298...
        """
        return float_above(self._tradeoff.upper(_exact_rate(fpr)))

    def tpr_bounds(self, *, fpr: Value) -> tuple[float, float]:
        """Certified floats (lower, upper) around the largest true positive rate at this false positive rate."""
        lower, upper = self._tradeoff.ends(_exact_rate(fpr))
        return float_below(lower), float_above(upper)

    def tradeoff(self, fpr: Value) -> float:
        """The trade-off function f of f-DP: the least false negative rate at this false positive rate, rounded down.

        >>> from zcdp import RandomizedResponse
        >>> RandomizedResponse(epsilon="log(3)", k=2).tradeoff("0.1")  # 1 - 3 * 0.1
        0.7
        """
        return float_below(1 - self._tradeoff.upper(_exact_rate(fpr)))

    def tradeoff_bounds(self, fpr: Value) -> tuple[float, float]:
        """Certified floats (lower, upper) around the trade-off function at this false positive rate."""
        lower, upper = self._tradeoff.ends(_exact_rate(fpr))
        return float_below(1 - upper), float_above(1 - lower)

    @property
    def advantage(self) -> float:
        """The largest difference of true and false positive rate of any attack, rounded up: delta at epsilon 0.

        It is the total variation distance of the outputs on neighbours.
        """
        return self.delta_at(epsilon=0)

    @property
    def advantage_bounds(self) -> tuple[float, float]:
        """Certified floats (lower, upper) around the advantage."""
        return self.delta_bounds(epsilon=0)

    def success(self, *, prior: Value) -> float:
        """The largest probability of a right guess whether a person is a member, rounded up.

        `prior` is the probability that the person is one, as the attacker knows it before: without the output the guess
        is right with the larger of prior and 1 - prior.

        >>> from zcdp import Laplace
        >>> Laplace(epsilon=1).success(prior="1/2"), Laplace(epsilon=1).success(prior="0.2")
        (0.69673..., 0.8)
        """
        return self._success(prior, upper_only=True)[1]

    def success_bounds(self, *, prior: Value) -> tuple[float, float]:
        """Certified floats (lower, upper) around the largest probability of a right guess at this prior."""
        return self._success(prior, upper_only=False)

    def _success(self, prior: Value, *, upper_only: bool) -> tuple[float, float]:
        lower, upper = self._tradeoff.success(probability(prior, "prior"), upper_only=upper_only)
        return float_below(lower), float_above(upper)

    def gdp(self, *, slack: Value = "1e-12") -> float:
        """The least mu of (mu, slack)-Gaussian DP, rounded up: a Gaussian mechanism that no attack on this one beats.

        delta(epsilon) is at most that of normal noise of standard deviation 1/mu times the sensitivity, plus `slack`,
        at every epsilon; so the true positive rate is at most `slack` above its. Without a slack many mechanisms have
        no useful mu: rare large losses decide it. Theorem: docs/theorems/tradeoff.md.

        >>> from zcdp import Gaussian
        >>> (16 * Gaussian(sigma=8)).gdp()
        0.5
        """
        return self.gdp_bounds(slack=slack)[1]

    def gdp_bounds(self, *, slack: Value = "1e-12") -> tuple[float, float]:
        """Certified floats (lower, upper) around the least mu of (mu, slack)-Gaussian DP."""
        return self._gdp(slack)

    def _gdp(self, slack: Value, **options: float) -> tuple[float, float]:
        from zcdp.privacy.gaussian_dp import covering_mu

        share = rational(slack, "slack")
        if not 0 <= share < 1:
            raise BadValue(f"slack ({slack}) must be at least 0 and below 1")
        routes = self._approximate
        known = routes.gaussian_mu()
        if not share and known == inf == self.pure_epsilon:
            raise BadValue("slack (0) must be positive: the losses are unbounded, and rare large ones decide mu")
        end = self.epsilon_at(delta=share)
        if not end:
            return 0.0, 0.0
        return covering_mu(routes.delta_bounds, self._delta_above, end, share, known, **options)

    def __add__(self, other: Curve) -> Plan:
        return Plan.sum_of(self, other)

    def __radd__(self, other: int) -> Plan:
        return Plan.sum_of(self) if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __mul__(self, count: int) -> Plan:
        return Plan.repeated(self, count)

    __rmul__ = __mul__


def _exact_delta(value: Value) -> Fraction:
    """A user's delta as an exact number, 0 <= delta < 1."""
    delta = rational(value, "delta")
    if not 0 <= delta < 1:
        raise BadValue(f"delta ({value}) must be at least 0 and below 1")
    return in_domain(delta, "delta", value) if delta else delta


def _exact_rate(value: Value) -> Fraction:
    """A user's false positive rate as an exact number, 0 <= fpr <= 1."""
    rate = rational(value, "fpr")
    if not 0 <= rate <= 1:
        raise BadValue(f"fpr ({value}) must be at least 0 and at most 1")
    return rate


def _exact_epsilon(value: Value) -> Fraction:
    """A user's epsilon as an exact number, which must not be negative."""
    epsilon = rational(value, "epsilon")
    if epsilon < 0:
        raise BadValue(f"epsilon ({value}) must not be negative")
    return epsilon


# Composition.

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
    def claims(self) -> list[tuple[Claim | None, int]]:
        """What all parts claim of their profiles (None where nothing is known), with their numbers of uses."""
        return [(one.pair(), count * times) for part, count in self.parts for one, times in part.coordinates]

    def pair(self) -> Claim | None:
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


def why_infinite(curve: Curve, name: str) -> str:
    """Why rho is infinite: as the first part of infinite rho that knows says, or that `name` can give an input away."""
    told = (getattr(part, "infinite_because", "") for part, _ in curve.parts)
    return f"rho is infinite: {next(filter(None, told), f'{name} can give an input away')}"


def _differs_by_direction(part: Curve) -> bool:
    """Whether its divergences may differ between the two directions of add_remove neighbours."""
    return part.relation is Relation.ADD_REMOVE and any(
        claim is None or not claim.upper.symmetric for claim, _ in part.claims
    )


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
