"""Neighbouring relations (adjacency): which two data sets a guarantee is about.

A guarantee bounds how well two neighbouring data sets can be told apart; P and Q are the laws of the output on them.

| relation      | P is the law on             | Q is the law on          | the other direction                        |
|---------------|-----------------------------|--------------------------|--------------------------------------------|
| `ADD_REMOVE`  | the data with a person      | the data without it      | (Q, P); the worse of the two is stated     |
| `REPLACE`     | the data with one record    | with another one instead | is again a pair of such data               |
| `EITHER`      | whatever the plan's relation says; the sensitivity was stated for it                                |

Under `ADD_REMOVE` all parts of a plan see the same direction: the person is in the data for all of them, or for none.
Under `REPLACE` each part may see its own worst pair in its own direction, so that asymmetric laws enter by their
envelope. A statement for one relation is none for the other (a replaced record is one removed and one added, at the
cost of a group of two), so relations are compared wherever parts meet, and never converted.
"""

from __future__ import annotations

from enum import Enum

from zcdp.errors import BadValue

__all__ = ["Relation"]


class Relation(Enum):
    """A neighbouring relation. All parts of a plan share one.

    Theorem: docs/theorems/profile.md.
    """

    ADD_REMOVE = "add_remove"
    """One data set is the other without one person. All parts of a plan have the same direction: the same one is P."""
    REPLACE = "replace"
    """The data of one person are replaced. Each part of a plan may have the worst pair in either direction."""
    EITHER = "either"
    """The mechanism is stated for whatever relation the plan has; additive noise is, through its sensitivity."""

    def joined(self, other: Relation) -> Relation:
        """The relation of a composition of two mechanisms; raises if they differ, and never converts.

        >>> Relation.EITHER.joined(Relation.REPLACE)
        <Relation.REPLACE: 'replace'>
        """
        if other is self or other is Relation.EITHER:
            return self
        if self is Relation.EITHER:
            return other
        raise BadValue(
            f"a mechanism for {self.value} neighbours and one for {other.value} neighbours do not compose: "
            "state both for one relation"
        )
