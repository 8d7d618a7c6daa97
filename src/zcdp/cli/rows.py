"""Rows of queries: one line each where the mechanism fits beside the numbers, else it stands below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zcdp.cli.columns import columns, shorten
from zcdp.cli.terminal import dim, width

__all__ = ["query_lines"]

MECHANISM = 2


def query_lines(rows: Sequence[Sequence[str]], align: str) -> Iterator[str]:
    """The head and the rows; the third column is the mechanism."""
    room = width()
    if max(map(len, columns(rows, align, width=10**6))) <= room:
        head, *body = columns(rows, align, width=room)
        yield dim(head)
        yield from body
        return
    narrow = [[*row[:MECHANISM], *row[MECHANISM + 1 :]] for row in rows]
    head, *body = columns(narrow, align[:MECHANISM] + align[MECHANISM + 1 :], width=room, gives_way=(0,))
    yield dim(head)
    for text, row in zip(body, rows[1:], strict=True):
        yield text
        yield dim(f"  {shorten(row[MECHANISM], room - 2)}")
