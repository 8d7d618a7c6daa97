"""The estimator is unbiased and has the variance that it claims: enumerated, in exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from estimation.channels import CASES, Case, estimates, ids
from independent.bits import seeded

import zcdp
from zcdp.estimation.frequency_estimates import Counts
from zcdp.mechanisms.local.local_hashing import is_prime


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_estimate_of_a_report_has_the_indicator_as_its_mean(case: Case) -> None:
    single = estimates(case)
    for x, law in enumerate(case.laws()):
        for v in range(case.k):
            assert sum(mass * one[v] for mass, one in zip(law, single, strict=True)) == (v == x)


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
    """tests/estimation/test_frequency_intervals.py takes the sums alone: here every outcome of three reports."""
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


# Intervals from moments, for clients and for a population, against the theorem written out on explicit tables.


N = 12


Law = dict[float, float]
Ends = Callable[[Any, float, str], tuple[Any, Any]]


def blocks() -> tuple[str, Law, list[Law], Ends]:
    """Two blocks of Hadamard response at e^epsilon = 20: the signs of a holder, of one in the block, of another."""
    whole = 23
    own = {1.0: 20 / whole, 0.0: 2 / whole, -1.0: 1 / whole}
    same = {1.0: 21 / 2 / whole, 0.0: 2 / whole, -1.0: 21 / 2 / whole}
    other = {1.0: 1 / whole, 0.0: 21 / whole, -1.0: 1 / whole}
    m = zcdp.HadamardResponse(epsilon="log(20)", blocks=2)
    return "blocks", own, [same, other], lambda sums, risk, of: m._estimator.interval(sums, N, risk, of=of)


def channel(v: int) -> tuple[str, Law, list[Law], Ends]:
    """Another value's weights may have a larger moment than the holder's: the last row lies apart."""
    rows = [["4/5", "1/10", "1/10"], ["1/10", "4/5", "1/10"], ["1/20", "1/20", "9/10"]]
    m = zcdp.Channel(rows)
    laws: list[Law] = []
    for row in rows:
        law: Law = {}
        for weight, mass in zip(m.weights[v], row, strict=True):
            law[float(weight)] = law.get(float(weight), 0.0) + float(Fraction(mass))
        laws.append(law)
    own = laws.pop(v)
    return f"channel, value {v}", own, laws, lambda sums, risk, of: m._estimator.ends(v, sums, N, risk, of=of)


CASES_moments = [blocks(), channel(0), channel(2)]
Z = np.concatenate([np.linspace(0, 1, 2001)[1:], np.linspace(1, 15, 3001)[1:], np.linspace(15, 60, 1001)[1:]])


def moment(law: Law, z: Any) -> Any:
    return sum(mass * np.exp(z * place) for place, mass in law.items())


def least(total: float, share: float, own: Law, others: Sequence[Law], *, up: bool, of: str) -> float:
    """The least bound on the chance of such a sum or a further one, if the share of holders is this."""
    sign = 1 if up else -1

    def logs(z: Any) -> Any:
        holder, other = moment(own, sign * z), np.max([moment(law, sign * z) for law in others], axis=0)
        larger = np.maximum(holder, other)
        holder, other = (larger, other) if up else (holder, larger)
        if of == "clients":
            return N * (share * np.log(holder) + (1 - share) * np.log(other)) - sign * z * total
        return N * np.log(share * holder + (1 - share) * other) - sign * z * total

    at = int(np.argmin(logs(Z)))
    near = np.linspace(Z[max(at - 1, 0)], Z[min(at + 1, Z.size - 1)], 101)
    return float(np.exp(min(0.0, logs(near).min())))


def sums(own: Law, others: Sequence[Law]) -> list[float]:
    """Some that may come, but the extreme ones, whose least bound no z attains."""
    places = sorted({place for law in (own, *others) for place in law})
    return [m * places[-1] + (N - m) * places[0] for m in range(1, N)]


@pytest.mark.parametrize("case", CASES_moments, ids=lambda case: case[0])
@pytest.mark.parametrize("of", ["clients", "population"])
def test_ends_are_where_the_moment_bound_is_half_the_risk(case: Any, of: str) -> None:
    _, own, others, ends = case
    totals, risk = sums(own, others), 0.1
    low, high = ends(np.array(totals), risk, of)
    step = 1 / N if of == "clients" else 2e-3
    for total, a, b in zip(totals, low, high, strict=True):
        assert 0 <= a <= 1
        assert 0 <= b <= 1
        inside = {"up": a if of == "clients" else a + step, "down": b if of == "clients" else b - step}
        outside = {"up": a - step, "down": b + step}
        if of == "population":  # the end itself is outside, if anything is
            for end, up in ((a, True), (b, False)):
                assert not 0 < end < 1 or least(total, end, own, others, up=up, of=of) <= risk / 2 * (1 + 1e-6)
        for side, up in (("up", True), ("down", False)):
            if 0 <= inside[side] <= 1:
                beyond = inside[side] == (1 if up else 0)  # there it ends whether or not anything is left
                assert beyond or least(total, inside[side], own, others, up=up, of=of) > risk / 2 * (1 - 1e-3)
            if 0 <= outside[side] <= 1:
                assert least(total, outside[side], own, others, up=up, of=of) <= risk / 2 * (1 + 1e-2)


@pytest.mark.parametrize("case", CASES_moments, ids=lambda case: case[0])
def test_the_share_in_the_population_is_covered(case: Any) -> None:
    """Whoever does not hold the value is of any one kind; the law of the sum by adding one client after another."""
    _, own, others, ends = case
    laws = {}
    for kind, other in enumerate(others):
        for share in (0.0, 0.1, 0.3, 0.5, 0.8, 1.0):
            one = {place: share * own.get(place, 0.0) + (1 - share) * other.get(place, 0.0) for place in own | other}
            law: Law = {0.0: 1.0}
            for _ in range(N):
                grown: Law = {}
                for place, mass in law.items():
                    for step, chance in one.items():
                        at = round(place + step, 9)
                        grown[at] = grown.get(at, 0.0) + mass * chance
                law = grown
            laws[kind, share] = law
    places = sorted(set().union(*laws.values()))
    low, high = ends(np.array(places), 0.2, "population")
    for (_, share), law in laws.items():
        missed = (low > share + 1e-12) | (high < share - 1e-12)
        assert sum(law.get(place, 0.0) for place, out in zip(places, missed, strict=True) if out) <= 0.2


def test_errors_of_signs_and_weights_in_the_population_are_of_drawn_clients() -> None:
    """The variance of one report of a client who is drawn, where all others are of the kind that spreads most."""
    for frequency in (Fraction(0), Fraction(1, 3), Fraction(1)):
        for name, own, others, _ in CASES_moments[:2]:
            m: Any = zcdp.HadamardResponse(epsilon="log(20)", blocks=2) if name == "blocks" else None
            channel_rows = [["4/5", "1/10", "1/10"], ["1/10", "4/5", "1/10"], ["1/20", "1/20", "9/10"]]
            estimator = (m or zcdp.Channel(channel_rows))._estimator
            scale = 23 / 19 if m else 1.0  # a holder's sign has the mean 19/23
            share = float(frequency)
            second = {False: max(_second(law) for law in others), True: _second(own)}
            mixed = scale**2 * (share * second[True] + (1 - share) * second[False])
            held = np.full(1 if m else 3, share)
            for of, less in (("clients", share), ("population", share**2)):
                found = estimator.standard_error(held, 7, of=of)[0]
                assert found**2 == pytest.approx((mixed - less) / 7, rel=1e-9)


def _second(law: Law) -> float:
    return sum(mass * place**2 for place, mass in law.items())


def test_the_interval_of_a_histogram_is_that_of_whom_is_asked() -> None:
    """The ends of clients are parts of n; those of a population are wider and need not be."""
    signs = zcdp.HadamardResponse(epsilon="log(20)", blocks=2)
    rows = zcdp.Channel([["4/5", "1/10", "1/10"], ["1/10", "4/5", "1/10"], ["1/20", "1/20", "9/10"]])
    for m, counts in (
        (signs, Counts(repr(signs), N, [9, 3, -1], signed=True)),
        (rows, Counts(repr(rows), N, [7, 4, 1])),
    ):
        of = {who: m.estimate(counts).interval("0.9", of=who) for who in ("clients", "population")}
        for ends in of["clients"]:
            assert ends * N == pytest.approx(np.round(ends * N), abs=1e-9)
        assert (of["population"][0] <= of["clients"][0] + 1e-12).all()
        assert (of["population"][1] >= of["clients"][1] - 1e-12).all()
        assert any((ends * N % 1).any() for ends in of["population"])
