"""What a client and a server can carry: limits on the size of a report, on a client's draws, on a server's memory."""

from __future__ import annotations

from dataclasses import dataclass, fields

from zcdp.errors import BadValue
from zcdp.numeric.exact import Value, integer

__all__ = ["PHONE", "UNLIMITED", "Limits", "Size", "whole_bytes"]


def whole_bytes(outcomes: int) -> int:
    """The bytes that tell one of so many outcomes, each written as a whole number from 0 on.

    >>> whole_bytes(256), whole_bytes(257)
    (1, 2)
    """
    return max(1, ((outcomes - 1).bit_length() + 7) // 8)


@dataclass(frozen=True)
class Size:
    """What one report takes."""

    bytes: int
    """The length of a report on the wire."""
    draws: int
    """How many random numbers or coins a client draws for it."""
    memory: int
    """The bytes that a server holds to count and decode reports, whatever their number."""


@dataclass(frozen=True)
class Limits:
    """The most that a design may take; None is no limit. As they stand they are what a phone and one server accept.

    >>> Limits(bytes=3).hold(Size(bytes=4, draws=1, memory=0))
    False
    """

    bytes: int | None = 1024
    draws: int | None = 100_000
    memory: int | None = 2 << 30

    @classmethod
    def of(cls, *, most_bytes: Value | None, most_draws: Value | None, most_memory: Value | None) -> Limits:
        """The limits as a user gives them, checked."""
        given = {"most_bytes": most_bytes, "most_draws": most_draws, "most_memory": most_memory}
        return cls(*(None if value is None else integer(value, name, 1) for name, value in given.items()))

    def hold(self, size: Size) -> bool:
        """Whether the size is within all limits."""
        return all((most := getattr(self, one.name)) is None or getattr(size, one.name) <= most for one in fields(self))

    def require(self, fitting: object) -> None:
        """Raise `BadValue` unless something fits."""
        if not fitting:
            told = ", ".join(f"{one.name} {getattr(self, one.name)}" for one in fields(self) if getattr(self, one.name))
            raise BadValue(f"no design fits the limits ({told}): raise them")


PHONE, UNLIMITED = Limits(), Limits(None, None, None)
