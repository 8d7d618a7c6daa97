"""Programs that reserve, commit, give back and spend in a tree of accounts are killed with kill -9 at random moments.

A process of its own, so that forking is safe: `python budget_kills.py ADDRESS KILLS SEED`. Each worker has keys of its
own, writes over a pipe what it begins and what it was answered, and is replaced when it is killed. At the end the
ledger must be in one of the states that are possible: each key is where the last answer left it, or one step further,
if that step had begun; and the sums of every level are those of the keys. Prints JSON.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from fractions import Fraction

from zcdp.ledger import BudgetExceeded, KeyConflict, Ledger, LedgerError, NothingReserved

WORKERS = 8
LEAVES = ["team 0", "team 1", "team 2"]
COSTS = ["1/100", "1/70", "1/33", "3/200"]
BUDGET = Fraction(40)
AFTER = {"reserve": "reserve", "commit": "spend", "release": "release", "spend": "spend"}
"""The state of a key after each step that was admitted."""


def work(address: str, number: str, seed: int, pipe: int) -> None:
    """Steps under new keys, in random order; "+" is written before a step, and "=" with its outcome after it."""
    chance, n = random.Random(seed), 0
    with Ledger(address, timeout=120) as ledger:
        while True:
            n += 1
            key, leaf, rho = f"{number}/{n}", chance.choice(LEAVES), chance.choice(COSTS)
            for step in chance.choice((["spend"], ["reserve", "commit"], ["reserve", "release"], ["reserve"])):
                os.write(pipe, f"+\t{leaf}\t{key}\t{step}\t{rho}\n".encode())
                outcome = _step(ledger, leaf, key, step, rho)
                os.write(pipe, f"=\t{leaf}\t{key}\t{step}\t{outcome}\n".encode())
                if outcome != "done":
                    break


def _step(ledger: Ledger, leaf: str, key: str, step: str, rho: str) -> str:
    try:
        if step == "spend":
            ledger.spend(leaf, rho=rho, key=key)
        elif step == "reserve":
            ledger.reserve(leaf, rho=rho, key=key, expires=3600)
        elif step == "commit":
            ledger.commit(leaf, key)
        else:
            ledger.give_back(leaf, key)
    except BudgetExceeded:
        return "refused"
    except (KeyConflict, NothingReserved, LedgerError) as error:
        return f"failed {type(error).__name__}"
    return "done"


class Worker:
    def __init__(self, address: str, number: int, seed: int) -> None:
        self.out, inner = os.pipe()
        self.rest = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.out)
            try:
                work(address, f"w{number}", seed, inner)
            finally:
                os._exit(1)
        os.close(inner)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def lines(self) -> list[list[str]]:
        while select.select([self.out], [], [], 0)[0]:
            block = os.read(self.out, 65536)
            if not block:
                break
            self.rest += block
        *whole, self.rest = self.rest.split(b"\n")
        return [line.decode().split("\t") for line in whole]


class Told:
    """What the workers said: the states that each key may be in."""

    def __init__(self) -> None:
        self.possible: dict[tuple[str, str], set[str]] = {}
        self.costs: dict[tuple[str, str], Fraction] = {}
        self.answers, self.odd = 0, []  # type: ignore[var-annotated]

    def hear(self, worker: Worker) -> None:
        for sign, leaf, key, step, more in worker.lines():
            place = (leaf, key)
            known = self.possible.setdefault(place, {"none"})
            if sign == "+":  # begun: from now on it may have been done
                self.costs[place] = Fraction(more)
                self.possible[place] = known | {AFTER[step]}
            else:
                self.answers += 1
                before = "none" if step in ("spend", "reserve") else "reserve"
                self.possible[place] = {AFTER[step]} if more == "done" else {before}
                if more not in ("done", "refused"):
                    self.odd.append(f"{key} {step} {more}")


def run(address: str, kills: int, seed: int) -> dict[str, object]:
    chance = random.Random(seed)
    with Ledger(address) as ledger:
        ledger.open_account("top", unit="person", rho=BUDGET)
        ledger.open_account("office", unit="person", rho=BUDGET, under="top")
        for leaf in LEAVES:
            ledger.open_account(leaf, unit="person", rho=BUDGET / 2, under="office")
    told, made = Told(), WORKERS
    workers = [Worker(address, n, seed + n) for n in range(WORKERS)]
    for _ in range(kills):
        time.sleep(chance.uniform(0.01, 0.12))
        victim = chance.randrange(WORKERS)
        workers[victim].kill()
        for worker in workers:
            told.hear(worker)
        os.close(workers[victim].out)
        workers[victim] = Worker(address, made, seed + made)
        made += 1
    for worker in workers:
        worker.kill()
        told.hear(worker)
        os.close(worker.out)
    return {"killed": kills, "workers": made, "answers": told.answers, "odd": told.odd, **judge(address, told)}


def judge(address: str, told: Told) -> dict[str, object]:
    time.sleep(2)  # the server ends the transactions of those that were killed
    with Ledger(address) as ledger:
        states: dict[tuple[str, str], str] = {}
        for entry in ledger.history():
            if entry.key:
                states[entry.account, entry.key] = entry.kind
        wrong = [
            f"{place}: {states.get(place, 'none')} is none of {sorted(possible)}"
            for place, possible in told.possible.items()
            if states.get(place, "none") not in possible
        ]
        unheard = [str(place) for place in states if place not in told.possible]
        sums = {"spend": Fraction(0), "reserve": Fraction(0)}
        for place, state in states.items():
            if state in sums:
                sums[state] += told.costs[place]
        top, office = ledger.account("top"), ledger.account("office")
        same = (top.spent, top.reserved) == (office.spent, office.reserved) == (sums["spend"], sums["reserve"])
        over = [one.name for one in ledger.accounts() if one.remaining < 0]
        steps = {kind: list(states.values()).count(kind) for kind in sorted(set(states.values()))}
        found = ledger.verify().findings
        return {
            "keys": len(told.possible),
            "unsure": sum(len(possible) > 1 for possible in told.possible.values()),
            "impossible": wrong,
            "unheard": unheard,
            "sums": same,
            "over": over,
            "remaining": float(top.remaining),
            "steps": steps,
            "findings": list(found),
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
