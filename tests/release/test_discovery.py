"""Found keys in a release: true neighbours, brute-force profiles, engines, the ledger, and nothing told of the rest."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from release.adversary import PERSONS
from release.engines_table import connection

from zcdp import DiscreteGaussian, account
from zcdp.accounting.fill import fill
from zcdp.accounting.filter import BudgetExceeded
from zcdp.accounting.plan_account import total_of
from zcdp.ledger import Ledger
from zcdp.mechanisms.revealing_event import revealing_event, without_events
from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.privacy.curve import Plan
from zcdp.release import release
from zcdp.release.bounding import key_counts
from zcdp.release.expressions import source_of
from zcdp.release.table_noise import published_keys
from zcdp.tables.discovered_keys import Discovered

PLAN = """
[data]
unit = "who"
neighbours = "{neighbours}"
account = "office"
[derive]
name = {{ fold = ["trim", "case"], of = "employer" }}
[domain]
sex = ["f", "m"]
[domain.firm]
discover = true
column = "name"
max_cells = {cells}
mechanism = "DiscreteGaussian(sigma={sigma})"
delta = "{delta}"
other = "others"
{more}
[[query]]
name = "persons by firm and sex"
measure = "persons"
by = ["firm", "sex"]
max_cells = 2
mechanism = "DiscreteGaussian(sigma={noise})"
"""


def plan(neighbours: str = "add-remove", cells: int = 2, sigma: Any = 2, delta: str = "1e-6", **more: Any) -> Any:
    fields = {"more": "", "noise": 3, **more}
    return read_plan("plan.toml", PLAN.format(neighbours=neighbours, cells=cells, sigma=sigma, delta=delta, **fields))


# The account against the laws of all neighbours, written out.


def shifted(sigma: float, count: int, least: int, size: int) -> np.ndarray:
    """The law of what is published of a key that `count` persons have: nothing, or a number from `least` on."""
    x = np.arange(-size, size + 1)
    weight = np.exp(-((x - count) ** 2) / (2 * sigma**2))
    weight /= weight.sum()
    return np.array([weight[x < least].sum(), *weight[x >= least]])


def hockey(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_neighbours_have_more_than_the_account_says(neighbours: str) -> None:
    """Two keys of a person, each with any number of others from 0 on, in both directions; or two persons' keys."""
    sigma, least, size = 3.0, 12, 60
    asked = plan(neighbours, sigma=3, delta="0.0005")
    noise, event = (Plan.repeated(entry.plan, entry.count) for entry in asked.entries[:2])
    assert asked.entries[1].text == f"published from {least} on, noise included"
    nothing = np.zeros(size - least + 2)
    nothing[0] = 1.0
    laws = [shifted(sigma, n, least, size) for n in range(32)]
    moves = [(laws[1], nothing), *((laws[n + 1], laws[n]) for n in (1, 8, 14, 30))]
    if neighbours == "replace":  # one key of the person who goes, one of the person who comes: each may be new
        pairs = [(one, (other[1], other[0])) for one, other in product(moves, moves)]
        assert asked.entries[0].count == 4
    else:
        pairs = list(product(moves, moves))
    for delta in (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10)):
        epsilon = total_of(noise + event, delta).epsilon
        worst = 0.0
        for (p1, q1), (p2, q2) in pairs:
            p, q = np.outer(p1, p2).ravel(), np.outer(q1, q2).ravel()
            worst = max(worst, hockey(p, q, epsilon), hockey(q, p, epsilon))
        assert worst <= delta * (1 + 1e-9)
        if neighbours == "add-remove" and delta > Fraction(1, 500):
            assert worst >= 0.9 * delta  # and the account is not loose


@pytest.mark.parametrize("replaced", [False, True])
def test_epsilon_is_that_of_the_product_of_noise_and_event(replaced: bool) -> None:
    """The law that dominates, written out: two counts that move by 1, and an outcome that one side alone produces."""
    event = Fraction(1, 500)
    x = np.arange(-60, 62)
    p, q = (np.exp(-((x - move) ** 2) / 18.0) for move in (1, 0))
    p, q = (np.outer(one / one.sum(), one / one.sum()).ravel() for one in (p, q))
    whole = 2 * DiscreteGaussian(sigma=3) + revealing_event(event, replaced=replaced)
    d = float(event)
    p = np.concatenate([p * (1 - d), [d, 0.0]])
    q = np.concatenate([q * (1 - d), [0.0, d]]) if replaced else np.concatenate([q, [0.0, 0.0]])
    for delta in (Fraction(21, 10_000), Fraction(1, 100), Fraction(1, 10)):
        epsilon = total_of(whole, delta).epsilon
        worst = max(hockey(p, q, epsilon), hockey(q, p, epsilon))
        assert 0.999999 * delta <= worst <= delta * (1 + 1e-9)


@pytest.mark.deep
def test_the_account_is_the_profile_of_noise_and_event() -> None:
    """The closed form beside the profile that the engines compute for the pair of the event itself."""
    asked = plan(sigma=6, delta="1e-4")
    made = account(asked, delta="1e-3", curve=True)
    parts = [entry.plan * entry.count for entry in asked.entries]
    whole = sum(parts[1:], parts[0])
    assert made.total.epsilon == pytest.approx(whole.epsilon_at(delta="1e-3"), rel=1e-7)
    assert made.total.event_delta == made.queries[1].delta > 0
    assert made.total.rho == pytest.approx(2 / (2 * 36) + 2 / (2 * 9))
    assert {"discovered-keys", "approximate-filter"} <= {one.id for one in made.theorems}
    for point in made.curve[::10]:
        assert point.delta >= whole.delta_bounds(epsilon=point.epsilon)[0]
    with pytest.raises(ValueError, match="must be above"):
        account(asked, delta="1e-9", curve=False)


def test_a_key_of_one_person_appears_as_often_as_is_charged() -> None:
    asked = plan(cells=1, delta="0.2")
    [domain] = asked.tables.discovered
    chance = float(without_events(asked.entries[1].plan)[1])
    share = len(published_keys(domain, asked.entries[0], [(f"k{n}", 1) for n in range(9_000)]).columns["firm"]) / 9_000
    assert abs(share - chance) < 7 * sqrt(chance * (1 - chance) / 9_000)  # 7 standard deviations: 1e-11


# Exact counts: five engines, and whoever is removed.

EMPLOYERS = (
    "Acme",
    "ACME ",
    " acme",
    "B\u00fccher",
    "B\u00dcCHER",
    "",
    None,
    "a\x00b",
    "a\x00c",
    "two\nlines",
    "x" * 300,
)
ENGINES: dict[str, Any] = {
    "polars": lambda frame: frame,
    "duckdb": lambda frame: connection().from_arrow(frame.to_arrow()),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}


def people(seed: int, size: int) -> pl.DataFrame:
    rng = random.Random(seed)
    rows = [
        (rng.choice(PERSONS["text"]), rng.choice((*EMPLOYERS, f"solo {rng.randrange(9)}")), rng.choice("fm"))
        for _ in range(size)
    ]
    return pl.DataFrame(rows, schema={"who": pl.String, "employer": pl.String, "sex": pl.String}, orient="row")


def counted(data: Any, cells: int) -> dict[str, int]:
    tables = plan(cells=cells).tables
    with source_of(data, tables) as source:
        [domain] = tables.discovered
        return {key: n for key, n in key_counts(source, tables.person, domain, 5) if domain.is_key(key)}


@pytest.mark.parametrize("engine", ENGINES)
def test_persons_are_counted_once_in_each_key(engine: str) -> None:
    frame = people(3, 200)
    expected: dict[str, set[str]] = {}
    for who, employer, _ in frame.iter_rows():
        if who is not None and employer and "\x00" not in employer and "\n" not in employer and len(employer) < 200:
            expected.setdefault(employer.strip().lower(), set()).add(who)
    assert counted(ENGINES[engine](frame), 1000) == {key: len(persons) for key, persons in expected.items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_whoever_is_removed_few_counts_move_by_one(engine: str) -> None:
    frame = people(4, 60)
    for cells in (1, 2):
        whole = counted(ENGINES[engine](frame), cells)
        for who in frame["who"].drop_nulls().unique(maintain_order=True).to_list()[:3]:
            less = counted(ENGINES[engine](frame.filter(pl.col("who").ne_missing(who))), cells)
            moves = {key: whole.get(key, 0) - less.get(key, 0) for key in {*whole, *less}}
            assert set(moves.values()) <= {0, 1}
            assert sum(moves.values()) <= cells


# What is published.


def firms(sizes: dict[str, int]) -> pl.DataFrame:
    rows = [(f"{name}{n}", name, "fm"[n % 2]) for name, size in sizes.items() for n in range(size)]
    return pl.DataFrame(rows, schema={"who": pl.String, "employer": pl.String, "sex": pl.String}, orient="row")


def test_found_keys_are_a_table_and_then_an_ordinary_list() -> None:
    data = firms({"Zeta": 300, "alpha": 200, **{f"solo {n}": 1 for n in range(40)}})
    made = release(plan(), data, ledger=None)
    keys, persons = made.tables.values()
    assert keys.columns["firm"] == ["alpha", "zeta"]
    assert [abs(value - true) < 30 for value, true in zip(keys.columns["value"], (200, 300), strict=True)] == [True] * 2
    assert persons.columns["firm"] == ["alpha"] * 2 + ["zeta"] * 2 + ["others"] * 2
    assert abs(sum(persons.columns["value"][4:]) - 40) < 60
    assert "published if that number is 12 or more" in keys.about
    assert "solo" not in "".join(one.decode(errors="replace") for one in made.files.values())


def test_no_key_is_an_output_and_tells_nothing() -> None:
    made = [release(plan(), firms({f"solo {n}": 1 for n in range(size)}), ledger=None) for size in (0, 3)]
    for one in made:
        keys, persons = one.tables.values()
        assert (keys.rows, persons.columns["firm"]) == ([], ["others", "others"])
    assert made[0].tables["keys of firm"].about == made[1].tables["keys of firm"].about
    assert made[0].index["tables"][0] == made[1].index["tables"][0]


MEAN = """
[[query]]
name = "mean"
measure = "mean"
of = "pay"
clip = [0, 100]
grid = 1
by = ["firm"]
mechanism = "DiscreteGaussian(sigma=3)"
count_mechanism = "DiscreteGaussian(sigma=3)"
"""


def test_a_mean_by_found_keys_is_predicted_and_published() -> None:
    text = PLAN.format(neighbours="add-remove", cells=1, sigma=2, delta="1e-6", more="", noise=3) + MEAN
    asked = read_plan("plan.toml", text)
    cost = account(asked, delta="1e-5", curve=False)
    told = {one.name: bool(one.predicted) for one in cost.queries}
    assert told["mean"]
    assert not told["keys of firm"]
    data = firms({"Zeta": 300, "solo": 1}).with_columns(pay=pl.lit(40.0))
    found = release(asked, data, ledger=None).tables["mean"]
    assert found.columns["firm"] == ["zeta", "others"]
    assert abs(found.columns["value"][0] - 40) < 5


def test_at_most_so_many_keys_are_published() -> None:
    data = firms({f"firm {n}": 100 + 60 * n for n in range(4)})
    keys = release(plan(more="most_keys = 2"), data, ledger=None).tables["keys of firm"]
    assert keys.columns["firm"] == ["firm 2", "firm 3"]


def test_a_threshold_below_that_of_the_stated_delta_is_refused(tmp_path: Path) -> None:
    """A plan that was changed after it was read, so that keys are published from fewer persons on than is charged."""
    asked = plan()
    assert asked.tables is not None
    found = asked.tables.domains["firm"]
    assert isinstance(found, Discovered)
    looser = replace(asked.tables, domains={**asked.tables.domains, "firm": replace(found, delta=Fraction(1, 10))})
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.open_account("office", unit="person", epsilon=9, delta="1e-4", approximate="1e-6")
        with pytest.raises(PlanFileError, match="the delta of the keys of 'firm' is not that of their noise"):
            release(replace(asked, tables=looser), firms({"Zeta": 40}), ledger=ledger, key="q1")
        assert ledger.account("office").spent == 0


def test_the_ledger_charges_rho_and_delta_and_an_account_without_delta_refuses(tmp_path: Path) -> None:
    data, asked = firms({"Zeta": 40}), plan()
    ledger = Ledger(tmp_path / "budget.db")
    ledger.open_account("office", unit="person", epsilon=9, delta="1e-4")
    with pytest.raises(
        BudgetExceeded, match=r"the delta \(1.1405\d*e-07\) exceeds what remains \(0\): nothing was spent"
    ):
        release(asked, data, ledger=ledger, key="q1")
    ledger.open_account("keys", unit="person", epsilon=9, delta="1e-4", approximate="1e-6")
    release(asked, data, ledger=ledger, key="q1", account="keys")
    mine = ledger.account("keys")
    assert (mine.spent, mine.delta_spent) == (Fraction(2, 8) + Fraction(2, 18), Fraction("1.1405e-7"))
    assert ledger.verify().passed
    assert release(asked, data, ledger=ledger, key="q1", account="keys").repeated
    ledger.close()


@pytest.mark.deep
def test_filling_a_plan_leaves_the_noise_and_the_threshold_of_keys() -> None:
    text = PLAN.format(neighbours="add-remove", cells=2, sigma=20, delta="1e-10", more="", noise="?")
    asked = read_plan("plan.toml", text + '[budget]\nepsilon = 2\ndelta = "1e-6"\n')
    made = fill(asked).plan
    assert made.entries[:2] == asked.entries[:2]
    cost = account(made, curve=False)
    assert cost.budget is not None
    assert not cost.budget.exceeded
    assert cost.total.epsilon > 1.99
    anew = fill(made, rho="0.1").plan
    assert anew.entries[:2] == asked.entries[:2]
    assert account(anew, curve=False).total.rho == pytest.approx(0.1)
    with pytest.raises(PlanFileError, match="must be above"):
        fill(asked, epsilon=2, delta="1e-11")
