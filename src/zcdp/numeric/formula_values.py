"""What a formula is at a place: a function in floats (proposals), one on real balls, and one on complex balls.

Each is put together once for a formula, of functions for its parts, with its constants at the working precision.
Complex balls are those of certified integration, with its flag `analytic`: if that is set, a function that is not
analytic on all of the ball, such as a root beside its branch cut, gives a ball that is not finite. Theorem:
docs/theorems/own-noise.md.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeAlias, TypeVar

from flint import acb, arb, ctx

from zcdp.numeric.balls import lift
from zcdp.numeric.formula import Formula, is_not_negative
from zcdp.numeric.threads import cached_property

__all__ = ["FormulaValues", "Integrand", "on_reals", "soft_least"]

T = TypeVar("T")
Parts: TypeAlias = Sequence[Callable[[T], T]]
"""The functions of the parts of a formula."""
Rule: TypeAlias = Callable[[Formula, Parts[T]], Callable[[T], T]]
"""How one kind of formula is put together: of the node, and of the functions of its parts."""
Constant: TypeAlias = Callable[[Formula, Callable[[T], T]], T]
"""The value of a formula in which x does not occur; its function is given too."""
Integrand: TypeAlias = Callable[[acb, bool], acb]
"""A function of a complex ball and of the flag `analytic`."""

NAN = acb(arb.nan(), arb.nan())  # of infinite radius: an exact NaN counts as known to all digits
LARGEST_EXPONENT = 700.0  # e to more than that is infinite in floats


class FormulaValues:
    """A formula as functions."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self._kept: dict[tuple[str, int], Callable[..., Any]] = {}

    @cached_property
    def in_floats(self) -> Callable[[float], float]:
        """The value in floats, a proposal only; it may raise as floats do."""
        return _function(self.formula, _FLOATS, lambda _, function: function(0.0))

    def on_reals(self, x: arb) -> arb:
        """A ball around the values on all points of the ball x; not finite where one has no value."""
        kept = self._kept.get(("real", ctx.prec))
        if kept is None:
            kept = self._kept["real", ctx.prec] = _function(self.formula, _REALS, lambda _, function: function(arb(0)))
        value: arb = kept(x)
        return value

    @cached_property
    def has_complex_values(self) -> bool:
        """Whether it can be evaluated on complex balls: derivatives of what has kinks inside cannot."""
        return _has_rules(self.formula, _COMPLEX[True])

    @property
    def on_complex(self) -> Integrand:
        """A ball around the values on a complex ball; with `analytic` not finite unless it is analytic there."""
        kept = self._kept.get(("complex", ctx.prec))
        if kept is None:
            strict, loose = (_function(self.formula, _COMPLEX[analytic], _known) for analytic in (True, False))

            def kept(z: acb, analytic: bool) -> acb:
                return strict(z) if analytic else loose(z)

            self._kept["complex", ctx.prec] = kept
        return kept


def on_reals(formula: Formula, x: arb) -> arb:
    """`FormulaValues.on_reals`, once."""
    return FormulaValues(formula).on_reals(x)


def _has_rules(node: Formula, rules: Mapping[str, Any]) -> bool:
    return node.kind in rules and all(_has_rules(one, rules) for one in node.of)


def _known(node: Formula, _: object) -> acb:
    """What does not depend on x has no cut to be beside: 0^(3/2) is 0."""
    return acb(on_reals(node, arb(0)))


def _function(node: Formula, rules: Mapping[str, Rule[T]], constant: Constant[T]) -> Callable[[T], T]:
    """The function of a formula; what does not depend on x is computed now, by `constant`."""
    kept: dict[int, tuple[Callable[[T], T], bool]] = {}  # derivatives share parts

    def made(one: Formula) -> tuple[Callable[[T], T], bool]:
        if id(one) not in kept:
            parts = [made(part) for part in one.of]
            function = rules[one.kind](one, [part for part, _ in parts])
            is_constant = one.kind != "x" and all(constant for _, constant in parts)
            kept[id(one)] = _always(one, function, constant) if is_constant else function, is_constant
        return kept[id(one)]

    return made(node)[0]


def _always(node: Formula, function: Callable[[T], T], constant: Constant[T]) -> Callable[[T], T]:
    try:
        value = constant(node, function)
    except (ValueError, OverflowError, ZeroDivisionError):  # of floats, wherever it is asked for
        return function
    return lambda _: value


# Rules of all three.


def _sum(_: Formula, of: Parts[T]) -> Callable[[T], T]:
    return _joined(operator.add, of)


def _product(_: Formula, of: Parts[T]) -> Callable[[T], T]:
    return _joined(operator.mul, of)


def _joined(join: Callable[[Any, Any], Any], of: Parts[T]) -> Callable[[T], T]:
    if len(of) == 2:
        one, other = of
        return (lambda x: one(x) + other(x)) if join is operator.add else (lambda x: one(x) * other(x))  # type: ignore[operator]
    return lambda x: reduce(join, [one(x) for one in of])


def _quotient(_: Formula, of: Parts[Any]) -> Callable[[Any], Any]:
    above, below = of
    return lambda x: above(x) / below(x)


ALL: dict[str, Rule[Any]] = {"x": lambda *_: lambda x: x, "sum": _sum, "product": _product, "quotient": _quotient}


def _method(name: str, **options: object) -> Rule[Any]:
    """A function of one argument that balls have as a method."""

    def rule(_: Formula, of: Parts[Any]) -> Callable[[Any], Any]:
        [only] = of
        if options:
            return lambda x: getattr(only(x), name)(**options)
        call = operator.methodcaller(name)
        return lambda x: call(only(x))

    return rule


# Floats.


def _of_one(function: Callable[[float], float]) -> Rule[float]:
    return lambda _, of: lambda x: function(of[0](x))


def _exp(x: float) -> float:
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


def _cosh(x: float) -> float:
    return math.cosh(x) if abs(x) < LARGEST_EXPONENT else math.inf


def _power_of_floats(node: Formula, of: Parts[float]) -> Callable[[float], float]:
    [base], exponent = of, float(node.value)
    return lambda x: math.pow(base(x), exponent)


def _choice_of_floats(_: Formula, of: Parts[float]) -> Callable[[float], float]:
    first, second, below, above = of
    return lambda x: below(x) if first(x) < second(x) else above(x)


def _mean_of_floats(_: Formula, of: Parts[float]) -> Callable[[float], float]:
    def mean(x: float) -> float:
        vs, values = ([part(x) for part in of[n::2]] for n in (0, 1))
        least = min(vs)
        weights = [math.exp(least - v) for v in vs]
        return sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)

    return mean


def _soft_of_floats(_: Formula, of: Parts[float]) -> Callable[[float], float]:
    def soft(x: float) -> float:
        vs = [one(x) for one in of]
        least = min(vs)
        return least - math.log(sum(math.exp(least - v) for v in vs))

    return soft


_FLOATS: dict[str, Rule[float]] = {
    **ALL,
    "number": lambda node, _: lambda _: float(node.value),
    "pi": lambda *_: lambda _: math.pi,
    "power": _power_of_floats,
    "exp": _of_one(_exp),
    "log": _of_one(math.log),
    "abs": _of_one(abs),
    "min": lambda _, of: lambda x: min(of[0](x), of[1](x)),
    "max": lambda _, of: lambda x: max(of[0](x), of[1](x)),
    "cosh": _of_one(_cosh),
    "tanh": _of_one(math.tanh),
    "atan": _of_one(math.atan),
    "erf": _of_one(math.erf),
    "plus": _of_one(abs),
    "sign": _of_one(partial(math.copysign, 1.0)),
    "still": lambda *_: lambda _: 0.0,
    "choice": _choice_of_floats,
    "soft": _soft_of_floats,
    "mean": _mean_of_floats,
}

# Real balls.


def _whole_power(base: arb, n: int) -> arb:
    """base^n, n > 0, without values that no point of the ball has: an even power is nowhere negative."""
    if base.is_exact() or not base.contains(0):
        return base * base if n == 2 else base**n
    low, high = (base.lower() ** n, base.upper() ** n) if n % 2 else (arb(0), abs(base).upper() ** n)
    return low.union(high)


def _power_of_reals(node: Formula, of: Parts[arb]) -> Callable[[arb], arb]:
    [base], n = of, node.value.numerator
    if node.value.denominator == 1:
        return (lambda x: _whole_power(base(x), n)) if n > 0 else (lambda x: 1 / _whole_power(base(x), -n))
    exponent, halves, reaches = lift(node.value), node.value.denominator == 2, is_not_negative(node.of[0])

    def root(x: arb) -> arb:
        value = base(x)
        if value > 0:
            if halves:
                return value.sqrt() ** n if n > 0 else value.rsqrt() ** -n
            return (exponent * value.log()).exp()
        return _root_from_zero(value, exponent) if n > 0 and reaches else arb.nan()

    return root


def _root_from_zero(base: arb, exponent: arb) -> arb:
    """A root of a ball that reaches 0: the values of a base that is not negative, as the formula needs it to be."""
    most = base.upper()
    if most < 0 or not base.is_finite():
        return arb.nan()
    return (exponent * most.log()).exp().union(arb(0)) if most > 0 else arb(0)


def _plus_of_reals(_: Formula, of: Parts[arb]) -> Callable[[arb], arb]:
    """The argument without the part below 0 that rounding adds at the kink."""
    [only] = of

    def plus(x: arb) -> arb:
        value = only(x)
        return value if value >= 0 else value.upper().max(arb(0)).union(arb(0))

    return plus


def _sign_of_reals(_: Formula, of: Parts[arb]) -> Callable[[arb], arb]:
    [only] = of

    def sign(x: arb) -> arb:
        value = only(x)
        return arb(1) if value > 0 else arb(-1) if value < 0 else arb(0, 1)

    return sign


def _still_of_reals(_: Formula, of: Parts[arb]) -> Callable[[arb], arb]:
    [only] = of

    def still(x: arb) -> arb:
        value = only(x)
        return arb(0) if value > 0 or value < 0 else arb.nan()

    return still


def _choice_of_reals(_: Formula, of: Parts[arb]) -> Callable[[arb], arb]:
    first, second, below, above = of

    def choice(x: arb) -> arb:
        gap = first(x) - second(x)
        if gap < 0:
            return below(x)
        return above(x) if gap > 0 else below(x).union(above(x))

    return choice


def _soft_of_reals(_: Formula, of: Parts[arb]) -> Callable[[arb], arb]:
    return lambda x: soft_least([one(x) for one in of])


def soft_least(vs: Sequence[arb]) -> arb:
    """-log of the sum of all e^-V: it rises with each of them, so that its ends are those of their ends."""
    if not all(v.is_finite() for v in vs):
        return arb.nan()
    return _soft_of_numbers([v.lower() for v in vs]).union(_soft_of_numbers([v.upper() for v in vs]))


def _soft_of_numbers(vs: Sequence[arb]) -> arb:
    least = min(vs, key=float)
    return least - sum(((least - v).exp() for v in vs), arb(0)).log()


def _mean_of_reals(_: Formula, of: Parts[arb]) -> Callable[[arb], arb]:
    def mean(x: arb) -> arb:
        vs, values = ([part(x) for part in of[n::2]] for n in (0, 1))
        hull = reduce(arb.union, values)
        if not (hull.is_finite() and all(v.is_finite() for v in vs)):
            return hull
        first = min(range(len(vs)), key=lambda n: float(vs[n].mid()))
        shares = [_share(vs, n) for n in range(len(vs))]
        found = sum((p * (v - values[first]) for p, v in zip(shares, values, strict=True)), arb(0)) + values[first]
        return found.intersection(hull) if found.is_finite() and found.overlaps(hull) else hull

    return mean


def _share(vs: Sequence[arb], n: int) -> arb:
    """The part of the sum of all e^-V that one of them is: between 0 and 1 also where little is known of them."""
    gaps = [vs[n] - v for k, v in enumerate(vs) if k != n]
    most, least = (1 / sum(((end(gap)).exp() for gap in gaps), arb(1)) for end in (arb.lower, arb.upper))
    return most.union(least)


def _constant(value: Callable[[Formula], T]) -> Rule[T]:
    """A number at the working precision."""

    def rule(node: Formula, _: Parts[T]) -> Callable[[T], T]:
        found = value(node)
        return lambda _: found

    return rule


_REALS: dict[str, Rule[arb]] = {
    **ALL,
    "number": _constant(lambda node: lift(node.value)),
    "pi": _constant(lambda _: arb.pi()),
    "power": _power_of_reals,
    "abs": _method("__abs__"),
    "min": lambda _, of: lambda x: of[0](x).min(of[1](x)),
    "max": lambda _, of: lambda x: of[0](x).max(of[1](x)),
    **{name: _method(name) for name in ("exp", "log", "cosh", "tanh", "atan", "erf")},
    "plus": _plus_of_reals,
    "sign": _sign_of_reals,
    "still": _still_of_reals,
    "choice": _choice_of_reals,
    "soft": _soft_of_reals,
    "mean": _mean_of_reals,
}

# Complex balls.


def _power_of_complex(analytic: bool) -> Rule[acb]:
    def rule(node: Formula, of: Parts[acb]) -> Callable[[acb], acb]:
        [base], n = of, node.value.numerator
        if node.value.denominator == 1:
            if n == 2:
                return lambda z: (w := base(z)) * w
            return (lambda z: base(z) ** n) if n > 0 else (lambda z: 1 / base(z) ** -n)
        exponent, reaches = lift(node.value), n > 0 and is_not_negative(node.of[0])

        def root(z: acb) -> acb:
            value = base(z)
            if not analytic and value.imag.is_zero() and not value.real > 0:
                return acb(_root_from_zero(value.real, exponent)) if reaches else NAN  # as on real balls
            if node.value.denominator == 2:
                return value.sqrt(analytic=analytic) ** n if n > 0 else value.rsqrt(analytic=analytic) ** -n
            return value.pow(acb(exponent), analytic=analytic)

        return root

    return rule


def _atan_of_complex(analytic: bool) -> Rule[acb]:
    def rule(_: Formula, of: Parts[acb]) -> Callable[[acb], acb]:
        [only] = of

        def atan(z: acb) -> acb:
            value = only(z)
            # The branch cuts of atan lie on the imaginary axis, beyond i and -i.
            return NAN if analytic and value.real.contains(0) and not abs(value.imag) < 1 else value.atan()

        return atan

    return rule


def _soft_of_complex(analytic: bool) -> Rule[acb]:
    return lambda _, of: lambda z: -sum([(-one(z)).exp() for one in of], acb(0)).log(analytic=analytic)


def _mean_of_complex(_: Formula, of: Parts[acb]) -> Callable[[acb], acb]:
    def mean(z: acb) -> acb:
        first, *logs = (part(z) for part in of[::2])
        weights = [acb(1), *((first - v).exp() for v in logs)]
        values = (part(z) for part in of[1::2])
        return sum((w * v for w, v in zip(weights, values, strict=True)), acb(0)) / sum(weights, acb(0))

    return mean


def _two(name: str, analytic: bool) -> Rule[acb]:
    def rule(_: Formula, of: Parts[acb]) -> Callable[[acb], acb]:
        one, other = of
        return lambda z: getattr(one(z), name)(other(z), analytic=analytic)

    return rule


_COMPLEX: dict[bool, dict[str, Rule[acb]]] = {
    analytic: {
        **ALL,
        "number": _constant(lambda node: acb(lift(node.value))),
        "pi": _constant(lambda _: acb.pi()),
        "power": _power_of_complex(analytic),
        "log": _method("log", analytic=analytic),
        "abs": _method("real_abs", analytic=analytic),
        "min": _two("real_min", analytic),
        "max": _two("real_max", analytic),
        **{name: _method(name) for name in ("exp", "cosh", "tanh", "erf")},
        "atan": _atan_of_complex(analytic),
        "plus": lambda _, of: of[0],
        "soft": _soft_of_complex(analytic),
        "mean": _mean_of_complex,
    }
    for analytic in (True, False)
}
