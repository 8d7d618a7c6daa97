"""Where a ledger lives: every law is tried on a SQLite file and, where there is one, on a PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ledger.server import Server, reason, running

from zcdp.ledger import Ledger


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if why := reason():
        pytest.skip(why)
    with running() as found:
        yield found


@pytest.fixture
def quick() -> Iterator[Path]:
    """A folder in memory where there is one: for what is not about disks."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that everybody may enter, as those of pytest may not be."""
    with TemporaryDirectory() as found:
        Path(found).chmod(0o755)
        yield Path(found)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    found: Server = request.getfixturevalue("server")
    return found.fresh()


@pytest.fixture
def ledger(address: str) -> Iterator[Ledger]:
    with Ledger(address) as made:
        made.open_account("census", unit="person", rho=1)
        yield made
