"""Selection from scores: what floats say about the coins is true, lazy bits are exact, blocks change nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from independent.bits import scripted, untouchable
from mpmath import mp, mpf
from samplers.chi_square import edges, p_value
from samplers.laws import SCORES, by_table, exact, exponential_probabilities, flip_probabilities, real

from zcdp import ExponentialMechanism, ReportNoisyMax, TopK
from zcdp import PermuteAndFlip as PermuteAndFlipMechanism
from zcdp.numeric.balls import lift
from zcdp.samplers import selection_draws as selection
from zcdp.samplers import source
from zcdp.samplers.coins import Rate, coin, coins
from zcdp.samplers.selection_draws import ExponentialSelection, PermuteAndFlip, Scores, few
from zcdp.samplers.source import each_below, one_below, secure

FINITE = st.floats(allow_nan=False, allow_infinity=False)
KINDS = (
    st.lists(FINITE, min_size=1, max_size=6),
    st.lists(st.floats(-40, 40), min_size=1, max_size=6),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6),
    st.lists(st.integers(-(2**63), -(2**63) + 50), min_size=1, max_size=6),
)
RATES = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(1, 3), Fraction(1, 10**18), Fraction(10**6, 7)])


def halvings(scores: Scores) -> Any:
    return scores.halvings(scores.gaps(slice(None)))


@given(scores=st.one_of(*KINDS), rate=RATES)
def test_floats_know_the_halvings_from_below(scores: list[Any], rate: Fraction) -> None:
    found = halvings(Scores(np.array(scores), Rate(real(rate)))).tolist()
    best = max(map(Fraction, scores))
    with mp.workdps(60):
        for score, y in zip(scores, found, strict=True):
            true = exact(rate * (best - Fraction(score))) / mp.log(2)
            if y == mp.inf:
                assert true > mpf(2) ** 1023
            else:
                assert true * (1 - mpf(2) ** -39) <= y + mpf(2) ** -1000
                assert y <= true + mpf(2) ** -1000


@given(
    gap=st.one_of(st.floats(0, 12), st.floats(0, 2.0**-20), st.integers(0, 12)),
    rate=st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(5, 2), Fraction(1, 2**950), Fraction(2**950)]),
    numerator=st.integers(0, 2**144 - 1),
    near=st.booleans(),
    first=st.sampled_from([16, 3]),
)
def test_coins_compare_exactly(gap: float, rate: Fraction, numerator: int, *, near: bool, first: int) -> None:
    """U < 2^k exp(-rate gap), also where U agrees with it to 140 bits."""
    scores = Scores(np.array([gap, 0]), Rate(real(rate), first=first))
    k = int(min(halvings(scores)[1], 16))
    with mp.workdps(400):
        chance = mpf(2) ** k * mp.exp(-exact(Fraction(gap) * rate))
        assert chance <= 1
        if near:
            numerator = min(max(int(chance * mpf(2) ** 144) + numerator % 32 - 16, 0), 2**144 - 1)
        expected = mpf(2 * numerator + 1) / mpf(2) ** 145 < chance
    cell, rest = numerator >> 128, 2 * (numerator & (1 << 128) - 1) + 1
    assert scores.flip(1, k, cell, scripted(rest, 129)) == expected
    assert scores.flip(0, 0, cell, untouchable)
    y = halvings(scores)[1:]
    cells = np.array([cell], dtype=np.uint16)
    assert scores.flips(lambda n: 1, y, np.array([k]), cells, scripted(rest, 129)).tolist() == [expected]


@given(x=st.fractions(0, 14), numerator=st.integers(0, 2**144 - 1), near=st.booleans(), error=st.integers(-8, 8))
def test_coins_of_any_exponent_compare_exactly(x: Fraction, numerator: int, *, near: bool, error: int) -> None:
    """The float may be off by what is declared: it only sorts."""
    with mp.workdps(400):
        chance = mp.exp(-exact(x))
        if near:
            numerator = min(max(int(chance * mpf(2) ** 144) + numerator % 32 - 16, 0), 2**144 - 1)
        expected = mpf(2 * numerator + 1) / mpf(2) ** 145 < chance
    about = float(x) + error * 2.0**-39
    assert coin(about, lambda: x, scripted(2 * numerator + 1, 145)) == expected
    assert coins(np.array([about]), lambda n: x, scripted(2 * numerator + 1, 145)).tolist() == [expected]


@pytest.mark.parametrize("select", [ExponentialSelection, PermuteAndFlip])
def test_every_word_of_a_selection_from_a_list(select: Any) -> None:
    """Three equal scores: each is chosen by the same number of words, the one left over is drawn again."""
    choose, counts = select(real(Fraction(1))).select, [0, 0, 0]
    for word in range(65536):
        pairs = np.zeros(64, dtype=np.uint16)
        pairs[0], pairs[2] = word, 65535
        counts[choose([5, 5, 5], lambda count, pairs=pairs: pairs.tobytes())] += 1
    assert counts == [21845, 21845, 21846]


def test_permute_and_flip_flips_each_coin_once() -> None:
    """Index 0 fails at its first proposal; later heads of it do not count."""
    pairs = np.array([[0, 65535], [0, 0], [1, 0], [65535, 7]] + [[65535, 7]] * 28, dtype=np.uint16)
    scores = [0.0, 0.5]
    assert PermuteAndFlip(real(Fraction(1))).select(scores, lambda count: pairs.tobytes()) == 1
    assert ExponentialSelection(real(Fraction(1))).select(scores, lambda count: pairs.tobytes()) == 0


@pytest.mark.parametrize(("block", "first", "tries"), [(2, 16, 1), (3, 16, 4), (3, 2, 2), (64, 2, 1)])
@pytest.mark.parametrize(
    ("select", "law"), [(ExponentialSelection, exponential_probabilities), (PermuteAndFlip, flip_probabilities)]
)
def test_law_when_the_scores_are_cut_into_blocks(
    select: Any, law: Any, block: int, first: int, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (source, selection):
        monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(selection, "TRIES", tries)
    chooser, cdf = select(real(Fraction(1)), first=first), by_table(law)
    drawn = np.array([chooser.select(SCORES, secure) for _ in range(5_000)])
    cuts = edges(lambda k: cdf(k, mpf(1)), 24)
    assert p_value(drawn, cuts, lambda k: cdf(k, mpf(1))) > 1e-8
    assert p_value(drawn, cuts, lambda k: cdf(k, mpf("1.25"))) < 1e-8


@pytest.mark.parametrize("size", [1, 2, 70, 40_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint64, ">f8", ">i2"])
@pytest.mark.parametrize("select", [ExponentialSelection, PermuteAndFlip])
def test_a_clear_winner_of_any_type_and_size(select: Any, dtype: Any, size: int) -> None:
    scores = np.zeros(size, dtype=dtype)
    best = size * 2 // 3
    scores[best] = 100
    chooser = select(real(Fraction(10)))
    assert chooser.select(scores) == best
    assert chooser.draw(scores, 3).tolist() == [best] * 3
    assert chooser.draw(scores, 0).tolist() == []


@pytest.mark.parametrize("rate", [Fraction(1, 2**3000), Fraction(2**3000)], ids=["small", "large"])
@pytest.mark.parametrize("select", [ExponentialSelection, PermuteAndFlip])
def test_rates_beyond_floats(select: Any, rate: Fraction) -> None:
    """Lazy bits decide everything, also where a difference of scores is beyond floats."""
    chooser = select(lambda: lift(rate))
    wide = [-1.7e308, 1.7e308, 1.0]
    for scores in (wide, np.array(wide), np.array([3, 2**62, -(2**62)])):
        best = int(np.argmax(scores))
        chosen = {chooser.select(scores) for _ in range(60)} | set(chooser.draw(scores, 60).tolist())
        assert chosen == ({best} if rate > 1 else {0, 1, 2})


def test_short_lists_are_told_by_their_types() -> None:
    assert few([1.0, 2.0]) == [1.0, 2.0]
    assert few([-(2**63), 2**63 - 1]) is not None
    for scores in ([1, 2.0], [True, False], [2**63], [-(2**63) - 1], [float("nan")], [1.0, float("-inf")], [], (1, 2)):
        assert few(scores) is None


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("count", [3, 100])
def test_scores_that_are_not_finite(bad: float, count: int) -> None:
    for place in (0, count - 1):
        scores = [1.0] * count
        scores[place] = bad
        for given_as in (scores, np.array(scores), np.array(scores, dtype=np.float16)):
            with pytest.raises(ValueError, match="scores must be finite"):
                PermuteAndFlip(lambda: arb(1)).select(given_as, untouchable)


def test_uniform_below_each_of_many_bounds() -> None:
    bounds = np.arange(600_000) % 6 + 1
    drawn = each_below(bounds, secure)
    for bound in range(1, 7):
        counts = np.bincount(drawn[bounds == bound], minlength=bound)
        assert counts.size == bound
        assert (abs(counts - 100_000 / bound) < 6 * np.sqrt(100_000 / bound)).all()
    large = each_below(np.full(300_000, 3 << 30), secure)  # a quarter of the words is drawn again
    assert (abs(np.bincount(large % 3, minlength=3) - 100_000) < 6 * np.sqrt(100_000)).all()


def test_a_word_in_the_surplus_is_drawn_again() -> None:
    assert one_below(3, scripted(1, 64 + 64)) == 0
    assert one_below(3, scripted((1 << 64) - 1, 64 + 64)) == 2
    assert one_below(3, scripted((1 << 128) - 1, 64 + 64)) == 2


THIRDS = [Fraction(1, 3), Fraction(2, 3), Fraction(5, 3), Fraction(0)]


@pytest.mark.parametrize("mechanism", [ExponentialMechanism, PermuteAndFlipMechanism, ReportNoisyMax])
@pytest.mark.parametrize("given", ["list", "array", "mixed"])
def test_fractions_are_scores_with_their_exact_value(mechanism: type, given: str) -> None:
    """Thirds at sensitivity 1/3 select as whole numbers do at sensitivity 1: coin by coin, from the same bits."""
    numbers = {"list": THIRDS, "array": np.array(THIRDS, dtype=object), "mixed": [*THIRDS[:-1], np.int64(0)]}[given]
    m, whole = mechanism(epsilon=2), [3 * third for third in THIRDS]
    counts = np.zeros((2, 4))
    for _ in range(400):
        counts[0, m.release(numbers, sensitivity="1/3")] += 1
        counts[1, m.release([int(score) for score in whole], sensitivity=1)] += 1
    assert abs(counts[0] - counts[1]).max() < 6 * 400**0.5
    gaps = Scores(numbers, Rate(lambda: arb(1)))
    assert [gaps.gap(n) for n in range(4)] == [Fraction(5, 3) - third for third in THIRDS]
    assert gaps.gaps(slice(None)).tolist() == [float(Fraction(5, 3) - third) for third in THIRDS]


def test_fractions_that_floats_do_not_tell_apart_are_told_apart() -> None:
    """e^-rate of a gap of 10^-30 at a rate of 10^32: the one behind is never selected; floats see a tie."""
    near = [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)]
    assert {ExponentialMechanism(epsilon=1).release(near, sensitivity="1e-33") for _ in range(40)} == {1}
    far = [Fraction(10) ** 400, Fraction(0), -(Fraction(10) ** 400)]
    for m in (ExponentialMechanism(epsilon=1), PermuteAndFlipMechanism(epsilon=1), ReportNoisyMax(epsilon=1)):
        assert m.release(far, sensitivity=1) == 0
    assert TopK(epsilon=1, k=2).release(far, sensitivity=1) == [0, 1]


@pytest.mark.parametrize("bad", [[Fraction(1, 2), None], [Fraction(1, 2), "1/3"], [Fraction(1, 2), True], [2**70, 1j]])
def test_what_is_no_number_among_fractions_is_refused(bad: list[object]) -> None:
    with pytest.raises(TypeError, match="scores must be"):
        ExponentialMechanism(epsilon=1).release(bad, sensitivity=1)
    with pytest.raises(ValueError, match="scores must be finite"):
        ExponentialMechanism(epsilon=1).release([Fraction(1, 2), float("inf")], sensitivity=1)
