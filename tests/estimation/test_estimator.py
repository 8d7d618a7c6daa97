"""The estimator is unbiased and has the variance that it claims: enumerated, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from estimation.channels import CASES, Case
from flint import arb
from independent.bits import seeded

import zcdp
from zcdp.estimation.histogram import Counts
from zcdp.mechanisms.local.local_hashing import is_prime


def ids(case: Case) -> str:
    return f"{case.mechanism!r}-{case.k}"


def estimates(case: Case) -> list[list[Fraction]]:
    """Of each value from each single report."""
    p, q, _ = case.mechanism.support.exact
    return [[(c - q) / (p - q) for c in supports] for supports in case.supports()]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_estimate_of_a_report_has_the_indicator_as_its_mean(case: Case) -> None:
    single = estimates(case)
    for x, law in enumerate(case.laws()):
        for v in range(case.k):
            assert sum(mass * one[v] for mass, one in zip(law, single, strict=True)) == (v == x)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_three_probabilities_are_those_of_the_channel(case: Case) -> None:
    p, q, b = case.mechanism.support.exact
    supports = case.supports()
    for x, law in enumerate(case.laws()):
        chance = [sum(m for m, s in zip(law, supports, strict=True) if s[v]) for v in range(case.k)]
        assert chance == [p if v == x else q for v in range(case.k)]
        other = (x + 1) % case.k
        assert sum(m for m, s in zip(law, supports, strict=True) if s[x] and s[other]) == b


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_support_in_balls_and_floats_is_the_exact_one(case: Case) -> None:
    support = case.mechanism.support
    p, q, b = support.exact
    near = (support.p, support.q, support.b, support.not_p, support.not_q, support.gain)
    assert near == tuple(map(float, (p, q, b, 1 - p, 1 - q, p - q)))
    for ball, exact in zip(support.balls(), (p, q, b), strict=True):
        assert ball.overlaps(arb(exact.numerator) / exact.denominator)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_variance_is_the_enumerated_one(case: Case) -> None:
    """Two clients hold value 0 and three hold others: the variance of the sum of their reports' estimates."""
    single, laws = estimates(case), case.laws()
    spread = [sum(m * one[0] ** 2 for m, one in zip(law, single, strict=True)) - (x == 0) for x, law in enumerate(laws)]
    clients = 2 * spread[0] + 3 * spread[1]
    assert case.mechanism.standard_error(clients=5, frequency="2/5") ** 2 == pytest.approx(
        float(clients) / 25, rel=1e-12
    )
    whole = Fraction(2, 5) * (spread[0] + 1) + Fraction(3, 5) * spread[1] - Fraction(2, 5) ** 2
    drawn = case.mechanism.standard_error(clients=7, frequency="2/5", of="population")
    assert drawn**2 == pytest.approx(float(whole) / 7, rel=1e-12)


def told(mechanism: Any, k: int) -> dict[str, int]:
    """What a release needs to be told."""
    if hasattr(mechanism, "k"):
        return {}
    return {"d" if hasattr(mechanism, "_reports") else "k": k}


RUNS: list[tuple[Any, int, dict[str, int]]] = [
    (mechanism, k, told(mechanism, k))
    for epsilon in ("0.3", 1, 4)
    for k in (4, 37)
    for mechanism in (
        zcdp.RandomizedResponse(epsilon=epsilon, k=k),
        zcdp.RAPPOR(epsilon=epsilon),
        zcdp.OptimizedUnaryEncoding(epsilon=epsilon),
        zcdp.UnaryEncoding("0.7", "0.2"),
        zcdp.SubsetSelection(epsilon=epsilon, k=k, size=3),
        zcdp.HadamardResponse(epsilon=epsilon),
        zcdp.HadamardResponse(epsilon=epsilon, blocks=3),
        zcdp.LocalHashing(epsilon=epsilon, g=3, random_hash=True),
        zcdp.LinearHashing(epsilon=epsilon, g=5, k=k),
    )
]
CHANNEL = zcdp.Channel([["1/2", "1/4", "1/8", "1/8"], ["1/8", "1/2", "1/4", "1/8"], ["1/5", "1/5", "1/5", "2/5"]])
RUNS += [(CHANNEL, 3, {}), (zcdp.BinaryRandomizedResponse("0.8", "0.3"), 2, {})]


@pytest.fixture
def seeded_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits of every release in this test are the same in every run."""
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(16))


@pytest.mark.usefixtures("seeded_bits")
@pytest.mark.parametrize(("mechanism", "k", "options"), RUNS, ids=repr)
def test_released_counted_and_estimated(mechanism: Any, k: int, options: dict[str, int]) -> None:
    """Over fifty configurations, the first three values each, through the real release on fixed bits."""
    n = 20_000
    values = np.minimum(np.arange(n) % 7, min(k, 3) - 1)  # shares 1/7, 1/7, 5/7
    counts = sum(mechanism.count(mechanism.release(part, **options), k=k) for part in np.split(values, 4))
    found = mechanism.estimate(counts)
    truth = np.bincount(values, minlength=k) / n
    spread = mechanism._estimator.standard_error(truth, n, of="clients")
    assert (np.abs(found.frequencies - truth)[:3] < 4 * spread[:3]).all()
    assert found.reports == n


@pytest.mark.usefixtures("seeded_bits")
def test_memoized_reports_are_estimated_in_each_collection() -> None:
    m = zcdp.MemoizedRAPPOR(f="1/4", p="0.2", q="0.8", collections=2)
    n, k = 20_000, 11
    values = np.arange(n) % 3
    memory = m.remember(values, d=k)
    first, second = (m.release(memory, d=k) for _ in range(2))
    assert not np.array_equal(first, second)
    for reports in (first, second):
        found = m.estimate(m.count(reports, k=k)).frequencies[:4] - np.array([1 / 3, 1 / 3, 1 / 3, 0])
        assert (np.abs(found) < 4 * m.standard_error(clients=n, frequency="1/3")).all()
    with pytest.raises(ValueError, match="memory must be rows of 2 bytes"):
        m.release(values, d=k)


def several_blocks() -> tuple[zcdp.HadamardResponse, list[list[Fraction]], list[list[int]], int]:
    """Five values in two blocks of four outputs: laws of the reports, and the signs that each report adds."""
    m, k, width, e = zcdp.HadamardResponse(epsilon="log(3)", blocks=2), 5, 4, Fraction(3)
    laws = []
    for x in range(k):
        block, row = divmod(x, 3)
        weights = [
            e if y // width == block and ((row + 1) & (y % width)).bit_count() % 2 == 0 else Fraction(1)
            for y in range(2 * width)
        ]
        laws.append([weight / sum(weights) for weight in weights])
    return m, laws, [m.count([y], k=k).supports.tolist() for y in range(2 * width)], k


def test_several_blocks_of_hadamard_response_are_unbiased_and_no_noisier_than_told() -> None:
    m, laws, signs, k = several_blocks()
    factor = Fraction(6, 2)  # (e + 2B - 1)/(e - 1) at e = 3, B = 2
    for x, law in enumerate(laws):
        for v in range(k):
            assert factor * sum(mass * sign[v] for mass, sign in zip(law, signs, strict=True)) == (v == x)
            second = factor**2 * sum(mass * sign[v] ** 2 for mass, sign in zip(law, signs, strict=True))
            told = m.standard_error(clients=1, frequency=int(v == x)) ** 2
            assert float(second - (v == x)) <= told * (1 + 1e-12)
            if v // 3 == x // 3:
                assert float(second - (v == x)) == pytest.approx(told)


def test_fourier_transforms_decode_to_the_counts_that_hashing_every_value_gives() -> None:
    rng = np.random.default_rng(5)
    for g, digits, k in ((2, 5, 29), (3, 3, 20), (7, 2, 8), (13, 1, 5)):
        reports = rng.integers(0, g ** (digits + 1), 500)
        got = zcdp.LinearHashing(epsilon=1, g=g, k=k).count(reports).supports
        vector, bucket = reports // g, reports % g
        for v in range(k):
            product = sum(vector // g**place % g * (v // g**place % g) for place in range(digits)) % g
            assert got[v] == (product == bucket).sum()


@pytest.mark.parametrize("channel", [CHANNEL, zcdp.Channel([["2/3", "1/3", 0], ["1/3", "1/2", "1/6"]])], ids=repr)
def test_a_channel_is_estimated_by_weights_that_are_unbiased(channel: zcdp.Channel) -> None:
    for x, law in enumerate(channel.rows):
        for v, weights in enumerate(channel.weights):
            assert sum(mass * weight for mass, weight in zip(law, weights, strict=True)) == (v == x)
            second = sum(mass * weight**2 for mass, weight in zip(law, weights, strict=True))
            told = channel._estimator.standard_error(np.eye(channel.k)[x], 1, of="clients")[v] ** 2
            assert float(second - (v == x)) <= told + 1e-12
            if v == x:
                assert float(second - 1) == pytest.approx(told)
    alone = channel.standard_error(clients=1, frequency="1/3")
    assert alone == pytest.approx(channel._estimator.standard_error(np.full(channel.k, 1 / 3), 1, of="clients").max())
    with pytest.raises(ValueError, match="rows must be linearly independent"):
        _ = zcdp.Channel([["1/2", "1/2"], ["1/4", "3/4"], ["3/8", "5/8"]]).weights
    with pytest.raises(TypeError, match="support no values"):
        _ = channel.support


def test_the_interval_of_a_channel_follows_from_the_sum_of_the_weights() -> None:
    """tests/estimation/test_coverage.py takes the sums alone: here every outcome of three reports."""
    outcomes = [c for c in product(range(4), repeat=4) if sum(c) == 3]
    for outcome in outcomes[::3]:
        ends = CHANNEL.estimate(Counts(repr(CHANNEL), 3, outcome)).interval("0.8", simultaneous=False)
        for v, weights in enumerate(CHANNEL.weights):
            total = float(sum(weight * often for weight, often in zip(weights, outcome, strict=True)))
            alone = CHANNEL._estimator.ends(v, np.array([total]), 3, 1 - 0.8, of="clients")
            assert (ends[0][v], ends[1][v]) == (alone[0][0], alone[1][0])


def test_binary_response_estimates_both_values() -> None:
    p, q = Fraction(4, 5), Fraction(3, 10)
    m = zcdp.BinaryRandomizedResponse(p, q)
    for x, chance in enumerate((q, p)):
        for v in range(2):
            said = [m.estimate(m.count([y])).frequencies[v] for y in range(2)]
            mean = (1 - chance) * Fraction(said[0]) + chance * Fraction(said[1])
            assert abs(mean - (v == x)) < 1e-12
    spread = [float(chance * (1 - chance) / (p - q) ** 2) for chance in (q, p)]
    mixed = (2 * spread[1] + 3 * spread[0]) / 25
    assert m.standard_error(clients=5, frequency="2/5") ** 2 == pytest.approx(mixed)
    both = m._estimator.standard_error(np.array([0.6, 0.4]), 5, of="clients") ** 2
    assert both == pytest.approx([mixed, mixed])
    with pytest.raises(ValueError, match=r"k \(3\) must be the 2 of the mechanism"):
        m.count([0, 1], k=3)


def test_primes_are_those_that_nothing_divides() -> None:
    assert [n for n in range(200) if is_prime(n)] == [n for n in range(2, 200) if all(n % d for d in range(2, n))]
    assert is_prime(4294967291)
    assert is_prime(2**61 - 1)
    assert not any(map(is_prime, (65537 * 65539, 65537**2, 4294967291 * 4294967279)))


def test_hashing_that_cannot_be_undone_is_refused() -> None:
    with pytest.raises(ValueError, match="a fixed hash does not tell colliding values apart"):
        zcdp.LocalHashing(epsilon=1, g=3).release([1], k=5)
    with pytest.raises(ValueError, match=r"g \(4\) must be a prime"):
        zcdp.LocalHashing(epsilon=1, g=4, random_hash=True).release([1], k=5)
    for composite in (65537 * 65539, 65537**2, 4294967291**2):  # without a divisor below 2^16
        with pytest.raises(ValueError, match=r"must be a prime below"):
            zcdp.LocalHashing(epsilon=1, g=composite, random_hash=True).release([1], k=5)
    with pytest.raises(ValueError, match=r"g \(9\) must be a prime"):
        zcdp.LinearHashing(epsilon=1, g=9, k=5)
    with pytest.raises(ValueError, match="estimated by signs"):
        _ = zcdp.HadamardResponse(epsilon=1, blocks=2).support.p
