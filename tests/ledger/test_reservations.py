"""Reserve, then commit or give back: every step on the chain, and nothing drawn before the commit."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import pytest

from zcdp import Gaussian, Laplace
from zcdp.ledger import BudgetExceeded, KeyConflict, Ledger, LedgerError, NothingReserved

TENTH = Laplace(epsilon="0.1")


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.history("census")]


def test_what_is_reserved_nobody_else_can_have(ledger: Ledger) -> None:
    kept = ledger.reserve("census", rho="3/4", key="q1", expires=timedelta(hours=1), why="first quarter")
    account = ledger.account("census")
    assert (account.spent, account.reserved, account.remaining) == (0, Fraction(3, 4), Fraction(1, 4))
    with pytest.raises(BudgetExceeded, match=r"exceeds what remains \(0.25\)"):
        ledger.spend("census", rho="1/2", key="other")
    again = ledger.reserve("census", rho="3/4", key="q1", expires=5)
    assert (again.repeated, again.until) == (True, kept.until)
    with pytest.raises(KeyConflict, match="was used for something else"):
        ledger.reserve("census", rho="1/4", key="q1", expires=5)
    with pytest.raises(KeyConflict, match="was used for something else"):
        ledger.spend("census", rho="1/4", key="q1")
    assert [one.key for one in ledger.reservations("census")] == ["q1"]
    assert ledger.verify()


def test_a_commit_makes_it_a_spend_once(ledger: Ledger) -> None:
    ledger.reserve("census", TENTH, key="q1", expires=1000, why="tables")
    assert not ledger.commit("census", "q1").repeated
    assert ledger.commit("census", "q1").repeated
    account = ledger.account("census")
    assert (account.spent, account.reserved) == (TENTH.rho_fraction, 0)
    with pytest.raises(LedgerError, match="there is no refund"):
        ledger.give_back("census", "q1")
    with pytest.raises(KeyConflict, match="reserve under another key"):
        ledger.reserve("census", TENTH, key="q1", expires=1000)
    assert kinds(ledger) == ["open", "reserve", "spend"]
    assert list(ledger.history("census"))[-1].why == "tables"
    assert ledger.verify()


def test_it_fits_exactly_and_is_not_counted_twice(ledger: Ledger) -> None:
    ledger.reserve("census", rho=1, key="all", expires=1000)
    assert ledger.remaining("census") == 0
    ledger.commit("census", "all")
    assert ledger.account("census").spent == 1


def test_a_release_runs_under_the_committed_debit_alone(ledger: Ledger) -> None:
    """Nothing can be sealed under a reservation; `release` and `spend` commit it first."""
    ledger.reserve("census", TENTH, key="q1", expires=1000)
    with pytest.raises(LedgerError, match="nothing was spent under this key"):
        ledger.seal("census", "q1", b"too early")
    seen: list[list[str]] = []

    def draw() -> bytes:
        seen.append(kinds(ledger))
        return b"noisy"

    assert ledger.release("census", TENTH, draw, key="q1") == b"noisy"
    assert seen == [["open", "reserve", "spend"]]
    assert ledger.account("census").reserved == 0
    assert ledger.verify()


def test_what_is_given_back_is_there_again(ledger: Ledger) -> None:
    ledger.reserve("census", rho=1, key="q1", expires=1000)
    assert ledger.give_back("census", "q1", why="not needed").kind == "release"
    assert ledger.give_back("census", "q1").why == "not needed"
    assert ledger.remaining("census") == 1
    with pytest.raises(NothingReserved):
        ledger.commit("census", "q1")
    with pytest.raises(NothingReserved):
        ledger.give_back("census", "never")
    with pytest.raises(NothingReserved):
        ledger.commit("census", "never")
    with pytest.raises(LookupError):
        ledger.commit("nobody", "never")
    with pytest.raises(KeyConflict):
        ledger.reserve("census", rho=1, key="q1", expires=1000)
    ledger.spend("census", rho=1, key="q1")  # checked anew, as any spend
    assert kinds(ledger) == ["open", "reserve", "release", "spend"]
    assert ledger.verify()


def test_a_forgotten_one_expires(ledger: Ledger) -> None:
    import time

    ledger.reserve("census", rho=1, key="q1", expires=0.2)
    time.sleep(0.4)
    ledger.spend("census", rho=1, key="other")
    assert kinds(ledger) == ["open", "reserve", "expire", "spend"]
    with pytest.raises(NothingReserved):
        ledger.commit("census", "q1")
    assert ledger.give_back("census", "q1").kind == "expire"
    assert ledger.verify()


def test_a_refused_commit_leaves_the_reservation(ledger: Ledger) -> None:
    ledger.open_account("cap", unit="person", rho="1/2", under="census")
    ledger.reserve("cap", rho="1/2", key="q1", expires=1000)
    with pytest.raises(BudgetExceeded):
        ledger.spend("cap", rho="1/2", key="q2")
    with pytest.raises(ValueError, match="must be smaller"):
        ledger.lower_budget("cap", rho="1/4", why="less")
    assert ledger.account("cap").reserved == ledger.account("census").reserved == Fraction(1, 2)
    ledger.commit("cap", "q1")
    assert ledger.account("census").spent == Fraction(1, 2)
    assert ledger.verify()


def test_when_it_expires(ledger: Ledger) -> None:
    at = datetime(2090, 1, 1, tzinfo=UTC)
    assert ledger.reserve("census", rho="0.1", key="a", expires=at).until == "2090-01-01T00:00:00.000000Z"
    for wrong in (0, -1, float("nan"), 10**15, timedelta(0)):
        with pytest.raises(ValueError, match="positive duration"):
            ledger.reserve("census", rho="0.1", key="b", expires=wrong)
    with pytest.raises(ValueError, match="must have a time zone"):
        ledger.reserve("census", rho="0.1", key="b", expires=datetime(2090, 1, 1))
    with pytest.raises(LedgerError, match="over"):
        ledger.reserve("census", rho="0.1", key="b", expires=datetime(2000, 1, 1, tzinfo=UTC))
    for odd in ("soon", True, None):
        with pytest.raises(TypeError, match="must be a time, a duration"):
            ledger.reserve("census", rho="0.1", key="b", expires=odd)  # type: ignore[arg-type]
    assert ledger.verify()


def test_the_same_plan_in_other_words_is_the_same_reservation(ledger: Ledger) -> None:
    ledger.reserve("census", 2 * TENTH + Gaussian(sigma=10), key="a", expires=1000)
    again = Gaussian(sigma=10) + 2 * Laplace(epsilon="1/10")
    assert ledger.reserve("census", again, key="a", expires=1000).repeated
    ledger.commit("census", "a")
    assert ledger.verify()


def test_threads_reserve_the_last_unit_once(ledger: Ledger) -> None:
    admitted: list[str] = []

    def work(n: int) -> None:
        try:
            ledger.reserve("census", rho="1/5", key=f"{n}", expires=1000)
            admitted.append(f"{n}")
        except BudgetExceeded:
            pass

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(admitted) == 5
    assert ledger.account("census").reserved == 1
    assert ledger.verify()


def test_a_time_whose_year_has_not_four_digits_is_refused(ledger: Ledger) -> None:
    """Times are compared as text, in which the year 999 would come after 2026."""
    last = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
    for wrong in (datetime(999, 1, 1, tzinfo=UTC), last):
        with pytest.raises(ValueError, match="must be a time in the years 1000 to 9999"):
            ledger.reserve("census", rho="0.1", key="a", expires=wrong)
