"""Elementary functions, each for real balls, complex balls and power series of real balls."""

from __future__ import annotations

from typing import TypeVar

from flint import acb, arb, arb_series

from zcdp.numeric.balls import NotCertified, working_bits
from zcdp.numeric.work import count_functions

__all__ = ["Number", "coefficient", "derivatives", "exp", "expm1", "log", "log1p", "sinhc"]

Number = TypeVar("Number", arb, acb, arb_series)

SUMMED_BELOW = arb(2) ** -16
"""Where |x| is below this, sinh(x)/x of a series is computed by its Taylor sum."""
TERM_WORK = 0.1  # work for one coefficient of one term of that sum, in elementary functions


def exp(x: Number) -> Number:
    """e^x."""
    return x.exp()


def log(x: Number) -> Number:
    """The natural logarithm."""
    return x.log()


def expm1(x: Number) -> Number:
    """e^x - 1, without cancellation near x = 0."""
    if isinstance(x, arb_series):
        return _with_constant(x.exp(), x[0].expm1())
    return x.expm1()


def log1p(x: Number) -> Number:
    """log(1 + x), without cancellation near x = 0."""
    if isinstance(x, arb_series):
        return _with_constant((1 + x).log(), x[0].log1p())
    return x.log1p()


def sinhc(x: Number) -> Number:
    """sinh(x)/x. A series may have the constant term 0, and loses no digits near it; a ball must not contain 0.

    >>> sinhc(arb(1)).overlaps(arb(1).sinh())
    True
    """
    if not isinstance(x, arb_series):
        return x.sinh() / x
    return _sinhc_near_zero(x) if abs(x[0]) < SUMMED_BELOW else (x.exp() - (-x).exp()) / (2 * x)


def tail_factor(s: Number) -> Number:
    """s log s - (1+s) log(1+s), which is log of the maximum over u > 0 of (1 - e^{-u}) e^{-s u}.

    It is the correction in the conversion from Renyi to approximate DP by Canonne, Kamath and Steinke 2020.
    """
    return s * log(s) - (1 + s) * log(1 + s)


def _sinhc_near_zero(x: arb_series) -> arb_series:
    """The sum of x^2k/(2k+1)! for k < `last`, with the remainder added to the radius of each coefficient.

    The remainder is the same sum in the absolute values of the coefficients of x, bounded by a geometric series.
    """
    count = x.prec
    bits = working_bits()
    square, last = x * x, count // 2 + 1
    while abs(square[0]) ** (last - count // 2) * 2**bits > 1:
        last += 1
    count_functions(TERM_WORK * last * count)
    result = arb_series([1], prec=count)
    for k in range(last - 1, 0, -1):
        result = 1 + square * result / (2 * k * (2 * k + 1))
    size = arb_series([abs(x[n]).upper() for n in range(count)], prec=count)
    rest, term = size * size, arb_series([1], prec=count)
    for k in range(1, last + 1):
        term = term * rest / (2 * k * (2 * k + 1))
    term = term / (1 - rest / ((2 * last + 2) * (2 * last + 3)))
    return result + arb_series([arb(0, term[n].upper()) for n in range(count)], prec=count)


def _with_constant(series: arb_series, constant: arb) -> arb_series:
    """The series with its constant term replaced by a more accurate ball."""
    coefficients = [series[n] for n in range(series.prec)]
    return arb_series([constant, *coefficients[1:]], prec=series.prec)


def coefficient(series: arb_series, n: int) -> arb:
    """The n-th Taylor coefficient. Raises if the series is too short, where flint would return 0."""
    if n >= series.prec:
        raise NotCertified(f"the power series was cut short: {series.prec} terms")
    return series[n]


def derivatives(taylor: arb_series) -> tuple[arb, arb, arb]:
    """Value, first and second derivative at the centre of a Taylor series."""
    return coefficient(taylor, 0), coefficient(taylor, 1), 2 * coefficient(taylor, 2)
