"""Days, weeks, months and years as a domain: intervals of the calendar, numbered without a look at the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from zcdp.tables.problems import DeclarationError, known_fields, text, whole

__all__ = ["Dates", "read_dates"]

FIELDS = ("column", "from", "to", "step", "clip")
STEPS = {"day": (1, 0), "week": (7, 0), "month": (0, 1), "quarter": (0, 3), "year": (0, 12)}
"""How many days, or months, a step has."""
MOST = 500_000


@dataclass(frozen=True)
class Dates:
    """Half-open intervals of so many days, or of so many months; outside is dropped, or clipped to an end.

    `start` is the number of the first day (1 is the first of January of year 1), or 12 year + month - 1.

    >>> read_dates("day", {"from": "2026-01-01", "to": "2026-07-01", "step": "quarter"}).columns()
    {'day_from': ['2026-01-01', '2026-04-01'], 'day_to': ['2026-04-01', '2026-07-01']}
    """

    name: str
    column: str
    start: int
    step: int
    size: int
    months: bool = False
    clip: bool = False

    kind = "date"

    @property
    def labels(self) -> range:
        """The number of each interval."""
        return range(self.size)

    def columns(self) -> dict[str, list[Any]]:
        """The ends of the intervals as columns of a published table; the second day is no longer in it."""
        days = [one.isoformat() for one in self.days]
        return {f"{self.name}_from": days[:-1], f"{self.name}_to": days[1:]}

    @property
    def days(self) -> list[date]:
        """The first day of each interval, and the first after the last one."""
        return [self._day(self.start + n * self.step) for n in range(self.size + 1)]

    def _day(self, number: int) -> date:
        return date(number // 12, number % 12 + 1, 1) if self.months else date.fromordinal(number)


def read_dates(name: str, data: Mapping[str, Any]) -> Dates:
    """A domain of the calendar as a plan file says it: from and to are days, and step a word or a number of days."""
    known_fields(data, FIELDS, f"the domain {name!r} of dates")
    if "to" not in data or "step" not in data:
        raise DeclarationError(name, f"must have from, to, and step: one of {', '.join(STEPS)}, or a number of days")
    first, last = day(data["from"], name), day(data["to"], name)
    days, months = _step(data["step"], name)
    clip = data.get("clip", False)
    if not isinstance(clip, bool):
        raise DeclarationError(name, "clip must be true or false")
    if months and (first.day, last.day) != (1, 1):
        raise DeclarationError(name, "from and to must be the first of a month where steps are months")
    ends = [12 * one.year + one.month - 1 if months else one.toordinal() for one in (first, last)]
    step = months or days
    if ends[0] >= ends[1] or (ends[1] - ends[0]) % step:
        raise DeclarationError(name, "from must be before to, and a whole number of steps must lead there")
    size = (ends[1] - ends[0]) // step
    if size > MOST:
        raise DeclarationError(name, f"must have at most {MOST} intervals")
    column = text(data.get("column", name), name)
    return Dates(name, column, ends[0], step, size, bool(months), clip)


def day(value: Any, field: str) -> date:
    """A day as it stands in the file, in quotes or not.

    >>> day("2026-02-28", "from")
    datetime.date(2026, 2, 28)
    """
    if type(value) is date:
        return value
    try:
        return date.fromisoformat(text(value, field))
    except ValueError:
        raise DeclarationError(field, f"must be a day such as 2026-02-28, not {value!r}") from None


def _step(value: Any, name: str) -> tuple[int, int]:
    if isinstance(value, str):
        if value not in STEPS:
            raise DeclarationError(name, f"step must be one of {', '.join(STEPS)}, or a number of days, not {value!r}")
        return STEPS[value]
    return whole(value, name, 1, MOST), 0
