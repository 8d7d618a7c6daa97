"""What a tight map costs in OpenDP: releases of vectors, and questions to the map, beside OpenDP's own, in one run.

Run it where OpenDP is: .venv-opendp/bin/python benchmarks/adapters.py
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time

import opendp.prelude as dp

from zcdp.adapters import opendp as zo

dp.enable_features("contrib", "honest-but-curious")


def ratio(ours: Callable[[], object], theirs: Callable[[], object], times: int) -> tuple[float, float, float]:
    """Medians of both in seconds of the processor, taken in turn, and the median of their ratios."""
    pairs = []
    for _ in range(times):
        start = process_time()
        theirs()
        middle = process_time()
        ours()
        pairs.append((process_time() - middle, middle - start))
    return median(a for a, _ in pairs), median(b for _, b in pairs), median(a / b for a, b in pairs)


def row(name: str, ours: Callable[[], object], theirs: Callable[[], object], times: int) -> None:
    seconds, other, factor = ratio(ours, theirs, times)
    print(f"{name:44} {1e6 * seconds:12.1f} us {1e6 * other:12.1f} us {factor:8.3f}")


def main() -> None:
    print(f"{'':44} {'tight':>15} {'OpenDP':>15} {'ratio':>8}")
    vector = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    whole = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    for size, times in (100, 201), (10_000, 25):
        for name, native, data in (
            ("Laplace", dp.m.make_laplace(*vector, scale=1.0), [0.5] * size),
            ("geometric", dp.m.make_geometric(*whole, scale=1.0), [5] * size),
        ):
            tight = zo.tighten(native)
            row(
                f"release of {size} numbers, {name}", lambda t=tight, d=data: t(d), lambda n=native, d=data: n(d), times
            )
    rows = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0), nan=False), size=10_000), dp.symmetric_distance()
    chain = rows >> dp.t.then_sum() >> dp.m.then_laplace(scale=1.0)
    tight, data = zo.tighten(chain), [5.0] * 10_000
    row("release of a sum over 10000 rows", lambda: tight(data), lambda: chain(data), 101)
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=1.0)
    cast, tight_one = dp.c.make_pureDP_to_zCDP(laplace), zo.tighten(laplace)
    distances = iter(1 + n / 1000 for n in range(10**6))
    row("map, at ever new distances", lambda: tight_one.map(next(distances)), lambda: cast.map(1.5), 2000)


if __name__ == "__main__":
    main()
