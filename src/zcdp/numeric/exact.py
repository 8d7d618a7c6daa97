"""Exact parameters: rationals and logarithms of rationals, read from whatever a user types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from typing import NoReturn, TypeAlias

__all__ = [
    "Exact",
    "Log",
    "Value",
    "gcd",
    "integer",
    "literal",
    "positive",
    "positive_rational",
    "probability",
    "rational",
    "real",
    "times",
]

# A decimal exponent beyond this is a slip or an attack: "1e999999999" would need a gigabyte as an integer.
LARGEST_EXPONENT = 4000

_LOG = re.compile(r"(?:log|ln)\((.*)\)", re.DOTALL)


@dataclass(frozen=True)
class Log:
    """The exact real number log(argument), for the epsilons the field writes as ln 3.

    >>> Log(3)
    Log(argument=Fraction(3, 1))
    """

    argument: Fraction

    def __post_init__(self) -> None:
        argument = rational(self.argument, "argument")
        if argument <= 0:
            _wrong("argument", self.argument, "must be positive")
        object.__setattr__(self, "argument", argument)

    def __str__(self) -> str:
        return f"log({self.argument})"


Exact: TypeAlias = Fraction | Log
Value: TypeAlias = int | float | Fraction | Decimal | str | Log | Real


def _wrong(name: str, value: object, rule: str) -> NoReturn:
    try:
        shown = str(value) if isinstance(value, Real) else repr(value)
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        shown = "a number of thousands of digits"
    raise ValueError(f"{name} ({shown}) {rule}")


def _from_decimal(number: Decimal, value: object, name: str) -> Fraction:
    if not number.is_finite():
        _wrong(name, value, "must be finite")
    if number and abs(number.adjusted()) > LARGEST_EXPONENT:
        _wrong(name, value, f"must have a decimal exponent of at most {LARGEST_EXPONENT} in size")
    return Fraction(number)


def _from_text(text: str, name: str) -> Fraction:
    try:
        if "/" in text:
            return Fraction(text)
        return _from_decimal(Decimal(text), text, name)
    except (InvalidOperation, ZeroDivisionError, ValueError) as error:
        if isinstance(error, ValueError) and str(error).startswith(name):
            raise
    _wrong(name, text, "is not a number: write a decimal such as '0.1' or a fraction such as '1/3'")


def rational(value: Value, name: str) -> Fraction:
    """The rational that `value` stands for, exactly: a float is its binary value, a string its decimal one.

    >>> rational("0.1", "epsilon"), rational(0.5, "epsilon")
    (Fraction(1, 10), Fraction(1, 2))
    """
    if type(value) is int:  # the two everyday cases first: this is half the cost of a mechanism
        return Fraction(value)
    if type(value) is float and isfinite(value):
        return Fraction(*value.as_integer_ratio())
    if isinstance(value, bool):
        raise TypeError(f"{name} ({value}) must be a number, not a bool")
    if isinstance(value, str):
        return _from_text(value, name)
    if isinstance(value, Decimal):
        return _from_decimal(value, value, name)
    if isinstance(value, Fraction):
        return value if type(value) is Fraction else Fraction(value.numerator, value.denominator)
    if isinstance(value, Integral):
        return Fraction(int(value))
    # floats, and numpy's floating scalars of every width, know their own exact ratio
    ratio = getattr(value, "as_integer_ratio", None)
    if isinstance(value, Real) and ratio is not None:
        try:
            return Fraction(*ratio())
        except (ValueError, OverflowError):
            _wrong(name, value, "must be finite")
    raise TypeError(
        f"{name} ({value!r}) must be a number: int, float, Fraction, Decimal or str, not {type(value).__name__}"
    )


def real(value: Value, name: str) -> Exact:
    """A rational, or the logarithm of one: `Log(3)` or the string 'log(3)'.

    >>> real("log(3)", "epsilon")
    Log(argument=Fraction(3, 1))
    """
    if isinstance(value, Log):
        return value
    if isinstance(value, str) and (match := _LOG.fullmatch(value.strip())):
        argument = rational(match[1], name)
        if argument <= 0:
            _wrong(name, value, "must be the logarithm of a positive number")
        return Log(argument) if argument != 1 else Fraction(0)
    return rational(value, name)


def positive(value: Value, name: str) -> Exact:
    """`real`, above zero."""
    number = real(value, name)
    sign = number.argument - 1 if isinstance(number, Log) else number
    if sign <= 0:
        _wrong(name, value, "must be positive")
    return number


def positive_rational(value: Value, name: str) -> Fraction:
    """`rational`, above zero."""
    number = rational(value, name)
    if number <= 0:
        _wrong(name, value, "must be positive")
    return number


def probability(value: Value, name: str) -> Fraction:
    """`rational`, strictly between 0 and 1."""
    number = rational(value, name)
    if not 0 < number < 1:
        _wrong(name, value, "must lie strictly between 0 and 1")
    return number


def integer(value: Value, name: str, minimum: int) -> int:
    """`rational`, whole and at least `minimum`.

    >>> integer(4.0, "k", 2)
    4
    """
    number = rational(value, name)
    if number.denominator != 1:
        _wrong(name, value, "must be a whole number")
    if number < minimum:
        _wrong(name, value, f"must be at least {minimum}")
    return number.numerator


def times(count: int, number: Exact) -> Exact:
    """count * number, exactly."""
    if isinstance(number, Log) and count * number.argument.numerator.bit_length() > 10**6:
        raise ValueError(f"{count} times {number} is the logarithm of a number of too many digits: give it as a number")
    return Log(number.argument**count) if isinstance(number, Log) else count * number


def literal(number: Exact | int) -> str:
    """The shortest source text that reads back as exactly this number.

    >>> literal(Fraction(1)), literal(Fraction(0.1)), literal(Fraction(1, 10)), literal(Fraction(1, 3))
    ('1', '0.1', "'0.1'", "'1/3'")
    """
    if isinstance(number, Log):
        return repr(str(number))
    number = Fraction(number)
    if number.denominator == 1 and abs(number) < 10**20:
        return str(number.numerator)
    try:
        if Fraction(nearest := number.numerator / number.denominator) == number:
            return repr(nearest)
    except OverflowError:
        pass
    try:
        return repr(_as_decimal(number) or str(number))
    except ValueError:  # more digits than Python prints: hexadecimal has no such limit
        return f"Fraction({number.numerator:#x}, {number.denominator:#x})"


def _as_decimal(number: Fraction) -> str | None:
    """The finite decimal expansion, if there is one of at most 25 places."""
    scaled = number * 10**25
    if scaled.denominator > 1 or abs(scaled) >= 10**50:
        return None
    context = Context(prec=60)
    return str(Decimal(scaled.numerator).scaleb(-25, context).normalize(context)).lower()


def gcd(a: Fraction, b: Fraction) -> Fraction:
    """The greatest rational that both are whole multiples of.

    >>> gcd(Fraction(1, 10), Fraction(1, 4))
    Fraction(1, 20)
    """
    while b:
        a, b = b, a % b
    return a
