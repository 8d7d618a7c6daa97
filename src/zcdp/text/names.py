"""Names and other text for people: routes and relations in words, HTML tables, and text of others made safe to show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from unicodedata import category

__all__ = [
    "HIDDEN",
    "NEIGHBOURS",
    "attack",
    "is_hidden",
    "neighbours",
    "parts",
    "printable",
    "route",
    "spelled",
    "table",
    "typeset",
]


ROUTES = {
    "profile": "privacy profile",
    "rdp": "Renyi curve (RDP)",
    "zcdp": "rho alone (zCDP)",
    "pure": "pure epsilons added up",
}
NEIGHBOURS = {
    "add_remove": "one record more or less (add or remove)",
    "replace": "one record replaced by another (sums clipped to C move 2C)",
    "either": "as the sensitivities were stated: one record more or less, or one replaced",
}
"""Which two data sets a guarantee compares, by the value of `Relation`."""
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
    """Which two data sets a guarantee compares; a `unit` of privacy that is one word replaces "record".

    >>> neighbours("add_remove", "person"), neighbours("replace", "all that a client sends")
    ('one person more or less (add or remove)', 'one record replaced by another (sums clipped to C move 2C)')
    """
    said = NEIGHBOURS.get(relation, relation)
    return said.replace("one record", f"one {unit}") if unit and re.fullmatch(r"[^\W\d]+", unit) else said


def attack(relation: str, unit: str | None) -> str:
    """What an attacker guesses, in words: which of two neighbouring data sets was used.

    >>> attack("add_remove", "household"), attack("replace", None)
    ('whether a household is in the data', 'which of two records a person has')
    """
    who = unit or "person"
    return f"which of two records a {who} has" if relation == "replace" else f"whether a {who} is in the data"


def parts(names: Sequence[str], noisy: Sequence[bool]) -> list[str]:
    """Names of the rows of queries; what a mean, ratio or variance is made of is told apart: its sum, and the rest.

    `noisy` says which of them have noise added, and are no selection.

    >>> parts(["income", "income: count", "persons"], [True] * 3)
    ['income: sum', 'income: count', 'persons']
    """
    made = {name.rpartition(": ")[0] for name in names}
    return [f"{name}: sum" if name in made and added else name for name, added in zip(names, noisy, strict=True)]


def route(name: str) -> str:
    """The name of a route (a way of accounting for a composition) in words; an unknown name stays as it is.

    >>> route("zcdp"), route("new")
    ('rho alone (zCDP)', 'new')
    """
    return ROUTES.get(name, name)


def typeset(name: str) -> str:
    """The text with Greek letters and superscripts for "epsilon", "^2" and the like.

    >>> typeset("epsilon^2/2"), typeset("pure epsilons added up")
    ('ε²/2', 'pure epsilons added up')
    """
    return _WORD.sub(lambda found: _LETTERS[found[0]], name)


# HTML tables for notebooks, used by `_repr_html_` of mechanisms, plans and accounts.


def table(title: str, rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """An HTML table with a caption; the first cell of each row is its header. All text is escaped.

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


# Text that others wrote, made safe to show: no character in it may move the cursor, change colours or reverse the line.

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that are not shown: control, format (including bidirectional marks), surrogate, private use, line
and paragraph separators."""
REPLACED = "\ufffd"
"""Stands for a hidden character in `printable`."""
JOINERS = "\u200c\u200d"
"""Format characters that stay: Persian, Indic scripts and emoji need them, and all they do is join or part letters."""


def is_hidden(character: str) -> bool:
    """Whether the character has an effect but no shape: control, bidirectional and other format characters, separators.

    >>> is_hidden("\\x1b"), is_hidden("\\u202e"), is_hidden("\\u00e9")
    (True, True, False)
    """
    return category(character) in HIDDEN and character not in JOINERS


def printable(text: str, *, keep: str = "") -> str:
    """The text with U+FFFD for each hidden character, and a space for tab and line ends; those in `keep` stay.

    >>> printable("a\\x1b[2Jb\\nc"), printable("a\\nb", keep="\\n")
    ('a\\ufffd[2Jb c', 'a\\nb')
    """
    if text.isascii() and text.isprintable():  # the common case, quick
        return text
    shown = (one if one in keep or not is_hidden(one) else " " if one in "\t\r\n" else REPLACED for one in text)
    return "".join(shown)


def spelled(text: str) -> str:
    """The text on one line with hidden characters as escapes, so that two names that differ do not look alike.

    >>> spelled("a\\x1b[31mb\\u202ec\\nd")
    'a\\\\x1b[31mb\\\\u202ec d'
    """
    if text.isascii() and text.isprintable():
        return text
    shown = (" " if one in "\t\r\n" else ascii(one)[1:-1] if category(one) in HIDDEN else one for one in text)
    return "".join(shown)
