"""`zcdp ledger` as a person types it: tables, JSON, exit code 1 when refused, nothing that commands the terminal."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from cli.program import called as program
from cli.program import on_a_terminal

from zcdp import Laplace
from zcdp.accounting.plan_account import plan_of
from zcdp.cli import main
from zcdp.cli.account_command import fits, print_fit, rho_note
from zcdp.cli.arguments import BadUsage
from zcdp.ledger import Ledger
from zcdp.plans.plan_file import read_plan

LAPLACE = "100 * Laplace(epsilon=0.1)"


@pytest.fixture
def where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "budget.db")
    assert main(["ledger", "open", path, "census-2026", "--unit", "person", "--rho", "1"]) == 0
    capsys.readouterr()
    return path


def test_a_session(where: str) -> None:
    done = program("ledger", "spend", where, "census-2026", LAPLACE, "--key", "q1/t3", "--why", "ages by region")
    assert (done.returncode, done.stderr) == (0, "")
    first, second, head = done.stdout.splitlines()
    assert (first, second) == ("Spent 0.483742 under the key q1/t3.", "0.516258 of 1 remain (rho).")
    assert head.startswith("head 3:")
    again = program("ledger", "spend", where, "census-2026", LAPLACE, "--key", "q1/t3")
    assert again.stdout.startswith("The key q1/t3 was spent before (0.483742): nothing more was spent.")
    assert again.stdout.splitlines()[-1] == head
    refused = program("ledger", "spend", where, "census-2026", LAPLACE.replace("100", "200"), "--key", "q1/t4")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("zcdp: refused: the cost (0.9674836071919148")
    conflict = program("ledger", "spend", where, "census-2026", "Laplace(epsilon=1)", "--key", "q1/t3", "--json")
    assert conflict.returncode == 1
    assert json.loads(conflict.stdout) == {
        "admitted": False,
        "code": "KeyConflict",
        "status": 409,
        "reason": "the key 'q1/t3' was used for something else: nothing was spent",
    }
    status = program("ledger", "status", where).stdout.splitlines()
    assert status[0].split() == ["account", "unit", "counts", "budget", "spent", "remaining"]
    assert status[1].split() == ["census-2026", "person", "rho", "1", "0.483742", "48.4%", "0.516258"]
    history = program("ledger", "history", where).stdout
    assert "100 * Laplace(epsilon=0.1) - ages by region" in history
    assert program("ledger", "verify", where, "--expect-head", head[5:]).returncode == 0
    bad = program("ledger", "verify", where, "--expect-head", f"9:{'0' * 64}")
    assert bad.returncode == 1
    assert "a restored backup" in bad.stdout


def test_json_has_every_digit(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "spend", where, "census-2026", "--rho", "1/3", "--key", "a", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cost"] == {"exact": "1/3", "value": 1 / 3}
    assert told["remaining"]["exact"] == "2/3"
    assert main(["ledger", "raise", where, "census-2026", "--rho", "2", "--why", "board", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["budget"]["exact"] == "2"
    for action in (["status"], ["history"], ["verify"], ["report"]):
        assert main(["ledger", *action, where, "--json"]) == 0
        json.loads(capsys.readouterr().out)


def test_a_plan_file_is_one_spend_and_account_says_whether_it_fits(tmp_path: Path) -> None:
    where = str(tmp_path / "budget.db")
    program("ledger", "open", where, "census-2026", "--unit", "person", "--neighbours", "replace", "--rho", "1")
    fits = program("account", "examples/census.toml", "--ledger", where)
    assert fits.returncode == 0
    assert "Fits account census-2026: 0.888651 of the 1 that remain (rho)." in fits.stdout
    assert program("ledger", "spend", where, "census-2026", "examples/census.toml", "--key", "all").returncode == 0
    over = program("account", "examples/census.toml", "--ledger", where, "--account", "census-2026", "--json")
    assert over.returncode == 1
    assert json.loads(over.stdout)["ledger"]["fits"] is False
    program("ledger", "open", where, "other", "--unit", "person", "--epsilon", "1", "--delta", "1e-6")
    unnamed = program("account", "examples/census.toml", "--ledger", where)
    assert (unnamed.returncode, unnamed.stderr) == (
        2,
        "zcdp: the ledger has 2 accounts: name one by --account (census-2026, other)\n",
    )
    assert Ledger(where).plan("census-2026").rho > 0.8


def test_there_and_back(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, copy = str(tmp_path / "all.jsonl"), str(tmp_path / "copy.db")
    main(["ledger", "spend", where, "census-2026", "--rho", "0.25", "--key", "a"])
    assert main(["ledger", "export", where, "--out", out]) == 0
    assert main(["ledger", "import", copy, out]) == 0
    capsys.readouterr()
    assert main(["ledger", "export", where]) == 0
    assert capsys.readouterr().out == Path(out).read_text()
    assert main(["ledger", "import", copy, out]) == 2
    assert "is a ledger already" in capsys.readouterr().err
    with Ledger(where) as one, Ledger(copy) as other:
        assert one.head == other.head


def test_a_spend_on_a_restored_backup_is_refused(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = f"9:{'0' * 64}"
    assert main(["ledger", "spend", where, "census-2026", "--rho", "0.1", "--key", "k", "--expect-head", head]) == 2
    assert "a restored backup" in capsys.readouterr().err
    assert main(["ledger", "history", where, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


ESC = "\x1b]0;owned\x07\x1b[2J\u202e"


def test_words_from_the_ledger_do_not_command_the_terminal(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Ledger(where) as ledger:
        ledger.spend("census-2026", Laplace(epsilon="0.1"), key="a", why=f"why {ESC}", who=f"who {ESC}")
    for action in ("history", "status", "verify"):
        text = "".join(on_a_terminal("ledger", action, where, NO_COLOR="1"))
        assert "\x1b]" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
    assert main(["ledger", "history", where, "--json"]) == 0
    text = capsys.readouterr().out
    assert "\u202e" not in text
    assert json.loads(text)[-1]["why"] == f"why {ESC}"
    assert main(["ledger", "history", where]) == 0
    assert "why \\x1b]0;owned\\x07" in capsys.readouterr().out


def test_an_address_with_a_password_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    address = "postgresql://me:geheim@127.0.0.1:1/x"
    for arguments in (["status", address, "a", address], ["status", address], ["status", "--no-such", address]):
        assert main(["ledger", *arguments]) == 2
        assert "geheim" not in "".join(capsys.readouterr())


def test_sql_for_the_owner(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "sql", "schema"]) == 0
    assert "CREATE FUNCTION zcdp_ledger.spend(" in capsys.readouterr().out
    assert main(["ledger", "sql", "roles"]) == 0
    assert "GRANT EXECUTE" in capsys.readouterr().out


def test_upgrade_where_there_is_nothing_to_do(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "upgrade", where]) == 0
    assert capsys.readouterr().out == "Schema 2 already.\n"


# What `zcdp ledger` prints is on the safe side, whole, and with the exit code that its findings ask for.


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the program, and return its exit code and lines."""

    def call(*arguments: str) -> tuple[int, list[str]]:
        code = main([*arguments])
        return code, capsys.readouterr().out.splitlines()

    return call


@pytest.fixture
def ledger_at(tmp_path: Path) -> str:
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


def test_what_remains_is_rounded_down_and_what_is_spent_up(ledger_at: str, told: Any) -> None:
    code, rows = told("ledger", "status", ledger_at)
    assert code == 0
    assert rows[1].split() == [
        "a", "first", "person", "rho", "1.999", "0.500001", "25.1%", "1.499",
    ]  # fmt: skip
    assert rows[2].split()[:6] == ["b", "second", "device", "order", "9", rows[2].split()[5]]
    assert rows[2].split()[6:8] == ["0", "0.0%"]
    with Ledger(ledger_at) as ledger:
        budget = ledger.account("b second").budget
        assert budget * 0.99999 <= float(rows[2].split()[5]) <= budget
        assert budget * 0.99999 <= float(rows[2].split()[8]) <= budget
    assert len(told("ledger", "status", ledger_at, "a first")[1]) == 4
    code, rows = told("ledger", "spend", ledger_at, "a first", "--rho", "0.10000001", "--key", "more")
    assert rows[:2] == ["Spent 0.100001 under the key more.", "1.399 of 1.999 remain (rho)."]


def test_status_in_json_has_each_account_with_its_own_sums(ledger_at: str, told: Any) -> None:
    _, rows = told("ledger", "status", ledger_at, "--json")
    facts = json.loads("\n".join(rows))
    first, second = facts["accounts"]
    assert (first["account"], first["unit"], first["neighbours"]) == ("a first", "person", "add-remove")
    assert (first["currency"], second["currency"]) == ("rho", "Renyi divergence of order 9")
    assert first["budget"]["exact"] == "199900123/100000000"
    assert first["spent"]["value"] == pytest.approx(0.5000003075)
    assert first["remaining"]["value"] == pytest.approx(1.4990009225)
    with Ledger(ledger_at) as ledger:
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
def test_history_shows_the_latest(ledger_at: str, told: Any, options: tuple[str, ...], keys: range) -> None:
    _, rows = told("ledger", "history", ledger_at, *options, "--json")
    assert [one["key"] for one in json.loads("\n".join(rows))] == [f"key {n}" for n in keys]


def test_history_of_one_account_and_of_all(ledger_at: str, told: Any) -> None:
    _, rows = told("ledger", "history", ledger_at, "--all", "--json")
    assert [one["seq"] for one in json.loads("\n".join(rows))] == list(range(1, 29))
    _, rows = told("ledger", "history", ledger_at, "b second", "--all", "--json")
    assert [one["kind"] for one in json.loads("\n".join(rows))] == ["open"]
    _, rows = told("ledger", "history", ledger_at, "--limit", "2")
    assert rows[1].split()[:2][0] == "27"
    assert "key 23" in rows[1]
    assert "0.0200001" in rows[1]
    assert rows[1].rstrip().endswith("(job)")
    assert rows[2].strip() == "given as rho - why 23"
    assert "(job)" not in rows[3]


@pytest.mark.parametrize("forged", [False, True])
@pytest.mark.parametrize("asked", [(), ("--json",)])
def test_a_forged_ledger_is_exit_code_1(
    ledger_at: str, told: Any, tmp_path: Path, forged: bool, asked: tuple[str, ...]
) -> None:
    with Ledger(ledger_at) as ledger:
        head = ledger.head
    if forged:
        forge(ledger_at)
    code, rows = told("ledger", "verify", ledger_at, *asked)
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
        assert told("ledger", "report", ledger_at, *form)[0] == forged


def test_a_report_is_of_the_account_and_delta_asked_for(ledger_at: str, told: Any) -> None:
    facts = json.loads("\n".join(told("ledger", "report", ledger_at, "--json")[1]))
    assert facts["delta"] == 1e-6
    assert [one["name"] for one in facts["accounts"]] == ["a first", "b second"]
    facts = json.loads("\n".join(told("ledger", "report", ledger_at, "a first", "--delta", "1e-9", "--json")[1]))
    assert [(one["name"], one["guarantee"]["delta"]) for one in facts["accounts"]] == [("a first", 1e-9)]


def test_export_and_import_count_their_entries(ledger_at: str, told: Any, tmp_path: Path) -> None:
    out, copy, other = (str(tmp_path / name) for name in ("all.jsonl", "copy.db", "other.db"))
    assert told("ledger", "export", ledger_at, "--out", out) == (0, [f"28 entries written to {out}"])
    with Ledger(ledger_at) as ledger:
        head = ledger.head
    code, rows = told("ledger", "export", ledger_at, "--out", out, "--json")
    assert (code, json.loads("\n".join(rows))) == (0, {"entries": 28, "out": out, "head": head})
    code, rows = told("ledger", "import", copy, out)
    assert (code, rows[0], rows[-1]) == (0, "28 entries, all verified.", f"head {head}")
    code, rows = told("ledger", "import", other, out, "--json")
    assert (code, json.loads("\n".join(rows))) == (0, {"entries": 28, "head": head})
    code, rows = told("ledger", "upgrade", copy, "--json")
    assert (code, json.loads("\n".join(rows))) == (0, {"before": 2, "now": 2, "head": head})


def test_a_raise_and_a_repeated_spend_are_told(ledger_at: str, told: Any) -> None:
    code, rows = told("ledger", "raise", ledger_at, "b second", "--epsilon", "5", "--why", "board", "--who", "DPO")
    assert (code, rows[0]) == (0, "The budget of b second was raised.")
    with Ledger(ledger_at) as ledger:
        assert ledger.account("b second").terms.epsilon == 5
        assert [(one.why, one.who) for one in ledger.history("b second")][-1] == ("board", "DPO")
    code, rows = told("ledger", "spend", ledger_at, "a first", "--rho", "0.0200000123", "--key", "key 3", "--json")
    facts = json.loads("\n".join(rows))
    assert (code, facts["admitted"], facts["repeated"], facts["key"]) == (0, True, True, "key 3")
    code, rows = told("ledger", "spend", ledger_at, "a first", "--rho", "1e-100", "--key", "tiny", "--who", "me")
    assert rows[0] == "Spent 1e-100 under the key tiny."  # not 0
    with Ledger(ledger_at) as ledger:
        assert list(ledger.history())[-1].who == "me"


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


def test_a_plan_of_tables_is_told_how_an_account_of_epsilon_counts_it() -> None:
    text = '[data]\nunit = "row"\nprotects = "visit"\n[budget]\nepsilon = "2"\ndelta = "1e-9"\n'
    text += '[[query]]\nname = "rows"\nmeasure = "count"\nmechanism = "DiscreteLaplace(scale=20)"\n'
    plan = read_plan("plan.toml", text)
    for rho, said in ((0.056, "the plan fits it"), (0.0562, "it would refuse the plan, which takes 0.0562")):
        assert said in rho_note(plan, rho)
        assert "has 0.056130" in rho_note(plan, rho)
    assert rho_note(plan_of("3 * Laplace(epsilon=1)"), 0.1) == ""
    other = text.replace('[budget]\nepsilon = "2"\ndelta = "1e-9"\n', '[budget]\nrho = "1"\n')
    assert rho_note(read_plan("plan.toml", other), 0.1) == ""
