"""Training runs: users, cut batches, matrices and schedules, beside dp-accounting's PLD accountant where it answers.

`python benchmarks/training.py [PYTHON]`: processor time of each answer in one run, and how far it is from the certified
one. PYTHON is an interpreter that has dp-accounting; by default an environment for it is made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

from peers import peer_python, run_peer

from zcdp import calibrate
from zcdp.training import (
    Cyclic,
    FixedSize,
    MatrixMechanism,
    MinSeparated,
    Poisson,
    Training,
    Truncated,
    square_root_coefficients,
)

DELTA = 1e-5
PEER = """
import json, sys, time
from math import comb
import dp_accounting as dp
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld.privacy_loss_distribution import from_mixture_gaussian_mechanism
[asked] = json.loads(sys.argv[1])
found = []
for kind, z, q, steps, more in asked:
    begun = time.process_time()
    try:
        if kind == "users":
            chances = [comb(more, j) * q**j * (1 - q) ** (more - j) for j in range(more + 1)]
            once = from_mixture_gaussian_mechanism(z, list(range(more + 1)), chances)
            answer = once.self_compose(steps).get_epsilon_for_delta(1e-5)
        else:
            relation = dp.NeighboringRelation.ADD_OR_REMOVE_ONE
            event = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(z))
            if kind == "cut":
                relation = dp.NeighboringRelation.REPLACE_SPECIAL
                event = dp.TruncatedSubsampledGaussianDpEvent(more[1], q, more[0], z)
            accountant = PLDAccountant(relation)
            accountant.compose(event, steps)
            answer = accountant.get_epsilon(1e-5)
    except Exception as error:
        answer = type(error).__name__
    found.append([answer, time.process_time() - begun])
print(json.dumps(found))
"""


def timed(ask: Callable[[], Any]) -> tuple[Any, float]:
    """The answer and its processor time in seconds."""
    begun = process_time()
    answer = ask()
    return answer, process_time() - begun


def main() -> None:
    """Print the tables."""
    rate, of = Fraction(256, 60_000), 60_000
    Training(noise_multiplier=1, steps=10, sampling=Poisson(rate)).epsilon_at(delta=DELTA)  # what is imported once
    runs = [
        ("plain", "1.1", 14063, None, {"sampling": Poisson(rate)}),
        *(
            ("users", str(z), 14063, k, {"sampling": Poisson(rate), "unit": "user", "examples_per_user": k})
            for z, k in ((2, 2), (5, 4), (10, 16))
        ),
        *(
            ("cut", "1.1", 14063, (most, of), {"sampling": Truncated(rate, most=most, of=of)})
            for most in (300, 320, 340)
        ),
    ]
    asked = [(kind, float(z), float(rate), steps, more) for kind, z, steps, more, _ in runs]
    python = Path(sys.argv[1]) if sys.argv[1:] else peer_python("dp_accounting", "dp-accounting==0.6.0")
    peers = run_peer(python, PEER, asked)
    print(f"{'run':8} {'noise':>5} {'more':>13} {'epsilon, both':>24} {'ms':>6}   {'PLD':>11} {'off by':>9} {'ms':>7}")
    for (kind, z, steps, more, how), (peer, took) in zip(runs, peers, strict=True):
        run = Training(noise_multiplier=z, steps=steps, **how)
        (low, high), spent = timed(lambda run=run: run.epsilon_bounds(delta=DELTA))
        shown = f"{peer:11.7f} {peer / high - 1:+9.1e}" if isinstance(peer, float) else f"{peer:>11.11} {'':9}"
        ends = f"{low:.8f} {high:.8f}"
        print(f"{kind:8} {z:>5} {more or ''!s:>13} {ends:>24} {spent * 1e3:6.0f}   {shown} {took * 1e3:7.0f}")
    print()
    root = square_root_coefficients(2000)
    for name, participation in (("20 epochs", Cyclic(100, 20)), ("20 times, 100 apart", MinSeparated(100, 20))):
        run, spent = timed(
            lambda p=participation: MatrixMechanism(toeplitz=root, steps=2000, noise_multiplier=10, participation=p)
        )
        print(f"matrix, 2000 steps, {name}: sensitivity {run.sensitivity:.6f}, exact: {run.is_exact}, {spent:.2f} s")
    schedule = [(234, Fraction(60 + n, 60)) for n in range(60)]
    for name, sampling, entries in (
        ("one noise level", Poisson(rate), [(14063, 1)]),
        ("60 noise levels", Poisson(rate), schedule),
        ("batches of one size", FixedSize(256, of=of), [(14063, 1)]),
    ):
        found, spent = timed(
            lambda sampling=sampling, entries=entries: calibrate(
                lambda z: Training(noise_multiplier=z, sampling=sampling, schedule=entries), epsilon=3, delta=DELTA
            )
        )
        print(f"calibrated to epsilon 3, {name}: noise_multiplier {found:.9f}, {spent:.2f} s")


if __name__ == "__main__":
    main()
