"""Independent privacy profiles where losses have a density: the inversion integral by mpmath, and a sum over draws."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import log, pi

import gmpy2
import mpmath
import numpy as np
from gmpy2 import mpfr
from mpmath import mpc, mpf

from independent.profile_laws import Laws, largest, log_moment, mean, number, spread

BITS = 240
DIGITS = 25  # two lines must agree to so many, nine more than a float has
TINY = log(10) * (DIGITS + 4)
LONGEST = 400_000  # nodes looked at in floating point
MOST_NODES = 3_000  # nodes evaluated


def _mpf(x: mpfr) -> mpf:
    with mpmath.workprec(700):
        sign, digits, exponent = (1, *gmpy2.digits(x, 10)[:2]) if x >= 0 else (-1, *gmpy2.digits(-x, 10)[:2])
        return sign * mpf(int(digits)) * mpf(10) ** (exponent - len(digits))


class Line:
    """delta(epsilon) = (1/pi) times the integral over y > 0 of Re M(z) e^{-z epsilon}/(z(z+1)), z = c + iy.

    The trapezoidal rule of step 2 pi/P errs by e^{cjP} delta(epsilon + jP), j = 1, -1, 2, ...: geometrically.
    """

    def __init__(self, laws: Laws, epsilon: float, *, aside: float = 0.0) -> None:
        self.laws = laws
        c = self._saddle(epsilon)
        self.c = c = c + aside * min(0.2 * c, 1 / spread(laws, c))  # further from the saddle digits are lost
        center = log_moment(laws, c) - c * epsilon
        size = center - log(c * (1 + c)) - log(1 + spread(laws, c) * max(c, 1)) - 3  # about log delta
        period = (TINY - size) / c
        right = largest(laws) - epsilon
        for more in (1.1, 1.3, 2, 4, 10):
            s = c * more
            bound = log_moment(laws, s) - s * epsilon - size + TINY
            right = min(right, bound / (s - c))
        self.step = 2 * pi / max(period, right, 1e-300)
        self.epsilon = epsilon
        self.nodes = self._nodes(center - size + TINY)

    def _saddle(self, epsilon: float) -> float:
        low, high = 1e-9, 1e15
        for _ in range(100):
            c = (low * high) ** 0.5
            slope = mean(self.laws, c) - epsilon - 1 / c - 1 / (1 + c)
            low, high = (c, high) if slope < 0 else (low, c)
        return high

    def _decay(self, y: np.ndarray) -> np.ndarray:
        """log |M(c + iy)|/M(c), in floating point."""
        total, w = np.zeros_like(y), self.c + 0.5 + 1j * y
        for one, count in self.laws:
            e = float(one.top)
            if one.family == "gaussian":
                total -= count * e * y * y
                continue
            if one.family == "atoms":
                turn = np.exp(-(self.c + 1j * y) * float(one.step))
                value = np.zeros_like(turn)
                for mass in reversed(one.masses):
                    value = value * turn + float(mass)
                start = log_moment([(one, 1)], self.c) - self.c * e
            else:
                atom = 0.5 if one.family == "laplace" else 0.0
                back = np.exp(-2 * e * w)
                value = atom * (1 + back) + (1 - back) / (4 * w)
                still = np.exp(-2 * e * w.real[0])
                start = log(atom * (1 + still) + (1 - still) / (4 * w.real[0]))
            total += count * (np.log(np.abs(value)) - start)
        return total

    def _bound(self, y: float) -> float:
        """At least log |M|/M(c) at all heights from y on."""
        total, w = 0.0, abs(self.c + 0.5 + 1j * y)
        x = self.c + 0.5
        for one, count in self.laws:
            e = float(one.top)
            if one.family == "gaussian":
                total -= count * e * y * y
            elif one.family != "atoms":
                atom = 0.5 if one.family == "laplace" else 0.0
                still = np.exp(-2 * e * x)
                whole = atom * (1 + still) + (1 - still) / (4 * x)
                total += count * min(log((atom * (1 + still) + (1 + still) / (4 * w)) / whole), 0.0)
        return total

    def _nodes(self, margin: float) -> list[int] | None:
        """The nodes that weigh more than the tolerance; None where they are too many."""
        last = 16
        while self._bound(last * self.step) + margin > log(last * self.step):
            last *= 2
            if last > LONGEST:
                return None
        y = np.arange(1, last + 1) * self.step
        weight = self._decay(y) + margin + np.log(self.step / np.abs((self.c + 1j * y) ** 2)) + log(last)
        kept = np.flatnonzero(weight > 0) + 1
        return None if len(kept) > MOST_NODES else [0, *kept.tolist()]

    @cached_property
    def moments(self) -> list[tuple[mpc, mpc]]:
        """z and M(z)/(z(z+1)) at the nodes, half of it on the real line."""
        assert self.nodes is not None
        with mpmath.workprec(BITS):
            step, c = mpf(self.step), mpf(self.c)
            laws = [(one.family, _mpf(one.top), _mpf(one.step), list(map(_mpf, one.masses)), n) for one, n in self.laws]
            found = []
            for k in self.nodes:
                z = mpc(c, k * step)
                value = 1 / (z * (z + 1)) if k else 1 / (2 * z * (z + 1))
                for family, top, gap, masses, count in laws:
                    value *= _moment(family, top, gap, masses, z) ** count
                found.append((z, value))
            return found

    def delta(self, epsilon: Fraction) -> mpf:
        with mpmath.workprec(BITS):
            point = _mpf(number(epsilon))
            total = mpmath.fsum((value * mpmath.exp(-z * point)).real for z, value in self.moments)
            return total * mpf(self.step) / mpmath.pi


def _moment(family: str, e: mpf, gap: mpf, masses: list[mpf], z: mpc) -> mpc:
    w = z + mpf(1) / 2
    if family == "gaussian":
        return mpmath.exp(e * z * (z + 1))
    if family == "laplace":
        return mpmath.exp(-e / 2) * (mpmath.cosh(e * w) + mpmath.sinh(e * w) / (2 * w))
    if family == "logistic":
        return mpmath.sinh(e * w) / (2 * w * mpmath.sinh(e / 2))
    turn, value = mpmath.exp(-z * gap), mpc(0)
    for mass in reversed(masses):
        value = value * turn + mass
    return value * mpmath.exp(z * e)


class Integral:
    """The profile by two lines that must agree."""

    def __init__(self, laws: Laws, epsilon: float) -> None:
        self.lines = Line(laws, epsilon), Line(laws, epsilon, aside=1.0)
        self.possible = all(line.nodes is not None for line in self.lines)

    def delta(self, epsilon: Fraction) -> mpf:
        one, other = (line.delta(epsilon) for line in self.lines)
        if max(abs(one), abs(other)) < mpf(10) ** -400:  # beyond all floats, and below the integrals' own rounding
            return mpf(0)
        assert abs(one - other) <= one * mpf(10) ** -DIGITS, f"the lines disagree: {one} and {other}"
        return one


class Draws:
    """Many Laplace mechanisms, by how many of them draw from the density and how many from the lower atom.

    delta = e^{(epsilon - n e)/2} 2^-n sum over m, k of C(n, m) C(n-m, k) 2^-m H_m((n - 2k) e - epsilon),
    H_m(t) = integral of 2 sinh((t - sum of y)/2)_+ over y in [0, 2e]^m. All terms are positive.
    """

    def __init__(self, e: mpfr, count: int) -> None:
        self.e, self.count = e, count

    def delta(self, epsilon: mpfr) -> mpfr:
        """Of any real epsilon: below 0, of one at which all losses count, it is 1 - e^epsilon."""
        if epsilon <= -self.e * self.count:
            return -gmpy2.expm1(epsilon)
        with gmpy2.context(gmpy2.get_context(), precision=1000):
            return self._delta(epsilon)

    def _delta(self, epsilon: mpfr) -> mpfr:
        e, n = self.e, self.count
        last = min(int(gmpy2.ceil((n * e - epsilon) / (2 * e))) - 1, n)  # k with (n - 2k) e > epsilon
        if last < 0:
            return mpfr(0)
        room = n * e - epsilon
        # C(n-m, last-m), and the sums of C(n-m, k) q^k up to k = last - m, for which t is beyond the cube
        corner, fades = mpfr(gmpy2.bincoef(n, last)), (gmpy2.exp(-e), gmpy2.exp(e))
        sums = [_partial_sum(n, last, corner, q) for q in fades]
        total, previous = mpfr(0), mpfr(0)
        for m in range(n + 1):
            up, down = (
                gmpy2.exp(room / 2) * (-2 * gmpy2.expm1(-e)) ** m,
                gmpy2.exp(-room / 2) * (2 * gmpy2.expm1(e)) ** m,
            )
            inner = (up * sums[0] - down * sums[1] if last >= m else 0) + self._cut(m, last, room, corner)
            term = gmpy2.bincoef(n, m) * mpfr(2) ** -m * inner
            total += term
            if term < total * mpfr(10) ** -45 and term < previous / 2:
                break
            if m <= last and m < n:
                smaller = corner * (n - last) / (n - m)
                sums = [(one - smaller * q ** (last - m)) / (1 + q) for one, q in zip(sums, fades, strict=True)]
                corner = corner * (last - m) / (n - m)
            previous = term
        return total * gmpy2.exp((epsilon - n * e) / 2) * mpfr(2) ** -n

    def _cut(self, m: int, last: int, room: mpfr, corner: mpfr) -> mpfr:
        """sum over k > last - m of C(n-m, k) H_m(room - 2ke), where the hyperplane cuts the cube."""
        if not m:
            return mpfr(0)
        edge, total = max(last - m + 1, 0), mpfr(0)
        choices = corner * (self.count - last) / edge if edge else mpfr(1)
        f = [_iterated(m, room - 2 * k * self.e) for k in range(edge, last + 1)]
        signs = [(-1) ** i * gmpy2.bincoef(m, i) for i in range(m + 1)]
        for start in range(len(f)):
            total += choices * sum(sign * x for sign, x in zip(signs, f[start:], strict=False))
            k = edge + start
            choices = choices * (self.count - m - k) / (k + 1)
        return total


def _partial_sum(n: int, last: int, corner: mpfr, q: mpfr) -> mpfr:
    """sum of C(n, k) q^k over k <= last, downwards from the given C(n, last)."""
    term, total = corner * q**last, mpfr(0)
    for k in range(last, -1, -1):
        total += term
        smaller = term * k / (n - k + 1) / q
        if term < total * mpfr(2) ** -500 and smaller < term * mpfr(0.9999):
            break
        term = smaller
    return total


def _iterated(m: int, x: mpfr) -> mpfr:
    """The m-fold integral of 2 sinh(x/2) from 0: sum over i of x^{m+1+2i}/(4^i (m+1+2i)!)."""
    term, n, total = x ** (m + 1) / gmpy2.fac(m + 1), m + 1, mpfr(0)
    square = x * x / 4
    while term > total * mpfr(2) ** -990:
        total += term
        term *= square / ((n + 1) * (n + 2))
        n += 2
    return total
