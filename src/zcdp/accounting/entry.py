"""One query of a plan, as all who account for it read it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zcdp.mechanisms import Mechanism
from zcdp.privacy.plan import Plan
from zcdp.tables.query import Statistic

__all__ = ["Entry"]


@dataclass(frozen=True)
class Entry:
    """One query of a plan: `plan` is one use of it; None where a parameter is still `?`."""

    name: str
    text: str
    plan: Plan | None
    open: tuple[type[Mechanism], dict[str, Any]] | None
    count: int = 1
    note: str | None = None
    weight: float | str | Fraction = 1
    line: int = 0
    field: str = "mechanism"
    statistic: Statistic | None = None
    sd: float | str | None = None
    """The largest standard deviation that will do, where the file says so."""
    half_width: float | str | None = None
    """The largest error at `level` that will do."""
    level: float | str = "0.95"
