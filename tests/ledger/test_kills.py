"""kill -9 at random moments: nothing acknowledged is lost, no key has two debits or two answers, all adds up."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ledger.server import Server, reason, running

from zcdp.ledger import Ledger

SCRIPT = Path(__file__).parent / "kills.py"


def judged(address: str, kills: int, seed: int = 7, *, least: int = 1) -> dict[str, object]:
    command = [sys.executable, str(SCRIPT), address, str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout)
    assert found["findings"] == []
    assert (found["lost"], found["two_debits"], found["two_answers"]) == (0, 0, 0)
    assert found["keys"] >= least
    return found


def test_programs_are_killed_on_sqlite(tmp_path: Path) -> None:
    judged(str(tmp_path / "budget.db"), 25)


@pytest.mark.deep
def test_programs_are_killed_a_thousand_times_on_sqlite(tmp_path: Path) -> None:
    judged(str(tmp_path / "budget.db"), 1000, least=500)


def test_programs_are_killed_on_postgres(server: Server) -> None:
    judged(server.fresh(), 10)


@pytest.mark.deep
def test_programs_are_killed_two_hundred_times_on_postgres(server: Server) -> None:
    judged(server.fresh(), 200, least=50)


@pytest.mark.deep
@pytest.mark.skipif(reason() is not None, reason=str(reason()))
def test_the_server_is_killed_while_programs_spend(tmp_path: Path) -> None:
    """The whole server dies and comes back twenty times, while programs spend and are killed as well."""
    with running() as server:
        address, flag = server.database("crashes"), tmp_path / "enough"
        with Ledger(address) as ledger:
            ledger.open_account("census", unit="person", rho=10**6)
        command = [sys.executable, str(SCRIPT), address, "100", "5", str(flag)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            time.sleep(2)
            for _ in range(20):
                time.sleep(0.7)
                server.kill()
                server.start()
                assert child.poll() is None
            flag.touch()
            found = json.loads(child.communicate(timeout=900)[0])
        assert found["findings"] == []
        assert (found["lost"], found["two_debits"], found["two_answers"]) == (0, 0, 0)
        assert found["keys"] >= 100
        assert found["killed"] >= 100


# Trees of accounts, with reservations: eight programs, each killed and replaced at any moment.


def judged_tree(address: str, kills: int, seed: int = 3) -> dict[str, object]:
    command = [sys.executable, str(SCRIPT.with_name("budget_kills.py")), address, str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout)
    assert (found["impossible"], found["unheard"], found["findings"], found["over"]) == ([], [], [], [])
    assert found["odd"] == []
    assert found["sums"]
    return found


def test_a_tree_survives_kills_on_sqlite(tmp_path: Path) -> None:
    judged_tree(str(tmp_path / "budget.db"), 12)


def test_a_tree_survives_kills_on_postgres(server: Server) -> None:
    judged_tree(server.fresh(), 8)


@pytest.mark.deep
def test_a_tree_survives_two_hundred_kills_on_postgres(server: Server) -> None:
    found = judged_tree(server.fresh(), 200)
    print(found)  # noqa: T201 - with -s: how often each state was met
    assert found["answers"] >= 400


@pytest.mark.deep
def test_a_tree_survives_five_hundred_kills_on_sqlite(tmp_path: Path) -> None:
    judged_tree(str(tmp_path / "budget.db"), 500)
