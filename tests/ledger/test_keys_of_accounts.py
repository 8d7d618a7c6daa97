"""A key belongs to one account and one plan, in SQLite and in PostgreSQL."""

from __future__ import annotations

import pytest

from zcdp import Gaussian, Laplace
from zcdp.ledger import KeyConflict, Ledger, LedgerError

COST = Laplace(epsilon="0.1")


def test_one_key_in_two_accounts(ledger: Ledger) -> None:
    for name in ("one", "other"):
        ledger.open_account(name, unit="person", rho=1)
        ledger.spend(name, COST, key="q1")
    assert ledger.seal("one", "q1", b"of one") == b"of one"
    assert ledger.sealed("other", "q1") is None
    with pytest.raises(LedgerError, match="nothing is sealed"):
        ledger.deliver("other", "q1")
    drawn: list[bytes] = []

    def draw() -> bytes:
        drawn.append(b"of the other")
        return drawn[-1]

    assert ledger.release("other", COST, draw, key="q1") == b"of the other"
    assert drawn == [b"of the other"]
    assert ledger.deliver("one", "q1") == b"of one"
    assert ledger.verify()


def test_another_plan_of_the_same_cost_is_another_spend(ledger: Ledger) -> None:
    noise = Gaussian(rho="1/100")
    made = ledger.spend("census", noise, key="a")
    assert made.cost == noise.rho_fraction
    with pytest.raises(KeyConflict, match="'a' was used for something else"):
        ledger.spend("census", rho="1/100", key="a")
    assert ledger.spend("census", noise, key="a").repeated
