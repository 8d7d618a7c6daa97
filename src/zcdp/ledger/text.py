"""Words that people write into a ledger: what is accepted as a name, and how any text is shown safely."""

from __future__ import annotations

from unicodedata import category, normalize

from zcdp.errors import BadType, BadValue

__all__ = ["LONGEST_NAME", "LONGEST_TEXT", "free", "name", "shown"]

LONGEST_NAME = 200
LONGEST_TEXT = 4000
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Control, format (with them the marks that turn the direction of text), surrogate, private use, line separators."""


def name(text: str, what: str) -> str:
    """The name of an account, or a key: in Unicode's form NFC, of characters that can be seen.

    Two names that look alike to the eye and differ in bytes would be two budgets for one population.

    >>> name("caf\\u0065\\u0301", "account") == "caf\\u00e9"
    True
    """
    if not isinstance(text, str):
        raise BadType(f"{what} ({text!r}) must be text, not {type(text).__name__}")
    normal = normalize("NFC", text)
    if not normal or normal != normal.strip():
        raise BadValue(f"{what} ({shown(text)!r}) must not be empty, nor begin or end with a space")
    if any(category(one) in UNSEEN or (one.isspace() and one != " ") for one in normal):
        raise BadValue(f"{what} ({shown(text)}) must be of characters that can be seen, and plain spaces")
    if len(normal) > LONGEST_NAME:
        raise BadValue(f"{what} ({shown(text[:20])}...) must have at most {LONGEST_NAME} characters")
    return normal


def free(text: str, what: str) -> str:
    """Any text that a database can hold, up to a length.

    >>> free("table 3\\nfor the annual report", "why")
    'table 3\\nfor the annual report'
    """
    if not isinstance(text, str):
        raise BadType(f"{what} ({text!r}) must be text, not {type(text).__name__}")
    if "\0" in text or any(category(one) == "Cs" for one in text):
        raise BadValue(f"{what} ({shown(text)}) must be text that can be written as UTF-8, without null characters")
    if len(text) > LONGEST_TEXT:
        raise BadValue(f"{what} ({shown(text[:20])}...) must have at most {LONGEST_TEXT} characters")
    return text


def shown(text: str) -> str:
    """On one line, with characters that would command a terminal or turn the text around spelled out.

    >>> shown("a\\x1b[31mb\\u202ec\\nd")
    'a\\\\x1b[31mb\\\\u202ec d'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_seen(one) for one in text)


def _seen(one: str) -> str:
    if one in "\n\r\t":
        return " "
    return ascii(one)[1:-1] if category(one) in UNSEEN else one
