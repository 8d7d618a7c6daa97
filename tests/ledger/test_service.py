"""The example service, with real requests over PostgreSQL, many at once; and what it is made of."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledger.server import Server

from zcdp import Gaussian
from zcdp.errors import BadType, BadValue, ZcdpError
from zcdp.ledger import AccountClosed, BudgetExceeded, KeyConflict, Ledger, LedgerBusy, LedgerError, NothingReserved
from zcdp.ledger.service import metrics, status_of
from zcdp.ledger.store import KeyEnded, UnknownAccount

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
WHY = "NOT CHECKED: FastAPI is not installed here: make service"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BudgetExceeded("x"), 402),
        (UnknownAccount("x"), 404),
        (KeyConflict("x"), 409),
        (KeyEnded("x"), 409),
        (AccountClosed("x"), 409),
        (NothingReserved("x"), 409),
        (BadValue("x"), 422),
        (BadType("x"), 422),
        (LedgerBusy("x"), 503),
        (LedgerError("x"), 500),
        (ZcdpError("x"), 500),
        (ValueError("a bug"), 500),
        (RuntimeError("a bug"), 500),
    ],
)
def test_every_error_has_its_status(error: Exception, status: int) -> None:
    assert status_of(error) == status


def test_metrics_are_of_every_level(ledger: Ledger) -> None:
    ledger.open_account('team "a"\\b', unit="person", rho="1/2", under="census")
    ledger.spend('team "a"\\b', rho="1/4", key="k")
    ledger.reserve("census", rho="1/8", key="r", expires=1000)
    text = metrics(ledger, {"census": 2})
    line = r'(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\} (\S+)'
    found = {(m[1], m[2].split('",')[0]): float(m[3]) for m in map(re.compile(line).fullmatch, text.splitlines()) if m}
    assert found["zcdp_spent", 'account="census'] == 0.25
    assert found["zcdp_reserved", 'account="census'] == 0.125
    assert found["zcdp_remaining", 'account="census'] == 0.625
    assert found["zcdp_remaining", 'account="team \\"a\\"\\\\b'] == 0.25
    assert 'zcdp_refusals_total{account="census"} 2' in text
    assert all(one.startswith("#") or re.fullmatch(line, one) for one in text.splitlines())
    assert text.endswith("\n")


def test_history_by_page(ledger: Ledger) -> None:
    for n in range(7):
        ledger.spend("census", rho="0.01", key=f"{n}")
    whole, after, pages = list(ledger.history("census")), 0, []
    while page := list(ledger.history("census", after=after, limit=3)):
        pages.append(page)
        after = page[-1].seq
    assert [len(page) for page in pages] == [3, 3, 2]
    assert [entry for page in pages for entry in page] == whole
    assert list(ledger.history(limit=0)) == []
    with pytest.raises(ValueError, match="must not be negative"):
        ledger.history(limit=-1)


# Requests to the service itself.


@pytest.fixture
def url(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("fastapi", reason=WHY)
    uvicorn = pytest.importorskip("uvicorn", reason=WHY)
    pytest.importorskip("httpx", reason=WHY)
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    import service

    address = server.fresh()
    with Ledger(address) as ledger:
        ledger.open_account("census", unit="person", rho=1)
        for name in ("anna", "ben", "carla"):
            ledger.open_account(name, unit="person", rho="0.4", under="census")
        ledger.open_account("old", unit="person", rho=1)
        ledger.close_account("old", why="over")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = uvicorn.Server(uvicorn.Config(service.make_app(address), port=port, log_level="error", backlog=2048))
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(30)


def all_at_once(url: str, requests: list[tuple[str, str, dict[str, Any]]]) -> list[Any]:
    import httpx

    async def every() -> list[Any]:
        limits = httpx.Limits(max_connections=len(requests))
        async with httpx.AsyncClient(base_url=url, limits=limits, timeout=300) as client:
            return await asyncio.gather(*(client.request(how, path, **more) for how, path, more in requests))

    return asyncio.run(every())


def test_a_thousand_requests_at_once(url: str) -> None:
    """Gaussian(sigma=10) costs 1/200: the budget above admits exactly 200, each cap 80, and every refusal says why."""
    names = ["anna", "ben", "carla"]
    asked = [
        ("POST", f"/accounts/{names[n % 3]}/counts", {"json": {"key": f"{n}", "sigma": "10"}}) for n in range(1000)
    ]
    answers = all_at_once(url, asked)
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses == {200: 200, 402: 800}
    for answer in answers:
        if answer.status_code == 402:
            said = answer.json()
            assert said["code"] == "BudgetExceeded"
            assert said["level"] in ("census", *names)
            assert "exceeds what remains" in said["reason"]
    paid = Counter(names[n % 3] for n, answer in enumerate(answers) if answer.status_code == 200)
    assert max(paid.values()) <= 80
    again = all_at_once(url, [one for one, answer in zip(asked, answers, strict=True) if answer.status_code == 200])
    before = {answer.json()["key"]: answer.json()["count"] for answer in answers if answer.status_code == 200}
    assert {answer.json()["key"]: answer.json()["count"] for answer in again} == before
    [told] = all_at_once(url, [("GET", "/metrics", {})])
    assert 'zcdp_remaining{account="census",under="",currency="rho"} 0\n' in told.text
    counted = re.findall(r'zcdp_refusals_total\{account="\w+"\} (\d+)', told.text)
    assert sum(map(int, counted)) == 800


def test_each_error_at_its_door(url: str) -> None:
    cost = float(Gaussian(sigma=10).rho_fraction)

    def one(how: str, path: str, **more: Any) -> Any:
        [answer] = all_at_once(url, [(how, path, {"json": more} if more else {})])
        return answer

    count = {"key": "a", "sigma": "10"}
    assert one("POST", "/accounts/anna/counts", **count).status_code == 200
    assert one("POST", "/accounts/anna/counts", **{**count, "sigma": "20"}).status_code == 409
    assert one("POST", "/accounts/nobody/counts", **count).status_code == 404
    assert one("POST", "/accounts/old/counts", **count).status_code == 409
    assert one("POST", "/accounts/anna/counts", key="b", sigma="-1").status_code == 422
    assert one("POST", "/accounts/anna/counts", key="b", sigma="0.1").status_code == 402
    assert one("POST", "/accounts/anna/counts", sigma="1").status_code == 422  # no key
    kept = {"key": "r", "plan": "Gaussian(sigma=10)", "seconds": 900}
    assert one("POST", "/accounts/ben/reservations", **kept).json()["cost"] == cost
    assert one("POST", "/accounts/ben/reservations/r/commit").json()["repeated"] is False
    assert one("DELETE", "/accounts/ben/reservations/never").status_code == 409
    assert one("DELETE", "/accounts/ben/reservations/r").status_code == 409  # spent: there is no refund
    assert one("GET", "/accounts/anna").json()["census"]["remaining"] == float(1 - 2 * Fraction(1, 200))
    page = one("GET", "/accounts/anna/history?limit=2").json()
    rest = one("GET", f"/accounts/anna/history?after={page['after']}").json()
    assert [entry["kind"] for entry in page["entries"] + rest["entries"]] == ["open", "spend", "seal", "deliver"]
