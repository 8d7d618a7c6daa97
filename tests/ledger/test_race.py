"""Eight processes to the last unit: exactly what fits is admitted, every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ledger.server import Server

from zcdp import Laplace
from zcdp.ledger import BudgetExceeded, Ledger, LedgerBusy

SCRIPT = Path(__file__).parent / "race.py"


def raced(address: str, repeats: int) -> None:
    command = [sys.executable, str(SCRIPT), address, str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {"admitted": [5], "spent": ["1"], "findings": []}


def test_a_race_on_sqlite(tmp_path: Path) -> None:
    raced(str(tmp_path / "budget.db"), 10)


def test_a_race_on_postgres(server: Server) -> None:
    raced(server.fresh(), 5)


@pytest.mark.deep
def test_two_hundred_races_on_sqlite(tmp_path: Path) -> None:
    raced(str(tmp_path / "budget.db"), 200)


@pytest.mark.deep
def test_two_hundred_races_on_postgres(server: Server) -> None:
    raced(server.fresh(), 200)


def test_threads_of_one_process(ledger: Ledger) -> None:
    def spend(thread: int) -> int:
        admitted = 0
        for n in range(5):
            try:
                ledger.spend("census", rho="0.05", key=f"{thread}/{n}")
                admitted += 1
            except BudgetExceeded:
                pass
        return admitted

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 20
    assert ledger.remaining("census") == 0
    assert ledger.verify()


def test_two_draws_and_one_answer(ledger: Ledger, address: str) -> None:
    """Two runners of one release draw at the same time: both hand out what was sealed first."""
    both = threading.Barrier(2)

    def run(name: bytes) -> bytes:
        def draw() -> bytes:
            both.wait(60)
            return name

        with Ledger(address) as mine:
            return mine.release("census", Laplace(epsilon="0.1"), draw, key="r")

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(run, [b"one", b"two"])
    assert first == second
    assert ledger.verify()


def test_a_busy_ledger_is_waited_for_and_then_a_clear_error(ledger: Ledger, address: str) -> None:
    hold, held = threading.Event(), threading.Event()

    def holder() -> None:
        if address.startswith("postgresql"):
            import psycopg

            with psycopg.connect(address) as connection:
                connection.execute("SELECT * FROM zcdp_ledger.ledger FOR UPDATE")
                held.set()
                hold.wait(60)
        else:
            import sqlite3

            connection = sqlite3.connect(address, isolation_level=None)
            connection.execute("BEGIN IMMEDIATE")
            held.set()
            hold.wait(60)
            connection.close()

    thread = threading.Thread(target=holder)
    thread.start()
    held.wait(60)
    try:
        with (
            Ledger(address, timeout=0.2) as other,
            pytest.raises(LedgerBusy, match=r"in use by another program \(waited"),
        ):
            other.spend("census", rho="0.1", key="a")
        patient = threading.Timer(0.3, hold.set)
        patient.start()
        ledger.spend("census", rho="0.1", key="b")  # waits, and goes on
    finally:
        hold.set()
        thread.join()
    assert [entry.key for entry in ledger.history("census") if entry.kind == "spend"] == ["b"]


def test_after_a_fork_parent_and_child_go_on(address: str) -> None:
    """In a process of its own, as forking one with threads is not allowed."""
    code = f"""
import os, threading
from zcdp.ledger import Ledger
ledger = Ledger({address!r})
ledger.open_account("census", unit="person", rho=1)
ledger.spend("census", rho="0.1", key="before")
held, go = threading.Event(), threading.Event()
def hold():
    with ledger._store._lock:
        held.set()
        go.wait(60)
threading.Thread(target=hold).start()  # the child has no such thread, and must not wait for it
held.wait(60)
child = os.fork()
go.set()
for n in range(20):
    ledger.spend("census", rho="0.01", key=f"{{bool(child)}} {{n}}")
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert ledger.remaining("census") == ledger.account("census").budget / 2, ledger.remaining("census")
assert ledger.verify(), ledger.verify()
"""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
