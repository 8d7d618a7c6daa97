"""The profile of reports without their senders: a mean of positive parts, by a contour integral flat in the clients."""

from __future__ import annotations

from math import asin, ceil, exp, inf, log, pi, sqrt

from flint import acb, arb

from zcdp.numeric.balls import below
from zcdp.numeric.crossing import crossing

__all__ = ["ShuffledProfile"]

FEW = 20_000  # terms of the sum over all counts
FALL = 40.0  # e-folds by which aliases are below
SKIPPED = 80.0  # e-folds by which nodes that are left out are below
MOST_NODES, MOST_TURNS = 400, 64
SMOOTH = 3.0  # deviations of the noise at the last turn


class ShuffledProfile:
    """delta(epsilon) <= E (Y_1 + ... + Y_n)_+/n, Y = E - g, 1 - gE, 1 - g, 0 with masses p, p, (k-2)p, 1 - kp.

    E = e^eps0, g = e^epsilon, p = 1/(E + k - 1): k-ary randomized response, and with k = 2 every eps0-DP randomizer.
    Theorem: docs/theorems/shuffling.md.
    """

    def __init__(self, loss: arb, k: int, clients: int) -> None:
        """At the working precision."""
        self.e, self.k, self.clients = loss.exp(), k, clients
        self.mass = 1 / (self.e + k - 1)

    def above(self, epsilon: arb) -> arb:
        """A ball whose upper end is not below the profile's bound at epsilon >= 0."""
        g = epsilon.exp()
        if g >= self.e:
            return arb(0)
        places = [self.e - g, 1 - g * self.e, 1 - g, arb(0)]
        masses = [self.mass, self.mass, (self.k - 2) * self.mass, 1 - self.k * self.mass]
        kept = [(place, mass) for place, mass in zip(places, masses, strict=True) if mass > 0]
        n, dims = self.clients, 2 if self.k == 2 else 3
        if n**dims <= FEW:
            return self._sum(g)
        return _positive_part(kept, n) / n

    def _sum(self, g: arb) -> arb:
        """Over all counts of the three places that are not 0."""
        n, total = self.clients, arb(0)
        up, down, flat = self.e - g, 1 - g * self.e, 1 - g
        rest = 1 - self.k * self.mass
        for a in range(1, n + 1):
            for b in range(n - a + 1):
                ways = arb.bin_uiui(n, a) * arb.bin_uiui(n - a, b) * self.mass ** (a + b)
                for m in range(n - a - b + 1) if self.k > 2 else (0,):
                    value = up * a + down * b + flat * m
                    if value <= 0:
                        break  # it falls with m
                    left = n - a - b - m
                    weight = ways * arb.bin_uiui(n - a - b, m) * ((self.k - 2) * self.mass) ** m * rest**left
                    total += weight * value
        return total / n


def _positive_part(law: list[tuple[arb, arb]], n: int) -> arb:
    """Not below E (Y_1 + ... + Y_n)_+, by the trapezoidal rule on Re z = c."""
    places = [float(place.mid()) for place, _ in law]
    masses = [float(mass.mid()) for _, mass in law]

    def tilted(c: float) -> tuple[float, list[float]]:
        top = max(c * y for y in places)
        terms = [m * exp(c * y - top) for y, m in zip(places, masses, strict=True)]
        whole = sum(terms)
        return top + log(whole), [term / whole for term in terms]

    def slope(c: float) -> float:
        return n * sum(y * m for y, m in zip(places, tilted(c)[1], strict=True)) - 2 / c

    c = crossing(slope)
    level, parts = tilted(c)
    # aliases: e^{cjP} E(X - jP)_+; to the right by a Chernoff bound at twice the order
    log_size = n * level - 2 * log(c) - log(2 * pi * _bend(places, parts, n, c)) / 2
    right = (n * tilted(2 * c)[0] - log(c) - log_size + FALL) / c
    period = max((FALL + max(-log_size, 0.0) + 4 + log(n)) / c, right)
    step = arb(2 * pi / period)
    pairs = [(parts[i] * parts[j] * (places[i] - places[j]) ** 2, i, j) for i in range(len(law)) for j in range(i)]
    _, i, j = max(pairs)
    centre = arb(c)
    powers = [(place * centre).exp() * mass for place, mass in law]
    whole = sum(powers, arb(0))
    strength = below(n * powers[i] * powers[j] / (whole * whole))
    distance = abs(law[i][0] - law[j][0])
    h, d = float(step.mid()), float(distance.mid())
    kept, turns = _nodes(h, d, strength)
    width = 2 * arb.pi() / distance
    half = (SMOOTH / (width * turns)) ** 2 / 2  # of the variance of a little noise, which only adds
    total = arb(0)
    before, waves = -2, [acb(0)]
    turned = [acb(0, place * step).exp() for place, _ in law]
    for k in kept:
        z = acb(centre, step * k)
        if k == before + 1:
            waves = [wave * turn for wave, turn in zip(waves, turned, strict=True)]
        else:
            waves = [
                acb(0, place * step * k).exp() * power / whole for (place, _), power in zip(law, powers, strict=True)
            ]
        before, square = k, z * z
        total += (sum(waves, acb(0)) ** n * (half * square).exp() / square).real / (1 if k else 2)
    total *= step / arb.pi()
    # what was left out: each of the nodes up to the last turn, and all beyond it, a turn together
    more = (half * centre * centre).exp()
    total += (-arb(SKIPPED)).exp() * more * (step / arb.pi() / (centre * centre) + 1 / centre)
    share = (arb.pi().sqrt() / (8 * arb(strength)).sqrt()).min(arb(1)) if strength > 0 else arb(1)
    last = width * (turns + arb(1) / 2)
    total += more * (-half * last * last).exp() * (share * width + step) / arb.pi() / (width * width * turns)
    return (whole.log() * n).exp() * total


def _bend(places: list[float], parts: list[float], n: int, c: float) -> float:
    mean = sum(y * m for y, m in zip(places, parts, strict=True))
    return n * sum((y - mean) ** 2 * m for y, m in zip(places, parts, strict=True)) + 2 / (c * c)


def _nodes(step: float, distance: float, strength: float) -> tuple[list[int], int]:
    """The nodes k >= 0 near whole turns, where |phi| is not proven negligible, and up to which turn and a half."""
    reach = sqrt(SKIPPED * 1.01 / strength) if strength > 0 else inf
    # 1 - cos t >= SKIPPED/strength beyond this angle
    angle = pi if reach >= sqrt(2) else 2 * asin(reach / sqrt(2))
    each = max(2 * angle / (distance * step), 1.0)
    turns = max(1, min(MOST_TURNS, int(MOST_NODES / each)))
    kept: list[int] = []
    for turn in range(turns + 1):
        low, high = (2 * pi * turn - angle) / (distance * step), (2 * pi * turn + angle) / (distance * step)
        end = (2 * turns + 1) * pi / (distance * step)
        first = max(int(low) - 1, 0, kept[-1] + 1 if kept else 0)
        kept.extend(range(first, min(ceil(high) + 1, ceil(end) + 1) + 1))
    return kept, turns
