"""Programs that spend are killed with kill -9 at random moments, and what they were told is held against the ledger.

A process of its own, so that forking is safe: `python kills.py ADDRESS KILLS SEED [FLAG]`. Each worker releases keys
that all workers share, with bytes that differ from draw to draw, and tells over a pipe what it was answered. Prints
JSON.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time

from zcdp import Laplace
from zcdp.ledger import Ledger, LedgerError

WORKERS = 3
MECHANISMS = [Laplace(epsilon=f"0.{n:02}") for n in range(1, 10)]
for one in MECHANISMS:
    assert one.rho


def work(address: str, start: int, pipe: int) -> None:
    """Release key after key; a line is written only after the ledger acknowledged."""
    with Ledger(address) as ledger:
        for n in range(start, start + 10**6):
            mechanism = MECHANISMS[n % len(MECHANISMS)]
            while True:
                try:
                    data = ledger.release("census", mechanism, lambda: os.urandom(40).hex().encode(), key=f"key {n}")
                    break
                except LedgerError:  # the server is down: a retry with the same key is safe
                    time.sleep(0.02)
            os.write(pipe, b"%d %b\n" % (n, data))


class Worker:
    def __init__(self, address: str, start: int) -> None:
        self.out, inner = os.pipe()
        self.rest = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.out)
            try:
                work(address, start, inner)
            finally:
                os._exit(1)
        os.close(inner)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def lines(self) -> list[tuple[int, str]]:
        """What it was told so far; a line cut short by the kill was not acknowledged to anybody."""
        while select.select([self.out], [], [], 0)[0]:
            block = os.read(self.out, 65536)
            if not block:
                break
            self.rest += block
        *whole, self.rest = self.rest.split(b"\n")
        return [(int(line.split()[0]), line.split()[1].decode()) for line in whole]


def run(address: str, kills: int, seed: int, flag: str | None = None) -> dict[str, object]:
    chance = random.Random(seed)
    with Ledger(address) as ledger:
        ledger.open_account("census", unit="person", rho=10**6)
    told: dict[int, str] = {}
    answers, two_answers, highest = 0, 0, 0

    def hear(worker: Worker) -> None:
        nonlocal answers, two_answers, highest
        for n, data in worker.lines():
            answers += 1
            two_answers += told.setdefault(n, data) != data
            highest = max(highest, n)

    workers = [Worker(address, 0) for _ in range(WORKERS)]
    killed = 0
    while killed < kills or (flag and not os.path.exists(flag)):  # the flag: the server was killed often enough
        killed += 1
        time.sleep(chance.uniform(0.002, 0.05))
        victim = chance.randrange(WORKERS)
        workers[victim].kill()
        for worker in workers:
            hear(worker)
        os.close(workers[victim].out)
        # the next one begins a little before the last that was heard of, so that keys are met again
        workers[victim] = Worker(address, max(0, highest - chance.randrange(6)))
    for worker in workers:
        worker.kill()
        hear(worker)
        os.close(worker.out)
    return {"killed": killed, "answers": answers, "keys": len(told), "two_answers": two_answers, **judge(address, told)}


def judge(address: str, told: dict[int, str]) -> dict[str, object]:
    with Ledger(address) as ledger:
        debits: dict[str, int] = {}
        for entry in ledger.history("census"):
            if entry.kind == "spend":
                debits[entry.key] = debits.get(entry.key, 0) + 1
        lost = sum(ledger.sealed("census", f"key {n}") != data.encode() for n, data in told.items())
        return {
            "debits": len(debits),
            "two_debits": sum(count > 1 for count in debits.values()),
            "lost": lost + sum(f"key {n}" not in debits for n in told),
            "findings": list(ledger.verify().findings),
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])))
