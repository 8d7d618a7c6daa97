"""How a plan is written down and read again: supplied from above, by those who know the mechanisms by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from zcdp.privacy.plan import Plan

__all__ = ["Forms"]


class Forms(NamedTuple):
    """The three functions that `Plan.parse`, `Plan.from_json` and `to_json` call."""

    parse: Callable[[str], Plan]
    """From text, as it would be written in Python."""
    load: Callable[[str], Plan]
    """From JSON."""
    dump: Callable[[Plan], str]
    """To JSON."""
