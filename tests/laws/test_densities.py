"""The laws over the table hold for noise of one's own density too; in deep runs, as it is integrated for seconds."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest
import rows
from table import DENSITIES

from laws import test_composition, test_curve, test_limits, test_values
from zcdp import Mechanism

LAWS: list[Callable[..., Any]] = [
    law
    for room in (test_composition, test_curve, test_limits, test_values)
    for name, law in vars(room).items()
    if name.startswith("test_") and list(signature(law).parameters) == ["m"]
]
EXAMPLES = [one for one in rows.every("EXAMPLES") if one.name in DENSITIES]


def test_there_are_laws_and_each_kind_has_an_example() -> None:
    assert len(LAWS) > 10
    assert {one.name for one in EXAMPLES} == DENSITIES


@pytest.mark.deep
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.name)
def test_a_law_holds(example: Any, law: Callable[[Mechanism], None]) -> None:
    law(example.build())
