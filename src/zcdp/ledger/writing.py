"""Text that goes into a ledger: valid names and free text, and the time and login that the system reports."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import lru_cache
from unicodedata import category, normalize

from zcdp.errors import BadType, BadValue
from zcdp.text.names import HIDDEN, spelled

__all__ = ["LONGEST_NAME", "LONGEST_TEXT", "free", "login", "name", "now"]


LONGEST_NAME = 200
LONGEST_TEXT = 4000


def name(text: str, what: str) -> str:
    """The name of an account or a key in Unicode's form NFC; hidden characters raise `BadValue`.

    Two names that look alike and differ in bytes would be two budgets for one population.

    >>> name("caf\\u0065\\u0301", "account") == "caf\\u00e9"
    True
    """
    if not isinstance(text, str):
        raise BadType(f"{what} ({text!r}) must be text, not {type(text).__name__}")
    normal = normalize("NFC", text)
    if not normal or normal != normal.strip():
        raise BadValue(f"{what} ({spelled(text)!r}) must not be empty, nor begin or end with a space")
    if any(category(one) in HIDDEN or (one.isspace() and one != " ") for one in normal):
        raise BadValue(f"{what} ({spelled(text)}) must be of characters that can be seen, and plain spaces")
    if len(normal) > LONGEST_NAME:
        raise BadValue(f"{what} ({spelled(text[:20])}...) must have at most {LONGEST_NAME} characters")
    return normal


def free(text: str, what: str) -> str:
    """The text, if a database can store it: no null characters, valid UTF-8, at most LONGEST_TEXT characters.

    >>> free("table 3\\nfor the annual report", "why")
    'table 3\\nfor the annual report'
    """
    if not isinstance(text, str):
        raise BadType(f"{what} ({text!r}) must be text, not {type(text).__name__}")
    if "\0" in text or any(category(one) == "Cs" for one in text):
        raise BadValue(f"{what} ({spelled(text)}) must be text that can be written as UTF-8, without null characters")
    if len(text) > LONGEST_TEXT:
        raise BadValue(f"{what} ({spelled(text[:20])}...) must have at most {LONGEST_TEXT} characters")
    return text


# Facts that the system adds to an entry: the time, and the login.


def now() -> str:
    """The time in UTC, as information for people: entries are ranked by their numbers, not by this clock."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def login() -> str:
    """The user that runs this process, as the operating system reports it (not from an environment variable)."""
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
