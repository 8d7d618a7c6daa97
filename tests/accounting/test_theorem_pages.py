"""Pages that an account cites: by their own titles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from zcdp import account
from zcdp.accounting import plan_account as total

# Accounts: never below the truth however many the mechanisms, and honest about what others charge.


PAGES = Path(__file__).parent.parent.parent / "docs" / "theorems"


def test_titles_are_those_of_the_pages() -> None:
    cited = account("2 * Laplace(epsilon=1) + Logistic(epsilon=1)", delta="1e-6", curve=False).theorems
    assert {"composition", "laplace", "logistic", "profile"} == {one.id for one in cited}
    for one in cited:
        assert (PAGES / f"{one.id}.md").read_text().splitlines()[0] == f"# {one.title}"


# What would do harm if it were wrong: counts, ends of budgets, many kinds, all times; each has its own truth.


KINDS, LIMIT = 70, 64


@pytest.fixture(scope="module", autouse=True)
def _rho_alone() -> Iterator[None]:
    """Fewer kinds than the limit really is: it is the way beyond it that is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(total, "MOST_KINDS_IN_FULL", LIMIT)
        yield
