"""A history that was written anew, with right hashes and right sums, must still make sense."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from io import StringIO
from pathlib import Path

import pytest

from zcdp import Laplace, LossPair, RandomizedResponse, Subsampled
from zcdp.ledger import Ledger, LedgerError
from zcdp.ledger.chain import START, Entry, digest, sealed_digest
from zcdp.ledger.migrations import STEPS, script
from zcdp.ledger.spend_text import written
from zcdp.privacy.curve import Curve

Change = Callable[[Entry], "Entry | list[Entry] | None"]
TENTH = Laplace(epsilon="0.1")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An account of each kind, each with spends and a raise; two spends are sealed, one of them delivered."""
    path = tmp_path_factory.mktemp("forged") / "budget.db"
    with Ledger(path) as ledger:
        ledger.open_account("rho", unit="person", rho=1)
        ledger.open_account("epsilon", unit="person", epsilon=4, delta="1e-6")
        ledger.open_account("renyi", unit="person", neighbours="replace", epsilon=4, delta="1e-6", order=20)
        for name in ("rho", "epsilon", "renyi"):
            ledger.spend(name, TENTH, key="a")
            ledger.seal(name, "a", b"noisy")
            ledger.deliver(name, "a")
            ledger.spend(name, 2 * TENTH, key="b")
            ledger.seal(name, "b", b"more")
        ledger.raise_budget("rho", rho=2, why="the board")
        ledger.raise_budget("epsilon", epsilon=5, why="the board")
        ledger.raise_budget("renyi", epsilon=5, why="the board")
        assert ledger.verify()
    return path


def forge(path: Path, change: Change) -> None:
    """What someone does who knows how it works: edit entries, then compute all hashes and all totals anew."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    for table, kind in (("entry", "edited"), ("entry", "removed"), ("sealed", "edited"), ("sealed", "removed")):
        connection.execute(f"DROP TRIGGER {table}_is_not_{kind}")
    connection.execute("DROP INDEX entry_once")
    before = [Entry(*row) for row in connection.execute("SELECT * FROM entry ORDER BY seq")]
    connection.execute("DELETE FROM entry")
    connection.execute("DELETE FROM account")
    head, length, rows = START, 0, {}  # type: ignore[var-annotated]
    for entry in before:
        made = change(entry)
        for one in made if isinstance(made, list) else [made] if made is not None else []:
            length += 1
            numbered = one._replace(seq=length)
            head = digest(head, numbered)
            connection.execute(f"INSERT INTO entry VALUES ({', '.join('?' * 12)})", numbered._replace(hash=head))
            _total(rows, one)
    connection.executemany("INSERT INTO account VALUES (?, ?, ?, ?)", [(name, *row) for name, row in rows.items()])
    connection.execute("UPDATE ledger SET length = ?, head = ?", (length, head))
    connection.close()


def _total(rows: dict[str, list[str]], entry: Entry) -> None:
    if entry.kind in ("open", "raise"):
        spent = rows.get(entry.account, ["", "", "0"])[2]
        rows[entry.account] = [entry.what, entry.amount, spent]
    elif entry.kind == "spend":
        rows[entry.account][2] = str(Fraction(rows[entry.account][2]) + Fraction(entry.amount))


def findings(path: Path, change: Change, tmp_path: Path) -> tuple[str, ...]:
    copy = tmp_path / "forged.db"
    shutil.copy(path, copy)
    forge(copy, change)
    with Ledger(copy) as ledger:
        return ledger.verify().findings


def only(kind: str, account: str, key: str, change: Change) -> Change:
    """The change of one entry."""
    return lambda e: change(e) if (e.kind, e.account, e.key) == (kind, account, key) else e


def terms(**changes: str | None) -> Change:
    """An entry whose terms are others; None takes a field away."""

    def change(entry: Entry) -> Entry:
        data = {**json.loads(entry.what), **changes}
        made = json.dumps({name: value for name, value in data.items() if value is not None}, sort_keys=True)
        return entry._replace(what=made)

    return change


def raised(account: str, budget: str | None = None, **changes: str | None) -> Change:
    """A raise on other terms."""

    def change(entry: Entry) -> Entry:
        made = terms(**changes)(entry)
        assert isinstance(made, Entry)
        return made._replace(amount=budget or entry.amount)

    return only("raise", account, "", change)


def spent(account: str, what: Curve | str, amount: str = "1/1000") -> Change:
    """Something else spent under the key b."""
    text = what if isinstance(what, str) else written(what)
    return only("spend", account, "b", lambda e: e._replace(what=text, amount=amount))


OPENED = '{"delta": "1/1000000", "epsilon": "9", "measure": "rho", "neighbours": "add-remove", "unit": "person"}'
FORGERIES: dict[str, tuple[Change, str]] = {
    "a raise for another unit": (raised("rho", unit="household"), "changes terms that are fixed"),
    "a raise for other neighbours": (raised("rho", neighbours="replace"), "changes terms that are fixed"),
    "a raise for no known neighbours": (raised("rho", neighbours="twins"), "cannot be read"),
    "a raise of delta": (raised("epsilon", delta="1/10"), "changes terms that are fixed"),
    "a raise that forgets epsilon": (raised("epsilon", "100", epsilon=None), "cannot be read"),
    "a raise that forgets delta": (raised("epsilon", "100", delta=None), "cannot be read"),
    "a raise that forgets both": (raised("epsilon", "100", epsilon=None, delta=None), "changes terms that are fixed"),
    "a raise that brings an epsilon": (raised("rho", epsilon="9"), "cannot be read"),
    "a raise that brings both": (raised("rho", epsilon="9", delta="1/1000000"), "changes terms that are fixed"),
    "a raise to another order": (raised("renyi", order="3"), "changes terms that are fixed"),
    "a raise to another currency": (raised("renyi", order=None, measure="rho"), "changes terms that are fixed"),
    "a raise into orders": (raised("epsilon", order="20", measure="renyi"), "changes terms that are fixed"),
    "a raise beyond its epsilon": (raised("epsilon", "3"), "larger than its epsilon and delta allow"),
    "a raise that is none": (raised("rho", "1"), "is no raise of the budget"),
    "a raise without a reason": (only("raise", "rho", "", lambda e: e._replace(why="  ")), "with a reason"),
    "terms without their measure": (only("open", "rho", "", terms(measure="renyi")), "cannot be read"),
    "an account that is opened twice": (only("open", "rho", "", lambda e: [e, e]), "opens an account that is open"),
    "an account that is opened again": (
        only("raise", "rho", "", lambda e: e._replace(kind="open", what=OPENED, amount="9")),
        "opens an account that is open",
    ),
    "a price in rho where divergences are counted": (spent("renyi", 2 * TENTH, "1/500"), "less than what its plan"),
    "a bare rho where divergences are counted": (spent("renyi", '{"rho": "1/1000"}'), "is known by rho alone"),
    "a price below that of the plan": (spent("rho", 2 * TENTH, "1/1000"), "less than what its plan costs"),
    "a price below a bare rho": (spent("rho", '{"rho": "1/100"}'), "less than what its plan costs"),
    "a bare rho below 0": (spent("rho", '{"rho": "-1"}'), "cannot read"),
    "a bare rho that is also a plan": (spent("rho", '{"rho": "1/1000", "plan": "[]"}'), "cannot read"),
    "a price of nothing": (spent("rho", '{"rho": "1/1000"}', "0"), "spends nothing"),
    "a plan for other neighbours": (spent("rho", RandomizedResponse(epsilon="0.01", k=2)), "is stated for local"),
    "a sample for other neighbours": (spent("renyi", Subsampled(TENTH, rate="0.01"), "1"), "is stated for add-remove"),
    "a plan that gives inputs away": (spent("rho", LossPair(p=[1, 0], q=[0, 1])), "cannot price"),
    "a plan beyond the budget": (spent("rho", '{"rho": "3"}', "3"), "spends more than the budget"),
    "a spend before its raise": (
        only("spend", "rho", "b", lambda e: e._replace(what='{"rho": "3/2"}', amount="3/2")),
        "spends more than the budget",
    ),
    "a spend without a key": (only("spend", "rho", "b", lambda e: e._replace(key="")), "does not fit"),
    "a spend from another account": (only("spend", "rho", "b", lambda e: e._replace(account="renyi")), "does not fit"),
    "a spend from an account that is not there": (
        only("spend", "rho", "a", lambda e: e._replace(kind="deliver", account="none")),
        "was not opened",
    ),
    "a key that is spent twice": (only("spend", "rho", "b", lambda e: [e, e]), "does not fit what was done before"),
    "a key that is sealed twice": (only("seal", "rho", "b", lambda e: [e, e]), "does not fit what was done before"),
    "a key that is delivered twice": (only("deliver", "rho", "a", lambda e: [e, e]), "does not fit what was done"),
    "a delivery of what was not sealed": (only("seal", "rho", "a", lambda _: None), "does not fit what was done"),
    "a seal of other bytes": (
        only("seal", "rho", "a", lambda e: e._replace(what=sealed_digest(b"other"))),
        "the sealed bytes are not those on the record",
    ),
    "a seal that was taken away": (only("seal", "rho", "b", lambda _: None), "never sealed on the record"),
    "a second ledger": (only("open", "rho", "", lambda e: [e, e._replace(kind="ledger")]), "does not belong here"),
    "a refund": (only("raise", "rho", "", lambda e: [e, e._replace(kind="refund")]), "does not belong here"),
}


def test_forging_changes_nothing_by_itself(original: Path, quick: Path) -> None:
    assert findings(original, lambda entry: entry, quick) == ()


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_history_is_found(name: str, original: Path, quick: Path) -> None:
    change, words = FORGERIES[name]
    found = findings(original, change, quick)
    assert any(words in text for text in found), found


@pytest.mark.parametrize("name", [one for one in FORGERIES if one != "a seal that was taken away"])
def test_a_forged_history_is_not_imported(name: str, original: Path, quick: Path) -> None:
    copy = quick / "forged.db"
    shutil.copy(original, copy)
    forge(copy, FORGERIES[name][0])
    lines = StringIO()
    with Ledger(copy) as ledger:
        ledger.export(lines)
    with pytest.raises(LedgerError):
        Ledger(quick / "new.db").load(lines.getvalue().splitlines())
    assert not (quick / "new.db").exists() or not (quick / "new.db").stat().st_size


def test_sealed_bytes_that_were_taken_away_are_missed(original: Path, quick: Path) -> None:
    copy = quick / "budget.db"
    shutil.copy(original, copy)
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.execute("DROP TRIGGER sealed_is_not_removed")
    connection.execute("DELETE FROM sealed WHERE account = 'rho' AND key = 'b'")
    connection.close()
    with Ledger(copy) as ledger:
        assert ledger.verify().findings == ("account 'rho', key 'b': the sealed bytes are missing",)
        assert ledger.verify(recompute=False).findings == ("account 'rho', key 'b': the sealed bytes are missing",)
        with pytest.raises(LedgerError, match="the sealed bytes are missing"):
            ledger.export(StringIO())
        with pytest.raises(LedgerError, match="nothing is sealed under this key"):
            ledger.deliver("rho", "b")


def test_an_export_without_its_sealed_bytes_is_not_imported(original: Path, quick: Path) -> None:
    lines = StringIO()
    with Ledger(original) as ledger:
        ledger.export(lines)
    for change in ({"sealed": None}, {"sealed": ""}, {"sealed": "bm9pc3l5"}, {"sealed": "no base64"}):
        forged = []
        for line in lines.getvalue().splitlines():
            data = json.loads(line)
            if data["kind"] == "seal" and data["key"] == "b":
                data = {name: value for name, value in {**data, **change}.items() if value is not None}
            forged.append(json.dumps(data))
        with pytest.raises(LedgerError, match=r"not an entry of a ledger|not those on the record"):
            Ledger(quick / "new.db").load(forged)


PUBLISHED = {
    "sqlite_1.sql": "b271da49d7dd7f30159c8e5db66edd0562f4e6d49094553de06e9f26aa30811a",
    "postgres_1.sql": "78fb18157dcb29aab0c7c987ae1562e1ab85b9c6b278a62f4e9e01728c57f1ba",
}


def test_a_published_step_of_the_schema_is_never_edited() -> None:
    """Ledgers that were made by it have its tables, triggers and functions: what is to change is a further step."""
    assert {name: sha256(script(name).encode()).hexdigest() for steps in STEPS.values() for name in steps} == PUBLISHED
