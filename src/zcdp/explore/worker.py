"""The process that answers questions: reads them from stdin as lines of JSON, writes events to stdout, one a line.

It ends when its stdin does, so none outlives the server. An answer looks between its steps whether it is still wanted.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from queue import Queue
from typing import Any

from zcdp.errors import ZcdpError
from zcdp.numeric.balls import NotCertified

__all__ = ["Unwanted", "main"]

EVERY = 0.2
"""Seconds between two messages of progress, at least."""


class Unwanted(BaseException):
    """The question is no longer wanted: raised in the midst of an answer, past every handler of errors."""


class _Listener(threading.Thread):
    """Reads messages; remembers which question was told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.messages: Queue[dict[str, Any] | None] = Queue()
        self.stopped = 0

    def run(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "stop" in message:
                self.stopped = max(self.stopped, message["stop"])
            else:
                self.messages.put(message)
        self.messages.put(None)


class _Answer:
    """One question: writes its events, and raises `Unwanted` when it was told to stop."""

    def __init__(self, number: int, listener: _Listener) -> None:
        self.number, self.listener, self.last = number, listener, time.monotonic()

    def write(self, **event: Any) -> None:
        sys.stdout.buffer.write(json.dumps({"id": self.number, **event}).encode() + b"\n")
        sys.stdout.buffer.flush()

    def check(self) -> None:
        if self.listener.stopped >= self.number:
            raise Unwanted

    def progress(self, share: float, what: str) -> None:
        self.check()
        if time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            self.write(progress=share, what=what)


def main() -> None:
    """Answer until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which ends this process
    listener = _Listener()
    listener.start()
    from zcdp.explore.questions import QUESTIONS

    try:
        _serve(listener, QUESTIONS)
    except BrokenPipeError:  # the server was ended by force: there is nobody left to tell
        os._exit(1)


def _serve(listener: _Listener, questions: Mapping[str, Callable[..., Iterator[dict[str, Any]]]]) -> None:
    while (message := listener.messages.get()) is not None:
        answer = _Answer(message["id"], listener)
        try:
            for event in questions[message["ask"]](answer.progress, **message["given"]):
                answer.check()
                answer.write(**event)
        except Unwanted:
            pass
        except BrokenPipeError:
            raise
        except (ZcdpError, NotCertified) as error:
            answer.write(error=str(error).split("\n", maxsplit=1)[0])
        except (MemoryError, RecursionError):
            answer.write(error="this takes more memory than there is")
        except Exception:  # a bug: its traceback is for the terminal, and the page goes on
            traceback.print_exc()
            answer.write(error="this could not be computed; the terminal says why")
        answer.write(end=True)


if __name__ == "__main__":
    main()
