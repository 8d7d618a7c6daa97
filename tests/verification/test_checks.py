"""The checks of `zcdp verify` can fail: break a formula, and the check of its theorem sees it."""

from __future__ import annotations

import pytest

from zcdp import Laplace, RandomizedResponse
from zcdp.privacy.curve import Peak
from zcdp.verification import Check, checks, run


def failed(*theorems: str) -> set[str]:
    """Those of these theorems that some check says do not hold."""
    asked = [check for check in checks() if check.theorem in theorems]
    return {result.check.theorem for result in run(asked) if not result.passed}


def test_a_check_that_cannot_be_finished_has_failed_and_the_next_one_still_runs() -> None:
    asked = [
        Check("a", "raises", lambda: 1 / 0 > 0),
        Check("b", "holds", lambda: True),
        Check("c", "no", lambda: False),
    ]
    found = list(run(asked))
    assert [one.check for one in found] == asked
    assert [one.passed for one in found] == [False, True, False]
    assert [one.error for one in found] == ["ZeroDivisionError: division by zero", None, None]
    assert all(one.seconds >= 0 for one in found)


def test_a_wrong_formula_for_laplace(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Laplace._rho
    monkeypatch.setattr(Laplace, "_rho", lambda self, epsilon, move: right(self, epsilon, move) * (1 - 1e-9))
    assert failed("laplace") == {"laplace"}


def test_a_wrong_rho_of_randomized_response(monkeypatch: pytest.MonkeyPatch) -> None:
    right = RandomizedResponse.peak
    monkeypatch.setattr(RandomizedResponse, "peak", lambda self: Peak(right(self).rho * 0.999, right(self).order))
    assert failed("three-point") == {"three-point"}
