"""Threads and forks: locks that are free in a forked child, and cached properties that take no lock."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

__all__ = ["Locked", "cached_property", "give_lock"]


class Locked(Protocol):
    """An object with its own lock in `_lock`."""

    _lock: Lock


_holders: WeakSet[Locked] = WeakSet()


def give_lock(holder: Locked) -> None:
    """Give `holder` a lock, which a forked child replaces by a new one if it was held at the moment of the fork.

    The thread that held the lock does not exist in the child, so it would never be released there; the change that it
    guarded does not take place in the child.
    """
    holder._lock = Lock()
    _holders.add(holder)


def _free() -> None:
    """Run in a forked child: replace all locks that are held."""
    for holder in list(_holders):
        if holder._lock.locked():
            holder._lock = Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(after_in_child=_free)


# Cached properties without a lock: two threads may both compute the value, which is the same for both.

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:
    from functools import cached_property as _locking

    class _NoLock:
        """A context that does nothing, and quickly: `"".format` takes any arguments, and what it returns is false."""

        __enter__ = __exit__ = staticmethod("".format)

    _NO_LOCK = _NoLock()

    class cached_property(_locking):  # noqa: N801 - it replaces functools.cached_property
        """functools' own, without the lock that it has up to Python 3.11, one for all instances while it computes.

        A thread that computes in balls holds the lock of `zcdp.numeric.balls` and reads cached properties: two threads
        could deadlock, and a child forked meanwhile would wait for a thread that it does not have.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            super().__init__(function)
            self.lock = _NO_LOCK
