"""Sensitivity as a value: by how much, and in which norm, a vector of answers can change between neighbours."""

from __future__ import annotations

import re
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from math import isqrt
from typing import Any

from zcdp.errors import BadValue
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Value, in_domain, integer, literal, positive_rational, rational_root
from zcdp.numeric.parameter_domains import unlimited
from zcdp.text.calls import spoken_class

__all__ = ["L1", "L2", "L0LInf", "L1LInf", "Sensitivity"]

Moves = tuple[tuple[int, Fraction], ...]
"""Pairs (number of coordinates, distance that each of them moves)."""


@spoken_class
@dataclass(frozen=True, init=False, repr=False)
class Sensitivity(metaclass=ABCMeta):
    """A bound on the difference of two neighbouring vectors. Theorem: docs/theorems/vector-queries.md."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrong arguments raise an error that names the class and the parameter, as the caller wrote them."""
        super().__init_subclass__(**options)
        spoken_class(cls)

    @abstractmethod
    def moves(self) -> Moves | None:
        """The worst-case moves of real coordinates; None if their number is not bounded, as under `L2`.

        They have the largest cumulant and the largest profile. Under `L2` no single move has both.
        """

    @abstractmethod
    def whole(self) -> Sensitivity:
        """The same bound for integer coordinates, which move by integers; for `L2` the moves of largest cumulant."""

    @abstractmethod
    def largest(self) -> Fraction:
        """The largest move of one coordinate."""

    def square(self) -> Fraction:
        """The largest squared Euclidean length of a move."""
        return sum((count * move**2 for count, move in self.moves() or ()), Fraction(0))

    def single(self) -> Fraction | None:
        """The move of the only coordinate that moves in the worst case; None if several coordinates move."""
        moves = self.moves()
        return moves[0][1] if moves is not None and len(moves) == 1 and moves[0][0] == 1 else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(literal(getattr(self, field.name)) for field in fields(self))})"

    def _set(self, **parameters: Fraction | int) -> None:
        for name, value in parameters.items():
            object.__setattr__(self, name, value)


_ROOT = re.compile(r"\s*sqrt\(([^()]+)\)\s*")


def _square(square: str, b: Value) -> Fraction:
    """The b^2 of the text sqrt(b^2), for a b in its domain."""
    number = unlimited(positive_rational)(square, "b")
    in_domain(Fraction(isqrt(int(number * 10**100)), 10**50), "b", b)  # the root to fifty places
    return number


def _whole(number: Fraction, name: str) -> int:
    """A bound for integer answers: the number rounded down, which must be at least 1."""
    if number < 1:
        raise BadValue(f"{name} ({number}) must be at least 1 for integer answers, which move by whole numbers")
    return number.numerator // number.denominator


@dataclass(frozen=True, init=False, repr=False)
class L1(Sensitivity):
    """The sum of the moves is at most d: the worst case is one coordinate that takes all of it."""

    d: Fraction

    def __init__(self, d: Value) -> None:
        self._set(d=positive_rational(d, "d"))

    def largest(self) -> Fraction:
        return self.d

    def moves(self) -> Moves:
        return ((1, self.d),)

    @unlimited
    def whole(self) -> L1:
        return L1(_whole(self.d, "d"))


@dataclass(frozen=True, init=False, repr=False)
class L0LInf(Sensitivity):
    """At most m coordinates move, each by at most c: a person in m cells of a histogram.

    >>> L0LInf(20, 1).moves()
    ((20, Fraction(1, 1)),)
    """

    m: int
    c: Fraction

    def __init__(self, m: Value, c: Value) -> None:
        self._set(m=integer(m, "m", 1), c=positive_rational(c, "c"))

    def largest(self) -> Fraction:
        return self.c

    def moves(self) -> Moves:
        return ((self.m, self.c),)

    @unlimited
    def whole(self) -> L0LInf:
        return L0LInf(self.m, _whole(self.c, "c"))


@dataclass(frozen=True, init=False, repr=False)
class L1LInf(Sensitivity):
    """The moves sum to at most a, and each is at most c: as many as fit at c, and one with the rest.

    >>> L1LInf(7, 3).moves()
    ((2, Fraction(3, 1)), (1, Fraction(1, 1)))
    """

    a: Fraction
    c: Fraction

    def __init__(self, a: Value, c: Value) -> None:
        self._set(a=positive_rational(a, "a"), c=positive_rational(c, "c"))

    def largest(self) -> Fraction:
        return min(self.a, self.c)

    def moves(self) -> Moves:
        full, rest = divmod(self.a, self.c)
        return tuple((count, move) for count, move in ((int(full), self.c), (1, rest)) if count and move)

    @unlimited
    def whole(self) -> L1LInf:
        return L1LInf(_whole(self.a, "a"), _whole(self.c, "c"))


@dataclass(frozen=True, init=False, repr=False)
class L2(Sensitivity):
    """The Euclidean length of the move is at most b, over however many coordinates.

    Real answers have no pure epsilon under this bound, integer answers have one: the squares of their moves add up to
    at most `squares`. The length may be a square root, which is kept exactly: two cells that move by 1 have the length
    sqrt(2).

    >>> L2("2.5").squares, L2("sqrt(2)").squares
    (6, 2)
    """

    length_squared: Fraction

    def __init__(self, b: Value) -> None:
        root = _ROOT.fullmatch(b) if isinstance(b, str) else None
        self._set(length_squared=_square(root[1], b) if root else positive_rational(b, "b") ** 2)

    def __repr__(self) -> str:
        root = rational_root(self.length_squared)
        return f"L2({literal(root)})" if root is not None else f"L2('sqrt({self.length_squared})')"

    @property
    def b(self) -> Fraction:
        """The length b; `BadValue` if it is not a rational number."""
        root = rational_root(self.length_squared)
        if root is None:
            rule = "must be a rational number for Laplace and logistic noise: give one that is not below it"
            raise BadValue(f"b (sqrt({self.length_squared})) {rule}")
        return root

    def square(self) -> Fraction:
        return self.length_squared

    def largest(self) -> Fraction:
        root = rational_root(self.length_squared)
        return root if root is not None else Fraction(enclose(lambda: lift(self.length_squared).sqrt())[1])

    def moves(self) -> None:
        return None

    @property
    def squares(self) -> int:
        """The largest sum of squares of integer moves: b^2, rounded down."""
        if self.length_squared < 1:
            written = repr(self).removeprefix("L2(").removesuffix(")").strip("'")
            raise BadValue(f"b ({written}) must be at least 1 for integer answers, which move by whole numbers")
        return int(self.length_squared)

    @unlimited
    def whole(self) -> L0LInf:
        """The integer moves of largest cumulant: as many coordinates as `squares`, each by 1."""
        return L0LInf(self.squares, 1)
