"""The exact profile of laws whose transforms are finite sums of exponentials: a finite sum, whole or cut.

The first part counts the terms and decides which ones are negligible, by Chernoff bounds; the second part is the
engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from math import frexp, inf, isfinite
from typing import TypeAlias

from flint import arb, arb_poly, ctx

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, below, lift, log_size
from zcdp.numeric.exact import Log, gcd
from zcdp.numeric.functions import tail_factor
from zcdp.numeric.work import CUT_TERM, CUT_TERM_OF_ONE, TERM
from zcdp.privacy.loss.exponential_terms import Expansion, Exponent, product, sum_of
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.engine import CUT_SUM, WHOLE_SUM, Engine, Offer, Question, saddle_estimate

__all__ = [
    "LARGEST_LATTICE",
    "MOST_LAWS",
    "Cut",
    "CutSum",
    "Expanded",
    "FiniteSum",
    "WholeSum",
    "cut_degree",
    "expanded",
    "finite_size",
    "lattice_points",
    "whole_degree",
]


LARGEST_COUNT = 10_000_000  # uses of one law
MOST_LAWS = 24  # different laws
LARGEST_LATTICE = 20_000  # points of a common lattice, up to which atoms are multiplied as polynomials
NEGLIGIBLE = 36  # Terms that add up to less than e^-36 of delta may be cut.

Expanded: TypeAlias = list[tuple[Expansion, int]]
"""A composition of laws with their counts, the transform of each law a finite sum of exponentials."""


def expanded(parts: Parts) -> Expanded | None:
    """The expansions of all laws, at the working precision; None if one has none, or if there are too many."""
    if len(parts) > MOST_LAWS or any(count > LARGEST_COUNT for _, count in parts):
        return None
    found = [(expansion, count) for law, count in parts if (expansion := law.expansion()) is not None]
    return found if len(found) == len(parts) else None


@dataclass(frozen=True)
class Cut:
    """Which terms C e^{aw} w^{-j} to keep, w = z + 1/2: exponents a above `threshold`, powers j up to `degree`.

    The terms of higher powers add at most exp(log_rest - c epsilon) to delta. Theorem: docs/theorems/finite-sum.md.
    """

    threshold: Fraction
    degree: int
    c: arb
    log_rest: arb
    ceiling: float = inf
    """Exponents above it are cut too; they change delta by at most exp(log_above - c epsilon)."""
    log_above: arb = arb("-inf")  # noqa: RUF009 - balls are immutable


def finite_size(parts: Expanded, threshold: Fraction = Fraction(0), ceiling: float = inf) -> float:
    """An upper bound on the number of exponents between `threshold` and `ceiling`."""
    # The difference is taken in balls: in floats, a large loss of one part would absorb the small ones of others.
    whole = sum((expansion.top * count for expansion, count in parts), arb(0))
    room = min(above(whole - lift(threshold)), ceiling - below(lift(threshold)))
    free, atoms = 1.0, 1.0
    for expansion, count in parts:
        if expansion.rational_row is None:
            free *= expansion.points(count, room)
        else:
            atoms *= expansion.points(count, room)
    met = lattice_points(parts)
    return free * (min(atoms, float(met)) if met <= LARGEST_LATTICE else atoms)


def lattice_points(parts: Expanded) -> Fraction:
    """The number of points, between the least and the largest loss, of the common lattice of all rational atoms."""
    rows = [(row, count) for expansion, count in parts if (row := expansion.rational_row) is not None]
    if not rows:
        return Fraction(1)
    spacing, most = Fraction(0), Fraction(0)
    for (loss, gap), count in rows:
        spacing, most = gcd(spacing, gap), most + loss * count
    return 2 * most / spacing + 1


def cut_degree(
    transform: Transform, parts: Expanded, c: arb, epsilon: arb, log_delta: float, threshold: Fraction
) -> Cut:
    """A cut at a degree above which all powers together are negligible, and at a ceiling for exponents.

    The power of 1/w is the number of densities drawn, which is nearly Poisson. With a factor v > 1 for each density,
    the powers above the degree are at most v^{-degree-1} times the transform at c, which is a Chernoff bound.
    """
    w = c + arb(1) / 2
    shares: list[tuple[arb, arb, int]] = []
    most, mean = 0, 0.0
    for (factor, count), (expansion, _) in zip(transform.factors, parts, strict=True):
        whole = factor.once(c, w, 1 / w)
        atoms = sum((row[0] * (expansion.exponent(k) * w).exp() for k, row in enumerate(expansion.rows)), arb(0))
        width = expansion.width
        if width > 1:
            raise NotCertified("a density takes one power")
        shares.append((atoms, (whole - atoms) * width, count))
        most += width * count
        mean += float((width * (1 - atoms / whole)).mid()) * count
    if not isfinite(mean):  # A ball is too wide.
        raise Undecided
    degree = int(mean)
    while True:
        degree = min(int(degree * 1.1) + 4, most)
        v = arb(max((degree + 1) / max(mean, 1e-9), 2.0))
        marked = sum(((atoms + v * rest).log() * count for atoms, rest, count in shares), arb(0))
        log_rest = marked - (degree + 1) * v.log() + tail_factor(c)
        if degree == most:
            log_rest = arb("-inf")
        if degree == most or log_rest - c * epsilon < log_delta - NEGLIGIBLE:
            ceiling, log_above = _ceiling(parts, w, epsilon, log_delta)
            return Cut(threshold, degree, c, log_rest, ceiling, log_above)


def _ceiling(parts: Expanded, w: arb, epsilon: arb, log_delta: float) -> tuple[float, arb]:
    """An exponent A above which all terms together are negligible, and the log of their bound; for a single law only.

    It sums absolute coefficients with f_j(t) <= e^{xt} x^{1-j}/(x^2 - 1/4), and e^{xa} <= e^{ya - (y-x)A} for a > A and
    y > x.
    """
    best = inf, arb("-inf")
    if len(parts) > 1:
        return best
    [(expansion, count)] = parts
    front = (w / (w * w - arb(1) / 4)).log()
    weights = [sum((abs(x) / w**j for j, x in enumerate(row)), arb(0)) for row in expansion.rows]
    for n in range(1, 13):
        y = w * (1 + arb(n) / 4)
        growth = sum((b * (expansion.exponent(k) * y).exp() for k, b in enumerate(weights)), arb(0))
        size = growth.log() * count + front
        ceiling = float(((size - (w - arb(1) / 2) * epsilon - log_delta + NEGLIGIBLE) / (y - w)).mid())
        if ceiling < best[0]:
            best = ceiling, size - (y - w) * arb(ceiling)
    return best


# The engines: one term for each exponent and power.

_Closed: TypeAlias = tuple[arb_poly, arb, arb]
"""A polynomial in t, and the coefficients of cosh(t/2) and sinh(t/2)."""


def whole_degree(parts: Expanded) -> int:
    """The largest power of 1/w that occurs."""
    return sum(count * expansion.width for expansion, count in parts)


class FiniteSum(Engine):
    """delta(epsilon) = e^{epsilon/2} sum of C_{a,j} f_j(a - epsilon) over the exponents a > epsilon.

    Here M(z) = sum of C_{a,j} e^{a w} w^{-j}, w = z + 1/2, and f_j(t) = sum over m >= 0 of 4^{-m} t^{j+1+2m}/(j+1+2m)!.
    Theorem: docs/theorems/finite-sum.md.
    """

    name = "finite sum"
    most_laws = MOST_LAWS

    def __init__(self, parts: Parts, cut: Cut, *, guess: Fraction = Fraction(0)) -> None:
        self.cut, self.guess, self.least = cut, guess, cut.threshold
        # The powers t^n/n! of `_closed` cancel, and so do the alternating signs of densities: take more bits.
        top = sum((law.largest() * count for law, count in parts), arb(0))
        small = max(0, -frexp(float((top - lift(cut.threshold)).mid()))[1])  # All t are below 2^-small.
        self.bits = ctx.prec + (cut.degree + 1) * (4 + cut.degree.bit_length() + small)
        self.sums = at_precision(self.bits, lambda: self._expand(parts))

    def _expand(self, parts: Parts) -> list[tuple[arb, _Closed]]:
        """The exponents a above the threshold, each with its sum over j of C_{a,j} f_j."""
        degree, start = self.cut.degree, lift(self.cut.threshold)
        terms = expanded(parts)
        assert terms is not None
        top = sum((expansion.top * count for expansion, count in terms), arb(0))
        room = (top - start).upper()
        together = len(terms) > 1 and lattice_points(terms) <= LARGEST_LATTICE
        atoms = [(one, count) for one, count in terms if together and one.rational_row is not None]
        sums = _on_lattice(atoms, room, self.cut.c) if atoms else None
        ahead = top - sum((expansion.top * n for expansion, n in atoms), arb(0))
        above = arb(0) if self.cut.ceiling == inf else top - self.cut.ceiling
        for part in terms:
            if part in atoms:
                continue
            expansion, count = part
            sums = _product(sums, list(expansion.power(count, room, above, degree)), degree)
            ahead -= expansion.top * count
            floor = Fraction(below(start - ahead))  # From below it the remaining parts cannot exceed the threshold.
            sums = {exponent: row for exponent, row in sums.items() if exponent[1] or exponent[0] > floor}
        inverse_factorials = [arb(1)]
        for n in range(1, degree + 2):
            inverse_factorials.append(inverse_factorials[-1] / n)
        assert sums is not None  # There is at least one part.
        balls = ((_ball(exponent), row) for exponent, row in sums.items())
        return [(exponent, _closed(row, inverse_factorials)) for exponent, row in balls if not exponent <= start]

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon), for epsilon from the threshold on."""
        if epsilon < self.cut.threshold:
            raise BadValue(f"epsilon ({epsilon}) is below the threshold {self.cut.threshold}")
        return at_precision(self.bits, lambda: self._delta(lift(epsilon)))

    def _delta(self, epsilon: arb) -> tuple[arb, arb]:
        total = arb(0)
        for exponent, (poly, even, odd) in self.sums:
            t = exponent - epsilon
            if t <= 0:
                continue
            if not t > 0:
                t = t.max(arb(0))
            sinh, cosh = (t / 2).sinh_cosh()
            total += poly(t) + even * cosh + odd * sinh
        value, shift = total * (epsilon / 2).exp(), self.cut.c * epsilon
        above = (self.cut.log_above - shift).exp()
        return value - above, value + above + (self.cut.log_rest - shift).exp()

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
        value = self.delta(Fraction(epsilon))[0]
        return log_size(value)


class WholeSum(FiniteSum):
    """The sum of all terms, if they are few, as for a dozen Laplace counts; it needs no saddle point.

    Of pure-DP mechanisms it is the composition theorem of Kairouz, Oh and Viswanath (2015), and with different epsilons
    that of Murtagh and Vadhan (2016).
    """

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For compositions whose terms take at most a millisecond in all."""
        densities = sum(count for factor, count in question.transform.factors if not factor.atomic)
        if (densities // 2 + 1) * (densities + 1) * TERM > WHOLE_SUM:  # There are at least that many terms.
            return None
        terms = expanded(question.parts)
        if terms is None or (cost := finite_size(terms) * (whole_degree(terms) + 1) * TERM) > WHOLE_SUM:
            return None
        cut = Cut(Fraction(0), whole_degree(terms), arb(1), arb("-inf"))
        return Offer(cost, lambda: cls(question.parts, cut, guess=question.given or Fraction(0)))


class CutSum(FiniteSum):
    """The sum of the terms that matter near one epsilon; the others are bounded by Chernoff (1952).

    For two or three uses of mechanisms with many outcomes on no common lattice, as truncated geometric counts.
    """

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For compositions with few enough such terms, at all epsilons from the question's `least` on."""
        terms = expanded(question.parts)
        if terms is None:
            return None
        price = CUT_TERM_OF_ONE if len(terms) == 1 and terms[0][0].regular else CUT_TERM
        if len(terms) > 1 and finite_size(terms, question.least) * price >= CUT_SUM:
            return None
        epsilon = lift(question.epsilon)
        log_delta = saddle_estimate(question.transform, question.c, epsilon)
        cut = cut_degree(question.transform, terms, question.c, epsilon, log_delta, question.least)
        cost = finite_size(terms, question.least, cut.ceiling) * (cut.degree + 1) * price
        if cost > CUT_SUM / question.haste:
            return None
        return Offer(cost, lambda: cls(question.parts, cut, guess=question.epsilon))


def _on_lattice(atoms: Expanded, room: arb, c: arb) -> dict[Exponent, list[arb]]:
    """The product of all laws with atoms at rational points, as polynomials in e^{-g w}, g their common spacing.

    The error of a product of polynomials is relative to its largest coefficient, so coefficients are tilted first to
    make the largest those that matter at c.
    """
    places = [(expansion, row, count) for expansion, count in atoms if (row := expansion.rational_row) is not None]
    spacing, top = Fraction(0), Fraction(0)
    for _, (loss, gap), count in places:
        spacing, top = gcd(spacing, gap), top + loss * count
    tilt = (-lift(spacing) * (c + arb(1) / 2)).exp()
    whole = arb_poly([1])
    for expansion, (_, gap), count in places:
        stride = int(gap / spacing)
        tilted = [arb(0)] * (stride * (len(expansion.rows) - 1) + 1)
        for k, coefficients in enumerate(expansion.rows):
            tilted[k * stride] = coefficients[0] * tilt ** (k * stride)
        whole *= arb_poly(tilted) ** count
    last = int(float((room / lift(spacing)).upper())) + 1
    sums: dict[Exponent, list[arb]] = {}
    back = arb(1)
    for n, coefficient in enumerate(whole.coeffs()[: last + 1]):
        if not coefficient.is_zero():
            sums[top - n * spacing, ()] = [coefficient * back]
        back /= tilt
    return sums


def _product(
    sums: dict[Exponent, list[arb]] | None, rows: list[tuple[Exponent, list[arb]]], degree: int
) -> dict[Exponent, list[arb]]:
    """The product of two sums of terms, powers of 1/w up to the degree; `sums` None stands for the factor 1.

    Each sum maps exponents to the coefficients of the powers of 1/w.
    """
    longer: dict[Exponent, list[arb]] = {}
    if sums is None:
        for place, row in rows:
            if row:
                longer[place] = _sum(longer[place], row) if place in longer else row
        return longer
    for exponent, series in sums.items():
        for other, row in rows:
            place, both = sum_of(exponent, other), product(series, row, degree)
            if not both:  # flint drops coefficients that are exactly 0, such as a middle mass of three points.
                continue
            longer[place] = _sum(longer[place], both) if place in longer else both
    return longer


def _sum(one: list[arb], other: list[arb]) -> list[arb]:
    """The sum of two lists of coefficients of different lengths."""
    return [x + y for x, y in zip_longest(one, other, fillvalue=arb(0))]


def _ball(exponent: Exponent) -> arb:
    """An exact exponent as a ball."""
    rational, logs = exponent
    return lift(rational) + sum((lift(Log(argument)) * lift(multiple) for argument, multiple in logs), arb(0))


def _closed(row: list[arb], inverse_factorials: list[arb]) -> _Closed:
    """The sum over j of C_j f_j(t), as a polynomial in t plus multiples of cosh(t/2) and sinh(t/2).

    It equals the sum over n >= 1 of d_n t^n/n! with d_n = C_{n-1} + d_{n-2}/4. Beyond the last C_j, d_n = d_{n-2}/4:
    these terms are cosh(t/2) and sinh(t/2) less their first terms.
    """
    quarter, last = arb(0.25), len(row)
    d = [arb(0), row[0]]
    for coefficient in row[1:]:
        d.append(d[-2] * quarter + coefficient)
    ends = [d[last - last % 2], d[last - 1 + last % 2]]  # d_n at the last even n and at the last odd n
    ends = [ends[0] * 2 ** (last - last % 2), ends[1] * 2 ** (last - 1 + last % 2)]
    even, odd = ends[0], ends[1] / 2
    coefficients = []
    for n in range(last - 1):
        coefficients.append((d[n] - even) * inverse_factorials[n])
        even, odd = odd, even * quarter
    return arb_poly(coefficients), ends[0], ends[1]
