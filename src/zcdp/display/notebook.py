"""A small table for notebooks: `_repr_html_` of mechanisms, plans and accounts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["table"]


def table(title: str, rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Rows of text under a title; the first cell of each names it. Nothing in them is markup.

    >>> table("<a>", [("rho", "1")])
    '<table><caption>&lt;a&gt;</caption><tbody><tr><th>rho</th><td>1</td></tr></tbody></table>'
    """
    above = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    top = f"<thead><tr>{above}</tr></thead>" if above else ""
    return f"<table><caption>{escape(title)}</caption>{top}<tbody>{body}</tbody></table>"
