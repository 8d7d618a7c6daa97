"""Elementary functions over every number system a formula runs on: real and complex balls, and power series."""

from __future__ import annotations

from typing import TypeVar

from flint import acb, arb, arb_series

from zcdp.numeric.certify import NotCertified

__all__ = ["Number", "coefficient", "derivatives", "exp", "expm1", "log", "log1p", "sinhc"]

Number = TypeVar("Number", arb, acb, arb_series)


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
    """sinh(x)/x; a series may vanish at its centre, a ball may not.

    >>> sinhc(arb(1)).overlaps(arb(1).sinh())
    True
    """
    if isinstance(x, arb_series):
        return (x.exp() - (-x).exp()) / (2 * x)
    return x.sinh() / x


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
