"""Questions in real processes: the newest is answered, an older one is given up, what hangs is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zcdp.explore.desk import Desk, Superseded

SMALL = {"text": '[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=1)"\n', "source": "a.toml"}
LONG = {"mechanism": "1000 * Subsampled(Gaussian(sigma=0.7), size=100, of=10000)", "delta": "1e-6", "uses": "1000"}


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    made = Desk(spare=True, early=True)
    yield made
    made.close()


def pid(desk: Desk) -> int:
    return desk._worker._process.pid


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_answer_comes_and_the_process_stays(desk: Desk) -> None:
    before = pid(desk)
    for _ in range(3):
        [event] = desk.ask("show", **SMALL)
        assert "0.500000" in event["html"]["summary"] or "0.5" in event["html"]["summary"]
    assert pid(desk) == before


def test_an_error_of_the_library_is_an_event(desk: Desk) -> None:
    [event] = desk.ask("show", text="nonsense", source="a.toml")
    assert "not valid TOML" in event["error"]
    assert list(desk.ask("show", **SMALL))


def test_a_newer_question_ends_an_older_one(desk: Desk) -> None:
    seen: list[Any] = []

    def old() -> None:
        try:
            seen.extend(desk.ask("understand", given={**LONG, "rate": "0.05"}, **SMALL))
        except Superseded:
            seen.append("superseded")

    thread = threading.Thread(target=old)
    thread.start()
    while not seen:  # it is under way
        time.sleep(0.01)
    [event] = desk.ask("show", **SMALL)
    assert "html" in event
    thread.join(30)
    assert seen[-1] == "superseded"


def test_who_stops_listening_frees_the_desk(desk: Desk) -> None:
    events = desk.ask("understand", given={**LONG, "rate": "0.05"}, **SMALL)
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert list(desk.ask("show", **SMALL))


def test_a_process_that_dies_is_replaced(desk: Desk) -> None:
    gone = pid(desk)
    os.kill(gone, signal.SIGKILL)
    [event] = desk.ask("show", **SMALL)
    assert "ended unexpectedly" in event["error"]
    assert pid(desk) != gone
    assert "html" in next(iter(desk.ask("show", **SMALL)))


def test_closing_ends_all_and_answers_nothing() -> None:
    made = Desk(early=True)
    number = pid(made)
    made.close()
    assert not is_alive(number)
    with pytest.raises(Superseded):
        next(made.ask("show", **SMALL))


def test_a_worker_ends_with_its_input_and_not_by_ctrl_c() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "zcdp.explore.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(b'{"id": 1, "ask": "show", "given": {"text": "", "source": "a"}}\n')
        worker.stdin.flush()
        assert b"a plan needs queries" in worker.stdout.readline()
        worker.send_signal(signal.SIGINT)
        assert b'"end": true' in worker.stdout.readline()
        assert worker.poll() is None
        worker.stdin.close()
        assert worker.wait(30) == 0


def test_a_module_in_the_working_directory_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is started where plans are, as among downloads."""
    (tmp_path / "json.py").write_text("raise SystemExit('not ours')\n")
    (tmp_path / "zcdp").mkdir()
    (tmp_path / "zcdp" / "__init__.py").write_text("raise SystemExit('not ours')\n")
    monkeypatch.chdir(tmp_path)
    made = Desk()
    try:
        [event] = made.ask("show", **SMALL)
        assert "html" in event
    finally:
        made.close()
