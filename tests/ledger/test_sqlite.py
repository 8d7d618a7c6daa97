"""The file itself: its mode, where it may lie, full disks, read-only files, other people's databases, old versions."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger.server import Server

from zcdp.ledger import Ledger, LedgerBusy, LedgerError
from zcdp.ledger import sqlite as filesystem
from zcdp.ledger.sqlite import FIND_ENTRY as SQLITE
from zcdp.ledger.sqlite import failure

MOUNTS = r"""
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 21 0:40 / /home rw - nfs4 server:/home rw
31 30 8:2 / /home/me/disk rw - xfs /dev/sdb rw
32 21 0:41 / /mnt/my\040share rw shared:7 - cifs //server/share rw
33 21 0:42 / /mnt/over rw - nfs server:/x rw
34 21 0:43 / /mnt/over rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/x.db", None),
        ("/home/me/x.db", "nfs4"),
        ("/home/me/disk/x.db", None),
        ("/homework/x.db", None),
        ("/mnt/my share/a/b/x.db", "cifs"),
        ("/mnt/over/x.db", None),
    ],
)
def test_network_file_systems_are_recognised(path: str, kind: str | None) -> None:
    assert filesystem.network_mount(Path(path), MOUNTS) == kind


def test_network_file_systems_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:5 / {os.path.realpath(tmp_path)} rw - nfs4 s:/d rw\n")
    monkeypatch.setattr(filesystem, "MOUNTS", mounts)
    with pytest.raises(LedgerError, match=r"network file system \(nfs4\)"):
        Ledger(tmp_path / "a.db").open_account("census", unit="person", rho=1)
    assert not (tmp_path / "a.db").exists()


def test_only_the_owner_may_read_and_write(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Ledger(tmp_path / "a.db") as ledger:
            ledger.open_account("census", unit="person", rho=1)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) == {"a.db", "a.db-wal", "a.db-shm"}
    assert set(modes.values()) == {0o600}


def test_what_is_acknowledged_waits_for_the_disk(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        connection = ledger._store._opened.connection  # type: ignore[attr-defined]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "none.db")
    for look in (ledger.accounts, ledger.verify, lambda: ledger.spend("a", rho=1, key="k"), lambda: ledger.head):
        with pytest.raises(LedgerError, match="there is no ledger yet"):
            look()
    with pytest.raises(LedgerError, match="there is no directory"):
        Ledger(tmp_path / "no" / "a.db").open_account("a", unit="person", rho=1)
    with pytest.raises(LedgerError, match="is a directory"):
        Ledger(tmp_path).accounts()
    with pytest.raises(ValueError, match="would forget"):
        Ledger(":memory:")
    assert not list(tmp_path.iterdir())


def test_other_peoples_files_are_left_alone(tmp_path: Path) -> None:
    foreign = sqlite3.connect(tmp_path / "foreign.db")
    foreign.execute("CREATE TABLE entry (a)")
    foreign.commit()
    foreign.close()
    (tmp_path / "text.db").write_text("not a database at all, but long enough to look like one" * 40)
    for name in ("foreign.db", "text.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(LedgerError, match="not a ledger"):
            Ledger(tmp_path / name).open_account("census", unit="person", rho=1)
        with pytest.raises(LedgerError, match="not a ledger"):
            Ledger(tmp_path / name).accounts()
        assert (tmp_path / name).read_bytes() == before


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


SPEND_ALL = """
import sys
from zcdp.ledger import Ledger, LedgerError
ledger = Ledger(sys.argv[1] if len(sys.argv) > 1 else PATH)
done = 0
try:
    for n in range(100000):
        ledger.spend("census", rho="1e-6", key=f"{n}", why="x" * 4000)
        done += 1
except LedgerError as error:
    print(done, error)
"""


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The limit on file sizes, as the system enforces it: the write is refused, and nothing is half written."""
    path = tmp_path / "a.db"
    with Ledger(path) as ledger:
        ledger.open_account("census", unit="person", rho=1)
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000))\n"
    told = run(limit + SPEND_ALL.replace("PATH", repr(str(path))))
    acknowledged, words = told.split(" ", 1)
    assert "cannot be written" in words
    assert "nothing was acknowledged" in words
    _still_whole(path, int(acknowledged))


def _still_whole(path: Path, acknowledged: int) -> None:
    with Ledger(path) as ledger:
        assert ledger.verify().findings == ()
        spends = sum(entry.kind == "spend" for entry in ledger.history())
        assert spends in (acknowledged, acknowledged + 1)
        assert acknowledged > 3
        ledger.spend("census", rho="0.1", key="after")  # there is room again
        assert ledger.verify().findings == ()


@pytest.mark.skipif(
    os.getuid() != 0, reason="NOT CHECKED: a full disk needs a file system of its own, and root to mount it"
)
def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("NOT CHECKED: a full disk, as nothing can be mounted here")
    try:
        path = disk / "a.db"
        with Ledger(path) as ledger:
            ledger.open_account("census", unit="person", rho=1)
        acknowledged, words = run(SPEND_ALL.replace("PATH", repr(str(path)))).split(" ", 1)
        assert "the disk is full" in words
        shutil.copytree(disk, tmp_path / "rescued")
        _still_whole(tmp_path / "rescued" / "a.db", int(acknowledged))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_that_may_not_be_written(open_path: Path) -> None:
    folder = open_path / "archive"
    folder.mkdir()
    path = folder / "a.db"
    with Ledger(path) as ledger:
        ledger.open_account("census", unit="person", rho=1)
        ledger.spend("census", rho="0.25", key="a")
        head = ledger.head
    path.chmod(0o444)
    folder.chmod(0o555)
    code = f"""
import os
from zcdp.text.suggestions import unknown
from zcdp.ledger import Ledger, LedgerError, sqlite
if os.getuid() == 0:  # root may write everything: be someone else
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
ledger = Ledger({str(path)!r})
assert ledger.remaining("census") == 3 * ledger.account("census").spent
assert ledger.verify(expect_head={head!r})
for write in (
    lambda: ledger.spend("census", rho="0.1", key="b"),
    lambda: ledger.seal("census", "a", b"x"),
    lambda: ledger.raise_budget("census", rho=9, why="w"),
    lambda: ledger.open_account("b", unit="person", rho=1),
):
    try:
        write()
        raise SystemExit("written")
    except LedgerError as error:
        assert "read-only" in str(error), error
"""
    try:
        before = path.read_bytes()
        run(code)
        assert path.read_bytes() == before
    finally:
        folder.chmod(0o755)
    with Ledger(path, expect_head=head) as ledger:
        assert ledger.verify()


def test_a_clock_that_runs_backwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(["2030-01-01T00:00:00.000000Z", "2031-01-01T00:00:00.000000Z", "1999-12-31T23:59:59.999999Z"])
    monkeypatch.setattr("zcdp.ledger.sqlite.now", lambda: next(times))
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        ledger.spend("census", rho="0.1", key="a")
        assert [entry.at[:4] for entry in ledger.history()] == ["2030", "2031", "1999"]
        assert ledger.verify()


def test_two_programs_make_one_ledger(tmp_path: Path, server: Server) -> None:
    for address in (str(tmp_path / "a.db"), server.fresh()):
        code = f"from zcdp.ledger import Ledger; Ledger({address!r}).open_account('census', unit='person', rho=1)"
        children = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", code]) for _ in range(4)]
        assert [child.wait(60) for child in children] == [0] * 4
        with Ledger(address) as ledger:
            assert [entry.kind for entry in ledger.history()] == ["ledger", "open"]
            assert ledger.verify()


# A copy that may only be read, with or without the log that lies beside it: never an older state than it holds.


LOOK = """
import json, os, sys
from zcdp.text.suggestions import unknown
from zcdp.ledger import Ledger, LedgerError, sqlite
if os.getuid() == 0:  # root may write everything: be someone else
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with Ledger(sys.argv[1]) as ledger:
        print(json.dumps({"head": ledger.head, "spent": str(ledger.account("census").spent)}))
except LedgerError as error:
    print(json.dumps({"refused": str(error)}))
"""


OLD, NEW = "1/10", "3/10"


@pytest.fixture
def folder(open_path: Path) -> Iterator[Path]:
    """The file of a ledger as it was before two more spends, which stand in the log beside it alone."""
    live, made = open_path / "live", open_path / "copy"
    live.mkdir()
    made.mkdir()
    with Ledger(live / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        ledger.spend("census", rho=OLD, key="a")
    with Ledger(live / "a.db") as ledger:
        for key in ("b", "c"):
            ledger.spend("census", rho="1/10", key=key)
        for name in ("a.db", "a.db-wal", "a.db-shm"):
            shutil.copy(live / name, made / name)
    assert (made / "a.db-wal").stat().st_size
    yield made
    made.chmod(0o755)


def seen(folder: Path, *, mode: int = 0o555, name: Path | None = None) -> dict[str, str]:
    """What somebody sees who may read the files and write none of them."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(mode)
    before = {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")}
    command = [sys.executable, "-c", LOOK, str(name or folder / "a.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {name: (folder / name).read_bytes() for name in before} == before
    told: dict[str, str] = json.loads(done.stdout)
    return told


def test_with_log_and_memory_all_is_read(folder: Path) -> None:
    assert seen(folder)["spent"] == NEW


@pytest.mark.parametrize("linked", [False, True])
def test_a_log_that_cannot_be_read_is_not_passed_over(folder: Path, open_path: Path, linked: bool) -> None:
    """Without its shared memory, which nobody may make here, the log is closed: what it holds is not left out."""
    (folder / "a.db-shm").unlink()
    (open_path / "link.db").symlink_to(folder / "a.db")
    told = seen(folder, name=open_path / "link.db" if linked else None)
    assert "cannot be read: the log a.db-wal beside it holds what was written last" in told["refused"]


def test_where_the_memory_may_be_made_all_is_read(folder: Path) -> None:
    (folder / "a.db-shm").unlink()
    assert seen(folder, mode=0o777)["spent"] == NEW


@pytest.mark.parametrize("log", [None, b""])
def test_without_a_log_the_file_is_all_there_is(folder: Path, log: bytes | None) -> None:
    (folder / "a.db-shm").unlink()
    (folder / "a.db-wal").unlink()
    if log is not None:
        (folder / "a.db-wal").write_bytes(log)
    assert seen(folder)["spent"] == OLD


@pytest.mark.skipif(os.getuid() != 0, reason="NOT CHECKED: a folder of somebody else needs root to be made")
def test_a_folder_that_may_not_be_entered(folder: Path) -> None:
    assert seen(folder, mode=0o700)["refused"] == f"{folder / 'a.db'} cannot be read: Permission denied"


# No timing here: that each look-up goes by an index is what keeps a spend as fast after a million entries.


def test_a_key_is_found_by_the_index_on_sqlite(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
    connection = sqlite3.connect(tmp_path / "a.db")
    [(*_, how)] = connection.execute(f"EXPLAIN QUERY PLAN {SQLITE}", ("a", "b", "c"))
    connection.close()
    assert how == "SEARCH entry USING INDEX entry_once (account=? AND key=? AND kind=?)"


def test_every_promise_to_the_disk_is_asked_for(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        connection = ledger._store._opened.connection  # type: ignore[attr-defined]
        asked = {"synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1, "cell_size_check": 1, "trusted_schema": 0}
        found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in asked}
        assert found == asked
        assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"zcdp", "big"),)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_FULL, "the disk is full"),
        (sqlite3.SQLITE_READONLY, "it is read-only"),
        (sqlite3.SQLITE_IOERR, "the disk reports an error"),
        (sqlite3.SQLITE_IOERR_FSYNC, "the disk reports an error"),
        (sqlite3.SQLITE_CANTOPEN, "it cannot be opened"),
        (sqlite3.SQLITE_PERM, "permission denied"),
        (sqlite3.SQLITE_NOTADB, "it is not a ledger"),
        (sqlite3.SQLITE_CORRUPT, "it is damaged"),
        (sqlite3.SQLITE_ERROR, "something else"),
    ],
)
def test_what_sqlite_says_in_plain_words(code: int, words: str) -> None:
    error = sqlite3.OperationalError("something else")
    error.sqlite_errorcode = code  # type: ignore[misc]
    assert str(failure("a.db", error, 5, write=False)) == f"a.db cannot be read: {words}"
    written = failure("a.db", error, 5, write=True)
    assert str(written) == f"a.db cannot be written: {words}: nothing was acknowledged, repeat with the same key"
    assert not isinstance(written, LedgerBusy)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_BUSY_SNAPSHOT])
def test_a_busy_ledger_is_called_busy(code: int) -> None:
    error = sqlite3.OperationalError("locked")
    error.sqlite_errorcode = code  # type: ignore[misc]
    found = failure("a.db", error, 2.5, write=True)
    assert isinstance(found, LedgerBusy)
    assert str(found) == "a.db is in use by another program (waited 2.5 s): nothing was changed"
