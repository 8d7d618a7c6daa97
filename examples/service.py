"""A web service in front of a ledger on PostgreSQL: counts with noise, each paid for before it is drawn.

    pip install '.[postgres]' fastapi uvicorn
    ZCDP_LEDGER=postgresql://db.example/budgets uvicorn --app-dir examples service:app --workers 4

Each worker keeps a few connections. A request takes one, and waits for one if all are busy. The ledger decides under
its own lock, so that any number of workers and machines may share it. See docs/how-to/services.md.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel

from zcdp import Gaussian, Ledger, Plan, ZcdpError
from zcdp.ledger import BudgetExceeded, LedgerBusy
from zcdp.ledger.service import metrics, told

CONNECTIONS = 4


class Pool:
    """A few ledgers, each with a connection of its own, for the threads of one worker."""

    def __init__(self, address: str, size: int = CONNECTIONS, wait: float = 30) -> None:
        self._free: SimpleQueue[Ledger] = SimpleQueue()
        self._wait = wait
        for _ in range(size):
            self._free.put(Ledger(address, timeout=wait))

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """A ledger that no other thread has, for as long as the block lasts."""
        try:
            ledger = self._free.get(timeout=self._wait)
        except Empty:
            raise LedgerBusy(f"all connections are in use (waited {self._wait:g} s): nothing was changed") from None
        try:
            yield ledger
        finally:
            self._free.put(ledger)


class Count(BaseModel):
    """A count to be published with Gaussian noise."""

    key: str
    sigma: str
    why: str = ""
    who: str = ""


class Kept(BaseModel):
    """A plan whose cost is to be kept back."""

    key: str
    plan: str
    seconds: float
    who: str = ""


def make_app(address: str) -> FastAPI:
    """The service of one ledger."""
    app, pool, refusals = FastAPI(), Pool(address), Counter[str]()

    @app.exception_handler(ZcdpError)
    def refused(_: Request, error: ZcdpError) -> JSONResponse:
        said = told(error)
        if isinstance(error, BudgetExceeded):
            refusals[said["level"]] += 1
        return JSONResponse(said, status_code=said["status"])

    @app.post("/accounts/{account}/counts")
    def count(account: str, asked: Count) -> dict[str, object]:
        noise = Gaussian(sigma=asked.sigma)
        with pool.ledger() as ledger:
            drawn = ledger.release(
                account,
                noise,
                lambda: str(noise.release(1234)).encode(),  # here the data is read, after the spend
                key=asked.key,
                why=asked.why,
                who=asked.who,
            )
        return {"key": asked.key, "count": drawn.decode()}

    @app.post("/accounts/{account}/reservations")
    def reserve(account: str, asked: Kept) -> dict[str, object]:
        with pool.ledger() as ledger:
            made = ledger.reserve(account, Plan.parse(asked.plan), key=asked.key, expires=asked.seconds, who=asked.who)
        return {"key": made.key, "cost": float(made.cost), "until": made.until, "repeated": made.repeated}

    @app.post("/accounts/{account}/reservations/{key}/commit")
    def commit(account: str, key: str) -> dict[str, object]:
        with pool.ledger() as ledger:
            made = ledger.commit(account, key)
        return {"key": made.key, "cost": float(made.cost), "repeated": made.repeated}

    @app.delete("/accounts/{account}/reservations/{key}")
    def give_back(account: str, key: str) -> dict[str, object]:
        with pool.ledger() as ledger:
            return {"key": key, "ended": ledger.give_back(account, key).kind}

    @app.get("/accounts/{account}")
    def status(account: str) -> dict[str, object]:
        with pool.ledger() as ledger:
            levels = ledger.levels(account)
        return {one.name: {"budget": float(one.budget), "remaining": float(one.remaining)} for one in levels}

    @app.get("/accounts/{account}/history")
    def history(account: str, after: int = 0, limit: int = 100) -> dict[str, object]:
        with pool.ledger() as ledger:
            page = [entry._asdict() for entry in ledger.history(account, after=after, limit=min(limit, 1000))]
        return {"entries": page, "after": page[-1]["seq"] if page else after}

    @app.get("/metrics")
    def prometheus() -> PlainTextResponse:
        with pool.ledger() as ledger:
            return PlainTextResponse(metrics(ledger, refusals), media_type="text/plain; version=0.0.4")

    return app


if "ZCDP_LEDGER" in os.environ:
    app = make_app(os.environ["ZCDP_LEDGER"])
