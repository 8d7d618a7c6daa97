"""What `zcdp ledger` prints is on the safe side, whole, and with the exit code that its findings ask for."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from zcdp import Gaussian
from zcdp.cli import main
from zcdp.cli.account_command import fits, print_fit, rho_note
from zcdp.cli.arguments import BadUsage
from zcdp.ledger import Ledger


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the program, and return its exit code and lines."""

    def call(*arguments: str) -> tuple[int, list[str]]:
        code = main([*arguments])
        return code, capsys.readouterr().out.splitlines()

    return call


@pytest.fixture
def where(tmp_path: Path) -> str:
    """Numbers of which the sixth digit tells how they were rounded."""
    path = str(tmp_path / "budget.db")
    with Ledger(path) as ledger:
        ledger.open_account("b second", unit="device", epsilon=4, delta="1e-6", order=9)
        ledger.open_account("a first", unit="person", rho="1.99900123")
        for n in range(25):
            ledger.spend("a first", rho="0.0200000123", key=f"key {n}", why=f"why {n}", who="job" if n % 2 else "")
    return path


def forge(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER entry_is_not_edited")
    connection.execute("UPDATE entry SET why = 'other' WHERE seq = 5")
    connection.commit()
    connection.close()


def test_what_remains_is_rounded_down_and_what_is_spent_up(where: str, told: Any) -> None:
    code, rows = told("ledger", "status", where)
    assert code == 0
    assert rows[1].split() == [
        "a", "first", "person", "rho", "1.99901", "0.500001", "25.1%", "1.499",
    ]  # fmt: skip
    assert rows[2].split()[:6] == ["b", "second", "device", "order", "9", rows[2].split()[5]]
    assert rows[2].split()[6:8] == ["0", "0.0%"]
    with Ledger(where) as ledger:
        budget = ledger.account("b second").budget
        assert budget <= float(rows[2].split()[5]) <= budget * 1.00001
        assert budget * 0.99999 <= float(rows[2].split()[8]) <= budget
    assert len(told("ledger", "status", where, "a first")[1]) == 4
    code, rows = told("ledger", "spend", where, "a first", "--rho", "0.10000001", "--key", "more")
    assert rows[:2] == ["Spent 0.100001 under the key more.", "1.399 of 1.99901 remain (rho)."]


def test_status_in_json_has_each_account_with_its_own_sums(where: str, told: Any) -> None:
    _, rows = told("ledger", "status", where, "--json")
    facts = json.loads("\n".join(rows))
    first, second = facts["accounts"]
    assert (first["account"], first["unit"], first["neighbours"]) == ("a first", "person", "add-remove")
    assert (first["currency"], second["currency"]) == ("rho", "Renyi divergence of order 9")
    assert first["budget"]["exact"] == "199900123/100000000"
    assert first["spent"]["value"] == pytest.approx(0.5000003075)
    assert first["remaining"]["value"] == pytest.approx(1.4990009225)
    with Ledger(where) as ledger:
        assert facts["head"] == ledger.head


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ((), range(5, 25)),
        (("--limit", "3"), range(22, 25)),
        (("--limit", "0"), range(0)),
        (("--limit", "-5"), range(0)),
        (("a first", "--limit", "1"), range(24, 25)),
    ],
)
def test_history_shows_the_latest(where: str, told: Any, options: tuple[str, ...], keys: range) -> None:
    _, rows = told("ledger", "history", where, *options, "--json")
    assert [one["key"] for one in json.loads("\n".join(rows))] == [f"key {n}" for n in keys]


def test_history_of_one_account_and_of_all(where: str, told: Any) -> None:
    _, rows = told("ledger", "history", where, "--all", "--json")
    assert [one["seq"] for one in json.loads("\n".join(rows))] == list(range(1, 29))
    _, rows = told("ledger", "history", where, "b second", "--all", "--json")
    assert [one["kind"] for one in json.loads("\n".join(rows))] == ["open"]
    _, rows = told("ledger", "history", where, "--limit", "2")
    assert rows[1].split()[:2][0] == "27"
    assert "key 23" in rows[1]
    assert "0.0200001" in rows[1]
    assert rows[1].rstrip().endswith("(job)")
    assert rows[2].strip() == "given as rho - why 23"
    assert "(job)" not in rows[3]


@pytest.mark.parametrize("forged", [False, True])
@pytest.mark.parametrize("asked", [(), ("--json",)])
def test_a_forged_ledger_is_exit_code_1(
    where: str, told: Any, tmp_path: Path, forged: bool, asked: tuple[str, ...]
) -> None:
    with Ledger(where) as ledger:
        head = ledger.head
    if forged:
        forge(where)
    code, rows = told("ledger", "verify", where, *asked)
    assert code == forged
    text = "\n".join(rows)
    if asked:
        facts = json.loads(text)
        assert (facts["passed"], facts["entries"], facts["head"]) == (not forged, 28, head)
        assert bool(facts["findings"]) == forged
    else:
        assert ("All 28 entries of 2 accounts are as they were written." in text) != forged
        assert ("entry 5: was changed" in text) == forged
        assert rows[-1] == f"head {head}"
    page = str(tmp_path / "page.html")
    for form in (("--html", page), ("--json",), ("--html", page, "--json")):
        assert told("ledger", "report", where, *form)[0] == forged


def test_a_report_is_of_the_account_and_delta_asked_for(where: str, told: Any) -> None:
    facts = json.loads("\n".join(told("ledger", "report", where, "--json")[1]))
    assert facts["delta"] == 1e-6
    assert [one["name"] for one in facts["accounts"]] == ["a first", "b second"]
    facts = json.loads("\n".join(told("ledger", "report", where, "a first", "--delta", "1e-9", "--json")[1]))
    assert [(one["name"], one["guarantee"]["delta"]) for one in facts["accounts"]] == [("a first", 1e-9)]


def test_export_and_import_count_their_entries(where: str, told: Any, tmp_path: Path) -> None:
    out, copy, other = (str(tmp_path / name) for name in ("all.jsonl", "copy.db", "other.db"))
    assert told("ledger", "export", where, "--out", out) == (0, [f"28 entries written to {out}"])
    with Ledger(where) as ledger:
        head = ledger.head
    code, rows = told("ledger", "export", where, "--out", out, "--json")
    assert (code, json.loads("\n".join(rows))) == (0, {"entries": 28, "out": out, "head": head})
    code, rows = told("ledger", "import", copy, out)
    assert (code, rows[0], rows[-1]) == (0, "28 entries, all verified.", f"head {head}")
    code, rows = told("ledger", "import", other, out, "--json")
    assert (code, json.loads("\n".join(rows))) == (0, {"entries": 28, "head": head})
    code, rows = told("ledger", "upgrade", copy, "--json")
    assert (code, json.loads("\n".join(rows))) == (0, {"before": 1, "now": 1, "head": head})


def test_a_raise_and_a_repeated_spend_are_told(where: str, told: Any) -> None:
    code, rows = told("ledger", "raise", where, "b second", "--epsilon", "5", "--why", "board", "--who", "DPO")
    assert (code, rows[0]) == (0, "The budget of b second was raised.")
    with Ledger(where) as ledger:
        assert ledger.account("b second").terms.epsilon == 5
        assert [(one.why, one.who) for one in ledger.history("b second")][-1] == ("board", "DPO")
    code, rows = told("ledger", "spend", where, "a first", "--rho", "0.0200000123", "--key", "key 3", "--json")
    facts = json.loads("\n".join(rows))
    assert (code, facts["admitted"], facts["repeated"], facts["key"]) == (0, True, True, "key 3")
    code, rows = told("ledger", "spend", where, "a first", "--rho", "1e-400", "--key", "tiny", "--who", "me")
    assert rows[0] == "Spent 5e-324 under the key tiny."  # not 0
    with Ledger(where) as ledger:
        assert list(ledger.history())[-1].who == "me"


def test_an_account_is_opened_on_the_terms_typed(told: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "new.db")
    typed = (
        "--unit",
        "home",
        "--neighbours",
        "replace",
        "--epsilon",
        "3",
        "--delta",
        "1e-7",
        "--why",
        "w",
        "--who",
        "m",
    )
    code, rows = told("ledger", "open", path, "one", *typed, "--order", "7", "--json")
    assert code == 0
    with Ledger(path) as ledger:
        terms, [_, first] = ledger.account("one").terms, list(ledger.history())
        assert (terms.unit, terms.neighbours, terms.order) == ("home", "replace", 7)
        assert (float(terms.epsilon), float(terms.delta)) == (3.0, 1e-7)  # type: ignore[arg-type]
        assert (first.why, first.who) == ("w", "m")
        assert json.loads("\n".join(rows))["head"] == ledger.head
        assert told("ledger", "open", path, "two", *typed, "--workload", "50 * Gaussian(sigma=10)")[0] == 0
        # many more such plans fit than by rho
        fitting = ledger.account("two").budget / ledger.cost("two", 50 * Gaussian(sigma=10))
        ledger.open_account("rho", unit="home", neighbours="replace", epsilon=3, delta="1e-7")
        assert fitting >= ledger.account("rho").budget / ledger.cost("rho", 50 * Gaussian(sigma=10)) * 0.99


def test_a_plan_that_takes_all_that_remains_fits_and_a_hair_more_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "new.db")
    with Ledger(path) as ledger:
        ledger.open_account("census", unit="person", rho="0.3")
        ledger.open_account("other", unit="person", rho="0.2")
    plan = "3 * Gaussian(rho='0.1')"
    found = fits(path, "census", plan)
    assert found == {
        "account": "census",
        "currency": "rho",
        "cost": {"exact": "3/10", "value": 0.3},
        "remaining": {"exact": "3/10", "value": 0.3},
        "fits": True,
    }
    print_fit(found)
    print_fit(fits(path, "census", f"{plan} + Laplace(epsilon='0.0001')"))
    assert capsys.readouterr().out.splitlines() == [
        "Fits account census: 0.3 of the 0.3 that remain (rho).",
        "DOES NOT FIT account census: 0.300001, and 0.3 remain (rho).",
    ]
    assert fits(path, "other", plan)["fits"] is False
    with pytest.raises(BadUsage, match=r"has 2 accounts: name one by --account \(census, other\)"):
        fits(path, None, plan)
    with Ledger(path) as ledger:
        assert ledger.remaining("census") == ledger.account("census").budget  # looking spends nothing


def test_a_plan_of_tables_is_told_how_an_account_of_epsilon_counts_it(tmp_path: Path) -> None:
    text = '[data]\nunit = "row"\nprotects = "visit"\n[budget]\nepsilon = "2"\ndelta = "1e-9"\n'
    text += '[[query]]\nname = "rows"\nmeasure = "count"\nmechanism = "DiscreteLaplace(scale=20)"\n'
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    for rho, said in ((0.056, "the plan fits it"), (0.0562, "it would refuse the plan, which takes 0.0562")):
        assert said in rho_note(plan, rho)
        assert "has 0.056130" in rho_note(plan, rho)
    assert rho_note("3 * Laplace(epsilon=1)", 0.1) == ""
    plan.write_text(text.replace('[budget]\nepsilon = "2"\ndelta = "1e-9"\n', '[budget]\nrho = "1"\n'))
    assert rho_note(plan, 0.1) == ""
