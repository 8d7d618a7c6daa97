"""One training run as an audit: exact binomial sums, simulated runs of true and of false claims, and bad input."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, log
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from zcdp import Gaussian, LossPair, Plan, PureDP, audit_training
from zcdp.errors import ZcdpError
from zcdp.training_audit import OneRun

F = Fraction


def exact(m: int, r: int, v: int, odds: Fraction, delta: Fraction) -> Fraction:
    """b + m delta max y_i over all i, in rationals, with e^epsilon = odds."""
    law = [comb(r, i) * odds**i / (1 + odds) ** r for i in range(r + 1)]
    b = sum(law[v:])
    ys = [b * sum(law[:i]) / (i * law[i]) if i <= v else (1 - b) * sum(law[i:]) / (i * law[i]) for i in range(1, r + 1)]
    return b + m * delta * max(ys)


@pytest.mark.parametrize(("m", "r", "v"), [(10, 8, 8), (12, 9, 5), (40, 30, 27), (7, 7, 1), (60, 50, 12)])
def test_the_bound_in_rationals(m: int, r: int, v: int) -> None:
    """The largest y is at v, whatever v is; e^epsilon is within a float of a rational."""
    for odds in (F(2), F(9), F(5, 4)):
        for delta in (F(0), F(1, 1000), F(1, 50)):
            truth = min(F(1), exact(m, r, v, odds, delta))
            with mp.workdps(30):
                near = mp.log(mp.mpf(odds.numerator) / odds.denominator)
                point = F(str(mp.nstr(near, 28)))
            found = OneRun(m, r, v).p_value(point, delta)
            assert found == pytest.approx(float(truth), rel=1e-14)


def test_no_adversary_does_better() -> None:
    """Linear programs: all laws of counts that the inequalities allow, two guesses; the bound is above each."""
    odds, m = F(2), 2
    for delta in (F(0), F(1, 20)):
        for v in (1, 2):
            bound = exact(m, 2, v, odds, delta)
            grid = [F(n, 40) for n in range(41)]
            for p0, p1 in product(grid, grid):
                if p0 + p1 <= 1:
                    p = [p0, p1, 1 - p0 - p1]
                    gaps = [i * p[i] - odds * (3 - i) * p[i - 1] for i in (1, 2)]
                    if sum(max(gap, F(0)) for gap in gaps) <= m * delta:
                        assert sum(p[v:]) <= bound


def test_a_run_in_which_all_is_right() -> None:
    for r, confidence in ((100, "0.95"), (20, "0.99")):
        x = float(1 - F(confidence)) ** (1 / r)
        found = audit_training(canaries=1000, guesses=r, correct=r, confidence=confidence)
        assert found.epsilon_lower == found.at_best == pytest.approx(log(x / (1 - x)), rel=1e-9)


TABLE = [
    (1000, 100, 100, 0, 3.4930, 3.4930),
    (1000, 100, 95, "1e-5", 2.1652, 2.1719),
    (1000, 200, 150, "1e-3", 0.4544, 0.7829),
    (10000, 500, 500, "1e-5", 4.8335, 5.1131),
    (100000, 50000, 49996, "1e-5", 7.3208, 8.6054),
]


@pytest.mark.parametrize(("m", "r", "v", "delta", "theirs", "ours"), TABLE)
def test_beside_the_bound_of_steinke_and_others(m: int, r: int, v: int, delta: Any, theirs: float, ours: float) -> None:
    found = audit_training(canaries=m, guesses=r, correct=v, delta=delta)
    assert found.elsewhere == pytest.approx(theirs, abs=5e-5)
    assert found.epsilon_lower == pytest.approx(ours, abs=5e-5)
    assert found.violated is None


def test_more_right_shows_more() -> None:
    bounds = [audit_training(canaries=500, guesses=60, correct=v, delta="1e-4").epsilon_lower for v in range(30, 61, 5)]
    assert bounds == sorted(bounds)
    some = {"guesses": 60, "correct": 55}
    assert audit_training(canaries=60, delta="1e-3", **some).epsilon_lower > (
        audit_training(canaries=6000, delta="1e-3", **some).epsilon_lower
    )
    assert audit_training(canaries=60, guesses=60, correct=0).epsilon_lower == 0


def runs(rng: np.random.Generator, m: int, r: int, odds: float, delta: float, leak: str, size: int) -> Any:
    """Right guesses in so many runs of an (epsilon, delta)-DP training: each coin by randomized response, and a leak.

    The leak tells one canary's coin ("one", of each by itself), or all coins at once ("all").
    """
    right = rng.random((size, r)) < odds / (1 + odds)
    told = rng.random((size, r)) < delta if leak == "one" else np.repeat(rng.random((size, 1)) < delta, r, axis=1)
    del m
    return (right | told).sum(axis=1)


@pytest.mark.parametrize("leak", ["one", "all"])
def test_twenty_thousand_runs_of_true_claims(leak: str) -> None:
    """At most 5% are flagged, with delta = 0.001; of claims that are a tenth too low more are."""
    rng, m, r, delta = np.random.default_rng(7), 300, 60, 0.001
    p = [OneRun(m, r, v).p_value(F(1), F(delta)) for v in range(r + 1)]
    flagged = np.array([one <= 0.05 for one in p])
    first = int(np.argmax(flagged))
    assert flagged[first:].all()
    true = flagged[runs(rng, m, r, np.e, delta, leak, 20_000)].mean()
    assert true <= 0.05
    assert flagged[runs(rng, m, r, np.exp(2.0), delta, leak, 20_000)].mean() > 0.5


def test_a_claimed_profile() -> None:
    """Gaussian noise: the mu that is refuted, by the best line; and a claim by its own pure epsilon."""
    for m, r, v, mu in ((1000, 100, 90, 0.5735), (1000, 200, 197, 1.128)):
        for factor, violated in ((0.995, True), (1.005, False)):
            claim = Gaussian(sigma=F(str(1 / (mu * factor))))
            found = audit_training(canaries=m, guesses=r, correct=v, claim=claim)
            assert found.violated is violated
            assert (found.p_value or 0) <= 0.05 if violated else (found.p_value or 0) > 0.05
    pure = audit_training(canaries=100, guesses=100, correct=90, claim=PureDP(epsilon=1))
    assert pure.p_value == pytest.approx(OneRun(100, 100, 90).p_value(F(1), F(0)), rel=1e-9)
    told = audit_training(canaries=50, guesses=50, correct=50, claim=Plan.sum_of(LossPair(["1/2", "1/2"], [0, 1])))
    assert told.violated is False


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"correct": 11}, r"correct \(11\) must be at most guesses \(10\)"),
        ({"guesses": 101}, r"guesses \(101\) must be at most canaries \(100\)"),
        ({"canaries": 0}, "canaries"),
        ({"delta": 1}, "delta"),
        ({"delta": -1}, "delta"),
        ({"confidence": 1}, "confidence"),
        ({"claim": "Gaussian"}, "claim"),
    ],
)
def test_bad_input(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ZcdpError, match=message):
        audit_training(**{"canaries": 100, "guesses": 10, "correct": 5} | given)
