"""DP-SGD against dp-accounting (PLD and RDP) and prv-accountant, in one run, in CPU seconds.

Run with `python benchmarks/sampling.py`; the peers live in environments of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from peers import peer_python, run_peer

from zcdp import Gaussian, Plan, Subsampled, calibrate

CASES = {  # rate, sigma, steps, delta
    "A": ("0.01", "1", 10**4, "1e-5"),
    "B": ("0.01", "1", 10**4, "1e-6"),
    "D": ("0.5", "1", 100, "1e-5"),
    "H": ("0.001", "0.8", 10**5, "1e-8"),
    "J": ("32/7500", "1.1", 14100, "1e-5"),
}

PEER = """
import json, time, warnings
warnings.simplefilter("ignore")
from fractions import Fraction
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from dp_accounting.pld import privacy_loss_distribution as pld
cases, out = CASES, {}
def clock(name, run):
    start = time.process_time(); value = run(); out[name] = [value, time.process_time() - start]
for name, (q, s, n, d) in cases.items():
    q, s, d = float(Fraction(q)), float(s), float(d)
    def grid(h):
        one = pld.from_gaussian_mechanism(s, sampling_prob=q, value_discretization_interval=h)
        return one.self_compose(n).get_epsilon_for_delta(d)
    clock(name + " PLD 1e-4", lambda: grid(1e-4))
    clock(name + " PLD 1e-5", lambda: grid(1e-5))
    event = dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(s))
    clock(name + " RDP", lambda: RdpAccountant().compose(event, n).get_epsilon(d))
print(json.dumps(out))
"""

PRV = """
import json, time, warnings
warnings.simplefilter("ignore")
from fractions import Fraction
from prv_accountant import PRVAccountant, PoissonSubsampledGaussianMechanism
cases, out = CASES, {}
for name, (q, s, n, d) in cases.items():
    start = time.process_time()
    try:
        mechanism = PoissonSubsampledGaussianMechanism(float(Fraction(q)), float(s))
        accountant = PRVAccountant(mechanism, max_self_compositions=n, eps_error=0.01, delta_error=float(d) / 1000)
        value = accountant.compute_epsilon(float(d), n)[2]
    except Exception as error:
        value = None
    out[name + " PRV"] = [value, time.process_time() - start]
print(json.dumps(out))
"""


def timed(run: Callable[[], Any], repeat: int = 5) -> tuple[Any, float]:
    """The value, and the least CPU time; the first run warms tables up."""
    run()
    times = []
    for _ in range(repeat):
        start = time.process_time()
        value = run()
        times.append(time.process_time() - start)
    return value, min(times)


def plan(rate: str, sigma: object, steps: int) -> Plan:
    return steps * Subsampled(Gaussian(sigma=sigma), rate=rate)


def main() -> None:
    peers = run_peer(peer_python("dp-accounting", "dp-accounting==0.6.0"), PEER.replace("CASES", repr(CASES)))
    try:
        peers |= run_peer(peer_python("prv", "prv-accountant==0.2.0"), PRV.replace("CASES", repr(CASES)))
    except Exception as error:
        print(f"prv-accountant is left out: {error}")
    print("| case | epsilon | ms | " + " | ".join(("PLD 1e-4", "PLD 1e-5", "RDP", "PRV")) + " |")
    for name, (rate, sigma, steps, delta) in CASES.items():
        (lower, upper), seconds = timed(lambda: plan(rate, sigma, steps).epsilon_bounds(delta=delta))  # noqa: B023
        cells = []
        for method in ("PLD 1e-4", "PLD 1e-5", "RDP", "PRV"):
            value, took = peers.get(f"{name} {method}", (None, 0.0))
            error = "-" if value is None else f"{value / upper - 1:+.1e}"
            cells.append(f"{error}, {took:.2f} s, x{took / seconds:.0f}")
        print(f"| {name} | {upper!r} (width {upper - lower:.0e}) | {1e3 * seconds:.1f} | " + " | ".join(cells) + " |")
    for steps in (10**3, 10**5, 10**7):
        _, seconds = timed(lambda: plan("0.001", "1", steps).epsilon_at(delta="1e-6"))  # noqa: B023
        print(f"{steps} steps: {1e3 * seconds:.1f} ms")
    sigma, seconds = timed(lambda: calibrate(lambda s: plan("0.01", s, 10_000), epsilon=1, delta="1e-5"), 3)
    print(f"calibration: sigma {sigma!r} in {seconds:.3f} s")

    def schedule() -> float:
        levels = (500 * Subsampled(Gaussian(sigma=Fraction(20 + n, 20)), rate="0.01") for n in range(20))
        return Plan.sum_of(*levels).epsilon_at(delta="1e-5")

    print("schedule of 20 noise levels: epsilon {!r} in {:.3f} s".format(*timed(schedule, 3)))


if __name__ == "__main__":
    main()
