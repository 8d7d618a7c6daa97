"""The price of a plan is that of its own account's currency, whatever another account paid for the same plan. (bug L7)

At order a Gaussian noise of rho costs a rho: a spend that was charged rho alone in such an account is forged.
"""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest

from zcdp import Gaussian
from zcdp.ledger import Ledger, LedgerError
from zcdp.ledger.chain import START, Entry, digest


@pytest.mark.parametrize("first", ["by rho", "by order"])
def test_an_undercharged_spend_is_found(first: str, tmp_path: Path) -> None:
    noise, text = Gaussian(rho="1/100"), StringIO()
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("by rho", unit="person", rho=1)
        ledger.open_account("by order", unit="person", epsilon=5, delta="1e-6", order=8)
        for name in sorted(("by rho", "by order"), key=lambda one: one != first):
            cost = ledger.spend(name, noise, key=name).cost
            assert cost == (pytest.approx(1 / 100) if name == "by rho" else pytest.approx(8 / 100))
        ledger.export(text)
    head, lines = START, []
    for line in text.getvalue().splitlines():
        data = json.loads(line)
        if data["kind"] == "spend" and data["account"] == "by order":
            data["amount"] = "1/100"
        head = data["hash"] = digest(head, Entry(**data))
        lines.append(json.dumps(data))
    with Ledger(tmp_path / "b.db") as other, pytest.raises(LedgerError, match="less than what its plan costs"):
        other.load(lines)
