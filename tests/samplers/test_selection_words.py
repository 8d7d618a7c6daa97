"""Selections word by word: which words are drawn again, and which bits are the place and which the coin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from independent.bits import seeded
from samplers.laws import real

from zcdp.samplers import selection_draws as selection
from zcdp.samplers import source
from zcdp.samplers.coins import Rate
from zcdp.samplers.selection_draws import (
    ExponentialSelection,
    PermuteAndFlip,
    Scores,
    _among_heads,
    _among_many,
    _heads,
    _whole,
)

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
