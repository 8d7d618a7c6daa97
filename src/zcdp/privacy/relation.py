"""Neighbouring relations: which two data sets a guarantee is about."""

from __future__ import annotations

from enum import Enum

from zcdp.errors import BadValue

__all__ = ["Relation"]


class Relation(Enum):
    """What a law of the privacy loss covers; a plan has one relation for all of its parts.

    Theorem: docs/theorems/profile.md.
    """

    ADD_REMOVE = "add_remove"
    """One data set is the other without one person: all parts of a plan see the same order."""
    REPLACE = "replace"
    """One person's data is other data: each part may face either way."""
    EITHER = "either"
    """Stated for whatever relation the plan has, as the sensitivity of noise is."""

    def joined(self, other: Relation) -> Relation:
        """The relation of a plan of both; two different ones are refused, never converted.

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
