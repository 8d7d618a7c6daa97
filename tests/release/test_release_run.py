"""A release from its plan to its record: what is debited, agreed and told, and a fresh secret for each table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from zcdp import BudgetExceeded, Ledger
from zcdp.errors import BadValue
from zcdp.plans.plan_file import read_plan
from zcdp.release import release
from zcdp.release import release_tables as run_module

FRAME = pl.DataFrame({"who": [1, 2, 2], "sex": [1, 2, 1]})
HEAD = (
    '{}[data]\nunit = "who"\naccount = "people"\nneighbours = "{}"\n[domain]\nsex = {{ values = [1, 2], other = 9 }}\n'
)
QUERY = '[[query]]\nname = "{}"\nmeasure = "count"\nby = [{}]\nmechanism = "DiscreteGaussian(sigma={})"\n{}'
MEAN = '[[query]]\nname = "mean"\nmeasure = "mean"\nof = "sex"\nclip = [0, 4]\ngrid = 1\n'
MEAN += 'mechanism = "DiscreteGaussian(sigma=8)"\ncount_mechanism = "DiscreteGaussian(sigma=5)"\n'
SET = 'adds_up = "all"\n'
TABLES = QUERY.format("first", '"sex"', 4, "") + QUERY.format("fine", '"sex"', 6, SET) + MEAN
TABLES += QUERY.format("total", "", 3, SET) + QUERY.format("last", "", 2, "max_cells = 2\n")
ORDER = ["first", "fine", "mean", "total", "last"]


def plan_of(neighbours: str = "add-remove", title: str = 'title = "Quarter"\n', tables: str = TABLES) -> Any:
    return read_plan("plan.toml", HEAD.format(title, neighbours) + tables)


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the account's profile, pages and Parquet, which cost most of the time."""
    facts = SimpleNamespace(budget=None, zcdp="1", delta=1e-9, total=SimpleNamespace(rho=0.3, epsilon=5.5))
    monkeypatch.setattr(run_module, "account_of", lambda *_, **__: facts)
    error = SimpleNamespace(half_width=1, standard_deviation=1.0)
    monkeypatch.setattr("zcdp.accounting.adjusted.Adjustment.accuracy", lambda *_: error)
    monkeypatch.setattr("zcdp.report.release_report.render_release", lambda *_: "")
    monkeypatch.setattr("zcdp.release.archive.parquet", lambda *_: b"")


@pytest.mark.usefixtures("light")
def test_tables_are_told_in_the_order_of_the_plan_and_the_index_says_what_it_is() -> None:
    steps: list[tuple[float, str]] = []
    made = release(plan_of("replace"), FRAME, ledger=None, progress=lambda share, what: steps.append((share, what)))
    assert list(made.tables) == ORDER
    assert made.index["total"] == {"rho": 0.3, "epsilon": 5.5, "delta": 1e-9}
    assert (made.index["title"], made.index["zcdp"], made.index["engine"]) == ("Quarter", "1", "polars")
    assert (made.index["unit"], made.index["protects"], made.index["neighbours"]) == ("who", "person", "replace")
    assert "sigma=6" in made.index["plan"]
    shares = [share for share, _ in steps]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1], steps[-1][1]) == (0, 0.9, "report")


@pytest.mark.usefixtures("light")
def test_which_cells_are_kept_is_decided_by_a_fresh_secret_for_each_table(monkeypatch: pytest.MonkeyPatch) -> None:
    salts: list[int] = []
    exact: Callable[..., Any] = run_module.exact_table

    def watched(source: Any, tables: Any, query: Any, salt: int) -> Any:
        salts.append(salt)
        return exact(source, tables, query, salt)

    monkeypatch.setattr(run_module, "exact_table", watched)
    for _ in range(5):
        release(plan_of(), FRAME, ledger=None)
    assert len(salts) == len(set(salts)) == 20  # the set is read once, and three tables are by themselves
    assert all(0 <= salt < 2**63 for salt in salts)
    assert max(salts) > 2**58  # once in 10^30 not


@pytest.mark.usefixtures("light")
def test_the_record_says_what_was_spent_for_which_plan_and_by_whom(tmp_path: Path) -> None:
    plan = plan_of()
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("people", unit="person", rho=1)
        made = release(plan, FRAME, ledger=ledger, key="q1", who="anna")
        [spend] = [one for one in ledger.history("people") if one.kind == "spend"]
        assert (spend.key, spend.who) == ("q1", "anna")
        assert plan.tables.digest in spend.why
        assert "Quarter" in spend.why
        assert ledger.account("people").spent >= sum(1 / (2 * s**2) for s in (4, 6, 5, 3, 2)) + 1 / 32 - 1e-12
        again = release(plan, FRAME, ledger=ledger, key="q1", who="ben")
        assert (again, again.sealed_by, again.repeated, made.repeated) == (made, "anna", True, False)
        nameless = release(plan, FRAME, ledger=ledger, key="q2")
        again = release(plan, FRAME, ledger=ledger, key="q2")
        assert again == nameless
        assert again.sealed_by == ledger.sealing("people", "q2").login


@pytest.mark.usefixtures("light")
@pytest.mark.parametrize(("account", "neighbours"), [("replace", "add-remove"), ("add-remove", "replace")])
def test_an_account_of_other_neighbours_is_not_charged(account: str, neighbours: str, tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("people", unit="person", neighbours=account, rho=9)
        with pytest.raises(ValueError, match=r"neighbours|replace"):
            release(plan_of(neighbours), FRAME, ledger=ledger, key="q1")
        assert ledger.account("people").spent == 0
        assert ledger.sealed("people", "q1") is None


@pytest.mark.usefixtures("light")
def test_a_release_beyond_the_account_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Any:
        raise AssertionError("data was read")

    monkeypatch.setattr(run_module, "exact_table", read)
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("people", unit="person", rho="0.2")  # and the plan costs 0.29
        with pytest.raises(BudgetExceeded):
            release(plan_of(), FRAME, ledger=ledger, key="q1")
        assert ledger.account("people").spent == 0


@pytest.mark.usefixtures("light")
@pytest.mark.parametrize("given", [{}, {"key": ""}, {"key": None}])
def test_a_ledger_needs_a_key_and_an_account(given: dict[str, Any], tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        with pytest.raises(BadValue, match=r"an account .* and a key"):
            release(plan_of(), FRAME, ledger=ledger, **given)
        nobody = read_plan("plan.toml", HEAD.format("", "replace").replace('account = "people"\n', "") + TABLES)
        with pytest.raises(BadValue, match=r"an account .* and a key"):
            release(nobody, FRAME, ledger=ledger, key="q1")
