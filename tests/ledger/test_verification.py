"""Whoever changes a field, takes a row away, swaps two, cuts the end or writes a history anew is found."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from io import StringIO
from pathlib import Path

import pytest
from ledger.server import Server

from zcdp import Gaussian, Laplace, LossPair, RandomizedResponse, Subsampled
from zcdp.accounting.filter import GRID
from zcdp.ledger import Ledger, LedgerError
from zcdp.ledger.chain import START, Entry, digest, sealed_digest
from zcdp.ledger.spend_text import written
from zcdp.ledger.store import Request, Row
from zcdp.ledger.verification import Replay
from zcdp.privacy.curve import Curve

Change = Callable[[sqlite3.Connection], object]
OTHER = {"seq": 99, "amount": "1/1000", "hash": "0" * 64, "format": 7, "length": 3, "head": "0" * 64, "bytes": b"other"}


OTHER |= {"budget": "1000", "spent": "1/1000"}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tampering") / "budget.db"
    with Ledger(path) as ledger:
        ledger.open_account("census", unit="person", rho=1, why="the census")
        ledger.open_account("survey", unit="person", epsilon=1, delta="1e-6")
        for n in range(3):
            ledger.release("census", Laplace(epsilon="0.1"), lambda n=n: b"noisy %d" % n, key=f"key {n}", why="tables")
        ledger.raise_budget("census", rho=2, why="board")
        ledger.spend("survey", Laplace(epsilon="0.01"), key="s", who="a job")
        assert ledger.verify()
    return path


@pytest.fixture
def copy(original: Path, quick: Path) -> Path:
    shutil.copy(original, quick / "budget.db")
    return quick / "budget.db"


def tamper(path: Path, change: Change | str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    for kind, table in (("edited", "entry"), ("removed", "entry"), ("edited", "sealed"), ("removed", "sealed")):
        connection.execute(f"DROP TRIGGER {table}_is_not_{kind}")
    if isinstance(change, str):
        assert connection.execute(change).rowcount > 0
    else:
        change(connection)
    connection.close()


def findings(path: Path, **options: str) -> tuple[str, ...]:
    with Ledger(path) as ledger:
        return ledger.verify(**options).findings


def edits() -> Iterator[tuple[str, str, int]]:
    fields = {"entry": Entry._fields, "ledger": ("length", "head"), "account": Row._fields}
    fields["sealed"] = ("account", "key", "bytes")
    rows = {"entry": 14, "ledger": 1, "account": 2, "sealed": 3}
    for table, names in fields.items():
        for name in names:
            for row in range(rows[table]):
                yield table, name, row


def test_every_edit_of_every_field_of_every_row_is_found(original: Path, quick: Path) -> None:
    path, tried = quick / "edited.db", 0
    for table, name, row in edits():
        shutil.copy(original, path)
        value = OTHER.get(name, "other")

        def change(connection: sqlite3.Connection, table=table, name=name, row=row, value=value) -> None:
            [(key, before)] = connection.execute(
                f"SELECT rowid, {name} FROM {table} ORDER BY rowid LIMIT 1 OFFSET {row}"
            )
            assert before != value
            connection.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (value, key))

        tamper(path, change)
        assert findings(path), (table, name, row)
        tried += 1
    assert tried == 14 * 12 + 2 + 2 * 11 + 9


def test_every_single_character_of_an_entry_counts(original: Path, quick: Path) -> None:
    """A blank at the end, one letter in another case, a field moved to its neighbour: the lengths are hashed too."""
    path = quick / "edited.db"
    for change in (
        "UPDATE entry SET why = why || ' ' WHERE seq = 2",
        "UPDATE entry SET why = upper(why) WHERE seq = 2",
        "UPDATE entry SET why = '', who = why WHERE seq = 2",
        "UPDATE entry SET account = 'censu', key = 's' || key WHERE seq = 4",
        "UPDATE entry SET amount = '0' || amount WHERE seq = 2",
        "UPDATE entry SET what = CAST(what AS BLOB) WHERE seq = 4",
        "UPDATE entry SET at = '2000-01-01T00:00:00.000000Z' WHERE seq = 4",
        "UPDATE account SET spent = '0'",
        "UPDATE account SET spent = '00' || spent",
        "UPDATE account SET budget = '4/2' WHERE name = 'census'",
        "UPDATE account SET budget = '1e400'",
        "UPDATE account SET terms = '[[[['",
        "UPDATE sealed SET bytes = bytes || x'00'",
        "UPDATE sealed SET bytes = 'text'",
        "UPDATE ledger SET length = 'many'",
        "UPDATE ledger SET head = x'00'",
        "DELETE FROM ledger",
        "UPDATE account SET name = x'00' WHERE name = 'census'",
        "UPDATE account SET terms = x'00'",
        "UPDATE entry SET account = x'00' WHERE seq = 2",
        "UPDATE entry SET seq = -5 WHERE seq = 2",
    ):
        shutil.copy(original, path)
        tamper(path, change)
        assert findings(path), change


def test_every_row_that_is_taken_away_is_missed(original: Path, quick: Path) -> None:
    path = quick / "cut.db"
    rows = [("entry", f"seq = {n}") for n in range(1, 15)] + [("account", f"rowid = {n}") for n in (1, 2)]
    rows += [("sealed", f"rowid = {n}") for n in (1, 2, 3)] + [("entry", f"seq > {n}") for n in range(1, 14)]
    for table, which in rows:
        shutil.copy(original, path)
        tamper(path, f"DELETE FROM {table} WHERE {which}")
        assert findings(path), (table, which)


def test_every_swap_of_two_rows_is_found(original: Path, quick: Path) -> None:
    path = quick / "swapped.db"
    for first in range(1, 15):
        for second in range(first + 1, 15):
            shutil.copy(original, path)

            def change(connection: sqlite3.Connection, first=first, second=second) -> None:
                for a, b in ((first, 1000), (second, first), (1000, second)):
                    connection.execute("UPDATE entry SET seq = ? WHERE seq = ?", (b, a))

            tamper(path, change)
            assert findings(path), (first, second)


def test_a_row_that_was_slipped_in_is_found(copy: Path) -> None:
    def change(connection: sqlite3.Connection) -> None:
        entry = Entry(*connection.execute("SELECT * FROM entry WHERE seq = 14").fetchone())
        made = entry._replace(seq=15, key="slipped in")
        made = made._replace(hash=digest(entry.hash, made))
        connection.execute("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", made)
        connection.execute("INSERT INTO sealed VALUES ('census', 'no such key', x'00')")

    tamper(copy, change)
    assert any("beyond the head" in text for text in findings(copy))
    assert any("never sealed" in text for text in findings(copy))


def rewrite(path: Path, change: Callable[[Entry], Entry | None]) -> None:
    """What someone does who knows how it works: edit, then compute all hashes and totals anew."""
    connection = sqlite3.connect(path, isolation_level=None)
    for kind in ("edited", "removed"):
        connection.execute(f"DROP TRIGGER entry_is_not_{kind}")
    connection.execute("DROP INDEX entry_once")
    entries = [Entry(*row) for row in connection.execute("SELECT * FROM entry ORDER BY seq")]
    connection.execute("DELETE FROM entry")
    last = Entry(0, *[""] * 10, START)  # type: ignore[call-arg]
    for entry in entries:
        if (made := change(entry)) is None:
            continue
        made = made._replace(seq=last.seq + 1)
        last = made._replace(hash=digest(last.hash, made))
        connection.execute("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", last)
    connection.execute("UPDATE ledger SET length = ?, head = ?", (last.seq, last.hash))
    connection.close()


def test_a_forged_chain_is_found_by_the_sums_or_by_the_expected_head(original: Path, copy: Path) -> None:
    with Ledger(original) as ledger:
        head = ledger.head
    rewrite(copy, lambda entry: entry._replace(why="something else"))
    assert findings(copy) == ()  # nothing in the file can tell
    assert any("went its own way" in text for text in findings(copy, expect_head=head))
    with pytest.raises(LedgerError, match="went its own way"):
        Ledger(copy, expect_head=head)


def test_a_forged_price_is_found_by_computing_it_again(copy: Path) -> None:
    rewrite(copy, lambda e: e._replace(amount="1/1000000") if e.kind == "spend" and e.key == "key 1" else e)
    found = findings(copy)
    assert any("less than what its plan costs" in text for text in found)
    assert any("its sum is not what the record adds up to" in text for text in found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: None if e.kind == "spend" and e.key == "key 1" else e, "does not fit what was done before"),
        (lambda e: None if e.kind == "open" and e.account == "survey" else e, "was not opened"),
        (lambda e: None if e.kind == "raise" else e, "its budget is not"),
        (lambda e: e._replace(what=e.what.replace('"1"', '"1/0"')) if e.account == "survey" else e, "cannot be read"),
        (lambda e: e._replace(what=e.what.replace('"1"', '"-1"')) if e.account == "survey" else e, "makes no sense"),
        (lambda e: e._replace(amount="1/2") if e.kind == "raise" else e, "no raise"),
        (lambda e: e._replace(why="") if e.kind == "raise" else e, "no raise"),
        (
            lambda e: e._replace(amount="5") if e.account == "survey" and e.kind == "open" else e,
            "larger than its epsilon",
        ),
        (lambda e: e._replace(key="key 0") if e.kind == "spend" and e.key == "key 1" else e, "does not fit"),
        (lambda e: e._replace(what="[]") if e.kind == "spend" and e.key == "key 1" else e, "cannot read"),
        (lambda e: e._replace(kind="gift") if e.kind == "deliver" and e.key == "key 1" else e, "does not belong"),
        (lambda e: e._replace(amount="2") if e.kind == "spend" and e.key == "key 1" else e, "more than the budget"),
        (lambda e: e._replace(what="sha256:00") if e.kind == "seal" else e, "not those on the record"),
    ],
)
def test_a_forged_chain_must_still_make_sense(copy: Path, change: Callable[[Entry], Entry | None], words: str) -> None:
    rewrite(copy, change)
    assert any(words in text for text in findings(copy)), findings(copy)


def test_a_restored_backup_is_found_by_the_expected_head(original: Path, tmp_path: Path) -> None:
    live, backup = tmp_path / "live.db", tmp_path / "backup.db"
    shutil.copy(original, live)
    with Ledger(live) as ledger:
        ledger.spend("census", Laplace(epsilon="0.3"), key="after the backup")
        head = ledger.head
    shutil.copy(original, backup)
    assert findings(backup) == ()
    assert any("a restored backup" in text for text in findings(backup, expect_head=head))
    with Ledger(backup) as ledger:  # and it stays found when it has grown again
        ledger.spend("census", Laplace(epsilon="0.2"), key="on the backup")
    assert any("went its own way" in text for text in findings(backup, expect_head=head))


def test_a_slip_of_the_hand_is_stopped(ledger: Ledger, address: str) -> None:
    ledger.release("census", Laplace(epsilon="0.1"), lambda: b"x", key="a")
    for change in (
        "UPDATE entry SET why = ''",
        "DELETE FROM entry",
        "UPDATE sealed SET account = 'b'",
        "DELETE FROM sealed",
    ):
        if address.startswith("postgresql"):
            import psycopg

            at = change.replace("entry", "zcdp_ledger.entry").replace("sealed", "zcdp_ledger.sealed")
            with psycopg.connect(address) as connection, pytest.raises(psycopg.Error, match="only added to"):
                connection.execute(at)
        else:
            connection = sqlite3.connect(address)
            with pytest.raises(sqlite3.IntegrityError, match=r"only added|first seal"):
                connection.execute(change)
            connection.close()
    assert ledger.verify()


def test_tampering_on_postgres(server: Server) -> None:
    import psycopg

    address = server.fresh()
    with Ledger(address) as ledger:
        ledger.open_account("census", unit="person", rho=1)
        for n in range(2):
            ledger.release("census", Laplace(epsilon="0.1"), lambda: b"noisy", key=f"key {n}")
        assert ledger.verify()
        with psycopg.connect(address, autocommit=True) as connection:
            for table in ("entry", "sealed"):
                connection.execute(f"DROP TRIGGER {table}_stays ON zcdp_ledger.{table}")
            columns = {"entry": Entry._fields, "ledger": ("length", "head"), "sealed": ("account", "key", "bytes")}
            columns["account"] = ("name", "terms", "above", "budget", "spent", "delta", "period", "closed")
            for table, names in columns.items():
                for name in names:
                    with connection.transaction(force_rollback=True):
                        which = f"(SELECT ctid FROM zcdp_ledger.{table} ORDER BY ctid LIMIT 1)"
                        value = {**OTHER, "budget": 10**2000, "spent": 999, "delta": 999}.get(name, "other")
                        connection.execute(f"UPDATE zcdp_ledger.{table} SET {name} = %s WHERE ctid = {which}", (value,))
                        assert _seen_in(connection, ledger), (table, name)
            for n in range(1, 9):
                with connection.transaction(force_rollback=True):
                    connection.execute("DELETE FROM zcdp_ledger.entry WHERE seq = %s", (n,))
                    assert _seen_in(connection, ledger), n
        assert ledger.verify()


def _seen_in(connection: object, ledger: Ledger) -> bool:
    """Verify through the connection that has changed something and not committed it."""
    store = ledger._store
    mine, store._connection = store._connection, connection  # type: ignore[attr-defined]
    try:
        return not ledger.verify()
    finally:
        store._connection = mine  # type: ignore[attr-defined]


# A history that was written anew, with right hashes and right sums, must still make sense.


Forgery = Callable[[Entry], "Entry | list[Entry] | None"]


TENTH = Laplace(epsilon="0.1")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def forge(path: Path, change: Forgery) -> None:
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
    made = [(name, terms, *(int(Fraction(sum_) * GRID) for sum_ in sums)) for name, (terms, *sums) in rows.items()]
    for name, terms, budget, spent in made:
        row = (name, terms, str(budget), str(spent))
        connection.execute("INSERT INTO account (name, terms, budget, spent) VALUES (?, ?, ?, ?)", row)
    connection.execute("UPDATE ledger SET length = ?, head = ?", (length, head))
    connection.close()


def _total(rows: dict[str, list[str]], entry: Entry) -> None:
    if entry.kind in ("open", "raise"):
        spent = rows.get(entry.account, ["", "", "0"])[2]
        rows[entry.account] = [entry.what, entry.amount, spent]
    elif entry.kind == "spend":
        rows[entry.account][2] = str(Fraction(rows[entry.account][2]) + Fraction(entry.amount))


def findings_of(path: Path, change: Forgery, tmp_path: Path) -> tuple[str, ...]:
    copy = tmp_path / "forged.db"
    shutil.copy(path, copy)
    forge(copy, change)
    with Ledger(copy) as ledger:
        return ledger.verify().findings


def only(kind: str, account: str, key: str, change: Forgery) -> Forgery:
    """The change of one entry."""
    return lambda e: change(e) if (e.kind, e.account, e.key) == (kind, account, key) else e


def terms(**changes: str | None) -> Forgery:
    """An entry whose terms are others; None takes a field away."""

    def change(entry: Entry) -> Entry:
        data = {**json.loads(entry.what), **changes}
        made = json.dumps({name: value for name, value in data.items() if value is not None}, sort_keys=True)
        return entry._replace(what=made)

    return change


def raised(account: str, budget: str | None = None, **changes: str | None) -> Forgery:
    """A raise on other terms."""

    def change(entry: Entry) -> Entry:
        made = terms(**changes)(entry)
        assert isinstance(made, Entry)
        return made._replace(amount=budget or entry.amount)

    return only("raise", account, "", change)


def spent(account: str, what: Curve | str, amount: str = "1/1000") -> Forgery:
    """Something else spent under the key b."""
    text = what if isinstance(what, str) else written(what)
    return only("spend", account, "b", lambda e: e._replace(what=text, amount=amount))


OPENED = '{"delta": "1/1000000", "epsilon": "9", "measure": "rho", "neighbours": "add-remove", "unit": "person"}'
FORGERIES: dict[str, tuple[Forgery, str]] = {
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


def test_forging_changes_nothing_by_itself(honest: Path, quick: Path) -> None:
    assert findings_of(honest, lambda entry: entry, quick) == ()


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_history_is_found(name: str, honest: Path, quick: Path) -> None:
    change, words = FORGERIES[name]
    found = findings_of(honest, change, quick)
    assert any(words in text for text in found), found


@pytest.mark.parametrize("name", [one for one in FORGERIES if one != "a seal that was taken away"])
def test_a_forged_history_is_not_imported(name: str, honest: Path, quick: Path) -> None:
    copy = quick / "forged.db"
    shutil.copy(honest, copy)
    forge(copy, FORGERIES[name][0])
    lines = StringIO()
    with Ledger(copy) as ledger:
        ledger.export(lines)
    with pytest.raises(LedgerError):
        Ledger(quick / "new.db").load(lines.getvalue().splitlines())
    assert not (quick / "new.db").exists() or not (quick / "new.db").stat().st_size


def test_sealed_bytes_that_were_taken_away_are_missed(honest: Path, quick: Path) -> None:
    copy = quick / "budget.db"
    shutil.copy(honest, copy)
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


def test_an_export_without_its_sealed_bytes_is_not_imported(honest: Path, quick: Path) -> None:
    lines = StringIO()
    with Ledger(honest) as ledger:
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


# The price of a plan is that of its own account's currency, whatever another account paid for the same plan. (bug L7)


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


# Histories of trees, reservations and periods that no ledger would have admitted.

PLAIN = {"measure": "rho", "neighbours": "add-remove", "unit": "person"}
LATER, OVER = "2026-11-20T00:00:00.000000Z", "2026-11-01T00:00:00.000000Z"


def line(kind: str, account: str, key: str = "", what: str = "", amount: str = "", **more: str) -> Entry:
    """An entry of 18 November 2026 that is not in a chain yet."""
    given = {"at": "2026-11-18T10:00:00.000000Z", "why": "so", **more}
    return Entry(0, given["at"], kind, account, key, what, amount, given["why"], "", "me", "0.3.0", "")


def opened(name: str, budget: str = "1", **more: str) -> Entry:
    return line("open", name, what=json.dumps({**PLAIN, **more}, sort_keys=True), amount=budget)


def paid(account: str, key: str, rho: str, delta: str = "", kind: str = "spend", until: str = "", **more: str) -> Entry:
    what = json.dumps({"delta": delta, "rho": rho} if delta else {"rho": rho})
    amount = f"{rho} {delta}" if delta else rho
    return line(kind, account, key, f"{until} {what}" if until else what, amount, **more)


TREE = [opened("top"), opened("cap", under="top"), opened("monthly", every="month", zone="UTC")]
MONTH = line("period", "monthly", what="2026-11")
KEPT = paid("cap", "k", "1/2", kind="reserve", until=LATER)
FORGED_TREES: dict[str, tuple[list[Entry], str]] = {
    "a level above is overspent": (
        [paid("cap", "a", "1/2"), paid("top", "a", "3/4")],
        "spends more than the budget",
    ),
    "a level above is overspent from below": (
        [paid("top", "a", "3/4"), paid("cap", "a", "1/2")],
        "spends more than the budget of 'top', above it",
    ),
    "under nobody": ([opened("new", under="nobody")], "is under an account that was not opened"),
    "under other people": (
        [
            line(
                "open",
                "new",
                what=json.dumps({**PLAIN, "under": "top", "unit": "household"}, sort_keys=True),
                amount="1",
            )
        ],
        "does not count what the account above it counts",
    ),
    "under a closed one": ([line("close", "top"), opened("new", under="top")], "under an account that is closed"),
    "closed twice": ([line("close", "top"), line("close", "top")], "is no close of an open account"),
    "closed without a reason": ([line("close", "top", why=" ")], "is no close of an open account"),
    "spent after the close": ([line("close", "top"), paid("cap", "a", "1/2")], "closed of 'top', above it"),
    "raised after the close": (
        [line("close", "top"), line("raise", "top", what=TREE[0].what, amount="2")],
        "changes the budget of a closed account",
    ),
    "lowered too far": (
        [paid("top", "a", "1/2"), line("lower", "top", what=TREE[0].what, amount="1/4")],
        "below what is spent and reserved",
    ),
    "lowered below a reservation": (
        [KEPT, line("lower", "cap", what=TREE[1].what, amount="1/4")],
        "below what is spent and reserved",
    ),
    "a lower that raises": ([line("lower", "top", what=TREE[0].what, amount="2")], "is no lower of the budget"),
    "a raise that lowers": ([line("raise", "top", what=TREE[0].what, amount="1/2")], "is no raise of the budget"),
    "a reservation beyond the budget": (
        [paid("top", "a", "3/4"), KEPT],
        "spends more than the budget of 'top', above it",
    ),
    "a reservation that was over": ([paid("cap", "k", "1/2", kind="reserve", until=OVER)], "until a time that is over"),
    "a reservation of nothing": ([line("reserve", "cap", "k", f"{LATER} x", "0")], "spends nothing"),
    "two reservations": ([KEPT, KEPT], "does not fit what was done before"),
    "expired before its time": ([KEPT, line("expire", "cap", "k")], "ends a reservation before its time"),
    "given back twice": (
        [KEPT, line("release", "cap", "k"), line("release", "cap", "k")],
        "does not fit what was done",
    ),
    "given back after the spend": (
        [KEPT, paid("cap", "k", "1/2"), line("release", "cap", "k")],
        "does not fit what was",
    ),
    "committed after its end": ([KEPT, paid("cap", "k", "1/2", at=LATER)], "commits a reservation that was over"),
    "committed for something else": ([KEPT, paid("cap", "k", "1/4")], "or of something else"),
    "sealed under a reservation": ([KEPT, line("seal", "cap", "k", "sha256:00")], "does not fit what was done before"),
    "a period of what does not renew": ([line("period", "top", what="2026-11")], "does not renew"),
    "a period twice": ([MONTH, paid("monthly", "a", "1"), MONTH], "opens a period that was over"),
    "a period before": ([MONTH, MONTH._replace(what="2026-10")], "opens a period that was over"),
    "a period too early": ([MONTH._replace(what="2026-12")], "had not begun"),
    "no period": ([paid("monthly", "a", "1")], "before a period was opened"),
    "more than a period has": (
        [MONTH, paid("monthly", "a", "3/4"), paid("monthly", "b", "1/2")],
        "more than the budget",
    ),
    "a delta without a budget of it": ([paid("top", "a", "1/2", "1/1000")], "has more delta than the budget"),
    "a delta that was not charged": (
        [line("spend", "top", "a", '{"delta": "1/1000", "rho": "1/2"}', "1/2")],
        "was charged less delta than it states",
    ),
    "an amount in other words": ([line("spend", "top", "a", '{"rho": "1/2"}', "1/2 0")], "is not an amount"),
}


@pytest.mark.parametrize("name", FORGED_TREES)
def test_a_forged_tree_is_found(name: str) -> None:
    lines, words = FORGED_TREES[name]
    replay, head, chain = Replay(), START, []
    for n, one in enumerate([line("ledger", "", what="id"), *TREE, *lines], 1):
        made = one._replace(seq=n)
        head = digest(head, made)
        chain.append(made._replace(hash=head))
    replay.read(chain[: 1 + len(TREE)])
    assert replay.findings == []
    replay.read(chain[1 + len(TREE) :])
    assert any(words in text for text in replay.findings), replay.findings


def test_an_honest_tree_is_not() -> None:
    lines = [
        KEPT, paid("cap", "k", "1/2"), MONTH, paid("monthly", "a", "1"),
        MONTH._replace(what="2026-12", at="2026-12-01T00:00:00.000000Z"),
        paid("monthly", "b", "1", at="2026-11-30T00:00:00.000000Z"),  # the clock was set back: December goes on
        paid("top", "z", "1/4", kind="reserve", until=LATER), line("expire", "top", "z", at=LATER),
        paid("top", "z", "1/2"),
        line("lower", "cap", what=TREE[1].what, amount="1/2"), line("close", "cap"),
    ]  # fmt: skip
    replay, head = Replay(), START
    for n, one in enumerate([line("ledger", "", what="id"), *TREE, *lines], 1):
        made = one._replace(seq=n)
        head = digest(head, made)
        replay.read([made._replace(hash=head)])
    assert replay.findings == []
    assert {name: account.remaining for name, account in replay.accounts.items()} == {"top": 0, "cap": 0, "monthly": 0}
