"""A collection's number of answers: what a client sends is what is written, debited, and not exceeded."""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import pytest

from zcdp.cli import main
from zcdp.cli.choose_command import plan_text
from zcdp.collection.choose import choose
from zcdp.ledger import Ledger
from zcdp.plans.plan_file import read_plan

DESIGN = """[collection]
k = {k}
rounds = {rounds}
answered = {answered}

[[query]]
name = "reports of one client"
mechanism = "{mechanism}"
count = {answered}
"""
MECHANISMS = (
    "RandomizedResponse(epsilon='1/2', k={k})",
    "RAPPOR(epsilon=1)",
    "HadamardResponse(epsilon='1/2')",
    "SubsetSelection(epsilon=1, k={k}, size=1)",
)


def check(seed: int, folder: Path) -> None:
    """Clients are asked in a random order of rounds: so many answer as are accounted for, and no round twice."""
    rng = random.Random(seed)
    k, rounds = rng.randrange(3, 9), rng.randrange(1, 6)
    answered, mechanism = rng.randrange(1, rounds + 1), rng.choice(MECHANISMS).format(k=k)
    design, values, where = folder / f"{seed}.toml", folder / f"{seed}.csv", str(folder / "budget.db")
    design.write_text(DESIGN.format(k=k, rounds=rounds, answered=answered, mechanism=mechanism))
    values.write_text("value\n" + "".join(f"{rng.randrange(k)}\n" for _ in range(20)) + f"{seed % k}\n" * (seed % 50))
    if not Path(where).exists():
        assert main(["ledger", "open", where, "app", "--unit", "client", "--neighbours", "local", "--rho", "1e6"]) == 0
    assert main(["ledger", "spend", where, "app", str(design), "--key", f"{seed}"]) == 0
    with Ledger(where) as ledger:
        [spend] = [entry for entry in ledger.history("app") if entry.key == f"{seed}"]
        one = ledger.cost("app", read_plan(design).entries[0].plan)
        assert Fraction(spend.amount) == answered * one
    assert json.loads(spend.what) == [{"count": answered, "mechanism": repr(read_plan(design).entries[0].plan)}]
    asked = [*range(1, rounds + 1), *range(1, rounds + 1)]
    rng.shuffle(asked)
    sent: Counter[int] = Counter()
    for n, turn in enumerate(asked):
        out = folder / f"{seed}-{n}.parquet"
        command = ["randomize", str(design), str(values), "--column", "value", "--out", str(out), "--round", str(turn)]
        admitted = main(command) == 0
        assert out.exists() == admitted
        sent[turn] += admitted
    assert sum(sent.values()) == answered
    assert max(sent.values()) == 1


def test_as_many_reports_are_drawn_as_are_debited(tmp_path: Path) -> None:
    for seed in range(5):
        check(seed, tmp_path)


@pytest.mark.deep
def test_many_collections(tmp_path: Path) -> None:
    for seed in range(5, 200):
        check(seed, tmp_path)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_neither_fewer_nor_more_answers_are_accounted_for_than_are_given(count: int) -> None:
    design = DESIGN.format(k=4, rounds=4, answered=2, mechanism="RAPPOR(epsilon=1)")
    assert read_plan("design.toml", design).entries[0].count == 2
    with pytest.raises(ValueError, match=f"count: {count} must be the 2 rounds that a client answers"):
        read_plan("design.toml", design.replace("count = 2", f"count = {count}"))
    every = design.replace("answered = 2\n", "")  # then a client answers every round
    with pytest.raises(ValueError, match="must be the 4 rounds") if count < 4 else nullcontext():
        read_plan("design.toml", every.replace("count = 2", f"count = {count}"))


@pytest.mark.parametrize("every_round", [True, False])
def test_a_design_accounts_for_every_answer(every_round: bool) -> None:
    """The rounds that its error is for are those that its plan, and the file written of it, account for."""
    choice = choose(k=16, rounds=6, rho=2, clients=10**5, every_round=every_round)
    for design in choice.designs:
        assert [count for _, count in design.plan.parts] == [design.rounds]
        assert design.plan.rho <= 2
        assert (design.rounds == 6) or not every_round
    text = plan_text(choice.best, {"rho": "2"}, None)
    plan = read_plan("design.toml", text)
    assert plan.entries[0].count == choice.best.rounds == plan.collection.answered  # type: ignore[union-attr]
    assert repr(plan.entries[0].plan) == repr(choice.best.mechanism)
