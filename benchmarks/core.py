"""Speed and truth of the exact core against dp-accounting's RDP accountant, in one run, as ratios of processor time.

Run with `make bench` or `python benchmarks/core.py`.
"""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from time import process_time
from timeit import repeat

from peers import peer_python, run_peer

from zcdp import Laplace, Mechanism, RandomizedResponse

# 4-RR of parameter q keeps with probability 1 - q and else draws uniformly: e^epsilon = 1 + 4 (1-q)/q
NOISE = 0.5
RESPONSE = RandomizedResponse.from_probability(Fraction(1) - Fraction(NOISE) * Fraction(3, 4), 4)

PEER_SPEED = """
import json, time, timeit
import numpy as np
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.rdp import RdpAccountant
replace = NeighboringRelation.REPLACE_ONE
events = {"Laplace": dp_event.LaplaceDpEvent(1.0), "4-RR": dp_event.RandomizedResponseDpEvent(0.5, 4)}
result = {}
for name, event in events.items():
    for label, orders in (("curve", None), ("one order", [2.5])):
        run = lambda: RdpAccountant(orders, replace).compose(event)
        result[f"{name}, {label}"] = min(timeit.repeat(run, number=20, repeat=7, timer=time.process_time)) / 20
print(json.dumps(result))
"""

PEER_VALUES = """
import json, sys, warnings
warnings.simplefilter("ignore")
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.rdp import RdpAccountant
[points] = json.loads(sys.argv[1])
values = []
for kind, parameter, k, order in points:
    laplace = kind == "laplace"
    event = dp_event.LaplaceDpEvent(1 / parameter) if laplace else dp_event.RandomizedResponseDpEvent(parameter, k)
    try:
        accountant = RdpAccountant([order], NeighboringRelation.REPLACE_ONE).compose(event)
        values.append(float(accountant._rdp[0]))
    except Exception:
        values.append(None)
print(json.dumps(values))
"""


def seconds(statement: str, number: int = 200, **names: object) -> float:
    return min(repeat(statement, globals={**globals(), **names}, number=number, repeat=7, timer=process_time)) / number


def speed(python: object) -> None:
    peer = run_peer(python, PEER_SPEED)
    ours = {
        "Laplace": ("Laplace(epsilon=1).rho", "Laplace(epsilon=1).rdp(2.5)"),
        "4-RR": (
            "RandomizedResponse(epsilon=epsilon, k=4).rho",
            "RandomizedResponse(epsilon=epsilon, k=4).rdp(2.5)",
        ),
    }
    print(f"{'construct and evaluate':28} {'zcdp':>10} {'dp-accounting':>14} {'ratio':>7}")
    for name, (rho, rdp) in ours.items():
        for label, statement, peer_label in ((", rho", rho, "curve"), (", rdp(2.5)", rdp, "one order")):
            mine, theirs = seconds(statement, epsilon=RESPONSE.epsilon), peer[f"{name}, {peer_label}"]
            print(f"{name + label:28} {mine * 1e6:8.1f}us {theirs * 1e6:12.1f}us {theirs / mine:6.1f}x")
    mine, theirs = seconds("m.rdp(2.5)", m=Laplace(epsilon=1)), peer["Laplace, one order"]
    print(f"{'Laplace, one order more':28} {mine * 1e6:8.1f}us {theirs * 1e6:12.1f}us {theirs / mine:6.1f}x")
    for statement in (
        "RandomizedResponse(epsilon=1, k=2925).rho",
        "Laplace.calibrate(rho=0.1)",
        "Laplace(epsilon=1).search_rho(1e-10)",
    ):
        print(f"{statement:38} {seconds(statement, 20) * 1e6:8.1f}us")


def lower_truth(m: Mechanism, order: float) -> float:
    """Two units in the last place below our certified upper value: not above the truth."""
    return m.rdp(order) * (1 - 5e-16)


def truth(python: object) -> None:
    grid = [10.0**n for n in range(-12, 4)]
    excesses = [10.0**n for n in range(-9, 7)]
    points: list[tuple[str, float, int, float]] = []
    mechanisms: list[Mechanism] = []
    for epsilon in grid:
        for excess in excesses:
            points.append(("laplace", epsilon, 0, 1 + excess))
            mechanisms.append(Laplace(epsilon=1 / Fraction(1 / epsilon)))
            for k in (4, 10**3, 10**9):
                q = k / (2.718281828459045**epsilon - 1 + k) if epsilon < 600 else 0.0
                if 0 < q < 1:
                    keep = 1 - Fraction(q) * (k - 1) / k
                    points.append(("k-RR", q, k, 1 + excess))
                    mechanisms.append(RandomizedResponse.from_probability(keep, k))
    values = run_peer(python, PEER_VALUES, points)
    for kind in ("laplace", "k-RR"):
        rows = [
            (value, m.rdp(point[3]) if value is None else lower_truth(m, point[3]))
            for point, m, value in zip(points, mechanisms, values, strict=True)
            if point[0] == kind
        ]
        below = sum(value is not None and value < exact * (1 - 1e-9) for value, exact in rows)
        negative = sum(value is not None and value < 0 for value, _ in rows)
        print(
            f"dp-accounting's RDP, {kind:8}: {below / len(rows):5.1%} of {len(rows)} points below the truth "
            f"by more than 1e-9, {negative / len(rows):5.1%} negative"
        )


def import_time() -> None:
    code = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"

    def best(module: str) -> float:
        command = [sys.executable, "-c", code.format(module)]
        return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(7))

    print(f"import zcdp {best('zcdp') * 1e3:.0f} ms, of which flint {best('flint') * 1e3:.0f} ms; numpy only when used")


if __name__ == "__main__":
    dp_accounting = peer_python("dp-accounting", "dp-accounting==0.6.0")
    speed(dp_accounting)
    truth(dp_accounting)
    import_time()
