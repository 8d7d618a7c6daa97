"""Exact parameters: rationals and logarithms of rationals, from the numbers and texts that users write, and back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from math import inf, isfinite, isqrt, log, nextafter
from numbers import Integral, Real
from typing import NoReturn, TypeAlias

from zcdp.errors import BadType, BadValue
from zcdp.numeric.parameter_domains import Domain, domain, whole_domain
from zcdp.text.calls import spoken_class
from zcdp.text.suggestions import thing

__all__ = [
    "Exact",
    "Log",
    "Readable",
    "Value",
    "float_above",
    "float_below",
    "gcd",
    "in_domain",
    "integer",
    "literal",
    "log_of",
    "positive",
    "positive_rational",
    "probability",
    "rational",
    "rational_root",
    "readable",
    "real",
    "shown",
    "times",
]


# Limits on every number from outside. A decimal exponent beyond this is a mistake or an attack: "1e999999999" would
# need a gigabyte as an integer. So are more digits than Python itself prints: the time of conversion is quadratic.
LARGEST_EXPONENT = 4000
MOST_DIGITS = 4300

_MOST_BITS = (10**MOST_DIGITS - 1).bit_length() - 1  # Integers of so many bits have at most MOST_DIGITS digits.
_LOG = re.compile(r"(?:log|ln)\((.*)\)", re.DOTALL)
# Python's own conversions also accept underscores and digits of other scripts; people who read a plan would not.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_RATIO = re.compile(r"[+-]?[0-9]+\s*/\s*[0-9]+", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:inf|infinity|s?nan)", re.IGNORECASE | re.ASCII)


@spoken_class
@dataclass(frozen=True)
class Log:
    """The exact real number log(argument), the natural logarithm, for epsilons such as ln 3.

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
    raise BadValue(f"{name} ({shown if len(shown) <= 120 else shown[:80] + '...'}) {rule}")


def _from_decimal(number: Decimal, value: object, name: str) -> Fraction:
    if not number.is_finite():
        _wrong(name, value, "must be finite")
    if number and abs(number.adjusted()) > LARGEST_EXPONENT:
        _wrong(name, value, f"must have a decimal exponent of at most {LARGEST_EXPONENT} in size")
    if len(number.as_tuple().digits) > MOST_DIGITS:
        _wrong(name, value, f"must have at most {MOST_DIGITS} digits")
    return _limited(Fraction(number), value, name)


A_NUMBER = "is not a number: write a decimal such as '0.1' or a fraction such as '1/3'"
A_COUNT = "is not a number: write a whole number such as 60000, without commas"


def _from_text(text: str, name: str, rule: str = A_NUMBER) -> Fraction:
    number = text.strip(" \t\r\n")
    if len(number) > 2 * MOST_DIGITS + 3:  # It is longer than any fraction of two such integers with its signs.
        _wrong(name, text, f"must have at most {MOST_DIGITS} digits")
    if _DECIMAL.fullmatch(number):
        try:
            return _from_decimal(Decimal(number), text, name)
        except InvalidOperation:  # The exponent is beyond the range of Decimal.
            _wrong(name, text, f"must have a decimal exponent of at most {LARGEST_EXPONENT} in size")
    if _NOT_FINITE.fullmatch(number):
        _wrong(name, text, "must be finite")
    if _RATIO.fullmatch(number):
        top, bottom = (part.strip() for part in number.split("/"))
        if max(len(top.lstrip("+-")), len(bottom)) > MOST_DIGITS:
            _wrong(name, text, f"must have at most {MOST_DIGITS} digits above and below the line")
        if bottom.strip("0"):
            return Fraction(int(top), int(bottom))
    _wrong(name, text, rule)


def _limited(number: Fraction, value: object, name: str) -> Fraction:
    """The number itself; raises if it has more digits than Python prints and reads back."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        _wrong(name, value, f"must have at most {MOST_DIGITS} digits above and below the line")
    return number


def rational(value: Value, name: str) -> Fraction:
    """The exact rational value: of a float its binary value, of a string the decimal or fraction that is written.

    >>> rational("0.1", "epsilon"), rational(0.5, "epsilon")
    (Fraction(1, 10), Fraction(1, 2))
    """
    if type(value) is int:  # The two usual types come first: this is half the time of constructing a mechanism.
        return _limited(Fraction(value), value, name)
    if type(value) is float and isfinite(value):
        return Fraction(*value.as_integer_ratio())
    if isinstance(value, bool):
        raise BadType(f"{name} ({value}) must be a number, not a bool")
    if isinstance(value, str):
        return _from_text(value, name)
    if isinstance(value, Decimal):
        return _from_decimal(value, value, name)
    if isinstance(value, Fraction):
        plain = value if type(value) is Fraction else Fraction(value.numerator, value.denominator)
        return _limited(plain, value, name)
    if isinstance(value, Integral):
        return _limited(Fraction(int(value)), value, name)
    # Floats that are infinite or NaN, and numpy's floating scalars of every width, have this method.
    ratio = getattr(value, "as_integer_ratio", None)
    if isinstance(value, Real) and ratio is not None:
        try:
            exact = Fraction(*ratio())
        except (ValueError, OverflowError):
            _wrong(name, value, "must be finite")
        return _limited(exact, value, name)
    raise BadType(f"{name} ({thing(value)}) must be a number: int, float, Fraction, Decimal, or text such as '0.1'")


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
    """The exact value (a rational or a `Log`), which must be above zero and in the domain of its name."""
    number = real(value, name)
    size = number.argument - 1 if isinstance(number, Log) else number  # log(1 + x) is x, up to x^2/2
    if size <= 0:
        _wrong(name, value, "must be positive")
    in_domain(number if isinstance(number, Fraction) else min(size, Fraction(1)), name, value)
    return number


def positive_rational(value: Value, name: str) -> Fraction:
    """The exact rational value, which must be above zero and in the domain of its name."""
    number = rational(value, name)
    if number <= 0:
        _wrong(name, value, "must be positive")
    return in_domain(number, name, value)


def probability(value: Value, name: str) -> Fraction:
    """The exact rational value, which must lie strictly between 0 and 1 and in the domain of its name."""
    number = rational(value, name)
    if not 0 < number < 1:
        _wrong(name, value, "must lie strictly between 0 and 1")
    return in_domain(number, name, value)


def in_domain(number: Fraction, name: str, value: object | None = None, of: str = "") -> Fraction:
    """The number itself; raises `BadValue` if it lies beyond the domain of the parameter, with `value` as given.

    `of` says how a number that was not given follows from what was.

    >>> in_domain(Fraction(10) ** 300, "epsilon", 1e300)
    Traceback (most recent call last):
    zcdp.errors.BadValue: epsilon (1e+300) must be between 1e-12 and 1e9
    >>> in_domain(Fraction(1, 10**20), "epsilon", of="sensitivity/scale")
    Traceback (most recent call last):
    zcdp.errors.BadValue: epsilon = sensitivity/scale (1e-20) must be between 1e-12 and 1e9
    """
    _in(domain(name), number, f"{name} = {of}" if of else name, value)
    return number


def _in(allowed: Domain | None, number: Fraction, name: str, value: object | None) -> None:
    if allowed is not None and not allowed.holds(number):
        if value is None:
            raise BadValue(f"{name} ({shown(number, 6)}) {allowed.rule}")
        _wrong(name, value, allowed.rule)


def integer(value: Value, name: str, minimum: int) -> int:
    """The value as an int; it must be whole, at least `minimum`, and in the domain of its name.

    >>> integer(4.0, "k", 2)
    4
    """
    number = _from_text(value, name, A_COUNT) if isinstance(value, str) else rational(value, name)
    if number.denominator != 1:
        _wrong(name, value, "must be a whole number")
    if number < minimum:
        _wrong(name, value, f"must be at least {minimum}")
    _in(whole_domain(name), number, name, value)
    return number.numerator


def times(count: int, number: Exact) -> Exact:
    """count * number, exactly; a multiple of a `Log` is the `Log` of a power."""
    if not isinstance(number, Log):
        return count * number
    if count * max(number.argument.numerator.bit_length(), number.argument.denominator.bit_length()) > _MOST_BITS:
        raise BadValue(
            f"{count} times {number} is the logarithm of more than {MOST_DIGITS} digits: give it as a number"
        )
    return Log(number.argument**count)


def literal(number: Exact | int) -> str:
    """Short source text that reads back as exactly this number: an integer, a float, or a decimal or ratio in quotes.

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
    except ValueError:  # It has more digits than Python prints; hexadecimal has no such limit.
        return f"Fraction({number.numerator:#x}, {number.denominator:#x})"


def shown(number: Fraction, digits: int) -> str:
    """The number to `digits` significant digits, for people; also beyond the range of floats.

    >>> shown(Fraction(1, 3), 6), shown(Fraction(10) ** -400, 6), shown(Fraction(10) ** 400, 6)
    ('0.333333', '1e-400', '1e+400')
    """
    try:
        if (near := float(number)) or not number:
            return f"{near:.{digits}g}"
    except OverflowError:
        pass
    context = Context(prec=digits)
    return str(context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(context)).lower()


def _as_decimal(number: Fraction) -> str | None:
    """The finite decimal expansion, if there is one of at most 25 places; else None."""
    scaled = number * 10**25
    if scaled.denominator > 1 or abs(scaled) >= 10**50:
        return None
    context = Context(prec=60)
    return str(Decimal(scaled.numerator).scaleb(-25, context).normalize(context)).lower()


def log_of(number: Fraction) -> float:
    """The natural logarithm as a float, heuristic (for searches); also of numbers beyond the range of floats.

    >>> log_of(Fraction(1, 4)), log_of(Fraction(10) ** -4000)
    (-1.3862943611198906, -9210.34037197618...)
    """
    try:
        if (near := float(number)) > 1e-300:
            return log(near)
    except OverflowError:
        pass
    return log(number.numerator) - log(number.denominator)


def float_above(value: Fraction) -> float:
    """The least float that is not below a rational; inf if the rational is above all finite floats.

    >>> float_above(Fraction(1, 10)), float_above(Fraction(3, 10)), float_above(Fraction(10**400))
    (0.1, 0.30000000000000004, inf)
    """
    try:
        nearest = float(value)
    except OverflowError:
        return inf if value > 0 else nextafter(-inf, 0.0)
    top, bottom = nearest.as_integer_ratio()  # compared as integers: `nearest >= value` takes four times as long
    return nearest if top * value.denominator >= value.numerator * bottom else nextafter(nearest, inf)


def float_below(value: Fraction) -> float:
    """The largest float that is not above a rational.

    >>> float_below(Fraction(1, 10)) < Fraction(1, 10)
    True
    """
    return 0.0 - float_above(-value)


def rational_root(square: Fraction) -> Fraction | None:
    """The square root, where it is a rational number; else None.

    >>> rational_root(Fraction(9, 4)), rational_root(Fraction(2))
    (Fraction(3, 2), None)
    """
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else None


def gcd(a: Fraction, b: Fraction) -> Fraction:
    """The greatest rational of which a and b are both whole multiples.

    >>> gcd(Fraction(1, 10), Fraction(1, 4))
    Fraction(1, 20)
    """
    while b:
        a, b = b, a % b
    return a


# Exact rationals that print as people write them.

SHORT_DENOMINATOR = 1000  # Rationals that are no floats are printed as ratios if their denominator is below this.


class Readable(Fraction):
    """A Fraction, exact in every calculation, whose repr is 10, 2.5, 1/3, or the nearest float.

    >>> Readable(10), Readable(5, 2), Readable(1, 3), Readable(1) / 3
    (10, 2.5, 1/3, Fraction(1, 3))
    >>> Readable(36028797018963968, 3602879701896397)        # 1/0.1, where 0.1 is a float
    10.0
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """The integer, the short ratio, or the nearest float; the value itself stays exact."""
        if self.denominator == 1:
            return str(self.numerator)
        try:
            near = float(self)
        except OverflowError:
            return str(self)
        return str(self) if self.denominator < SHORT_DENOMINATOR and Fraction(near) != self else repr(near)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        """Copy and pickle through the exact text, which keeps the class."""
        return type(self), (str(self),)


def readable(number: Fraction | float) -> Fraction | float:
    """A Fraction as a `Readable` of the same value; a float as it is.

    >>> readable(Fraction(7, 2)), readable(3.25)
    (3.5, 3.25)
    """
    return Readable(number.numerator, number.denominator) if isinstance(number, Fraction) else number
