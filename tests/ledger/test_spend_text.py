"""Plans in the chain: all that was spent as often as it was spent, and what each spend costs when it is read again."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest

from zcdp import Gaussian, Laplace, LossPair, RandomizedResponse
from zcdp.ledger import Ledger
from zcdp.ledger.model import Cost
from zcdp.ledger.spend_text import bare_rho, composed, cost_of, plan_of, priced, written
from zcdp.ledger.terms import Terms
from zcdp.mechanisms.revealing_event import Lone, revealing_event

TENTH, NOISE = Laplace(epsilon="0.1"), Gaussian(sigma=20)
RENYI = Terms("person", order=Fraction(9), epsilon=Fraction(4), delta=Fraction(1, 10**6))


def test_what_was_spent_often_counts_often(quick: Path) -> None:
    with Ledger(quick / "a.db") as ledger:
        for name in ("census", "other"):
            ledger.open_account(name, unit="person", rho=1)
        ledger.spend_all("census", {f"a{n}": TENTH for n in range(7)})
        ledger.spend_all("census", {f"b{n}": 2 * TENTH + NOISE for n in range(3)})
        ledger.spend("other", NOISE, key="not mine")
        assert ledger.plan("census") == 13 * TENTH + 3 * NOISE
        assert ledger.plan("other") == 1 * NOISE
        assert ledger.account("census").spent == 7 * ledger.cost("census", TENTH) + 3 * ledger.cost(
            "census", 2 * TENTH + NOISE
        )
    assert composed("a", [(written(TENTH), 4), (written(NOISE), 2), (written(TENTH), 1)]) == 5 * TENTH + 2 * NOISE
    with pytest.raises(ValueError, match="nothing was spent of 'a' yet"):
        composed("a", [])
    with pytest.raises(ValueError, match="some spends of 'a' are known by rho alone"):
        composed("a", [(written(TENTH), 4), ('{"rho": "1/10"}', 1)])


def test_a_request_is_written_and_priced() -> None:
    terms = Terms("person")
    assert priced(terms, None, "0.1") == ('{"rho": "1/10"}', Cost(Fraction(1, 10)))
    what, cost = priced(terms, 3 * NOISE, None)
    assert (plan_of(what), cost) == (3 * NOISE, Cost(Fraction(3, 800)))
    for given in ((None, None), (TENTH, "0.1"), (0.1, None)):
        with pytest.raises(TypeError, match=r"give a mechanism, or rho|is not a mechanism"):
            priced(terms, *given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a bare rho does not tell it"):
        priced(RENYI, None, "0.1")
    with pytest.raises(ValueError, match="rho"):
        priced(terms, None, 0)


def test_a_spend_on_the_record_costs_the_same_again() -> None:
    terms = Terms("person")
    for curve in (TENTH, 5 * TENTH, TENTH + 2 * NOISE):
        assert cost_of(terms, written(curve)) == Cost(terms.cost(curve)) == priced(terms, curve, None)[1]
        assert cost_of(RENYI, written(curve)) == Cost(RENYI.cost(curve))
    assert cost_of(terms, '{"rho": "1/7"}') == Cost(Fraction(1, 7))
    assert "is known by rho alone" in str(cost_of(RENYI, '{"rho": "1/7"}'))
    assert "cannot read" in str(cost_of(terms, "[["))
    assert "is stated for local" in str(cost_of(terms, written(RandomizedResponse(epsilon=1, k=2))))
    assert "cannot price" in str(cost_of(terms, written(LossPair(p=[1, 0], q=[0, 1]))))


@pytest.mark.parametrize(
    ("what", "rho"),
    [
        ('{"rho": "1/10"}', Fraction(1, 10)),
        ('{"rho": "2"}', Fraction(2)),
        ('{"rho": "0"}', None),
        ('{"rho": "-1"}', None),
        ('{"rho": "x"}', None),
        ('{"rho": "1/0"}', None),
        ('{"rho": "1", "more": "2"}', None),
        ('{"rho": "1"', None),
        ("[]", None),
        ("", None),
    ],
)
def test_a_bare_rho_is_positive_and_alone(what: str, rho: Fraction | None) -> None:
    assert bare_rho(what) == rho


KEYS = Lone(Fraction(400), 139, 3)
"""Found keys of noise sigma = 20, published from 139 persons on, three of a person."""


def test_the_delta_of_found_keys_is_computed_again_from_their_noise() -> None:
    """From the noise and the threshold, by a sum of the tail, not from the delta that stands beside them."""
    terms = Terms("person", neighbours="add-remove", epsilon=Fraction(1), delta=Fraction(1, 10**6))
    what, cost = priced(terms, 3 * NOISE + revealing_event(KEYS), None)
    weights = [exp(-(x**2) / 800) for x in range(4000)]
    tail = sum(weights[138:]) / (2 * sum(weights) - 1)
    assert float(cost.delta) == pytest.approx(1 - (1 - tail) ** 3, rel=1e-5)
    assert cost_of(terms, what) == cost
    data = json.loads(what)
    assert data["keys"] == [["400", 139, 3]]
    for changed in (["400", 130, 3], ["900", 139, 3], ["400", 139, 300]):
        again = cost_of(terms, json.dumps({**data, "keys": [changed]}))
        assert isinstance(again, Cost)
        assert again.delta > 2 * cost.delta  # what was charged is less: `verify` says so
    less = cost_of(terms, json.dumps({**data, "delta": "1/1000000000000000"}))
    assert less == cost


@pytest.mark.parametrize(
    "keys", [[], [["400", 1, 3]], [["-1", 9, 3]], [["400", 9, 0]], [["400", 9.5, 1]], [["400", 9]], "ab", [["x", 9, 1]]]
)
def test_found_keys_in_other_words_are_not_read(keys: object) -> None:
    terms = Terms("person", neighbours="add-remove", epsilon=Fraction(1), delta=Fraction(1, 10**6))
    data = json.loads(priced(terms, NOISE + revealing_event(KEYS), None)[0])
    assert "cannot read" in str(cost_of(terms, json.dumps({**data, "keys": keys})))


def test_an_event_that_is_not_of_found_keys_is_taken_at_its_word() -> None:
    terms = Terms("person", neighbours="add-remove", epsilon=Fraction(1), delta=Fraction(1, 10**6))
    what, cost = priced(terms, NOISE + revealing_event(Fraction(1, 10**9)), None)
    assert "keys" not in json.loads(what)
    assert cost_of(terms, what) == cost
