"""Accounts that renew: each period is opened once, by its first spend, and never again whatever the clock does."""

from __future__ import annotations

import sys
import threading
import zoneinfo
from collections.abc import Callable, Iterator
from fractions import Fraction

import psycopg
import pytest

from zcdp.ledger import BudgetExceeded, Ledger
from zcdp.ledger.ledger_statement import statement
from zcdp.ledger.periods import EVERY, NoTimeZones, _zone, near, period_at
from zcdp.ledger.verification import Replay

Clock = Callable[[str], None]


@pytest.fixture
def clock(ledger: Ledger, address: str, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the clock of the ledger: that of the program, or that of the server."""
    if not address.startswith("postgresql"):

        def set_program(at: str) -> None:
            for module in ("sqlite", "writing"):
                monkeypatch.setattr(f"zcdp.ledger.{module}.now", lambda: f"{at}:00.000000Z")

        return set_program

    def set_server(at: str) -> None:
        monkeypatch.setattr("zcdp.ledger.writing.now", lambda: f"{at}:00.000000Z")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "CREATE OR REPLACE FUNCTION zcdp_ledger.stamp() RETURNS text LANGUAGE sql VOLATILE AS "
                f"$$SELECT '{at}:00.000000Z'$$"
            )

    return set_server


def test_each_month_is_its_own_budget(ledger: Ledger, clock: Clock) -> None:
    clock("2026-10-31T22:30")
    ledger.open_account("app", unit="person", rho="1/2", every="month", zone="Europe/Berlin")
    ledger.spend("app", rho="1/2", key="a")
    assert ledger.account("app").period == "2026-10"
    with pytest.raises(BudgetExceeded):
        ledger.spend("app", rho="1/4", key="b")
    clock("2026-10-31T23:30")  # half past midnight in Berlin, where it is winter since the 25th
    assert (ledger.account("app").period, ledger.remaining("app")) == ("2026-11", Fraction(1, 2))
    ledger.spend("app", rho="1/4", key="b")
    clock("2026-10-31T22:59")  # the clock is set back: October does not come again, November goes on
    with pytest.raises(BudgetExceeded):
        ledger.spend("app", rho="1/2", key="c")
    ledger.spend("app", rho="1/4", key="c")
    clock("2026-11-30T12:00")
    with pytest.raises(BudgetExceeded):
        ledger.spend("app", rho="1/100", key="d")
    assert [(e.kind, e.what) for e in ledger.history("app") if e.kind == "period"] == [
        ("period", "2026-10"), ("period", "2026-11"),
    ]  # fmt: skip
    assert ledger.verify()


def test_a_refused_spend_opens_nothing(ledger: Ledger, clock: Clock) -> None:
    clock("2026-10-01T12:00")
    ledger.open_account("app", unit="person", rho="1/2", every="year")
    head = ledger.head
    with pytest.raises(BudgetExceeded):
        ledger.spend("app", rho=1, key="a")
    assert ledger.head == head


def test_a_renewing_cap_within_a_budget_that_does_not_renew(ledger: Ledger, clock: Clock) -> None:
    ledger.open_account("app", unit="person", rho="1/2", every="day", under="census")
    for day, admitted in ((1, True), (2, True), (3, False)):
        clock(f"2026-10-0{day}T12:00")
        if admitted:
            ledger.spend("app", rho="1/2", key=f"{day}")
        else:
            with pytest.raises(BudgetExceeded, match="of 'census', above 'app'"):
                ledger.spend("app", rho="1/2", key=f"{day}")
    assert ledger.account("census").spent == 1
    assert ledger.verify()


def test_a_reservation_goes_into_the_period_in_which_it_is_committed(ledger: Ledger, clock: Clock) -> None:
    clock("2026-10-31T12:00")
    ledger.open_account("app", unit="person", rho=1, every="month")
    ledger.reserve("app", rho="3/4", key="a", expires=10**6)
    ledger.spend("app", rho="1/4", key="b")
    clock("2026-11-01T12:00")
    account = ledger.account("app")
    assert (account.spent, account.reserved) == (0, Fraction(3, 4))
    with pytest.raises(BudgetExceeded):
        ledger.spend("app", rho="1/2", key="c")
    ledger.commit("app", "a")
    account = ledger.account("app")
    assert (account.period, account.spent, account.reserved) == ("2026-11", Fraction(3, 4), 0)
    assert ledger.verify()


def test_a_period_is_opened_once_by_many(ledger: Ledger, address: str) -> None:
    ledger.open_account("app", unit="person", rho=1, every="day")
    admitted = []

    def work(n: int) -> None:
        with Ledger(address) as mine:
            for k in range(3):
                try:
                    mine.spend("app", rho="1/5", key=f"{n}/{k}")
                    admitted.append(n)
                except BudgetExceeded:
                    pass

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    opened = [e.what for e in ledger.history("app") if e.kind == "period"]
    assert len(opened) == len(set(opened)) <= 2  # two, if it is midnight now
    assert len(admitted) == 5 * len(opened) or len(opened) == 2
    assert ledger.verify()


def test_periods_are_those_of_the_calendar(ledger: Ledger, address: str) -> None:
    """The server and the program name the same periods, in many zones and at the ends of years."""
    days, hours = ("01-01", "03-31", "06-15", "10-25", "12-28", "12-31"), ("00:00", "11:30", "23:59")
    times = [f"{year}-{day}T{hour}:59.999999Z" for year in (2024, 2026, 2027) for day in days for hour in hours]
    zones = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati", "Pacific/Pago_Pago"]
    if not address.startswith("postgresql"):
        assert period_at("2026-12-31T23:59:59.999999Z", "quarter", "UTC") == "2026-Q4"
        assert period_at("2026-12-31T23:59:59.999999Z", "year", "Asia/Kolkata") == "2027"
        assert period_at("2024-12-30T12:00:00.000000Z", "week", "UTC") == "2025-W01"
        return
    with psycopg.connect(address) as connection:
        for every in EVERY:
            for zone in zones:
                for at in times:
                    [(found,)] = connection.execute("SELECT zcdp_ledger.period_at(%s, %s, %s)", (at, every, zone))
                    assert found == period_at(at, every, zone), (at, every, zone)


def test_what_is_no_period(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match=r"every \('fortnight'\) must be one of day, week, month, quarter, year"):
        ledger.open_account("a", unit="person", rho=1, every="fortnight")
    for zone in ("Europe/Atlantis", "", "../../etc/passwd", "/etc/localtime"):
        with pytest.raises(ValueError, match="must be a time zone such as UTC"):
            ledger.open_account("a", unit="person", rho=1, every="month", zone=zone)
    with pytest.raises(TypeError, match="give every too"):
        ledger.open_account("a", unit="person", rho=1, zone="UTC")


def test_a_period_that_was_opened_at_the_wrong_time_is_found() -> None:
    at = "2026-11-18T10:00:00.000000Z"
    assert near("2026-11-19", at, "day", "UTC")
    for label in ("2026-11-20", "2026-11-16", "2026-11", "", "9999-99-99", "2026-11-18x"):
        assert not near(label, at, "day", "UTC")
    assert not near("2026-11", "no time", "month", "UTC")


def test_a_budget_lowered_later_promises_nothing_of_earlier_periods(ledger: Ledger, clock: Clock) -> None:
    """The first day spent 0.9: that is what every day is bounded by, whatever the budget is by now."""
    clock("2026-10-01T12:00")
    ledger.open_account("daily", unit="person", rho=1, every="day")
    ledger.spend("daily", rho="0.9", key="a")
    clock("2026-10-02T12:00")
    ledger.spend("daily", rho="0.1", key="b")
    ledger.lower_budget("daily", rho="0.3", why="less is needed")
    [told] = [one for one in statement(ledger)["accounts"] if one["name"] == "daily"]
    assert told["guarantee"]["rho"] == 1
    assert told["guarantee"]["epsilon"] > 0.9


def test_a_lower_budget_covers_the_last_period_until_a_spend_opens_the_next(ledger: Ledger, clock: Clock) -> None:
    clock("2026-10-01T12:00")
    ledger.open_account("daily", unit="person", rho=1, every="day")
    ledger.spend("daily", rho="0.9", key="a")
    clock("2026-10-02T12:00")
    with pytest.raises(ValueError, match="what was spent in the day of the last spend"):
        ledger.lower_budget("daily", rho="0.5", why="less is needed")


@pytest.fixture
def without_zones(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Takes the time zone data away: that of the system, and the package."""

    def forget() -> None:
        zoneinfo.ZoneInfo.clear_cache()
        _zone.cache_clear()

    def take() -> None:
        zoneinfo.reset_tzpath(to=())
        for name in {"tzdata", *(one for one in sys.modules if one.startswith("tzdata."))}:
            monkeypatch.setitem(sys.modules, name, None)
        forget()

    yield take
    zoneinfo.reset_tzpath()
    forget()


def test_a_machine_without_time_zone_data_says_what_is_missing(
    ledger: Ledger, without_zones: Callable[[], None]
) -> None:
    ledger.open_account("app", unit="person", rho="1/2", every="month", zone="Europe/Berlin")
    ledger.open_account("plain", unit="person", rho="1/2", every="month")
    ledger.spend("app", rho="1/4", key="a")
    assert ledger.verify()
    without_zones()
    asked: list[Callable[[], object]] = [
        ledger.verify,
        lambda: ledger.account("app"),
        lambda: ledger.open_account("other", unit="person", rho=1, every="day", zone="Asia/Kolkata"),
    ]
    for call in asked:
        with pytest.raises(NoTimeZones, match="this machine has no time zone data: pip install tzdata"):
            call()
    ledger.spend("plain", rho="1/4", key="b")  # UTC needs none
    assert ledger.account("plain").remaining == Fraction(1, 4)


def test_a_zone_that_is_not_known_here_is_told_from_a_wrong_period(ledger: Ledger) -> None:
    ledger.open_account("app", unit="person", rho="1/2", every="month", zone="Europe/Berlin")
    ledger.spend("app", rho="1/4", key="a")
    replay = Replay()
    zone = '"zone": "Europe/Berlin"'
    entries = [one._replace(what=one.what.replace(zone, '"zone": "Mars/Olympus"')) for one in ledger.history()]
    replay.read(entries)
    assert any("in a time zone that this machine does not know" in text for text in replay.findings)
