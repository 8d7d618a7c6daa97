"""Eight processes run for the last unit of an account, time and again: `python race.py ADDRESS REPEATS`; JSON."""

from __future__ import annotations

import json
import multiprocessing as mp
import sys
from fractions import Fraction
from typing import Any

from zcdp.ledger import BudgetExceeded, Ledger

PROCESSES, UNITS, EACH = 8, 5, 2
UNIT = Fraction(1, UNITS)


def racer(address: str, number: int, repeats: int, barrier: Any, results: Any) -> None:
    admitted = [0] * repeats
    with Ledger(address, timeout=120) as ledger:
        for n in range(repeats):
            barrier.wait(300)
            for attempt in range(EACH):
                try:
                    ledger.spend(f"race {n}", rho=UNIT, key=f"{number}/{attempt}")
                    admitted[n] += 1
                except BudgetExceeded:
                    pass
    results.put(admitted)


def guarded(address: str, number: int, repeats: int, barrier: Any, results: Any) -> None:
    """One that fails ends the race for all."""
    try:
        racer(address, number, repeats, barrier, results)
    except Exception as error:
        barrier.abort()
        results.put(f"{type(error).__name__}: {error}")


def main(address: str, repeats: int) -> dict[str, object]:
    with Ledger(address) as ledger:
        for n in range(repeats):
            ledger.open_account(f"race {n}", unit="person", rho=1)
    context = mp.get_context("fork")
    barrier, results = context.Barrier(PROCESSES), context.Queue()
    racers = [context.Process(target=guarded, args=(address, n, repeats, barrier, results)) for n in range(PROCESSES)]
    for one in racers:
        one.start()
    admitted = [results.get(timeout=1200) for _ in racers]
    for one in racers:
        one.join(60)
    if failed := [one for one in admitted if isinstance(one, str)]:
        raise SystemExit(failed[0])
    with Ledger(address) as ledger:
        spent = {str(account.spent) for account in ledger.accounts()}
        return {
            "admitted": sorted({sum(column) for column in zip(*admitted, strict=True)}),
            "spent": sorted(spent),
            "findings": list(ledger.verify().findings),
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
