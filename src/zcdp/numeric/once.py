"""Attributes that are computed once, without a lock: two threads may both compute one, and find the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

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
