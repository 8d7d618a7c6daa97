"""The declaration of derived columns: what is read, what is refused and with which words, and in which order."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.tables.derived_columns import needed_columns, read_derived
from zcdp.tables.domain import DeclarationError

WORDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "hourly": ({"quotient": ["wage", "hours"]}, "number", "wage / hours"),
    "net": ({"difference": ["income", 12.5]}, "number", "income - 12.5"),
    "all": ({"sum": ["a", "b", "c"]}, "number", "a + b + c"),
    "area": ({"product": [2, "b"]}, "number", "2 * b"),
    "born": ({"part": "year", "of": "birth"}, "integer", "year of birth"),
    "age": ({"years_between": ["birth", date(2026, 1, 1)]}, "integer", "whole years from birth to 2026-01-01"),
    "working": (
        {"any": [["hours", ">", 0], ["status", "==", "leave"]]},
        "boolean",
        "whether hours > 0 or status == 'leave'",
    ),
    "idle": ({"not": {"all": [["a", "in", [1, 2]], ["ok", "==", True]]}}, "boolean",
             "whether not (a in (1, 2) and ok == true)"),
    "group": ({"first": [[["age", "<", 18], "child"], [True, "old"]]}, "text", "'child' if age < 18, else 'old'"),
    "rank": ({"first": [[["age", "<", 18], 1], [True, 2]]}, "integer", "1 if age < 18, else 2"),
    "half": ({"first": [[["age", "<", 18], 1], [True, 0.5]]}, "number", "1 if age < 18, else 0.5"),
    "code": ({"prefix": 2, "of": "isco"}, "text", "the first 2 letters of isco"),
    "name": ({"fold": ["trim", "nfc"], "of": "employer"}, "text", "employer, folded by nfc, trim"),
    "filled": ({"value": "income", "missing": 0}, "number", "income, and 0 where it is missing"),
    "rows": ({"per": "person", "count": True}, "integer", "the person's rows, counted"),
    "jobs": ({"per": "person", "count": ["hours", ">", 0]}, "integer", "the person's rows, counted where hours > 0"),
    "most": ({"per": "person", "largest": "hours"}, "number", "largest hours of the person's rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_each_form_has_its_kind_and_its_words(name: str) -> None:
    data, kind, words = WORDS[name]
    found = read_derived({name: data}, [], "who")[name]
    assert (found.rule.kind, found.words()) == (kind, words)


WRONG: dict[str, tuple[Any, str]] = {
    "no table": ("a / b", "must be a table with one of quotient"),
    "two forms": ({"sum": ["a", "b"], "product": ["a", "b"]}, "must be a table with one of"),
    "another field": ({"sum": ["a", "b"], "of": "c"}, "of: the derived column 'x' has no such field"),
    "one operand": ({"sum": ["a"]}, "sum needs a list of 2 to 16"),
    "three operands": ({"quotient": ["a", "b", "c"]}, "quotient needs a list of 2 columns"),
    "no column": ({"sum": [1, 2]}, "needs at least one column"),
    "large number": ({"sum": ["a", 2**53]}, "below 2\\^53"),
    "not a number": ({"sum": ["a", True]}, "must be a number"),
    "another part": ({"part": "hour", "of": "a"}, "part must be one of year, quarter"),
    "part of nothing": ({"part": "year"}, "of is missing"),
    "days as text": ({"years_between": ["", "b"]}, "a day is the name of a column"),
    "a day in quotes": ({"years_between": ["born", "2026-01-01"]}, "a date without quotes: 2026-01-01"),
    "two constants": ({"years_between": [date(2020, 1, 1), date(2021, 1, 1)]}, "needs two days"),
    "empty any": ({"any": []}, "any needs a list of tests"),
    "no test": ({"all": ["hours"]}, "a test is true"),
    "bad condition": ({"not": ["hours", "~", 1]}, "'~' is none of"),
    "no pairs": ({"first": [["a", "<", 1]]}, "first needs pairs"),
    "mixed values": ({"first": [[True, "a"], [True, 1]]}, "of one kind"),
    "odd value": ({"first": [[True, [1]]]}, "a constant is a number"),
    "long prefix": ({"prefix": 0, "of": "a"}, "from 1 to 100"),
    "another fold": ({"fold": "upper", "of": "a"}, "fold must be one of nfc, case, trim"),
    "fold twice": ({"fold": ["case", "case"], "of": "a"}, "one or more of"),
    "no constant": ({"value": "a"}, "missing is missing"),
    "another per": ({"per": "region", "count": True}, 'per must be "person"'),
    "two counts": ({"per": "person", "count": True, "total": "a"}, "one of count, total"),
    "grid of a count": ({"per": "person", "count": True, "grid": 1}, "grid is that of a total"),
    "grid below 0": ({"per": "person", "total": "a", "grid": -1}, "grid must be positive"),
    "itself": ({"value": "x", "missing": 0}, "is derived from itself: x from x"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    data, message = WRONG[name]
    with pytest.raises(DeclarationError, match=message):
        read_derived({"x": data}, [], "who")


def test_columns_may_be_derived_from_each_other_but_not_in_a_circle() -> None:
    data = {"c": {"sum": ["b", "b"]}, "b": {"sum": ["a", 1]}, "d": {"prefix": 1, "of": "t"}}
    found = read_derived(data, [], "who")
    assert needed_columns(found, [("c", "number"), ("t", "text")]) == (
        [("a", "number"), ("t", "text")],
        [("b", "number"), ("c", "number")],
    )
    with pytest.raises(DeclarationError, match="is derived from itself: c from b from a from c"):
        read_derived({**data, "a": {"sum": ["c", 1]}}, [], "who")
    with pytest.raises(DeclarationError, match="the derived column 'd' holds text, and cannot be read as numbers"):
        read_derived({**data, "e": {"sum": ["d", 1]}}, [], "who")
    with pytest.raises(DeclarationError, match="the column of the unit, 'c', cannot be derived"):
        read_derived(data, [], "c")
    chain = {f"c{n}": {"sum": [f"c{n - 1}"] * 16} for n in range(1, 150)}
    assert len(needed_columns(read_derived(chain, [], "who"), [("c149", "number")])[1]) == 149
    with pytest.raises(DeclarationError, match="there are no persons"):
        read_derived({"n": {"per": "person", "count": True}}, [], "row")


def test_a_query_that_reads_another_kind_is_refused_at_its_line() -> None:
    text = '[data]\nunit = "row"\n[derive]\nage = { part = "year", of = "born" }\n[[query]]\nname = "a"\n'
    text += 'measure = "count"\nwhere = [["age", "==", "old"]]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
    with pytest.raises(PlanFileError, match=r"plan.toml:5: the derived column 'age' holds integers, and cannot be"):
        read_plan("plan.toml", text)
    broken = text.replace('"year"', '"hour"')
    with pytest.raises(PlanFileError, match=r"plan.toml:4: age: part must be one of"):
        read_plan("plan.toml", broken)
    plain = read_plan("plan.toml", text.replace('"old"', "1990")).tables
    other = read_plan("plan.toml", text.replace('"old"', "1990").replace('"year"', '"month"')).tables
    assert plain is not None
    assert other is not None
    assert plain.digest != other.digest
