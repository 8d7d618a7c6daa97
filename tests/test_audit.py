"""The audit stays below the stated epsilon of sound mechanisms, near it, and flags broken ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from zcdp import (
    RAPPOR,
    DiscreteLaplace,
    DiscreteStaircase,
    ExponentialMechanism,
    Laplace,
    Log,
    Logistic,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    RandomizedResponse,
    Staircase,
    SubsetSelection,
    UnaryEncoding,
    audit,
)
from zcdp.auditing import _at_least, _bound
from zcdp.numeric.exact import Fraction

SOUND = (
    (Laplace(epsilon=1), 0.9),
    (Laplace(scale="0.3", sensitivity="0.1"), 0.25),
    (DiscreteLaplace(epsilon=1), 0.95),
    (DiscreteLaplace(epsilon=2, sensitivity=5), 1.9),
    (RandomizedResponse(epsilon=1, k=4), 0.95),
    (RandomizedResponse(epsilon=Log(Fraction(3)), k=2), 1.05),
    (RAPPOR(epsilon=1), 0.93),
    (ExponentialMechanism(epsilon=1), 0.7),
    (PermuteAndFlip(epsilon=1), 0.95),
    (UnaryEncoding("3/4", "1/4"), 2.0),
    (OptimizedUnaryEncoding(epsilon=1), 0.9),
    (SubsetSelection(epsilon=1, k=6, size=2), 0.9),
    (DiscreteStaircase(epsilon=1, sensitivity=5, r=2), 0.9),
)


@pytest.mark.parametrize(("mechanism", "least"), SOUND, ids=repr)
def test_a_sound_mechanism_is_close_to_its_epsilon_and_below_it(mechanism: Any, least: float) -> None:
    found = audit(mechanism, draws=400_000)
    assert not found.violated
    assert least < found.epsilon_lower <= found.epsilon


def test_one_by_one_mechanisms_stay_below_their_epsilon() -> None:
    flip, stairs = PermuteAndFlip(epsilon=1), Staircase(epsilon=1)

    def choose(scores: list[int]) -> Callable[[int], Any]:
        return lambda count: np.array([flip.release(scores, sensitivity=1) for _ in range(count)])

    for pair in (
        (choose([0, 4]), choose([1, 3])),
        tuple(lambda n, v=v: stairs.release(np.full(n, v), sensitivity=1, grid="1/8") for v in (0.0, 1.0)),
        Logistic(epsilon=1),
    ):
        found = audit(pair, epsilon=1, draws=100_000)
        assert not found.violated
        assert found.epsilon_lower > 0.5


def constant(release: Callable[[Any], Any], value: Any) -> Callable[[int], Any]:
    return lambda count: release(np.full(count, value))


def stuck_rappor(value: int) -> Callable[[int], Any]:
    """Never clears the true bit."""
    return lambda count: (
        RAPPOR(epsilon=1).release(np.full(count, value), d=16) | np.packbits(np.eye(16, dtype=int)[value])
    )


def float_laplace(value: float) -> Callable[[int], Any]:
    generator = np.random.default_rng()
    return lambda count: value + generator.laplace(0, 1, count)


def test_a_rappor_that_never_clears_a_bit_is_flagged() -> None:
    found = audit((stuck_rappor(0), stuck_rappor(1)), epsilon=1, draws=200_000)
    assert found.violated
    assert found.epsilon_lower > 5


def test_a_laplace_at_nine_tenths_of_its_scale_is_flagged() -> None:
    small = Laplace(scale="0.9")
    found = audit((constant(small.release, 0.0), constant(small.release, 1.0)), epsilon=1)
    assert found.violated
    assert found.epsilon_lower < 1 / 0.9


def test_a_logistic_at_nine_tenths_of_its_scale_is_flagged() -> None:
    found = audit(Logistic(scale="0.9", sensitivity=2), epsilon=2)
    assert found.violated
    assert found.epsilon_lower < 2 / 0.9


def test_the_low_bits_of_a_float_laplace_are_flagged() -> None:
    found = audit((float_laplace(0.0), float_laplace(1.0)), epsilon=1, draws=200_000)
    assert found.violated
    assert "lowest bit" in found.event
    assert found.epsilon_lower > 5


@pytest.mark.parametrize(("hits", "trials"), [(1, 10), (5, 10), (10, 10), (40, 5000), (2500, 5000), (4999, 5000)])
@pytest.mark.parametrize("risk", [0.05, 1e-7])
def test_ends_of_the_confidence_interval(hits: int, trials: int, risk: float) -> None:
    """P(Bin(n, p) >= k) <= risk at the lower end, and not far below it."""
    p = mpf(_at_least(hits, trials, risk))
    with mp.workdps(40):
        tail = mp.betainc(hits, trials - hits + 1, 0, p, regularized=True)
    assert risk / 3 < tail <= risk


def test_bound_of_a_sure_event() -> None:
    """500 of 500 against 0 of 500, at half of the risk for each: log(p/(1-p)) with p^500 = risk/2."""
    bound, _ = _bound(np.zeros(1000, dtype=int), np.ones(1000, dtype=int), 1e-4)
    p = mpf("0.5e-4") ** (mpf(1) / 500)
    assert abs(bound - mp.log(p / (1 - p))) < 1e-9


def test_a_false_alarm_is_as_rare_as_declared() -> None:
    """At a confidence of one half, at most about half of the audits of a tight mechanism may be wrong."""
    mechanism = RandomizedResponse(epsilon=1, k=2)
    alarms = sum(audit(mechanism, draws=2_000, confidence=0.5).violated for _ in range(60))
    assert alarms < 45


@pytest.mark.parametrize(
    ("options", "message"),
    [({"confidence": 1}, r"confidence \(1\)"), ({"draws": 1}, r"draws \(1\)"), ({"epsilon": -1}, r"epsilon \(-1\)")],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit(RandomizedResponse(epsilon=1, k=2), **{"draws": 10, **options})


def test_draws_that_chose_an_event_do_not_judge_it() -> None:
    """Outputs that tell nothing, in so many classes that some always look likelier: one audit in ten may be wrong."""
    noise = np.random.default_rng(7)

    def outputs(size: int) -> Any:
        return noise.integers(0, 200, size)

    alarms = sum(audit((outputs, outputs), epsilon=1e-9, draws=2000, confidence=0.9).violated for _ in range(40))
    assert alarms <= 12


@pytest.mark.parametrize("confidence", [0.9, 0.999999])
@pytest.mark.parametrize("mechanism", [Laplace(epsilon=1), RandomizedResponse(epsilon=1, k=4)], ids=repr)
def test_all_that_an_audit_looks_at_may_fail_together(
    monkeypatch: pytest.MonkeyPatch, mechanism: Any, confidence: float
) -> None:
    """Each bound on a probability fails with its own risk; all of them are at most what the confidence leaves."""
    risks: list[float] = []

    def recorded(hits: int, trials: int, risk: float) -> float:
        risks.append(risk)
        return _at_least(hits, trials, risk)

    monkeypatch.setattr("zcdp.auditing._at_least", recorded)
    audit(mechanism, draws=2000, confidence=confidence)
    assert len(risks) >= 4  # two inputs, in both directions
    assert sum(map(Fraction, risks)) <= 1 - Fraction(confidence) + Fraction(1, 10**20)
    assert sum(risks) > 0.99 * (1 - confidence)
