"""Load() keeps the count that stands inside a mechanism."""

from __future__ import annotations

from pathlib import Path

from zcdp import Laplace, load


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
