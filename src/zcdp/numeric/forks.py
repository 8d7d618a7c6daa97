"""Locks that a forked child finds free, whichever thread of the parent held them at that moment."""

from __future__ import annotations

import os
from threading import Lock
from typing import Protocol
from weakref import WeakSet

__all__ = ["Locked", "give_lock"]


class Locked(Protocol):
    """Anything that guards its state by a lock of its own."""

    _lock: Lock


_holders: WeakSet[Locked] = WeakSet()


def give_lock(holder: Locked) -> None:
    """A new lock for `holder`, and another one in each child that is forked while it is held.

    The thread that held it does not exist in the child: what it was about to change stays as it was.
    """
    holder._lock = Lock()
    _holders.add(holder)


def _free() -> None:
    for holder in list(_holders):
        if holder._lock.locked():
            holder._lock = Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_free)
