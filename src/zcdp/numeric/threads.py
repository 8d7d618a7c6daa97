"""Locks that a forked child finds free, whichever thread of the parent held them at that moment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

__all__ = ["Locked", "cached_property", "give_lock"]


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


# Attributes that are computed once, without a lock: two threads may both compute one, and find the same.

# Until Python 3.11 the one of functools holds a lock while it computes, one for all instances. Whoever computes in
# balls holds their lock too, and asks for such attributes: two threads could wait for each other, and a child that is
# forked meanwhile would wait for a thread that it does not have.
if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 - it stands in for the one of functools
        """A method that is called at the first access; its answer then takes its place."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.func, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.attrname = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
