"""Bounds on moves, against all moves that fit them: listed on a grid, or as whole numbers, by the definition."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pytest

import zcdp
from zcdp import (
    L1,
    L2,
    DiscreteLaplace,
    L0LInf,
    L1LInf,
    Laplace,
    Mechanism,
    Plan,
    Sensitivity,
)

HALF = Fraction(1, 2)
Move = tuple[Fraction, ...]


def fits(bound: Sensitivity, move: Move) -> bool:
    """What each bound says, in its own words."""
    if isinstance(bound, L1):
        return sum(move) <= bound.d
    if isinstance(bound, L0LInf):
        return len(move) <= bound.m and all(x <= bound.c for x in move)
    if isinstance(bound, L1LInf):
        return sum(move) <= bound.a and all(x <= bound.c for x in move)
    assert isinstance(bound, L2)
    return sum(x * x for x in move) <= bound.length_squared


@cache
def listed(bound: Sensitivity, step: Fraction) -> frozenset[Move]:
    """All moves by positive multiples of the step, the largest coordinate first, that fit."""

    def longer(move: Move) -> Iterator[Move]:
        yield move
        last = move[-1] if move else Fraction(99)
        part = step
        while part <= last and fits(bound, (*move, part)):
            yield from longer((*move, part))
            part += step

    return frozenset(move for move in longer(()) if move)


REAL = [
    L1("2.5"), L1(HALF), L0LInf(3, "1.5"), L0LInf(1, 2), L0LInf(4, HALF), L1LInf(7, 3), L1LInf("5.5", 2),
    L1LInf(2, 5), L1LInf(6, 2), L1LInf("0.5", "0.5"), L1LInf(3, "1.5"),
]  # fmt: skip
EUCLIDEAN = [L2("2.5"), L2(2), L2("sqrt(7)"), L2("sqrt(2)"), L2("sqrt(10/9)"), L2("sqrt(25/4)"), L2(1)]
WHOLE = [L1("2.5"), L1(1), L0LInf(3, "1.99"), L0LInf(2, 2), L1LInf("5.5", "2.25"), L1LInf(2, 5), L1LInf("2.9", 9)]


@pytest.mark.parametrize("bound", REAL, ids=repr)
def test_the_moves_of_a_bound_fit_it_and_no_move_is_longer_in_any_norm(bound: Sensitivity) -> None:
    """Parameters are halves here, so that the extreme moves stand on the grid."""
    moves = bound.moves()
    assert moves is not None
    corner = tuple(sorted((move for count, move in moves for _ in range(count)), reverse=True))
    every = listed(bound, HALF)
    assert corner in every
    assert bound.square() == sum(x * x for x in corner) == max(sum(x * x for x in move) for move in every)
    assert sum(corner) == max(map(sum, every))
    assert bound.largest() == corner[0] == max(map(max, every))
    assert bound.single() == (corner[0] if len(corner) == 1 else None)


@pytest.mark.parametrize("bound", WHOLE, ids=repr)
def test_whole_moves_that_fit_are_those_that_fit_the_bound_for_integers(bound: Sensitivity) -> None:
    assert listed(bound.whole(), Fraction(1)) == listed(bound, Fraction(1))
    assert type(bound.whole()) is type(bound)


@pytest.mark.parametrize("bound", EUCLIDEAN, ids=repr)
def test_whole_moves_of_a_length_have_the_squares_that_fit(bound: L2) -> None:
    every = listed(bound, Fraction(1))
    assert bound.squares == max(sum(x * x for x in move) for move in every) == max(map(len, every))
    whole = bound.whole()
    assert (whole.m, whole.c) == (bound.squares, 1)
    assert bound.moves() is None
    assert bound.single() is None


@pytest.mark.parametrize(
    ("bound", "square"),
    [(L2("2.5"), "25/4"), (L2("sqrt(7)"), 7), (L2("sqrt(2)"), 2), (L2(" sqrt(10/9) "), "10/9"), (L2(0.5), "1/4")],
    ids=repr,
)
def test_a_length_is_kept_as_its_square_and_one_coordinate_moves_by_no_less(bound: L2, square: object) -> None:
    assert bound.square() == bound.length_squared == Fraction(square)
    assert bound.largest() ** 2 >= bound.square() > (bound.largest() * (1 - Fraction(1, 2**51))) ** 2


def test_a_length_that_is_no_rational_number_has_no_value() -> None:
    assert L2("sqrt(25/4)").b == L2("2.5").b == Fraction(5, 2)
    for bound in (L2("sqrt(2)"), L2("sqrt(10/9)"), L2("sqrt(24)"), L2("sqrt(1/2)")):
        with pytest.raises(ValueError, match=r"b \(sqrt\(.*\)\) must be a rational number"):
            _ = bound.b


@pytest.mark.parametrize("bound", [*REAL, *EUCLIDEAN, *WHOLE], ids=repr)
def test_a_bound_can_be_pasted_back(bound: Sensitivity) -> None:
    assert eval(repr(bound), vars(zcdp)) == bound
    assert hash(eval(repr(bound), vars(zcdp))) == hash(bound)


@pytest.mark.parametrize(
    ("bound", "name"),
    [(L1("0.9"), "d"), (L0LInf(2, "0.9"), "c"), (L1LInf("0.9", 2), "a"), (L1LInf(3, "0.5"), "c"), (L2("0.9"), "b")],
    ids=repr,
)
def test_integers_that_cannot_move_are_refused(bound: Sensitivity, name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} \(.*\) must be at least 1 for integer answers"):
        bound.whole()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L1(0), r"d \(0\) must be positive"),
        (lambda: L0LInf(0, 1), r"m \(0\) must be at least 1"),
        (lambda: L0LInf("1.5", 1), r"m \('1.5'\) must be a whole number"),
        (lambda: L0LInf(1, -1), r"c \(-1\) must be positive"),
        (lambda: L1LInf(-1, 1), r"a \(-1\) must be positive"),
        (lambda: L1LInf(1, 0), r"c \(0\) must be positive"),
        (lambda: L2("sqrt(0)"), r"b \('0'\) must be positive"),
        (lambda: L2(-2), r"b \(-2\) must be positive"),
    ],
)
def test_a_bound_must_be_positive(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def forms(m: Mechanism) -> Iterator[Mechanism]:
    yield eval(repr(m))
    [(parsed, _)] = Plan.parse(repr(3 * m)).parts
    yield parsed  # type: ignore[misc]
    [(loaded, _)] = Plan.from_json((3 * m).to_json()).parts
    yield loaded  # type: ignore[misc]


@pytest.mark.parametrize("bound", [L1("2.5"), L2("2.5"), L2(1), L2(7), L0LInf(3, "2.5"), L1LInf(7, 3)], ids=repr)
@pytest.mark.parametrize("kind", [Laplace, DiscreteLaplace])
def test_a_sensitivity_is_kept_as_it_was_given(kind: type[Laplace | DiscreteLaplace], bound: Sensitivity) -> None:
    m = kind(scale=3, sensitivity=bound)
    assert m.sensitivity == bound
    assert repr(bound) in repr(m)
    for again in forms(m):
        assert again == m
        assert again.sensitivity == bound  # type: ignore[attr-defined]
        assert again.epsilon_at(delta="0.01") == m.epsilon_at(delta="0.01")


def test_lengths_that_are_square_roots_are_exact() -> None:
    """Two cells that move by 1 have the length sqrt(2), and three steps of it 3 sqrt(2)."""
    plain = zcdp.Gaussian(sigma=10, sensitivity="sqrt(2)")
    assert plain.exact_rho == zcdp.Gaussian(sigma=10, sensitivity=zcdp.L0LInf(2, 1)).exact_rho == Fraction(1, 100)
    assert repr(plain) == "Gaussian(sigma=10, sensitivity=L2('sqrt(2)'))"
    assert zcdp.Plan.parse(repr(plain)).parts[0][0].exact_rho == Fraction(1, 100)
    assert plain.group(3).exact_rho == Fraction(9, 100)
    assert zcdp.L2("sqrt(2.25)") == zcdp.L2("1.5")
    with pytest.raises(ValueError, match=r"b \(sqrt\(2\)\) must be a rational number for Laplace and logistic noise"):
        zcdp.Laplace(scale=1, sensitivity=zcdp.L2("sqrt(2)"))
    whole = zcdp.DiscreteGaussian(sigma=10, sensitivity="sqrt(6.5)")  # whole moves: squares of at most 6 in all
    assert (whole.exact_rho, repr(whole)) == (Fraction(3, 100), "DiscreteGaussian(sigma=10, sensitivity=L2('sqrt(6)'))")
