"""Formulas in one variable x: a small grammar, read from text or traced from a Python function, as a tree.

    sum = term {("+" | "-") term};  term = factor {("*" | "/") factor};  factor = ["-"] power;
    power = atom ["^" factor];  atom = number | "x" | "pi" | name "(" sum {"," sum} ")" | "(" sum ")"

Numbers are exact: 0.1 is one tenth. What a formula is at a place is in `formula_values`, what its form alone shows of
it in `formula_shape`. Theorem: docs/theorems/own-noise.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from inspect import signature
from typing import Any

from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import literal, rational
from zcdp.text.suggestions import thing, unknown

__all__ = [
    "FUNCTIONS",
    "Formula",
    "X",
    "add",
    "as_line",
    "call",
    "derivative",
    "is_not_negative",
    "is_positive",
    "kinks",
    "minus_log",
    "multiply",
    "negative",
    "number",
    "one_side",
    "power",
    "read",
    "trace",
]

LONGEST_FORMULA, DEEPEST_FORMULA = 2_000, 60  # characters, and brackets or signs inside one another
LARGEST_POWER = 10_000
FUNCTIONS = {"exp": 1, "log": 1, "sqrt": 1, "abs": 1, "min": 2, "max": 2, "cosh": 1, "tanh": 1, "atan": 1, "erf": 1}
"""The functions that a formula may use, with the number of their arguments."""


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


def kinks(node: Formula) -> Sequence[Fraction]:
    """Rational places where an argument of abs, min or max that is a line changes its sign: cells end there."""
    found: set[Fraction] = set()

    def look(one: Formula) -> None:
        if one.kind in ("abs", "min", "max"):
            inside = one.of[0] if one.kind == "abs" else add(one.of[0], negative(one.of[1]))
            if (line := as_line(inside)) and line[1]:
                found.add(-line[0] / line[1])
        for part in one.of:
            look(part)

    look(node)
    return sorted(found)


def as_line(node: Formula) -> tuple[Fraction, Fraction] | None:
    """a and b if the formula is a + b x with rational numbers; else None."""
    if node.kind == "number":
        return node.value, Fraction(0)
    if node.kind == "x":
        return Fraction(0), Fraction(1)
    parts = [as_line(one) for one in node.of]
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
        line = as_line(inside)
        if line is not None:
            value = line[0] + line[1] * place
            if node.kind == "abs":
                return Formula("plus", (of[0] if value >= 0 else negative(of[0]),))
            first = (value <= 0) == (node.kind == "min")
            chosen, other = of if first else of[::-1]
            # the larger of two is not negative if one of them is not, or if they are of opposite sign
            known = node.kind == "max" and (is_not_negative(other) or other == negative(chosen))
            return Formula("plus", (chosen,)) if known and not is_not_negative(chosen) else chosen
    rebuilt = {"sum": add, "product": multiply}.get(node.kind)
    return rebuilt(*of) if rebuilt else Formula(node.kind, of, node.value)
