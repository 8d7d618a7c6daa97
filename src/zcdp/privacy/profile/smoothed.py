"""Certified bounds on any profile by smoothing: the composition with one more, very weak Gaussian mechanism.

The transform of discrete laws does not decay along the contour; the Gaussian factor makes it decay, at the price of
bounds that differ by O(mu^2).
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TypeAlias

from flint import arb

from zcdp.numeric.balls import NotCertified, above, lift
from zcdp.numeric.functions import tail_factor
from zcdp.numeric.search import newton
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import TRANSFORM, TooManyNodes
from zcdp.privacy.loss.gaussian_law import gaussian_pair
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.contour import Contour, quietly, shortest_period
from zcdp.privacy.profile.engine import SMOOTH, SMOOTH_DOUBLES, Effort, Engine, Line, Offer, Question
from zcdp.privacy.profile.float_contour import FloatContour

__all__ = ["Smoothed"]

TOLERANCE = 1e-13  # Parts of delta that are relatively smaller may be left out.
DOUBLES_ERROR = 5e-9  # If the relative error of doubles is larger, the contour in balls is used if it is closer,
COARSE_DOUBLES_ERROR = 1e-4  # and always if it is larger than this.
MOST_MECHANISMS = 20_000  # Doubles are used for at most so many uses in total.
MOST_TRIES = 6  # the number of smoothing parameters that are tried in balls
DEVIATIONS = Fraction(7, 4)  # The points of the lower bound are so many standard deviations mu apart.
POINTS_LEFT, POINTS_RIGHT = 5, 2  # the number of points below and above epsilon


class Smoothed(Engine):
    """The upper bound delta'(epsilon), of the composition with a Gaussian pair of parameter mu; and a lower bound.

    For plans that no other engine answers as closely: many atoms on no common lattice, as 30 Laplace counts of
    different epsilons, or a few steps of DP-SGD. Smoothing before a transform is inverted is due to Esseen (1945).

    delta is convex and decreasing in x = e^epsilon, and delta' is its mean at x times a lognormal variable of mean 1.
    Chords through the upper bounds at points around x, and through delta(x) itself, bound that mean from above; solved
    for delta(x), this is a lower bound. Both ends are off by O(mu^2). Theorem: docs/theorems/smoothing.md.
    """

    name = "smoothed contour"
    only_rounding = False

    @classmethod
    def offer(cls, question: Question) -> Offer:
        """For every composition."""
        quick = question.transform.quick
        effort, doubles = question.part(SMOOTH), (2 if quick else 1) * SMOOTH_DOUBLES // question.haste
        c = shortest_period(question) if quick else question.c
        target = question.log_delta
        return Offer(effort.nodes, lambda: cls(question.parts, c, question.epsilon, effort, doubles, target))

    def __init__(
        self, parts: Parts, c: arb, epsilon: Fraction, effort: Effort, doubles: int, target: float | None = None
    ) -> None:
        """`doubles` is the work limit of the contour in doubles, in nanoseconds; `target` is a given log delta."""
        self.guess = epsilon
        self.contour: Contour | FloatContour
        with quietly():
            found = _in_doubles(parts, c, epsilon, doubles, target)
            if found is None or found[2] > DOUBLES_ERROR:
                found = _closest(found, parts, c, lift(epsilon), effort)
            self.contour, self.mu, _ = found

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        middle = self.contour.delta(epsilon)
        weights, beyond = self._weights
        mean = beyond * self.contour.line.size(lift(epsilon))
        for n, weight in weights.items():
            if n:
                mean += weight * self.contour.delta(epsilon + n * DEVIATIONS * self.mu)[1]
        return (middle[0] - mean) / weights[0], middle[1]

    def upper(self, epsilon: Fraction) -> arb:
        """A certified upper bound on delta(epsilon)."""
        return self.contour.delta(epsilon)[1]

    def near(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Bounds on delta', the smoothed profile; only the upper one also bounds delta.

        Their gap says how accurate the contour is at this epsilon; the effect of smoothing is similar everywhere.
        """
        return self.contour.delta(epsilon)

    @cached_property
    def _weights(self) -> tuple[dict[int, arb], arb]:
        """The weight of each point in the bound on the mean, and the part left of all points divided by M'(c) x^{-c}.

        With u/x = e^N, N normal of mean -mu^2/2 and standard deviation mu: P(N <= s) = Phi(s/mu + mu/2), and
        E[e^N; N <= s] = Phi(s/mu - mu/2).
        """
        half, c = lift(self.mu) / 2, self.contour.line.c

        def below(n: int) -> tuple[arb, arb]:
            place = lift(n * DEVIATIONS)
            return _normal(place + half), _normal(place - half)

        places = {n: lift(n * DEVIATIONS * self.mu).exp() for n in range(-POINTS_LEFT, POINTS_RIGHT + 1)}
        weights = dict.fromkeys(places, arb(0))
        mass, mean = below(-POINTS_LEFT)
        beyond = tail_factor(c).exp() * _normal(half + 2 * half * c - POINTS_LEFT * lift(DEVIATIONS))
        for n in range(-POINTS_LEFT, POINTS_RIGHT):
            more, further = below(n + 1)
            width = places[n + 1] - places[n]
            inside, moment = more - mass, further - mean
            weights[n] += (places[n + 1] * inside - moment) / width
            weights[n + 1] += (moment - places[n] * inside) / width
            mass, mean = more, further
        weights[POINTS_RIGHT] += 1 - mass
        return weights, beyond

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta'(epsilon)."""
        return self.contour.estimate(epsilon)


def _normal(t: arb) -> arb:
    """The standard normal distribution function Phi."""
    return (-t / arb(2).sqrt()).erfc() / 2


Found: TypeAlias = tuple[Contour | FloatContour, Fraction, float]
"""A contour, its mu, and about its relative error."""


def _in_doubles(parts: Parts, c: arb, epsilon: Fraction, work: float, target: float | None) -> Found | None:
    """The contour in doubles over as many nodes as the work allows; None if it is inaccurate or too slow."""
    if sum(count for _, count in parts) > MOST_MECHANISMS:
        return None
    try:
        contour = FloatContour(parts, float(c), epsilon, work)
    except TooManyNodes:
        return None
    if target is not None:  # The proposed epsilon may be far off, and the accuracy matters at the answer.
        top = above(contour.line.transform.largest)
        epsilon = Fraction(newton(contour.estimate, target, 0.0, top, float(epsilon)))
    lower, upper = contour.delta(epsilon)
    if not (upper.is_finite() and upper - lower <= upper * COARSE_DOUBLES_ERROR):
        return None
    return contour, contour.mu, float((upper - lower) / upper)


def _closest(found: Found | None, parts: Parts, c: arb, epsilon: arb, effort: Effort) -> Found:
    """The contour in balls, or that in doubles if it is closer, or if balls would take very long."""
    if found is not None and found[0].line.transform.quick:
        return found
    try:
        other = _weakest(parts, c, epsilon, effort)
    except NotCertified:
        if found is None:
            raise
        return found
    return other if found is None or other[2] < found[2] else found


def _weakest(parts: Parts, c: arb, epsilon: arb, effort: Effort) -> Found:
    """The contour in balls with the smallest mu found within the effort; only tightness depends on it."""

    def contour(mu: Fraction) -> Contour | None:
        pair = gaussian_pair(partial(lift, mu * mu))
        line = Line(Transform((*parts, (pair, 1))), c, epsilon, tolerance=TOLERANCE)
        try:
            return Contour(line, effort)
        except TooManyNodes:
            return None

    line = Line(Transform(parts), c, epsilon, tolerance=TOLERANCE)
    enough = (2 * max(line.head - line.limit, 1.0)) ** 0.5 * line.period / (2 * 3.1415926)
    # With this mu the decay of the Gaussian pair alone suffices.
    mu = Fraction(1.5 * enough * line.transform.weight * TRANSFORM / effort.nodes)
    best, failed = None, Fraction(0)
    for _ in range(MOST_TRIES):
        found = contour(mu)
        if found:
            best = found, mu
            mu = mu / 3 if not failed else (mu + failed) / 2
        elif best:
            failed = mu
            mu = (mu + best[1]) / 2
        else:
            mu *= 2
    if best is None:
        raise NotCertified("the contour needs too many nodes: the composition is too extreme")
    # A Gaussian pair changes log delta by mu^2 c (1 + c)/2.
    return *best, float(best[1]) ** 2 * float(c) * (1 + float(c)) / 2
