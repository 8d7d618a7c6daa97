"""The privacy profile of shuffled reports: amplification by shuffling, with the blanket of Balle et al. (2019).

The profile is bounded by the mean of the positive part of a sum of n independent draws, E (Y_1 + ... + Y_n)_+/n, one
draw for each client. The first part of this file computes that mean as a sum over how often each value is drawn, if
the draws or the rare values are few; the second part by a contour integral whose cost hardly depends on n.
Theorem: docs/theorems/shuffling.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import asin, ceil, comb, exp, inf, log, pi, sqrt

from flint import acb, arb

from zcdp.numeric.balls import below
from zcdp.numeric.search import false_position

__all__ = ["ShuffledProfile", "mean_by_counts"]


# The mean as a sum over counts.

MOST_COUNT_TERMS, MOST_RARE_TERMS = 20_000, 8_000  # of the sum over all counts, and over those of rare values
MOST_DRAWS = 600  # for the sum over all counts
RARE_DRAWS_LOG2 = -64  # the power of two that bounds the probability of more rare draws than are summed over

Law = Sequence[tuple[arb, arb]]
"""The distribution of Y: pairs of a value and its probability."""


def mean_by_counts(law: Law, n: int) -> tuple[arb, arb] | None:
    """Certified lower and upper bounds on E (Y_1 + ... + Y_n)_+; None if the counts are too many.

    If n is small the sum is over all vectors of counts, and exact. Else it may be over the counts of all values but the
    likeliest one, if more than a few such draws have a negligible probability. Theorem: docs/theorems/shuffling.md.
    """
    *rare, (often, mass) = sorted(law, key=lambda one: one[1].mid())
    if n <= MOST_DRAWS and n ** len(rare) <= MOST_COUNT_TERMS:
        whole = _sum(rare, often, mass, n, n)
        return whole, whole
    chance = sum((m for _, m in rare), arb(0))
    if not chance * 8 < 1:  # These values are not rare.
        return None
    for most in range(1, n):
        if comb(most + len(rare), most) > MOST_RARE_TERMS:
            return None
        if (beyond := arb.bin_uiui(n - 1, most) * chance**most) < arb(2) ** RARE_DRAWS_LOG2:
            break
    whole = _sum(rare, often, mass, n, most)
    gain = sum((place.max(arb(0)) * m for place, m in rare), arb(0))
    more = arb.bin_uiui(n - 1, most + 1) * chance ** (most + 1)
    return whole, whole + n * (gain * beyond + often.max(arb(0)) * mass * more)


def _sum(rare: Law, often: arb, mass: arb, n: int, most: int) -> arb:
    """The mean of the positive part over all outcomes with at most `most` rare draws; all other draws are `often`."""
    # The least value comes last: with each of its draws the sum falls, and the loop can stop at 0.
    rare = sorted(rare, key=lambda one: one[0].mid(), reverse=True)
    # `rest` has n!/(n-N)! mass^(n-N) for N rare draws in all, `tables` for each rare value its mass^m/m! for m draws
    rest = [mass ** (n - most)]
    for _ in range(most):
        rest.append(rest[-1] * mass)
    rest.reverse()
    falling = arb(1)
    for drawn in range(most + 1):
        rest[drawn] *= falling
        falling *= n - drawn
    tables = []
    for _, m in rare:
        powers = [arb(1)]
        for times in range(1, most + 1):
            powers.append(powers[-1] * m / times)
        tables.append(powers)
    steps = [place - often for place, _ in rare]

    def over(kind: int, left: int, value: arb) -> arb:
        """The sum over the counts of rare values from `kind` on, at most `left` in all; `value` is the sum of draws."""
        total, step, powers = arb(0), steps[kind], tables[kind]
        if kind < len(rare) - 1:
            for m in range(left + 1):
                total += powers[m] * over(kind + 1, left - m, value)
                value = value + step
            return total
        falls, drawn = step <= 0, most - left
        for m in range(left + 1):
            if value > 0:
                total += value * powers[m] * rest[drawn + m]
            elif not value <= 0:
                total += value.max(arb(0)) * powers[m] * rest[drawn + m]
            elif falls:
                break
            value = value + step
        return total

    return over(0, most, often * n) if rare else (often * n).max(arb(0)) * rest[0]


# The mean by a contour integral, and the profile. The integral is a trapezoidal sum along Re z = c, c the saddle point,
# with a little normal noise added to the sum of draws, so that the nodes decay. A *turn* is 2 pi/d, d the distance of
# two likely values of Y: the integrand is large only close to multiples of it.

CLOSE_ENDS = 2.0**-40  # relative distance of the bounds by counts at which the contour integral is not needed
ALIAS_FALL = 34.0  # The step is so small that aliases of the trapezoidal sum are about e^-34 of the mean.
SKIPPED_FALL = 50.0  # Nodes are left out where the integrand is below e^-50 of its value at c.
LEAST_LOG_DELTA = -650.0  # For smaller deltas the Chernoff bound is returned.
MOST_NODES, MOST_TURNS = 400, 64  # nodes of all turns, and turns
MOST_NODES_OF_TURN = 4_000
RENEWED = 32  # nodes after which waves are computed anew: each multiplication may widen a complex ball sqrt(2) times
LAST_TURN_DEVIATIONS = 3.0  # The factor of the added noise at the last turn is that of 3 deviations, e^{-9/2}.
ROUNDING = 2.0**-46  # 128 units in the last place: more than the error of any step of the sum in doubles
KNOWN_BITS = 55  # of places and masses, for the sum in doubles to be taken
LEAST_SQUARE, MOST_ERROR = 1e-6, 2.0**-24  # of |S|^2, and relative of the sum, for the sum in doubles to be taken
WEAK_NOISE = 2e-3  # deviation of the added noise times c; it raises delta by a relative WEAK_NOISE^2/2


class ShuffledProfile:
    """The upper bound delta(epsilon) <= E (Y_1 + ... + Y_n)_+/n on n shuffled reports of an eps0-DP randomizer.

    Y is E - g, 1 - gE, 1 - g or 0 with probabilities p, p, (k-2)p, 1 - kp, where E = e^eps0, g = e^epsilon and
    p = 1/(E + k - 1). The bound is valid for k-ary randomized response and, with k = 2, for every eps0-DP randomizer.
    Theorem: docs/theorems/shuffling.md.
    """

    def __init__(self, loss: arb, k: int, clients: int) -> None:
        """`loss` is eps0, at the working precision; `clients` is n."""
        self.loss, self.e, self.k, self.clients = loss, loss.exp(), k, clients
        self.mass = 1 / (self.e + k - 1)

    def above(self, epsilon: arb) -> arb:
        """A ball whose upper end is a certified upper bound on delta(epsilon), epsilon >= 0."""
        if epsilon >= self.loss:
            return arb(0)
        up, down, middle = self._places(epsilon)
        p = self.mass
        seen = self.loss.expm1() * p if self.loss < 1 else 1 - self.k * p
        return self._mean([(up, p), (down, p), (middle, (self.k - 2) * p), (arb(0), seen)])[1]

    def attained(self, epsilon: arb) -> tuple[arb, arb]:
        """Certified bounds on delta(epsilon) of k-ary randomized response if all other clients hold one value.

        If k > 2 it is neither of the two values of the remaining client; else it is one of them, and the result is the
        worse direction. Its lower end is a lower bound on the profile of the mechanism.
        """
        if epsilon >= self.loss:
            return arb(0), arb(0)
        up, down, middle = self._places(epsilon)
        p, e = self.mass, self.e
        if self.k > 2:
            return self._mean([(up, p), (down, p), (middle, (self.k - 3) * p), (middle / e, e * p)])
        one, other = (self._mean(law) for law in ([(up, p), (down / e, e * p)], [(down, p), (up / e, e * p)]))
        return one[0].max(other[0]), one[1].max(other[1])

    def _places(self, epsilon: arb) -> tuple[arb, arb, arb]:
        """The values E - g, 1 - gE and 1 - g, in forms without cancellation for small losses."""
        return epsilon.exp() * (self.loss - epsilon).expm1(), -(self.loss + epsilon).expm1(), -epsilon.expm1()

    def _mean(self, law: list[tuple[arb, arb]]) -> tuple[arb, arb]:
        """Certified bounds on E (Y_1 + ... + Y_n)_+/n, Y given by its values and probabilities."""
        law, n = [(place, mass) for place, mass in law if not mass.is_zero()], self.clients
        counted = mean_by_counts(law, n)
        if counted is not None and counted[1] - counted[0] <= CLOSE_ENDS * counted[0]:
            return counted[0] / n, counted[1] / n
        below, above = _positive_part(law, n)
        if counted is not None:
            below, above = below.lower().max(counted[0].lower()), above.upper().min(counted[1].upper())
        alone = sum((place.max(arb(0)) * mass for place, mass in law), arb(0))
        return (below / n).max(arb(0)), (above / n).upper().min(alone.upper())


def _positive_part(law: list[tuple[arb, arb]], n: int) -> tuple[arb, arb]:
    """Certified bounds on E (Y_1 + ... + Y_n)_+, by the trapezoidal rule on Re z = c, c the saddle point."""
    places = [float(place.mid()) for place, _ in law]
    masses = [float(mass.mid()) for _, mass in law]

    def tilted(c: float) -> tuple[float, list[float]]:
        """log E e^{cY}, and the tilted probabilities."""
        top = max(c * y for y in places)
        terms = [m * exp(c * y - top) for y, m in zip(places, masses, strict=True)]
        whole = sum(terms)
        return top + log(whole), [term / whole for term in terms]

    def slope(c: float) -> float:
        return n * sum(y * m for y, m in zip(places, tilted(c)[1], strict=True)) - 2 / c

    c = false_position(slope)
    level, parts = tilted(c)
    centre = arb(c)
    powers = [(place * centre).exp() * mass for place, mass in law]
    whole = sum(powers, arb(0))
    chernoff = (whole.log() * n - 1).exp() / c  # x_+ <= e^{cx}/(ce)
    if n * level - log(c) < LEAST_LOG_DELTA:
        return arb(0), chernoff
    # The aliases of a sum with period P in X are e^{cjP} E(X - jP)_+, j != 0; for j > 0 by a Chernoff bound at 2c.
    log_size = n * level - 2 * log(c) - log(2 * pi * _bend(places, parts, n, c)) / 2
    right = (n * tilted(2 * c)[0] - log(c) - log_size + ALIAS_FALL) / c
    period = max((ALIAS_FALL + max(-log_size, 0.0) + 4 + log(n)) / c, right)
    step = arb(2 * pi / period)
    pairs = [(parts[i] * parts[j] * (places[i] - places[j]) ** 2, i, j) for i in range(len(law)) for j in range(i)]
    _, i, j = max(pairs)
    strength = below(n * powers[i] * powers[j] / (whole * whole))
    distance = abs(law[i][0] - law[j][0])
    h, d = float(step.mid()), float(distance.mid())
    kept, turns = _nodes(h, d, strength, ceil(LAST_TURN_DEVIATIONS * c * d / (2 * pi * WEAK_NOISE)))
    if not kept:
        return arb(0), chernoff
    width = 2 * arb.pi() / distance
    half = (LAST_TURN_DEVIATIONS / (width * turns)) ** 2 / 2  # half the variance of the noise, which only raises E X_+
    total = _sum_in_doubles(law, powers, whole, n, c, h, half, kept)
    if total is None:
        total = _sum_in_balls(law, powers, whole, n, centre, step, half, kept)
    total *= step / arb.pi()
    # what was left out: nodes up to the last turn, each below e^-50, and all nodes beyond it, one turn at a time
    more = (half * centre * centre).exp()
    rest = (-arb(SKIPPED_FALL)).exp() * more * (step / arb.pi() / (centre * centre) + 1 / centre)
    share = (arb.pi().sqrt() / (8 * arb(strength)).sqrt()).min(arb(1)) if strength > 0 else arb(1)
    last = width * (turns + arb(1) / 2)
    rest += more * (-half * last * last).exp() * (share * width + step) / arb.pi() / (width * width * turns)
    size, noise = (whole.log() * n).exp(), (2 * half).sqrt()
    added = noise / (2 * arb.pi()).sqrt() * (size * more).min(arb(1))
    low, high = size * (total - rest) - _aliases(law, n, centre, step, noise) - added, size * (total + rest)
    return low, high.upper().min(chernoff.upper())


def _sum_in_balls(
    law: Law, powers: list[arb], whole: arb, n: int, c: arb, step: arb, half: arb, kept: list[int]
) -> arb:
    """The sum over nodes z = c + i step k of the real part of S^n e^{half z^2}/z^2, S the sum of e^{place z} mass.

    S is divided by its value `whole` at c, at which its terms are `powers`; the node 0 counts half.
    """
    total = arb(0)
    before, waves = -2, [acb(0)]
    turned = [acb(0, place * step).exp() for place, _ in law]
    for k in kept:
        z = acb(c, step * k)
        if k == before + 1 and k % RENEWED:
            waves = [wave * turn for wave, turn in zip(waves, turned, strict=True)]
        else:
            waves = [
                acb(0, place * step * k).exp() * power / whole for (place, _), power in zip(law, powers, strict=True)
            ]
        before, square = k, z * z
        total += (sum(waves, acb(0)) ** n * (half * square).exp() / square).real / (1 if k else 2)
    return total


def _sum_in_doubles(
    law: Law, powers: list[arb], whole: arb, n: int, c: float, step: float, half: arb, kept: list[int]
) -> arb | None:
    """The same sum in doubles, with a bound on its error as the radius; None if that is not small.

    With S = 1 + D, D = sum of q_j (e^{i a_j} - 1), a_j the angle of place j, S^n is exp(n log1p(D)): nothing cancels
    where S is close to 1. An error of a few units in the last place of each q_j, a_j, sine and cosine moves n log S by
    at most ROUNDING n sum of q_j (|e^{i a_j} - 1| + |a_j|)/|S|. Theorem: docs/theorems/shuffling.md.
    """
    import numpy as np

    columns = [place for place, _ in law], [power / whole for power in powers]
    if min(one.rel_accuracy_bits() for column in columns for one in column) < KNOWN_BITS:
        return None
    place, share = (np.array([float(one.mid()) for one in column]) for column in columns)
    spread = float(half.mid())
    y = step * np.array(kept, dtype=float)
    with np.errstate(all="ignore"):
        angle = np.multiply.outer(place, y)
        sine, square = np.sin(angle), 2 * np.sin(angle / 2) ** 2
        real, imaginary = -(share @ square), share @ sine  # of D
        size = (1 + real) ** 2 + imaginary**2  # |S|^2
        level = n / 2 * np.log1p(real * (2 + real) + imaginary**2)
        turn = n * np.arctan2(imaginary, 1 + real)
        damped, phase = spread * (c * c - y * y), 2 * spread * c * y
        term = np.exp(level + damped) / (c * c + y * y) / np.where(y == 0, 2.0, 1.0)
        values = term * np.cos(turn + phase - 2 * np.arctan2(y, c))
        moved = n * (share @ (np.sqrt(sine**2 + square**2) + np.abs(angle))) / np.sqrt(size)
        off = moved + np.abs(level) + np.abs(turn) + np.abs(damped) + np.abs(spread * y * y) + np.abs(phase) + 16
        total, error = float(values.sum()), float((term * off).sum()) * ROUNDING * (1 + 2.0**-20)
    if not (size.min() > LEAST_SQUARE and error < MOST_ERROR * abs(total)):
        return None
    return arb(total, error)


def _aliases(law: list[tuple[arb, arb]], n: int, c: arb, step: arb, noise: arb) -> arb:
    """An upper bound on the sum of aliases e^{cjP} E(X - jP)_+ over j != 0: P = 2 pi/step, X the sum with noise."""
    period = 2 * arb.pi() / step
    ratio = (-c * period).exp()
    largest = arb(0)
    for place, _ in law:
        largest = largest.max(abs(place))
    left = (n * largest + noise) * ratio / (1 - ratio) + period * ratio / (1 - ratio) ** 2
    twice = sum(((2 * c * place).exp() * mass for place, mass in law), arb(0))
    moment = (twice.log() * n + 2 * (noise * c) ** 2).exp()
    return left + moment / (2 * c * arb(1).exp()) * ratio / (1 - ratio)


def _bend(places: list[float], parts: list[float], n: int, c: float) -> float:
    """The second derivative at c of the logarithm of the integrand, n log E e^{cY} - 2 log c, in floats."""
    mean = sum(y * m for y, m in zip(places, parts, strict=True))
    return n * sum((y - mean) ** 2 * m for y, m in zip(places, parts, strict=True)) + 2 / (c * c)


def _nodes(step: float, distance: float, strength: float, enough: int) -> tuple[list[int], int]:
    """The nodes k >= 0 that are summed, and the number of turns W: nodes from turn W + 1/2 on are bounded together.

    Nodes are kept close to whole turns, where the integrand is not certainly negligible. W is `enough` unless that
    takes too many nodes; if a single turn has too many nodes the result is ([], 0).
    """
    reach = sqrt(SKIPPED_FALL * 1.01 / strength) if strength > 0 else inf
    # 1 - cos t >= SKIPPED_FALL/strength beyond this angle
    angle = pi if reach >= sqrt(2) else 2 * asin(reach / sqrt(2))
    each = max(2 * angle / (distance * step), 1.0)
    if each > MOST_NODES_OF_TURN:
        return [], 0
    turns = max(1, min(MOST_TURNS, int(MOST_NODES / each), enough))
    kept: list[int] = []
    for turn in range(turns + 1):
        low, high = (2 * pi * turn - angle) / (distance * step), (2 * pi * turn + angle) / (distance * step)
        end = (2 * turns + 1) * pi / (distance * step)
        first = max(int(low) - 1, 0, kept[-1] + 1 if kept else 0)
        kept.extend(range(first, min(ceil(high) + 1, ceil(end) + 1) + 1))
    return kept, turns
