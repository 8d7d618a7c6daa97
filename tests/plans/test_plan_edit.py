"""A change of a plan's text changes what it says, and nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from zcdp.plans.plan_edit import (
    EditError,
    add_query,
    query_at,
    remove_query,
    set_budget,
    set_line,
    set_lines,
    set_query_field,
)
from zcdp.plans.plan_file import PlanFileError, read_plan

ROOT = Path(__file__).parents[2]
CENSUS = (ROOT / "examples" / "census.toml").read_text()
TEXT = """# of the whole
delta = 1e-6
[budget]  # of the board
rho = 1.2  # per year

# the first
[[query]]
name = "a"
mechanism = "Laplace(epsilon=1)"  # one

# the second
[[query]]
name = 'b'
mechanism = '''
Laplace(epsilon=2)'''
count = 3
"""


def lines_that_differ(one: str, other: str) -> int:
    return len(set(one.splitlines()) ^ set(other.splitlines()))


def test_a_value_changes_and_its_comment_stays() -> None:
    text = set_query_field(TEXT, 0, "mechanism", "Laplace(epsilon='1/3')")
    assert "mechanism = \"Laplace(epsilon='1/3')\"  # one" in text
    assert lines_that_differ(text, TEXT) == 2
    assert tomllib.loads(text)["query"][0]["mechanism"] == "Laplace(epsilon='1/3')"


@pytest.mark.parametrize("value", ['a "quoted" \\ name', "tab\tand\nline", "\x7f\x01", "é\u202e", "#"])
def test_any_text_is_written_so_that_it_is_read_again(value: str) -> None:
    assert tomllib.loads(set_query_field(TEXT, 0, "name", value))["query"][0]["name"] == value


def test_a_field_that_was_not_there_is_added_to_its_own_query() -> None:
    data = tomllib.loads(set_query_field(TEXT, 0, "count", 12))
    assert [query.get("count") for query in data["query"]] == [12, 3]


def test_a_value_over_several_lines_is_left_alone() -> None:
    with pytest.raises(EditError, match="a line of its own"):
        set_query_field(TEXT, 1, "mechanism", "Laplace(epsilon=3)")
    with pytest.raises(EditError, match="a line of its own"):
        set_line('query = [{name = "a", mechanism = "RAPPOR(epsilon=1)"}]', 1, "mechanism", "x")
    with pytest.raises(EditError, match="does not stand on line 99"):
        set_line(TEXT, 99, "count", 1)


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"])
def test_only_what_ends_lines_in_toml_ends_lines(end: str) -> None:
    """Python splits lines at these too, where a text or a comment goes on."""
    text = f'title = "a{end}b"\n# one{end}two\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'
    assert set_line(text, 5, "mechanism", "Laplace(epsilon=2)") == text.replace("epsilon=1", "epsilon=2")
    assert set_query_field(text, 0, "name", "b") == text.replace('name = "a"', 'name = "b"')
    with pytest.raises(PlanFileError, match=r"^a\.toml:5: "):
        read_plan("a.toml", text.replace("epsilon=1", "epsilon=-1"))


def test_several_at_once() -> None:
    text = set_lines(TEXT, [(9, "mechanism", "RAPPOR(epsilon=1)"), (16, "count", 5)])
    data = tomllib.loads(text)["query"]
    assert (data[0]["mechanism"], data[1]["count"]) == ("RAPPOR(epsilon=1)", 5)


def test_a_query_comes_and_goes() -> None:
    more = add_query(TEXT, {"name": "c", "mechanism": "RAPPOR(epsilon=1)", "count": 2})
    assert more.startswith(TEXT)
    assert remove_query(more, 2) == TEXT
    assert tomllib.loads(add_query("", {"name": "c", "mechanism": "RAPPOR(epsilon=1)"}))["query"][0]["name"] == "c"


def test_a_query_goes_with_the_comments_above_it_and_no_others() -> None:
    text = remove_query(TEXT, 0)
    assert "# the first" not in text
    assert "# the second\n[[query]]" in text
    assert "# of the whole" in text
    with pytest.raises(EditError, match="no query 3"):
        remove_query(TEXT, 2)


@pytest.mark.parametrize("n", range(7))
def test_each_query_of_the_census_can_go(n: int) -> None:
    kept = [query["name"] for query in tomllib.loads(remove_query(CENSUS, n))["query"]]
    assert kept == [query["name"] for k, query in enumerate(tomllib.loads(CENSUS)["query"]) if k != n]


def test_budgets() -> None:
    assert "rho = 0.5  # per year" in set_budget(TEXT, rho="0.5")
    other = set_budget(TEXT, epsilon="1/3", delta="1e-9")
    assert tomllib.loads(other)["budget"] == {"epsilon": "1/3", "delta": 1e-9}
    assert "[budget]  # of the board" in other
    none = TEXT.replace("[budget]  # of the board\nrho = 1.2  # per year\n", "")
    assert tomllib.loads(set_budget(none, rho="2"))["budget"] == {"rho": 2}
    assert "# the first\n[[query]]" in set_budget(none, rho="2")


def test_which_query_a_line_is_of() -> None:
    assert [query_at(TEXT, line) for line in (2, 8, 9, 16)] == [None, 0, 0, 1]
