"""Heads are read strictly, hashes are those of the written-out fields, and amounts are what a grid can hold."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from zcdp.ledger import BudgetExceeded, Ledger, LedgerError
from zcdp.ledger.chain import START, Entry, Head, digest, sealed_digest
from zcdp.ledger.model import Account, admitted, amount
from zcdp.ledger.store import Request
from zcdp.ledger.terms import Terms
from zcdp.ledger.verification import Replay

CODE = "0123456789abcdef" * 4
ENTRY = Entry(12, "at", "spend", "census", "k\u00e9y", "what", "1/10", "why", "who", "login", "1.0", "")


def test_a_hash_is_that_of_lengths_and_fields_in_their_order() -> None:
    fields = [
        "zcdp-ledger-1",
        CODE,
        "12",
        "at",
        "spend",
        "census",
        "k\u00e9y",
        "what",
        "1/10",
        "why",
        "who",
        "login",
        "1.0",
    ]
    text = "".join(f"{len(one.encode())}:{one}," for one in fields)
    assert digest(CODE, ENTRY) == sha256(text.encode()).hexdigest()
    assert digest(CODE, ENTRY._replace(hash=CODE)) == digest(CODE, ENTRY)  # an entry's own hash is no part of it
    others = {digest(CODE, ENTRY._replace(**{name: "other"})) for name in Entry._fields[1:-1]}
    others |= {digest(START, ENTRY), digest(CODE, ENTRY._replace(seq=13)), digest(CODE, ENTRY)}
    assert len(others) == 13
    assert sealed_digest(b"noisy") == "sha256:" + sha256(b"noisy").hexdigest()


@pytest.mark.parametrize("text", [f"17:{CODE}", f" 17:{CODE}\n", f"0:{CODE}", f"{'9' * 18}:{CODE}"])
def test_heads_that_can_be_read(text: str) -> None:
    head = Head.parse(text)
    assert str(head) == text.strip()
    assert head.hash == CODE


@pytest.mark.parametrize(
    "text",
    ["", "17", f"17{CODE}", f":{CODE}", f"17:{CODE[1:]}", f"17:{CODE}0", f"17:{CODE.upper()}", f"-1:{CODE}",
     f"1 7:{CODE}", f"\u0661:{CODE}", f"{'9' * 19}:{CODE}", f"17:{'g' * 64}", f"17:{CODE}:1", f"1.0:{CODE}"],
)  # fmt: skip
def test_heads_that_cannot(text: str) -> None:
    with pytest.raises(ValueError, match="must be a number, a colon and 64 hexadecimal digits"):
        Head.parse(text)


@pytest.mark.parametrize(
    "text", ["0", "5", "1/10", "1/3", "7/9801", "123456789/1000", f"1/{10**1000}"], ids=lambda text: text[:12]
)
def test_amounts_that_a_ledger_holds(text: str) -> None:
    assert amount(text) == Fraction(text)


@pytest.mark.parametrize(
    "text",
    ["", "-1", "-1/10", "2/4", "1/1", "0/5", " 1", "+1", "01", "0.5", "1e3", "1/0", "1/-2", "1/103", f"1/{10**1001}",
     "9" * 2201, None, 1, b"1", "1_0", "x"],
    ids=lambda text: ascii(text)[:12],
)  # fmt: skip
def test_amounts_that_it_does_not(text: object) -> None:
    with pytest.raises(LedgerError, match="is not an amount in a ledger"):
        amount(text)  # type: ignore[arg-type]


def test_what_fits_exactly_is_admitted_and_a_hair_more_is_not() -> None:
    third, hair = Fraction(1, 3), Fraction(1, 10**1000)
    assert admitted(Fraction(1), 2 * third, third) == 1
    assert admitted(Fraction(1), Fraction(0), third) == third
    for budget, spent, cost in ((Fraction(1) - hair, 2 * third, third), (Fraction(1), Fraction(1), hair)):
        with pytest.raises(BudgetExceeded, match=r"the cost \(.*\) exceeds what remains \(.*\): nothing was spent"):
            admitted(budget, spent, cost)
    with pytest.raises(BudgetExceeded, match=r"the cost \(0.75\) exceeds what remains \(0.5\)"):
        admitted(Fraction(1), Fraction(1, 2), Fraction(3, 4))
    account = Account("a", Terms("person"), Fraction(1), third)
    assert account.remaining == 2 * third


@pytest.mark.parametrize(
    ("bad", "listed", "more"), [(1, 1, 0), (99, 99, 0), (100, 100, 0), (101, 100, 1), (140, 100, 40)]
)
def test_findings_beyond_a_hundred_are_counted(bad: int, listed: int, more: int) -> None:
    replay = Replay()
    for n in range(bad):
        replay.find(f"{n}")
    assert (replay.findings, replay.more) == ([f"{n}" for n in range(listed)], more)


def test_a_ledger_with_many_findings_says_how_many_more_there_are(quick: Path) -> None:
    with Ledger(quick / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        ledger._store.spend([Request("census", f"{n}", '{"rho": "1/1000"}', "1/1000") for n in range(128)])
    connection = sqlite3.connect(quick / "a.db")
    connection.execute("DROP TRIGGER entry_is_not_edited")
    connection.execute("UPDATE entry SET why = 'other'")
    connection.commit()
    connection.close()
    with Ledger(quick / "a.db") as ledger:
        found = ledger.verify()
    assert not found
    assert (found.entries, found.accounts, len(found.findings)) == (130, 1, 101)
    assert found.findings[-1] == "and 30 more findings"
