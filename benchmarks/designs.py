"""What `choose` finds in twenty settings of papers and products, beside published mechanisms; means likewise.

Run with `python benchmarks/designs.py`. Each row is the error of the design that was chosen divided by the least that
published mechanisms have within the same limit on bytes, at their best parameters and rounds, and seconds of processor
time. Then the standard error of a mean beside the best published mechanism of the same epsilon, and the time to
calibrate shuffled reports. Errors and costs of what is published are coded apart from the library:
tests/collection/published_designs.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

from zcdp import RandomizedResponse, Shuffled, calibrate, choose
from zcdp.collection.choose_number import choose_number

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "collection"))
from published_designs import LATER, MEANS, SETTINGS, least_error


def frequencies() -> None:
    print(
        f"{'setting':<34} {'chosen':<22} {'answers':>8} {'bytes':>5} "
        f"{'error':>9} {'of best':>8} {'textbook':>9} {'s':>6}   best published"
    )
    worst = 0.0
    for name, given in SETTINGS:
        start = process_time()
        found = choose(**given)
        took = process_time() - start
        least, whose = least_error(given)
        ratio = found.best.standard_error / least
        worst = max(worst, ratio)
        kind, best = type(found.best.mechanism).__name__, found.best
        print(
            f"{name:<34} {kind:<22} {f'{best.rounds}/{best.of}':>8} {best.bytes:>5} {best.standard_error:>9.3g} "
            f"{ratio:>8.4f} {found.textbook.standard_error / best.standard_error:>8.3g}x {took:>6.2f}   {whose}"
        )
    print(f"worst ratio {worst:.4f}\n")


def means() -> None:
    published = MEANS | LATER
    print(f"{'epsilon':>7} {' '.join(f'{name:>9}' for name in published)}    chosen  of best published   design")
    for epsilon in ("0.5", "1", "2", "3", "4", "8"):
        errors = [error(float(epsilon)) / 100 for error in published.values()]
        best = choose_number(low=-1, high=1, clients=10_000, epsilon=epsilon).best
        told = " ".join(f"{one:>{max(9, len(name))}.4g}" for name, one in zip(published, errors, strict=True))
        ratio = best.standard_error / min(errors)
        print(f"{epsilon:>7} {told} {best.standard_error:>9.4g} {ratio:>18.4f}   {best.mechanism!r}")
    print("at an equal rho, of which the published ones have what epsilon^2/2 = rho gives:")
    for rho in ("0.01", "0.1", "0.5", "1", "4"):
        epsilon = (2 * float(rho)) ** 0.5
        error = min(one(epsilon) for one in published.values()) / 100
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
