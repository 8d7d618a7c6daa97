"""What `choose` finds in twenty settings of papers and products, beside a dense search; means beside published ones.

Run with `python benchmarks/designs.py`. Each row is the error of the design that was chosen divided by the least that a
dense search over mechanisms, parameters and rounds finds among designs within the same limit on bytes, and seconds of
processor time. Then the standard error of a mean beside the best published mechanism of the same epsilon, and the time
to calibrate shuffled reports.
"""

from __future__ import annotations

from math import exp
from time import process_time
from typing import Any

from zcdp import HybridResponse, RandomizedResponse, Shuffled, SquareWave, calibrate, choose
from zcdp.collection.choose import error_of
from zcdp.collection.choose_number import choose_number
from zcdp.collection.collection_budget import Budget
from zcdp.collection.families import FAMILIES
from zcdp.collection.limits import Limits

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
SHAPES = 60
ROUNDS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 45, 52, 90, 180, 365)


def dense(given: dict[str, Any]) -> float:
    """The least standard error over families, many shapes and rounds, within the limits."""
    k, clients, of = given["k"], given["clients"], given.get("rounds", 1)
    budget = Budget.of(rho=given.get("rho"), epsilon=given.get("epsilon"), delta=given.get("delta"))
    limits, best = Limits(bytes=given.get("most_bytes", 1024)), float("inf")
    for kind in FAMILIES:
        family = kind(k, limits)
        span = family.shapes() or (0.0, 0.0)
        tried = {
            whole
            for n in range(SHAPES + 1)
            for whole in family.whole(exp(span[0] + (span[1] - span[0]) * n / SHAPES))
            if family.fits(whole)
        }
        for shape in tried:
            for rounds in {min(one, of) for one in ROUNDS}:
                epsilon = budget.largest_epsilon(lambda e, f=family, s=shape: f.kappa(e, s), rounds)
                variance = family.variance(epsilon, shape, 1 / k)
                best = min(best, error_of(variance, 1 / k, rounds / of, clients))
    return best


def frequencies() -> None:
    print(
        f"{'setting':<34} {'chosen':<22} {'answers':>8} {'bytes':>5} "
        f"{'error':>9} {'of best':>8} {'textbook':>9} {'s':>6}"
    )
    worst = 0.0
    for name, given in SETTINGS:
        start = process_time()
        found = choose(**given)
        took = process_time() - start
        ratio = found.best.standard_error / dense(given)
        worst = max(worst, ratio)
        kind, best = type(found.best.mechanism).__name__, found.best
        print(
            f"{name:<34} {kind:<22} {f'{best.rounds}/{best.of}':>8} {best.bytes:>5} {best.standard_error:>9.3g} "
            f"{ratio:>8.4f} {found.textbook.standard_error / best.standard_error:>8.3g}x {took:>6.2f}"
        )
    print(f"worst ratio {worst:.4f}\n")


def means() -> None:
    print(
        f"{'epsilon':>7} {'one bit':>9} {'piecewise':>9} {'hybrid':>9} {'chosen':>9} {'of best published':>18}   design"
    )
    for epsilon in ("0.5", "1", "2", "4", "8"):
        published = [
            SquareWave.one_bit(epsilon=epsilon),
            SquareWave.piecewise(epsilon=epsilon),
            HybridResponse.best(epsilon=epsilon),
        ]
        errors = [one.standard_error(clients=10_000, low=-1, high=1) for one in published]
        best = choose_number(low=-1, high=1, clients=10_000, epsilon=epsilon).best
        told = " ".join(f"{one:>9.4g}" for one in (*errors, best.standard_error))
        print(f"{epsilon:>7} {told} {best.standard_error / min(errors):>18.4f}   {best.mechanism!r}")
    print("at an equal rho, of which the published ones have what epsilon^2/2 = rho gives:")
    for rho in ("0.01", "0.1", "0.5", "1", "4"):
        epsilon = (2 * float(rho)) ** 0.5
        error = HybridResponse.best(epsilon=epsilon).standard_error(clients=10_000, low=-1, high=1)
        best = choose_number(low=-1, high=1, clients=10_000, rho=rho).best
        print(f"{rho:>7} {error:>9.4g} {best.standard_error:>9.4g} {best.standard_error / error:>8.4f}")
    print()


def shuffling() -> None:
    start = process_time()
    found = calibrate(
        lambda e: 90 * Shuffled(RandomizedResponse(epsilon=e, k=40), clients=2_000_000), epsilon=4, delta="1e-6"
    )
    print(f"90 * Shuffled(RandomizedResponse(epsilon=?, k=40), clients=2000000) at (4, 1e-6): {found!r}")
    print(f"{process_time() - start:.2f} s of processor time")


if __name__ == "__main__":
    frequencies()
    means()
    shuffling()
