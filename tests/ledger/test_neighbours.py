"""An account speaks of one kind of neighbours: what is stated for another is refused, whichever way it comes."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from ledger.server import Server

from zcdp import BinaryRandomizedResponse, Gaussian, Laplace, Ledger, LossPair, RandomizedResponse, Shuffled, Subsampled
from zcdp.cli import main
from zcdp.ledger import LedgerError
from zcdp.ledger.spend_text import written
from zcdp.ledger.store import Request
from zcdp.plans.plan_file import read_plan
from zcdp.privacy.curve import Curve
from zcdp.release import release

POISSON = Subsampled(Gaussian(sigma=2), rate="0.01")
FIXED = Subsampled(Gaussian(sigma=2), size=10, of=1000)
RESPONSE = RandomizedResponse(epsilon="0.1", k=4)
SHUFFLED = Shuffled(RandomizedResponse(epsilon="0.1", k=4), clients=100)
ONE_WAY = BinaryRandomizedResponse(p="0.52", q="0.5", ordered=True)

ADMITTED: dict[str, tuple[Curve, ...]] = {
    "add-remove": (Laplace(epsilon="0.1"), POISSON, ONE_WAY, LossPair(p=["1/2", "1/2"], q=["2/5", "3/5"])),
    "replace": (Laplace(epsilon="0.1"), FIXED, SHUFFLED, RESPONSE),
    "local": (Laplace(epsilon="0.1"), RESPONSE),
}
"""By the words of each mechanism's own page: one record more or less, one replaced, or one person's own report."""
EVERY: tuple[Curve, ...] = (Laplace(epsilon="0.1"), POISSON, FIXED, RESPONSE, SHUFFLED, ONE_WAY)


@pytest.fixture(params=ADMITTED)
def relation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ledger(relation: str, quick: Path) -> Ledger:
    made = Ledger(quick / "budget.db")
    made.open_account("all", unit="person", neighbours=relation, rho=100)
    return made


def doors(ledger: Ledger, curve: Curve) -> dict[str, Callable[[], object]]:
    """Every way to spend from an account, or to ask whether one could."""
    own = repr(curve)
    terms = {"unit": "person", "neighbours": ledger.account("all").terms.neighbours}
    return {
        "spend": lambda: ledger.spend("all", curve, key=f"a {own}"),
        "spend a plan": lambda: ledger.spend("all", Laplace(epsilon=1) + 2 * curve, key=f"b {own}"),
        "spend_all": lambda: ledger.spend_all("all", {f"c {own}": Laplace(epsilon=1), f"d {own}": curve}),
        "release": lambda: ledger.release("all", curve, lambda: b"noisy", key=f"e {own}"),
        "cost": lambda: ledger.cost("all", curve),
        "would_fit": lambda: ledger.would_fit("all", curve),
        "workload": lambda: ledger.open_account(own[:200], epsilon=9, delta="1e-6", workload=curve, **terms),
    }


def test_what_is_stated_for_other_neighbours_is_refused_at_every_door(ledger: Ledger, relation: str) -> None:
    for curve in (*EVERY, *ADMITTED[relation]):
        for name, call in doors(ledger, curve).items():
            before = ledger.head
            if curve in ADMITTED[relation]:
                call()
                continue
            with pytest.raises(
                ValueError, match=r"the account is for .* neighbours.*: nothing was spent; spend it from"
            ):
                call()
            assert ledger.head == before, name
    assert ledger.verify()
    assert len(ledger.accounts()) == 1 + len(ADMITTED[relation])


def test_the_refusal_says_what_is_wrong_and_what_to_do(quick: Path) -> None:
    with Ledger(quick / "budget.db") as ledger:
        ledger.open_account("census", unit="person", neighbours="replace", rho=1)
        with pytest.raises(ValueError, match="nothing was spent") as found:
            ledger.spend("census", POISSON, key="a")
    assert str(found.value) == (
        "Subsampled(Gaussian(sigma=2), rate='0.01') is stated for add-remove neighbours, and the account is for "
        "replace neighbours: nothing was spent; spend it from an account opened with neighbours='add-remove'"
    )


LAPLACE = Laplace(epsilon=1)


def older(ledger: Ledger, curve: Curve) -> None:
    """A spend as a program wrote it that did not compare: correct in all but its neighbours."""
    ledger._store.spend([Request("all", "old", written(curve), "1")])


def test_a_history_with_other_neighbours_is_found_and_not_imported(ledger: Ledger, relation: str, quick: Path) -> None:
    strange = next(curve for curve in EVERY if curve not in ADMITTED[relation])
    older(ledger, strange)
    [finding] = ledger.verify().findings
    assert finding.startswith(f"entry 3: {strange!r} is stated for ")
    assert f"the account is for {relation} neighbours" in finding
    lines = StringIO()
    ledger.export(lines)
    copy = Ledger(quick / "copy.db")
    with pytest.raises(LedgerError, match=r"entry 3: .* is stated for"):
        copy.load(lines.getvalue().splitlines())
    assert not (quick / "copy.db").exists() or not (quick / "copy.db").stat().st_size


def test_on_a_server_too(server: Server) -> None:
    with Ledger(server.fresh()) as ledger:
        ledger.open_account("all", unit="person", neighbours="replace", rho=100)
        with pytest.raises(ValueError, match="is stated for add-remove neighbours"):
            ledger.spend("all", POISSON, key="a")
        older(ledger, POISSON)
        assert "is stated for add-remove neighbours" in ledger.verify().findings[0]


QUERY = '[[query]]\nname = "a"\nmechanism = "{}"\n'
TABLES = '[data]\nunit = "row"\nprotects = "{}"\nneighbours = "{}"\n[[query]]\nname = "rows"\nmeasure = "count"\n'


TABLES += 'mechanism = "DiscreteLaplace(scale=20)"\n'


FILES = {
    "another mechanism": (QUERY.format(POISSON), "is stated for add-remove neighbours"),
    "other neighbours": ('neighbours = "add_remove"\n' + QUERY.format(LAPLACE), r"neighbours \('add-remove'\) is not"),
    "another unit": (
        'unit = "household"\n' + QUERY.format(LAPLACE),
        r"unit \('household'\) is not that of the account",
    ),
    "tables of other neighbours": (TABLES.format("person", "add-remove"), r"neighbours \('add-remove'\) is not that"),
    "tables of another unit": (TABLES.format("visit", "replace"), r"unit \('visit'\) is not that of the account"),
}
FITTING = (
    QUERY.format(FIXED),
    'unit = "person"\nneighbours = "replace"\n' + QUERY.format(LAPLACE),
    TABLES.format("person", "replace"),
)


@pytest.mark.parametrize("name", FILES)
def test_a_plan_file_says_for_whom_it_is(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, plan, (text, words) = str(tmp_path / "budget.db"), tmp_path / "plan.toml", FILES[name]
    plan.write_text(text)
    read_plan(plan)
    terms = ["--unit", "person", "--neighbours", "replace"]
    assert main(["ledger", "open", where, "all", *terms, "--rho", "100"]) == 0
    capsys.readouterr()
    for command in (
        ["ledger", "spend", where, "all", str(plan), "--key", "a"],
        ["account", str(plan), "--ledger", where],
        ["account", str(plan), "--ledger", where, "--json"],
        ["ledger", "open", where, "b", *terms, "--epsilon", "9", "--delta", "1e-6", "--workload", str(plan)],
    ):
        assert main(command) == 2, command
        told = capsys.readouterr()
        assert told.out == ""
        with pytest.raises(ValueError, match=words):
            raise ValueError(told.err)
    with Ledger(where) as ledger:
        assert len(list(ledger.history())) == 2


@pytest.mark.parametrize("n", range(len(FITTING)))
def test_a_plan_file_for_those_of_the_account_is_spent(n: int, tmp_path: Path) -> None:
    where, plan = str(tmp_path / "budget.db"), tmp_path / "plan.toml"
    plan.write_text(FITTING[n])
    assert main(["ledger", "open", where, "all", "--unit", "person", "--neighbours", "replace", "--rho", "100"]) == 0
    assert main(["account", str(plan), "--ledger", where]) == 0
    assert main(["ledger", "spend", where, "all", str(plan), "--key", "a"]) == 0


@pytest.mark.parametrize(("unit", "neighbours"), [("person", "add-remove"), ("visit", "replace")])
def test_a_release_is_for_those_of_the_account(unit: str, neighbours: str, quick: Path) -> None:
    plan = read_plan("plan.toml", TABLES.format(unit, neighbours))
    with Ledger(quick / "budget.db") as ledger:
        ledger.open_account("all", unit="person", neighbours="replace", rho=100)
        with pytest.raises(ValueError, match=r"is not that of the account .*: nothing was spent"):
            release(plan, pl.DataFrame({"a": [1]}), ledger=ledger, account="all", key="a")
        assert len(list(ledger.history())) == 2


def test_a_file_that_states_other_neighbours_than_its_mechanisms_is_not_read() -> None:
    """Whoever reads it: a client would send a report whose price is about other data sets than the file says."""
    design = 'neighbours = "{}"\n[collection]\nk = 4\n' + QUERY.format(RESPONSE)
    assert read_plan("design.toml", design.format("replace")).neighbours == "replace"
    for text in (design.format("add_remove"), 'neighbours = "replace"\n' + QUERY.format(POISSON)):
        with pytest.raises(ValueError, match=r"neighbours: the file says .* state both for one relation"):
            read_plan("design.toml", text)
