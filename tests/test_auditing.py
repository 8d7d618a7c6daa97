"""The audit bounds both probabilities of its event by outputs that did not choose it, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log
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
    ReportNoisyMax,
    SparseVector,
    Staircase,
    SubsetSelection,
    UnaryEncoding,
    audit,
)
from zcdp.auditing import Audit, _at_least, _bound, _epsilon
from zcdp.errors import ZcdpError
from zcdp.numeric.exact import Fraction
from zcdp.samplers.source import one_below, secure

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


# The audit stays below the stated epsilon of sound mechanisms, near it, and flags broken ones.


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
    generator = np.random.default_rng(one_below(2**63, secure))
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


# The event of an audit is chosen by the first half of the outputs alone.


def test_the_half_that_bounds_an_event_does_not_choose_it() -> None:
    """The first halves say nothing: any event that the second halves would choose, was chosen by looking at them."""
    alike = np.tile([0, 1, 2, 3], 250)
    for many in (0, 1, 2, 3):
        outputs = np.concatenate([alike, np.full(1000, many)])
        others = np.concatenate([alike, np.full(1000, 3 - many)])
        assert _bound(outputs, others, 1e-6)[0] == 0  # all outputs are the event, and that has probability 1


# The audit of noisy max and sparse vector: sound ones stay below their epsilon, known broken ones do not.


DRAWS = 200_000


SOUND_SELECTIONS = (
    (ReportNoisyMax(epsilon=1), 0.5),
    (ReportNoisyMax(epsilon=1, noise="gumbel"), 0.7),
    (ReportNoisyMax(epsilon=1, noise="exponential"), 0.7),
    (SparseVector(epsilon_threshold=1, epsilon_queries=1), 0.4),
    (SparseVector(epsilon_threshold=1, epsilon_queries=2, positives=3), 0.4),
    (SparseVector(epsilon_threshold=1, epsilon_queries=2, positives=2, monotone=True), 0.4),
)


@pytest.mark.parametrize(("mechanism", "least"), SOUND_SELECTIONS, ids=repr)
def test_a_sound_mechanism_stays_below_its_epsilon(mechanism: Any, least: float) -> None:
    found = audit(mechanism, draws=DRAWS)
    assert not found.violated
    assert least < found.epsilon_lower <= found.epsilon


# Broken sparse vectors (Lyu, Su and Li 2017, Figure 1): threshold and query noise as they should be, but for one slip.
# All state epsilon 1 and one positive; queries move by at most 1.

E1, E2 = 0.2, 0.8


def outputs(levels: list[float], variant: str) -> Callable[[int], Any]:
    def draw(count: int) -> Any:
        rng = np.random.default_rng(one_below(2**63, secure))
        shape = (count, len(levels))
        threshold = rng.laplace(0, 1 / E1, (count, 1))
        noise = np.zeros(shape) if variant == "no noise on queries" else rng.laplace(0, 2 / E2, shape)
        if variant == "noise not redrawn":
            noise = np.repeat(noise[:, :1], len(levels), axis=1)
        noisy = np.array(levels) + noise
        answers = noisy >= threshold
        half = len(levels) // 2
        if variant == "no stop":  # of what it says, how many more are above in the first half
            return answers[:, :half].sum(axis=1) - answers[:, half:].sum(axis=1)
        first = np.where(answers.any(axis=1), answers.argmax(axis=1), len(levels))
        if variant == "answers released":  # the noisy value of the positive query, to one digit
            padded = np.column_stack([noisy, np.zeros(count)])
            value = np.round(padded[np.arange(count), first]).clip(-9, 9)
            return 100 * first + value.astype(np.int64)
        return first

    return draw


@pytest.mark.parametrize(
    ("variant", "first", "second", "draws"),
    [
        ("no noise on queries", [0.0, 1.0], [1.0, 0.0], DRAWS),
        ("noise not redrawn", [0.0, 1.0], [1.0, 0.0], DRAWS),
        ("answers released", [0.0] * 6, [1.0] * 5 + [0.0], 1_000_000),
        ("no stop", [0.0] * 12 + [1.0] * 12, [1.0] * 12 + [0.0] * 12, DRAWS),
    ],
)
def test_a_broken_variant_is_flagged(variant: str, first: list[float], second: list[float], draws: int) -> None:
    def found(what: str) -> Any:
        return audit((outputs(first, what), outputs(second, what)), epsilon=E1 + E2, draws=draws, confidence=0.9999)

    assert found(variant).violated
    assert not found("sound").violated


# Epsilon at a delta, rho, and bands around whole laws.


def test_a_delta_that_is_kept_and_one_that_is_not() -> None:
    rng = np.random.default_rng(3)

    def outputs(shift: float) -> Any:
        return lambda n: np.round(rng.normal(size=n) + shift, 2)

    sound = audit((outputs(0), outputs(1)), epsilon=4.378, delta="1e-5", draws=100_000)
    assert not sound.violated
    assert 2 < sound.epsilon_lower < 4.378
    assert 0.3 < sound.rho_lower <= 0.5
    assert sound.rho == inf
    wrong = audit((outputs(0), outputs(1)), epsilon=1.5, delta="1e-5", draws=100_000)
    assert wrong.violated
    low = audit((outputs(0), outputs(1)), rho=0.2, draws=100_000)
    assert low.violated
    assert low.epsilon == inf
    assert not audit((outputs(0), outputs(1)), rho=0.5, draws=100_000).violated


def test_a_leak_below_delta_is_allowed() -> None:
    """An outcome that only one input has, with probability 0.01, breaks every pure epsilon and not delta = 0.02."""
    rng = np.random.default_rng(4)

    def zero(n: int) -> Any:
        return rng.integers(0, 2, size=n)

    def one(n: int) -> Any:
        return np.where(rng.random(n) < 0.01, 9, rng.integers(0, 2, size=n))

    assert audit((zero, one), epsilon=1, draws=50_000).violated
    kept = audit((zero, one), epsilon=0.1, delta="0.02", draws=50_000)
    assert not kept.violated
    assert audit((zero, one), epsilon=0.1, delta="0.002", draws=50_000).violated


def test_delta_is_taken_off_what_is_shown() -> None:
    """0.5 against 0.1, of which 0.3 is allowed, is a factor of 2."""
    assert _epsilon(0.5, 0.1, Fraction(3, 10)) == pytest.approx(log(2), rel=1e-12)
    assert _epsilon(0.5, 0.1, Fraction(1, 2)) == 0


def test_the_law_of_the_bands_is_below_the_truth() -> None:
    """Randomized response, whose trade-off curve is two lines: by its rho, its epsilon and its finds."""
    m = RandomizedResponse(epsilon=1, k=4)
    law = audit(m, delta="1e-6", draws=40_000).law
    assert law is not None
    for rate in ("0.01", "0.1", "0.5"):
        assert law.tpr_bounds(fpr=rate)[0] <= m.tpr_bounds(fpr=rate)[1]
    assert law.rho_bounds[0] <= m.rho
    assert law.epsilon_bounds(delta="1e-6")[0] <= 1


def test_what_so_many_draws_show_at_best() -> None:
    told = audit((lambda n: np.zeros(n, dtype=int), lambda n: np.ones(n, dtype=int)), epsilon=1, draws=2_000)
    assert told.epsilon_lower == pytest.approx(told.at_best, rel=1e-12)
    assert told.at_best == pytest.approx(log(1000 / log(4 / 1e-6)), rel=0.03)


def _flagged(claim: dict[str, Any], factor: float, audits: int, draws: int, seed: int) -> float:
    """The share of audits, at 95%, that refute what is stated of randomized response, whose epsilon is `factor`."""
    rng, keep = np.random.default_rng(seed), exp(factor) / (1 + exp(factor))

    def outputs(value: int) -> Any:
        return lambda n: np.where(rng.random(n) < keep, value, 1 - value)

    pair = outputs(0), outputs(1)
    return float(np.mean([audit(pair, **claim, draws=draws, confidence=0.95).violated for _ in range(audits)]))


def test_true_claims_are_seldom_flagged() -> None:
    assert _flagged({"epsilon": 1}, 1.0, 150, 400, 5) <= 0.1
    assert _flagged({"epsilon": 1, "delta": "0.01"}, 1.0, 30, 400, 6) <= 0.1


@pytest.mark.deep
def test_twenty_thousand_audits_of_true_claims() -> None:
    """At most 5% of them are flagged; of claims that are a tenth too low, with 20,000 draws, most are."""
    assert _flagged({"epsilon": 1}, 1.0, 20_000, 400, 7) <= 0.05
    assert _flagged({"epsilon": 1, "delta": "0.001"}, 1.0, 1000, 400, 8) <= 0.05
    assert _flagged({"epsilon": 1}, 1.1, 200, 20_000, 9) > 0.1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": -1}, "delta"),
        ({"rho": 0}, "rho"),
        ({}, "stated epsilon"),
    ],
)
def test_bad_claims(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ZcdpError, match=message):
        audit((np.zeros, np.zeros), **given, draws=100)
