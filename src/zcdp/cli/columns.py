"""Columns of text: numbers to the right, one column that gives way when the line is too long."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["columns", "shorten"]


def shorten(text: str, length: int) -> str:
    """At most so many characters.

    >>> shorten("RandomizedResponse(epsilon=1, k=2925)", 20)
    'RandomizedResponse(…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def columns(rows: Sequence[Sequence[str]], align: str, *, width: int, gives_way: Sequence[int] = ()) -> list[str]:
    """Lines of aligned cells; `align` has one of < and > for each column.

    >>> columns([["a", "1"], ["bcd", "20"]], "<>", width=80)
    ['a     1', 'bcd  20']
    """
    sizes = [max(len(row[n]) for row in rows) for n in range(len(align))]
    for n in gives_way:
        excess = sum(sizes) + 2 * (len(sizes) - 1) - width
        sizes[n] = max(sizes[n] - max(excess, 0), min(sizes[n], 12))
    return [
        "  ".join(
            f"{shorten(cell, size):{side}{size}}" for cell, size, side in zip(row, sizes, align, strict=True)
        ).rstrip()
        for row in rows
    ]
