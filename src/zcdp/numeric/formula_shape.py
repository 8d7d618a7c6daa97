"""What the form of a formula alone shows: that it is convex, and that it falls with the distance from one place.

Theorem: docs/theorems/own-noise.md, 10.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from zcdp.numeric.formula import Formula, as_line, is_not_negative
from zcdp.numeric.formula_values import on_reals

__all__ = ["falls_outward", "is_convex", "outward"]


def is_convex(node: Formula, sign: int = 1) -> bool:
    """Whether its form shows that it, or with the sign -1 its negative, is convex on the whole line.

    >>> from zcdp.numeric.formula import read
    >>> is_convex(read("max(abs(x), x^2/2)")), is_convex(read("min(x^2, (x - 1)^2)"))
    (True, False)
    """
    kind, of = node.kind, node.of
    if as_line(node) is not None:
        return True
    if kind == "sum" or (kind == "max" and sign > 0) or (kind == "min" and sign < 0):
        return all(is_convex(one, sign) for one in of)
    if kind == "product" and len(of) == 2 and of[0].kind == "number":
        return is_convex(of[1], sign if of[0].value > 0 else -sign)
    if kind == "power" and node.value >= 1:
        even = node.value.denominator == 1 and node.value.numerator % 2 == 0
        straight = even and as_line(of[0]) is not None
        return sign > 0 and (straight or (is_not_negative(of[0]) and is_convex(of[0])))
    straight = kind in ("abs", "cosh") and as_line(of[0]) is not None
    return sign > 0 and (straight or (kind == "exp" and is_convex(of[0])))


def falls_outward(node: Formula) -> bool:
    """Whether its form shows a place from which it falls in both directions.

    >>> from zcdp.numeric.formula import read
    >>> falls_outward(read("1/(1 + (x - 3)^4)")), falls_outward(read("exp(-x^2) + exp(-(x - 1)^2)"))
    (True, False)
    """
    centres: set[Fraction] = set()

    def look(one: Formula) -> None:
        if one.kind in ("power", "abs", "cosh") and (line := as_line(one.of[0])) and line[1]:
            centres.add(-line[0] / line[1])
        for part in one.of:
            look(part)

    look(node)
    return len(centres) == 1 and outward(node, centres.pop()) == -1


def outward(node: Formula, centre: Fraction) -> int | None:
    """1 if its form shows that it nowhere falls with the distance of x from a place, -1 if it nowhere rises.

    0 of a constant, None where the form shows neither.

    >>> from zcdp.numeric.formula import read
    >>> outward(read("1/(1 + x^4)"), Fraction(0)), outward(read("exp(-x^2)*(1 + x^2)"), Fraction(0))
    (-1, None)
    """
    kind, of = node.kind, node.of
    if node.is_constant:
        return 0
    if (line := as_line(of[0]) if of else None) is not None and line[0] + line[1] * centre == 0:
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
        signs = [on_reals(one, arb(0)) for one in of if one.is_constant]
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
