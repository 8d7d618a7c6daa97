"""Selections from scores, word by word: which words are drawn again, which coins flipped, and each only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from independent.bits import seeded, untouchable
from mpmath import mp, mpf
from samplers.chi_square import edges, p_value
from samplers.output_laws import SCORES, by_table, exact, exponential_probabilities, flip_probabilities, real
from samplers.scripted import then

from zcdp import ExponentialMechanism, ReportNoisyMax, TopK
from zcdp import PermuteAndFlip as PermuteAndFlipMechanism
from zcdp.numeric.balls import lift
from zcdp.samplers import selection_draws as selection
from zcdp.samplers import source
from zcdp.samplers.coins import Rate
from zcdp.samplers.selection_draws import (
    TIED_EACH,
    ExponentialSelection,
    PermuteAndFlip,
    Scores,
    _among_heads,
    _among_many,
    _heads,
    _Weighted,
    _whole,
    count_first,
    few,
    peel,
)
from zcdp.samplers.source import secure

Bits = Callable[[int], bytes]


def told(*given: bytes) -> Bits:
    """These answers, each of just the length that is asked for, and nothing after them."""
    answers = iter(given)

    def bits(count: int) -> bytes:
        one = next(answers)
        assert len(one) == count
        return one

    return bits


def word(place: int, cell: int) -> bytes:
    return (place << 16 | cell).to_bytes(10, "little")


@pytest.mark.parametrize("size", [3, 5, 70])
def test_words_at_the_edges_of_the_places_of_an_array(size: int) -> None:
    """Each of equal scores has 2^16 places; a word u with u total mod 2^64 below 2^64 mod total is drawn again."""
    select, total = ExponentialSelection(real(Fraction(1))).select, size << 16
    scores = np.full(size, 2.5)
    kept = again = 0
    for place in (1, 5, 65535, 65536, 65537, 2 * 65536 - 1, 2 * 65536, total // 2 + 1, total - 1):
        first = -(-(place << 64) // total)  # the least word of this place
        for u in (first - 1, first, first + 1):
            surplus = u * total % 2**64 < 2**64 % total
            after = [word((2**64 - 1) // 3 * 2, 0)] if surplus else []
            wanted = (((2**64 - 1) // 3 * 2 if surplus else u) * total >> 64) >> 16
            assert select(scores, told(word(u, 12345), *after)) == wanted
            again, kept = again + surplus, kept + (not surplus)
    assert again > 0
    assert kept > again


@pytest.mark.parametrize("top", [0, 1, 2**63, 2**64 - 1])
def test_the_coin_of_a_selection_from_an_array_has_bits_of_its_own(top: int) -> None:
    """Scores 0 and 0.5 at rate 1 have a coin of e^-1/2, in cell 39,750, whatever the bits of the place."""
    select = ExponentialSelection(real(Fraction(1))).select
    scores, edge = np.array([0.0, 0.5] * 40), int(exp(-0.5) * 65536)
    best = word(2**64 // 80 * 3 // 2, 0)  # in the second of 80 equal places: a best score, surely heads
    for n in (0, 34, 78):  # one that is behind
        place = (n << 64) // 80 + 2**56 + 12345 + top % 2**52
        assert select(scores, told(word(place, edge - 1))) == n
        assert select(scores, told(word(place, 0))) == n
        assert select(scores, told(word(place, edge + 1), best)) == 1
        assert select(scores, told(word(place, 65535), word(place, 65535), best)) == 1


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1), Fraction(3)], ids=str)
def test_whole_halvings_are_rounded_down_and_a_coin_is_no_more_than_certain(rate: Fraction) -> None:
    gaps = np.concatenate([np.arange(0, 40, 0.37), [1e3, 1e300]])
    scores = Scores(-gaps, Rate(real(rate)))
    whole = _whole(scores.halvings(scores.gaps(slice(None)))).tolist()
    assert whole == [min(16, int(float(rate) * gap / log(2))) for gap in gaps.tolist()]


def test_a_choice_among_heads_takes_bits_that_no_coin_has_used() -> None:
    """Cells of 16 bits for each score, then 64 bits for the choice: equal cells, and all words of the choice."""
    scores = np.zeros(70)
    candidates = Scores(scores, PermuteAndFlip(real(Fraction(1)))._rate)
    for fill in (0, 40000):
        cells = np.full(70, fill, dtype=np.uint16).tobytes()
        places = [
            _among_heads(candidates, told(cells + ((2 * n + 1 << 64) // 140).to_bytes(8, "little"))) for n in range(70)
        ]
        assert places == list(range(70))


def test_one_whose_coin_is_tails_by_its_further_bits_is_out() -> None:
    """The first cell of each coin leaves it open; further bits make the first choice tails: it is not asked again."""
    gap = 0.5
    scores = np.array([0.0, 0.0, gap] + [-400.0] * 70)
    candidates = Scores(scores, PermuteAndFlip(real(Fraction(1)))._rate)
    edge = int(exp(-gap) * 65536)
    cells = np.full(73, edge, dtype=np.uint16)
    choice = [((2 * n + 1 << 64) // 6).to_bytes(8, "little") for n in range(3)]
    ones, zeros = b"\xff" * 8, bytes(8)
    half = [((2 * n + 1 << 64) // 4).to_bytes(8, "little") for n in range(2)]
    # 0 is chosen and is tails; of 1 and 2 that are left, the first is chosen and is heads
    assert _among_heads(candidates, told(cells.tobytes() + choice[0], ones, half[0], zeros)) == 1
    assert _among_heads(candidates, told(cells.tobytes() + choice[0], ones, half[0], ones)) == 2
    assert _among_heads(candidates, told(cells.tobytes() + choice[0], ones, half[1])) == 2
    assert _among_heads(candidates, told(cells.tobytes() + choice[1], ones, half[0], zeros)) == 0
    assert _among_heads(candidates, told(cells.tobytes() + choice[2])) == 2


@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_a_coin_in_an_open_cell_is_never_left_out_of_the_heads(name: str) -> None:
    """Of every cell: heads if U < exp(-rate gap), by arrays of coins that are first sorted by floats."""
    gap, rest = 0.7, {"zeros": b"\0", "ones": b"\xff"}[name]
    candidates = Scores(np.array([0.0, gap]), Rate(real(Fraction(1))))
    edge = int(exp(-gap) * 65536)
    near = np.arange(edge - 50, edge + 50, dtype=np.uint16)
    answers = iter([near.tobytes()])
    heads = _heads(candidates, np.full(100, gap), 0, lambda count: next(answers, rest * count))
    assert near[heads].tolist() == list(range(edge - 50, edge + (name == "zeros")))


@pytest.mark.parametrize("block", [2, 3, 7])
def test_coins_of_a_block_are_those_of_its_own_scores(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the cells that floats leave open, the exact gap that decides is that of the score itself."""
    scores = np.array([0.0, 0.5, 1.0, 0.25, 1.5, 0.75, 2.0])
    candidates = Scores(scores, Rate(real(Fraction(1))))
    for start in range(0, 7, block):
        part = slice(start, min(start + block, 7))
        gaps = candidates.gaps(part)
        cells = np.array([int(exp(-gap) * 65536) if gap else 9 for gap in gaps.tolist()], dtype=np.uint16)
        for rest, wanted in ((b"\0", range(gaps.size)), (b"\xff", np.flatnonzero(gaps == 0))):
            answers = iter([cells.tobytes()])
            heads = _heads(candidates, gaps, start, lambda count, a=answers, r=rest: next(a, r * count))
            assert heads.tolist() == list(wanted)


@pytest.mark.parametrize("tries", [1, 3, 6])
def test_of_many_scores_each_coin_is_flipped_once_and_all_heads_are_alike(
    tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven scores in blocks of two, of which four have chance e^-1 and three are best: the law by its definition."""
    for module in (source, selection):
        monkeypatch.setattr(module, "BLOCK", 2)
    monkeypatch.setattr(selection, "TRIES", tries)
    scores = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    candidates, bits, count = Scores(scores, Rate(real(Fraction(1)))), seeded(11), 1500
    chosen = Counter(_among_many(candidates, bits) for _ in range(count))
    # the one that is behind is chosen if it is heads and first among the heads, which the other three behind may be
    p = exp(-1)
    chance = sum(p * (1 / (4 + h)) * c * p**h * (1 - p) ** (3 - h) for h, c in enumerate((1, 3, 3, 1)))
    for n, score in enumerate(scores.tolist()):
        law = chance if not score else (1 - 4 * chance) / 3
        assert abs(chosen[n] - count * law) < 4.5 * (count * law * (1 - law)) ** 0.5


@pytest.mark.parametrize("first", [0, 3, 6])
def test_a_coin_that_was_tails_when_proposed_stays_so(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two proposals of one score, tails and then heads, and heads again with its block: it is not selected."""
    for module in (source, selection):
        monkeypatch.setattr(module, "BLOCK", 2)
    monkeypatch.setattr(selection, "TRIES", 2)
    scores = np.full(7, -500.0)
    scores[first], scores[1] = 0.0, 1.0
    candidates = Scores(scores, Rate(real(Fraction(1))))
    place = ((2 * first + 1) << 16) // 14
    cells = np.full(7, 65535, dtype=np.uint16)
    cells[first] = 0
    answers = [np.array(pair, dtype=np.uint16).tobytes() for pair in ((place, place), (65535, 0))]
    blocks = [cells[n : n + 2].tobytes() for n in range(0, 7, 2)]
    assert _among_many(candidates, told(*answers, *blocks)) == 1
    other = np.array([place, place], dtype=np.uint16).tobytes()
    assert _among_many(candidates, told(other, np.array([0, 65535], dtype=np.uint16).tobytes())) == first


def test_a_choice_that_goes_from_block_to_block_is_uniform_among_all_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three heads in three blocks: the second replaces the first for one word in two, the third for one in three."""
    for module in (source, selection):
        monkeypatch.setattr(module, "BLOCK", 2)
    monkeypatch.setattr(selection, "TRIES", 1)
    scores = np.array([0.0, -500.0, -500.0, 0.0, -500.0, 0.0, -500.0])
    candidates, cells = Scores(scores, Rate(real(Fraction(1)))), np.full(7, 65535, dtype=np.uint16)
    proposal = np.array([(3 << 16) // 14], dtype=np.uint16).tobytes(), np.array([65535], dtype=np.uint16).tobytes()
    blocks = [cells[n : n + 2].tobytes() for n in range(0, 7, 2)]
    chosen: Counter[int] = Counter()
    for second in range(2):
        for third in range(3):
            words = [((2 * k + 1 << 64) // (2 * n)).to_bytes(8, "little") for k, n in ((second, 2), (third, 3))]
            chosen[
                _among_many(candidates, told(*proposal, blocks[0], blocks[1], words[0], blocks[2], words[1], blocks[3]))
            ] += 1
    assert chosen == {0: 2, 3: 2, 5: 2}


# Selection from scores: what floats say about the coins is true, lazy bits are exact, blocks change nothing.


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
    """e^-500 for a gap of 10^-27 at a rate of 10^30/2: the one behind is never selected; floats see a tie."""
    near = [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**27)]
    assert {ExponentialMechanism(epsilon=1).release(near, sensitivity="1e-30") for _ in range(40)} == {1}
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


# Laws by enumeration: every cell, word or stage of a sampler against the exact law, with no statistics.


@pytest.mark.parametrize("block", [2, 3, 64])
def test_weights_of_proposals_are_powers_of_two(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Index n stands at 2^(16-k) places, k the whole halvings that it is behind, at most 16."""
    from zcdp.samplers import source

    monkeypatch.setattr(source, "BLOCK", block)
    values = np.array([3.0, 2.9, 0.0, -1.0, 2.0, -40.0, 3.0])
    weighted = _Weighted(Scores(values, Rate(real(Fraction(2)))))
    with mp.workdps(40):
        k = [min(16, int(mp.floor(2 * (mpf(3) - mpf(v)) / mp.log(2)))) for v in values.tolist()]
    ends = np.cumsum([1 << (16 - one) for one in k]).tolist()
    assert weighted.total == ends[-1]
    for n, end in enumerate(ends):
        for place in (end - (1 << (16 - k[n])), end - 1):
            assert weighted.at(place) == (n, k[n])


def test_permute_and_flip_chooses_among_the_heads_alone() -> None:
    """Cells decide which coins are heads; every word of the choice then falls on one of them, equally often."""
    scores = np.array([0.0, 2.0, 1.0, 2.0, 0.5] + [-500.0] * 70)
    candidates = Scores(scores, PermuteAndFlip(real(Fraction(1)))._rate)
    heads = [1, 2, 3]
    cells = np.full(75, 65535, dtype=np.uint16)
    cells[heads] = 0
    cells[[0, 4]] = 65000  # tails
    chosen = Counter(
        _among_heads(
            candidates, then(cells.tobytes() + ((2 * n + 1) * 2**64 // 60).to_bytes(8, "little"), rest=b"\xff")
        )
        for n in range(30)
    )
    assert chosen == dict.fromkeys(heads, 10)


# Selections one after another: each among those that are left, and nothing else.


class Told:
    """Selects the places that it is told, and keeps what it was given to select from."""

    def __init__(self, places: list[int]) -> None:
        self.places, self.seen, self.sources = list(places), list[list[Any]](), list[Any]()

    def select(self, scores: Any, source: Any = None) -> int:
        self.seen.append(list(scores))
        self.sources.append(source)
        return self.places.pop(0)

    def draw(self, scores: Any, count: int, source: Any = None) -> Any:
        raise AssertionError


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_each_is_selected_among_those_that_are_left(kind: Any) -> None:
    """Places in what is left stand for the indices of all: first, last and middle ones, until none is left."""
    scores = [5, 3, 8, 1, 9]
    given = kind(scores)
    told = Told([4, 0, 1, 1, 0])
    assert peel(told, given, 5, untouchable) == [4, 0, 2, 3, 1]
    assert told.seen == [[5, 3, 8, 1, 9], [5, 3, 8, 1], [3, 8, 1], [3, 1], [3]]
    assert told.sources == [untouchable] * 5
    assert list(given) == scores  # what is given stays as it is
    assert peel(Told([1, 1]), given, 2) == [1, 2]


def test_more_than_there_are_cannot_be_selected() -> None:
    for scores in ([1, 2, 3], np.array([1.0, 2.0, 3.0]), [Fraction(1), Fraction(2), Fraction(3)]):
        with pytest.raises(ValueError, match=r"k \(4\) must be at most the number of scores \(3\)"):
            peel(Told([]), scores, 4)
        assert sorted(peel(Told([0, 0, 0]), scores, 3)) == [0, 1, 2]


class Uniform:
    """Every place that is left is equally likely."""

    def __init__(self) -> None:
        self.bits, self.seen = seeded(3), list[tuple[int, int]]()

    def select(self, scores: Any, source: Any = None) -> int:
        raise AssertionError

    def draw(self, scores: Any, count: int, source: Any = None) -> Any:
        self.seen.append((scores.count(7), scores.count(2)))
        assert scores == sorted(scores, reverse=True)
        words = np.frombuffer(self.bits(8 * count), dtype=np.uint64)
        return (words % np.uint64(len(scores))).astype(np.int64)


@pytest.mark.parametrize("rounds", range(9))
def test_selections_of_two_groups_are_counted_as_drawn_without_replacement(rounds: int) -> None:
    """Of two equal groups of four: hypergeometric, and with eight rounds four for certain."""
    select, size = Uniform(), 4000
    found = count_first(select, 7, 2, rounds, size)
    assert found.shape == (size,)
    assert all(TIED_EACH - rounds < a <= TIED_EACH and TIED_EACH - rounds < b <= TIED_EACH for a, b in select.seen)
    assert all(a + b > 2 * TIED_EACH - rounds for a, b in select.seen)
    counts = Counter(found.tolist())
    for hits in range(TIED_EACH + 1):
        chance = (
            comb(TIED_EACH, hits) * comb(TIED_EACH, rounds - hits) / comb(2 * TIED_EACH, rounds)
            if hits <= rounds
            else 0
        )
        assert abs(counts.pop(hits, 0) - size * chance) <= 5 * (size * chance * (1 - chance)) ** 0.5
    assert not counts


# Halvings of scores in floats: never above the true ones, so that no coin has a probability above 1.


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(10)], ids=str)
def test_halvings_are_hardly_below_the_true_ones_and_never_above(rate: Fraction) -> None:
    """rate gap/log 2, for gaps of integers, of floats and of numbers that floats only round."""
    known = Rate(lambda: lift(rate))
    rng = np.random.default_rng(5)
    lists = [
        [0, *rng.integers(-(10**6), 0, 50).tolist()],
        [0.0, *(-(10 ** rng.uniform(-6, 4, 50))).tolist()],
        [2**62, *(2**62 - rng.integers(1, 10**17, 50)).tolist()],
        [Fraction(1, 3), *(Fraction(int(n), 7) for n in rng.integers(-1000, 0, 20))],
    ]
    for values in lists:
        scores = Scores(values, known)
        found = scores.halvings(scores.gaps(slice(None))).tolist()
        with mp.workdps(50):
            each = mpf(rate.numerator) / rate.denominator / mp.log(2)
            for n, y in enumerate(found):
                gap = scores.gap(n)
                assert gap == Fraction(values[0]) - Fraction(values[n])
                true = each * gap.numerator / gap.denominator
                assert true * (1 - mpf(2) ** -38) <= mpf(y) <= true


# Of an array, too, each selection is made among those that are left.


def test_four_of_five_from_an_array_are_all_different_and_the_best() -> None:
    """Gaps of 10^6 at a scale of 8/1000 decide every selection: the order of the scores."""
    m = TopK(epsilon=1000, k=4)
    for scores in ([0, 1, 3, 2, 4], [4, 3, 2, 1, 0], [3, 0, 4, 1, 2]):
        best = sorted(range(5), key=lambda n: -scores[n])[:4]
        values = [10**6 * score for score in scores]
        assert m.release(values, sensitivity=1) == best
        assert m.release(np.array(values), sensitivity=1) == best
        assert m.release(np.array(values, dtype=float), sensitivity=1) == best


@pytest.mark.parametrize(
    ("scores", "dtype"),
    [
        ([2**62, 2**62 + 3, 2**62 - 5], "int64"),
        ([2**63 - 1, -(2**63), 2**63 - 2], "int64"),
        ([2**64 - 1, 0, 2**64 - 2, 2**53 + 1], "uint64"),
        ([-(2**53) - 1, -(2**53), -(2**53) + 1], "int64"),
    ],
)
def test_scores_that_no_float_tells_apart_are_apart_by_their_difference(scores: list[int], dtype: str) -> None:
    rate = Rate(real(Fraction(1, 7)))
    candidates = Scores(np.array(scores, dtype=dtype), rate)
    gaps = [max(scores) - score for score in scores]
    assert [candidates.gap(n) for n in range(len(scores))] == gaps
    assert candidates.gaps(slice(None)).tolist() == [float(gap) for gap in gaps]
    for n, gap in enumerate(gaps):
        with mp.workdps(40):
            edge = int(mp.exp(-mpf(gap) / 7) * 65536)
        for cell in {max(edge - 1, 0), min(edge + 1, 65535)} - {edge}:
            assert candidates.flip(n, 0, cell, bytes) is (cell < edge or gap == 0)


def test_a_short_list_of_long_integers_is_no_list_of_machine_words() -> None:
    from zcdp.samplers.selection_draws import few

    assert few([2**63 - 1, -(2**63)]) is not None
    for beyond in (2**63, -(2**63) - 1, 2**2000):
        assert few([0, beyond]) is None
