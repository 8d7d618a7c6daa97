"""Questions run in a process of their own; when a newer one comes, the older one is given up, or its process is ended.

flint's working precision is global to a process, and no computation can be stopped from outside but with its process:
so each desk has one process that answers one question at a time, and a second one that waits, ready, for the moment
when the first has to be ended.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from queue import Empty, Queue
from typing import Any

__all__ = ["Desk", "Event", "Superseded"]

Event = dict[str, Any]
WAIT = 0.02
"""Seconds after which a waiting thread looks again whether its question is still the newest."""
GRACE = 0.25
"""Seconds that a process has to give an old question up by itself before it is ended."""


class Superseded(Exception):
    """A newer question has come."""


class _Process:
    """One worker: lines of JSON in, lines of JSON out."""

    def __init__(self) -> None:
        # -P: a file json.py where the page was started, as among downloads, is not ours to import
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "zcdp.explore.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.events: Queue[Event] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.events.put(json.loads(line))
        self.events.put({"ended": True})

    def send(self, message: Event) -> None:
        """Send one message; a process that is gone says so by its last event."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            pass

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class Desk:
    """Answers the newest question; a generator of an older one raises `Superseded` at its next event."""

    def __init__(self, *, spare: bool = False, early: bool = False) -> None:
        """`spare`: a second process waits; `early`: the first is started now, not with the first question."""
        self._turn, self._guard = threading.Lock(), threading.Lock()
        self._newest, self._count, self._closed = 0, 0, False
        self._first = _Process() if early else None
        self._spare = _Process() if spare else None
        self._keeps_spare = spare

    @property
    def _worker(self) -> _Process:
        if self._first is None:
            self._first = _Process()
        return self._first

    def ready(self) -> None:
        """Start the process, if it is not there yet: a question is about to come."""
        with self._guard:
            if not self._closed:
                self._worker  # noqa: B018 - it is started by being asked for

    def ask(self, question: str, **given: Any) -> Iterator[Event]:
        """The events that answer a question, as they come."""
        with self._guard:
            self._newest += 1
            mine = self._newest
        with self._turn:
            if mine != self._newest or self._closed:
                raise Superseded
            self._count += 1
            number = self._count
            self._worker.send({"id": number, "ask": question, "given": given})
            ended = False
            try:
                while True:
                    event = self._next(number, mine)
                    if event.get("end"):
                        ended = True
                        return
                    if event.get("ended"):
                        ended = True
                        self._replace()
                        yield {"error": "the computation ended unexpectedly, perhaps for lack of memory"}
                        return
                    yield event
            finally:
                if not ended:  # superseded, or whoever asked has gone
                    self._give_up(number)

    def _next(self, number: int, mine: int) -> Event:
        """The next event of this question."""
        while True:
            if mine != self._newest or self._closed:
                raise Superseded
            try:
                event = self._worker.events.get(timeout=WAIT)
            except Empty:
                continue
            if event.get("ended") or event.get("id") == number:
                return event

    def _give_up(self, number: int) -> None:
        """Ask the process to stop, and end it if it does not in time."""
        self._worker.send({"stop": number})
        waited = 0.0
        while waited < GRACE and not self._closed:
            try:
                event = self._worker.events.get(timeout=WAIT)
            except Empty:
                waited += WAIT
                continue
            if event.get("ended"):
                break
            if event.get("id") == number and event.get("end"):
                return
        self._replace()

    def _replace(self) -> None:
        self._worker.end()
        if self._closed:
            return
        self._first, self._spare = self._spare or _Process(), None
        if self._keeps_spare:
            self._spare = _Process()

    def close(self) -> None:
        """End all processes."""
        self._closed = True
        with self._guard:
            self._newest += 1
        for one in (self._first, self._spare):
            if one is not None:
                one.end()
