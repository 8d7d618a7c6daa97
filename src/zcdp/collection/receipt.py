"""Receipts of values that were randomized: by their content, so that a copy under another name is known again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zcdp.errors import BadValue

__all__ = ["Receipt", "receipt_of"]

SUFFIX = ".randomized"


def receipt_of(values: Path, turn: int = 1) -> Path:
    """The file beside the values that says that they have been randomized, for the first or a later round."""
    mark = "" if turn == 1 else f".round-{turn}"
    return values.resolve().with_name(f"{values.resolve().name}{mark}{SUFFIX}")


@dataclass(frozen=True)
class Receipt:
    """Made before anything is drawn, and only if the plan still allows it; it stays as secret as the values.

    The same content, under whatever name in the folder, may be drawn once in each round, and not in more rounds than a
    client answers. A copy in another folder, or with its rows in another order, is not known again.
    """

    path: Path
    digest: str

    @classmethod
    def make(cls, values: Path, digest: str, turn: int, answered: int, facts: dict[str, Any]) -> Receipt:
        """Whoever comes second is refused: a second report of the same value costs as much again."""
        own = cls(receipt_of(values, turn), digest)
        again = "a second report of the same value costs as much again"
        try:
            with own.path.open("x", encoding="utf-8") as file:
                json.dump({**facts, "round": turn, "digest": digest}, file)
        except FileExistsError:
            raise BadValue(f"{values}: was randomized already, says {own.path.name}: {again}") from None
        try:  # the own receipt stands: of two who come at once under different names both find the other's
            earlier = own._earlier()
            for path, said in earlier:
                if said["round"] == turn:
                    raise BadValue(f"{values}: was randomized already, says {path.name}: {again}")
            if len(earlier) >= answered:
                raise BadValue(
                    f"{values}: was randomized in {len(earlier)} rounds, says {earlier[0][0].name}: "
                    f"the plan accounts for {answered}"
                )
        except BaseException:
            own.path.unlink()
            raise
        return own

    def _earlier(self) -> list[tuple[Path, dict[str, Any]]]:
        """The other receipts of the same content in the folder."""
        found = []
        for path in sorted(self.path.parent.glob(f"*{SUFFIX}")):
            if path != self.path:
                try:
                    said = json.loads(path.read_text(encoding="utf-8"))
                    same, counted = said["digest"] == self.digest, type(said["round"]) is int
                except (OSError, ValueError, KeyError, TypeError):
                    counted = False
                if not counted:
                    raise BadValue(f"{path}: is no receipt that this version reads: move it away on purpose")
                if same:
                    found.append((path, said))
        return found
