"""`zcdp ledger` as a person types it: tables, JSON, exit code 1 when refused, nothing that commands the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.program import on_a_terminal
from cli.program import zcdp as program

from zcdp import Laplace
from zcdp.cli import main
from zcdp.ledger import Ledger

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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["opn", "x"], "there is no action 'opn': did you mean 'open'?"),
        ([], "required: action"),
        (["status", "/nowhere/at/all.db"], "/nowhere/at/all.db: there is no ledger yet: zcdp ledger open makes one"),
        (["spend", "{}", "census-2026", "--key", "k"], "give a plan, or --rho"),
        (["spend", "{}", "census-2026", "Laplace(epsilon=1)"], "required: --key"),
        (["spend", "{}", "cencus", "Laplace(epsilon=1)", "--key", "k"], "there is no account 'cencus': did you mean"),
        (["spend", "{}", "census-2026", "Laplce(epsilon=1)", "--key", "k"], "there is no mechanism 'Laplce'"),
        (["spend", "{}", "census-2026", "--rho", "x", "--key", "k"], "rho ('x') is not a number"),
        (["raise", "{}", "census-2026", "--rho", "9"], "required: --why"),
        (["raise", "{}", "census-2026", "--rho", "0.5", "--why", "w"], "rho (0.5) must be larger"),
        (["verify", "{}", "--expect-head", "7"], "head ('7') must be a number, a colon and 64 hexadecimal digits"),
        (["report", "{}"], "give --html FILE"),
        (["open", "{}", "b", "--unit", "person"], "give a budget: rho, or epsilon and delta"),
        (["import", "{}", "/nowhere"], "No such file"),
        (["history", "{}", "--limit", "x"], "invalid int"),
    ],
)
def test_bad_usage(where: str, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["ledger", *(one.replace("{}", where) for one in arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert err.startswith("zcdp: ")


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
    assert capsys.readouterr().out == "Schema 1 already.\n"
