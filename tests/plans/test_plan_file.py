"""Plan files: what is accepted is kept as it stands, what would be accounted for wrongly is refused with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zcdp import ExponentialMechanism, Laplace, PlanError, RandomizedResponse, account
from zcdp.plans import plan_file as plan_text
from zcdp.plans.plan_file import (
    LARGEST_PLAN,
    Budget,
    PlanFileError,
    TextError,
    check_structure,
    load,
    places,
    read_plan,
)

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


# The text of a plan file: ends of lines of every system, limits to the last character, and where each field stands.


PLAN = 'title = "T"\n\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\ncount = 3\n'


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_any_system(end: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_bytes(PLAN.replace("\n", end).encode())
    assert load(file) == PLAN
    assert read_plan(file).entries == read_plan("plan.toml", PLAN).entries


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (".".join("a" * 8) + " = 1", None),
        (".".join("a" * 9) + " = 1", "line 1: a key has at most 8 parts"),
        ("x = 1\n[" + ".".join("a" * 9) + "]", "line 2: a key has at most 8 parts"),
        ("a.a.a.a = 1\nb.b.b.b.b = 1", None),
        ("x = " + "[" * 20 + "]" * 20, None),
        ("x = " + "[" * 21 + "]" * 21, "line 1: more than 20 brackets inside one another"),
        ("x = 1\n\ny = " + "{a = [" * 11, "line 3: more than 20 brackets inside one another"),
        ("x = [[], [], []]\n" * 30, None),
        ('x = "' + "[." * 50 + '"', None),
        ("x = '" + "[." * 50 + "'", None),
        ('x = """\n' + "[.\n" * 50 + '"""', None),
        ("# " + "[." * 50, None),
        ("x = '''a'''\ny = " + "[" * 21, "line 2: more than 20 brackets inside one another"),
        ('x = "a\\"b"\ny = ' + "[" * 21, "line 2: more than 20 brackets inside one another"),
    ],
)
def test_structure_is_limited_outside_of_texts_and_comments(text: str, wrong: str | None) -> None:
    if wrong is None:
        check_structure(text)
    else:
        with pytest.raises(TextError, match=f"^{wrong}$"):
            check_structure(text)


def test_a_file_has_at_most_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "plan.toml"
    monkeypatch.setattr(plan_text, "LARGEST_PLAN", 100)
    file.write_text("#" * 100)
    assert len(load(file)) == 100
    check_structure("#" * 100)
    file.write_text("#" * 101)
    with pytest.raises(TextError, match="at most 10 MB"):
        load(file)
    with pytest.raises(TextError, match="at most 10 MB"):
        check_structure("#" * 101)


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("é".encode("latin-1"))
    (tmp_path / "notepad.toml").write_bytes(b'\xef\xbb\xbftitle = "a"\n')
    for name, said in (
        ("latin.toml", "not a text file in UTF-8"),
        ("notepad.toml", "begins with a byte order mark"),
        ("none.toml", "no such file"),
        (".", "Is a directory"),
    ):
        with pytest.raises(TextError, match=said):
            load(tmp_path / name)


@pytest.mark.parametrize("header", ["[domain.b]\nfrom = nan\nto = 9\nbins = 3", '[derive.b]\nsum = ["a"]'])
def test_a_table_with_a_header_of_its_own_is_told_by_that_line(header: str) -> None:
    text = f'[data]\nunit = "who"\n[domain]\nc = ["x"]\n{header}\n'
    with pytest.raises(PlanFileError, match=r"^plan\.toml:5: b: "):
        read_plan("plan.toml", f'{text}[[query]]\nname = "a"\nmeasure = "persons"\n{GOOD.splitlines()[-1]}\n')


def test_fields_are_told_by_their_lines() -> None:
    text = 'a = """\nb = 1\n"""\n[budget]\nrho = 1\n[[query]]\nname = "x"\n[[query]]\n\n"name" = "y"\nnote.z = 1\n'
    assert dict(places(text)) == {
        ("", 0, "a"): 1,
        ("budget", 0, ""): 4,
        ("budget", 0, "rho"): 5,
        ("query", 0, ""): 6,
        ("query", 0, "name"): 7,
        ("query", 1, ""): 8,
        ("query", 1, "name"): 10,
        ("query", 1, "note"): 11,
    }


# A client that answers in every round is charged for every round.


TEXT = """[collection]
k = 4
rounds = 10
[[query]]
name = "a"
mechanism = "RandomizedResponse(epsilon=1, k=4)"
count = {count}
"""


def test_where_nothing_else_is_said_a_client_answers_in_all_rounds() -> None:
    with pytest.raises(PlanFileError, match="1 must be the 10 rounds that a client answers"):
        read_plan("plan.toml", TEXT.format(count=1))
    plan = read_plan("plan.toml", TEXT.format(count=10))
    assert plan.collection is not None
    assert plan.collection.answered == plan.entries[0].count == 10


# Limits at the door: of numbers, expressions, files, TOML and JSON, each with a sentence that names it.


GOOD = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'


LONG = "1" * 400_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" + ".a" * 2_000 + " = 1\n" + GOOD, "line 1: a key has at most 8 parts"),
        ("\n[" + " . ".join(["'a'"] * 9) + "]\n" + GOOD, "line 2: a key has at most 8 parts"),
        ('t = """\n\\""""\n' + "a" + ".a" * 9 + " = 1\n", "line 3: a key has at most 8 parts"),
        ("t = '''\n''''\nx = {" + "a" + ".a" * 9 + " = 1}\n", "line 3: a key has at most 8 parts"),
        ("a = " + "[" * 100_000, "line 1: more than 20 brackets"),
        ("a = " + "{b = " * 21, "line 1: more than 20 brackets"),
        ("count = " + "9" * 5000, "not valid TOML"),
        ("delta = 0x" + "f" * 5000 + "\n" + GOOD, "delta"),
        (GOOD.replace('"a"', "0x" + "f" * 5000), "must be text in quotes, not a int"),
        ("#" * (LARGEST_PLAN + 1), "at most 10 MB"),
        (GOOD + 'count = "1e99999"\n', "exponent"),
        (GOOD + f"count = '{LONG}'\n", "at most 4300 digits"),
        ('[budget]\nrho = "1e-4000"\n' + GOOD, "rho .* between 1e-100 and 1e30"),
        ('delta = "1e-4000"\n' + GOOD, "delta .* at least 1e-300"),
    ],
    ids=range(14),
)
def test_plan_files(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        account(read_plan("x.toml", text), curve=False)
    assert len(str(caught.value)) < 300


def test_structure_is_seen_through_strings_and_comments() -> None:
    harmless = "a.a.a.a.a.a.a.a.a.a [[[[[[[[[[[[[[[[[[[[[[[["
    for text in (
        f'title = "{harmless}"',
        f"title = '{harmless}'",
        f'title = """\n{harmless} "" \\""" \n{harmless}"""""',
        f"title = '''\n{harmless} '' \n'''''",
        f"# {harmless} ' \"",
        f'title = "\\" {harmless}"  # {harmless}',
        "weights = [" + "0.1, " * 100 + "]",
    ):
        check_structure(f"{text}\n{GOOD}" * 3)


def test_long_strings_take_no_time() -> None:
    """Each of these was a search from every quotation mark to the end, if the marks are read without care."""
    for text in ('"' + '\\"' * 2_000_000, '"""' + '\\"""' * 1_000_000, "'''" + "''x" * 1_000_000, '"' * 3_000_001):
        check_structure(text)


def test_a_count_in_quotes_is_a_number() -> None:
    assert read_plan("x.toml", GOOD + 'count = "1e3"\n').entries[0].count == 1000
    with pytest.raises(PlanFileError, match=r"x\.toml:4: count \('1e-3'\) must be a whole number"):
        read_plan("x.toml", GOOD + 'count = "1e-3"\n')


def test_only_a_path_opens_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("plan.toml", "plan"):
        Path(name).write_text(GOOD)
        assert account(Path(name), curve=False).to_dict()["queries"][0]["name"] == "a"
        with pytest.raises(PlanError):
            account(name)
        with pytest.raises(TypeError, match="as a Path"):
            read_plan(name)
    with pytest.raises(PlanError, match=r"only a Path opens a plan file: Path\("):
        account("plan.toml")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", Path("/dev/zero"), Path(os.devnull)):
        with pytest.raises(PlanFileError, match="not a regular file"):
            read_plan(path)
    with pytest.raises(PlanFileError, match="Is a directory"):
        read_plan(tmp_path)
    with pytest.raises(PlanFileError, match="null character"):
        read_plan(Path("a\0b"))
    (tmp_path / "large").write_bytes(b"#" * (LARGEST_PLAN + 1))
    with pytest.raises(PlanFileError, match="at most 10 MB"):
        read_plan(tmp_path / "large")
    (tmp_path / "latin").write_bytes(b"\xe9")
    with pytest.raises(PlanFileError, match="UTF-8"):
        read_plan(tmp_path / "latin")
    (tmp_path / "windows.toml").write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert read_plan(tmp_path / "windows.toml").entries[0].line == 3
