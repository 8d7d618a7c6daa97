"""Every known trap between data and noisy tables, and what keeps us out of it: a test, or that it cannot be written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NEIGHBOURS = "test_no_table_moves_further_than_its_sensitivity"
WRONG = "test_a_tempting_wrong_version_is_found_out"
SAME = "test_every_engine_gives_the_integers_of_the_definition"
BAD_PLAN, BAD_DATA = "test_a_bad_plan_is_one_sentence", "test_bad_data_is_one_sentence_that_tells_nothing_of_it"
TRAPS: dict[str, str] = {
    "a seeded random order is not a function of each person's rows": WRONG,
    "persons numbered among all others": WRONG,
    "ranks that ties share": WRONG,
    "keys that change after rows were cut": WRONG,
    "a random column that is computed twice": "no expression of a plan is random: expressions.py has none",
    "one order of cells for everybody starves some": "the hash is of person and cell: engines.py, keep",
    "missing ids and ids that are floats": BAD_DATA,
    "spellings of one id": "ids are exact values, which the guide says; categories: test_categories_are_their_texts",
    "clip of a row or of a total": "a clip is of a person's total in a cell: there is no other",
    "replaced persons move twice as many cells": "test_a_person_who_is_replaced_moves_tables_by_no_more",
    "distinct values that persons share, sketches": "no measure counts values; no sketch is offered",
    "sums of floats": WRONG,
    "sums that overflow": SAME,
    "missing values that a clip makes the largest": SAME,
    "casts that fail and quote data": NEIGHBOURS,
    "counts that cost nothing": "every measure has a mechanism of its own: query.py",
    "means over a true count": "test_the_interval_of_a_mean_holds_at_95_percent_and_is_no_longer_than_it_must_be",
    "selections that underflow": "test_the_error_of_ranks_is_about_the_truth",
    "keys that are declared twice": BAD_PLAN,
    "missing keys that match each other": SAME,
    "types that an engine casts row by row": BAD_DATA,
    "a domain that is read from the data": "a domain stands in the plan, or in a file whose digest does",
    "one draw for all empty cells": "test_intervals_hold_as_often_as_they_say",
    "thresholds that are off by one": "no threshold is offered: all keys are declared",
    "codes of categories, keys that are floats, times": "test_categories_are_their_texts",
    "names that differ by case alone": "all internal names differ by more; Spark: columns.py, _check",
    "frames that are computed again": "test_a_lazy_frame_is_computed_once_for_each_table",
    "count and sum of two moments": "one pass gives both: exact.py",
    "texts of engines' errors": "test_after_data_was_read_an_error_is_one_fixed_sentence",
    "refunds for failures": "test_after_data_was_read_an_error_is_one_fixed_sentence",
    "counts, hashes or extremes in reports": "test_nothing_of_the_data_but_noisy_values_leaves",
    "rows in the order of the data": "test_nothing_of_the_data_but_noisy_values_leaves",
    "time": "stated in the report and in the guide",
    "bounds that are chosen by the data": "bounds stand in the plan; stated in the report",
    "rows that are made from several persons": "stated in the report and in the guide",
    "statistics of files that leave NaN out": "test_one_row_moves_counts_by_one",
    "values that only some engines can take": "test_a_release_ends_alike_with_and_without_an_odd_row",
    "literals that an engine takes for one row": "test_an_older_version_is_refused_before_anything_is_spent",
    "lines of a CSV that end its reading": "test_a_line_is_read_by_itself",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_what_is_named_is_there(trap: str) -> None:
    written = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    for name in re.findall(r"\btest_\w+", TRAPS[trap]):
        assert f"def {name}(" in written


def test_no_trap_is_forgotten() -> None:
    assert len(TRAPS) == 39
