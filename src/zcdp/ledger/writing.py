"""Text that goes into a ledger: valid names and free text, and the time and login that the system reports."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from unicodedata import category, normalize

from zcdp.errors import BadType, BadValue
from zcdp.text.names import HIDDEN, spelled

__all__ = ["LONGEST_NAME", "LONGEST_TEXT", "free", "login", "name", "now", "until"]


LONGEST_NAME = 200
LONGEST_TEXT = 4000
STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"
"""The form of all times in a ledger; in the order of time, as texts too."""


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
    return datetime.now(UTC).strftime(STAMP)


def until(expires: timedelta | datetime | float) -> str:
    """The time at which a reservation expires, as `now` writes times, from a time, a duration or seconds from now."""
    if isinstance(expires, datetime):
        if expires.tzinfo is None:
            raise BadValue(f"expires ({expires}) must have a time zone, or be a duration or a number of seconds")
        try:
            at = expires.astimezone(UTC)
        except OverflowError:
            at = datetime.min
        if at.year < 1000:  # times are compared as text: a year has four digits
            raise BadValue(f"expires ({expires}) must be a time in the years 1000 to 9999")
        return at.strftime(STAMP)
    if isinstance(expires, bool) or not isinstance(expires, timedelta | int | float):
        raise BadType(f"expires ({expires!r}) must be a time, a duration or a number of seconds")
    try:
        length = expires if isinstance(expires, timedelta) else timedelta(seconds=expires)
        end = datetime.fromisoformat(now().replace("Z", "+00:00")) + length
    except (ValueError, OverflowError):  # not a number, or beyond the year 9999
        end, length = datetime.max, timedelta(0)
    if length <= timedelta(0):
        raise BadValue(f"expires ({expires}) must be a positive duration within the calendar")
    return end.strftime(STAMP)


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
