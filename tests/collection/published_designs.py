"""Twenty settings of papers and products, and the least error that published mechanisms have in them, coded apart.

Nothing is imported from the library: variances are the closed forms of the papers, and costs follow from the explicit
law of the privacy loss of two values, by Renyi divergences on a grid of orders, or by adding up the losses of all
reports. Every mechanism here has losses epsilon, 0 and -epsilon only; `tells` is the probability of the first.

- direct response: Kairouz, Bonawitz and Ramage (2016); unary encodings and local hashing: Wang, Blocki, Li and Jha
  (2017), of unary encoding any pair (p, q); subset selection: Ye and Barg (2018); Hadamard response: Acharya, Sun and
  Zhang (2019), with blocks; projective geometry response: Feldman, Nelson, Nguyen and Talwar (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, exp, inf, log2, sqrt
from typing import Any

import numpy as np

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("browser home pages, one report", {"k": 128, "clients": 14_000_000, "epsilon": "0.5343"}),
    ("browser settings, 7 days", {"k": 32, "clients": 10**6, "rounds": 7, "epsilon": 2, "delta": "1e-6"}),
    ("emoji, one a day for a month", {"k": 2600, "clients": 10**6, "rounds": 30, "epsilon": 4, "delta": "1e-6"}),
    ("domains that crash", {"k": 250_000, "clients": 10**6, "epsilon": 8}),
    ("words of a keyboard", {"k": 10**6, "clients": 10**7, "epsilon": 4}),
    ("health types", {"k": 75, "clients": 10**6, "epsilon": 2}),
    ("app usage, 90 days", {"k": 40, "clients": 2 * 10**6, "rounds": 90, "epsilon": 4, "delta": "1e-6"}),
    ("telemetry, yes or no", {"k": 2, "clients": 10**6, "epsilon": 1}),
    ("telemetry, 10 counters, 14 days", {"k": 10, "clients": 10**6, "rounds": 14, "rho": "0.5"}),
    ("census-like, 8 classes", {"k": 8, "clients": 10**5, "rho": "0.1"}),
    ("survey, 5 answers", {"k": 5, "clients": 2000, "epsilon": 1}),
    ("hashing paper, k = 1024", {"k": 1024, "clients": 10**5, "epsilon": 1}),
    ("hashing paper, k = 65536", {"k": 65_536, "clients": 10**6, "epsilon": 2}),
    ("subset paper, k = 500", {"k": 500, "clients": 10**5, "epsilon": 3}),
    ("Hadamard paper, k = 10000", {"k": 10_000, "clients": 5 * 10**5, "epsilon": "0.5"}),
    ("a year of weeks", {"k": 100, "clients": 10**6, "rounds": 52, "epsilon": 8, "delta": "1e-6"}),
    ("a year of days", {"k": 1000, "clients": 10**7, "rounds": 365, "epsilon": 12, "delta": "1e-8"}),
    ("locations, 3 bytes", {"k": 360_000, "clients": 10**6, "rho": "0.1", "most_bytes": 3}),
    ("locations, 16 bytes, 30 days", {"k": 10**5, "clients": 10**6, "rounds": 30, "rho": 1, "most_bytes": 16}),
    ("rare values, 64 bytes", {"k": 5000, "clients": 10**6, "rounds": 10, "rho": 2, "most_bytes": 64}),
]
ROUNDS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 25, 30, 45, 52, 90, 180, 365)


@dataclass(frozen=True)
class Published:
    """One mechanism at all epsilons; e is e^epsilon, f the frequency of which the variance of one report is told."""

    name: str
    tells: Callable[[float], float]
    variance: Callable[[float, float], float]
    bytes: int


def _bytes(outcomes: float) -> int:
    return max(1, ceil(log2(outcomes) / 8 - 1e-12))


def _pure(p: float, q: float, f: float) -> float:
    """The variance of (supported - q)/(p - q), f of the clients holding the value."""
    return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2


def _prime_powers(most: int) -> list[int]:
    primes = [n for n in range(2, most) if all(n % d for d in range(2, int(n**0.5) + 1))]
    return sorted(p**j for p in primes for j in range(1, 9) if p**j < most)


def mechanisms(k: int) -> Iterator[Published]:
    """All that are compared on k values."""
    yield Published(
        "direct", lambda e: e / (e + k - 1), lambda e, f: _pure(e / (e + k - 1), 1 / (e + k - 1), f), _bytes(k)
    )
    for q in np.geomspace(0.5, 1e-6, 60).tolist():
        p = lambda e, q=q: q * e / (q * e + 1 - q)  # noqa: E731 - the odds of p are e times those of q
        yield Published(
            "unary", lambda e, q=q, p=p: p(e) * (1 - q), lambda e, f, q=q, p=p: _pure(p(e), q, f), ceil(k / 8)
        )
    for w in sorted({min(max(round(one), 1), k - 1) for one in np.geomspace(1, max(k / 2, 1), 60)}):
        p = lambda e, w=w: w * e / (w * e + k - w)  # noqa: E731
        yield Published(
            "subsets",
            lambda e, w=w, p=p: p(e) * (k - w) / (k - 1),
            lambda e, f, w=w, p=p: _pure(p(e), (w - p(e)) / (k - 1), f),
            min(w * _bytes(k), ceil(k / 8)),
        )
    for g in sorted({round(one) for one in np.geomspace(2, max(k, 3), 80)}):
        yield Published(
            "hashing, seeds of 4 bytes",
            lambda e, g=g: (1 - 1 / g) * e / (e + g - 1),
            lambda e, f, g=g: _pure(e / (e + g - 1), 1 / g, f),
            4 + _bytes(g),
        )
    for blocks in (2**j for j in range(int(log2(k)) + 1)):
        size = 2 ** ceil(log2(max(ceil(k / blocks) + 1, 2)))

        def spread(e: float, f: float, b: int = blocks) -> float:
            """Signs of the value's own block, 0 elsewhere, scaled; other values are as often in each block."""
            whole = e + 2 * b - 1
            own = (f + (1 - f) / b) * (e + 1) / whole + (1 - f) * (1 - 1 / b) * 2 / whole
            return (whole / (e - 1)) ** 2 * own - f

        yield Published(
            f"Hadamard, {blocks} blocks",
            lambda e, b=blocks: e / (e + 2 * b - 1) if b > 1 else e / (2 * (e + 1)),
            spread,
            _bytes(blocks * size),
        )
    for base in _prime_powers(600):
        t = next(t for t in range(2, 64) if (base**t - 1) // (base - 1) >= k)
        points, own, both = ((base ** (t - j) - 1) // (base - 1) for j in range(3))
        whole = lambda e, n=points, c=own: e * c + n - c  # noqa: E731
        yield Published(
            f"projective geometry, {base}",
            lambda e, c=own, i=both, w=whole: e * (c - i) / w(e),
            lambda e, f, c=own, i=both, w=whole: _pure(e * c / w(e), (e * i + c - i) / w(e), f),
            _bytes(points),
        )


def rho_of(epsilon: float, tells: float) -> float:
    """The largest Renyi divergence over its order, from the law of the loss."""
    order = np.geomspace(1e-4, 60, 300)
    with np.errstate(over="ignore"):
        inside = tells * np.expm1(order * epsilon) + tells * exp(-epsilon) * np.expm1(-order * epsilon)
    return max(float((np.log1p(inside) / order / (order + 1)).max()), tells * epsilon * (1 - exp(-epsilon)))


def delta_of(epsilon: float, tells: float, reports: int, at: float) -> float:
    """E(1 - e^(at - L))_+ of the sum L of the losses of all reports."""
    law = np.array([tells * exp(-epsilon), 1 - tells * (1 + exp(-epsilon)), tells])
    total = np.ones(1)
    for bit in bin(reports)[2:]:
        total = np.convolve(total, total)
        total = np.convolve(total, law) if bit == "1" else total
    loss = (np.arange(total.size) - reports) * epsilon
    return float((total * -np.expm1(np.minimum(at - loss, 0.0))).sum())


def largest_epsilon(one: Published, reports: int, budget: dict[str, float]) -> float:
    """The largest epsilon of a report at which so many are within the budget."""
    if "epsilon" in budget and not budget["delta"]:
        return budget["epsilon"] / reports

    def fits(epsilon: float) -> bool:
        tells = one.tells(exp(epsilon))
        if "rho" in budget:
            return reports * rho_of(epsilon, tells) <= budget["rho"]
        return delta_of(epsilon, tells, reports, budget["epsilon"]) <= budget["delta"]

    low, high = 1e-6, 40.0
    for _ in range(30):
        middle = sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def least_error(given: dict[str, Any]) -> tuple[float, str]:
    """The least standard error of the frequency 1/k in one round, and whose it is, within the limit on bytes."""
    k, n, of = given["k"], given["clients"], given.get("rounds", 1)
    budget = {name: float(given.get(name, 0)) for name in ("epsilon", "delta", "rho") if name in given}
    if "epsilon" in budget:
        budget.setdefault("delta", 0.0)
    best, f = (inf, ""), 1 / k
    for one in mechanisms(k):
        if one.bytes > given.get("most_bytes", 1024):
            continue
        for reports in sorted({min(s, of) for s in ROUNDS}):
            share, e = reports / of, exp(largest_epsilon(one, reports, budget))
            variance = one.variance(e, f) / share + f * (1 - f) * (1 / share - 1) * n / (n - 1)
            best = min(best, (sqrt(variance / n), one.name))
            if share < 1 and sqrt(one.variance(e, f) / share / n) > 3 * best[0] and reports > 2:
                break
    return best


# The mean of numbers from -1 to 1: the largest standard deviation of one report, over the number that is held.


def one_bit(epsilon: float) -> float:
    """Duchi, Jordan and Wainwright (2018)."""
    return (exp(epsilon) + 1) / (exp(epsilon) - 1)


def piecewise(epsilon: float) -> float:
    """Wang et al. (2019), lemma 1, at the ends of the range."""
    root = exp(epsilon / 2)
    return sqrt(1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2))


def hybrid(epsilon: float) -> float:
    """Wang et al. (2019), their worst-case variance with the best share: one bit up to 0.61."""
    root, e = exp(epsilon / 2), exp(epsilon)
    if epsilon <= 0.61:
        return one_bit(epsilon)
    return sqrt((root + 3) / (3 * root * (root - 1)) + (e + 1) ** 2 / (root * (e - 1) ** 2))


def of_three_outputs_and_windows(epsilon: float) -> float:
    """The best mixture of windows of the best width with three outputs, both as Zhao et al. (2020) have them.

    With t the windows' parameter, their variance at x is (t+1)/(e-1) x^2 + (t+e)((t+1)^3+e-1)/(3 t^2 (e-1)^2). Three
    outputs C, 0 and -C: an end tells its own with e u, 0 with p = 1 - (e+1) u and the other with u, and the middle
    tells 0 with e p; between them chances are linear. All three parameters are searched on a grid, each alone included.
    """
    e = exp(epsilon)
    t = np.exp(np.linspace(-1, epsilon, 120))[:, None, None]
    u = np.linspace(0.5, 1, 120)[None, :, None] / (e + 1)
    share = np.linspace(0, 1, 81)[None, None, :]  # of windows
    square, own = (t + 1) / (e - 1), (t + e) * ((t + 1) ** 3 + e - 1) / (3 * t**2 * (e - 1) ** 2)
    reach, p = 1 / ((e - 1) * u) ** 2, 1 - (e + 1) * u
    reach = np.where(e * p <= 1 - 2 * u, reach, 1e30)  # else the middle tells 0 too often
    constant = share * own + (1 - share) * reach * (1 - e * p)
    slope = (1 - share) * reach * (e - 1) * p
    bend = share * square - (1 - share)
    top = np.where(bend < 0, np.clip(-slope / np.minimum(2 * bend, -1e-9), 0, 1), 1.0)
    worst = np.maximum(constant + slope + bend, constant + slope * top + bend * top**2)
    return float(np.sqrt(np.maximum(worst, constant).min()))


MEANS = {"one bit": one_bit, "piecewise": piecewise, "hybrid": hybrid}

LATER = {"three outputs and windows": of_three_outputs_and_windows}  # published after those that are standard
