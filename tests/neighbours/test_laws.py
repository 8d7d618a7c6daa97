"""No reported number is below what true neighbours tell, no lower end above: over the whole table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from neighbours import laws
from neighbours.checks import Tally
from neighbours.table import ROWS, Row

NAMES = [row.name for row in ROWS]
EVERY = pytest.mark.parametrize("row", ROWS, ids=NAMES)


def _run(law: Callable[..., None], row: Row, seeds: range, least: int) -> None:
    """Under each seed; the number of comparisons is part of the law."""
    tally = Tally()
    for seed in seeds:
        law(row, seed, tally)
    assert not tally.failures, "\n".join([f"{len(tally.failures)} of {tally.checks}", *tally.failures[:20]])
    assert tally.checks + 20 * tally.refused >= least * len(seeds), tally


@EVERY
def test_one_mechanism_and_so_many_times(row: Row) -> None:
    _run(partial(laws.one, effort=3), row, range(1), 24)


@EVERY
def test_groups(row: Row) -> None:
    _run(partial(laws.group, effort=2), row, range(1), 20)


@EVERY
def test_several_kinds(row: Row) -> None:
    _run(partial(laws.mixed, effort=2), row, range(1), 11)


@EVERY
def test_an_adversary_that_adapts(row: Row) -> None:
    _run(laws.adapted, row, range(1), 2)
