"""What is wrong with a declaration, and in which field, so that a reader of files can say in which line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zcdp.errors import BadValue

__all__ = ["DeclarationError", "known_fields", "number", "text", "whole"]


class DeclarationError(BadValue):
    """A field that makes no sense; `field` is its name, "" where one is missing."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field, self.message = field, message


def known_fields(data: Mapping[str, Any], names: Iterable[str], what: str) -> None:
    """Refuse a field that is not among the names: a slip must not pass as a default."""
    allowed = tuple(names)
    for name in data:
        if name not in allowed:
            raise DeclarationError(name, f"{what} has no such field (there are {', '.join(allowed)})")


def text(value: Any, field: str) -> str:
    """Text that says something."""
    if not isinstance(value, str) or not value:
        raise DeclarationError(field, f"must be text in quotes, not {_shown(value)}")
    return value


def whole(value: Any, field: str, least: int, most: int) -> int:
    """An integer within bounds; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise DeclarationError(field, f"must be an integer from {least} to {most}, not {_shown(value)}")
    return value


def number(value: Any, field: str) -> Any:
    """The exact rational that stands in the file: 0.1 is the decimal, in quotes or not."""
    from zcdp.numeric.exact import rational

    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise DeclarationError(field, f"must be a number, not {_shown(value)}")
    try:
        return rational(str(value), field)
    except (ValueError, TypeError) as error:
        raise DeclarationError(field, str(error)) from None


def _shown(value: object) -> str:
    try:
        shown = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else f"{shown[:50]}..."
