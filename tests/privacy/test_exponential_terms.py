"""Powers of a sum of exponentials against products of polynomials, in fractions: whole, cut, or from a step on."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product as pairs

import pytest
from flint import arb

from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Log
from zcdp.privacy.loss import exponential_terms as expansion
from zcdp.privacy.loss.exponential_terms import EqualRows, Expansion, FreeAtoms, exponent_of, product, sum_of

Rows = list[list[Fraction]]
ROWS: dict[str, Rows] = {
    "two atoms": [["2/3"], ["1/4"]],
    "three atoms": [["1/2"], ["1/3"], ["1/7"]],
    "a gap": [["1/2"], ["0"], ["1/3"], ["1/5"]],
    "atoms and density": [["1/2", "1/4"], ["1/3", "-1/5"]],
    "density": [["0", "3/7"], ["0", "-2/5"]],
}  # type: ignore[dict-item]


def rows_of(name: str) -> Rows:
    return [[Fraction(one) for one in row] for row in ROWS[name]]


def power(rows: Rows, count: int) -> list[list[Fraction]]:
    """(sum over k, j of c_kj x^k u^j)^count, by multiplying it out."""
    found = Counter({(0, 0): Fraction(1)})
    for _ in range(count):
        longer: Counter[tuple[int, int]] = Counter()
        for ((a, b), mass), (k, row) in pairs(found.items(), enumerate(rows)):
            for j, one in enumerate(row):
                longer[a + k, b + j] += mass * one
        found = longer
    size = max(len(row) for row in rows) - 1
    return [[found[k, j] for j in range(size * count + 1)] for k in range(count * (len(rows) - 1) + 1)]


def same(found: list[arb], truth: list[Fraction]) -> bool:
    padded = [*found, *[arb(0)] * (len(truth) - len(found))]
    return all(abs(one - lift(exact)) < 1e-12 for one, exact in zip(padded, truth, strict=True))


@pytest.mark.parametrize("whole", [0, 2_000])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("loss", [Fraction(3, 5), Log(3)])
def test_powers_are_those_of_the_polynomial(
    name: str, loss: Fraction | Log, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All terms; only those within some room of the largest exponent; and those from some distance on."""
    monkeypatch.setattr(expansion, "LARGEST_WHOLE_DEGREE", whole)
    rows, ratio = rows_of(name), Fraction(2, len(ROWS[name]) - 1)
    for count in (1, 2, 5):
        truth = power(rows, count)
        last = len(truth) - 1
        for least, most in ((0, last), (0, last // 2), (last // 3, last), (last // 2, last // 2 + 1)):

            def asked(count: int = count, least: int = least, most: int = most) -> dict[int, list[arb]]:
                equal = EqualRows(loss, ratio, [[lift(one) for one in row] for row in rows])
                step = equal.top * equal.part
                room, ahead = step * (most + arb(1) / 4), step * (least + arb(1) / 4)
                found = equal.power(count, room, ahead if least else arb(0), count)
                return {round(float((count - value(place, loss)) / ratio)): row for place, row in found}

            found = at_precision(128, asked)
            assert set(range(least + bool(least), min(most, last) + 1)) <= set(found)
            assert all(0 <= k <= last and same(row, truth[k]) for k, row in found.items())


def value(place: expansion.Exponent, loss: Fraction | Log) -> Fraction:
    """How many times the loss an exponent is."""
    if isinstance(loss, Fraction):
        return place[0] / loss
    return dict(place[1]).get(loss.argument, Fraction(0))


def test_a_power_that_is_cut_has_the_first_coefficients() -> None:
    rows = rows_of("atoms and density")
    truth = power(rows, 6)

    def asked(degree: int) -> list[list[arb]]:
        equal = EqualRows(Fraction(1), Fraction(2), [[lift(one) for one in row] for row in rows])
        return [row for _, row in equal.power(6, arb(100), arb(0), degree)]

    for degree in (1, 2, 4):
        found = at_precision(128, lambda degree=degree: asked(degree))
        assert all(same(row, exact[: degree + 1]) for row, exact in zip(found, truth, strict=True))


def test_atoms_at_any_places_meet_in_their_sums() -> None:
    """Exponents are rationals with logarithms, added exactly: of one place the coefficients add up to the truth."""
    losses = [Log(3), Fraction(1, 2), Log(Fraction(2, 3)), Fraction(-1)]
    masses = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 5), Fraction(1, 7)]
    truth: Counter[expansion.Exponent] = Counter({(Fraction(0), ()): Fraction(1)})
    for _ in range(4):
        longer: Counter[expansion.Exponent] = Counter()
        for (place, mass), (loss, one) in pairs(truth.items(), zip(losses, masses, strict=True)):
            logs = dict(place[1])
            rational = place[0]
            if isinstance(loss, Log):
                logs[loss.argument] = logs.get(loss.argument, Fraction(0)) + 1
            else:
                rational += loss
            longer[rational, tuple(sorted(logs.items()))] += mass * one
        truth = longer

    def asked(free: Expansion) -> Counter[expansion.Exponent]:
        found: Counter[expansion.Exponent] = Counter()
        for (rational, logs), [mass] in free.power(4, arb(100), arb(0), 0):
            found[rational, tuple(sorted((a, n) for a, n in logs if n))] += mass
        return found

    found = at_precision(128, lambda: asked(FreeAtoms(losses, [lift(mass) for mass in masses])))
    assert set(found) == set(truth)
    assert all(abs(found[place] - lift(mass)) < 1e-12 for place, mass in truth.items())


def test_exponents_add_up() -> None:
    one = sum_of(exponent_of(Log(3), 2), exponent_of(Fraction(1, 2), 3))
    assert one == (Fraction(3, 2), ((Fraction(3), Fraction(2)),))
    both = sum_of(one, sum_of(exponent_of(Log(2)), exponent_of(Log(3), Fraction(1, 2))))
    assert both == (Fraction(3, 2), ((Fraction(2), Fraction(1)), (Fraction(3), Fraction(5, 2))))


def test_products_of_polynomials_are_cut_at_the_degree() -> None:
    one, other = [arb(1), arb(2), arb(3)], [arb(4), arb(5)]
    assert [float(x) for x in product(one, other, 9)] == [4, 13, 22, 15]
    assert [float(x) for x in product(one, other, 1)] == [4, 13]
    assert [float(x) for x in product([arb(2)], one, 5)] == [float(x) for x in product(one, [arb(2)], 5)] == [2, 4, 6]
