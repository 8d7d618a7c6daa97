"""The account that is asked for pays, and not the one that the plan names. (bug R22)"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from zcdp.ledger import Ledger
from zcdp.release import release

PLAN = """
[data]
unit = "row"
account = "{0}"
[[query]]
name = "all"
measure = "count"
mechanism = "DiscreteGaussian(sigma=10)"
"""


def test_who_pays(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.format("of the plan"))
    with Ledger(tmp_path / "budget.db") as ledger:
        for name in ("of the plan", "asked for"):
            ledger.open_account(name, unit="row", rho=1)
        frame = pl.DataFrame({"x": [1, 2, 3]})
        release(tmp_path / "plan.toml", frame, ledger=ledger, key="q1", account="asked for")
        assert ledger.account("of the plan").spent == 0
        paid = ledger.account("asked for").spent
        assert 0 < paid <= 1 / 200 + 1e-9  # sensitivity 1, sigma 10: rho = 1/(2 sigma^2), or a little less
        release(tmp_path / "plan.toml", frame, ledger=ledger, key="q1")
        assert ledger.account("of the plan").spent == paid == ledger.account("asked for").spent
