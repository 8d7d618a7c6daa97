"""Plan files: what is accepted is kept as it stands, what would be accounted for wrongly is refused with its line."""

from __future__ import annotations

import pytest

from zcdp import ExponentialMechanism, Laplace, RandomizedResponse
from zcdp.plans.plan_file import Budget, PlanFileError, read_plan

QUERY = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'
ASKED = '[[query]]\nname = "a"\nmechanism = "RandomizedResponse(epsilon=1, k=3)"\n'


def test_every_field_is_kept() -> None:
    plan = read_plan(
        "plan.toml",
        'title = " T "\ndescription = "D"\nauthor = "A"\ndataset = "S"\nunit = "person"\ndelta = 1e-7\n'
        'neighbours = "replace"\n[budget]\nepsilon = "1/3"\ndelta = 1e-9\n'
        + QUERY
        + 'count = 7\nnote = "N"\nweight = "2.5"\nhalf_width = 3\nlevel = 0.9\n'
        + QUERY.replace('"a"', '"b"')
        + "sd = 4\n",
    )
    assert (plan.title, plan.description, plan.author, plan.dataset, plan.unit) == ("T", "D", "A", "S", "person")
    assert (plan.delta, plan.neighbours, plan.budget) == (1e-7, "replace", Budget(epsilon="1/3", delta=1e-9))
    first, second = plan.entries
    assert (first.count, first.note, first.weight) == (7, "N", "2.5")
    assert (first.half_width, first.level, first.sd) == (3, 0.9, None)
    assert (second.count, second.note, second.weight) == (1, None, 1)
    assert (second.half_width, second.level, second.sd) == (None, "0.95", 4)
    assert first.plan == 1 * Laplace(epsilon=1)
    assert (first.line, second.line) == (13, 21)


def test_a_collection_is_kept() -> None:
    plan = read_plan(
        "plan.toml",
        '[collection]\nvalues = ["x", "y", "z"]\nrounds = 5\nanswered = 2\nclients = 100\n' + ASKED + "count = 2\n",
    )
    found = plan.collection
    assert found is not None
    assert (found.k, found.values, found.rounds, found.answered, found.clients) == (3, ("x", "y", "z"), 5, 2, 100)
    assert plan.entries[0].plan == 1 * RandomizedResponse(epsilon=1, k=3)
    once = read_plan("plan.toml", "[collection]\nk = 3\n" + ASKED).collection
    assert once is not None
    assert (once.rounds, once.answered, once.clients, once.values) == (1, 1, None, None)


BUDGETS = {
    "": "2: a budget is rho, or epsilon and delta",
    "delta = 0.1\n": "2: a budget is rho, or epsilon and delta",
    "epsilon = 1\n": "2: a budget is rho, or epsilon and delta",
    "rho = 1\ndelta = 0.1\n": "2: a budget is rho, or epsilon and delta",
    "rho = 1\nepsilon = 1\n": "2: a budget is rho, or epsilon and delta",
    "rho = 1\nepsilon = 1\ndelta = 0.1\n": "2: a budget is rho, or epsilon and delta",
    "rho = 0\n": "3: rho (0) must be positive",
    "rho = true\n": "3: rho: must be a number, not True",
    "epsilon = -1\ndelta = 0.1\n": "3: epsilon (-1) must be positive",
    "epsilon = 1\ndelta = 0\n": "4: delta (0)",
    "epsilon = 1\ndelta = 1\n": "4: delta (1)",
    "rho = 1\nrhos = 1\n": "4: there is no field 'rhos'",
}


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_is_one_of_two_kinds(budget: str) -> None:
    with pytest.raises(PlanFileError) as refused:
        read_plan("plan.toml", f"\n[budget]\n{budget}{QUERY}")
    assert str(refused.value).startswith(f"plan.toml:{BUDGETS[budget]}")


COLLECTIONS = {
    "k = 1\n": "k (1) must be at least 2",
    "k = 4\n": "4 must be the 3 of the mechanism",
    "rounds = 2\n": "a collection needs k",
    "k = 3\nrounds = 0\n": "rounds (0) must be at least 1",
    "k = 3\nanswered = 0\n": "answered (0) must be at least 1",
    "k = 3\nclients = 0\n": "clients (0) must be at least 1",
    "k = 3\nrounds = 2\nanswered = 3\n": "3 must be at most the 2 rounds",
    "k = 3\nrounds = 2\n": "1 must be the 2 rounds that a client answers",
    'values = ["x", "x", "y"]\n': "must be a list of two or more different names",
    'values = ["x"]\n': "must be a list of two or more different names",
    'values = ["x", "", "y"]\n': "must be a list of two or more different names",
    'values = "xyz"\n': "must be a list of two or more different names",
    'k = 3\nvalues = ["x", "y"]\n': "2 names must be as many as k, 3",
    "k = 3\nround = 1\n": "there is no field 'round'",
}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_collection_asks_as_often_as_it_is_accounted_for(collection: str) -> None:
    with pytest.raises(PlanFileError) as refused:
        read_plan("plan.toml", f"[collection]\n{collection}{ASKED}")
    assert COLLECTIONS[collection] in str(refused.value)


@pytest.mark.parametrize(
    "mechanism",
    [
        "2 * RandomizedResponse(epsilon=1, k=3)",
        "RandomizedResponse(epsilon=1, k=3) + RAPPOR(epsilon=1)",
        "Laplace(epsilon=1)",
        "RandomizedResponse(epsilon=?, k=3)",
    ],
)
def test_a_collection_has_one_local_randomizer_used_once_a_round(mechanism: str) -> None:
    text = f'[collection]\nk = 3\n[[query]]\nname = "a"\nmechanism = "{mechanism}"\n'
    with pytest.raises(PlanFileError, match="one query, with one local randomizer"):
        read_plan("plan.toml", text)
    with pytest.raises(PlanFileError, match="one query, with one local randomizer"):
        read_plan("plan.toml", "[collection]\nk = 3\n" + ASKED + ASKED.replace('"a"', '"b"'))


QUERIES = {
    QUERY + QUERY: ":5: name: 'a' is the name of the query at line 2 too",
    QUERY + QUERY.replace('"a"', '" a "'): ":5: name: 'a' is the name of the query at line 2 too",
    QUERY.replace('"a"', '" "'): ":2: name: must not be empty",
    QUERY + "count = 0\n": ":4: count (0) must be at least 1",
    QUERY + "count = 1.5\n": ":4: count (1.5) must be a whole number",
    QUERY + "count = true\n": ":4: count: must be a number",
    QUERY + "weight = 0\n": ":4: weight (0) must be positive",
    QUERY + "sd = 0\n": ":4: sd (0) must be positive",
    QUERY + "half_width = -1\n": ":4: half_width (-1) must be positive",
    QUERY + "half_width = 1\nlevel = 1\n": ":5: level (1)",
    QUERY + "level = 0.9\n": ":4: level: is that of a half_width",
    QUERY + "sd = 1\nhalf_width = 1\n": ":5: give sd or half_width, not both",
    QUERY + "counts = 1\n": ":4: there is no field 'counts'",
    QUERY + 'measure = "count"\n': ":4: measure: needs to know whom it is about",
    QUERY.replace("epsilon=1", "epsilon=?, sensitivity=?"): ":3: mechanism: one parameter may be '?'",
    "[[query]]\nname = 'a'\n": ":1: query 1 has no mechanism",
    "[[query]]\nmechanism = 'Laplace(epsilon=1)'\n": ":1: query 1 has no name",
    "delta = 0\n" + QUERY: ":1: delta (0)",
    "delta = 1\n" + QUERY: ":1: delta (1)",
    'neighbours = "twins"\n' + QUERY: ":1: neighbours: must be 'add_remove' or 'replace'",
    "neighbours = 1\n" + QUERY: ":1: neighbours: must be 'add_remove' or 'replace'",
    "budget = 1\n" + QUERY: ":1: budget: must be a table",
    "collection = 1\n" + QUERY: ":1: collection: must be a table",
    "title = 1\n" + QUERY: ":1: title: must be text in quotes",
    "deltas = 0.1\n" + QUERY: ":1: there is no field 'deltas'",
    "title = 'none'\n": ": query: a plan needs queries",
}


@pytest.mark.parametrize("text", QUERIES)
def test_what_is_wrong_with_a_query_is_said_with_its_line(text: str) -> None:
    with pytest.raises(PlanFileError) as refused:
        read_plan("plan.toml", text)
    assert str(refused.value).startswith("plan.toml" + QUERIES[text])


TABLE = """[data]
unit = "row"
[domain]
region = ["north", "south"]
[[query]]
name = "income"
measure = "sum"
of = "income"
clip = [0, 100]
grid = {grid}
by = ["region"]
mechanism = "{mechanism}"
{target}
"""


@pytest.mark.parametrize(("grid", "sd", "steps"), [("10", "30", 3), ("0.1", "0.3", 3), ("0.5", "12", 24)])
def test_a_target_of_a_table_is_in_the_unit_of_its_values(grid: str, sd: str, steps: int) -> None:
    for name in ("sd", "half_width"):
        text = TABLE.format(grid=grid, mechanism="DiscreteGaussian(sigma=?)", target=f"{name} = {sd}")
        [entry] = read_plan("plan.toml", text).entries
        assert float(getattr(entry, name)) == steps


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("Laplace(epsilon=1)", "must add noise to integers"),
        ("DiscreteGaussian(sigma=9, sensitivity=1)", "sensitivity is not typed in: the bounds say 10 grid steps of 10"),
        ("DiscreteGaussian(sigma=?, sensitivity=?)", "one parameter may be '\\?'|sensitivity is not typed in"),
        ("ExponentialMechanism(epsilon=1)", "must add noise to integers"),
        ("DiscreteLaplace(epsilon=-1)", "epsilon \\(-1\\) must be positive"),
    ],
)
def test_the_mechanism_of_a_table_fits_its_measure(mechanism: str, message: str) -> None:
    with pytest.raises(PlanFileError, match=message):
        read_plan("plan.toml", TABLE.format(grid=10, mechanism=mechanism, target=""))
    stated = TABLE.format(grid=10, mechanism="DiscreteGaussian(sigma=9, sensitivity=10)", target="")
    assert read_plan("plan.toml", stated).entries[0].plan.parts[0][0].sensitivity == 10  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["collection", "unit", "neighbours"])
def test_tables_say_whom_they_are_about_in_one_place(name: str) -> None:
    head = {
        "collection": "collection = {k = 3}\n",
        "unit": 'unit = "person"\n',
        "neighbours": 'neighbours = "replace"\n',
    }
    text = head[name] + TABLE.format(grid=10, mechanism="DiscreteGaussian(sigma=9)", target="")
    with pytest.raises(PlanFileError, match=f"^plan.toml:1: {name}: does not go with \\[data\\]"):
        read_plan("plan.toml", text)


def test_the_tables_of_a_release_fit_together() -> None:
    """Two tables of 700 x 700 cells are 980,000; a release may have a million in all."""
    values = ", ".join(f'"{n}"' for n in range(700))
    head = f'[data]\nunit = "row"\n[domain]\na = [{values}]\nb = [{values}]\n'
    table = '[[query]]\nname = "{}"\nmeasure = "count"\nby = ["a", "b"]\nmechanism = "DiscreteGaussian(sigma=9)"\n'
    assert len(read_plan("plan.toml", head + "".join(map(table.format, "xy"))).entries) == 2
    with pytest.raises(PlanFileError, match="cells together"):
        read_plan("plan.toml", head + "".join(map(table.format, "xyz")))


TOP = """[data]
unit = "row"
neighbours = "{neighbours}"
[domain]
region = ["north", "south", "west"]
[[query]]
name = "largest"
measure = "top"
of = "region"
k = 2
mechanism = "{mechanism}"
weight = 5
note = "N"
"""


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("PermuteAndFlip(epsilon=1)", "must be ExponentialMechanism"),
        ("DiscreteGaussian(sigma=9)", "must be ExponentialMechanism"),
        ("ExponentialMechanism(epsilon=-1)", "must be positive"),
        ("ExponentialMechanism(epsilon=1, monotone=False)", "monotone is not typed in"),
    ],
)
def test_a_selection_of_a_table_is_made_by_the_mechanism_that_is_run(mechanism: str, message: str) -> None:
    with pytest.raises(PlanFileError, match=message):
        read_plan("plan.toml", TOP.format(neighbours="add-remove", mechanism=mechanism))


@pytest.mark.parametrize(("neighbours", "monotone"), [("add-remove", True), ("replace", False)])
def test_two_selections_are_two_uses_and_scores_move_as_the_neighbours_say(neighbours: str, monotone: bool) -> None:
    [entry] = read_plan(
        "plan.toml", TOP.format(neighbours=neighbours, mechanism="ExponentialMechanism(epsilon=1)")
    ).entries
    assert entry.plan == 1 * ExponentialMechanism(epsilon=1, monotone=monotone)
    assert (entry.count, entry.weight, entry.note) == (2, 5, "N")
