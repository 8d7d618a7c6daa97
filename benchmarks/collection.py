"""Randomize and aggregate, beside pure-ldp and multi-freq-ldpy in environments of their own; one run, as ratios.

The peers work report by report, so they get fewer of them and their time is taken per report: of a million reports of
1024 bits one of them would need 8 GB. All times are those of the processor, ours and theirs on one core, the least of a
few runs where they can be repeated. On a busy machine ours look worse: they live on the cache and on memory.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from peers import peer_python, run_peer

import zcdp

REPORTS, FEWER = 1_000_000, 50_000
CASES: list[tuple[str, int]] = [("k-RR", 4), ("k-RR", 1024), ("RAPPOR", 128), ("RAPPOR", 1024)]

PURE = """
import json, sys, time
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
kind, k, n = json.loads(sys.argv[1])
client, server = ((DEClient(1, k), DEServer(1, k)) if kind == "k-RR" else (UEClient(1, k), UEServer(1, k)))
start = time.process_time()
reports = [client.privatise(i % k + 1) for i in range(n)]
spent, middle = [], time.process_time()
for _ in range(3):
    before = time.process_time()
    for report in reports:
        server.aggregate(report)
    spent.append(time.process_time() - before)
print(json.dumps([(middle - start) / n, min(spent) / n]))
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
start = time.process_time()
reports = [make(i % k) for i in range(n)]
spent, middle = [], time.process_time()
for _ in range(3):
    before = time.process_time()
    add(reports)
    spent.append(time.process_time() - before)
print(json.dumps([(middle - start) / n, min(spent) / n]))
"""


PACKED = """
import json, sys, time
import resource
from pathlib import Path
import numpy as np
import zcdp
from zcdp.collection.parquet import BLOCK, count_files, write_reports
folder, k = json.loads(sys.argv[1])
file, m = Path(folder) / f"{k}.parquet", zcdp.RandomizedResponse(epsilon=1, k=k)
block = m.release((np.arange(BLOCK) % k).astype(np.uint8))
write_reports(file, m, k, (block[: min(BLOCK, 10**8 - start)] for start in range(0, 10**8, BLOCK)))
start = time.process_time()
assert count_files([file], m, k).reports == 10**8
print(json.dumps([time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def best(run: Any, times: int = 5) -> float:
    spent = []
    for _ in range(times):
        start = process_time()
        run()
        spent.append(process_time() - start)
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
    for g in (3, 17):
        hashing = zcdp.LinearHashing(epsilon=2, g=g, k=100_000)
        reports = hashing.release(np.arange(REPORTS) % 1000)
        taken = best(partial(hashing.count, reports))
        print(f"linear hashing, {REPORTS} reports, k = 100000, g = {g}: decoded in {taken:.3f} s")
    with TemporaryDirectory() as folder:
        for k in (4, 256):
            taken, memory = run_peer(Path(sys.executable), PACKED, folder, k)
            print(f"10^8 packed reports of k-RR, k = {k}: counted in {taken:.3f} s, {memory:.0f} MB at most")


if __name__ == "__main__":
    main()
