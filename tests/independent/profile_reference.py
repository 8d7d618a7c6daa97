"""Independent privacy profiles: outputs enumerated and losses convolved from the definitions, in 400-bit arithmetic.

Nothing here comes from the library. A loss distribution on a lattice is (index of the first point, list of P-masses)
in units of the lattice spacing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import ceil, floor, gcd, lcm
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

mpmath.mp.prec = 400
Loss = tuple[int, Any]


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def outputs(kind: str, epsilon: Fraction, size: int) -> list[tuple[Fraction, mpf]]:
    """(loss as a multiple of epsilon, P-mass) of each output, or group of outputs, by definition of the mechanism."""
    e = mpmath.exp(real(epsilon))
    if kind == "pure":
        return [(Fraction(1), e / (1 + e)), (Fraction(-1), 1 / (1 + e))]
    if kind == "rr":
        truth, other = e / (e + size - 1), 1 / (e + size - 1)
        return [(Fraction(1), truth), (Fraction(-1), other), (Fraction(0), (size - 2) * other)]
    if kind == "rappor":
        keep = 1 / (1 + 1 / mpmath.sqrt(e))
        pairs = []
        for first in (0, 1):
            for second in (0, 1):  # P has bits (1, 0), Q has (0, 1)
                mass = (keep if first else 1 - keep) * (1 - keep if second else keep)
                pairs.append((Fraction(first - second), mass))
        return pairs
    assert kind == "geometric"
    q = mpmath.exp(-real(epsilon) / size)
    point = (1 - q) / (1 + q)
    inside = [(Fraction(size - 2 * x, size), point * q**x) for x in range(1, size)]
    return [(Fraction(1), point / (1 - q)), *inside, (Fraction(-1), point * q**size / (1 - q))]


def spacing(parts: list[tuple[str, Fraction, int, int]]) -> Fraction:
    steps = [
        epsilon * abs(multiple) for kind, epsilon, size, _ in parts for multiple, _ in outputs(kind, epsilon, size)
    ]
    steps = [step for step in steps if step]
    denominator = lcm(*(step.denominator for step in steps))
    return Fraction(gcd(*(int(step * denominator) for step in steps)), denominator)


def single(kind: str, epsilon: Fraction, size: int, g: Fraction) -> Loss:
    points: dict[int, mpf] = {}
    for multiple, mass in outputs(kind, epsilon, size):
        index = int(multiple * epsilon / g)
        points[index] = points.get(index, mpf(0)) + mass
    low, high = min(points), max(points)
    return low, np.array([points.get(i, mpf(0)) for i in range(low, high + 1)], dtype=object)


def convolve(one: Loss, other: Loss) -> Loss:
    return one[0] + other[0], np.convolve(one[1], other[1])


def power(loss: Loss, count: int) -> Loss:
    answer: Loss = (0, np.array([mpf(1)], dtype=object))
    while count:
        if count % 2:
            answer = convolve(answer, loss)
        loss, count = convolve(loss, loss) if count > 1 else loss, count // 2
    return answer


def composed(parts: list[tuple[str, Fraction, int, int]]) -> tuple[Fraction, Loss]:
    g = spacing(parts)
    total: Loss = (0, np.array([mpf(1)], dtype=object))
    for kind, epsilon, size, count in parts:
        total = convolve(total, power(single(kind, epsilon, size, g), count))
    return g, total


def lattice_delta(g: Fraction, loss: Loss, epsilon: Fraction, rest: Callable[[Fraction], mpf] | None = None) -> mpf:
    """sum of mass (1 - e^{epsilon - loss})_+; or, with one more mechanism, of mass * its delta(epsilon - loss)."""
    first, masses = loss
    if rest is not None:
        return mpmath.fsum(mass * rest(epsilon - g * (first + i)) for i, mass in enumerate(masses) if mass)
    start = max(floor(epsilon / g) + 1 - first, 0)
    return mpmath.fsum(
        mass * -mpmath.expm1(real(epsilon - g * (first + i))) for i, mass in enumerate(masses[start:], start) if mass
    )


def binary_delta(e: Fraction, count: int, epsilon: Fraction) -> mpf:
    """Binary randomized response, many times: a binomial sum, from the largest term that counts outwards."""
    p = 1 / (1 + mpmath.exp(-real(e)))
    last = min(ceil((count * e - epsilon) / (2 * e)) - 1, count)  # losses (count - 2k) e > epsilon
    if last < 0:
        return mpf(0)

    def term(k: int) -> mpf:
        return mpmath.binomial(count, k) * p ** (count - k) * (1 - p) ** k

    middle = min(last, round(float(count * (1 - p))))
    total = mpf(0)
    mass, k = term(middle), middle
    start = mass
    while k >= 0 and mass > start * mpf(2) ** -150:
        total += mass * -mpmath.expm1(real(epsilon - (count - 2 * k) * e))
        mass = mass * k / (count - k + 1) * p / (1 - p) if k else mpf(0)
        k -= 1
    mass, k = start, middle
    while k < last and mass > start * mpf(2) ** -150:
        mass = mass * (count - k) / (k + 1) * (1 - p) / p
        k += 1
        total += mass * -mpmath.expm1(real(epsilon - (count - 2 * k) * e))
    return total


def laplace_delta(e: Fraction, epsilon: Fraction) -> mpf:
    """One Laplace mechanism: P(x <= t) - e^epsilon Q(x <= t) where the loss |x - e| - |x| exceeds epsilon for x < t."""
    if epsilon >= e:
        return mpf(0)
    if epsilon <= -e:
        return -mpmath.expm1(real(epsilon))
    t = (e - epsilon) / 2
    return 1 - mpmath.exp(-real(t)) / 2 - mpmath.exp(real(epsilon) + real(t - e)) / 2


def logistic_delta(eta: Fraction, epsilon: Fraction) -> mpf:
    """One logistic mechanism, by its distribution function at the point where the loss is epsilon."""
    if epsilon >= eta:
        return mpf(0)
    if epsilon <= -eta:
        return -mpmath.expm1(real(epsilon))
    s, top = mpmath.exp(real(epsilon + eta) / 2), mpmath.exp(real(eta))
    v = (s - 1) / (top - s)  # e^{-x}, and e^{-(x - eta)} = top v
    return 1 / (1 + v) - mpmath.exp(real(epsilon)) / (1 + top * v) if s < top else mpf(0)


@cache
def two_laplace_delta(e1: Fraction, e2: Fraction, epsilon: Fraction) -> mpf:
    """Two Laplace mechanisms: the atoms of the first, and its density by quadrature between the kinks."""
    a = real(e1)
    total = laplace_delta(e2, epsilon - e1) / 2 + mpmath.exp(-a) / 2 * laplace_delta(e2, epsilon + e1)
    kinks = sorted({-e1, e1, *(k for k in (epsilon - e2, epsilon + e2) if -e1 < k < e1)})

    def integrand(x: mpf) -> mpf:
        rest, b = real(epsilon) - x, real(e2)
        if rest >= b:
            return mpf(0)
        inner = -mpmath.expm1(rest) if rest <= -b else -mpmath.expm1((rest - b) / 2)
        return mpmath.exp((x - a) / 2) / 4 * inner

    return total + mpmath.quad(integrand, [real(k) for k in kinks])


@cache
def many_laplace_delta(e: Fraction, count: int, epsilon: Fraction) -> mpf:
    """Many Laplace mechanisms: how many draws are not atoms, and which; each case is a sum of uniform-like variables.

    Condition on the signs: M = e^{-ne/2} sum over k, j of binomials times e^{(n-2k) e w}/(2w)^j, inverted term by term
    with w^{-j}/(w^2 - 1/4) <-> the j-fold integral of 2 sinh(t/2), taken from its Taylor series. 2000 bits.
    """
    before = mpmath.mp.prec
    mpmath.mp.prec = 2000
    try:
        x, n, least = real(e), count, mpf(2) ** -1990
        total = mpf(0)
        for k in range(n + 1):
            t = real((n - 2 * k) * e - epsilon)
            if t <= 0:
                break
            quarter = t * t / 4
            # coefficients of u^j in (1 + u/2)^(n-k) (1 - u/2)^k, u = 1/w
            row = [mpf(1)]
            for sign, times in ((mpf(1) / 2, n - k), (mpf(-1) / 2, k)):
                for _ in range(times):
                    row = [a + sign * b for a, b in zip([*row, mpf(0)], [mpf(0), *row], strict=True)]
            inner = mpf(0)
            for j, coefficient in enumerate(row):
                term, m, series = t ** (j + 1) / mpmath.factorial(j + 1), j + 1, mpf(0)
                while term > least:
                    series += term
                    term *= quarter / ((m + 1) * (m + 2))
                    m += 2
                inner += coefficient * series
            total += mpmath.binomial(n, k) * inner
        return total * mpmath.exp(real(epsilon) / 2 - n * x / 2) / mpf(2) ** n
    finally:
        mpmath.mp.prec = before
