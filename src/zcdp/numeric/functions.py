"""Elementary functions over every number system a formula runs on: real and complex balls, and power series."""

from __future__ import annotations

from typing import TypeVar

from flint import acb, arb, arb_series

from zcdp.numeric.balls import NotCertified, working_bits
from zcdp.numeric.work import count_functions

__all__ = ["Number", "coefficient", "derivatives", "exp", "expm1", "log", "log1p", "sinhc"]

Number = TypeVar("Number", arb, acb, arb_series)

NEAR = arb(2) ** -16
"""Closer to 0 than this, sinh(x)/x is summed up."""
TERM = 0.1  # elementary functions that a coefficient of one term of such a sum takes


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
    """sinh(x)/x, for a series without cancellation near x = 0; a series may vanish at its centre, a ball may not.

    >>> sinhc(arb(1)).overlaps(arb(1).sinh())
    True
    """
    if not isinstance(x, arb_series):
        return x.sinh() / x
    return _sinhc_near_zero(x) if abs(x[0]) < NEAR else (x.exp() - (-x).exp()) / (2 * x)


def tail_factor(s: Number) -> Number:
    """log max over u of (1 - e^{-u}) e^{-s u} = s log s - (1+s) log(1+s)."""
    return s * log(s) - (1 + s) * log(1 + s)


def _sinhc_near_zero(x: arb_series) -> arb_series:
    """The sum of x^2k/(2k+1)!; the rest in absolute values, below a geometric series, term by term of the result."""
    count = x.prec
    bits = working_bits()
    square, last = x * x, count // 2 + 1
    while abs(square[0]) ** (last - count // 2) * 2**bits > 1:
        last += 1
    count_functions(TERM * last * count)
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
    coefficients = [series[n] for n in range(series.prec)]
    return arb_series([constant, *coefficients[1:]], prec=series.prec)


def coefficient(series: arb_series, n: int) -> arb:
    """The n-th Taylor coefficient; one beyond the known terms is an error, where flint would say 0."""
    if n >= series.prec:
        raise NotCertified(f"the power series was cut short: {series.prec} terms")
    return series[n]


def derivatives(taylor: arb_series) -> tuple[arb, arb, arb]:
    """Value, first and second derivative at the centre of a Taylor series."""
    return coefficient(taylor, 0), coefficient(taylor, 1), 2 * coefficient(taylor, 2)
