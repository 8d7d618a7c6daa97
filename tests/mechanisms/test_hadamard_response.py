"""Hadamard response: several blocks are unbiased and no noisier than told."""

from __future__ import annotations

from fractions import Fraction

import pytest

import zcdp


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
