"""The privacy loss of one mechanism, from its definition, for the independent privacy profiles.

Nothing here comes from the library. An epsilon is a Fraction, or a text such as "log(9/4)".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, exp, expm1, inf, log, sinh, tanh

import gmpy2
from gmpy2 import mpfr, mpq

gmpy2.get_context().precision = 640
Epsilon = Fraction | str


def number(x: Epsilon) -> mpfr:
    if isinstance(x, str):
        return gmpy2.log(mpfr(mpq(x.removeprefix("log(").removesuffix(")"))))
    return mpfr(mpq(x.numerator, x.denominator))


@dataclass(frozen=True)
class Law:
    """Loss under P: atoms at top - i * step; or Laplace or logistic noise moved by `top`; or Gaussian, rho = `top`."""

    family: str
    top: mpfr
    step: mpfr = mpfr(0)  # noqa: RUF009 - numbers are immutable
    masses: tuple[mpfr, ...] = ()
    lattice: tuple[str, Fraction] = ("", Fraction(0))
    """Unit ("" for 1, or the logarithm) and the step as a multiple of it: to find common lattices."""
    rho: float = 0.0
    """Of discrete Gaussian noise, whose atoms have no end; those are listed that weigh more than 1e-330."""

    def __post_init__(self) -> None:
        assert self.family != "atoms" or abs(sum(self.masses) - 1) < mpfr(2) ** -500

    @property
    def span(self) -> float:
        return float(self.step) * (len(self.masses) - 1)

    def log_moment(self, c: float) -> float:
        """log E_P exp(c L), in floating point."""
        e, w = float(self.top), c + 0.5
        if rho := self.rho or (e if self.family == "gaussian" else 0.0):
            return rho * c * (1 + c)
        if self.family == "laplace":
            return e * w - e / 2 + log(0.5 + 0.25 / w + (0.5 - 0.25 / w) * exp(-2 * e * w))
        if self.family == "logistic":
            return e * w + log(-expm1(-2 * e * w) / (4 * w * sinh(e / 2))) if e < 1000 else inf
        return c * e + log(sum(float(m) * exp(-c * float(self.step) * i) for i, m in enumerate(self.masses)))

    def mean(self, c: float) -> float:
        """The mean loss under P tilted by exp(c L), in floating point."""
        e, w = float(self.top), c + 0.5
        x = e * w
        if rho := self.rho or (e if self.family == "gaussian" else 0.0):
            return rho * (1 + 2 * c)
        if self.family == "laplace":
            t = tanh(x)
            return (e * t + e / (2 * w) - t / (2 * w * w)) / (1 + t / (2 * w))
        if self.family == "logistic":
            return e / tanh(x) - 1 / w if x > 0.01 else e * (x / 3 - x**3 / 45)
        weights = [float(m) * exp(-c * float(self.step) * i) for i, m in enumerate(self.masses)]
        down = sum(weight * i for i, weight in enumerate(weights)) / sum(weights)
        return e - float(self.step) * down


def _three(e: mpfr, high: mpfr, lattice: tuple[str, Fraction]) -> Law:
    """Losses e, 0 and -e, the first with P-mass `high`; without the middle where it is empty."""
    low = high * gmpy2.exp(-e)
    middle = 1 - high - low
    if abs(middle) < mpfr(2) ** -550:
        return Law("atoms", e, 2 * e, (high, 1 - high), (lattice[0], 2 * lattice[1]))
    return Law("atoms", e, e, (high, middle, low), lattice)


def _two_bits(p: mpfr, q: mpfr, e: mpfr, lattice: tuple[str, Fraction]) -> Law:
    """P sets the first bit with p and the second with q, Q the other way round; e = log(p(1-q)/(q(1-p)))."""
    return Law("atoms", e, e, (p * (1 - q), p * q + (1 - p) * (1 - q), (1 - p) * q), lattice)


@cache
def law(kind: str, epsilon: Epsilon, extra: tuple[Fraction, ...] = ()) -> Law:
    """The worst pair of neighbours of one mechanism."""
    if kind == "two bits":  # of given probabilities, not of given epsilon
        p, q = extra
        odds = p * (1 - q) / (q * (1 - p))
        text = f"log({odds})"
        return _two_bits(number(p), number(q), number(text), (text, Fraction(1)))
    if kind == "one bit":
        p, q = extra
        if (1 - q) / (1 - p) > p / q:  # the other answer tells more
            p, q = 1 - q, 1 - p
        yes, no = gmpy2.log(number(p / q)), gmpy2.log(number((1 - p) / (1 - q)))
        text = f"log({p * (1 - q) / (q * (1 - p))})"
        return Law("atoms", yes, yes - no, (number(p), number(1 - p)), (text, Fraction(1)))
    e = number(epsilon)
    grown = gmpy2.exp(e)
    lattice = (epsilon, Fraction(1)) if isinstance(epsilon, str) else ("", epsilon)
    if kind in {"laplace", "logistic", "gaussian"}:
        return Law(kind, e)
    if kind == "pure":
        return _three(e, grown / (1 + grown), lattice)
    if kind == "total variation":
        return _three(e, min(number(extra[0]) / (1 - 1 / grown), grown / (1 + grown)), lattice)
    if kind == "rr":
        return _three(e, grown / (grown + int(extra[0]) - 1), lattice)
    if kind == "selection":  # permute-and-flip: two candidates of equal utility against two that are epsilon apart
        low = gmpy2.log(2 - 1 / grown)
        return Law("atoms", e, e + low, (mpfr(0.5), mpfr(0.5)), (f"selection {epsilon}", Fraction(1)))
    if kind == "rappor":
        keep = 1 / (1 + gmpy2.exp(-e / 2))
        return _two_bits(keep, 1 - keep, e, lattice)
    if kind == "one half":  # optimized unary encoding; and Hadamard response, whose two halves meet in a quarter
        return _two_bits(mpfr(0.5), 1 / (1 + grown), e, lattice)
    if kind == "subset":
        k, size = int(extra[0]), int(extra[1])
        whole = grown * comb(k - 1, size - 1) + comb(k - 1, size)
        return _three(e, grown * comb(k - 2, size - 1) / whole, lattice)
    if kind == "staircase":  # moved by one step: where the density is at its height and the moved one a level below
        gamma = number(extra[0]) if extra else 1 / (1 + gmpy2.exp(e / 2))
        height = (1 - 1 / grown) / (2 * (gamma + (1 - gamma) / grown))
        # left of 0 the loss is e, between 0 and 1 it depends, right of 1 it is -e
        return _three(e, mpfr(0.5) + height * min(gamma, 1 - gamma), lattice)
    if kind == "discrete gaussian":  # `epsilon` is the step of the losses
        shift, variance = int(extra[0]), extra[0] / Fraction(epsilon)
        reach = int(39 * float(variance) ** 0.5) + 2 * shift + 3
        masses = [gmpy2.exp(-number(x * x / (2 * variance))) for x in range(-reach, reach + 1)]
        whole = gmpy2.fsum(masses)
        top = shift * (shift + 2 * reach) / (2 * variance)
        rho = float(shift**2 / (2 * variance))
        return Law("atoms", number(top), e, tuple(m / whole for m in masses), lattice, rho)
    assert kind == "geometric"
    size = int(extra[0])
    q = gmpy2.exp(-e / size)
    point = (1 - q) / (1 + q)
    inside = tuple(point * q**x for x in range(1, size))
    ends = point / (1 - q), point * q**size / (1 - q)
    return Law("atoms", e, 2 * e / size, (ends[0], *inside, ends[1]), (lattice[0], 2 * lattice[1] / size))


Laws = list[tuple[Law, int]]


def mean(laws: Laws, c: float) -> float:
    return sum(one.mean(c) * count for one, count in laws)


def log_moment(laws: Laws, c: float) -> float:
    return sum(one.log_moment(c) * count for one, count in laws)


def largest(laws: Laws) -> float:
    return (
        inf
        if any(one.rho or one.family == "gaussian" for one, _ in laws)
        else float(sum(one.top * n for one, n in laws))
    )


def _crossing(rises: object, low: float = 1e-12, high: float = 1e15) -> float:
    """Where a condition turns true, between positive numbers, in floating point."""
    for _ in range(80):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if rises(middle) else (middle, high)  # type: ignore[operator]
    return high


def tilt(laws: Laws, epsilon: float) -> float:
    """The c >= 0 at which the tilted mean is epsilon."""
    if mean(laws, 0.0) >= epsilon:
        return 0.0
    most = 300 / min(float(one.step) or float(one.top) for one, _ in laws)  # then nearly all mass is at the top
    return min(_crossing(lambda c: mean(laws, c) >= epsilon), most)


def epsilon_near(laws: Laws, log_delta: float) -> float:
    """Where delta is about exp(log_delta), by the Chernoff bound; at least 0."""
    c = _crossing(lambda c: log_moment(laws, c) - c * mean(laws, c) <= log_delta)
    return max(mean(laws, c), 0.0)


def log_delta_at_zero(laws: Laws) -> float:
    """An upper bound on log delta(0), by the moments at a few orders."""
    orders = [10 ** (n / 4) for n in range(-12, 37)]
    return min(0.0, *(log_moment(laws, c) + c * log(c) - (1 + c) * log(1 + c) for c in orders))


def spread(laws: Laws, c: float) -> float:
    """Standard deviation of the tilted loss, in floating point."""
    step = max(c, 1e-3) * 1e-3
    return max((mean(laws, c + step) - mean(laws, c)) / step, 1e-300) ** 0.5
