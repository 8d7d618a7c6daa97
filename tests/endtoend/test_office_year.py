"""The office's year, as its page has it: four quarters from one budget, a crash, a repeat, and tables that add up."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from zcdp import Ledger
from zcdp.cli import main
from zcdp.plans.plan_file import read_plan
from zcdp.release import release_tables as run_module

ROOT = Path(__file__).parents[2]
OFFICE = ROOT / "examples" / "office"
PAGE = (ROOT / "docs" / "how-to" / "office.md").read_text(encoding="utf-8")
PROGRAMS = ("mkdir", "python", "zcdp", "sed", "cmp", "sha256sum")
QUARTERS = ("2026-Q1", "2026-Q2", "2026-Q3", "2026-Q4")


def commands() -> list[str]:
    """The commands of the page, in their order."""
    return [line.strip() for line in PAGE.splitlines() if line.startswith(tuple(f"    {one} " for one in PROGRAMS))]


def check(folder: Path) -> Any:
    """The module check.py of the example, as it stands in a folder."""
    spec = importlib.util.spec_from_file_location("office_check", folder / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_the_page_quotes_stands_in_the_plan() -> None:
    quoted = [line.strip() for line in PAGE.splitlines() if re.match(r"    \w+ = ", line)]
    assert len(quoted) == 3
    lines = (OFFICE / "plan.toml").read_text(encoding="utf-8").splitlines()
    assert set(quoted) <= set(lines)
    for word in re.findall(r"`(\w+\.(?:txt|csv|toml|py))`", PAGE):
        assert (OFFICE / word.removeprefix("list_")).is_file() or word == "persons-by-region.csv"


def test_the_plan_is_that_of_17_regions_and_200_municipalities() -> None:
    tables = read_plan(OFFICE / "plan.toml").tables
    assert tables is not None
    sizes = {name: domain.size for name, domain in tables.domains.items()}
    assert (sizes["region"], sizes["municipality"]) == (17 + 1, 200 + 1)
    assert (tables.vintage, tables.key, tables.account) == ("2026-Q1", "2026-Q1", "population-2026")


class Died(BaseException):
    """Nothing catches it, as nothing catches the end of a machine."""


def died(*_: Any) -> None:
    raise Died


def test_a_quarter_with_a_crash_and_a_repeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first quarter of a small register, with the tables of the population and quantiles by education."""
    folder = tmp_path / "office"
    shutil.copytree(OFFICE, folder)
    monkeypatch.chdir(folder)
    plan = Path("plan.toml").read_text(encoding="utf-8")
    kept = [part for part in re.split(r"(?=^\[\[query\]\])", plan, flags=re.MULTILINE) if "by age" not in part]
    Path("plan.toml").write_text("".join(one for one in kept if "by region and education" not in one), encoding="utf-8")
    subprocess.run([sys.executable, "register.py", "20000"], check=True)
    said = [line.split(" ", 1)[1] for line in commands() if line.startswith("zcdp ") and "--no-ledger" not in line]
    opened, allocated, _, released = (line.split() for line in said[:4])
    assert main(opened) == 0
    assert main(allocated) == 0
    with monkeypatch.context() as patch:  # a machine that dies between the debit and the tables
        patch.setattr(run_module, "exact_table", died)
        with pytest.raises(Died):
            main(released)
    with Ledger("budget.db") as ledger:
        spent = ledger.account("population-2026").spent
        assert spent > 0
    assert main([one for one in released if one != "--new"]) == 0
    again = [{"2026-Q1": "again", "register-2026-Q1.parquet": "gone.parquet"}.get(one, one) for one in released]
    assert main([one for one in again if one != "--new"]) == 0
    first = {path.name: path.read_bytes() for path in Path("2026-Q1").iterdir()}
    assert first == {path.name: path.read_bytes() for path in Path("again").iterdir()}
    with Ledger("budget.db") as ledger:
        assert ledger.account("population-2026").spent == spent <= ledger.account("population-2026").budget / 4
        assert ledger.verify().passed
    checks = check(folder)
    assert checks.sums(folder / "2026-Q1") == []
    inside, many = checks.held(folder / "2026-Q1", folder / "register-2026-Q1.parquet")
    assert many == 201
    assert inside > 0.8 * many  # each holds with 95%: less often than once in 10^12 fewer do
    wrong, inside, many = checks.quantiles(folder / "2026-Q1", folder / "register-2026-Q1.parquet")
    assert (wrong, many) == ([], 20)
    assert inside > 5


# The whole page, command by command, with its 500,000 rows.


def killed_after_the_debit(command: str, environment: dict[str, str], folder: Path, key: str) -> None:
    """Start a release, and kill it once the ledger has its debit and before it seals."""
    with subprocess.Popen(command.split(), cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        for _ in range(60_000):
            with Ledger(folder / "budget.db") as ledger:
                if any(one.key == key for one in ledger.history("population-2026")):
                    break
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    with Ledger(folder / "budget.db") as ledger:
        assert ledger.sealed("population-2026", key) is None


@pytest.mark.deep
def test_the_whole_year_as_the_page_has_it(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    folder = tmp_path / "build" / "office"
    spent = []

    def run(command: str, code: int = 0) -> str:
        where = folder if folder.is_dir() else tmp_path
        shell = ["bash", "-c", command]
        done = subprocess.run(shell, check=False, cwd=where, env=environment, capture_output=True, text=True)
        assert done.returncode == code, (command, done.stderr)
        return done.stdout + done.stderr

    for command in commands():
        if "--out 2026-Q2 " in command:
            killed_after_the_debit(command, environment, folder, "2026-Q2")
            assert "nothing is sealed yet" in run(command, 1)
            command = command.replace(" --new", "")  # noqa: PLW2901 - which draws what was paid for
        said = run(command)
        if "--out 2026-Q2-again" in command:
            assert said.startswith("Nothing was read or spent: the key 2026-Q2 was sealed on")
        if "--no-ledger" in command:  # the rehearsal
            assert "No ledger remembers it." in said
        elif command.startswith("zcdp release") and "again" not in command:
            with Ledger(folder / "budget.db") as ledger:
                spent.append(ledger.account("population-2026").spent)
    assert [round(float(one / spent[0]), 6) for one in spent] == [1, 2, 3, 4]
    run("sed 's/2026-Q1/2027-Q1/' 2026-Q1.toml > fifth.toml")
    assert "exceeds what remains" in run(
        "zcdp release fifth.toml register-2026-Q4.parquet --out fifth --ledger budget.db", 1
    )
    checks = check(folder)
    for quarter in QUARTERS:
        data = folder / f"register-{quarter}.parquet"
        assert checks.sums(folder / quarter) == []
        inside, many = checks.held(folder / quarter, data)
        assert inside > 0.8 * many
        wrong, inside, many = checks.quantiles(folder / quarter, data)
        assert wrong == []  # with one income in eight at 0, the lowest tenth is in the first bin
        lowest = [
            one for one in checks.table(folder / quarter, "income-quantiles-by-education") if one["quantile"] == "0.1"
        ]
        assert [(one["from"], one["to"]) for one in lowest[:3]] == [("0", "1000")] * 3
        assert {row["vintage"] for row in checks.table(folder / quarter, "persons-by-age")} == {quarter}
    assert run("cmp 2026-Q1/persons-by-region.csv 2026-Q2/persons-by-region.csv", 1)
