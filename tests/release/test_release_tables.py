"""A release from its plan to its record: what is debited, agreed and told, and a fresh secret for each table."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from zcdp import BudgetExceeded, KeyConflict, Ledger, LedgerError, load
from zcdp.accounting import account
from zcdp.cli import main
from zcdp.errors import BadType, BadValue
from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.release import Release, ReleaseFailed, release
from zcdp.release import frame_engines as engines
from zcdp.release import release_tables as run_module

FRAME = pl.DataFrame({"who": [1, 2, 2], "sex": [1, 2, 1]})
HEAD = (
    '{}[data]\nunit = "who"\naccount = "people"\nneighbours = "{}"\n[domain]\nsex = {{ values = [1, 2], other = 9 }}\n'
)
QUERY = '[[query]]\nname = "{}"\nmeasure = "count"\nby = [{}]\nmechanism = "DiscreteGaussian(sigma={})"\n{}'
MEAN = '[[query]]\nname = "mean"\nmeasure = "mean"\nof = "sex"\nclip = [0, 4]\ngrid = 1\n'


MEAN += 'mechanism = "DiscreteGaussian(sigma=8)"\ncount_mechanism = "DiscreteGaussian(sigma=5)"\n'


SET = 'adds_up = "all"\n'
TABLES = QUERY.format("first", '"sex"', 4, "") + QUERY.format("fine", '"sex"', 6, SET) + MEAN


TABLES += QUERY.format("total", "", 3, SET) + QUERY.format("last", "", 2, "max_cells = 2\n")


ORDER = ["first", "fine", "mean", "total", "last"]


def plan_of(neighbours: str = "add-remove", title: str = 'title = "Quarter"\n', tables: str = TABLES) -> Any:
    return read_plan("plan.toml", HEAD.format(title, neighbours) + tables)


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the account's profile, pages and Parquet, which cost most of the time."""
    facts = SimpleNamespace(budget=None, zcdp="1", delta=1e-9, total=SimpleNamespace(rho=0.3, epsilon=5.5))
    monkeypatch.setattr(run_module, "account_of", lambda *_, **__: facts)
    error = SimpleNamespace(half_width=1, standard_deviation=1.0)
    monkeypatch.setattr("zcdp.accounting.adjusted_accuracy.Adjustment.accuracy", lambda *_: error)
    monkeypatch.setattr("zcdp.report.release_report.render_release", lambda *_: "")
    monkeypatch.setattr("zcdp.release.archive.parquet", lambda *_: b"")


@pytest.mark.usefixtures("light")
def test_tables_are_told_in_the_order_of_the_plan_and_the_index_says_what_it_is() -> None:
    steps: list[tuple[float, str]] = []
    made = release(plan_of("replace"), FRAME, ledger=None, progress=lambda share, what: steps.append((share, what)))
    assert list(made.tables) == ORDER
    assert made.index["total"] == {"rho": 0.3, "epsilon": 5.5, "delta": 1e-9}
    assert (made.index["title"], made.index["zcdp"], made.index["engine"]) == ("Quarter", "1", "polars")
    assert (made.index["unit"], made.index["protects"], made.index["neighbours"]) == ("who", "person", "replace")
    assert "sigma=6" in made.index["plan"]
    shares = [share for share, _ in steps]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1], steps[-1][1]) == (0, 0.9, "report")


@pytest.mark.usefixtures("light")
def test_the_account_is_computed_once_and_before_the_debit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[Any] = []
    facts = run_module.account_of(plan_of())
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("people", unit="person", rho=1)

        def watched(*_: Any, **__: Any) -> Any:
            spent.append(ledger.account("people").spent)
            return facts

        monkeypatch.setattr(run_module, "account_of", watched)
        release(plan_of(), FRAME, ledger=ledger, key="q1")
    assert spent == [0]


@pytest.mark.usefixtures("light")
def test_which_cells_are_kept_is_decided_by_a_fresh_secret_for_each_table(monkeypatch: pytest.MonkeyPatch) -> None:
    salts: list[int] = []
    exact: Callable[..., Any] = run_module.exact_table

    def watched(source: Any, tables: Any, query: Any, salt: int) -> Any:
        salts.append(salt)
        return exact(source, tables, query, salt)

    monkeypatch.setattr(run_module, "exact_table", watched)
    for _ in range(5):
        release(plan_of(), FRAME, ledger=None)
    assert len(salts) == len(set(salts)) == 20  # the set is read once, and three tables are by themselves
    assert all(0 <= salt < 2**63 for salt in salts)
    assert max(salts) > 2**58  # once in 10^30 not


@pytest.mark.usefixtures("light")
def test_the_record_says_what_was_spent_for_which_plan_and_by_whom(tmp_path: Path) -> None:
    plan = plan_of()
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("people", unit="person", rho=1)
        made = release(plan, FRAME, ledger=ledger, key="q1", who="anna")
        [spend] = [one for one in ledger.history("people") if one.kind == "spend"]
        assert (spend.key, spend.who) == ("q1", "anna")
        assert plan.tables.digest in spend.why
        assert "Quarter" in spend.why
        assert ledger.account("people").spent >= sum(1 / (2 * s**2) for s in (4, 6, 5, 3, 2)) + 1 / 32 - 1e-12
        again = release(plan, FRAME, ledger=ledger, key="q1", who="ben")
        assert (again, again.sealed_by, again.repeated, made.repeated) == (made, "anna", True, False)
        nameless = release(plan, FRAME, ledger=ledger, key="q2")
        again = release(plan, FRAME, ledger=ledger, key="q2")
        assert again == nameless
        assert again.sealed_by == ledger.sealing("people", "q2").login


@pytest.mark.usefixtures("light")
@pytest.mark.parametrize(("account", "neighbours"), [("replace", "add-remove"), ("add-remove", "replace")])
def test_an_account_of_other_neighbours_is_not_charged(account: str, neighbours: str, tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("people", unit="person", neighbours=account, rho=9)
        with pytest.raises(ValueError, match=r"neighbours|replace"):
            release(plan_of(neighbours), FRAME, ledger=ledger, key="q1")
        assert ledger.account("people").spent == 0
        assert ledger.sealed("people", "q1") is None


@pytest.mark.usefixtures("light")
def test_a_release_beyond_the_account_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Any:
        raise AssertionError("data was read")

    monkeypatch.setattr(run_module, "exact_table", read)
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("people", unit="person", rho="0.2")  # and the plan costs 0.29
        with pytest.raises(BudgetExceeded):
            release(plan_of(), FRAME, ledger=ledger, key="q1")
        assert ledger.account("people").spent == 0


@pytest.mark.usefixtures("light")
@pytest.mark.parametrize("given", [{}, {"key": ""}, {"key": None}])
def test_a_ledger_needs_a_key_and_an_account(given: dict[str, Any], tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        with pytest.raises(BadValue, match=r"an account .* and a key"):
            release(plan_of(), FRAME, ledger=ledger, **given)
        nobody = read_plan("plan.toml", HEAD.format("", "replace").replace('account = "people"\n', "") + TABLES)
        with pytest.raises(BadValue, match=r"an account .* and a key"):
            release(nobody, FRAME, ledger=ledger, key="q1")


# The account that is asked for pays, and not the one that the plan names. (bug R22)


PLAN = """
[data]
unit = "row"
account = "{0}"
[[query]]
name = "all"
measure = "count"
mechanism = "DiscreteGaussian(sigma=10)"
"""


def test_who_pays(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.format("of the plan"))
    with Ledger(tmp_path / "budget.db") as ledger:
        for name in ("of the plan", "asked for"):
            ledger.open_account(name, unit="row", rho=1)
        frame = pl.DataFrame({"x": [1, 2, 3]})
        release(tmp_path / "plan.toml", frame, ledger=ledger, key="q1", account="asked for")
        assert ledger.account("of the plan").spent == 0
        paid = ledger.account("asked for").spent
        assert 0 < paid <= 1 / 200 + 1e-9  # sensitivity 1, sigma 10: rho = 1/(2 sigma^2), or a little less
        release(tmp_path / "plan.toml", frame, ledger=ledger, key="q1")
        assert ledger.account("of the plan").spent == paid == ledger.account("asked for").spent


# `zcdp release` as people use it: one debit, the same bytes again, and one sentence for whatever is wrong.


DATA = '[data]\nunit = "who"\naccount = "people"\n'


DOMAIN = '[domain]\nregion = ["R1", "R2"]\nage = { from = 0, to = 100, step = 10 }\n'
COUNT = '[[query]]\nname = "a"\nmeasure = "count"\nby = ["region"]\nmechanism = "DiscreteGaussian(sigma=4)"\n'
SUM = '[[query]]\nname = "s"\nmeasure = "sum"\nof = "pay"\nclip = [0, 9]\ngrid = 1\n'


SUM += 'mechanism = "DiscreteGaussian(sigma=40)"\n'


FRAME_RELEASE_COMMAND = pl.DataFrame(
    {"who": [1, 1, 2, 3], "region": ["R1", "R2", "R2", None], "age": [4, 5, 44, 99], "pay": [1.0, 2, 3, 4]}
)


@pytest.fixture
def office(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(DATA + DOMAIN + COUNT + SUM)
    FRAME_RELEASE_COMMAND.write_parquet(tmp_path / "data.parquet")
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.open_account("people", unit="person", rho="0.08")
    return tmp_path


def run(office: Path, out: str, *more: str, plan: str = "plan.toml", data: str = "data.parquet") -> tuple[int, str]:
    said, complained = StringIO(), StringIO()
    with redirect_stdout(said), redirect_stderr(complained):
        code = main(["release", str(office / plan), str(office / data), "--out", str(office / out), *more])
    return code, said.getvalue() + complained.getvalue()


def test_a_key_is_paid_once_and_gives_the_same_bytes(office: Path) -> None:
    ledger = ("--ledger", str(office / "budget.db"))
    assert run(office, "one", *ledger, "--key", "q1")[0] == 0
    (office / "data.parquet").unlink()
    code, said = run(office, "two", *ledger, "--key", "q1", "--json")
    assert code == 0
    names = sorted(path.name for path in (office / "one").iterdir())
    tables = [f"{name}.{kind}" for name in "as" for kind in ("csv", "csv-metadata.json", "parquet")]
    assert names == sorted([*tables, "release.json", "report.html"])
    for name in names:
        assert (office / "one" / name).read_bytes() == (office / "two" / name).read_bytes()
    assert json.loads(said)["remaining"] == pytest.approx(0.08 - 1 / 32 - 81 / 3200)
    with Ledger(office / "budget.db") as book:
        assert book.verify().passed
        assert sum(entry.kind == "spend" for entry in book.history("people")) == 1
    # what is left does not pay for it again
    FRAME_RELEASE_COMMAND.write_parquet(office / "data.parquet")
    code, said = run(office, "three", *ledger, "--key", "q2")
    assert (code, said.count("\n"), (office / "three").exists()) == (1, 1, False)


def test_a_repeated_key_says_first_that_nothing_was_read_or_spent(office: Path) -> None:
    ledger = ("--ledger", str(office / "budget.db"), "--key", "2026-q1")
    code, said = run(office, "one", *ledger, "--who", "anna", "--new")  # new, so that it goes on
    assert code == 0
    assert "Spent rho" in said
    assert "Nothing was" not in said
    code, said = run(office, "two", *ledger, "--who", "ben")
    with Ledger(office / "budget.db") as book:
        [seal] = [entry for entry in book.history("people") if entry.kind == "seal"]
    first = said.splitlines()[0]
    assert (code, "Spent" in said) == (0, False)
    assert first.startswith("Nothing was read or spent: the key 2026-q1 was sealed on ")
    assert seal.at in first
    assert first.endswith("by anna.")
    code, said = run(office, "three", *ledger, "--json")
    facts = json.loads(said)
    assert (code, facts["repeated"], facts["sealed_at"], facts["sealed_by"]) == (0, True, seal.at, "anna")
    (office / "report.txt").write_text("not the data: it is not read")
    code, said = run(office, "four", *ledger, "--new", data="report.txt")
    assert (code, said.count("\n"), (office / "four").exists()) == (1, 1, False)
    assert seal.at in said
    assert "nothing was spent" in said
    with Ledger(office / "budget.db") as book:
        assert sum(entry.kind == "spend" for entry in book.history("people")) == 1


def test_the_first_release_is_not_a_repeated_one(office: Path) -> None:
    with Ledger(office / "budget.db") as ledger:
        made = release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1", new=True)
        again = release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1")
        assert (made.repeated, made.sealed_at, again.repeated) == (False, "", True)
        assert made == again
        assert again.sealed_at == ledger.sealing("people", "q1").at
        with pytest.raises(LedgerError, match="nothing is sealed"):
            ledger.sealing("people", "q2")
    facts = json.loads(run(office, "free", "--no-ledger", "--json")[1])
    assert (facts["repeated"], facts["sealed_at"], facts["sealed_by"]) == (False, None, None)


def test_a_key_that_was_paid_for_is_not_new(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after its debit, a release is finished by the same call; one that wants a new key is refused."""
    with Ledger(office / "budget.db") as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(run_module, "_draw", broken)
            with pytest.raises(ReleaseFailed):
                release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1", new=True)
        with pytest.raises(KeyConflict, match=r"paid for on .* nothing is sealed yet"):
            release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1", new=True)
        assert ledger.sealed("people", "q1") is None
        made = release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1")
        [paid] = [one for one in ledger.history("people") if one.kind == "spend"]
        assert (made.repeated, made.paid_at) == (False, paid.at)
        again = release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1")
        assert (again.repeated, again.paid_at) == (True, "")


def broken(*given: object) -> bytes:
    raise RuntimeError(given)


@pytest.mark.parametrize("how", ["path", "text", "load", "read_plan"])
def test_a_plan_may_be_named_as_everywhere_else(how: str, office: Path) -> None:
    path = office / "plan.toml"
    plan = {"path": path, "text": str(path), "load": load(path), "read_plan": read_plan(path)}[how]
    made = release(plan, FRAME_RELEASE_COMMAND, ledger=None)
    assert sorted(made.tables) == ["a", "s"]


@pytest.mark.parametrize("plan", [None, 3, DATA.encode(), {"query": []}])
def test_what_is_no_plan_is_refused_by_name(plan: object) -> None:
    with pytest.raises(BadType, match=r"plan \(.*\) must be the path of a plan file"):
        release(plan, FRAME_RELEASE_COMMAND, ledger=None)  # type: ignore[arg-type]


def test_whether_a_ledger_remembers_is_said_in_python_too(office: Path) -> None:
    with pytest.raises(BadType, match=r"release needs ledger: release\(plan, data, ledger=\.\.\.\)"):
        release(str(office / "plan.toml"), FRAME_RELEASE_COMMAND)  # type: ignore[call-arg]


def test_new_needs_a_ledger_to_ask(office: Path) -> None:
    code, said = run(office, "one", "--no-ledger", "--new")
    assert (code, said.count("\n")) == (2, 1)
    assert "--ledger" in said
    with pytest.raises(BadValue, match="give the ledger"):
        release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=None, new=True)


@pytest.mark.parametrize(
    ("more", "said"),
    [("", "none was given"), (', sha256 = "00"', "another digest")],
)
def test_a_list_in_a_file_says_which_digest_is_missing(more: str, said: str, office: Path) -> None:
    (office / "codes.txt").write_text("R1\nR2\n")
    found = hashlib.sha256(b"R1\nR2\n").hexdigest()
    plan = DATA + DOMAIN.replace('["R1", "R2"]', f'{{ file = "codes.txt"{more} }}') + COUNT
    (office / "plan.toml").write_text(plan)
    with pytest.raises(PlanFileError, match=f'{said}: sha256 = "{found}"'):
        read_plan(office / "plan.toml")


def test_the_same_key_for_another_plan_of_the_same_cost_is_a_conflict(office: Path) -> None:
    with Ledger(office / "budget.db") as ledger:
        release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1")
        other = read_plan("plan.toml", (DATA + DOMAIN + COUNT + SUM).replace('["R1", "R2"]', '["R1", "R3"]'))
        with pytest.raises(KeyConflict, match="another plan"):
            release(other, FRAME_RELEASE_COMMAND, ledger=ledger, key="q1")
        household = read_plan("plan.toml", DATA + 'protects = "household"\n' + DOMAIN + COUNT)
        with pytest.raises(ValueError, match="household"):
            release(household, FRAME_RELEASE_COMMAND, ledger=ledger, key="q3")


WRONG_PLANS = {
    "unit is missing": '[data]\naccount = "people"\n' + DOMAIN + COUNT,
    "there is no domain": DATA + DOMAIN + COUNT.replace('"region"', '"county"'),
    "clip is missing": DATA + DOMAIN + SUM.replace("clip = [0, 9]\n", ""),
    "twice": DATA + DOMAIN.replace('"R2"', '"R1"') + COUNT,
    "must name a domain of bins": DATA
    + DOMAIN
    + COUNT.replace("count", "quantiles")
    .replace("by", 'of = "region"\nquantiles = [0.5]\nper = "person"\nby')
    .replace("DiscreteGaussian(sigma=4)", "ExponentialMechanism(epsilon=1)"),
    "sensitivity is not typed in": DATA + DOMAIN + COUNT.replace("sigma=4", "sigma=4, sensitivity=2"),
    "must add noise to integers": DATA + DOMAIN + COUNT.replace("DiscreteGaussian", "Gaussian"),
    "has no such field": DATA + DOMAIN + COUNT + "max_cell = 3\n",
    "costs more than its budget": DATA + '[budget]\nrho = "0.001"\n' + DOMAIN + COUNT,
    "measure count": DATA.replace('"who"', '"row"') + DOMAIN + COUNT.replace('"count"', '"persons"'),
    "the unit of privacy": COUNT,
    "is none of": DATA + DOMAIN + COUNT + 'where = [["pay", "~", 3]]\n',
    "a whole number of steps": DATA + DOMAIN + "day = { from = 2026-01-01, to = 2026-03-02, step = 7 }\n" + COUNT,
    "must be a day such as": DATA + DOMAIN + 'day = { from = "2026-01-01", to = "2026-02-30", step = "day" }\n' + COUNT,
    "the first of a month": DATA + DOMAIN + 'day = { from = 2026-01-01, to = 2026-03-02, step = "month" }\n' + COUNT,
    "sha256": DATA + DOMAIN.replace('["R1", "R2"]', '{ file = "plan.toml", sha256 = "00" }') + COUNT,
}


@pytest.mark.parametrize("wrong", WRONG_PLANS)
def test_a_bad_plan_is_one_sentence(wrong: str, office: Path) -> None:
    (office / "bad.toml").write_text(WRONG_PLANS[wrong])
    code, said = run(office, "out", "--ledger", str(office / "budget.db"), "--key", "k", plan="bad.toml")
    assert code in (1, 2)
    assert wrong in said
    assert said.count("\n") == 1
    unspent(office)


WRONG_DATA = {
    "did you mean 'who'": FRAME_RELEASE_COMMAND.rename({"who": "wh"}),
    "must hold integers or text": FRAME_RELEASE_COMMAND.with_columns(pl.col("who").cast(pl.Float64)),
    "must hold text": FRAME_RELEASE_COMMAND.with_columns(region=pl.lit(3)),
    "must hold dates": FRAME_RELEASE_COMMAND.with_columns(day=pl.lit("2026-01-01")),
    "times without a zone": FRAME_RELEASE_COMMAND.with_columns(day=pl.datetime(2026, 1, 1, time_zone="UTC")),
    "must hold numbers": FRAME_RELEASE_COMMAND.with_columns(pay=pl.lit("x")),
}


@pytest.mark.parametrize("wrong", WRONG_DATA)
def test_bad_data_is_one_sentence_that_tells_nothing_of_it(wrong: str, office: Path) -> None:
    WRONG_DATA[wrong].write_parquet(office / "bad.parquet")
    if "day" in WRONG_DATA[wrong].columns:
        days = 'day = { from = 2026-01-01, to = 2026-03-01, step = "month" }\n'
        (office / "plan.toml").write_text(DATA + DOMAIN + days + COUNT.replace('"region"', '"day"'))
    code, said = run(office, "out", "--ledger", str(office / "budget.db"), "--key", "k", data="bad.parquet")
    assert (code, said.count("\n")) == (2, 1)
    assert wrong in said or "there is no column 'who'" in said
    unspent(office)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "nothing remembers"),
        (("--ledger", "x.db"), "--key"),
        (("--no-ledger", "--ledger", "x.db", "--key", "k"), "nothing remembers"),
    ],
)
def test_whether_a_ledger_remembers_is_said(more: tuple[str, ...], said: str, office: Path) -> None:
    code, text = run(office, "out", *more)
    assert (code, said in text) == (2, True)


def test_a_folder_that_holds_something_is_left_alone(office: Path) -> None:
    code, said = run(office, ".", "--no-ledger")
    assert (code, "new or empty" in said) == (2, True)
    (office / "empty").mkdir()
    assert run(office, "empty", "--no-ledger")[0] == 0


def unspent(office: Path) -> None:
    assert not (office / "out").exists()
    with Ledger(office / "budget.db") as ledger:
        assert ledger.account("people").spent == 0


def test_after_data_was_read_an_error_is_one_fixed_sentence(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object, frame: object) -> list[tuple[object, ...]]:
        raise RuntimeError("Could not convert string 'secret of person 7' to DOUBLE")

    monkeypatch.setattr(engines.Polars, "rows", fails)
    with Ledger(office / "budget.db") as ledger:
        with pytest.raises(ReleaseFailed) as failed:
            release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1")
        assert "secret" not in str(failed.value)
        assert failed.value.__cause__ is None
        assert failed.value.__suppress_context__
        private = Path(str(failed.value).rsplit(" ", 1)[1])
        assert "secret of person 7" in private.read_text()
        assert stat.S_IMODE(os.stat(private).st_mode) == 0o600
        private.unlink()
        monkeypatch.undo()
        spent = ledger.account("people").spent
        assert spent > 0  # data was touched: no refund, and the same key goes on
        assert isinstance(release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=ledger, key="q1"), Release)
        assert ledger.account("people").spent == spent


def test_without_a_ledger_an_error_is_the_same_sentence(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object, frame: object) -> list[tuple[object, ...]]:
        raise RuntimeError("Could not convert string 'secret of person 7' to DOUBLE")

    monkeypatch.setattr(engines.Polars, "rows", fails)
    with pytest.raises(ReleaseFailed, match="failed after data was read") as failed:
        release(office / "plan.toml", FRAME_RELEASE_COMMAND, ledger=None)
    assert "secret" not in str(failed.value)
    assert failed.value.__suppress_context__
    private = Path(str(failed.value).rsplit(" ", 1)[1])
    assert "secret of person 7" in private.read_text()
    private.unlink()


def test_nothing_of_the_data_but_noisy_values_leaves(office: Path) -> None:
    """Two tables with other rows, extremes and values outside of the domain have files of the same shape and words."""
    other = pl.concat(
        [
            FRAME_RELEASE_COMMAND,
            FRAME_RELEASE_COMMAND.with_columns(who=pl.col("who") + 90, region=pl.lit("SECRET"), pay=pl.lit(1e9)),
        ]
    )
    made = [release(office / "plan.toml", frame, ledger=None) for frame in (FRAME_RELEASE_COMMAND, other)]
    for one in made:
        text = b"".join(one.files.values())
        assert b"SECRET" not in text
        assert hashlib.sha256(FRAME_RELEASE_COMMAND.write_csv().encode()).hexdigest().encode() not in text
    first, second = ({name: value for name, value in one.index.items() if name != "tables"} for one in made)
    assert first == second
    assert [t.columns["region"] for t in (one.tables["a"] for one in made)] == [["R1", "R2"]] * 2


def test_what_is_open_is_found_within_the_budget_of_the_plan() -> None:
    budget = '[budget]\nepsilon = 1\ndelta = "1e-9"\n'
    text = DATA + budget + DOMAIN + COUNT.replace("sigma=4", "sigma=?")
    made = release(read_plan("plan.toml", text), FRAME_RELEASE_COMMAND, ledger=None)
    assert 0.99 < made.index["total"]["epsilon"] <= 1
    with pytest.raises(PlanFileError, match=r"no \[budget\]"):
        release(read_plan("plan.toml", text.replace(budget, "")), FRAME_RELEASE_COMMAND, ledger=None)


def test_an_account_of_the_same_epsilon_and_delta_says_why_it_refuses(office: Path) -> None:
    """It adds up rho, in which a plan that fills its budget by the exact profile is too much."""
    text = DATA + '[budget]\nepsilon = 1\ndelta = "1e-9"\n' + DOMAIN + COUNT.replace("sigma=4", "sigma=?")
    (office / "open.toml").write_text(text)
    with Ledger(office / "pairs.db") as ledger:
        ledger.open_account("people", unit="person", epsilon=1, delta="1e-9")
    code, said = run(office, "out", "--ledger", str(office / "pairs.db"), "--key", "k", plan="open.toml")
    assert (code, said.count("\n")) == (1, 1)
    assert "adds up rho" in said
    with Ledger(office / "pairs.db") as ledger:
        assert ledger.account("people").spent == 0
    printed = StringIO()
    with redirect_stdout(printed):
        main(["allocate", str(office / "open.toml")])
    assert "it would refuse the plan" in " ".join(printed.getvalue().split())


def test_errors_are_told_in_the_unit_of_the_values(office: Path) -> None:
    (office / "tens.toml").write_text(DATA + DOMAIN + SUM.replace("grid = 1", "grid = 0.5"))
    [found] = account(office / "tens.toml").queries
    assert found.accuracy is not None
    assert found.accuracy.standard_deviation == pytest.approx(20)
    assert found.accuracy.half_width == 39
    made = release(office / "tens.toml", FRAME_RELEASE_COMMAND, ledger=None)
    table = made.tables["s"].columns
    assert table["sd"] == [20]
    assert table["upper"][0] - table["value"][0] == 39
    assert "one person more or less" in made.report


def test_a_ledger_is_a_ledger_not_its_name() -> None:
    with pytest.raises(TypeError, match=r"ledger \('budget.db'\) must be a Ledger, as Ledger\('budget.db'\)"):
        release(read_plan("a plan", DATA + DOMAIN + COUNT), FRAME_RELEASE_COMMAND, ledger="budget.db", key="a")  # type: ignore[arg-type]


# A year: a vintage in every table and in the key, and the plan in every form that people have it in.

VINTAGE = 'account = "people"\nvintage = "2026-Q{}"\nkey = "tables {{vintage}}"\n'


def of_vintage(quarter: int) -> str:
    return (DATA + DOMAIN + COUNT + SUM).replace('account = "people"\n', VINTAGE.format(quarter))


def test_the_vintage_stands_in_every_table_and_in_the_key(office: Path) -> None:
    with Ledger(office / "budget.db") as ledger:
        made = release(of_vintage(1), FRAME_RELEASE_COMMAND, ledger=ledger)
        assert [spend.key for spend in ledger.history("people") if spend.kind == "spend"] == ["tables 2026-Q1"]
        assert all(set(table.columns["vintage"]) == {"2026-Q1"} for table in made.tables.values())
        assert [next(iter(table.columns)) for table in made.tables.values()] == ["vintage", "vintage"]
        assert (made.index["vintage"], made.index["key"], made.index["account"]) == (
            "2026-Q1",
            "tables 2026-Q1",
            "people",
        )
        assert "<dt>Vintage</dt><dd>2026-Q1</dd>" in made.report
        assert release(of_vintage(1), "no-such-file.csv", ledger=ledger).repeated
        named = release(of_vintage(1), FRAME_RELEASE_COMMAND, ledger=None)
        assert (named.index["key"], named.index["paid_by"]) == (None, None)


def test_another_vintage_under_a_used_key_is_a_conflict(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both cost the same, which is all that a ledger compares: sealed or only paid for, the key is that of a plan."""
    with Ledger(office / "budget.db") as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(run_module, "exact_table", lambda *_: 1 / 0)
            with pytest.raises(ReleaseFailed):
                release(of_vintage(1), FRAME_RELEASE_COMMAND, ledger=ledger, key="q")
        before = ledger.account("people").spent
        with pytest.raises(KeyConflict, match="another plan"):
            release(of_vintage(2), FRAME_RELEASE_COMMAND, ledger=ledger, key="q")
        assert ledger.sealed("people", "q") is None
        assert not release(of_vintage(1), FRAME_RELEASE_COMMAND, ledger=ledger, key="q").repeated
        with pytest.raises(KeyConflict, match="another plan"):
            release(of_vintage(2), FRAME_RELEASE_COMMAND, ledger=ledger, key="q")
        assert ledger.account("people").spent == before


def test_a_key_that_was_paid_for_by_hand_is_drawn(office: Path) -> None:
    """`zcdp ledger spend` first, then the release: its reason names no plan, so that there is no other one."""
    plan = read_plan("plan.toml", of_vintage(1))
    with Ledger(office / "budget.db") as ledger:
        ledger.spend("people", run_module._checked(plan)[1], key="q", why="by hand: plan B")
        assert not release(plan, FRAME_RELEASE_COMMAND, ledger=ledger, key="q").repeated


def test_a_plan_is_a_path_a_name_a_text_or_what_was_read(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(office)
    text = Path("plan.toml").read_text()
    for plan in ("plan.toml", Path("plan.toml"), text, load("plan.toml"), load(text), read_plan(Path("plan.toml"))):
        made = release(plan, FRAME_RELEASE_COMMAND, ledger=None)  # type: ignore[arg-type]
        assert list(made.tables) == ["a", "s"]
        assert made.index["plan"] == text
    with pytest.raises(PlanFileError, match="no such file"):
        release("plan.tml", FRAME_RELEASE_COMMAND, ledger=None)
    with pytest.raises(PlanFileError, match=r"the plan:\d+: mechanism"):
        release(text.replace("sigma=4", "sigma=-4"), FRAME_RELEASE_COMMAND, ledger=None)


def test_the_report_says_who_and_what_is_left_and_holds_no_digest_of_data(office: Path) -> None:
    with Ledger(office / "budget.db") as ledger:
        made = release(of_vintage(1), FRAME_RELEASE_COMMAND, ledger=ledger, who="anna")
        left = float(ledger.account("people").remaining)
        [spend] = [one for one in ledger.history("people") if one.kind == "spend"]
    assert "<dt>Made by</dt><dd>anna</dd>" in made.report
    assert f"{spend.seq}:{spend.hash}" == made.index["paid_by"]
    assert f'<data value="{left!r}">' in made.report
    known = {spend.hash, made.index["plan_sha256"]}
    for name, data in made.files.items():
        assert set(re.findall(rb"\b[0-9a-f]{64}\b", data)) <= {one.encode() for one in known}, name


def test_a_name_that_may_be_forgotten_is_not_printed(office: Path) -> None:
    """The sealed bytes stay in the ledger: a name in them could not be erased."""
    with Ledger(office / "budget.db", private_names=True) as ledger:
        made = release(of_vintage(1), FRAME_RELEASE_COMMAND, ledger=ledger, who="anna")
    assert not any(b"anna" in data for data in made.files.values())
    assert "<dt>Made by</dt><dd>not stated</dd>" in made.report
