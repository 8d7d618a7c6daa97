"""Accounts under accounts, closed and lowered ones: one spend debits all levels or none."""

from __future__ import annotations

from fractions import Fraction
from io import StringIO
from pathlib import Path

import pytest

from zcdp import Laplace, RandomizedResponse
from zcdp.ledger import AccountClosed, BudgetExceeded, Ledger, LedgerError

TENTH = Laplace(epsilon="0.1")


@pytest.fixture
def tree(ledger: Ledger) -> Ledger:
    """census (1) over ministry (3/4) over anna (1/2) and ben (1/2)."""
    ledger.open_account("ministry", unit="person", rho="3/4", under="census")
    ledger.open_account("anna", unit="person", rho="1/2", under="ministry")
    ledger.open_account("ben", unit="person", rho="1/2", under="ministry")
    return ledger


def sums(ledger: Ledger) -> dict[str, Fraction]:
    return {account.name: account.spent for account in ledger.accounts()}


def test_one_spend_debits_every_level(tree: Ledger) -> None:
    tree.spend("anna", rho="1/4", key="a")
    assert sums(tree) == {"anna": Fraction(1, 4), "ben": 0, "census": Fraction(1, 4), "ministry": Fraction(1, 4)}
    tree.spend("census", rho="1/8", key="a")  # keys are those of the account
    assert tree.spend("anna", rho="1/4", key="a").repeated
    assert sums(tree)["census"] == Fraction(3, 8)
    assert tree.account("anna").above == ("ministry", "census")
    assert tree.verify()


def test_refusals_name_the_level_and_what_is_left_there_and_change_nothing(tree: Ledger) -> None:
    tree.spend("anna", rho="1/2", key="a")
    with pytest.raises(
        BudgetExceeded, match=r"the cost \(0.25\) exceeds what remains \(0\): nothing was spent"
    ) as found:
        tree.spend("anna", rho="1/4", key="b")
    assert (found.value.account, found.value.remaining) == ("anna", 0)
    before, head = sums(tree), tree.head
    words = r"the cost \(0.5\) exceeds what remains \(0.25\) of 'ministry', above 'ben': nothing was spent"
    with pytest.raises(BudgetExceeded, match=words) as found:
        tree.spend("ben", rho="1/2", key="a")
    assert (found.value.account, found.value.remaining) == ("ministry", Fraction(1, 4))
    assert (sums(tree), tree.head) == (before, head)
    assert tree.remaining("ben") == Fraction(1, 4)
    assert (tree.would_fit("ben", rho="1/4"), tree.would_fit("ben", rho="0.26")) == (True, False)
    tree.spend("census", rho="1/4", key="top")
    tree.spend("census", rho="1/4", key="more")
    with pytest.raises(BudgetExceeded, match=r"of 'census', above 'ben'"):
        tree.spend("ben", rho="1/8", key="a")


def test_all_of_several_or_none_at_any_level(tree: Ledger) -> None:
    tree.spend("census", rho="0.99", key="top")
    with pytest.raises(BudgetExceeded, match="of 'census', above 'anna'"):
        tree.spend_all("anna", {"a": TENTH, "b": TENTH, "c": TENTH})
    assert sums(tree)["anna"] == 0
    assert tree.verify()


def test_levels_count_the_same_for_the_same_people(ledger: Ledger) -> None:
    cap = {"under": "census", "rho": "1/2"}
    with pytest.raises(ValueError, match="they cannot have unit household and unit person"):
        ledger.open_account("a", unit="household", **cap)
    with pytest.raises(ValueError, match="they cannot have neighbours replace and neighbours add-remove"):
        ledger.open_account("a", unit="person", neighbours="replace", **cap)
    with pytest.raises(ValueError, match="order 8 and order none, so rho"):
        ledger.open_account("a", unit="person", under="census", epsilon=10, delta="1e-6", order=8)
    with pytest.raises(LookupError, match="there is no account 'cenus'"):
        ledger.open_account("a", unit="person", rho=1, under="cenus")
    ledger.open_account("a", unit="person", epsilon=1, delta="1e-6", under="census")  # counts rho
    local = {"unit": "device", "neighbours": "local", "epsilon": 10, "delta": "1e-6", "order": 3}
    ledger.open_account("app", **local)
    ledger.open_account("team", **{**local, "epsilon": 8}, under="app")
    ledger.spend("team", RandomizedResponse(epsilon=1, k=10), key="a")
    assert ledger.account("app").spent == ledger.account("team").spent > 0
    assert ledger.verify()


def test_a_tree_has_a_depth(ledger: Ledger) -> None:
    above = "census"
    for n in range(15):
        above = ledger.open_account(f"level {n}", unit="person", rho=1, under=above).name
    with pytest.raises(LedgerError, match="at most 16 deep"):
        ledger.open_account("one more", unit="person", rho=1, under=above)
    ledger.spend(above, rho=1, key="all")
    assert {account.remaining for account in ledger.accounts()} == {0}
    assert ledger.verify()


def test_a_closed_account_closes_all_under_it(tree: Ledger) -> None:
    tree.spend("anna", TENTH, key="a")
    tree.reserve("ben", rho="1/100", key="kept", expires=1000)
    with pytest.raises(ValueError, match="why must say why"):
        tree.close_account("ministry", why=" ")
    assert tree.close_account("ministry", why="the year is over", who="board").closed
    head = tree.head
    assert tree.close_account("ministry", why="again").closed
    assert tree.head == head
    for call in (
        lambda: tree.spend("anna", TENTH, key="b"),
        lambda: tree.spend("ministry", TENTH, key="b"),
        lambda: tree.reserve("ben", TENTH, key="b", expires=10),
        lambda: tree.commit("ben", "kept"),
        lambda: tree.raise_budget("ministry", rho=2, why="more"),
        lambda: tree.open_account("new", unit="person", rho=1, under="ministry"),
    ):
        with pytest.raises(AccountClosed, match="the account 'ministry' is closed: nothing was changed"):
            call()
    assert tree.spend("anna", TENTH, key="a").repeated  # the record is still there
    assert tree.seal("anna", "a", b"noisy") == tree.deliver("anna", "a") == b"noisy"
    tree.give_back("ben", "kept")
    assert tree.remaining("anna") == 0
    assert not tree.would_fit("anna", TENTH)
    tree.spend("census", TENTH, key="b")
    assert tree.verify()


def test_a_budget_is_lowered_to_what_is_spent_and_reserved(tree: Ledger) -> None:
    tree.spend("anna", rho="1/4", key="a")
    tree.reserve("anna", rho="1/8", key="b", expires=1000)
    for wrong in ("3/8", "1/3"):
        if wrong == "1/3":
            with pytest.raises(ValueError, match=r"rho \(1/3\) must be smaller .* spent and reserved \(0.375\)"):
                tree.lower_budget("anna", rho=wrong, why="less")
        else:
            assert tree.lower_budget("anna", rho=wrong, why="less").remaining == 0
    with pytest.raises(ValueError, match="must be smaller than the present budget"):
        tree.lower_budget("anna", rho="0.375", why="same")
    with pytest.raises(ValueError, match="why must say why the budget is lowered"):
        tree.lower_budget("ben", rho="0.1", why="")
    tree.open_account("e", unit="person", epsilon=2, delta="1e-6", under="census")
    lowered = tree.lower_budget("e", epsilon=1, why="less")
    assert lowered.terms.epsilon == 1
    assert lowered.budget < tree.raise_budget("e", epsilon=3, why="more").budget
    assert tree.verify()


def test_a_tree_goes_to_another_place(tree: Ledger, tmp_path: Path) -> None:
    tree.spend("anna", TENTH, key="a")
    tree.reserve("ben", rho="1/8", delta=None, key="b", expires=10**6)
    tree.close_account("anna", why="left")
    lines = StringIO()
    tree.export(lines)
    with Ledger(tmp_path / "copy.db") as copy:
        copy.load(lines.getvalue().splitlines())
        assert copy.accounts() == tree.accounts()
        assert copy.head == tree.head
        assert copy.verify()
        copy.commit("ben", "b")
        assert copy.account("census").reserved == 0
        assert copy.verify()


def test_an_account_in_a_notebook_is_a_table(tree: Ledger) -> None:
    tree.spend("anna", Laplace(epsilon="0.1"), key="a")
    shown = tree.account("anna")._repr_html_()
    assert "<th>under</th><td>ministry under census</td>" in shown
    assert len(shown.partition("</style>")[2]) < 800
