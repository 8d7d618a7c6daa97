"""Hadamard response: several blocks are unbiased and no noisier than told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import zcdp


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
