"""Speed of the ledger: spends a second on SQLite and PostgreSQL, flat and four levels deep, with a million entries too.

Run with `make bench` or `python benchmarks/ledger.py`. One spend is one promise of the disk: how many of those it keeps
a second is measured beside it, as no ledger that waits for the disk can do more one by one. PostgreSQL is measured
where its server programs are installed.
"""

from __future__ import annotations

import io
import multiprocessing as mp
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "ledger"))
from server import reason, running

from zcdp import Laplace
from zcdp.ledger import Ledger

TENTH = Laplace(epsilon="0.1")
SPENDS, PROCESSES, MILLION, BATCH = 1000, 8, 10**6, 2000
DEPTH, ROUNDS = 4, 5


def disk(folder: str) -> float:
    """Promises a second: a page written and synchronised, as a commit does."""
    with open(f"{folder}/probe", "wb") as file:
        file.write(b"\0" * 4096 * 200)
        os.fsync(file.fileno())
        start = perf_counter()
        for n in range(200):
            os.pwrite(file.fileno(), b"x" * 4096, 4096 * n)
            os.fdatasync(file.fileno())
        return 200 / (perf_counter() - start)


def alone(address: str, spends: int = SPENDS, name: str = "alone") -> float:
    with Ledger(address) as ledger:
        ledger.open_account("bench", unit="person", rho=10**6)
        start = perf_counter()
        for n in range(spends):
            ledger.spend("bench", TENTH, key=f"{name} {n}")
        return spends / (perf_counter() - start)


def _client(address: str, account: str, name: str, spends: int, barrier: Any) -> None:
    with Ledger(address, timeout=300) as ledger:
        ledger.account(account)
        barrier.wait()
        for n in range(spends):
            ledger.spend(account, TENTH, key=f"{name} {n}")
        barrier.wait()


def together(address: str, spends: int = SPENDS, account: str = "bench", name: str = "client") -> float:
    context = mp.get_context("fork")
    barrier = context.Barrier(PROCESSES + 1)
    share = spends // PROCESSES
    given = [(address, account, f"{name} {n}", share, barrier) for n in range(PROCESSES)]
    clients = [context.Process(target=_client, args=one) for one in given]
    for client in clients:
        client.start()
    barrier.wait()
    start = perf_counter()
    barrier.wait()
    rate = share * PROCESSES / (perf_counter() - start)
    for client in clients:
        client.join()
    return rate


def deep(address: str) -> None:
    """A spend from an account on its own, and from one with three above it: eight clients, in turns, in one run."""
    with Ledger(address) as ledger:
        ledger.open_account("flat", unit="person", rho=10**6)
        above = None
        for level in range(DEPTH):
            above = ledger.open_account(f"level {level}", unit="person", rho=10**6, under=above).name
    rates: dict[str, list[float]] = {"flat": [], f"level {DEPTH - 1}": []}
    for turn in range(ROUNDS):
        for account, found in rates.items():
            found.append(together(address, SPENDS // 2, account, f"turn {turn}"))
    flat, far = (sorted(found)[ROUNDS // 2] for found in rates.values())
    print(f"  {'eight processes, flat':44} {flat:10.0f} spends/s")
    print(f"  {'eight processes, four levels deep':44} {far:10.0f} spends/s, {flat / far:.2f} times the cost")


def in_one(address: str) -> float:
    with Ledger(address) as ledger:
        wanted = {f"batch {n}": TENTH for n in range(SPENDS)}
        start = perf_counter()
        ledger.spend_all("bench", wanted)
        return SPENDS / (perf_counter() - start)


@contextmanager
def timed(what: str) -> Iterator[None]:
    start = perf_counter()
    yield
    print(f"  {what:44} {perf_counter() - start:10.1f} s")


def million(address: str) -> None:
    """The same spends before and after a million entries, the export, and the check of everything."""
    before = alone(address, 500, "before")
    with Ledger(address) as ledger:
        with timed(f"{MILLION:,} spends in transactions of {BATCH:,}"):
            for start in range(0, MILLION, BATCH):
                ledger.spend_all("bench", {f"fill {n}": TENTH for n in range(start, start + BATCH)}, why="a table")
        after = alone(address, 500, "after")
        print(f"  {'spends a second before and after':44} {before:10.0f} {after:10.0f}")
        with timed("export"):
            count = ledger.export(io.TextIOWrapper(open(os.devnull, "wb"), encoding="utf-8"))  # noqa: SIM115
        with timed(f"verify all {count:,} entries"):
            assert ledger.verify()


def report(name: str, address: str) -> None:
    print(name)
    print(f"  {'one process, one by one':44} {alone(address):10.0f} spends/s")
    print(f"  {'eight processes, one by one':44} {together(address):10.0f} spends/s")
    print(f"  {'a thousand in one transaction':44} {in_one(address):10.0f} spends/s")
    deep(address)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        print(f"the disk keeps {disk(folder):.0f} promises a second")
        report("SQLite, on that disk", f"{folder}/budget.db")
        if os.access("/dev/shm", os.W_OK):
            with TemporaryDirectory(dir="/dev/shm") as memory:
                report("SQLite, in memory: what is left without the disk", f"{memory}/budget.db")
                million(f"{memory}/million.db")
        if why := reason():
            print(why)
        else:
            with running(on_disk=True) as server:
                report("PostgreSQL, on that disk", server.database("bench"))
