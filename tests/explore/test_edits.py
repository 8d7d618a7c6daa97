"""Every change of the page is the change of the plan that a person meant, or says in the library's words why not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from zcdp.errors import BadValue, ZcdpError
from zcdp.explore.edits import apply, noise_of, plain, raw_text
from zcdp.plans.plan_file import PlanFile, read_plan

ROOT = Path(__file__).parents[2]
CENSUS = read_plan(ROOT / "examples" / "census.toml")
PERSONS = read_plan(ROOT / "examples" / "persons.toml")


def queries(plan: PlanFile) -> list[dict[str, object]]:
    found: list[dict[str, object]] = tomllib.loads(plan.text)["query"]
    return found


@pytest.mark.parametrize(
    ("what", "value", "field", "expected"),
    [
        ("noise", "7.5", "mechanism", "DiscreteLaplace(scale=7.5, sensitivity=L0LInf(2, 1))"),
        ("noise", "22/7", "mechanism", "DiscreteLaplace(scale='22/7', sensitivity=L0LInf(2, 1))"),
        ("noise", " ? ", "mechanism", "DiscreteLaplace(scale=?, sensitivity=L0LInf(2, 1))"),
        ("uses", "3", "count", 3),
        ("name", "ages", "name", "ages"),
        ("note", 'with "quotes"', "note", 'with "quotes"'),
        ("text", "Laplace(epsilon=1)", "mechanism", "Laplace(epsilon=1)"),
    ],
)
def test_a_field_changes_and_nothing_else(what: str, value: str, field: str, expected: object) -> None:
    made = apply(CENSUS, what, 1, value)
    before = queries(CENSUS)
    before[1][field] = expected
    assert queries(made) == before
    kept = [line for line in CENSUS.text.splitlines() if line.startswith("#")]
    assert [line for line in made.text.splitlines() if line.startswith("#")] == kept


@pytest.mark.parametrize(
    ("what", "value", "words"),
    [
        ("noise", "-1", "scale (-1) must be positive"),
        ("noise", "abc", "is not a number"),
        ("noise", "1') + Laplace(epsilon=9", "is not a number"),
        ("noise", "", "a number is needed"),
        ("uses", "0", "must be at least 1"),
        ("uses", "1.5", "whole number"),
        ("uses", "9" * 15, "must be"),
        ("sd", "x", "sd ('x') is not a number"),
        ("half", "0", "half_width ('0') must be positive"),
        ("kind", "Nonsense", "there is no Nonsense of equal accuracy"),
        ("text", "Laplce(epsilon=1)", "did you mean 'Laplace'"),
        ("text", "", "expected a mechanism"),
        ("name", "", "must not be empty"),
        ("name", "households by size", "is the name of the query"),
        ("budget", "rho=0", "rho (0) must be positive"),
        ("budget", "rho=", "rho is needed"),
        ("budget", "gold=1", "a budget is rho, or epsilon and delta"),
        ("delta", "2", "delta (2) must lie strictly between 0 and 1"),
        ("delta", "", "delta is needed"),
        ("nonsense", "1", "no change called 'nonsense'"),
    ],
)
def test_what_is_wrong_is_said(what: str, value: str, words: str) -> None:
    with pytest.raises(ZcdpError) as raised:
        apply(CENSUS, what, 1, value)
    assert words in plain(raised.value, CENSUS.source)
    assert CENSUS.source not in plain(raised.value, CENSUS.source)


@pytest.mark.parametrize("row", [None, -1, 7, True, "1", 1.0])
def test_rows_that_are_not_there(row: object) -> None:
    with pytest.raises(BadValue, match="no such query"):
        apply(CENSUS, "noise", row, "1")  # type: ignore[arg-type]


def test_a_value_is_a_short_text() -> None:
    for value in (1, None, "1" * 10_001):
        with pytest.raises(BadValue, match="short text"):
            apply(CENSUS, "noise", 1, value)  # type: ignore[arg-type]


def test_a_target_and_a_kind_keep_the_other_parameters() -> None:
    by_sd = apply(CENSUS, "sd", 4, "10").entries[4]
    assert by_sd.plan is not None
    [(mechanism, _)] = by_sd.plan.parts
    assert mechanism.accuracy().standard_deviation == pytest.approx(10, rel=1e-6)  # type: ignore[attr-defined]
    assert "L0LInf(4, 1)" in by_sd.text
    other = apply(CENSUS, "kind", 4, "DiscreteGaussian").entries[4]
    assert other.text.startswith("DiscreteGaussian(sigma=")
    assert "L0LInf(4, 1)" in other.text
    found = apply(apply(CENSUS, "noise", 4, "?"), "half", 4, "9").entries[4]
    assert found.plan is not None


def test_queries_come_and_go() -> None:
    more = apply(apply(CENSUS, "add", None, ""), "add", None, "")
    assert [entry.name for entry in more.entries[7:]] == ["new query", "new query 2"]
    assert more.entries[7].text == CENSUS.entries[5].text  # noise as the last that adds some, not a choice as the last
    assert apply(apply(more, "remove", 8, ""), "remove", 7, "").text == CENSUS.text
    one = read_plan("a.toml", '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n')
    with pytest.raises(BadValue, match="its last"):
        apply(one, "remove", 0, "")


def test_a_new_query_begins_as_its_neighbours_do() -> None:
    one = '[[query]]\nname = "{0}"\nmechanism = "{1}"\n'
    for texts, expected in (
        (["Laplace(epsilon=?)", "RandomizedResponse(epsilon=1, k=2)"], "Laplace(epsilon=?)"),
        (["RandomizedResponse(epsilon=1, k=2)"], "RandomizedResponse(epsilon=1, k=2)"),
        (["Laplace(epsilon=1) + Laplace(epsilon=2)"], "DiscreteGaussian(sigma=10)"),
    ):
        plan = read_plan("a.toml", "".join(one.format(n, text) for n, text in enumerate(texts)))
        assert apply(plan, "add", None, "").entries[-1].text == expected


def test_half_a_character_is_no_text() -> None:
    """A page can send it, and no file can hold it: saving would fail in the midst."""
    for what, value in (("title", "\ud800"), ("name", "a\udfff"), ("note", "\ud83d"), ("text", "\udc80")):
        with pytest.raises(BadValue, match="half of a character"):
            apply(CENSUS, what, 1, value)


def test_tables_keep_their_derived_sensitivity() -> None:
    income = PERSONS.entries[4]
    assert raw_text(PERSONS, income) == "DiscreteGaussian(sigma=90000)"
    made = apply(PERSONS, "noise", 4, "80000")
    assert 'mechanism = "DiscreteGaussian(sigma=80000)"  # in grid steps: 900 000' in made.text
    sd = apply(PERSONS, "sd", 4, "800000").entries[4]
    assert sd.plan == made.entries[4].plan or sd.text.startswith("DiscreteGaussian(sigma=79999.99")
    with pytest.raises(BadValue, match="follows from its bounds"):
        apply(PERSONS, "uses", 4, "2")
    with pytest.raises(BadValue, match="added in the file"):
        apply(PERSONS, "add", None, "")


def test_budget_and_delta() -> None:
    made = apply(CENSUS, "budget", None, "epsilon=2")
    assert made.budget is not None
    assert (made.budget.epsilon, made.budget.delta) == (2, 1e-9)
    both = apply(made, "delta", None, "1e-7")
    assert both.budget is not None
    assert (both.delta, both.budget.delta) == (1e-7, 1e-7)
    assert apply(both, "budget", None, "rho=1/3").budget.rho == "1/3"  # type: ignore[union-attr]
    plain_plan = read_plan("a.toml", '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n')
    assert apply(plain_plan, "delta", None, "1e-5").delta == 1e-5


def test_the_parameter_of_the_noise() -> None:
    assert noise_of("Subsampled(Gaussian(sigma=1), rate=0.01)") is not None
    assert noise_of("BinaryRandomizedResponse(p='3/4', q='1/4')") is None
    assert noise_of("SparseVector(epsilon_threshold=1, epsilon_queries=1)") is None
