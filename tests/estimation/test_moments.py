"""Intervals from moments, for clients and for a population, against the theorem written out on explicit tables.

A report adds a number whose law is a table in fractions. The ends are where the least moment bound over a fine grid of
z is half the risk (docs/theorems/intervals.md, part 4); and they cover, by the law of the sum itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import zcdp
from zcdp.estimation.histogram import Counts

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


CASES = [blocks(), channel(0), channel(2)]
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
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
        for name, own, others, _ in CASES[:2]:
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
