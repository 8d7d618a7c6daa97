"""Composition to (epsilon, delta) against dp-accounting and prv-accountant, in one run, in CPU seconds.

Run with `python benchmarks/accounting.py`; the peers live in environments of their own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from peers import peer_python, run_peer

from zcdp import (
    RAPPOR,
    DiscreteLaplace,
    ExponentialMechanism,
    Filter,
    Laplace,
    RandomizedResponse,
    calibrate,
)

# exact epsilon at delta = 1e-6, enclosed by an independent 700-bit finite sum and by the contour
EXACT = {"a": 18.95028736753956, "b": 19.38166735359380}

PEER_PLD = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from dp_accounting.pld import common, privacy_loss_distribution as pld
from dp_accounting import dp_event, NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from dp_accounting.pld import PLDAccountant
out = {}
def clock(name, run):
    start = time.process_time(); value = run(); out[name] = [value, time.process_time() - start]
def laplace(epsilon, count, grid):
    one = lambda: pld.from_laplace_mechanism(1 / epsilon, value_discretization_interval=grid)
    return lambda: one().self_compose(count).get_epsilon_for_delta(1e-6)
clock("a 1e-4", laplace(.1, 1000, 1e-4))
clock("b 1e-4", laplace(.01, 100000, 1e-4))
def rdp(epsilon, count):
    event = dp_event.LaplaceDpEvent(1 / epsilon)
    replace = NeighboringRelation.REPLACE_ONE
    return lambda: RdpAccountant(neighboring_relation=replace).compose(event, count).get_epsilon(1e-6)
clock("a rdp", rdp(.1, 1000))
clock("b rdp", rdp(.01, 100000))
def mix():
    total = None
    for epsilon in np.linspace(.005, .1, 20):
        e = float(epsilon)
        four = 4 / (np.exp(e) + 3)
        flip = 2 / (np.exp(e / 2) + 1)
        for one in (pld.from_laplace_mechanism(1 / e), pld.from_randomized_response(four, 4),
                    pld.from_privacy_parameters(common.DifferentialPrivacyParameters(e, 0)),
                    pld.from_randomized_response(flip, 2).self_compose(2)):
            many = one.self_compose(25)
            total = many if total is None else total.compose(many)
    return total.get_epsilon_for_delta(1e-6)
clock("c 1e-4", mix)
def tiny(delta):
    one = lambda: pld.from_laplace_mechanism(10, value_discretization_interval=1e-4)
    return lambda: one().self_compose(1000).get_epsilon_for_delta(delta)
for delta in (1e-12, 1e-30, 1e-100):
    clock(f"{delta:.0e}", tiny(delta))
def separate():
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    for _ in range(100):
        accountant.compose(dp_event.LaplaceDpEvent(10.0))
    return accountant.get_epsilon(1e-6)
clock("100 separate", separate)
def scale():
    import dp_accounting
    return dp_accounting.calibrate_dp_mechanism(
        lambda: PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE),
        lambda b: dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(b), 1000), 1, 1e-6,
        dp_accounting.ExplicitBracketInterval(100, 200), tol=1e-4)
clock("calibrate", scale)
print(json.dumps({k: [None if not np.isfinite(v) else float(v), t] for k, (v, t) in out.items()}))
"""

PEER_PRV = """
import json, time, warnings
warnings.simplefilter("ignore")
from prv_accountant import PRVAccountant, LaplaceMechanism
out = {}
for name, epsilon, count in (("a", .1, 1000), ("b", .01, 100000)):
    start = time.process_time()
    accountant = PRVAccountant(
        prvs=[LaplaceMechanism(mu=epsilon)], max_self_compositions=[count], eps_error=.01, delta_error=1e-10)
    low, estimate, up = accountant.compute_epsilon(1e-6, [count])
    out[name] = [up, time.process_time() - start]
print(json.dumps(out))
"""


def clock(run: Callable[[], Any]) -> tuple[Any, float]:
    best, value = float("inf"), None
    for _ in range(3):
        start = time.process_time()
        value = run()
        best = min(best, time.process_time() - start)
    return value, best


def mix() -> Any:
    total: Any = 0
    for n in range(20):
        e = 0.005 + n * 0.005
        total += 25 * Laplace(epsilon=e) + 25 * RandomizedResponse(epsilon=e, k=4)
        total += 25 * RAPPOR(epsilon=e) + 25 * ExponentialMechanism(epsilon=e)
    return total


def different() -> Any:
    kinds = []
    for n in range(400):
        e = 0.01 + 0.0002 * n
        kinds += [
            Laplace(epsilon=e),
            DiscreteLaplace(epsilon=e * 1.01, sensitivity=3),
            RandomizedResponse(epsilon=e * 1.02, k=3 + n % 7),
            RAPPOR(epsilon=e * 1.03),
            ExponentialMechanism(epsilon=e * 1.04),
        ]
    return sum(kinds)


def separate(count: int) -> Any:
    one = Laplace(epsilon=0.1)
    total: Any = one
    for _ in range(count - 1):
        total = total + one
    return total.epsilon_at(delta=1e-6)


def in_turn(rounds: int = 60) -> tuple[float, float]:
    """CPU seconds of a thousand sums with the answer, and of the product with the answer, in turn: their medians."""
    seconds: tuple[list[float], list[float]] = ([], [])
    runs = (lambda: separate(1000), lambda: (1000 * Laplace(epsilon=0.1)).epsilon_at(delta=1e-6))
    for _ in range(rounds):
        for run, found in zip(runs, seconds, strict=True):
            start = time.process_time()
            run()
            found.append(time.process_time() - start)
    return median(seconds[0]), median(seconds[1])


def programs(rounds: int = 25) -> tuple[float, float]:
    """CPU seconds of two whole programs, the thousand sums and the product, run in turn: their medians."""
    start = "from zcdp import Laplace; one = Laplace(epsilon=0.1); total = "
    end = "; print(total.epsilon_at(delta=1e-6))"
    texts = (start + "one\nfor _ in range(999):\n total = total + one\n" + end[2:], start + "1000 * one" + end)
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for text, found in zip(texts, seconds, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", text], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(seconds[0]), median(seconds[1])


def built_anew(count: int) -> Any:
    return sum(Laplace(epsilon=0.1) for _ in range(count)).epsilon_at(delta=1e-6)  # type: ignore[union-attr]


def row(name: str, value: Any, seconds: float, peer: str = "", peer_value: Any = "", peer_seconds: float = 0.0) -> None:
    ratio = f"{peer_seconds / seconds:8.0f}x" if peer_seconds else ""
    shown = peer_value if peer_value is not None else "inf or error"
    print(f"{name:34} {value!s:>22} {seconds * 1e3:9.2f}ms  {peer:12} {shown!s:>22} {ratio}")


def main() -> None:
    Laplace(epsilon=1).epsilon_at(delta=1e-6)
    pld = run_peer(peer_python("dp-accounting", "dp-accounting==0.6.0"), PEER_PLD)
    try:
        prv = run_peer(peer_python("prv", "prv-accountant==0.2.0"), PEER_PRV)
    except subprocess.CalledProcessError as error:
        print(f"prv-accountant did not run: {error}", file=sys.stderr)
        prv = {}
    for name, build in (
        ("a", lambda: 1000 * Laplace(epsilon="0.1")),
        ("b", lambda: 100_000 * Laplace(epsilon="0.01")),
    ):
        value, seconds = clock(lambda build=build: build().epsilon_at(delta=1e-6))  # type: ignore[misc]
        row(f"({name}) epsilon at 1e-6", value, seconds, "PLD 1e-4", *pld[f"{name} 1e-4"])
        row("", "", seconds, "RDP", *pld[f"{name} rdp"])
        if name in prv:
            row("", "", seconds, "prv 0.01", *prv[name])
        ours, theirs = value / EXACT[name] - 1, abs(pld[f"{name} 1e-4"][0] / EXACT[name] - 1)
        print(f"{'':8} above the exact value by {ours:.1e} (PLD: off by {theirs:.1e})")
    value, seconds = clock(lambda: mix().epsilon_at(delta=1e-6))
    row("(c) mix of 2000", value, seconds, "PLD 1e-4", *pld["c 1e-4"])
    value, seconds = clock(lambda: different().epsilon_at(delta=1e-6))
    row("2000 all different", value, seconds)
    for delta in (1e-12, 1e-30, 1e-100):
        bounds, seconds = clock(lambda delta=delta: (1000 * Laplace(epsilon="0.1")).epsilon_bounds(delta=delta))  # type: ignore[misc]
        row(f"(a) at delta {delta:.0e}", bounds[1], seconds, "PLD 1e-4", *pld[f"{delta:.0e}"])
        print(f"{'':8} enclosed to {bounds[1] / bounds[0] - 1:.1e}")
    seconds, product = in_turn()
    row("1000 separate + of one mechanism", separate(1000), seconds)
    row("one product", (1000 * Laplace(epsilon=0.1)).epsilon_at(delta=1e-6), product)
    print(f"{'':8} the sums take {seconds / product:.2f} of the product, once all is loaded")
    sums, product = programs()
    print(f"{'':8} as programs, from start to answer: {sums:.3f} s and {product:.3f} s, {sums / product:.3f}")
    value, seconds = clock(lambda: built_anew(1000))
    row("1000 mechanisms, built and added", value, seconds)
    value, seconds = clock(lambda: separate(100))
    row("100 separate +", value, seconds, "PLD", *pld["100 separate"])
    value, seconds = clock(lambda: calibrate(lambda b: 1000 * Laplace(scale=b), epsilon=1, delta=1e-6))
    row("calibrate to (1, 1e-6)", value, seconds, "PLD 1e-4", *pld["calibrate"])
    fund, mechanism = Filter(rho=1), Laplace(epsilon=1e-4)
    start = time.process_time()
    for _ in range(10**6):
        fund.spend(mechanism)
    print(f"filter: {10**6 / (time.process_time() - start):,.0f} spends a second")


if __name__ == "__main__":
    main()
