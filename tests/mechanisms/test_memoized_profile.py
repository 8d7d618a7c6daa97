"""RAPPOR with memory: its profile is that of all sequences of reports, enumerated; and beyond, between two others."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import pytest

import zcdp

F, P, Q = Fraction(1, 3), Fraction(1, 4), Fraction(4, 5)


def sequences(collections: int) -> list[tuple[Fraction, Fraction]]:
    """The laws of the reports of one bit over all collections, if it is set and if it is not."""

    def law(bits: tuple[int, ...], memory: int) -> Fraction:
        chance, mass = (P, Q)[memory], Fraction(1)
        for bit in bits:
            mass *= chance if bit else 1 - chance
        return mass

    found = []
    for bits in product((0, 1), repeat=collections):
        one, zero = law(bits, 1), law(bits, 0)
        found.append(((1 - F / 2) * one + F / 2 * zero, F / 2 * one + (1 - F / 2) * zero))
    return found


@pytest.mark.parametrize("collections", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.9])
def test_the_profile_is_that_of_all_sequences(collections: int, epsilon: float) -> None:
    m = zcdp.MemoizedRAPPOR(f=F, p=P, q=Q, collections=collections)
    bits, e = sequences(collections), Fraction(exp(epsilon))
    delta = sum(max(a * d - e * b * c, Fraction(0)) for a, b in bits for c, d in bits)
    assert m.delta_at(epsilon=epsilon) == pytest.approx(float(delta), rel=1e-9, abs=1e-15)


def test_many_collections_lie_between_fewer_and_the_memory() -> None:
    few, many = (zcdp.MemoizedRAPPOR(f="1/2", p="1/2", q="3/4", collections=t) for t in (7, 60))
    memory = zcdp.UnaryEncoding("3/4", "1/4")
    for epsilon in (1.5,):
        low, high = many.delta_bounds(epsilon=epsilon)
        assert few.delta_at(epsilon=epsilon) <= low <= high <= memory.delta_at(epsilon=epsilon) * (1 + 1e-9)
