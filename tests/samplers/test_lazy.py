"""Lazy inversion at its ends: what lies outside of a law's range is never asked for, and never drawn."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from zcdp.numeric.balls import NotCertified, lift
from zcdp.samplers.lazy_inversion import invert, rank


def then(bits: int, size: int) -> bytes:
    return bits.to_bytes(size, "little")


@pytest.mark.parametrize(("least", "most"), [(0, 5), (-3, 2), (7, 7), (-1, 0)])
@pytest.mark.parametrize("start", [None, -50, 0, 3, 50])
def test_draws_stay_within_the_range_of_the_law(least: int, most: int, start: int | None) -> None:
    """Uniform on least .. most: U at the middle of each part, and at both ends of [0, 1), from any proposal."""
    count = most - least + 1

    def cdf(k: int) -> arb:
        assert least <= k < most  # below it is 0 and from the last outcome on 1: that needs no number
        return lift(Fraction(k - least + 1, count))

    guess = None if start is None else (lambda u: start)
    for part in range(count):
        word = (2 * part + 1) * 2**64 // (2 * count)
        assert invert(cdf, lambda size, w=word: then(w, size), guess=guess, least=least, most=most) == least + part
    for byte, end in ((b"\0", least), (b"\xff", most)):
        assert invert(cdf, lambda size, b=byte: b * size, guess=guess, least=least, most=most) == end


def test_an_outcome_begins_exactly_where_the_one_before_ends() -> None:
    """P(X <= 0) = 1/2: at U = 1/2 it is 1, just below it is 0."""

    def cdf(k: int) -> arb:
        return arb(0) if k < 0 else arb(1) / 2 if k == 0 else arb(1)

    assert invert(cdf, lambda size: then(1 << 63, size)) == 1
    assert invert(cdf, lambda size: then((1 << 63) - 1, size)) == 0
    assert rank(lambda: [arb(1) / 2], lambda size: then(1 << 63, size)) == 1
    assert rank(lambda: [arb(1) / 2], lambda size: then((1 << 63) - 1, size)) == 0


def test_bits_that_are_known_come_first() -> None:
    """U begins with 101 in binary, whatever follows: it is in [5/8, 6/8)."""
    cuts = [Fraction(n, 8) for n in range(1, 8)]
    for byte in (b"\0", b"\xff", b"\x5a"):
        assert rank(lambda: [lift(cut) for cut in cuts], lambda size, b=byte: b * size, 0b101, 3) == 5
        assert invert(lambda k: lift(Fraction(k + 1, 8)), lambda size, b=byte: b * size, 5, 3, least=0, most=7) == 5


def test_what_no_bits_settle_is_an_error() -> None:
    blurred = arb(0.5, 0.25)
    for draw in (lambda source: rank(lambda: [blurred], source), lambda source: invert(lambda k: blurred, source)):
        with pytest.raises(NotCertified, match="not settled"):
            draw(lambda size: then(1 << 63, size) if size == 8 else bytes(size))
