"""A ledger of one year, as an office would have it, with a clock that the test sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from zcdp import DiscreteLaplace, Gaussian, Laplace
from zcdp.ledger import Ledger
from zcdp.ledger.ledger_statement import statement

PURPOSES = ("monthly tables by region", "income study", "weekly health dashboard", "ad hoc: research desk")


def year(path: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """About 300 spends, a raise in summer, hostile words in some entries."""
    chance, clock = Random(3), [datetime(2026, 1, 5, 9, tzinfo=UTC)]
    patch.setattr("zcdp.ledger.sqlite.now", lambda: clock[0].strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    patch.setattr("zcdp.ledger.ledger_statement.now", lambda: "2026-12-31T18:00:00.000000Z")
    patch.setattr("zcdp.ledger.sqlite.login", lambda: chance.choice(("ana", "ben", "etl-job")))
    kinds = (Laplace(epsilon="0.05"), DiscreteLaplace(scale=10), Gaussian(sigma=15), Laplace(epsilon="0.1"))
    with Ledger(path) as ledger:
        ledger.open_account("census-2026", unit="person", rho="1", why="decision 12/2025")
        ledger.open_account("app telemetry", unit="device", epsilon=4, delta="1e-8", order=9)
        for day in range(360):
            clock[0] += timedelta(days=1)
            if day == 190:
                ledger.raise_budget("census-2026", rho="1.25", why="board of 14 July: second survey wave", who="DPO")
            if clock[0].weekday() < 5 and chance.random() < 0.9:
                n = chance.randrange(4)
                ledger.spend(
                    "census-2026", kinds[n], key=f"2026/{day:03}", why=PURPOSES[n], who="pipeline" if n else ""
                )
            if day % 9 == 0:
                ledger.release(
                    "app telemetry", Laplace(epsilon="0.1"), lambda: b"noisy", key=f"week {day}", why="funnel"
                )
        bad = "<script>console.error('in')</script>\u202e\x1b[31m" + "x" * 120
        ledger.spend("census-2026", Laplace(epsilon="0.1"), key="<img src=x onerror=alert(1)>", why=bad, who=bad)
        return statement(ledger)
