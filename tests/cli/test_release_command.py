"""What `zcdp release` prints: what was spent, what is left, rounded down, and who sealed what."""

from __future__ import annotations

import json
from argparse import Namespace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from zcdp import BudgetExceeded, KeyConflict, Ledger
from zcdp.cli import main
from zcdp.cli import release_command as command
from zcdp.cli.arguments import BadUsage
from zcdp.ledger import LedgerError
from zcdp.release import Release, ReleaseFailed

PLAN = 'title = "Pay"\n[data]\nunit = "row"\naccount = "people"\n[[query]]\nname = "all"\nmeasure = "count"\n'
PLAN += 'mechanism = "DiscreteGaussian(sigma=4)"\n'
INDEX = {
    "title": "Pay",
    "total": {"rho": 0.12345678, "epsilon": 1.2345678, "delta": 1e-9},
    "tables": [{"name": "all", "csv": "all.csv", "about": "noise", "columns": {"value": "integer"}}],
}
MADE = Release({"release.json": json.dumps(INDEX).encode(), "all.csv": b"value\n3\n4\n"})


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `release` is called with; it spends 1/32 and gives one table."""
    seen: list[dict[str, Any]] = []

    def release(plan: Any, data: Path, **more: Any) -> Release:
        seen.append({**more, "data": data})
        if more["ledger"] is not None:
            name = more["account"] or plan.tables.account
            more["ledger"].spend(name, rho="1/32", key=more["key"], unit="row")
        return MADE

    monkeypatch.setattr(command, "release", release)
    monkeypatch.setattr(command.atexit, "register", lambda _: None)
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    pl.DataFrame({"a": [1]}).write_csv("data.csv")
    with Ledger("a.db") as ledger:
        for name in ("people", "other"):
            ledger.open_account(name, unit="row", rho=Fraction(2, 3) if name == "people" else 5)
    return seen


def run(**more: Any) -> int:
    given = {"plan": "plan.toml", "data": "data.csv", "out": "out", "ledger": None, "key": None, "no_ledger": False}
    given |= {"account": None, "who": None, "new": False, "json": False}
    return command.run(Namespace(**{**given, **more}))


def test_what_is_left_is_rounded_down_and_what_is_spent_is_rounded_up(
    asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(ledger="a.db", key="q1", who="anna", new=True) == 0
    said = capsys.readouterr().out
    assert "Spent rho = 0.123457, epsilon = 1.23457 at delta = 1e-09." in said
    assert "The ledger has it; 0.635416 of the budget remain." in said  # 2/3 - 1/32 is 0.6354166...
    assert "Nothing was read" not in said
    assert [row.split() for row in said.splitlines() if "all.csv" in row] == [["all", "2", "all.csv"]]
    assert {name: asked[0][name] for name in ("key", "who", "new", "account")} == {
        "key": "q1",
        "who": "anna",
        "new": True,
        "account": None,
    }
    assert (Path("out") / "all.csv").read_bytes() == b"value\n3\n4\n"


def test_the_account_asked_for_is_the_one_whose_rest_is_told(
    asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(ledger="a.db", key="q1", account="other", json=True) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["remaining"] == 5 - 1 / 32
    assert (facts["key"], facts["repeated"], facts["total"], facts["title"]) == ("q1", False, INDEX["total"], "Pay")
    assert facts["tables"] == [{"name": "all", "file": "all.csv", "rows": 2, "about": "noise"}]
    assert (asked[0]["account"], asked[0]["who"], asked[0]["new"]) == ("other", "", False)


@pytest.mark.usefixtures("asked")
def test_without_a_ledger_nothing_is_said_to_be_remembered(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(no_ledger=True) == 0
    said = capsys.readouterr().out
    assert "Its cost was rho" in said
    assert "No ledger remembers it." in said
    assert "Spent" not in said  # of made-up rows nothing is
    assert run(no_ledger=True, out="two", json=True) == 0
    assert json.loads(capsys.readouterr().out)["remaining"] is None


@pytest.mark.usefixtures("asked")
def test_what_could_not_be_written_is_sealed_and_how_to_get_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, folder: Any) -> None:
        raise OSError(27, "File too large")

    monkeypatch.setattr(command.Release, "write", full)
    with pytest.raises(
        ReleaseFailed, match=r"File too large; the tables are sealed under the key q1: the same command"
    ):
        run(ledger="a.db", key="q1", new=True)
    with pytest.raises(ReleaseFailed, match=r"File too large$"):
        run(no_ledger=True)


@pytest.mark.usefixtures("asked")
def test_a_repeated_release_says_that_nothing_was_spent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    again = Release(MADE.files, sealed_at="2026-01-02", sealed_by="anna")
    monkeypatch.setattr(command, "release", lambda *_, **__: again)
    assert run(ledger="a.db", key="q1") == 0
    said = capsys.readouterr().out
    assert said.startswith("Nothing was read or spent: the key q1 was sealed on 2026-01-02 by anna.")
    assert "Its cost was rho = 0.123457" in said
    assert "Spent" not in said
    later = Release(MADE.files, paid_at="2026-01-02")  # after a crash
    monkeypatch.setattr(command, "release", lambda *_, **__: later)
    assert run(ledger="a.db", key="q1", out="later") == 0
    said = capsys.readouterr().out
    assert "Nothing more was spent: the key q1 was paid for on 2026-01-02, and not drawn then." in said
    assert "Its cost was rho = 0.123457" in said
    assert "Spent" not in said


@pytest.mark.parametrize(
    "given",
    [{}, {"ledger": "a.db", "no_ledger": True, "key": "k"}, {"ledger": "a.db"}, {"no_ledger": True, "new": True}],
)
def test_bad_usage_reads_nothing(given: dict[str, Any], asked: list[dict[str, Any]]) -> None:
    with pytest.raises(BadUsage, match=r"ledger|--key"):
        run(**given)
    assert asked == []


@pytest.mark.usefixtures("asked")
def test_a_refusal_is_exit_code_one_and_an_error_is_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line of stderr says why, and with --json stdout says it too."""
    refusal = BudgetExceeded("no room", account="people", remaining=Fraction(1, 3))
    for error, code in ((refusal, 1), (KeyConflict("taken"), 1), (LedgerError("broken"), 2), (ReleaseFailed("no"), 2)):

        def fails(*_: Any, error: Exception = error, **__: Any) -> Release:
            raise error

        monkeypatch.setattr(command, "release", fails)
        asked = ["release", "plan.toml", "data.csv", "--out", "out", "--ledger", "a.db", "--key", "q1", "--new"]
        assert main(asked) == code
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", f"zcdp: {'refused: ' if code == 1 else ''}{error}\n")
        assert main([*asked, "--json"]) == code
        said = capsys.readouterr()
        if isinstance(error, ReleaseFailed):  # no answer of the ledger
            assert said.out == ""
            continue
        facts = json.loads(said.out)
        assert (facts["admitted"], facts["reason"]) == (False, str(error))
        assert facts["code"] == type(error).__name__
        assert facts.get("level") == ("people" if error is refusal else None)
        assert not Path("out").exists()


def test_the_key_of_the_plan_is_taken_and_told(asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text(PLAN.replace("[[query]]", 'vintage = "Q1"\nkey = "{vintage}"\n[[query]]'))
    assert run(ledger="a.db", json=True) == 0
    assert asked[-1]["key"] == "Q1"
    assert json.loads(capsys.readouterr().out)["key"] == "Q1"
    assert run(ledger="a.db", key="other", out="out2", json=True) == 0
    assert asked[-1]["key"] == "other"
    assert json.loads(capsys.readouterr().out)["key"] == "other"
    assert run(no_ledger=True, out="out3", json=True) == 0
    assert json.loads(capsys.readouterr().out)["key"] is None
