"""Proofs by subdivision: they prove what is true, not what is false, and are about the mechanisms that we ship."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import cosh, exp, sinh
from random import Random

import mpmath
import pytest
from flint import arb

from zcdp.numeric.balls import at_precision
from zcdp.verification import proofs
from zcdp.verification.proofs import (
    PROOFS,
    Box,
    Proof,
    ProofOf,
    Side,
    _bend,
    _concave,
    _cosh,
    _over,
    _sinhc,
    _squares,
    _third,
    _times,
    additive,
    bounded_range,
    cover,
    interval,
    prove,
    three_point,
)

QUICK = [one for one in PROOFS if one.theorem != "discrete-laplace"]


@pytest.mark.parametrize("one", QUICK, ids=lambda one: one.statement.split(":")[0])
def test_the_papers_theorems_are_proved(one: ProofOf) -> None:
    proof = one.run()
    assert proof.proved
    assert 1000 < proof.boxes < 5000


@pytest.mark.deep
def test_discrete_laplace_is_proved_for_every_sensitivity() -> None:
    [one] = [one for one in PROOFS if one.theorem == "discrete-laplace"]
    assert one.run().proved


def test_a_false_claim_is_not_provable() -> None:
    """The paper's threshold: of seven values and more the worst order is not 1 for small epsilon."""
    assert not prove(partial(three_point, k=7), cover(), most=20_000).proved
    flipped = prove(lambda box: None if (m := bounded_range(box)) is None else -m, cover(), most=20_000)
    assert flipped.refuted


def test_a_claim_that_fails_at_one_point_is_not_provable() -> None:
    assert not prove(lambda box: (interval(box[0]) - arb(1) / 3) ** 2, [((0.0, 1.0),)], most=10_000).proved


def renyi(k: int) -> Callable[[mpmath.mpf, mpmath.mpf], mpmath.mpf]:
    """From the probabilities of k-randomized response, not from any formula for its cumulant."""

    def cumulant(epsilon: mpmath.mpf, s: mpmath.mpf) -> mpmath.mpf:
        p, q = mpmath.exp(epsilon), mpmath.mpf(1)
        whole = p + (k - 1) * q
        return mpmath.log((p ** (1 + s) * q**-s + q ** (1 + s) * p**-s + (k - 2) * q) / whole)

    return cumulant


def laplace(epsilon: mpmath.mpf, s: mpmath.mpf) -> mpmath.mpf:
    """By integration of the densities."""
    half = mpmath.mpf(1) / 2
    inside = mpmath.quad(lambda x: half * mpmath.exp(-x * (1 + s) + (epsilon - x) * s), [0, epsilon])
    outside = half * mpmath.exp(epsilon * s) + half * mpmath.exp(-epsilon * (1 + s))
    return mpmath.log(inside + outside)


def discrete(epsilon: mpmath.mpf, s: mpmath.mpf, delta: int = 3) -> mpmath.mpf:
    """By summation of the masses."""
    t = epsilon / delta
    terms = (mpmath.exp(-t * abs(x) * (1 + s) + t * abs(x - delta) * s) for x in range(-400, 400))
    return mpmath.log(mpmath.tanh(t / 2) * sum(terms))


def ranged(eta: mpmath.mpf, s: mpmath.mpf) -> mpmath.mpf:
    """The largest over t of the pairs of the paper's Lemma."""
    e = mpmath.exp

    def at(t: mpmath.mpf) -> mpmath.mpf:
        return ((e(eta) - e(t)) * e(-t * (1 + s)) + (e(t) - 1) * e((eta - t) * (1 + s))) / (e(eta) - 1)

    best = mpmath.findroot(lambda t: mpmath.diff(at, t), (eta * 0.3, eta * 0.7), solver="illinois", tol=1e-20)
    return mpmath.log(at(best))


@pytest.mark.parametrize(
    ("cumulant", "claim", "more"),
    [
        (renyi(2), partial(three_point, k=2), ()),
        (renyi(6), partial(three_point, k=6), ()),
        (renyi(7), partial(three_point, k=7), ()),
        (laplace, additive, ((0.0, 0.0),)),
        (discrete, additive, ((1 / 3, 1 / 3),)),
        (ranged, bounded_range, ()),
    ],
    ids=["pure DP", "6-RR", "7-RR", "Laplace", "discrete Laplace", "bounded range"],
)
@pytest.mark.parametrize(("epsilon", "s"), [(0.25, 0.5), (1.0, 0.75), (3.0, 0.25), (0.25, 4.0)])
def test_the_claim_has_the_sign_of_the_second_derivative(
    cumulant: Callable[[mpmath.mpf, mpmath.mpf], mpmath.mpf],
    claim: Callable[[Box], arb | None],
    more: Box,
    epsilon: float,
    s: float,
) -> None:
    with mpmath.workdps(40):

        def of_square(w: mpmath.mpf) -> mpmath.mpf:
            return cumulant(mpmath.mpf(epsilon), mpmath.sqrt(w) / epsilon - mpmath.mpf(1) / 2)

        y = epsilon * (s + 0.5)
        bend = mpmath.diff(of_square, mpmath.mpf(y) ** 2, 2, h=mpmath.mpf(10) ** -8)
    box = ((epsilon / 2, epsilon / 2), (y, y), *more)
    margin = at_precision(100, lambda: claim(box))
    assert margin is None or (margin > 0) == (bend < 0)


def test_where_the_power_series_end_the_other_form_begins() -> None:
    """Both forms of the condition have one sign, at y a little below and above 4."""
    for claim, more in ((partial(three_point, k=3), ()), (additive, ((0.25, 0.25),))):
        for y in (3.99, 4.01):
            margin = at_precision(100, lambda c=claim, y=y, m=more: c(((2.0, 2.0), (y, y), *m)))  # type: ignore[misc]
            assert margin is None or margin > 0
    y, rest = 3.9, 0.5 * exp(-2.0)
    assert sinh(y) * (cosh(y) + rest) > y * (1 + rest * cosh(y))


# Proof by subdivision: no part of the cover is left out, and a claim that is not seen to hold is not proved.


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


# What the proofs on boxes enclose: the value at every point of a box lies in what is said of the box.


def inside(side: Side, chance: Random) -> float:
    return min(max(chance.uniform(*side), side[0]), side[1])


def holds(ball: arb, value: mpmath.mpf) -> bool:
    """Whether the ball has the number, which is known to 40 digits."""
    text = mpmath.nstr(value, 40, min_fixed=-mpmath.inf, max_fixed=mpmath.inf)
    return bool(ball.overlaps(arb(text)))


def test_squares_are_rounded_outward() -> None:
    chance = Random(1)
    for _ in range(200):
        y = sorted((chance.uniform(0, 4), chance.uniform(0, 4)))
        t = sorted((chance.uniform(0, 0.5), chance.uniform(0, 0.5)))
        low, high = _squares((y[0], y[1]), (t[0], t[1]))
        assert Fraction(low) <= (Fraction(y[0]) * Fraction(t[0])) ** 2
        assert Fraction(high) >= (Fraction(y[1]) * Fraction(t[1])) ** 2
        alone = _squares((y[0], y[1]))
        assert Fraction(alone[0]) <= Fraction(y[0]) ** 2 <= Fraction(y[1]) ** 2 <= Fraction(alone[1])
        assert alone[1] - alone[0] <= (y[1] ** 2 - y[0] ** 2) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("jet", "function"),
    [
        (_sinhc, lambda w: mpmath.sinh(mpmath.sqrt(w)) / mpmath.sqrt(w)),
        (_cosh, lambda w: mpmath.cosh(mpmath.sqrt(w))),
    ],
    ids=["sinh(y)/y", "cosh(y)"],
)
@pytest.mark.parametrize("side", [(0.25, 0.5), (1.0, 1.0), (3.0, 16.0), (0.01, 9.0)])
def test_jets_are_taylor_coefficients_in_the_square(
    jet: Callable[[Side], tuple[arb, arb, arb]], function: Callable[[mpmath.mpf], mpmath.mpf], side: Side
) -> None:
    found = at_precision(80, lambda: jet(side))
    with mpmath.workdps(60):
        for w in (side[0], (side[0] + side[1]) / 2, side[1]):
            for ball, value in zip(found, mpmath.taylor(function, mpmath.mpf(w), 2), strict=True):
                assert holds(ball, value)


def test_jets_are_multiplied_and_divided_as_power_series() -> None:
    """(2 + 3x + 5x^2)(7 + 11x + 13x^2) = 14 + 43x + 94x^2 + ..."""
    a, b = (arb(2), arb(3), arb(5)), (arb(7), arb(11), arb(13))
    assert [int(one) for one in (part.unique_fmpz() for part in _times(a, b))] == [14, 43, 94]
    assert [int(one) for one in (part.unique_fmpz() for part in _over(_times(a, b), b))] == [2, 3, 5]
    assert [int(one) for one in (part.unique_fmpz() for part in _over(_times(a, b), a))] == [7, 11, 13]
    assert _concave((arb(2), arb(4), arb(1))) == arb("0.75")  # 1 - f f''/f'^2, and f'' = 2


def margin(name: str, h: float, y: float, t: float, k: int) -> mpmath.mpf:
    """By its definition: where log f is concave in y^2, and f of each theorem written out."""
    h_, t_ = mpmath.mpf(h), mpmath.mpf(t)
    rest = (k - 2) * mpmath.exp(-h_) / 2

    def f(x: mpmath.mpf) -> mpmath.mpf:
        if name == "three-point":
            return mpmath.cosh(x) + rest
        share = h_ / x if t == 0 else mpmath.tanh(h_ * t_) * mpmath.coth(x * t_)
        return mpmath.cosh(x) + share * mpmath.sinh(x)

    x = mpmath.mpf(y)
    if name == "three-point":
        gap = mpmath.sinh(x) * f(x) - x * (1 + rest * mpmath.cosh(x))
        return gap / x**3 if y <= 4 else gap / mpmath.cosh(x) ** 2
    if y <= 4:
        zero, one, two = mpmath.taylor(lambda w: f(mpmath.sqrt(w)), x**2, 2)
        return 1 - 2 * zero * two / one**2
    first, second = (mpmath.diff(lambda x: mpmath.log(f(x)), x, n) for n in (1, 2))
    return first - x * second


@pytest.mark.parametrize(
    ("name", "t", "k"), [("three-point", 0.0, 2), ("three-point", 0.0, 6), ("noise", 0.0, 2), ("noise", 0.25, 2)]
)
@pytest.mark.parametrize(("h", "y"), [(0.25, 0.5), (1.5, 1.6), (1.5, 2.0), (3.5, 4.25), (5.0, 5.0), (5.0, 5.5)])
def test_the_margin_is_the_one_of_the_theorem(name: str, t: float, k: int, h: float, y: float) -> None:
    claim = partial(three_point, k=k) if name == "three-point" else additive
    box: Box = ((h, h), (y, y)) if name == "three-point" else ((h, h), (y, y), (t, t))
    found = at_precision(200, lambda: claim(box))
    assert found is not None or (name == "three-point" and y > 1.05 * h > 1)  # beyond the last order to be shown
    if found is not None:
        with mpmath.workdps(50):
            assert float(found.mid()) == pytest.approx(float(margin(name, h, y, t, k)), rel=1e-11)


@pytest.mark.parametrize(
    ("h", "y", "first"), [(0.5, 1.0, True), (1.0, 4.0, True), (6.0, 7.0, False), (9.0, 10.0, False)]
)
def test_the_margin_of_bounded_range_is_one_of_its_two_forms(h: float, y: float, first: bool) -> None:
    """With P, M = (y +- h)/2: m(P) (y^2 + h^2/3) - m(M) h^2/3 where that is enough, else 2 [psi'] - y [psi'']."""
    found = at_precision(200, lambda: bounded_range(((h, h), (y, y))))
    assert found is not None
    with mpmath.workdps(60):

        def psi(t: mpmath.mpf) -> mpmath.mpf:
            return t * mpmath.log(mpmath.sinh(t) / t)

        def m(x: mpmath.mpf) -> mpmath.mpf:
            return -mpmath.diff(lambda w: mpmath.diff(psi, mpmath.sqrt(w), 2) / mpmath.sqrt(w), x**2)

        far, near, third = (mpmath.mpf(y) + h) / 2, (mpmath.mpf(y) - h) / 2, mpmath.mpf(h) ** 2 / 3
        spread = m(far) * (mpmath.mpf(y) ** 2 + third) - m(near) * third
        jumps = [mpmath.diff(psi, far, n) - mpmath.diff(psi, near, n) for n in (1, 2)]
        wanted = spread if spread > 0 else 2 * jumps[0] - y * jumps[1]
    assert (spread > 0) == first
    assert float(found.mid()) == pytest.approx(float(wanted), rel=1e-8)


def test_the_series_with_its_rest_has_the_true_value() -> None:
    """At 800 bits forty terms are not enough: the rest must be in the ball."""
    for x in (0.5, 2.0, 7.9):
        ball = at_precision(800, lambda x=x: _third(arb(x) ** 2))
        with mpmath.workdps(200):
            value = (mpmath.sinh(x) - x) / mpmath.mpf(x) ** 3
        assert ball.overlaps(at_precision(800, lambda value=value: arb(mpmath.nstr(value, 190))))
        assert ball.rad() < 1e-30


@pytest.mark.parametrize("x", [0.2, 1.0, 3.5, 12.0])
def test_the_bend_of_psi_is_that_of_x_log_sinhc(x: float) -> None:
    """psi' , q = psi''/x and m = -dq/d(x^2), by numerical differentiation in 60 digits."""
    found = at_precision(120, lambda: _bend(arb(x)))
    with mpmath.workdps(60):

        def psi(t: mpmath.mpf) -> mpmath.mpf:
            return t * mpmath.log(mpmath.sinh(t) / t)

        def q(w: mpmath.mpf) -> mpmath.mpf:
            return mpmath.diff(psi, mpmath.sqrt(w), 2) / mpmath.sqrt(w)

        at = mpmath.mpf(x)
        for ball, value in zip(found, (mpmath.diff(psi, at), q(at**2), -mpmath.diff(q, at**2)), strict=True):
            assert abs(mpmath.mpf(str(ball.mid().str(30, radius=False))) - value) < mpmath.mpf(10) ** -12


CLAIMS: dict[str, tuple[Callable[[Box], arb | None], tuple[Side, ...]]] = {
    "pure DP": (partial(three_point, k=2), ()),
    "5-RR": (partial(three_point, k=5), ()),
    "9-RR": (partial(three_point, k=9), ()),
    "Laplace": (additive, ((0.0, 0.0),)),
    "discrete Laplace": (additive, ((0.125, 0.375),)),
    "bounded range": (bounded_range, ()),
}


def rho(name: str, epsilon: mpmath.mpf) -> mpmath.mpf:
    """The divergence of order 1, written out from the laws; of discrete noise that of sensitivity 3."""
    e = mpmath.exp
    if name == "bounded range":
        return epsilon / mpmath.expm1(epsilon) + mpmath.log(mpmath.expm1(epsilon) / epsilon) - 1
    if name == "Laplace":
        return epsilon + e(-epsilon) - 1
    if name == "discrete Laplace":
        t = epsilon / 3
        middle = mpmath.fsum(e(-t * x) * (3 - 2 * x) for x in range(4))  # beyond 0 and 3 the loss is +-epsilon
        tails = 3 * (e(-t) - e(-4 * t)) / (1 - e(-t))
        return mpmath.tanh(t / 2) * t * (middle + tails)
    k = {"pure DP": 2, "5-RR": 5, "9-RR": 9}[name]
    keep, other = e(epsilon) / (e(epsilon) + k - 1), 1 / (e(epsilon) + k - 1)
    return (keep - other) * epsilon


@pytest.mark.parametrize("name", CLAIMS)
def test_what_is_said_of_a_box_holds_at_every_point_of_it(name: str) -> None:
    claim, more = CLAIMS[name]
    chance = Random(5)
    tried = 0
    for _ in range(60):
        h, y = chance.choice([0.05, 0.3, 1.0, 4.0]), chance.uniform(0.05, 12)
        if y <= 4 < y * 1.1 + 0.1:
            continue  # there the two forms of the condition meet
        box: Box = ((h, h * 1.2), (y, y * 1.1 + 0.1), *more)
        whole = at_precision(80, lambda box=box: claim(box))
        if whole is None:
            continue
        for _ in range(4):
            point: Box = tuple((value, value) for value in (inside(side, chance) for side in box))
            alone = at_precision(80, lambda point=point: claim(point))
            if alone is None:
                continue
            tried += 1
            if name == "bounded range":  # which has two forms, of one sign
                assert not whole > 0 or alone > 0
            else:
                assert whole.overlaps(alone)
    assert tried > 20


@pytest.mark.parametrize("name", CLAIMS)
def test_a_box_with_an_order_of_which_something_is_to_be_shown_is_not_passed_over(name: str) -> None:
    """Between order 1, where y = epsilon/2, and order epsilon/rho, from where D <= epsilon <= rho alpha is enough."""
    claim, more = CLAIMS[name]
    chance, met, void = Random(9), 0, 0
    for _ in range(80):
        epsilon, wide = chance.choice([0.01, 0.2, 1.0, 3.0, 9.0]), chance.choice([1.0, 1.3])
        with mpmath.workdps(30):
            last = float(mpmath.mpf(epsilon) ** 2 / rho(name, mpmath.mpf(epsilon)) - mpmath.mpf(epsilon) / 2)
        y = chance.choice([epsilon / 2 * 1.0001, last * 0.999, last * 1.3, epsilon * 0.4, (epsilon / 2 + last) / 2])
        if y > 79:
            continue
        room = chance.choice([0.0, 0.05])
        box: Box = ((epsilon / 2 / wide, epsilon / 2 * wide), (max(y - room, 0.0), y + room), *more)
        asked = at_precision(80, lambda box=box: claim(box))
        if epsilon / 2 <= y <= last:
            met += 1
            assert asked is not None
        elif wide == 1.0 and room == 0.0 and asked is None:
            void += 1
    assert met > 20
    assert void > 2


def test_the_cover_has_every_epsilon_and_every_order() -> None:
    boxes = list(cover())
    assert min(box[0][0] for box in boxes) <= 1 / 2000 / 2
    assert max(box[0][1] for box in boxes) == 25
    for h in (0.0005, 0.01, 0.49, 1.0, 7.0, 24.99):
        for y in (0.0, 0.5, 3.999, 40.0, 79.9, 80.0):
            assert any(a <= h <= b and c <= y <= d for (a, b), (c, d) in boxes)


def test_each_proof_is_of_the_claim_that_it_states(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, int | None, set[Side]]] = []

    def told(claim: partial[arb | None], boxes: object) -> Proof:
        given = list(boxes)  # type: ignore[call-overload]
        assert {box[:2] for box in given} == set(cover())
        asked.append(
            (getattr(claim, "func", claim), getattr(claim, "keywords", {}).get("k"), {b[2] for b in given if b[2:]})
        )
        return Proof(True, len(given))

    monkeypatch.setattr(proofs, "prove", told)
    names = [(one.theorem, one.statement.split(":")[0]) for one in PROOFS if one.run().proved]
    shares = {(0.0, 0.25), (0.25, 0.5)}  # one over a sensitivity of 2 and more
    assert dict(zip(names, asked, strict=True)) == {
        ("pure-dp", "pure DP"): (three_point, 2, set()),
        ("rappor", "RAPPOR"): (three_point, 2, set()),
        **{("three-point", f"{k}-randomized response"): (three_point, k, set()) for k in (3, 4, 5, 6)},
        ("laplace", "Laplace"): (additive, None, {(0.0, 0.0)}),
        ("discrete-laplace", "discrete Laplace"): (additive, None, shares),
        ("bounded-range", "bounded range"): (bounded_range, None, set()),
    }
