"""Proofs by subdivision: they prove what is true, not what is false, and are about the mechanisms that we ship."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from math import cosh, exp, sinh

import mpmath
import pytest
from flint import arb

from zcdp.cli import main
from zcdp.numeric.balls import at_precision
from zcdp.verification.proofs import PROOFS, Box, ProofOf, additive, bounded_range, cover, interval, prove, three_point

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


def test_the_command_says_what_is_a_proof_and_what_a_spot_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("zcdp.verification.proofs.PROOFS", (PROOFS[0],))
    assert main(["verify", "--prove"]) == 0
    assert "1 claims are proved, on 1," in capsys.readouterr().out
    assert main(["verify", "--prove", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kind"] == "proofs by subdivision"
    assert facts["proofs"][0]["proved"]
    false = ProofOf("three-point", "seven values", lambda: prove(partial(three_point, k=7), cover(), most=5000))
    monkeypatch.setattr("zcdp.verification.proofs.PROOFS", (false,))
    assert main(["verify", "--prove"]) == 1
    assert "1 of 1 claims could not be proved" in capsys.readouterr().out
