"""A key stands for one spend: a bare rho is that spend again only where it is the same rho."""

from __future__ import annotations

from pathlib import Path

import pytest

from zcdp import KeyConflict, Laplace, Ledger


def test_another_rho_under_a_used_key_is_a_conflict_and_costs_nothing(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.open_account("people", rho=10, unit="person")
        assert not ledger.spend("people", rho="0.01", key="a", why="first").repeated
        for other in ({"rho": "5"}, {"rho": "0.02"}, {"mechanism": Laplace(epsilon="0.1")}):
            with pytest.raises(KeyConflict):
                ledger.spend("people", **other, key="a", why="another")
        again = ledger.spend("people", rho="0.010", key="a", why="first")
        assert again.repeated
        assert float(ledger.account("people").spent) == 0.01
        ledger.spend("people", Laplace(epsilon="0.1"), key="b", why="a plan")
        with pytest.raises(KeyConflict):
            ledger.spend("people", rho="0.01", key="b", why="a number in place of a plan")
