"""What the system knows of a write: the time, and who is logged in."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import lru_cache

__all__ = ["login", "now"]


def now() -> str:
    """The time in UTC, for people to read: the order of entries is that of their numbers, whatever the clock does."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def login() -> str:
    """The user that runs this process, as the system has it; not what an environment variable says."""
    if hasattr(os, "getuid"):
        return _name(os.getuid())
    from getpass import getuser

    return getuser()


@lru_cache(8)
def _name(number: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return f"uid {number}"
