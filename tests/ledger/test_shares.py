"""Planning from what is left: shares fit to the last unit, in what the account counts; ways to hold one budget."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from zcdp import BudgetExceeded, Filter, Gaussian, Laplace, Ledger, Plan, RandomizedResponse
from zcdp.cli import main
from zcdp.ledger.shares import fill_share, ways

PLAN = """unit = "person"
neighbours = "add-remove"
[[query]]
name = "persons"
mechanism = "{}"
count = 3
[[query]]
name = "fixed"
mechanism = "Laplace(epsilon='0.001')"
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    with Ledger(tmp_path / "budget.db") as made:
        made.open_account("rho", unit="person", rho="0.03")
        made.open_account("renyi", unit="person", epsilon=2, delta="1e-6", workload=Laplace(epsilon="0.1"))
        yield made


def plan(folder: Path, mechanism: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(PLAN.format(mechanism))
    return path


@pytest.mark.parametrize("account", ["rho", "renyi"])
@pytest.mark.parametrize("mechanism", ["Gaussian(sigma=?)", "Laplace(epsilon=?)"])
@pytest.mark.parametrize("parts", [3, 4])
def test_n_shares_of_one_nth_fit_and_one_more_does_not(
    ledger: Ledger, tmp_path: Path, account: str, mechanism: str, parts: int
) -> None:
    found = fill_share(ledger, account, plan(tmp_path, mechanism), Fraction(1, parts))
    budget = ledger.account(account).budget
    assert found.target <= budget / parts
    assert found.target * Fraction(999, 1000) < found.cost <= found.target
    assert found.more == parts
    whole = Plan.sum_of(*(Plan.repeated(e.plan, e.count) for e in found.filled.plan.entries))
    for n in range(parts):
        assert ledger.spend(account, whole, key=f"{n}").cost == found.cost
    with pytest.raises(BudgetExceeded):
        ledger.spend(account, whole, key="more")
    with pytest.raises(BudgetExceeded, match="the largest share of the whole that fits is"):
        fill_share(ledger, account, plan(tmp_path, mechanism), Fraction(1, parts))


def test_a_share_is_of_the_whole_or_of_the_rest_and_of_all_levels(ledger: Ledger, tmp_path: Path) -> None:
    where = plan(tmp_path, "Gaussian(sigma=?)")
    ledger.open_account("cap", unit="person", rho="0.02", under="rho")
    assert fill_share(ledger, "cap", where, "1/2").target == Fraction(1, 100)
    ledger.spend("rho", rho="0.025", key="a")
    assert fill_share(ledger, "cap", where, "1/2", of="remaining").target == Fraction(25, 10000)
    with pytest.raises(BudgetExceeded, match=r"0.005 remain of 'rho', above 'cap': .* that fits is 0.25") as found:
        fill_share(ledger, "cap", where, "1/2")
    assert found.value.account == "rho"
    ledger.raise_budget("rho", rho="0.05", why="more")
    assert fill_share(ledger, "cap", where, "1/2").target == Fraction(1, 100)
    for wrong in (0, -1, "3/2"):
        with pytest.raises(ValueError, match="share"):
            fill_share(ledger, "cap", where, wrong)
    ledger.open_account("homes", unit="household", rho=1)
    with pytest.raises(ValueError, match="is not that of the account"):
        fill_share(ledger, "homes", where, "1/2")


@pytest.mark.parametrize("workload", [Gaussian(sigma=12), Laplace(epsilon="0.2"), 3 * Laplace(epsilon="0.05")])
def test_each_way_admits_as_many_as_it_says(tmp_path: Path, workload: Plan) -> None:
    found = {way.name: way for way in ways(workload, epsilon=1, delta="1e-6")}
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("rho", unit="person", epsilon=1, delta="1e-6")
        ledger.open_account("one order", unit="person", epsilon=1, delta="1e-6", workload=workload)
        assert found["one order"].orders == (ledger.account("one order").terms.order,)
        for name in ("rho", "one order"):
            for n in range(found[name].admits):
                ledger.spend(name, workload, key=f"{n}")
            with pytest.raises(BudgetExceeded):
                ledger.spend(name, workload, key="more")
    several = Filter(epsilon=1, delta="1e-6")
    assert several.orders == found["several orders"].orders
    for _ in range(found["several orders"].admits):
        several.spend(workload)
    with pytest.raises(BudgetExceeded):
        several.spend(workload)


def test_ways_know_neighbours_and_delta() -> None:
    response = RandomizedResponse(epsilon=1, k=1000)
    found = {way.name: way.admits for way in ways(response, epsilon=10, delta="1e-6", neighbours="local")}
    assert (found["rho"], found["one order"]) == (39, 496)
    with pytest.raises(ValueError, match="is stated for local neighbours"):
        ways(response, epsilon=10, delta="1e-6")
    for way in ways(Gaussian(sigma=50), epsilon=1, delta="1e-6", approximate="5e-7", each="1e-7"):
        assert way.admits == 5
    with pytest.raises(TypeError, match="give the sum of them that is allowed"):
        ways(response, epsilon=10, delta="1e-6", each="1e-7")


def test_on_the_command_line(ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, path, out = str(tmp_path / "budget.db"), plan(tmp_path, "Gaussian(sigma=?)"), tmp_path / "filled.toml"
    asked = ["allocate", str(path), "--ledger", where, "--share", "1/3"]
    assert main(asked) == 2
    assert "name one by --account" in capsys.readouterr().err
    assert main([*asked, "--account", "rho", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "which is 1/3 of the budget of account rho (rho), certified." in told
    assert "3 such releases fit what remains" in told
    for n in range(3):
        assert main(["ledger", "spend", where, "rho", str(out), "--key", f"{n}"]) == 0
    assert main(["account", str(out), "--ledger", where, "--account", "rho"]) == 1
    capsys.readouterr()
    assert main([*asked, "--account", "rho"]) == 1
    assert "the largest share" in capsys.readouterr().err
    assert main(["allocate", str(path), "--share", "1/3"]) == 2
    assert main([*asked, "--account", "rho", "--rho", "1"]) == 2
    assert main(["ledger", "plan", "Laplace(epsilon=0.1)", "--epsilon", "1", "--delta", "1e-9"]) == 0
    assert "one order" in capsys.readouterr().out


def test_the_account_that_a_plan_names_is_the_one_it_has_a_share_of(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, path = str(tmp_path / "budget.db"), tmp_path / "tables.toml"
    path.write_text(
        '[data]\nunit = "person_id"\naccount = "rho"\n[[query]]\nname = "a"\nmeasure = "persons"\n'
        'mechanism = "DiscreteGaussian(sigma=?)"\n'
    )
    assert len(ledger.accounts()) > 1
    filled = tmp_path / "filled.toml"
    assert main(["allocate", str(path), "--ledger", where, "--share", "1/3", "--out", str(filled)]) == 0
    assert "of the budget of account rho" in capsys.readouterr().out
    assert main(["account", str(filled), "--ledger", where]) == 0
    assert "rho" in capsys.readouterr().out
