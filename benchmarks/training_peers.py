"""Training beyond Poisson samples beside dp-accounting, prv-accountant and jax-privacy: error and processor time.

    python benchmarks/training_peers.py [samples]

One run; each peer in an environment of its own, its clock started after its imports. Asked is epsilon at the stated
delta; the error is relative to our upper end, and our own width stands beside it. jax-privacy's Monte Carlo draws
`samples` losses (100,000 by default): its delta at our epsilon has a standard error, which is printed, and it reports
with proof only what `get_overall_delta` makes of it. Cut batches are answered by dp-accounting for a record that is
replaced by a special one. A dash: the peer has no answer.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from peers import peer_python, run_peer

from zcdp import Allocation, Gaussian, MixtureOfGaussians, ReplacedSample, Subsampled, TruncatedSample
from zcdp.training import Cyclic, MatrixMechanism, square_root_coefficients

FEW = {f"{n} steps at rate 1e-5": (1e-5, 1.0, n, 1e-6) for n in (1, 2, 5, 9)}
REPLACED = {"1000 steps, replaced": (0.01, 1.0, 1000, 1e-5)}
USERS = {  # rate, examples of a user, sigma, steps, delta
    "a user of 4, 1 step": (0.01, 4, 1.0, 1, 1e-5),
    "a user of 4, 1000 steps": (0.01, 4, 4.0, 1000, 1e-5),
}
CUT = {  # rate, largest batch, examples, sigma, steps, delta
    f"batches cut at {most}": (256 / 60_000, most, 60_000, 1.1, 14_063, 1e-5) for most in (300, 340)
}
ALLOCATED = {  # sigma, batches, delta
    "100 batches, sigma 1": (1.0, 100, 1e-5),
    "100 batches, sigma 0.7": (0.7, 100, 1e-5),
}
STEPS, PERIOD, TIMES = 1024, 128, 8  # of the matrix

DP_ACCOUNTING = """
import json, sys, time, warnings
from math import comb
warnings.simplefilter("ignore")
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as pld
few, replaced, users, cut = json.loads(sys.argv[1])
out = {}
def clock(name, run):
    start = time.process_time(); value = run(); out[name] = [value, time.process_time() - start]
for h in (1e-4, 1e-5):
    for group, relation in ((few, NeighboringRelation.ADD_OR_REMOVE_ONE), (replaced, NeighboringRelation.REPLACE_ONE)):
        for name, (q, s, n, d) in group.items():
            def one():
                law = pld.from_gaussian_mechanism(
                    s, sampling_prob=q, value_discretization_interval=h, neighboring_relation=relation)
                return law.self_compose(n).get_epsilon_for_delta(d)
            clock(f"{name} {h:.0e}", one)
for name, (q, k, s, n, d) in users.items():  # half a minute each on the coarser grid
    chances = [comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
    def one():
        law = pld.from_mixture_gaussian_mechanism(s, list(range(k + 1)), chances, value_discretization_interval=1e-4)
        return law.self_compose(n).get_epsilon_for_delta(d)
    clock(f"{name} 1e-04", one)
import dp_accounting as dp
for name, (q, most, of, s, n, d) in cut.items():  # for neighbours of which one is a special record
    def one():
        accountant = dp.pld.PLDAccountant(NeighboringRelation.REPLACE_SPECIAL)
        accountant.compose(dp.TruncatedSubsampledGaussianDpEvent(of, q, most, s), n)
        return accountant.get_epsilon(d)
    clock(f"{name} 1e-04", one)
print(json.dumps(out))
"""

PRV = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from prv_accountant import PRVAccountant, PoissonSubsampledGaussianMechanism
few, out = json.loads(sys.argv[1])[0], {}
for name, (q, s, n, d) in few.items():
    start = time.process_time()
    try:
        accountant = PRVAccountant(
            PoissonSubsampledGaussianMechanism(q, s), max_self_compositions=n, eps_error=0.01, delta_error=d / 1000)
        value = accountant.compute_epsilon(d, n)[2]
    except Exception as error:
        value = None
    out[name] = [value, time.process_time() - start]
print(json.dumps(out))
"""

JAX = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import jax.numpy as jnp
import numpy as np
from jax_privacy import batch_selection
from jax_privacy.experimental.monte_carlo import delta_calculation, sample_generation
from jax_privacy.matrix_factorization import sensitivity, toeplitz
samples, allocated, (n, separation, times) = json.loads(sys.argv[1])
out = {}
for name, (sigma, batches, delta, epsilon) in allocated.items():
    start = time.process_time()
    strategy = batch_selection.BallsInBinsSampling(iterations=batches, cycle_length=batches)
    losses = sample_generation.get_privacy_loss_sample(strategy, sigma, np.ones(1), 7, True, samples)[0]
    parts = -np.expm1(np.minimum(epsilon - np.asarray(losses), 0.0))
    proven = delta_calculation.get_overall_delta(samples, max(float(parts.mean()), 1e-12))
    out[name] = [float(parts.mean()), float(parts.std() / samples**0.5), proven, time.process_time() - start]
start = time.process_time()
coefficients = toeplitz.optimal_max_error_strategy_coefs(n)
value = float(toeplitz.minsep_sensitivity_squared(coefficients, separation, times, n)) ** 0.5
out["matrix, Toeplitz"] = [value, time.process_time() - start]
start = time.process_time()
dense = toeplitz.materialize_lower_triangular(coefficients, n)
value = float(sensitivity.get_min_sep_sensitivity_upper_bound(dense, separation, times))
out["matrix, any"] = [value, time.process_time() - start]
print(json.dumps(out))
"""


def cell(upper: float, seconds: float, found: tuple[float | None, float] | None) -> str:
    """A peer's relative error and time, and how many times ours that is."""
    if found is None or found[0] is None:
        return "-"
    return f"{found[0] / upper - 1:+.1e}, {found[1]:.2f} s, x{found[1] / seconds:.0f}"


def plans() -> dict[str, tuple[Any, float]]:
    """What is asked, with its delta."""
    found: dict[str, tuple[Any, float]] = {}
    for name, (q, s, n, d) in FEW.items():
        found[name] = n * Subsampled(Gaussian(sigma=s), rate=q), d
    for name, (q, s, n, d) in REPLACED.items():
        found[name] = n * ReplacedSample(Gaussian(sigma=s), rate=q), d
    for name, (q, k, s, n, d) in USERS.items():
        found[name] = n * MixtureOfGaussians(sigma=s, rate=q, examples=k), d
    for name, (q, most, of, s, n, d) in CUT.items():
        found[name] = n * TruncatedSample(Gaussian(sigma=s), rate=q, most=most, of=of), d
    for name, (s, batches, d) in ALLOCATED.items():
        found[name] = Allocation(Gaussian(sigma=s), batches=batches), d
    return found


def matrix() -> MatrixMechanism:
    root = square_root_coefficients(STEPS)
    often = Cyclic(period=PERIOD, times=TIMES)
    return MatrixMechanism(toeplitz=root, steps=STEPS, noise_multiplier=10, participation=often)


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    ours = {}
    for name in plans():
        plans()[name][0].epsilon_at(delta=plans()[name][1])  # warms tables up; each of these is made anew
        plan, delta = plans()[name]
        start = time.process_time()
        ends = plan.epsilon_bounds(delta=delta)
        ours[name] = (*ends, time.process_time() - start)
    grid = run_peer(peer_python("dp-accounting", "dp-accounting==0.6.0"), DP_ACCOUNTING, FEW, REPLACED, USERS, CUT)
    prv = run_peer(peer_python("prv", "prv-accountant==0.2.0"), PRV, FEW)
    drawn = {name: (*what, ours[name][1]) for name, what in ALLOCATED.items()}
    python = peer_python("jax-privacy", "jax-privacy==2.0.0", "dp-accounting==0.6.0")
    jax = run_peer(python, JAX, samples, drawn, (STEPS, PERIOD, TIMES))
    print("| | epsilon | width | ms | PLD 1e-4 | PLD 1e-5 | PRV |\n|---|---|---|---|---|---|---|")
    for name, (lower, upper, seconds) in ours.items():
        peers = (grid.get(f"{name} 1e-04"), grid.get(f"{name} 1e-05"), prv.get(name))
        cells = " | ".join(cell(upper, seconds, one) for one in peers)
        print(f"| {name} | {upper:.8g} | {(upper - lower) / upper:.0e} | {1e3 * seconds:.1f} | {cells} |")
    for name, (_, batches, delta) in ALLOCATED.items():
        mean, error, proven, took = jax[name]
        print(f"Monte Carlo of jax-privacy, {name}, {samples} samples: delta {mean:.1e} +- {error:.0e} where it is")
        print(f"{delta:.0e}; proven {proven:.0e}; {took:.1f} s, x{took / ours[name][2]:.0f}; {batches} steps")
    start = time.process_time()
    found = matrix()
    seconds = time.process_time() - start
    kind = "exact" if found.is_exact else "at most"
    print(f"sensitivity of a matrix of {STEPS} steps, {kind} {found.sensitivity!r}: {1e3 * seconds:.0f} ms")
    for name in ("matrix, Toeplitz", "matrix, any"):
        value, took = jax[name]
        print(f"jax-privacy, {name}: {value!r}, {took:.2f} s, x{took / seconds:.0f}")


if __name__ == "__main__":
    main()
