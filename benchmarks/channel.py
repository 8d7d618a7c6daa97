"""How the certified rho of a random n x n channel grows with n: all n(n-1) ordered pairs of rows, all orders.

Run with `python benchmarks/channel.py`. Aims: 2 x 2 in under 5 ms, 50 x 50 to relative 1e-9 in under 5 s.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from zcdp import Channel

SIZES = (2, 5, 10, 20, 50, 100)
LONGEST = 60.0  # seconds: a size expected to take longer is left out
AIMS = {2: 0.005, 50: 5.0}


def spread(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn uniformly from all distributions: one pair stands out."""
    return rng.dirichlet(np.ones(n), size=n)


def close(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that are all nearly uniform: many pairs are nearly the worst."""
    return rng.dirichlet(np.full(n, 100.0), size=n)


def tied(n: int, _: np.random.Generator) -> np.ndarray:
    """Randomized response: every pair is the worst."""
    return (np.ones((n, n)) + 2 * np.eye(n)) / (n + 2)


def once(matrix: np.ndarray, repeats: int) -> tuple[float, float]:
    """Least seconds from the matrix to rho, and the relative width of the enclosure."""
    best = float("inf")
    for _ in range(repeats):
        start = perf_counter()
        lower, upper = Channel(matrix).rho_bounds
        best = min(best, perf_counter() - start)
    return best, upper / lower - 1


def table(draw: Callable[[int, np.random.Generator], np.ndarray]) -> None:
    print(f"\n{draw.__name__}: {draw.__doc__}")
    print(f"{'n':>4} {'pairs':>6} {'ms':>10} {'width':>9} {'ratio':>7} {'us per pair and outcome':>24}")
    before = previous = 0.0
    for n in SIZES:
        if before and previous * (n / before) ** 3 > LONGEST:
            print(f"{n:>4} left out: expected to take more than {LONGEST:.0f} s")
            continue
        seeds, repeats = (5, 5) if n <= 10 else (1, 1)
        runs = sorted(once(draw(n, np.random.default_rng(seed)), repeats) for seed in range(seeds))
        seconds, width = runs[len(runs) // 2][0], max(width for _, width in runs)
        ratio = f"{seconds / previous:.1f}" if previous else "-"
        each = seconds * 1e6 / (n * (n - 1) * n)
        aim = f"   {'within' if seconds < AIMS[n] else 'MISSES'} {AIMS[n]} s" if n in AIMS else ""
        print(f"{n:>4} {n * (n - 1):>6} {seconds * 1e3:>10.2f} {width:>9.1e} {ratio:>7} {each:>24.1f}{aim}", flush=True)
        before, previous = float(n), seconds


def main() -> None:
    once(spread(4, np.random.default_rng(0)), 1)  # imports and caches
    for draw in (spread, close, tied):
        table(draw)


if __name__ == "__main__":
    main()
