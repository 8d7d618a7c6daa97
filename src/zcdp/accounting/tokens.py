"""Plans as text, cut into names, numbers, texts and signs; and what is said where that is not possible."""

from __future__ import annotations

import re
from typing import NamedTuple

from zcdp.accounting.printable import printable
from zcdp.display.things import thing
from zcdp.errors import BadType, BadValue

__all__ = ["LONGEST", "PlanError", "Token", "split"]

LONGEST = 500_000  # No expression that comes in may have more characters.
SPACE = " \t\r\n"

_TOKEN = re.compile(
    r"""(?P<name>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<number>-?(?:0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))
      | (?P<string>'[^'\\\n]*'|"[^"\\\n]*")
      | (?P<sign>[-+*(),=\[\]?])""",
    re.VERBOSE,
)


class PlanError(BadValue):
    """The text is not a plan; `position` counts its characters from 0."""

    def __init__(self, message: str, text: str, position: int) -> None:
        start, end = max(position - 30, 0), position + 30
        line = printable(text[start:end])
        super().__init__(f"{message} at position {position}\n  {line}\n  {' ' * (position - start)}^")
        self.reason, self.position = message.rstrip(",;"), position


class Token(NamedTuple):
    """A piece of the text, and where it begins."""

    kind: str
    text: str
    position: int

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.position + len(self.text)


def split(text: str) -> list[Token]:
    """The tokens, and one that stands for the end."""
    if not isinstance(text, str):
        raise BadType(f"a plan must be text, not {thing(text)}")
    if len(text) > LONGEST:
        raise PlanError(f"a plan has at most {LONGEST} characters; more", text, LONGEST)
    tokens: list[Token] = []
    position = 0
    while True:
        while position < len(text) and text[position] in SPACE:
            position += 1
        if position == len(text):
            return [*tokens, Token("end", "the end", position)]
        match = _TOKEN.match(text, position)
        if match is None and text[position] == "/" and tokens and tokens[-1].kind == "number":
            below = re.match(r"/\s*([0-9]+)", text[position:])
            ratio = f"{tokens[-1].text}/{below[1] if below else '...'}"
            raise PlanError(f"a fraction needs quotes: '{ratio}'", text, tokens[-1].position)
        if match is None:
            raise PlanError(f"unexpected {text[position]!r}", text, position)
        tokens.append(Token(match.lastgroup or "", match[0], position))
        position = match.end()
