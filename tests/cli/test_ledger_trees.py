"""`zcdp ledger` with caps, periods, reservations, deltas and closed accounts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from zcdp.cli import main

KEPT = Path(__file__).parent.parent / "ledger" / "kept" / "budget-0.2.0.db"


def test_a_year_of_a_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "budget.db")

    def told(*words: str, code: int = 0) -> str:
        assert main(["ledger", words[0], where, *words[1:]]) == code
        found = capsys.readouterr()
        return found.out + found.err

    told("open", "census", "--unit", "person", "--rho", "1", "--approximate", "1e-6")
    told("open", "team", "--unit", "person", "--rho", "0.75", "--under", "census", "--every", "month", "--zone", "UTC")
    assert "Reserved 0.5 under the key q1 until" in told(
        "reserve", "team", "--rho", "0.5", "--key", "q1", "--expires", "900"
    )
    refused = told("spend", "team", "--rho", "0.5", "--key", "q2", code=1)
    assert "refused: the cost (0.5) exceeds what remains (0.25): nothing was spent" in refused
    assert "as it was reserved" in told("commit", "team", "--key", "q1")
    assert "no longer: nothing was changed" in told("commit", "team", "--key", "never", code=1)
    told("reserve", "census", "--rho", "0.25", "--key", "perhaps", "--expires", "900")
    assert "was given back" in told("release", "census", "--key", "perhaps")
    told("spend", "census", "--rho", "0.125", "--delta", "1e-7", "--key", "keys")
    told("reserve", "census", "--rho", "0.125", "--key", "held", "--expires", "900")
    rows = told("status").splitlines()
    assert "reserved" in rows[0]
    assert rows[1].startswith("census")
    assert rows[2].startswith("  team")
    assert "The budget of census was lowered." in told("lower", "census", "--rho", "0.8", "--why", "board")
    assert "is closed" in told("close", "team", "--why", "over")
    assert "the account 'team' is closed" in told("spend", "team", "--rho", "0.01", "--key", "z", code=1)
    facts = json.loads(told("status", "--json"))
    assert [(one["account"], one["closed"], one["above"]) for one in facts["accounts"]] == [
        ("census", False, []),
        ("team", True, ["census"]),
    ]
    told("verify")


def test_what_can_be_spent_is_the_least_of_all_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "budget.db")

    def told(*words: str, code: int = 0) -> str:
        assert main(["ledger", words[0], where, *words[1:]]) == code
        return capsys.readouterr().out

    told("open", "census", "--unit", "person", "--rho", "1")
    for name in ("health", "labour"):
        told("open", name, "--unit", "person", "--rho", "0.75", "--under", "census")
    assert "Above it" not in told("spend", "health", "--rho", "0.25", "--key", "a")
    rows = told("spend", "health", "--rho", "0.375", "--key", "b").splitlines()
    assert rows[1:-1] == ["0.125 of 0.75 remain (rho)."]
    rows = told("spend", "labour", "--rho", "0.25", "--key", "c").splitlines()
    assert rows[1:-1] == ["0.5 of 0.75 remain (rho).", "Above it census has 0.125 left: no more can be spent."]
    facts = json.loads(told("spend", "labour", "--rho", "0.0625", "--key", "d", "--json"))
    assert (facts["remaining"]["exact"], facts["available"]["exact"], facts["level"]) == ("7/16", "1/16", "census")
    refused = json.loads(told("spend", "labour", "--rho", "0.25", "--key", "e", "--json", code=1))
    assert refused["remaining"] == {"exact": "1/16", "value": 0.0625}
    assert (refused["code"], refused["status"], refused["level"]) == ("BudgetExceeded", 402, "census")
    assert (refused["admitted"], refused["what"]) == (False, "cost")
    told("close", "census", "--why", "over")
    assert "Above it census is closed: nothing can be spent." in told("lower", "labour", "--rho", "0.5", "--why", "so")
    shut = json.loads(told("spend", "labour", "--rho", "0.001", "--key", "f", "--json", code=1))
    assert (shut["code"], shut["status"], shut["level"]) == ("AccountClosed", 409, "census")
    missing = json.loads(told("spend", "labor", "--rho", "0.001", "--key", "g", "--json", code=2))
    assert (missing["code"], missing["status"]) == ("UnknownAccount", 404)
    assert "labour" in missing["reason"]
    assert told("spend", "labour", "--rho", "-1", "--key", "g", "--json", code=2) == ""  # no answer of the ledger


def test_a_closed_account_is_not_called_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, terms = str(tmp_path / "budget.db"), ["--unit", "person", "--rho", "1"]
    assert main(["ledger", "open", where, "census", *terms]) == 0
    assert main(["ledger", "open", where, "team", *terms, "--under", "census"]) == 0
    assert main(["ledger", "open", where, "team", *terms, "--under", "census"]) == 0
    assert main(["ledger", "close", where, "census", "--why", "over"]) == 0
    capsys.readouterr()
    for again in (["census", *terms], ["team", *terms, "--under", "census"]):
        assert main(["ledger", "open", where, *again]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err == "zcdp: refused: the account 'census' is closed: nothing was changed\n"


def test_a_plan_file_says_what_it_is_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, plan = str(tmp_path / "budget.db"), tmp_path / "plan.toml"
    query = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=0.1)"\n'
    plan.write_text(f'title = "Ages"\nauthor = "Office"\ndataset = "Census"\n{query}')
    main(["ledger", "open", where, "census", "--unit", "person", "--rho", "1"])
    main(["ledger", "spend", where, "census", str(plan), "--key", "a", "--who", "anna"])
    main(["ledger", "spend", where, "census", str(plan), "--key", "b", "--why", "something else"])
    main(["ledger", "reserve", where, "census", str(plan), "--key", "c", "--expires", "900"])
    capsys.readouterr()
    assert main(["ledger", "report", where, "--json"]) == 0
    [account] = json.loads(capsys.readouterr().out)["accounts"]
    assert {row["why"] for row in account["purposes"]} == {"Ages (Census, by Office)", "something else"}
    assert "anna" in {row["who"] for row in account["people"]}
    page = tmp_path / "page.html"
    assert main(["ledger", "report", where, "--html", str(page)]) == 0
    assert "Ages (Census, by Office)" in page.read_text()


def test_an_upgrade_is_tried_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "budget.db")
    shutil.copy(KEPT, where)
    assert main(["ledger", "verify", where]) == 0
    capsys.readouterr()
    assert main(["ledger", "upgrade", where, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("Would be upgraded from schema 1 to 2.\nNothing was changed.")
    assert main(["ledger", "upgrade", where, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    assert main(["ledger", "spend", where, "census", "--rho", "0.1", "--key", "n"]) == 2
    assert "zcdp ledger upgrade brings it up" in capsys.readouterr().err
    assert main(["ledger", "upgrade", where]) == 0
    assert capsys.readouterr().out == "Upgraded from schema 1 to 2.\n"
    assert main(["ledger", "spend", where, "census", "--rho", "0.1", "--key", "n"]) == 0
