"""Neighbouring relations: which pairs of data sets a guarantee covers."""

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
