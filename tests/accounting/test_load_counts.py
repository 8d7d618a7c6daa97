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
