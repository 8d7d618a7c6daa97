"""Speed of the exact samplers, as ratios of processor time: numpy's insecure generators, OpenDP, diffprivlib, bits.

Run with `python benchmarks/samplers.py`. numpy draws the same law in double precision from PCG64, as one writes it.
"""

from __future__ import annotations

import ssl
import sys
import tracemalloc
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from flint import arb
from peers import peer_python, run_peer

from zcdp import RAPPOR, DiscreteLaplace, ExponentialMechanism, Laplace, RandomizedResponse
from zcdp.samplers.selection_draws import PermuteAndFlip

N = 1_000_000
GRID = 2.0**-20
rng = np.random.default_rng()


class Case(NamedTuple):
    name: str
    count: int  # draws, reports or selections in one call
    ours: Callable[[], Any]
    numpy: Callable[[], Any]


def discrete_laplace(scale: int) -> Case:
    m = DiscreteLaplace(scale=scale)
    return Case(
        f"discrete Laplace, scale {scale if scale < 2**40 else '2^40'}",
        N,
        lambda: m.sample(N),
        lambda: np.rint(rng.laplace(0, scale, N)).astype(np.int64),
    )


def response(k: int) -> Case:
    m = RandomizedResponse(epsilon=1, k=k)
    values = rng.integers(0, k, N, dtype=np.int16)
    keep = np.expm1(1) / (np.expm1(1) + k)

    def insecure() -> Any:
        return np.where(rng.random(N, dtype=np.float32) < keep, values, rng.integers(0, k, N, dtype=np.int16))

    return Case(f"k-RR, k = {k}", N, lambda: m.release(values), insecure)


def rappor(d: int) -> Case:
    m, count = RAPPOR(epsilon=1), 50_000
    values = rng.integers(0, d, count)
    flip = 1 / (1 + np.exp(0.5))

    def insecure() -> Any:
        bits = rng.random((count, d), dtype=np.float32) < flip
        bits[np.arange(count), values] ^= True
        return np.packbits(bits, axis=1)

    return Case(f"RAPPOR, d = {d}", count, lambda: m.release(values, d=d), insecure)


def laplace() -> Case:
    m, values = Laplace(scale=2), rng.normal(size=N)
    return Case(
        "Laplace, grid 2^-20",
        N,
        lambda: m.release(values, grid=GRID),
        lambda: np.rint((values + rng.laplace(0, 2, N)) / GRID) * GRID,
    )


def selections(n: int) -> list[Case]:
    scores = rng.normal(size=n) * 10
    given = scores.tolist() if n == 10 else scores  # ten candidates come as a list
    m, flip = ExponentialMechanism(epsilon=1), PermuteAndFlip(lambda: arb(1) / 2)

    def gumbel() -> Any:
        return int(np.argmax(scores / 2 + rng.gumbel(size=n)))

    def exponential() -> Any:
        return int(np.argmax(scores / 2 + rng.exponential(size=n)))

    return [
        Case(f"exponential mechanism, {n}", 1, lambda: m.release(given, sensitivity=1), gumbel),
        Case(f"permute-and-flip, {n}", 1, lambda: flip.select(given), exponential),
    ]


OPENDP = """
import json, sys, time
import opendp.prelude as dp
dp.enable_features("contrib", "honest-but-curious")
def rate(run, count):
    run(); best = 1e9
    for _ in range(3):
        start = time.process_time(); run(); best = min(best, time.process_time() - start)
    return count / best
result = {}
for name, scale in (("2", 2.0), ("1000", 1000.0), ("2^40", 2.0**40)):
    m = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=scale)
    result[f"discrete Laplace, scale {name}"] = rate(lambda: m([0] * 10000), 10000)
space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=10000), dp.l1_distance(T=float)
m = dp.m.make_laplace(*space, scale=2.0, k=-20)
result["Laplace, grid 2^-20"] = rate(lambda: m([0.0] * 10000), 10000)
for k in (4, 1024):
    m = dp.m.make_randomized_response(list(range(k)), prob=0.5)
    result[f"k-RR, k = {k}"] = rate(lambda: [m(1) for _ in range(300)], 300)
for d in (128, 1024):
    try:
        m = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
        row = bytes([128] + [0] * (d // 8 - 1))
        result[f"RAPPOR, d = {d}"] = rate(lambda: [m(row) for _ in range(200)], 200)
    except Exception as error:
        print(error, file=sys.stderr)
for n in (10, 1000, 10**6):
    scores = [float(i % 97) for i in range(n)]
    for name, measure in (("exponential mechanism", "max_divergence"), ("permute-and-flip", "max_divergence")):
        try:
            space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
            output = dp.zero_concentrated_divergence() if name == "exponential mechanism" else dp.max_divergence()
            m = dp.m.make_noisy_max(*space, output, scale=2.0)
            result[f"{name}, {n}"] = rate(lambda: m(scores), 1)
        except Exception as error:
            print(error, file=sys.stderr)
print(json.dumps(result))
"""

DIFFPRIVLIB = """
import json, time, warnings
warnings.simplefilter("ignore")
from diffprivlib.mechanisms import Geometric, Laplace, Exponential, PermuteAndFlip
def rate(run, count):
    run(); best = 1e9
    for _ in range(3):
        start = time.process_time(); run(); best = min(best, time.process_time() - start)
    return count / best
result = {}
for name, scale in (("2", 2), ("1000", 1000), ("2^40", 2**40)):
    m = Geometric(epsilon=1 / scale, sensitivity=1)
    result[f"discrete Laplace, scale {name}"] = rate(lambda: [m.randomise(0) for _ in range(5000)], 5000)
m = Laplace(epsilon=0.5, sensitivity=1)
result["Laplace, grid 2^-20"] = rate(lambda: [m.randomise(0.0) for _ in range(5000)], 5000)
for n in (10, 1000, 10**6):
    scores = [float(i % 97) for i in range(n)]
    for name, kind in (("exponential mechanism", Exponential), ("permute-and-flip", PermuteAndFlip)):
        if n == 10**6 and name == "permute-and-flip":
            continue  # hours
        result[f"{name}, {n}"] = rate(lambda: kind(epsilon=1, sensitivity=1, utility=scores).randomise(), 1)
print(json.dumps(result))
"""


def seconds(run: Callable[[], Any], at_least: float = 0.02) -> float:
    start = process_time()
    run()
    number = max(1, int(at_least / (process_time() - start)))
    start = process_time()
    for _ in range(number):
        run()
    return (process_time() - start) / number


def memory(run: Callable[[], Any]) -> int:
    """Bytes at the peak beyond what is returned."""
    run()
    tracemalloc.start()
    result = run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - int(getattr(result, "nbytes", 0))


def times(ratio: float | None) -> str:
    return f"{ratio:10,.1f}x" if ratio else f"{'-':>11}"


def main() -> None:
    cases = [
        *(discrete_laplace(scale) for scale in (2, 1000, 2**40)),
        *(response(k) for k in (4, 1024)),
        *(rappor(d) for d in (128, 1024)),
        laplace(),
        *(case for n in (10, 1000, 10**6) for case in selections(n)),
    ]
    peers = []
    for name, code, requirements in (
        ("opendp", OPENDP, ("opendp==0.16.0", "numpy")),
        ("diffprivlib", DIFFPRIVLIB, ("diffprivlib==0.6.6", "scikit-learn<1.7")),
    ):
        if "--no-peers" in sys.argv:
            peers.append({})
        else:
            peers.append(run_peer(peer_python(name, *requirements), code))
    print(f"{'':30} {'zcdp/s':>14} {'numpy':>11} {'OpenDP':>11} {'diffprivlib':>11} {'memory':>10}")
    for case in cases:
        rounds = [(seconds(case.ours), seconds(case.numpy)) for _ in range(9)]
        ours, insecure = (min(column) for column in zip(*rounds, strict=True))
        rate = case.count / ours
        ratios = [rate / peer[case.name] if case.name in peer else None for peer in peers]
        print(
            f"{case.name:30} {rate:14,.0f} {times(insecure / ours)} {times(ratios[0])} {times(ratios[1])} "
            f"{memory(case.ours) / 2**20:7.2f} MB"
        )
    bits = min(seconds(lambda: ssl.RAND_bytes(1 << 16)) for _ in range(9)) / (1 << 16)
    print(f"{'secure bits':30} {1 / bits:14,.0f} bytes a second; 16 bits a draw make {0.5 / bits:,.0f} draws")
    print("one value at a time:")
    real, small, large = Laplace(scale=2), DiscreteLaplace(scale=2), DiscreteLaplace(scale=2**40)
    truth, report, choose = RandomizedResponse(epsilon=1, k=1024), RAPPOR(epsilon=1), ExponentialMechanism(epsilon=1)
    singles: dict[str, Callable[[], Any]] = {
        "Laplace": lambda: real.release(41.3),
        "discrete Laplace, scale 2": lambda: small.release(41),
        "discrete Laplace, scale 2^40": lambda: large.release(41),
        "k-RR, k = 1024": lambda: truth.release(41),
        "RAPPOR, d = 128": lambda: report.release(41, d=128),
        "exponential mechanism, 3": lambda: choose.release([1, 2, 3], sensitivity=1),
    }
    for name, run in singles.items():
        print(f"  {name:28} {min(seconds(run) for _ in range(9)) * 1e6:8.2f} us")


if __name__ == "__main__":
    main()
