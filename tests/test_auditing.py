"""The audit bounds both probabilities of its event by outputs that did not choose it, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from zcdp import RandomizedResponse, audit
from zcdp.auditing import Audit, _at_least, _bound

RISK = 1e-4


def halves(first: list[int], second: list[int], size: int = 1000) -> Any:
    """The values of each half, over and over."""
    return np.concatenate([np.resize(first, size), np.resize(second, size)])


@pytest.mark.parametrize(
    ("outputs", "others"),
    [
        (halves([0], [0]), halves([1], [0])),  # the others look different only in the half that chooses
        (halves([0], [1]), halves([1], [1])),  # the event never happens again
        (halves([0], [1]), halves([1], [0])),
        (halves([0, 1], [0, 1]), halves([0, 1], [1])),  # the half that judges would choose another event
    ],
)
def test_an_event_is_judged_by_the_outputs_that_did_not_choose_it(outputs: Any, others: Any) -> None:
    assert _bound(outputs, others, RISK)[0] == 0


@pytest.mark.parametrize(("ours", "theirs"), [(1000, 0), (900, 100), (500, 20), (60, 2)])
def test_the_bound_is_that_of_the_ends_of_both_intervals(ours: int, theirs: int) -> None:
    """Clopper-Pearson, each end at half of the risk: log(p/q), here by the incomplete beta function."""
    one = halves([0] * ours + [1] * (1000 - ours), [0] * ours + [1] * (1000 - ours))
    other = halves([0] * theirs + [1] * (1000 - theirs), [0] * theirs + [1] * (1000 - theirs))

    def at_least(hits: int) -> mpf:
        low, high = mpf(0), mpf(hits) / 1000
        for _ in range(45):
            middle = (low + high) / 2
            rare = mp.betainc(hits, 1000 - hits + 1, 0, middle, regularized=True) <= mpf(RISK) / 2
            low, high = (middle, high) if rare else (low, middle)
        return low

    bound, _ = _bound(one, other, RISK)
    exact = mp.log(at_least(ours) / (1 - at_least(1000 - theirs)))
    assert exact - mpf("0.05") * abs(exact) - mpf("0.02") <= bound <= exact + mpf(10) ** -9


@pytest.mark.parametrize("likelier", ["first", "second"])
def test_both_directions_are_looked_at(likelier: str) -> None:
    """One input never gives a 1, the other every second time: only that event shows an epsilon beyond log 2."""

    def always(size: int) -> Any:
        return np.zeros(size, dtype=int)

    def sometimes(size: int) -> Any:
        return np.arange(size) % 2

    pair: tuple[Callable[[int], Any], ...] = (sometimes, always) if likelier == "first" else (always, sometimes)
    found = audit(pair, epsilon=1, draws=4000)  # type: ignore[arg-type]
    assert found.violated
    assert found.epsilon_lower > 3
    assert found.event == f"1 of the outputs, likelier for the {likelier} input"
    assert (found.epsilon, found.draws, found.confidence) == (1, 4000, 0.999999)


def test_an_epsilon_that_is_shown_exactly_is_no_violation() -> None:
    assert not Audit(1.0, 1.0, "", 2, 0.9).violated
    assert Audit(1.0, 1.0000001, "", 2, 0.9).violated


def test_the_stated_epsilon_is_that_of_the_mechanism_unless_told() -> None:
    mechanism = RandomizedResponse(epsilon=2, k=3)
    assert audit(mechanism, draws=100).epsilon == mechanism.pure_epsilon
    assert audit(mechanism, draws=100, epsilon=0.5).epsilon == 0.5
    with pytest.raises(TypeError, match="give the stated epsilon"):
        audit((mechanism.release, mechanism.release), draws=100)


def test_no_hits_bound_nothing() -> None:
    assert _at_least(0, 100, 0.05) == 0
    assert _bound(halves([0], [1]), halves([0], [1]), RISK)[0] == 0


def test_rows_of_numbers_are_told_apart_as_wholes() -> None:
    """Two columns that look alike one by one, and never agree for one of the inputs."""

    def rows(agree: bool) -> Callable[[int], Any]:
        def draw(size: int) -> Any:
            first = np.arange(size) % 2
            return np.stack([first, first if agree else 1 - first], axis=1)

        return draw

    assert audit((rows(agree=True), rows(agree=False)), epsilon=1, draws=2000).epsilon_lower > 3
    assert audit((rows(agree=True), rows(agree=True)), epsilon=1, draws=2000).epsilon_lower == 0
