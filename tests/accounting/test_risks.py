"""What an account says of an attacker: beside the plan's own curve, and with events that may give a person away."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from zcdp import Laplace, LossPair, account
from zcdp.accounting.plan_account import Account
from zcdp.accounting.risks import CURVE_RATES, risk_of, tradeoff_rows
from zcdp.errors import BadValue
from zcdp.mechanisms.revealing_event import revealing_event
from zcdp.privacy.curve import Plan

F = Fraction


def test_the_account_says_what_the_plan_says() -> None:
    plan = 20 * Laplace(epsilon="0.1")
    found = account(plan, risk=True, curve=False)
    assert Account.from_dict(found.to_dict()) == found
    risk = found.risk
    assert risk is not None
    assert risk.advantage == pytest.approx(plan.advantage_bounds, rel=1e-12)
    for rate in risk.rates:
        low, high = plan.tpr_bounds(fpr=rate.fpr)
        assert rate.tpr_at_least <= high
        assert low <= rate.tpr_at_most <= high * (1 + 1e-3)
    for guess in risk.guesses:
        assert guess.at_most == plan.success(prior=guess.prior)
        assert guess.before == max(guess.prior, 1 - guess.prior)
    assert plan.gdp() * (1 - 1e-9) <= (risk.mu or 0) <= plan.gdp() * 1.003
    assert account(plan, curve=False).risk is None
    assert "tradeoff" in [one.id for one in found.theorems]


def best(pairs: list[tuple[list[Fraction], list[Fraction]]], rate: Fraction) -> Fraction:
    """The best test of explicit laws, by thresholds with a coin."""
    found = F(0)
    for p, q in pairs:
        left, power = rate, F(0)
        ratios = sorted(range(len(p)), key=lambda n: p[n] / q[n] if q[n] else F(10**9), reverse=True)
        for n in ratios:
            share = min(F(1), left / q[n]) if q[n] else F(1)
            power, left = power + share * p[n], left - share * q[n]
        found = max(found, power)
    return found


def test_events_that_give_a_person_away_count() -> None:
    """A release beside an event: explicit products of laws, both orders."""
    event, p, q = F(1, 50), [F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)]
    told = [event, 1 - event], [F(0), F(1)]
    laws = [[a * b for a, b in product(one, other)] for one, other in zip((p, q), told, strict=True)]
    rows = tradeoff_rows(Plan.sum_of(LossPair(p, q, ordered=True)), event)
    for row, rate in zip(rows, CURVE_RATES, strict=True):
        assert F(row.tpr_at_most) >= best([(laws[0], laws[1]), (laws[1], laws[0])], rate)
    risk = risk_of(Plan.sum_of(LossPair(p, q, ordered=True)), event)
    assert risk.mu is None
    assert risk.rates[0].tpr_at_most >= event
    whole = revealing_event(event) + LossPair(p, q, ordered=True)
    assert account(whole, delta="0.1", risk=True, curve=False).risk == risk


def test_a_plan_that_is_accounted_by_rho_alone() -> None:
    with pytest.raises(BadValue, match="full=True"):
        account(Laplace(epsilon=1), risk=True, full=False)
