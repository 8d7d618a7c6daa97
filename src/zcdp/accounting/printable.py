"""Text that others wrote, safe to show: nothing in it moves the cursor, changes colours or turns the line around."""

from __future__ import annotations

from unicodedata import category

__all__ = ["HIDDEN", "is_hidden", "printable", "spelled"]

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
