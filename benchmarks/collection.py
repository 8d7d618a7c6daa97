"""Randomize and aggregate, beside pure-ldp and multi-freq-ldpy in environments of their own; one run, as ratios.

The peers work report by report, so they get fewer of them and their time is taken per report.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from peers import peer_python, run_peer

import zcdp

REPORTS, FEWER = 1_000_000, 4_000
CASES: list[tuple[str, int]] = [("k-RR", 4), ("k-RR", 1024), ("RAPPOR", 128), ("RAPPOR", 1024)]

PURE = """
import json, sys, time
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
kind, k, n = json.loads(sys.argv[1])
client, server = ((DEClient(1, k), DEServer(1, k)) if kind == "k-RR" else (UEClient(1, k), UEServer(1, k)))
start = time.perf_counter()
reports = [client.privatise(i % k + 1) for i in range(n)]
middle = time.perf_counter()
for report in reports:
    server.aggregate(report)
print(json.dumps([(middle - start) / n, (time.perf_counter() - middle) / n]))
"""

MULTI = """
import json, sys, time
import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client, GRR_Aggregator_MI
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client, UE_Aggregator_MI
kind, k, n = json.loads(sys.argv[1])
make, add = ((lambda v: GRR_Client(v, k, 1.0), lambda r: GRR_Aggregator_MI(r, k, 1.0)) if kind == "k-RR"
             else (lambda v: UE_Client(v, k, 1.0, False), lambda r: UE_Aggregator_MI(r, 1.0, False)))
make(0), add([make(i % k) for i in range(10)])
start = time.perf_counter()
reports = [make(i % k) for i in range(n)]
middle = time.perf_counter()
add(reports)
print(json.dumps([(middle - start) / n, (time.perf_counter() - middle) / n]))
"""


def best(run: Any, times: int = 3) -> float:
    spent = []
    for _ in range(times):
        start = perf_counter()
        run()
        spent.append(perf_counter() - start)
    return min(spent)


def ours(kind: str, k: int) -> list[float]:
    """Seconds per report to randomize, and to count and estimate."""
    m: Any = zcdp.RandomizedResponse(epsilon=1, k=k) if kind == "k-RR" else zcdp.RAPPOR(epsilon=1)
    needs = {} if kind == "k-RR" else {"d": k}
    values = (np.arange(REPORTS) % k).astype(np.int16)
    reports = m.release(values, **needs)
    randomize = best(lambda: m.release(values, **needs))
    return [randomize / REPORTS, best(lambda: m.estimate(m.count(reports, k=k)).frequencies) / REPORTS]


def main() -> None:
    peers = {
        "pure-ldp": (peer_python("pure-ldp", "pure-ldp", "scikit-learn", "statsmodels"), PURE),
        "multi-freq-ldpy": (peer_python("multi-freq-ldpy", "multi-freq-ldpy"), MULTI),
    }
    print(f"{'':14}{'':18}{'randomize':>14}{'aggregate':>14}   (ns a report; the peers' over ours)")
    for kind, k in CASES:
        mine = ours(kind, k)
        print(f"{kind:8}{k:6}{'zcdp':>18}" + "".join(f"{1e9 * one:14.1f}" for one in mine))
        for name, (python, code) in peers.items():
            theirs = run_peer(python, code, kind, k, FEWER)
            shown = "".join(f"{1e9 * one:10.0f} {one / own:5.0f}x" for one, own in zip(theirs, mine, strict=True))
            print(f"{'':14}{name:>18}{shown}")
    m = zcdp.LinearHashing(epsilon=2, g=3, k=100_000)
    reports = m.release(np.arange(REPORTS) % 1000)
    print(f"linear hashing, {REPORTS} reports, k = 100000: decoded in {best(lambda: m.count(reports)):.3f} s")


if __name__ == "__main__":
    main()
