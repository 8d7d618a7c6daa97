"""Proof by subdivision: no part of the cover is left out, and a claim that is not seen to hold is not proved."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from zcdp.verification.proofs import Box, interval, prove

SQUARE: list[Box] = [((0.0, 1.0), (0.0, 2.0)), ((1.0, 1.5), (0.0, 2.0))]


def area(box: Box) -> Fraction:
    return (Fraction(box[0][1]) - Fraction(box[0][0])) * (Fraction(box[1][1]) - Fraction(box[1][0]))


def test_the_boxes_that_were_seen_fill_the_cover_and_do_not_overlap() -> None:
    seen: list[Box] = []

    def claim(box: Box) -> arb | None:
        """Seen on small boxes only, and smaller ones to the right."""
        if area(box) > (Fraction(1, 50) if box[0][1] > 0.5 else Fraction(1, 5)):
            return arb(0, 1)
        seen.append(box)
        return arb("0.1") if len(seen) % 3 else None

    proof = prove(claim, SQUARE)
    assert proof.proved
    assert not proof.refuted
    assert proof.boxes == len(seen) > 50
    assert sum(map(area, seen)) == 3
    for n in range(1, 30):
        x, y = n / 20 - 0.007, (n * 7 % 40) / 20 + 0.013
        assert sum(a <= x <= b and c <= y <= d for (a, b), (c, d) in seen) == 1


@pytest.mark.parametrize("margin", [arb(0), arb(0, 1), arb(0).union(arb(1)), arb("nan")], ids=str)
def test_what_is_not_seen_to_be_positive_is_not_proved(margin: arb) -> None:
    proof = prove(lambda _: margin, SQUARE, most=200)
    assert not proof.proved
    assert not proof.refuted
    assert proof.where is not None


def test_a_claim_that_is_false_in_one_corner_is_refuted_there() -> None:
    proof = prove(lambda box: arb("3.4") - interval(box[0]) - interval(box[1]), SQUARE)
    assert proof.refuted
    assert not proof.proved
    assert proof.where is not None
    assert proof.where[0][0] + proof.where[1][0] > 3.39
    assert prove(lambda box: arb("3.6") - interval(box[0]) - interval(box[1]), SQUARE).proved
    assert not prove(lambda _: arb(-1, "0.5"), SQUARE).proved


def test_a_proof_that_would_need_too_many_boxes_is_given_up() -> None:
    def claim(box: Box) -> arb:
        return arb(1) if box[0][1] - box[0][0] <= 2.0**-6 else arb(0, 1)

    assert prove(claim, [((0.0, 1.0),)], most=100).proved
    stopped = prove(claim, [((0.0, 1.0),)], most=50)
    assert not stopped.proved
    assert stopped.boxes <= 50


def test_nothing_to_show_is_shown() -> None:
    assert prove(lambda _: None, SQUARE).proved
    assert prove(lambda _: arb(-1), []).proved


@pytest.mark.parametrize("side", [(0.0, 1.0), (0.1, 0.3), (1 / 3, 1 / 3), (-2.0, 7.0)])
def test_an_interval_has_both_its_ends_and_little_more(side: tuple[float, float]) -> None:
    found = interval(side)
    assert all(found.contains(arb(one)) for one in (*side, (side[0] + side[1]) / 2))
    room = 1e-6 * (1 + side[1] - side[0])
    assert not found.contains(arb(side[0] - room))
    assert not found.contains(arb(side[1] + room))


def test_the_widest_side_for_its_place_is_halved_first() -> None:
    asked: list[Box] = []

    def claim(box: Box) -> arb:
        asked.append(box)
        return arb(0, 1) if len(asked) == 1 else arb(1)

    assert prove(claim, [((10.0, 11.0), (0.01, 0.3))]).proved  # by its place the second is the wider one
    assert {box[0] for box in asked} == {(10.0, 11.0)}
    assert len({box[1] for box in asked}) == 3
