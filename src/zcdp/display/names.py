"""What routes, bounds and neighbouring relations are called, on the terminal and on a page."""

from __future__ import annotations

import re

__all__ = ["NEIGHBOURS", "neighbours", "route", "typeset"]

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
