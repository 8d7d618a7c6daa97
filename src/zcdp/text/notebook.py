"""What a notebook shows of a value: its class says that it can be shown, a room above all others knows how.

Imports go down only, and pictures are drawn further up: so the package hands the function that draws to this place.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["drawn_by", "shown"]

_draw: list[Callable[[object], str]] = []


def drawn_by(draw: Callable[[object], str]) -> None:
    """Take the function that makes HTML of a value; a later one takes the place of an earlier one."""
    _draw[:] = [draw]


def shown(value: object) -> str:
    """The HTML that a notebook shows of a value; a class uses it as its `_repr_html_`."""
    return _draw[0](value)
