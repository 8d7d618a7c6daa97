"""Formulas in one variable x: a small grammar, read from text or traced from a Python function, as a tree.

    sum = term {("+" | "-") term};  term = factor {("*" | "/") factor};  factor = ["-"] power;
    power = atom ["^" factor];  atom = number | "x" | "pi" | name "(" sum {"," sum} ")" | "(" sum ")"

Numbers are exact: 0.1 is one tenth. A tree is evaluated in floats (proposals), on real balls (ranges on cells), and on
complex balls with the flag `analytic` of certified integration: then every function that is not analytic on the ball,
such as a root beside its branch cut, gives a ball that is not finite. Theorem: docs/theorems/own-noise.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from inspect import signature
from typing import Any, TypeAlias

from flint import acb, arb

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import literal, rational
from zcdp.text.suggestions import thing, unknown

__all__ = [
    "FUNCTIONS",
    "Formula",
    "X",
    "add",
    "call",
    "derivative",
    "has_complex_values",
    "is_convex",
    "is_not_negative",
    "kinks",
    "minus_log",
    "multiply",
    "negative",
    "number",
    "one_side",
    "power",
    "prepared",
    "prepared_floats",
    "read",
    "trace",
]

LONGEST_FORMULA, DEEPEST_FORMULA = 2_000, 60  # characters, and brackets or signs inside one another
LARGEST_POWER = 10_000
FUNCTIONS = {"exp": 1, "log": 1, "sqrt": 1, "abs": 1, "min": 2, "max": 2, "cosh": 1, "tanh": 1, "atan": 1, "erf": 1}
"""The functions that a formula may use, with the number of their arguments."""

NAN = acb(float("nan"))


@dataclass(frozen=True)
class Formula:
    """A node of the tree: its kind, what it is made of, and for numbers and powers an exact number.

    Kinds: number, pi, x, sum, product, quotient, power (of a rational exponent), the names of `FUNCTIONS` but sqrt; on
    one side of a kink plus (the argument, known not to be negative there); in logarithms soft (-log of the sum of e^-V,
    V the arguments: about the least of them). In derivatives: sign; choice (the third argument where the first is below
    the second, else the fourth); mean (of the second, fourth, ... weighed by e^-V, V the first, third, ...); still (0
    where the argument has one sign, not finite where it may change it: a slope that jumps has no derivative).
    """

    kind: str
    of: tuple[Formula, ...] = ()
    value: Fraction = Fraction(0)

    # Python functions are traced with these.

    def __add__(self, other: Any) -> Formula:
        return add(self, _operand(other))

    def __radd__(self, other: Any) -> Formula:
        return add(_operand(other), self)

    def __sub__(self, other: Any) -> Formula:
        return add(self, negative(_operand(other)))

    def __rsub__(self, other: Any) -> Formula:
        return add(_operand(other), negative(self))

    def __mul__(self, other: Any) -> Formula:
        return multiply(self, _operand(other))

    def __rmul__(self, other: Any) -> Formula:
        return multiply(_operand(other), self)

    def __truediv__(self, other: Any) -> Formula:
        return divide(self, _operand(other))

    def __rtruediv__(self, other: Any) -> Formula:
        return divide(_operand(other), self)

    def __pow__(self, other: Any) -> Formula:
        return raised(self, _operand(other))

    def __rpow__(self, other: Any) -> Formula:
        return raised(_operand(other), self)

    def __neg__(self) -> Formula:
        return negative(self)

    def __pos__(self) -> Formula:
        return self

    def __abs__(self) -> Formula:
        return call("abs", self)

    def _refused(self, *_: object) -> Any:
        raise BadType(
            "density is traced once with a symbol: it cannot compare or convert x (no if, float, math or numpy); "
            "exp is x.exp(), for other functions give the density as text"
        )

    __bool__ = __float__ = __int__ = __lt__ = __le__ = __gt__ = __ge__ = __array__ = _refused
    __iter__ = __len__ = __index__ = _refused

    def exp(self) -> Formula:
        """e to this power; numpy functions on a symbol arrive here."""
        return call("exp", self)

    def __str__(self) -> str:
        return _written(self, 0)

    @property
    def is_constant(self) -> bool:
        """Whether x does not occur in it."""
        return self.kind != "x" and all(part.is_constant for part in self.of)

    # Evaluation.

    def in_floats(self, x: float) -> float:
        """The value in floats, a proposal only; NaN or infinity where there is none."""
        try:
            return _FLOATS[self.kind](self, x)
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan

    def on_reals(self, x: arb) -> arb:
        """A ball around the values on all points of the ball x; not finite where one has no value."""
        return _REALS[self.kind](self, x)

    def on_complex(self, z: acb, analytic: bool) -> acb:
        """A ball around the values on z; with `analytic` not finite unless the function is analytic on all of z."""
        return _COMPLEX[self.kind](self, z, analytic)


X = Formula("x")
ONE, ZERO = Formula("number", value=Fraction(1)), Formula("number")


def number(value: Fraction | int) -> Formula:
    """An exact number as a formula."""
    return Formula("number", value=Fraction(value))


def _operand(value: Any) -> Formula:
    """What stands beside a symbol in a traced function: another formula, or an exact number."""
    return value if isinstance(value, Formula) else number(rational(value, "a number in density"))


def add(*terms: Formula) -> Formula:
    """The sum; numbers are added up."""
    flat = [part for term in terms for part in (term.of if term.kind == "sum" else (term,))]
    whole = sum((term.value for term in flat if term.kind == "number"), Fraction(0))
    others = [term for term in flat if term.kind != "number"]
    kept = [*others, number(whole)] if whole or not others else others
    return kept[0] if len(kept) == 1 else Formula("sum", tuple(kept))


def multiply(*factors: Formula) -> Formula:
    """The product; numbers are multiplied."""
    flat = [part for factor in factors for part in (factor.of if factor.kind == "product" else (factor,))]
    whole = reduce(lambda a, b: a * b, (factor.value for factor in flat if factor.kind == "number"), Fraction(1))
    if not whole:
        return ZERO
    others = [factor for factor in flat if factor.kind != "number"]
    kept = [number(whole), *others] if whole != 1 or not others else others
    return kept[0] if len(kept) == 1 else Formula("product", tuple(kept))


def negative(one: Formula) -> Formula:
    """The formula times -1."""
    return multiply(number(-1), one)


def divide(above: Formula, below: Formula) -> Formula:
    if below.kind == "number":
        if not below.value:
            raise BadValue("density divides by 0")
        return multiply(number(1 / below.value), above)
    return above if above == ZERO else Formula("quotient", (above, below))


def power(base: Formula, exponent: Fraction) -> Formula:
    """A rational power; of a number a number, if the exponent is whole."""
    if exponent in (0, 1):
        return ONE if exponent == 0 else base
    if abs(exponent) > LARGEST_POWER:
        raise BadValue(f"density has a power of {literal(exponent)}: at most {LARGEST_POWER}")
    if base.kind == "number" and exponent.denominator == 1 and (base.value or exponent > 0):
        if max(map(abs, (base.value.numerator, base.value.denominator))).bit_length() * abs(exponent) > 10_000:
            raise BadValue("density has a number of thousands of digits")
        return number(base.value ** int(exponent))
    return Formula("power", (base,), exponent)


def raised(base: Formula, exponent: Formula) -> Formula:
    """base^exponent; e^(exponent log base) unless the exponent is a rational number."""
    if exponent.kind == "number":
        return power(base, exponent.value)
    return call("exp", multiply(exponent, call("log", base)))


def call(name: str, *of: Formula) -> Formula:
    """A function of formulas."""
    if name == "sqrt":
        return power(of[0], Fraction(1, 2))
    if name == "exp" and of[0] == ZERO:
        return ONE
    if name == "log" and of[0] == ONE:
        return ZERO
    if name == "abs" and of[0].kind == "number":
        return number(abs(of[0].value))
    return Formula(name, of)


# Reading and writing.

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>\*\*|[-+*/^(),]))"
)


CONDITION = " (there are no conditions: use max, min and abs, and Truncated for noise that ends)"
HINTS = {"|": " (write abs(x))", **dict.fromkeys("<>=", CONDITION)}


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        position = 0
        self.tokens: list[tuple[str, str, int]] = []
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                position += len(text[position:]) - len(text[position:].lstrip())
                raise self.failure(f"unexpected {text[position]!r}{HINTS.get(text[position], '')}", position)
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind], match.start(kind)))
            position = match.end()
        self.tokens.append(("end", "the end", len(text)))

    def failure(self, message: str, position: int) -> BadValue:
        """The error that says what is wrong at which place of the text, in one line, as plans quote it in theirs."""
        around = self.text if len(self.text) <= 80 else self.text[max(position - 30, 0) : position + 30]
        return BadValue(f"density: {message} at position {position}, in {around!r}")

    def take(self, *signs: str) -> str | None:
        kind, text, _ = self.tokens[self.place]
        if kind == "sign" and text in signs:
            self.place += 1
            return text
        return None

    def whole(self) -> Formula:
        found = self.sum()
        if self.tokens[self.place][0] != "end":
            kind, text, place = self.tokens[self.place]
            hint = " (products are written with *)" if kind != "sign" or text == "(" else ""
            raise self.failure(f"unexpected {text!r}{hint}", place)
        return found

    def sum(self) -> Formula:
        found = self.term()
        while sign := self.take("+", "-"):
            term = self.term()
            found = add(found, term if sign == "+" else negative(term))
        return found

    def term(self) -> Formula:
        found = self.factor()
        while sign := self.take("*", "/"):
            factor = self.factor()
            found = multiply(found, factor) if sign == "*" else divide(found, factor)
        return found

    def factor(self) -> Formula:
        self.depth += 1
        if self.depth > DEEPEST_FORMULA:
            place = self.tokens[self.place][2]
            raise self.failure(f"more than {DEEPEST_FORMULA} brackets or signs inside one another", place)
        if self.take("-"):
            found = negative(self.factor())
        elif self.take("+"):
            found = self.factor()
        else:
            found = self.atom()
            if self.take("^", "**"):
                found = raised(found, self.factor())
        self.depth -= 1
        return found

    def atom(self) -> Formula:
        kind, text, position = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return number(rational(text, "a number in density"))
        if kind == "name":
            if text == "x":
                return X
            if text == "pi":
                return Formula("pi")
            if text not in FUNCTIONS:
                what = "function" if self.tokens[self.place][1] == "(" else "name"
                known = [*FUNCTIONS] if what == "function" else ["x", "pi"]
                raise self.failure(f"{unknown(what, text, known)} (the variable is x)", position)
            if not self.take("("):
                raise self.failure(f"expected '(' after {text}", self.tokens[self.place][2])
            of = [self.sum()]
            while self.take(","):
                of.append(self.sum())
            if not self.take(")"):
                raise self.failure("expected ')' or ','", self.tokens[self.place][2])
            least = FUNCTIONS[text]
            if len(of) != least:
                raise self.failure(f"{text} takes {least} argument{'s' if least > 1 else ''}, not {len(of)}", position)
            return call(text, *of)
        if text == "(":
            found = self.sum()
            if not self.take(")"):
                raise self.failure("expected ')'", self.tokens[self.place][2])
            return found
        raise self.failure(
            f"expected a number, x or a function, found {text!r}" if kind != "end" else "it ends early", position
        )


def read(text: str) -> Formula:
    """The formula that the text spells.

    >>> str(read("(1 + x^2/12)^-2"))
    '(x^2/12 + 1)^-2'
    """
    if len(text) > LONGEST_FORMULA:
        raise BadValue(f"density must have at most {LONGEST_FORMULA} characters, not {len(text)}")
    if not text.strip():
        raise BadValue("density ('') is empty: write a function of x, such as 'exp(-abs(x))'")
    return _Reader(text).whole()


def trace(function: Callable[[Any], Any]) -> Formula:
    """The formula that a Python function computes, found by calling it once with a symbol.

    >>> str(trace(lambda x: (1 + x**2 / 12) ** -2))
    '(x^2/12 + 1)^-2'
    """
    hint = "use + - * / ** and abs, or give the density as text"
    try:
        signature(function).bind(X)
    except TypeError:
        raise BadType("density must be a function of x alone, as lambda x: (1 + x**2) ** -2") from None
    except ValueError:  # what is built in need not say what it takes
        pass
    try:
        found = function(X)
    except (BadType, BadValue):
        raise
    except Exception as error:
        raise BadType(f"density cannot be traced: {error!r}; {hint}") from None
    if not isinstance(found, Formula):
        raise BadType(f"density must return a formula of its argument, not {thing(found)}")
    return found


def _exactly(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def _written(node: Formula, around: int) -> str:
    """As text that reads back as the same tree; brackets where the surroundings bind more tightly."""

    def within(level: int, text: str) -> str:
        return f"({text})" if around > level else text

    kind = node.kind
    if kind == "number":
        level = 4 if node.value >= 0 and node.value.denominator == 1 else 1
        return within(level, _exactly(node.value))
    if kind in ("x", "pi"):
        return kind
    if kind == "sum":
        text = " + ".join(_written(term, 1) for term in node.of).replace("+ -", "- ")
        return within(1, text)
    if kind == "product":
        first, *rest = node.of
        below = ""
        parts = [_written(one, 2) for one in rest]
        if first.kind != "number":
            parts.insert(0, _written(first, 2))
        elif abs(first.value) != 1:
            above, under = first.value.numerator, first.value.denominator
            below = f"/{under}" if under > 1 else ""
            if abs(above) != 1:
                parts.insert(0, str(abs(above)))
        sign = "-" if first.kind == "number" and first.value < 0 else ""
        return within(1 if sign else 2, sign + "*".join(parts) + below)
    if kind == "quotient":
        return within(2, f"{_written(node.of[0], 2)}/{_written(node.of[1], 3)}")
    if kind == "power":
        exponent = node.value
        shown = str(exponent) if exponent.denominator == 1 else f"({_exactly(exponent)})"
        return within(3, f"{_written(node.of[0], 4)}^{shown}")
    return f"{kind}({', '.join(_written(one, 0) for one in node.of)})"


# Positive parts, logarithms and derivatives.


def is_positive(node: Formula) -> bool:
    """Whether its form shows that it is positive at every x."""
    kind, of = node.kind, node.of
    if kind == "number":
        return node.value > 0
    if kind in ("pi", "exp", "cosh"):
        return True
    if kind == "sum":
        return all(map(is_not_negative, of)) and any(map(is_positive, of))
    if kind in ("product", "quotient", "min"):
        return all(map(is_positive, of))
    if kind == "max":
        return any(map(is_positive, of))
    return kind == "power" and is_positive(of[0])


def is_not_negative(node: Formula) -> bool:
    """Whether its form shows that it is nowhere negative."""
    kind, of = node.kind, node.of
    if is_positive(node) or kind in ("abs", "plus") or node == ZERO:
        return True
    if kind in ("sum", "product", "quotient", "min"):
        return all(map(is_not_negative, of))
    if kind == "power":
        return is_not_negative(of[0]) or (node.value.denominator == 1 and node.value.numerator % 2 == 0)
    return kind == "max" and any(map(is_not_negative, of))


def is_convex(node: Formula, sign: int = 1) -> bool:
    """Whether its form shows that it, or with the sign -1 its negative, is convex on the whole line.

    >>> is_convex(read("max(abs(x), x^2/2)")), is_convex(read("min(x^2, (x - 1)^2)"))
    (True, False)
    """
    kind, of = node.kind, node.of
    if _line(node) is not None:
        return True
    if kind == "sum" or (kind == "max" and sign > 0) or (kind == "min" and sign < 0):
        return all(is_convex(one, sign) for one in of)
    if kind == "product" and len(of) == 2 and of[0].kind == "number":
        return is_convex(of[1], sign if of[0].value > 0 else -sign)
    if kind == "power" and node.value >= 1:
        even = node.value.denominator == 1 and node.value.numerator % 2 == 0
        straight = even and _line(of[0]) is not None
        return sign > 0 and (straight or (is_not_negative(of[0]) and is_convex(of[0])))
    return sign > 0 and ((kind == "exp" and is_convex(of[0])) or (kind in ("abs", "cosh") and _line(of[0]) is not None))


def falls_outward(node: Formula) -> bool:
    """Whether its form shows a place from which it falls in both directions.

    >>> falls_outward(read("1/(1 + (x - 3)^4)")), falls_outward(read("exp(-x^2) + exp(-(x - 1)^2)"))
    (True, False)
    """
    centres: set[Fraction] = set()

    def look(one: Formula) -> None:
        if one.kind in ("power", "abs", "cosh") and (line := _line(one.of[0])) and line[1]:
            centres.add(-line[0] / line[1])
        for part in one.of:
            look(part)

    look(node)
    return len(centres) == 1 and outward(node, centres.pop()) == -1


def outward(node: Formula, centre: Fraction) -> int | None:
    """1 if its form shows that it nowhere falls with the distance of x from a place, -1 if it nowhere rises.

    0 of a constant, None where the form shows neither.

    >>> outward(read("1/(1 + x^4)"), Fraction(0)), outward(read("exp(-x^2)*(1 + x^2)"), Fraction(0))
    (-1, None)
    """
    kind, of = node.kind, node.of
    if node.is_constant:
        return 0
    if (line := _line(of[0]) if of else None) is not None and line[0] + line[1] * centre == 0:
        even = kind == "power" and node.value.denominator == 1 and node.value.numerator % 2 == 0
        if even or kind in ("abs", "cosh"):
            return 1 if not even or node.value > 0 else -1
    ways = [outward(one, centre) for one in of]
    if kind == "x" or None in ways:
        return None
    found = [way for way in ways if way is not None]
    if kind in ("product", "quotient"):
        if kind == "quotient":
            found[1] *= -1
        signs = [one.on_reals(arb(0)) for one in of if one.is_constant]
        changing = [one for one in of if not one.is_constant]
        if any(sign.contains(0) for sign in signs) or (len(of) > 1 and not all(map(is_not_negative, changing))):
            return None
        turned = sum(bool(sign < 0) for sign in signs) % 2
        found = [-way if turned else way for way in found]
    elif kind == "power" and is_not_negative(of[0]):
        found = [way if node.value > 0 else -way for way in found]
    elif kind not in ("sum", "min", "max", "exp", "log", "tanh", "atan", "erf", "plus"):
        return None
    return 1 if min(found) >= 0 else -1 if max(found) <= 0 else None


def minus_log(node: Formula) -> Formula:
    """-log of it, with products, powers and exponentials taken apart where all parts are positive."""
    kind, of = node.kind, node.of
    if kind == "exp":
        return negative(of[0])
    if kind == "product" and any(map(is_positive, of)):
        rest = [one for one in of if not is_positive(one)]
        logs = [minus_log(one) for one in of if is_positive(one)]
        return add(*logs, *([negative(call("log", multiply(*rest)))] if rest else []))
    if kind == "quotient" and is_positive(of[1]):
        return add(minus_log(of[0]), negative(minus_log(of[1])))
    if kind == "power" and is_positive(of[0]):
        return multiply(number(node.value), minus_log(of[0]))
    if kind == "sum" and all(map(is_positive, of)) and any(map(_is_exponential, of)):
        return Formula("soft", tuple(map(minus_log, of)))
    return negative(call("log", node))


def _is_exponential(node: Formula) -> bool:
    """Whether its form is a positive product with an exponential in it."""
    if node.kind in ("exp", "cosh"):
        return True
    return is_positive(node) and node.kind in ("product", "quotient", "power") and any(map(_is_exponential, node.of))


def derivative(node: Formula) -> Formula:
    """The derivative by x, where it exists; for real and float evaluation only."""
    kind, of = node.kind, node.of
    if node.is_constant:
        return ZERO
    if kind == "x":
        return ONE
    if kind == "sum":
        return add(*map(derivative, of))
    if kind == "product":
        return add(*(multiply(*of[:n], derivative(of[n]), *of[n + 1 :]) for n in range(len(of))))
    if kind == "quotient":
        (u, v), (du, dv) = of, map(derivative, of)
        return add(divide(du, v), negative(divide(multiply(u, dv), power(v, Fraction(2)))))
    if kind == "power":
        return multiply(number(node.value), power(of[0], node.value - 1), derivative(of[0]))
    if kind == "soft":
        return Formula("mean", tuple(part for v in of for part in (v, derivative(v))))
    u = of[0]
    if kind == "log" and (v := minus_log(u)).kind == "soft":
        return negative(derivative(v))
    if kind == "log" and u.kind == "cosh":
        return multiply(call("tanh", u.of[0]), derivative(u.of[0]))
    du = derivative(u)
    if kind in ("min", "max"):
        first, second = of if kind == "min" else (of[1], of[0])
        dv = derivative(of[1])
        ends = (du, dv) if kind == "min" else (dv, du)
        # where the first is below the second, the minimum is the first; for the maximum the two change places
        return Formula("choice", (first, second, *(ends if kind == "min" else (ends[1], ends[0]))))
    factor = {
        "exp": lambda: node,
        "log": lambda: power(u, Fraction(-1)),
        "abs": lambda: Formula("sign", (u,)),
        "plus": lambda: ONE,
        "cosh": lambda: multiply(call("cosh", u), call("tanh", u)),
        "tanh": lambda: add(ONE, negative(power(call("tanh", u), Fraction(2)))),
        "atan": lambda: power(add(ONE, power(u, Fraction(2))), Fraction(-1)),
        "erf": lambda: divide(
            multiply(number(2), call("exp", negative(power(u, Fraction(2))))), power(Formula("pi"), Fraction(1, 2))
        ),
        "sign": lambda: Formula("still", (u,)),
        "still": lambda: node,
    }
    if kind == "choice":
        jump = Formula("still", (add(of[0], negative(of[1])),))
        return add(Formula("choice", (of[0], of[1], derivative(of[2]), derivative(of[3]))), jump)
    if kind == "mean":  # of the V', weighed by e^-V: its derivative is the mean of the V'' less the variance of the V'
        pairs = list(zip(of[::2], of[1::2], strict=True))
        squares = (part for v, d in pairs for part in (v, add(derivative(d), negative(power(d, Fraction(2))))))
        return add(Formula("mean", tuple(squares)), power(node, Fraction(2)))
    return multiply(factor[kind](), du)


# Floats: proposals.

Floats: TypeAlias = Callable[[Formula, float], float]


def _choice_in_floats(node: Formula, x: float) -> float:
    first, second, below, above = node.of
    return below.in_floats(x) if first.in_floats(x) < second.in_floats(x) else above.in_floats(x)


def _mean_in_floats(node: Formula, x: float) -> float:
    vs, values = ([part.in_floats(x) for part in node.of[n::2]] for n in (0, 1))
    least = min(vs)
    weights = [math.exp(least - v) for v in vs]
    return sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)


def _soft_of_floats(vs: Sequence[float]) -> float:
    least = min(vs)
    return least - math.log(sum(math.exp(least - v) for v in vs))


_FLOATS: dict[str, Floats] = {
    "number": lambda node, _: float(node.value),
    "pi": lambda _, __: math.pi,
    "x": lambda _, x: x,
    "sum": lambda node, x: math.fsum(one.in_floats(x) for one in node.of),
    "product": lambda node, x: math.prod(one.in_floats(x) for one in node.of),
    "quotient": lambda node, x: node.of[0].in_floats(x) / node.of[1].in_floats(x),
    "power": lambda node, x: node.of[0].in_floats(x) ** float(node.value),
    "exp": lambda node, x: math.exp(value) if (value := node.of[0].in_floats(x)) < 700 else math.inf,
    "log": lambda node, x: math.log(node.of[0].in_floats(x)),
    "abs": lambda node, x: abs(node.of[0].in_floats(x)),
    "min": lambda node, x: min(one.in_floats(x) for one in node.of),
    "max": lambda node, x: max(one.in_floats(x) for one in node.of),
    "cosh": lambda node, x: math.cosh(value) if abs(value := node.of[0].in_floats(x)) < 700 else math.inf,
    "tanh": lambda node, x: math.tanh(node.of[0].in_floats(x)),
    "atan": lambda node, x: math.atan(node.of[0].in_floats(x)),
    "erf": lambda node, x: math.erf(node.of[0].in_floats(x)),
    "plus": lambda node, x: abs(node.of[0].in_floats(x)),
    "sign": lambda node, x: math.copysign(1.0, node.of[0].in_floats(x)),
    "still": lambda *_: 0.0,
    "choice": _choice_in_floats,
    "soft": lambda node, x: _soft_of_floats([one.in_floats(x) for one in node.of]),
    "mean": _mean_in_floats,
}

# Real balls.

Reals: TypeAlias = Callable[[Formula, arb], arb]


def _whole_power(base: arb, n: int) -> arb:
    """base^n, n > 0, without values that no point of the ball has: an even power is nowhere negative."""
    if base.is_exact() or not base.contains(0):
        return base**n
    low, high = (base.lower() ** n, base.upper() ** n) if n % 2 else (arb(0), abs(base).upper() ** n)
    return low.union(high)


def _power_on_reals(node: Formula, x: arb) -> arb:
    base, exponent = node.of[0].on_reals(x), node.value
    if exponent.denominator == 1:
        n = exponent.numerator
        return _whole_power(base, n) if n >= 0 else 1 / _whole_power(base, -n)
    if base > 0:
        return (lift(exponent) * base.log()).exp()
    if exponent < 0 or base.upper() < 0 or not base.is_finite():
        return arb.nan()
    # A root at a ball that reaches 0: the values of a base that is not negative, as the formula needs it to be.
    most = base.upper()
    high = (lift(exponent) * most.log()).exp() if most > 0 else arb(0)
    return high.union(arb(0)) if is_not_negative(node.of[0]) else arb.nan()


def _plus_on_reals(node: Formula, x: arb) -> arb:
    """The argument without the part below 0 that rounding adds at the kink."""
    of = node.of[0].on_reals(x)
    return of if of >= 0 else of.upper().max(arb(0)).union(arb(0))


def _sign_on_reals(node: Formula, x: arb) -> arb:
    of = node.of[0].on_reals(x)
    return arb(1) if of > 0 else arb(-1) if of < 0 else arb(0, 1)


def _still_on_reals(node: Formula, x: arb) -> arb:
    of = node.of[0].on_reals(x)
    return arb(0) if of > 0 or of < 0 else arb.nan()


def _choice_on_reals(node: Formula, x: arb) -> arb:
    first, second, below, above = node.of
    gap = first.on_reals(x) - second.on_reals(x)
    if gap < 0:
        return below.on_reals(x)
    if gap > 0:
        return above.on_reals(x)
    return below.on_reals(x).union(above.on_reals(x))


def _soft_on_reals(node: Formula, x: arb) -> arb:
    """It rises with each of its arguments, so that its ends are those of their ends."""
    vs = [one.on_reals(x) for one in node.of]
    if not all(v.is_finite() for v in vs):
        return arb.nan()
    return _soft([v.lower() for v in vs]).union(_soft([v.upper() for v in vs]))


def _soft(vs: Sequence[arb]) -> arb:
    least = min(vs, key=float)
    return least - sum(((least - v).exp() for v in vs), arb(0)).log()


def _mean_on_reals(node: Formula, x: arb) -> arb:
    values = [part.on_reals(x) for part in node.of[1::2]]
    hull = reduce(lambda a, b: a.union(b), values)
    vs = [part.on_reals(x) for part in node.of[::2]]
    if not (hull.is_finite() and all(v.is_finite() for v in vs)):
        return hull
    first = min(range(len(vs)), key=lambda n: float(vs[n].mid()))
    shares = [_share(vs, n) for n in range(len(vs))]
    mean = sum((p * (v - values[first]) for p, v in zip(shares, values, strict=True)), arb(0)) + values[first]
    return mean.intersection(hull) if mean.is_finite() and mean.overlaps(hull) else hull


def _share(vs: Sequence[arb], n: int) -> arb:
    """The part of the sum of all e^-V that one of them is: between 0 and 1 also where little is known of them."""
    gaps = [vs[n] - v for k, v in enumerate(vs) if k != n]
    most, least = (1 / sum(((end(gap)).exp() for gap in gaps), arb(1)) for end in (arb.lower, arb.upper))
    return most.union(least)


_REALS: dict[str, Reals] = {
    "number": lambda node, _: lift(node.value),
    "pi": lambda _, __: arb.pi(),
    "x": lambda _, x: x,
    "sum": lambda node, x: sum((one.on_reals(x) for one in node.of), arb(0)),
    "product": lambda node, x: reduce(lambda a, b: a * b, (one.on_reals(x) for one in node.of)),
    "quotient": lambda node, x: node.of[0].on_reals(x) / node.of[1].on_reals(x),
    "power": _power_on_reals,
    "exp": lambda node, x: node.of[0].on_reals(x).exp(),
    "log": lambda node, x: node.of[0].on_reals(x).log(),
    "abs": lambda node, x: abs(node.of[0].on_reals(x)),
    "min": lambda node, x: node.of[0].on_reals(x).min(node.of[1].on_reals(x)),
    "max": lambda node, x: node.of[0].on_reals(x).max(node.of[1].on_reals(x)),
    "cosh": lambda node, x: node.of[0].on_reals(x).cosh(),
    "tanh": lambda node, x: node.of[0].on_reals(x).tanh(),
    "atan": lambda node, x: node.of[0].on_reals(x).atan(),
    "erf": lambda node, x: node.of[0].on_reals(x).erf(),
    "plus": _plus_on_reals,
    "sign": _sign_on_reals,
    "still": _still_on_reals,
    "choice": _choice_on_reals,
    "soft": _soft_on_reals,
    "mean": _mean_on_reals,
}

# Complex balls, for certified integration.

Complex: TypeAlias = Callable[[Formula, acb, bool], acb]


def _power_on_complex(node: Formula, z: acb, analytic: bool) -> acb:
    base, exponent = node.of[0].on_complex(z, analytic), node.value
    if exponent.denominator == 1:
        n = exponent.numerator
        return base**n if n >= 0 else 1 / base**-n
    if exponent == Fraction(1, 2):
        return base.sqrt(analytic=analytic)
    if not analytic and exponent > 0 and base.imag.is_zero() and not base.real > 0:
        # a real ball that reaches 0: as on real balls
        most = base.real.upper()
        reaches = is_not_negative(node.of[0]) and most >= 0 and most.is_finite()
        high = (lift(exponent) * most.log()).exp() if most > 0 else arb(0)
        return acb(high.union(arb(0))) if reaches else NAN
    return base.pow(acb(lift(exponent)), analytic=analytic)


def _atan_on_complex(node: Formula, z: acb, analytic: bool) -> acb:
    of = node.of[0].on_complex(z, analytic)
    # The branch cuts of atan lie on the imaginary axis, beyond i and -i.
    if analytic and of.real.contains(0) and not abs(of.imag) < 1:
        return NAN
    return of.atan()


def _product_on_complex(node: Formula, z: acb, analytic: bool) -> acb:
    return reduce(lambda a, b: a * b, (one.on_complex(z, analytic) for one in node.of))


def _sum_on_complex(node: Formula, z: acb, analytic: bool) -> acb:
    return sum((one.on_complex(z, analytic) for one in node.of), acb(0))


def _soft_on_complex(node: Formula, z: acb, analytic: bool) -> acb:
    return -sum(((-one.on_complex(z, analytic)).exp() for one in node.of), acb(0)).log(analytic=analytic)


def _mean_on_complex(node: Formula, z: acb, analytic: bool) -> acb:
    first, *logs = (part.on_complex(z, analytic) for part in node.of[::2])
    weights = [acb(1), *((first - v).exp() for v in logs)]
    values = (part.on_complex(z, analytic) for part in node.of[1::2])
    return sum((w * v for w, v in zip(weights, values, strict=True)), acb(0)) / sum(weights, acb(0))


def _two(name: str) -> Complex:
    def on(node: Formula, z: acb, analytic: bool) -> acb:
        first, second = (one.on_complex(z, analytic) for one in node.of)
        result: acb = getattr(first, name)(second, analytic=analytic)
        return result

    return on


_COMPLEX: dict[str, Complex] = {
    "number": lambda node, _, __: acb(lift(node.value)),
    "pi": lambda *_: acb.pi(),
    "x": lambda _, z, __: z,
    "sum": _sum_on_complex,
    "product": _product_on_complex,
    "quotient": lambda node, z, a: node.of[0].on_complex(z, a) / node.of[1].on_complex(z, a),
    "power": _power_on_complex,
    "exp": lambda node, z, a: node.of[0].on_complex(z, a).exp(),
    "log": lambda node, z, a: node.of[0].on_complex(z, a).log(analytic=a),
    "abs": lambda node, z, a: node.of[0].on_complex(z, a).real_abs(analytic=a),
    "plus": lambda node, z, a: node.of[0].on_complex(z, a),
    "soft": _soft_on_complex,
    "mean": _mean_on_complex,
    "min": _two("real_min"),
    "max": _two("real_max"),
    "cosh": lambda node, z, a: node.of[0].on_complex(z, a).cosh(),
    "tanh": lambda node, z, a: node.of[0].on_complex(z, a).tanh(),
    "atan": _atan_on_complex,
    "erf": lambda node, z, a: node.of[0].on_complex(z, a).erf(),
}


def has_complex_values(node: Formula) -> bool:
    """Whether it can be evaluated on complex balls: derivatives of what has kinks inside cannot."""
    return node.kind in _COMPLEX and all(map(has_complex_values, node.of))


def prepared(node: Formula) -> Callable[[acb, bool], acb]:
    """`on_complex` as a function with all constants at the working precision: quicker where it is called often."""
    kind, of = node.kind, [prepared(one) for one in node.of]
    if node.is_constant:
        constant = acb(node.on_reals(arb(0)))
        return lambda *_: constant
    if kind == "x":
        return lambda z, _: z
    if kind in ("sum", "product") and len(of) == 2:
        one, other = of
        if kind == "sum":
            return lambda z, a: one(z, a) + other(z, a)
        return lambda z, a: one(z, a) * other(z, a)
    if kind == "quotient":
        above, below = of
        return lambda z, a: above(z, a) / below(z, a)
    if kind == "soft":
        return lambda z, a: -sum(((-one(z, a)).exp() for one in of), acb(0)).log(analytic=a)
    only = of[0]
    if kind == "power" and node.value.denominator == 1:
        n = node.value.numerator
        if n == 2:
            return lambda z, a: (w := only(z, a)) * w
        return (lambda z, a: only(z, a) ** n) if n > 0 else (lambda z, a: 1 / only(z, a) ** -n)
    if kind == "exp":
        return lambda z, a: only(z, a).exp()
    if kind == "log":
        return lambda z, a: only(z, a).log(analytic=a)
    if kind == "plus":
        return only
    return node.on_complex


def prepared_floats(node: Formula) -> Callable[[float], float]:
    """`in_floats` as a function: quicker where it is called often. It may raise as floats do."""
    kind, of = node.kind, [prepared_floats(one) for one in node.of]
    if node.is_constant:
        constant = node.in_floats(0.0)
        return lambda _: constant
    if kind == "x":
        return lambda x: x
    if kind in ("sum", "product") and len(of) == 2:
        one, other = of
        return (lambda x: one(x) + other(x)) if kind == "sum" else (lambda x: one(x) * other(x))
    if kind == "soft":
        return lambda x: _soft_of_floats([one(x) for one in of])
    only = of[0]
    if kind == "power":
        exponent = float(node.value)
        return lambda x: only(x) ** exponent
    if kind in ("log", "plus", "abs"):
        return (lambda x: math.log(only(x))) if kind == "log" else (lambda x: abs(only(x)))
    return node.in_floats


def kinks(node: Formula) -> Sequence[Fraction]:
    """Rational places where an argument of abs, min or max that is a line changes its sign: cells end there."""
    found: set[Fraction] = set()

    def look(one: Formula) -> None:
        if one.kind in ("abs", "min", "max"):
            inside = one.of[0] if one.kind == "abs" else add(one.of[0], negative(one.of[1]))
            if (line := _line(inside)) and line[1]:
                found.add(-line[0] / line[1])
        for part in one.of:
            look(part)

    look(node)
    return sorted(found)


def _line(node: Formula) -> tuple[Fraction, Fraction] | None:
    """a and b if the formula is a + b x with rational numbers; else None."""
    if node.kind == "number":
        return node.value, Fraction(0)
    if node.kind == "x":
        return Fraction(0), Fraction(1)
    parts = [_line(one) for one in node.of]
    if node.kind == "sum" and None not in parts:
        return sum((p[0] for p in parts if p), Fraction(0)), sum((p[1] for p in parts if p), Fraction(0))
    if node.kind == "product" and len(parts) == 2 and node.of[0].kind == "number" and parts[1]:
        return node.of[0].value * parts[1][0], node.of[0].value * parts[1][1]
    return None


def one_side(node: Formula, place: Fraction) -> Formula:
    """The formula between two neighbouring kinks, where `place` lies: abs, min and max of lines are resolved."""
    of = tuple(one_side(one, place) for one in node.of)
    if node.kind in ("abs", "min", "max"):
        inside = node.of[0] if node.kind == "abs" else add(node.of[0], negative(node.of[1]))
        line = _line(inside)
        if line is not None:
            value = line[0] + line[1] * place
            if node.kind == "abs":
                return Formula("plus", (of[0] if value >= 0 else negative(of[0]),))
            return of[0] if (value <= 0) == (node.kind == "min") else of[1]
    rebuilt = {"sum": add, "product": multiply}.get(node.kind)
    return rebuilt(*of) if rebuilt else Formula(node.kind, of, node.value)
