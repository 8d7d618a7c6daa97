"""Everyday training runs, however batches are drawn: how wide each certified answer is, and how long it takes.

    python benchmarks/training.py [kind ...]

Goes over a grid of noise, rates, epochs and ways to batch, and prints for each kind how many answers there are, the
largest and the median width (upper end of epsilon over the lower one, less 1) and the processor time; then every answer
that is wider than 1%, and what calibrations take. Kinds are named by how they begin, as "fixed". What is wider than 1%
stands in docs/explanation/limits.md too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, sqrt
from statistics import median
from time import process_time
from typing import Any

from zcdp import Gaussian, ReplacedSample
from zcdp.training import (
    Allocation,
    Cyclic,
    CyclicPoisson,
    FixedSize,
    MatrixMechanism,
    MinSeparated,
    Poisson,
    Training,
    Truncated,
    square_root_coefficients,
)

WIDE = 0.01
DATA = ((256, 60_000), (500, 50_000), (2_048, 1_000_000), (50, 1_000))  # batch, examples
EPOCHS, NOISES, DELTA = (1, 10, 100), ("0.7", "1", "2", "5"), "1e-5"

Setting = tuple[str, Callable[[], Any]]


def _steps(batch: int, examples: int, epochs: int) -> int:
    return ceil(Fraction(epochs * examples, batch))


def _runs(sampling: Callable[[int, int], Any], noises: tuple[str, ...], **how: Any) -> Iterator[Setting]:
    """Each data set, number of epochs and noise, with batches drawn in one way."""
    for batch, examples in DATA:
        for epochs in EPOCHS:
            for noise in noises:
                steps = _steps(batch, examples, epochs)
                drawn, name = sampling(batch, examples), f"{batch} of {examples}, {steps} steps, noise {noise}"
                yield (
                    name,
                    lambda noise=noise, steps=steps, drawn=drawn: Training(
                        noise_multiplier=noise, steps=steps, sampling=drawn, **how
                    ),
                )


def poisson() -> Iterator[Setting]:
    """Samples by a rate."""
    return _runs(lambda batch, of: Poisson(Fraction(batch, of)), NOISES)


def few_steps() -> Iterator[Setting]:
    """A few steps at small rates."""
    for rate in ("1e-5", "1e-4", "1e-3", "0.01"):
        for steps in (1, 2, 5, 9, 20):
            for noise in ("0.7", "1", "2"):
                name = f"rate {rate}, {steps} steps, noise {noise}"
                yield (
                    name,
                    lambda rate=rate, steps=steps, noise=noise: Training(
                        noise_multiplier=noise, steps=steps, sampling=Poisson(rate)
                    ),
                )


def fixed_size() -> Iterator[Setting]:
    """Batches of one size."""
    return _runs(lambda batch, of: FixedSize(batch, of=of), ("1", "2", "4", "10"))


def truncated() -> Iterator[Setting]:
    """Samples cut at so many deviations above their mean."""
    for deviations in (3, 4, 5, 8):

        def sampling(batch: int, of: int, deviations: int = deviations) -> Truncated:
            return Truncated(Fraction(batch, of), most=batch + ceil(deviations * sqrt(batch)), of=of)

        for name, make in _runs(sampling, ("1", "2")):
            yield f"cut at {deviations} deviations, {name}", make


def users() -> Iterator[Setting]:
    """Users of several examples, each drawn by itself."""
    for most, noises in ((2, ("1", "2")), (4, ("2", "4")), (16, ("8", "16"))):
        how = {"unit": "user", "examples_per_user": most}
        for name, make in _runs(lambda batch, of: Poisson(Fraction(batch, of)), noises, **how):
            yield f"users of {most}, {name}", make


def replaced() -> Iterator[Setting]:
    """Samples by a rate, for a replaced example."""
    for batch, examples in DATA:
        for epochs in EPOCHS:
            for noise in NOISES:
                steps = _steps(batch, examples, epochs)
                yield (
                    f"{batch} of {examples}, {steps} steps, noise {noise}",
                    lambda noise=noise, steps=steps, rate=Fraction(batch, examples): (
                        steps * ReplacedSample(Gaussian(sigma=noise), rate=rate)
                    ),
                )


def allocation() -> Iterator[Setting]:
    """Each example in one batch of an epoch."""
    for batches in (20, 100, 235):
        for epochs in (1, 2, 10, 50):
            for noise in ("0.7", "1", "2"):
                yield (
                    f"{batches} batches, {epochs} epochs, noise {noise}",
                    lambda batches=batches, epochs=epochs, noise=noise: Training(
                        noise_multiplier=noise, steps=batches * epochs, sampling=Allocation(batches)
                    ),
                )


def schedules() -> Iterator[Setting]:
    """Noise that changes during the run."""
    for levels in (2, 5, 20):
        for batch, examples in DATA[:2]:
            steps = _steps(batch, examples, 10) // levels
            schedule = [(steps, Fraction(levels + n, levels)) for n in range(levels)]
            for noise in ("0.7", "1", "2"):
                yield (
                    f"{levels} levels, {batch} of {examples}, {steps * levels} steps, noise {noise}",
                    lambda noise=noise, schedule=schedule, rate=Fraction(batch, examples): Training(
                        noise_multiplier=noise, sampling=Poisson(rate), schedule=schedule
                    ),
                )


def matrices() -> Iterator[Setting]:
    """Correlated noise: square roots of the matrix of ones, whole and banded."""
    ways = (Cyclic(100, 10), MinSeparated(100, 10), CyclicPoisson(100, "0.1"))
    for bands in (1000, 100, 16):
        for way in ways:
            if bands > 100 and isinstance(way, CyclicPoisson):
                continue
            for noise in (5, 20):
                yield (
                    f"{bands} bands, 1000 steps, {way!r}, noise {noise}",
                    lambda bands=bands, way=way, noise=noise: MatrixMechanism(
                        toeplitz=square_root_coefficients(bands), steps=1000, noise_multiplier=noise, participation=way
                    ),
                )


KINDS = {
    "Poisson": poisson,
    "few steps": few_steps,
    "fixed size": fixed_size,
    "truncated": truncated,
    "users": users,
    "replaced": replaced,
    "allocation": allocation,
    "schedules": schedules,
    "matrices": matrices,
}


def calibrated() -> None:
    """What it takes to find the noise for epsilon 3."""
    rate = Fraction(256, 60_000)
    for name, sampling, entries in (
        ("one noise level", Poisson(rate), [(14063, 1)]),
        ("60 noise levels", Poisson(rate), [(234, Fraction(60 + n, 60)) for n in range(60)]),
        ("batches of one size", FixedSize(256, of=60_000), [(14063, 1)]),
    ):
        begun = process_time()
        found = Training.calibrate(sampling=sampling, schedule=entries, epsilon=3, delta=DELTA)
        spent = process_time() - begun
        print(f"calibrated to epsilon 3, {name}: noise {float(found.noise_multiplier):.9f}, {spent:.2f} s")


def main() -> None:
    """Print the tables."""
    named = sys.argv[1:]
    Training(noise_multiplier=1, steps=10, sampling=Poisson("0.01")).epsilon_at(delta=DELTA)  # what is imported once
    wide: list[str] = []
    print("| kind | answers | wider than 1% | largest width | median | longest | all |\n|---|---|---|---|---|---|---|")
    for kind, settings in KINDS.items():
        if named and not any(kind.startswith(one) for one in named):
            continue
        widths, times = [], []
        for name, make in settings():
            begun = process_time()
            lower, upper = make().epsilon_bounds(delta=DELTA)
            times.append(process_time() - begun)
            widths.append(upper / lower - 1 if lower > 0 else (0.0 if upper == 0 else float("inf")))
            if widths[-1] > WIDE:
                wide.append(f"{kind}: {name}: epsilon {lower:.5g} to {upper:.5g}, {widths[-1]:.1%}, {times[-1]:.1f} s")
        several = sum(width > WIDE for width in widths)
        row = f"{max(widths):.1e} | {median(widths):.0e} | {max(times):.2f} s | {sum(times):.1f} s"
        print(f"| {kind} | {len(widths)} | {several} | {row} |", flush=True)
    print(f"\nwider than 1%: {len(wide)}", *wide, sep="\n")
    if not named:
        calibrated()


if __name__ == "__main__":
    main()
