"""What routes, bounds and neighbouring relations are called, on the terminal and on a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from unicodedata import category

__all__ = ["HIDDEN", "NEIGHBOURS", "is_hidden", "neighbours", "printable", "route", "spelled", "table", "typeset"]


ROUTES = {
    "profile": "privacy profile",
    "rdp": "Renyi curve (RDP)",
    "zcdp": "rho alone (zCDP)",
    "pure": "pure epsilons added up",
}
NEIGHBOURS = {
    "add_remove": "one record more or less (add or remove)",
    "replace": "one record replaced by another (clipped to C: moves 2C)",
    "either": "as the sensitivities were stated: one record more or less, or one replaced",
}
"""Which two data sets a guarantee is about."""
_LETTERS = {
    "epsilon": "\u03b5",
    "delta": "\u03b4",
    "rho": "\u03c1",
    "eta": "\u03b7",
    "alpha": "\u03b1",
    "Renyi": "R\u00e9nyi",
    "^2": "\u00b2",
}
_WORD = re.compile(r"\b(?:epsilon|delta|rho|eta|alpha|Renyi)\b|\^2")


def neighbours(relation: str, unit: str | None) -> str:
    """Which two data sets a guarantee is about, by what a record stands for, where that is one word.

    >>> neighbours("add_remove", "person"), neighbours("replace", "all that a client sends")
    ('one person more or less (add or remove)', 'one record replaced by another (clipped to C: moves 2C)')
    """
    said = NEIGHBOURS.get(relation, relation)
    return said.replace("one record", f"one {unit}") if unit and re.fullmatch(r"[^\W\d]+", unit) else said


def route(name: str) -> str:
    """A way of accounting for a composition, in words.

    >>> route("zcdp"), route("new")
    ('rho alone (zCDP)', 'new')
    """
    return ROUTES.get(name, name)


def typeset(name: str) -> str:
    """The same name as it is written by hand.

    >>> typeset("epsilon^2/2"), typeset("pure epsilons added up")
    ('ε²/2', 'pure epsilons added up')
    """
    return _WORD.sub(lambda found: _LETTERS[found[0]], name)


# A small table for notebooks: `_repr_html_` of mechanisms, plans and accounts.


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


# Text that others wrote, safe to show: nothing in it moves the cursor, changes colours or turns the line around.

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Control, format (with them the marks that turn the direction of text), surrogate, private use, line separators."""
REPLACED = "\ufffd"
JOINERS = "\u200c\u200d"
"""Persian, Indic scripts and emoji need these two, and they only join letters."""


def is_hidden(character: str) -> bool:
    """Whether it acts instead of being seen: control, bidirectional and other format characters, line separators.

    >>> is_hidden("\\x1b"), is_hidden("\\u202e"), is_hidden("\\u00e9")
    (True, True, False)
    """
    return category(character) in HIDDEN and character not in JOINERS


def printable(text: str, *, keep: str = "") -> str:
    """The text with a mark for each hidden character but those to `keep`; white space of other kinds is one space.

    >>> printable("a\\x1b[2Jb\\nc"), printable("a\\nb", keep="\\n")
    ('a\\ufffd[2Jb c', 'a\\nb')
    """
    if text.isascii() and text.isprintable():  # almost always
        return text
    shown = (one if one in keep or not is_hidden(one) else " " if one in "\t\r\n" else REPLACED for one in text)
    return "".join(shown)


def spelled(text: str) -> str:
    """The text on one line with all that is hidden spelled out: two names that differ must not look alike.

    >>> spelled("a\\x1b[31mb\\u202ec\\nd")
    'a\\\\x1b[31mb\\\\u202ec d'
    """
    if text.isascii() and text.isprintable():
        return text
    shown = (" " if one in "\t\r\n" else ascii(one)[1:-1] if category(one) in HIDDEN else one for one in text)
    return "".join(shown)
