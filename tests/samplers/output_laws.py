"""One row per sampler: how to draw, and its law by an independent formula in mpmath."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, permutations
from math import sqrt
from typing import Any

import numpy as np
from flint import arb
from mpmath import mp, mpf

from zcdp.numeric.balls import lift
from zcdp.samplers.coins import Coin, flip_exp
from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise
from zcdp.samplers.geometric import DiscreteLaplaceNoise, Geometric
from zcdp.samplers.grid_laplace import GridLaplace
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid
from zcdp.samplers.reports import Response, SubsetSelection, UnaryReports
from zcdp.samplers.selection_draws import ExponentialSelection, PermuteAndFlip
from zcdp.samplers.source import integers, one_below
from zcdp.samplers.staircase_noise import DiscreteStaircaseNoise, GridStaircase

Draw = Callable[[int, Callable[[int], bytes]], Any]


@dataclass(frozen=True)
class Row:
    """`make(first, second)` gives a function that draws; `cdf(k, factor)` is the law with its scale times `factor`."""

    name: str
    make: Callable[[int, int], Draw]
    cdf: Callable[[int, Any], Any]
    slow: bool = False
    count: int = 3_500_000
    """Draws at which one per cent is seen, but for a chance of 1e-9."""
    deep: tuple[int, tuple[str, ...]] = (3_000_000, ("1.01", "0.99"))
    """Draws of a slow sampler in the deep run, and what they tell from the truth."""


def real(value: Fraction) -> Callable[[], arb]:
    return lambda: lift(value)


def exact(value: Fraction) -> Any:
    return mpf(value.numerator) / value.denominator


def laplace_cdf(x: Any) -> Any:
    return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2


def logistic_cdf(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def discrete_laplace_cdf(scale: Fraction) -> Callable[[int, Any], Any]:
    def cdf(k: int, factor: Any) -> Any:
        q = mp.exp(-1 / (exact(scale) * factor))
        return q ** (-k) / (1 + q) if k < 0 else 1 - q ** (k + 1) / (1 + q)

    return cdf


def by_mass(mass: Callable[[int, Any], Any], reach: Callable[[Any], int]) -> Callable[[int, Any], Any]:
    """The distribution function of masses that need not add up to one."""
    known: dict[Any, list[Any]] = {}

    def cdf(k: int, factor: Any) -> Any:
        far = reach(factor)
        if factor not in known:
            total, sums = mpf(0), []
            for x in range(-far, far + 1):
                total += mass(x, factor)
                sums.append(total)
            known[factor] = [s / total for s in sums]
        return mpf(0) if k < -far else known[factor][min(k, far) + far]

    return cdf


def discrete_gaussian_cdf(variance: int) -> Callable[[int, Any], Any]:
    """As `by_mass`, in doubles, which have as many digits as mpmath has here; beyond ten deviations is nothing."""

    @cache
    def sums(factor: Any) -> tuple[int, Any]:
        far = int(10.3 * sqrt(variance)) + 2
        found = np.exp(-(np.arange(-far, far + 1) ** 2) / (2 * variance * float(factor) ** 2)).cumsum()
        return far, found / found[-1]

    def cdf(k: int, factor: Any) -> Any:
        far, found = sums(factor)
        return mpf(0) if k < -far else mpf(found[min(k, far) + far])

    return cdf


def by_table(probabilities: Callable[[Any], list[Any]]) -> Callable[[int, Any], Any]:
    cached = cache(probabilities)

    def cdf(k: int, factor: Any) -> Any:
        return sum(cached(factor)[: k + 1], mpf(0)) if k >= 0 else mpf(0)

    return cdf


def on_grid(cdf: Callable[[Any], Any], value: Fraction, scale: Fraction, step: Fraction) -> Callable[[int, Any], Any]:
    return lambda k, factor: cdf((exact(step * k + step / 2 - value)) / (exact(scale) * factor))


def grid_draw(noise: Any, value: Fraction, step: Fraction) -> Draw:
    def draw(count: int, source: Any) -> Any:
        return np.rint(noise.release(np.full(count, float(value)), source) / float(step)).astype(np.int64)

    return draw


def laplace_row(scale: Fraction, step: Fraction, value: Fraction) -> Row:
    return Row(
        f"laplace scale {scale} grid {step} at {float(value)}",
        lambda first, second: grid_draw(GridLaplace(real(1 / scale), step, first=first, second=second), value, step),
        on_grid(laplace_cdf, value, scale, step),
    )


def staircase_cdf(epsilon: Any, gamma: Any) -> Callable[[Any], Any]:
    """For sensitivity 1: half of the mass on each side, in stairs of ratio b with an inner share gamma."""

    def cdf(x: Any) -> Any:
        if x < 0:
            return 1 - cdf(-x)
        b = mp.exp(-epsilon)
        stair = mp.floor(x)
        inside = min(x - stair, gamma) + b * max(x - stair - gamma, 0)
        return mpf(1) / 2 + (1 - b**stair + (1 - b) * b**stair * inside / (gamma + b * (1 - gamma))) / 2

    return cdf


SUBSETS, SUBSET_EPSILON = 12, 3
"""A report holds the value as often as it shows one per cent of epsilon in few draws."""


def subset_codes(reports: Any) -> Any:
    pairs = {pair: n for n, pair in enumerate(combinations(range(SUBSETS), 2))}
    lookup = np.zeros((SUBSETS, SUBSETS), dtype=np.int64)
    for (a, b), n in pairs.items():
        lookup[a, b] = n
    return lookup[reports[:, 0], reports[:, 1]]


def subset_probabilities(factor: Any) -> list[Any]:
    weights = [mp.exp(SUBSET_EPSILON / factor) if 3 in pair else mpf(1) for pair in combinations(range(SUBSETS), 2)]
    return [w / sum(weights) for w in weights]


SCORES = np.array([1.25, 1.5, 2.0, 4.25, 2.25, 1.75, 1.5])
"""The best wins about as often as all others together: one per cent of scale shows in few draws."""


def exponential_probabilities(factor: Any) -> list[Any]:
    weights = [mp.exp(mpf(s) / factor) for s in SCORES]
    return [w / sum(weights) for w in weights]


@cache
def flip_probabilities(factor: Any) -> list[Any]:
    """Permute-and-flip by going through all orders of the candidates."""
    heads = [float(mp.exp(mpf(s - SCORES.max()) / factor)) for s in SCORES]
    chances = [0.0] * len(heads)
    orders = list(permutations(range(len(heads))))
    for order in orders:
        left = 1 / len(orders)
        for n in order:
            chances[n] += left * heads[n]
            left *= 1 - heads[n]
    return [mpf(chance) for chance in chances]


def bits_probabilities(p: Any, q: Any) -> list[Any]:
    """Bits 3 (true), 4 and 11 of a report, as a number of three bits."""
    return [(p if n & 4 else 1 - p) * (q if n & 2 else 1 - q) * (q if n & 1 else 1 - q) for n in range(8)]


def report_codes(reports: Any) -> Any:
    bits = np.unpackbits(reports, axis=1, count=12).astype(np.int64)
    assert reports.shape[1] == 2
    assert not (reports[:, 1] & 0x0F).any()
    return 4 * bits[:, 3] + 2 * bits[:, 4] + bits[:, 11]


def response_probabilities(k: int) -> Callable[[Any], list[Any]]:
    def masses(factor: Any) -> list[Any]:
        truth = mp.exp(1 / factor)
        return [(truth if n == 1 else mpf(1)) / (truth + k - 1) for n in range(k)]

    return masses


def one_by_one(draw: Callable[[Any], int]) -> Callable[[int, int], Draw]:
    return lambda first, second: lambda count, source: np.array([draw(source) for _ in range(count)])


def _half(sign: int) -> Callable[[], arb]:
    return lambda: 1 / (1 + (sign * arb(1) / 2).exp())


S = Fraction
ONE_BY_ONE = (1_700_000, ("1.01", "0.99"))
FEW_EXPONENTIAL, FEW_FLIP = ExponentialSelection(real(S(1))), PermuteAndFlip(real(S(1)))
ROWS = (
    *(
        Row(
            f"discrete laplace {scale}",
            lambda first, second, scale=scale: DiscreteLaplaceNoise(real(1 / scale), first=first, second=second).draw,
            discrete_laplace_cdf(scale),
        )
        for scale in (S(1, 3), S(2), S(37), S(1000), S(2**40))
    ),
    *(
        Row(
            f"geometric {scale}",
            lambda first, second, scale=scale: Geometric(real(1 / scale), first=first, second=second).draw,
            lambda k, factor, scale=scale: 1 - mp.exp(-mpf(max(k + 1, 0)) / (exact(scale) * factor)),
        )
        for scale in (S(3), S(10**6))
    ),
    laplace_row(S(2), S(1, 2**20), S(41.3)),
    laplace_row(S(1), S(1), S(0.3)),
    laplace_row(S(1), S(2), S(-3.9)),
    laplace_row(S(5), S(1, 100), S(7.77)),
    Row(
        "discrete gaussian 2.5",
        lambda first, second: DiscreteGaussianNoise(S(25, 4), first=first, second=second).draw,
        by_mass(lambda x, f: mp.exp(-(mpf(x) ** 2) / (2 * mpf(25) / 4 * f**2)), lambda f: 60),
        count=2_000_000,
    ),
    Row(
        "discrete gaussian 300",
        lambda first, second: DiscreteGaussianNoise(S(90000), first=first, second=second).draw,
        discrete_gaussian_cdf(300**2),
        count=2_000_000,
    ),
    Row(
        "discrete gaussian 10 by rejection",
        lambda first, second: DiscreteGaussianNoise(S(100), first=first, second=second, tabled=False).draw,
        by_mass(lambda x, f: mp.exp(-(mpf(x) ** 2) / (2 * mpf(100) * f**2)), lambda f: 250),
        count=2_000_000,
    ),
    Row(
        "discrete gaussian 1100",
        lambda first, second: DiscreteGaussianNoise(S(1100**2), first=first, second=second).draw,
        discrete_gaussian_cdf(1100**2),
        count=2_000_000,
    ),
    *(
        Row(
            f"logistic grid {step}",
            lambda first, second, step=step: grid_draw(
                logistic_on_grid(real(S(1, 2)), step, first=first, second=second), S(0.7), step
            ),
            on_grid(logistic_cdf, S(0.7), S(2), step),
            count=2_500_000,
        )
        for step in (S(1, 1024), S(1), S(3, 10))
    ),
    *(
        Row(
            f"gaussian grid {step}",
            lambda first, second, step=step: grid_draw(
                gaussian_on_grid(S(4), step, first=first, second=second), S(0.7), step
            ),
            on_grid(mp.ncdf, S(0.7), S(2), step),
            count=2_000_000,
        )
        for step in (S(1, 1024), S(1), S(3, 10))
    ),
    *(
        Row(
            f"staircase grid {step}",
            lambda first, second, step=step: grid_draw(
                GridStaircase(real(S(1)), S(1), lambda: 1 / (1 + (arb(1) / 2).exp()), step, first=first, second=second),
                S(0.7),
                step,
            ),
            on_grid(staircase_cdf(mpf(1), 1 / (1 + mp.exp(mpf(1) / 2))), S(0.7), S(1), step),
            count=2_000_000,
        )
        for step in (S(1, 64), S(1, 3))
    ),
    Row(
        "discrete staircase",
        lambda first, second: DiscreteStaircaseNoise(real(S(1)), 5, 2, first=first, second=second).draw,
        by_mass(lambda x, f: mp.exp(-(abs(x) // 5 + (abs(x) % 5 >= 2)) / f), lambda f: 400),
    ),
    *(
        Row(
            f"response {k}",
            lambda first, second, k=k: (
                lambda count, source: Response(real(S(1)), k, first=first).respond(
                    np.ones(count, dtype=np.int64), source
                )
            ),
            by_table(response_probabilities(k)),
            count=12_000_000,
        )
        for k in (2, 4, 7)
    ),
    Row(
        "unary encoding",
        lambda first, second: (
            lambda count, source: report_codes(
                UnaryReports(_half(-1), _half(1), first=first, second=second).report(np.full(count, 3), 12, source)
            )
        ),
        by_table(lambda f: bits_probabilities(1 / (1 + mp.exp(-1 / (2 * f))), 1 / (1 + mp.exp(1 / (2 * f))))),
        count=14_000_000,
    ),
    Row(
        "subset selection",
        lambda first, second: (
            lambda count, source: subset_codes(
                SubsetSelection(real(S(SUBSET_EPSILON)), SUBSETS, 2, first=first).report(np.full(count, 3), source)
            )
        ),
        by_table(subset_probabilities),
        count=3_000_000,
    ),
    Row(
        "exponential selection",
        lambda first, second: partial(ExponentialSelection(real(S(1)), first=first).draw, SCORES),
        by_table(exponential_probabilities),
        count=2_000_000,
    ),
    Row(
        "permute and flip",
        lambda first, second: partial(PermuteAndFlip(real(S(1)), first=first).draw, SCORES),
        by_table(flip_probabilities),
        count=2_000_000,
    ),
    Row(
        "exponential selection from a list",
        one_by_one(lambda source: FEW_EXPONENTIAL.select(SCORES.tolist(), source)),
        by_table(exponential_probabilities),
        slow=True,
        deep=ONE_BY_ONE,
    ),
    Row(
        "permute and flip from a list",
        one_by_one(lambda source: FEW_FLIP.select(SCORES.tolist(), source)),
        by_table(flip_probabilities),
        slow=True,
        deep=ONE_BY_ONE,
    ),
    Row(
        "exponential selection from an array",
        one_by_one(lambda source: FEW_EXPONENTIAL.select(SCORES, source)),
        by_table(exponential_probabilities),
        slow=True,
        deep=ONE_BY_ONE,
    ),
    Row(
        "permute and flip from an array",
        one_by_one(lambda source: FEW_FLIP.select(SCORES, source)),
        by_table(flip_probabilities),
        slow=True,
        deep=ONE_BY_ONE,
    ),
    Row(
        "coin 1/3",
        lambda first, second: Coin(real(S(1, 3)), first=first).flips,
        by_table(lambda f: [1 - f / 3, f / 3]),
        count=5_000_000,
    ),
    Row(
        "exponential coin",
        one_by_one(lambda source: flip_exp(S(2, 3), source)),
        by_table(lambda f: [1 - mp.exp(-mpf(2) / 3 / f), mp.exp(-mpf(2) / 3 / f)]),
        slow=True,
        deep=(4_000_000, ("1.01", "0.99")),
    ),
    *(
        Row(
            f"uniform {n}",
            lambda first, second, n=n: lambda count, source: integers(n, count, source).astype(np.int64),
            lambda k, factor, n=n: min(max(mpf(k + 1) / (n * factor), mpf(0)), mpf(1)),
            count=1_000_000,
        )
        for n in (6, 1000, 65535, 10**6, 3 * 2**40)
    ),
    *(
        Row(
            f"one {name}",
            lambda first, second, noise=noise: (
                lambda count, source: np.array([noise.draw_one(source) for _ in range(count)], dtype=np.int64)
            ),
            cdf,
            slow=True,
        )
        for name, noise, cdf in (
            ("discrete laplace 2", DiscreteLaplaceNoise(real(S(1, 2))), discrete_laplace_cdf(S(2))),
            ("discrete laplace 2^40", DiscreteLaplaceNoise(real(S(1, 2**40))), discrete_laplace_cdf(S(2**40))),
            (
                "discrete staircase",
                DiscreteStaircaseNoise(real(S(1)), 5, 2),
                by_mass(lambda x, f: mp.exp(-(abs(x) // 5 + (abs(x) % 5 >= 2)) / f), lambda f: 400),
            ),
            (
                "discrete gaussian 10 by rejection",
                DiscreteGaussianNoise(S(100), tabled=False),
                by_mass(lambda x, f: mp.exp(-(mpf(x) ** 2) / (2 * mpf(100) * f**2)), lambda f: 250),
            ),
        )
    ),
    *(
        Row(
            f"one {name}",
            lambda first, second, noise=noise, step=step: (
                lambda count, source: np.rint(
                    np.array([noise.release_one(0.7, source) for _ in range(count)]) / float(step)
                ).astype(np.int64)
            ),
            on_grid(cdf, S(0.7), scale, step),
            slow=True,
        )
        for name, noise, cdf, scale, step in (
            ("laplace", GridLaplace(real(S(1, 2)), S(1, 2**20)), laplace_cdf, S(2), S(1, 2**20)),
            ("logistic", logistic_on_grid(real(S(1, 2)), S(1, 2**20)), logistic_cdf, S(2), S(1, 2**20)),
            ("gaussian", gaussian_on_grid(S(4), S(1, 2**20)), mp.ncdf, S(2), S(1, 2**20)),
            (
                "staircase",
                GridStaircase(real(S(1)), S(1), lambda: 1 / (1 + (arb(1) / 2).exp()), S(1, 64)),
                staircase_cdf(mpf(1), 1 / (1 + mp.exp(mpf(1) / 2))),
                S(1),
                S(1, 64),
            ),
        )
    ),
    Row(
        "one uniform",
        one_by_one(lambda source: one_below(11, source)),
        lambda k, factor: min(max(mpf(k + 1) / (11 * factor), mpf(0)), mpf(1)),
        slow=True,
    ),
)
