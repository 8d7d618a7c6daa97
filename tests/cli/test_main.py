"""With --json every command ends with the exit code that it has without: 0, 1 if something is refused, 2 bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.program import zcdp
from collection.test_messages import MECHANISM, client_design, message, written

from zcdp import HeavyHitters
from zcdp.cli import main
from zcdp.cli.arguments import ACTIONS, COMMANDS
from zcdp.ledger import Ledger
from zcdp.verification import Check

PLAN = """[data]
unit = "row"
protects = "person"
account = "census"
[domain]
region = ["R1", "R2"]
[budget]
rho = "{rho}"
[[query]]
name = "rows"
measure = "count"
by = ["region"]
mechanism = "DiscreteGaussian(sigma={sigma})"
"""
DESIGN = '[collection]\nk = 4\n[[query]]\nname = "a"\nmechanism = "RandomizedResponse(epsilon=1, k=4)"\n'
BAD = "postgresql:/nowhere"
PAGES = {"explore"}
"""Commands that answer with a page, and have no --json: their exit codes are in their own tests."""
HEAD = f"9:{'0' * 64}"

CASES: dict[str, list[tuple[int, str]]] = {
    "rho": [(0, "Laplace(epsilon=1)"), (2, "Laplace(epsilon=-1)")],
    "account": [
        (0, "plan.toml"),
        (0, "plan.toml --ledger budget.db"),
        (1, "over.toml"),
        (1, "plan.toml --ledger spent.db"),
        (1, "over.toml --ledger budget.db"),
        (2, "none.toml"),
        (2, "plan.toml --ledger none.db"),
        (2, "plan.toml --ledger household.db"),
    ],
    "calibrate": [
        (0, "Laplace(epsilon=?) --rho 0.1"),
        (2, "Laplace(epsilon=?)"),
        (2, "Laplace(epsilon=1) --rho 0.1"),
    ],
    "audit": [
        (0, "--canaries 100 --guesses 10 --correct 5 --epsilon 1"),
        (1, "--canaries 100 --guesses 50 --correct 50 --epsilon 1"),
        (2, "--canaries 100"),
        (2, "none.csv nothing.csv --epsilon 1"),
    ],
    "sgd": [
        (0, "--examples 1000 --batch 10 --epochs 1 --sigma 4 --delta 1e-5"),
        (2, "--examples 1000 --batch 2000 --epochs 1 --sigma 4 --delta 1e-5"),
    ],
    "allocate": [(0, "open.toml"), (0, "open.toml --out filled.toml"), (2, "open.toml --rho 0"), (2, "none.toml")],
    "release": [
        (0, "plan.toml rows.csv --out new --no-ledger"),
        (0, "plan.toml rows.csv --out new --ledger budget.db --key a"),
        (1, "plan.toml rows.csv --out new --ledger spent.db --key b"),
        (1, "over.toml rows.csv --out new --no-ledger"),
        (1, "plan.toml rows.csv --out new --ledger spent.db --key all"),
        (2, "plan.toml rows.csv --out new"),
        (2, "plan.toml none.csv --out new --no-ledger"),
        (2, "plan.toml rows.csv --out new --ledger household.db --key a"),
    ],
    "choose": [(0, "--k 4 --rho 1 --clients 1000"), (2, "--k 4 --clients 1000"), (2, "--k 1 --rho 1 --clients 1000")],
    "randomize": [
        (0, "design.toml values.csv --out reports.parquet"),
        (2, "design.toml values.csv --out reports.parquet --round 2"),
        (2, "plan.toml values.csv --out reports.parquet"),
    ],
    "estimate": [(0, "design.toml drawn.parquet"), (2, "design.toml none.parquet"), (2, "plan.toml drawn.parquet")],
    "gather": [
        (0, "clients.json messages.jsonl --out new.parquet"),
        (2, "clients.json none.jsonl --out new.parquet"),
        (2, "design.toml messages.jsonl --out new.parquet"),
    ],
    "heavy": [
        (0, "design --epsilon 5 --length 2"),
        (0, "randomize words.json words.csv --out new.parquet"),
        (0, "find words.json words.parquet --top 2"),
        (2, "design --epsilon 0 --length 2"),
        (2, "find words.json none.parquet"),
    ],
    "table": [(0, ""), (2, "--format word"), (2, "--out none/table.md")],
    "figure": [(2, "none --out a.svg"), (2, "krr --out a.word")],
    "verify": [(0, ""), (1, "--deep"), (0, "--prove")],
    "completion": [(0, "bash"), (2, "word")],
    "ledger open": [
        (0, "budget.db new --unit person --rho 1"),
        (0, "new.db new --unit person --rho 1"),
        (1, "budget.db census --unit person --rho 3"),
        (2, "budget.db new --unit person"),
        (2, "budget.db new --unit person --rho 1 --neighbours twins"),
    ],
    "ledger spend": [
        (0, "budget.db census Laplace(epsilon=1) --key b"),
        (0, "spent.db census --rho 1 --key all"),
        (1, "spent.db census Laplace(epsilon=1) --key b"),
        (1, "spent.db census Laplace(epsilon=1) --key all"),
        (2, "budget.db nobody Laplace(epsilon=1) --key b"),
        (2, "budget.db census RandomizedResponse(epsilon=1,k=2) --key b"),
        (2, f"budget.db census --rho 0.1 --key b --expect-head {HEAD}"),
    ],
    "ledger status": [(0, "budget.db"), (0, "budget.db census"), (2, "budget.db nobody"), (2, "none.db")],
    "ledger history": [(0, "budget.db"), (2, "budget.db nobody"), (2, "text.db")],
    "ledger verify": [(0, "budget.db"), (1, "forged.db"), (1, f"budget.db --expect-head {HEAD}"), (2, "none.db")],
    "ledger export": [(0, "budget.db --out all.jsonl"), (2, "none.db --out all.jsonl")],
    "ledger import": [(0, "copy.db lines.jsonl"), (2, "budget.db lines.jsonl"), (2, "copy.db rows.csv")],
    "ledger raise": [
        (0, "budget.db census --rho 2 --why more"),
        (2, "budget.db census --rho 0.1 --why less"),
        (2, "budget.db census --rho 2"),
    ],
    "ledger plan": [(0, "Laplace(epsilon=0.1) --epsilon 1 --delta 1e-9"), (2, "none.toml --epsilon 1 --delta 1e-9")],
    "ledger reserve": [
        (0, "budget.db census --rho 0.01 --key r --expires 900"),
        (1, "budget.db census --rho 99 --key r --expires 900"),
        (2, "budget.db census --rho 0.01 --key r --expires 0"),
        (2, "budget.db census --key r --expires 900"),
    ],
    "ledger commit": [(0, "kept.db census --key r"), (1, "budget.db census --key r"), (2, "none.db census --key r")],
    "ledger release": [(0, "kept.db census --key r"), (1, "budget.db census --key r"), (2, "none.db census --key r")],
    "ledger lower": [
        (0, "budget.db census --rho 0.4 --why less"),
        (2, "budget.db census --rho 99 --why less"),
        (2, "budget.db census --rho 0.4"),
    ],
    "ledger close": [(0, "budget.db census --why over"), (2, "budget.db census"), (2, "none.db census --why over")],
    "ledger forget": [(0, "budget.db Anna --why asked"), (2, "budget.db Anna"), (2, "none.db Anna --why asked")],
    "ledger report": [
        (0, "budget.db --html page.html"),
        (1, "forged.db --html page.html"),
        (2, "none.db --html a.html"),
    ],
    "ledger upgrade": [(0, "budget.db"), (2, "none.db")],
    "ledger sql": [(0, "schema"), (0, "roles"), (2, "word")],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    (folder / "plan.toml").write_text(PLAN.format(rho=1, sigma=2))
    (folder / "over.toml").write_text(PLAN.format(rho="0.01", sigma=2))
    (folder / "open.toml").write_text(PLAN.format(rho=1, sigma="?"))
    (folder / "design.toml").write_text(DESIGN)
    (folder / "rows.csv").write_text("region\nR1\nR2\n")
    (folder / "values.csv").write_text("value\n0\n1\n3\n")
    (folder / "other.csv").write_text("value\n2\n1\n3\n")
    (folder / "text.db").write_text("not a database at all, but long enough to look like one" * 40)
    for name, unit in (("budget", "person"), ("spent", "person"), ("forged", "person"), ("household", "household")):
        with Ledger(folder / f"{name}.db") as ledger:
            ledger.open_account("census", unit=unit, rho=1)
            if name != "budget":
                ledger.spend("census", rho=1, key="all")
            if name == "forged":
                ledger._store._opened.connection.execute("UPDATE account SET spent = '0'")  # type: ignore[attr-defined]
            with (folder / "lines.jsonl").open("w") as lines:
                ledger.export(lines)
    with Ledger(folder / "kept.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        ledger.reserve("census", rho="0.5", key="r", expires=10**6)
    clients = folder / "clients.json"
    clients.write_text(json.dumps(client_design(MECHANISM, 300, rounds=1, answered=1)))
    written(folder / "messages.jsonl", [message(clients, 1, name=1)])
    words = HeavyHitters(epsilon=5, alphabet="ab", length=2)
    (folder / "words.json").write_text(json.dumps(words.design()))
    (folder / "words.csv").write_text("word\nab\na\n")
    (folder / "many.csv").write_text("word\n" + "ab\n" * 100)
    argv = ["heavy", "randomize", str(folder / "words.json"), str(folder / "many.csv")]
    assert main([*argv, "--out", str(folder / "words.parquet")]) == 0
    argv = ["randomize", str(folder / "design.toml"), str(folder / "other.csv"), "--out", str(folder / "drawn.parquet")]
    assert main(argv) == 0
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a command is given, twice: for it and for it with --json."""
    for name in ("plain", "json"):
        shutil.copytree(prepared, tmp_path / name)
    checks = {deep: [Check("pure-dp", "a check", lambda deep=deep: not deep)] for deep in (False, True)}
    monkeypatch.setattr("zcdp.cli.verify_command.checks", lambda *, deep: checks[deep])
    proof = SimpleNamespace(proved=True, boxes=1, where=None)
    one = SimpleNamespace(theorem="pure-dp", statement="a theorem", run=lambda: proof)
    monkeypatch.setattr("zcdp.verification.proofs.PROOFS", (one,))
    return tmp_path


def test_every_command_is_here() -> None:
    every = {name for name in COMMANDS if name != "ledger"} | {f"ledger {name}" for name in ACTIONS}
    assert set(CASES) == every - PAGES
    for name, cases in CASES.items():
        assert {code for code, _ in cases} >= ({2} if name == "figure" else {0}), name


@pytest.mark.parametrize(
    ("command", "code", "given"), [(name, *case) for name, cases in CASES.items() for case in cases]
)
def test_the_exit_code_is_that_without_json(
    command: str,
    code: int,
    given: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = {}
    for form in ("plain", "json"):
        monkeypatch.chdir(folder / form)
        argv = [*command.split(), *given.split(), *(["--json"] if form == "json" else [])]
        assert main(argv) == code, capsys.readouterr()
        told[form] = capsys.readouterr()
    assert told["json"].err == told["plain"].err
    if code == 0:
        json.loads(told["json"].out)
        assert told["json"].err == ""
    elif code == 1:
        if told["json"].out:
            json.loads(told["json"].out)
        assert told["json"].out or told["json"].err
    else:
        if told["json"].out:  # the answer of a ledger
            facts = json.loads(told["json"].out)
            assert facts["admitted"] is False
            assert f"zcdp: {facts['reason']}\n" == told["json"].err
        assert told["json"].err.startswith("zcdp: ")
        assert told["json"].err.count("\n") == 1


# Bad input: one clear line on stderr, the right exit code, no traceback, and no half-written file.


GOOD = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'


FILES = {
    "broken TOML": (GOOD + "count = = 3\n", ":4: not valid TOML: Invalid value"),
    "unfinished text": ('title = "abc\n' + GOOD, ":1: not valid TOML"),
    "unknown mechanism": (
        GOOD.replace("Laplace", "Lapace"),
        ":3: mechanism: there is no mechanism 'Lapace': did you mean 'Laplace'?",
    ),
    "unknown parameter": (
        GOOD.replace("epsilon", "epsilom"),
        ":3: mechanism: Laplace: there is no parameter 'epsilom': did you mean 'epsilon'?",
    ),
    "bad parameter": (GOOD.replace("=1", "=-1"), ":3: mechanism: Laplace: epsilon (-1) must be positive"),
    "unknown field": (GOOD + "conut = 3\n", ":4: there is no field 'conut': did you mean 'count'?"),
    "unknown top field": ('titel = "x"\n' + GOOD, ":1: there is no field 'titel': did you mean 'title'?"),
    "unknown budget field": (GOOD + "[budget]\nrh = 1\n", ":5: there is no field 'rh': did you mean 'rho'?"),
    "half a budget": ("[budget]\nepsilon = 1\n" + GOOD, ":1: a budget is rho, or epsilon and delta"),
    "negative budget": ("[budget]\nrho = -1\n" + GOOD, ":2: rho (-1) must be positive"),
    "duplicate name": (GOOD + "\n" + GOOD, ":6: name: 'a' is the name of the query at line 2 too"),
    "bad count": (GOOD + "count = 0\n", ":4: count (0) must be at least 1"),
    "count of text": (GOOD + "count = true\n", ":4: count: must be a number"),
    "huge count": (GOOD + "count = 10000000000000\n", ":4: count (10000000000000) must be at most 10^12"),
    "no mechanism": ('[[query]]\nname = "a"\n', ":1: query 1 has no mechanism"),
    "no queries": ('title = "x"\n', ": query: a plan needs queries"),
    "bad delta": ("delta = 2\n" + GOOD, ":1: delta (2) must lie strictly between 0 and 1"),
    "no quotes": (GOOD.replace('"a"', "a"), ":2: not valid TOML: Invalid value (text and fractions stand in quotes"),
    "a bare fraction": ("delta = 1/3\n" + GOOD, ":1: not valid TOML: Expected newline"),
    "number as name": (GOOD.replace('"a"', "7"), ":2: name: must be text in quotes, not 7"),
    "after a long text": (
        'description = """\nname = "x"\n[[query]]\n"""\n' + GOOD + "conut = 3\n",
        ":8: there is no field",
    ),
}  # fmt: skip


def one_line(stderr: str) -> str:
    [line] = stderr.splitlines()
    assert line.startswith("zcdp: ")
    return line


@pytest.mark.parametrize("kind", FILES)
def test_a_bad_plan_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = FILES[kind]
    (tmp_path / "plan.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["account", "plan.toml", "--json"]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert f"zcdp: plan.toml{message}" in one_line(err)


@pytest.mark.parametrize("budget", ["rho = 0.36", "epsilon = 0.9\ndelta = 1e-9"])
def test_over_budget_is_exit_code_one(budget: str, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(f"[budget]\n{budget}\n{GOOD}")
    done = zcdp("account", "plan.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert not done.stderr
    assert "OVER BUDGET: 10" in done.stdout or "OVER BUDGET: 11" in done.stdout
