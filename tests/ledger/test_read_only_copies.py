"""A copy that may only be read, with or without the log that lies beside it: never an older state than it holds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from zcdp.ledger import Ledger

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
