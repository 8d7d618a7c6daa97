"""A budget of (2, 1e-9) split over a plan of counts, incomes and selections: seconds, and how much of it is left.

Run with `python benchmarks/allocation.py`. All queries differ in sensitivity or weight, and so do their mechanisms once
filled in; with targets, every twelfth has one. The errors, standard deviation over sensitivity, are to be equal but for
the root of the weight: spread is the largest over the least, of the queries without a target. Times are processor
time, that of certifying the total included.
"""

from __future__ import annotations

from fractions import Fraction
from time import process_time

from zcdp import DiscreteLaplace, ExponentialMechanism, Gaussian, L0LInf, Laplace, Mechanism, Plan, Query, allocate

EPSILON, DELTA = 2, Fraction("1e-9")


def query(n: int, *, targets: bool) -> Query:
    wanted = {"sd": 5_000_000} if targets and n % 12 == 1 else {}
    if n % 4 == 0:
        return Query(DiscreteLaplace, sensitivity=L0LInf(n // 4 + 1, 1))
    if n % 4 == 1:
        return Query(Laplace, sensitivity=50_000 + n, **wanted)
    if n % 4 == 2:
        return Query(Gaussian, sensitivity=n + 1, count=2)
    return Query(ExponentialMechanism, weight=n + 1) if n % 8 == 3 else Query(Laplace, sensitivity=n + 1)


def row(size: int, *, targets: bool) -> None:
    queries = [query(n, targets=targets) for n in range(size)]
    start = process_time()
    found = allocate(queries, epsilon=EPSILON, delta=DELTA)
    spent = Plan.sum_of(*(q.count * m for q, m in zip(queries, found, strict=True))).epsilon_at(delta=DELTA)
    seconds = process_time() - start
    errors = [error(m) * float(q.weight) ** 0.5 for q, m in zip(queries, found, strict=True) if not q.has_target]
    assert spent <= EPSILON
    kind, spread = "yes" if targets else "no", max(errors) / min(errors)
    print(f"{size:7} {kind:>8} {seconds:9.2f} {EPSILON - spent:12.1e} {spread:12.9f}")


def error(m: Mechanism) -> float:
    assert m.relative_error is not None
    return m.relative_error


def main() -> None:
    print(f"{'queries':>7} {'targets':>8} {'seconds':>9} {'left over':>12} {'spread':>12}")
    for size in (3, 30, 300):
        for targets in (False, True):
            row(size, targets=targets)


if __name__ == "__main__":
    main()
