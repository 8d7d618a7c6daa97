"""Calendar periods of an account that renews: the day, week, month, quarter or year of a time, in a time zone.

A period is named by a text such as "2026-11". The names of one kind of period are in the order of time, as texts too.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from zcdp.errors import BadValue, ZcdpError

__all__ = ["EVERY", "NoTimeZones", "check_period", "near", "period_at"]


class NoTimeZones(ZcdpError):
    """This machine has no time zone data, which the calendar of an account needs: nothing was changed."""


EVERY = {
    "day": r"\d{4}-\d\d-\d\d",
    "week": r"\d{4}-W\d\d",
    "month": r"\d{4}-\d\d",
    "quarter": r"\d{4}-Q\d",
    "year": r"\d{4}",
}
"""The kinds of periods of the Gregorian calendar, with the form of their names; weeks are those of ISO 8601."""


def period_at(at: str, every: str, zone: str) -> str:
    """The name of the period that a time of the ledger (UTC) belongs to, by the clocks of a time zone.

    >>> period_at("2026-12-31T23:30:00.000000Z", "month", "Europe/Berlin")
    '2027-01'
    >>> period_at("2027-01-01T12:00:00.000000Z", "week", "UTC")
    '2026-W53'
    """
    return _named(_local(at, zone), every)


def _local(at: str, zone: str) -> datetime:
    return datetime.fromisoformat(at.replace("Z", "+00:00")).astimezone(_zone(zone))


def _named(when: datetime, every: str) -> str:
    if every == "week":
        year, week, _ = when.isocalendar()
        return f"{year:04}-W{week:02}"
    if every == "quarter":
        return f"{when.year:04}-Q{(when.month + 2) // 3}"
    return when.date().isoformat()[: {"day": 10, "month": 7, "year": 4}[every]]


@lru_cache(64)
def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # an unknown name is a KeyError, a path outside the data a ValueError
        from zoneinfo import available_timezones

        if not available_timezones():
            raise NoTimeZones(
                f"the time zone {name!r} cannot be looked up, as this machine has no time zone data: pip install tzdata"
            ) from None
        raise BadValue(f"zone ({name!r}) must be a time zone such as UTC or Europe/Berlin, and known here") from None


def check_period(every: str, zone: str) -> None:
    """Raise `BadValue` unless this is a kind of period and a time zone that is known here."""
    if not isinstance(every, str) or every not in EVERY:
        raise BadValue(f"every ({every!r}) must be one of {', '.join(EVERY)}")
    if not isinstance(zone, str) or not zone:
        raise BadValue(f"zone ({zone!r}) must be a time zone such as UTC or Europe/Berlin")
    _zone(zone)


def near(label: str, at: str, every: str, zone: str) -> bool:
    """Whether a period may have been opened at this time: its name is that of a time at most a day away.

    The day allows for servers whose tables of time zones are older or newer than ours.

    >>> [near(label, "2026-11-18T10:00:00.000000Z", "month", "UTC") for label in ("2026-11", "2026-12")]
    [True, False]
    """
    if not re.fullmatch(EVERY[every], label, re.ASCII):
        return False
    try:
        when, day = _local(at, zone), timedelta(days=1)
        return _named(when - day, every) <= label <= _named(when + day, every)
    except (ValueError, OverflowError):  # a time that was edited
        return False
