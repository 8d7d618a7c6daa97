"""Local randomizers at the edges of what they accept, and what a report supports where nothing is rational."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded
from mpmath import mp, mpf

import zcdp

LOCAL: list[tuple[Any, int, dict[str, int]]] = [
    (zcdp.RandomizedResponse(epsilon=1, k=6), 6, {}),
    (zcdp.BinaryRandomizedResponse("0.7", "0.2"), 2, {}),
    (zcdp.RAPPOR(epsilon=1), 6, {"d": 6}),
    (zcdp.UnaryEncoding("0.7", "0.2"), 6, {"d": 6}),
    (zcdp.OptimizedUnaryEncoding(epsilon=1), 6, {"d": 6}),
    (zcdp.SubsetSelection(epsilon=1, k=6, size=2), 6, {}),
    (zcdp.HadamardResponse(epsilon=1), 6, {"k": 6}),
    (zcdp.HadamardResponse(epsilon=1, blocks=2), 6, {"k": 6}),
    (zcdp.LocalHashing(epsilon=1, g=3, random_hash=True), 6, {"k": 6}),
    (zcdp.LinearHashing(epsilon=1, g=3, k=6), 6, {}),
]


@pytest.mark.parametrize(("mechanism", "k", "told"), LOCAL, ids=repr)
def test_values_are_0_to_k_less_1_and_nothing_else(mechanism: Any, k: int, told: dict[str, int]) -> None:
    """One by one, in a list and in an array; a value beyond would be reported by a law that nothing accounts for."""
    for value in (0, k - 1):
        mechanism.release(value, **told)
        assert len(mechanism.release([value, 1], **told)) == 2
    for value in (-1, k, k + 1):
        for given in (value, [0, value], np.array([0, value])):
            with pytest.raises(ValueError, match=rf"0|{k - 1}"):
                mechanism.release(given, **told)


CLEAR: list[tuple[Any, int, dict[str, int]]] = [
    (zcdp.RandomizedResponse(epsilon=12, k=6), 6, {}),
    (zcdp.BinaryRandomizedResponse("0.9999", "0.0001"), 2, {}),
    (zcdp.RAPPOR(epsilon=24), 6, {"d": 6}),
    (zcdp.UnaryEncoding("0.9999", "0.0001"), 6, {"d": 6}),
    (zcdp.SubsetSelection(epsilon=12, k=6, size=2), 6, {}),
    (zcdp.HadamardResponse(epsilon=12), 6, {"k": 6}),
    (zcdp.HadamardResponse(epsilon=12, blocks=2), 6, {"k": 6}),
    (zcdp.LocalHashing(epsilon=12, g=3, random_hash=True), 6, {"k": 6}),
    (zcdp.LinearHashing(epsilon=12, g=5, k=6), 6, {}),
]


@pytest.mark.parametrize(("mechanism", "k", "told"), CLEAR, ids=repr)
def test_almost_without_noise_a_report_speaks_for_its_own_value(
    mechanism: Any, k: int, told: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Released one by one and together, in every type that holds the values: only the true one is always supported."""
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(7))
    for value in range(k):
        alone = np.stack([mechanism.release(value, **told) for _ in range(40)])
        together = [mechanism.release(np.full(40, value, kind), **told) for kind in (np.uint8, np.int64)]
        for some in (alone, *together, mechanism.release([value] * 40, **told)):
            counts = mechanism.count(np.asarray(some), k=k)
            assert counts.reports == 40
            assert counts.supports.argmax() == value
            assert counts.supports[value] >= 38
            assert np.delete(counts.supports, value).max() <= 34


def test_rows_of_bits_are_not_taken_for_values() -> None:
    for m in (zcdp.RAPPOR(epsilon=1), zcdp.UnaryEncoding("0.7", "0.2")):
        for rows in ([[0, 1, 0]], [(0, 1, 0), (1, 0, 0)], np.zeros((4, 3), dtype=int), ((1, 0, 0),)):
            with pytest.raises(ValueError, match="one a person, and not rows of 3 bits"):
                m.release(rows, d=3)
        assert np.asarray(m.release([0, 1, 2], d=3)).shape == (3, 1)
        assert np.asarray(m.release(np.zeros((4, 2), dtype=int), d=3)).shape == (4, 2, 1)


def test_a_truth_that_is_no_likelier_than_a_guess_is_refused() -> None:
    for p, k in (("1/4", 4), ("1/5", 4), ("1/2", 2)):
        with pytest.raises(ValueError, match="must be above 1/k"):
            zcdp.RandomizedResponse.from_probability(p, k)
    m = zcdp.RandomizedResponse.from_probability("26/100", 4)
    assert m.support.exact[:2] == (Fraction(26, 100), Fraction(74, 300))


def test_chances_that_do_not_tell_values_apart_are_refused() -> None:
    for kind in (zcdp.UnaryEncoding, zcdp.BinaryRandomizedResponse):
        for p, q in (("1/2", "1/2"), ("1/4", "1/2")):
            with pytest.raises(ValueError, match="must be above q"):
                kind(p, q)
        assert kind("0.51", "0.5").rho > 0
    for p, q in (("1/2", "1/2"), ("1/2", "1/4")):
        with pytest.raises(ValueError, match="must be below q"):
            zcdp.MemoizedRAPPOR(f="1/2", p=p, q=q, collections=3)


def test_limits_of_sizes_are_those_that_are_told() -> None:
    assert zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=1000).collections == 1000
    with pytest.raises(ValueError, match=r"collections \(1001\) must be at most 1000"):
        zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=1001)
    assert zcdp.SubsetSelection(epsilon=1, k=4, size=3).size == 3
    for size in (4, 5):
        with pytest.raises(ValueError, match="must be below k"):
            zcdp.SubsetSelection(epsilon=1, k=4, size=size)
    for g in (1, 4, 9, 15, 21, 2047, 2**31 - 3, 2147483659):  # the last is a prime above 2^31
        with pytest.raises(ValueError, match=r"g \("):
            zcdp.LinearHashing(epsilon=1, g=g, k=4)
    assert zcdp.LinearHashing(epsilon=1, g=2**31 - 1, k=4).g == 2**31 - 1


def test_memory_of_another_length_is_refused() -> None:
    m = zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=3)
    memory = m.remember(np.arange(5), d=9)
    assert m.release(memory, d=9).shape == (5, 2)
    for wrong in (memory[:, :1], np.zeros((5, 3), np.uint8), memory.astype(np.int64), np.uint8(3)):
        with pytest.raises(ValueError, match="memory must be rows of 2 bytes"):
            m.release(wrong, d=9)


@pytest.mark.parametrize("epsilon", ["log(3)", "log(9/4)", "log(8)", 1, "0.1"])
def test_the_support_of_rappor_is_of_half_the_epsilon(epsilon: Any) -> None:
    """Each bit is kept with odds e^{epsilon/2}, which are rational only where the root is."""
    support = zcdp.RAPPOR(epsilon=epsilon).support
    with mp.workdps(40):
        e = mpf(0) + (mp.log(mpf(Fraction(epsilon[4:-1]).numerator) / Fraction(epsilon[4:-1]).denominator)
                      if isinstance(epsilon, str) and epsilon.startswith("log") else mpf(epsilon))  # fmt: skip
        odds = mp.exp(e / 2)
        p, q = odds / (1 + odds), 1 / (1 + odds)
        expected = [float(one) for one in (p, q, p * q, 1 - p, 1 - q, p - q)]
    found = [support.p, support.q, support.b, support.not_p, support.not_q, support.gain]
    assert found == pytest.approx(expected, rel=1e-15)
    if epsilon == "log(9/4)":
        assert support.exact == (Fraction(3, 5), Fraction(2, 5), Fraction(6, 25))
    else:
        assert support.exact is None


@pytest.mark.parametrize(
    ("p", "q"),
    [("1/2", "1/100"), ("99/100", "1/2"), ("1/2", "1/4"), ("0.9", "0.001"), ("0.999", "0.1"), ("3/4", "1/4")],
)
def test_the_order_of_binary_response_is_where_the_worse_direction_has_its_peak(p: str, q: str) -> None:
    m = zcdp.BinaryRandomizedResponse(p, q)
    with mp.workdps(30):
        high, low = (mpf(one.numerator) / one.denominator for one in (m.p, m.q))

        def ratio(alpha: mpf) -> mpf:
            both = ((high, low), (low, high))
            return max(
                mp.log(a**alpha * b ** (1 - alpha) + (1 - a) ** alpha * (1 - b) ** (1 - alpha)) / (alpha - 1) / alpha
                for a, b in both
            )

        at = mpf(m.rho_order) if m.rho_order > 1 else mpf(1) + mpf(10) ** -12
        assert float(ratio(at)) == pytest.approx(m.rho, rel=1e-9)
        excess = (m.rho_order - 1) or 1
        assert all(ratio(1 + excess * mpf(away)) <= m.rho for away in ("0.01", "0.5", "0.9", "1.1", "2", "9"))


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
@pytest.mark.parametrize("monotone", [False, True])
def test_relative_errors_are_deviations_of_the_noise_on_scores(noise: str, monotone: bool) -> None:
    """By integrals of the densities; of several selections each has its share of epsilon."""
    densities = {
        "laplace": (lambda x: mp.exp(-abs(x)) / 2, [-60, 0, 60]),
        "gumbel": (lambda x: mp.exp(-x - mp.exp(-x)), [-6, 0, 5, 60]),
        "exponential": (lambda x: mp.exp(-x), [0, 60]),
    }
    density, ends = densities[noise]
    mean, second = (mp.quad(lambda x, n=n: x**n * density(x), ends) for n in (1, 2))
    deviation = float(mp.sqrt(second - mean**2)) * (1 if monotone else 2)
    one = zcdp.ReportNoisyMax(epsilon="0.5", noise=noise, monotone=monotone)
    assert one.relative_error == pytest.approx(deviation / 0.5, rel=1e-9)
    several = zcdp.TopK(epsilon="1.5", k=3, noise=noise, monotone=monotone)
    assert several.relative_error == pytest.approx(deviation / 0.5, rel=1e-9)
