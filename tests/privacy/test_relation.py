"""Neighbouring relations join or are refused."""

from __future__ import annotations

import pytest

from zcdp.privacy.relation import Relation


def test_relations_join_or_are_refused() -> None:
    either, ordered, replaced = Relation.EITHER, Relation.ADD_REMOVE, Relation.REPLACE
    assert either.joined(ordered) is ordered.joined(either) is ordered
    assert replaced.joined(replaced) is replaced.joined(either) is replaced
    with pytest.raises(ValueError, match="add_remove neighbours and one for replace"):
        ordered.joined(replaced)
