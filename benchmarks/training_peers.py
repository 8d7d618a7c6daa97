"""Training beyond Poisson samples beside dp-accounting, prv-accountant and jax-privacy: error and processor time.

    python benchmarks/training_peers.py [samples]

One run; each peer in an environment of its own, its clock started after its imports. Asked is epsilon at the stated
delta; the error is relative to our upper end, and our own width stands beside it. jax-privacy's Monte Carlo draws
`samples` losses (100,000 by default): its delta at our epsilon has a standard error, which is printed, and it reports
with proof only what `get_overall_delta` makes of it. A dash: the peer has no answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

FEW = {f"{n} steps at rate 1e-5": (1e-5, 1.0, n, 1e-6) for n in (1, 2, 5, 9)}
USERS = {  # rate, examples of a user, sigma, steps, delta
    "a user of 4, 1 step": (0.01, 4, 1.0, 1, 1e-5),
    "a user of 16, 1 step": (0.01, 16, 1.0, 1, 1e-5),
    "a user of 4, 1000 steps": (0.01, 4, 4.0, 1000, 1e-5),
}
ALLOCATED = {"100 batches, 1 epoch": (1.0, 100, 1, 1e-5), "100 batches, sigma 0.7": (0.7, 100, 1, 1e-5)}

DP_ACCOUNTING = """
import json, sys, time, warnings
from math import comb
warnings.simplefilter("ignore")
from dp_accounting.pld import privacy_loss_distribution as pld
few, users = json.loads(sys.argv[1])
out = {}
def clock(name, run):
    start = time.process_time(); value = run(); out[name] = [value, time.process_time() - start]
for h in (1e-4, 1e-5):
    for name, (q, s, n, d) in few.items():
        clock(f"{name} {h:.0e}", lambda: pld.from_gaussian_mechanism(
            s, sampling_prob=q, value_discretization_interval=h).self_compose(n).get_epsilon_for_delta(d))
    for name, (q, k, s, n, d) in users.items():
        chances = [comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
        if h == 1e-4:
            clock(f"{name} {h:.0e}", lambda: pld.from_mixture_gaussian_mechanism(
                s, list(range(k + 1)), chances, value_discretization_interval=h).self_compose(n).get_epsilon_for_delta(d))
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
for name, (sigma, batches, epochs, delta, epsilon) in allocated.items():
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


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """The value, and the processor time of a second run: the first warms tables up."""
    run()
    start = time.process_time()
    value = run()
    return value, time.process_time() - start


def row(name: str, ends: tuple[float, float], seconds: float, *others: str) -> None:
    lower, upper = ends
    print(
        f"| {name} | {upper:.8g} | {(upper - lower) / upper:.0e} | {1e3 * seconds:.1f} | " + " | ".join(others) + " |"
    )


def cell(upper: float, seconds: float, found: tuple[float | None, float] | None) -> str:
    if found is None or found[0] is None:
        return "-"
    return f"{found[0] / upper - 1:+.1e}, {found[1]:.2f} s, x{found[1] / seconds:.0f}"
