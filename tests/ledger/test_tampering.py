"""Whoever changes a field, takes a row away, swaps two, or cuts the end is found."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ledger.server import Server

from zcdp import Laplace
from zcdp.ledger import Ledger, LedgerError
from zcdp.ledger.chain import START, Entry, digest

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
    fields = {"entry": Entry._fields, "ledger": ("length", "head"), "account": ("name", "terms", "budget", "spent")}
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
    assert tried == 14 * 12 + 2 + 8 + 9


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
            columns["account"] = ("name", "terms", "budget", "spent")
            for table, names in columns.items():
                for name in names:
                    with connection.transaction(force_rollback=True):
                        which = f"(SELECT ctid FROM zcdp_ledger.{table} ORDER BY ctid LIMIT 1)"
                        value = OTHER.get(name, "other")
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
