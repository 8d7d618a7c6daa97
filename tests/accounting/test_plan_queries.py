"""Loading a plan for use in a program: the counts inside its mechanisms, and accounts of what is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from zcdp import DiscreteLaplace, L0LInf, Laplace, account, load


def test_a_count_inside_the_mechanism_counts_too(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text('[[query]]\nname = "a"\nmechanism = "3 * Laplace(epsilon=1)"\ncount = 4\n')
    queries = load(file)
    assert queries["a"].count == 12
    assert queries.plan == 12 * Laplace(epsilon=1)
    assert queries.plan.rho == queries.account(delta="1e-6").total.rho


def test_an_account_of_what_is_loaded_is_at_the_delta_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text('delta = 1e-8\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\nnote = "N"\n')
    queries = load(file)
    assert (queries.account().delta, queries.account(delta="1e-3").delta) == (1e-8, 1e-3)
    assert (queries["a"].note, queries["a"].name, len(queries), list(queries)) == ("N", "a", 1, ["a"])
    assert len(queries.account(curve=True).curve) == 41
    assert queries.account().curve == ()


ROOT = Path(__file__).parents[2]


def test_a_plan_file_is_loaded_and_released() -> None:
    path = ROOT / "examples" / "census.toml"
    queries = load(str(path))
    assert load(path).plan == queries.plan
    assert queries.plan.rho == account(path, curve=False).total.rho == queries.account().total.rho
    first = next(iter(queries.values()))
    assert first.mechanism == DiscreteLaplace(scale=10, sensitivity=L0LInf(2, 1))
    assert first.release([1, 2, 3]).shape == (3,)
    with pytest.raises(KeyError, match="did you mean"):
        queries[first.name[:-1]]


def test_what_cannot_be_run_is_not_loaded(tmp_path: Path) -> None:
    for mechanism, text in (
        ("Laplace(epsilon=?)", "no value yet"),
        ("Laplace(epsilon=1) + RAPPOR(epsilon=1)", "one mechanism"),
    ):
        (tmp_path / "plan.toml").write_text(f'[[query]]\nname = "a"\nmechanism = "{mechanism}"\n')
        with pytest.raises(ValueError, match=text):
            load(tmp_path / "plan.toml")
