"""Found keys: the threshold from the exact delta, by an independent sum, and what a plan file may say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from mpmath import mp, mpf

from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.tables.discovered_keys import Discovered, appears, threshold

PLAN = """
[data]
unit = "{unit}"
[domain.employer]
discover = true
max_cells = {cells}
mechanism = "{mechanism}"
delta = "{delta}"
other = "others"
{more}
[[query]]
name = "a"
measure = "count"
by = ["employer"]
{query}
mechanism = "DiscreteGaussian(sigma=9)"
"""
GIVEN = {
    "unit": "who",
    "cells": 3,
    "mechanism": "DiscreteGaussian(sigma=20)",
    "delta": "1e-11",
    "more": "",
    "query": "",
}


def plan(**fields: Any) -> Any:
    return read_plan("plan.toml", PLAN.format(**{**GIVEN, **fields}))


def tail(sigma: int, least: int, keys: int) -> mpf:
    """The probability that one of so many counts of 1 comes to `least` or more, summed at 60 digits."""
    with mp.workdps(60):
        weight = [mp.exp(-mpf(x * x) / (2 * sigma * sigma)) for x in range(60 * sigma)]
        whole = weight[0] + 2 * mp.fsum(weight[1:])
        p = mp.fsum(weight[least - 1 :]) / whole
        return 1 - (1 - p) ** keys


@pytest.mark.parametrize(
    ("sigma", "delta", "keys"), [(10, "1e-10", 1), (20, "1e-11", 3), (2, "0.2", 2), (3, "1e-6", 50)]
)
def test_the_threshold_is_the_least_that_keeps_delta(sigma: int, delta: str, keys: int) -> None:
    most, least = Fraction(delta), threshold(Fraction(sigma**2), Fraction(delta), keys)
    charged = appears(Fraction(sigma**2), least, keys)
    true = tail(sigma, least, keys)
    assert true <= mpf(charged.numerator) / charged.denominator <= true * (1 + mpf("1e-5"))
    assert charged <= most
    assert tail(sigma, least - 1, keys) > mpf(most.numerator) / most.denominator * (1 - mpf("1e-5"))


@pytest.mark.parametrize(("sigma", "delta"), [("0.1", "1e-9"), ("0.001", "1e-300"), ("0.5", "0.4"), ("20", "1e-300")])
def test_the_smallest_noise_and_delta_have_a_threshold(sigma: str, delta: str) -> None:
    """Two persons at least: one alone would be published in more than half of all cases."""
    least = threshold(Fraction(sigma) ** 2, Fraction(delta), 1)
    assert 2 <= least <= 2 + 38 * float(sigma)
    with mp.workdps(700):
        weight = [mp.exp(-mpf(x * x) / (2 * mpf(sigma) ** 2)) for x in range(2000)]
        true = mp.fsum(weight[least - 1 :]) / (1 + 2 * mp.fsum(weight[1:]))
        found = appears(Fraction(sigma) ** 2, least, 1)
        assert true <= mpf(found.numerator) / found.denominator <= mpf(delta)
    assert len(plan(mechanism=f"DiscreteGaussian(sigma={sigma})", delta=delta).entries) == 3


@pytest.mark.parametrize(("sigma", "delta"), [(5000, "1e-9"), (10**6, "1e-9"), (10**6, "1e-100"), (10**12, "0.4")])
def test_wide_noise_has_a_threshold_by_integrals(sigma: int, delta: str) -> None:
    """The tail of a density between sums of its steps: above the true one by a tenth at most, and never below."""
    least = threshold(Fraction(sigma**2), Fraction(delta), 1)
    found = appears(Fraction(sigma**2), least, 1)
    with mp.workdps(150):
        reach = [mpf(least - 1 + shift) / sigma / mp.sqrt(2) for shift in (-1, 0)]
        most, lowest = (mp.erfc(one) / 2 for one in reach)  # integrals around the sum
        assert lowest <= mpf(found.numerator) / found.denominator <= most * mpf("1.1")
    assert found <= Fraction(delta)


def test_the_entries_are_the_noise_and_the_event() -> None:
    noise, event, _ = plan().entries
    assert (noise.name, noise.count, noise.text) == ("keys of employer", 3, "DiscreteGaussian(sigma=20)")
    assert (event.name, event.text) == ("keys of employer: threshold", "published from 139 on, noise included")
    assert event.plan.delta_at(epsilon=9) == float(appears(Fraction(400), 139, 3))
    swapped = read_plan("plan.toml", PLAN.format(**GIVEN).replace("[data]", '[data]\nneighbours = "replace"'))
    assert swapped.entries[0].count == 6


def test_later_costs_do_not_depend_on_how_many_keys_are_found() -> None:
    tables = plan(query="max_cells = 7").tables
    assert tables is not None
    assert tables.queries[0].reached == 7
    [domain] = tables.discovered
    assert domain.found(["A"]).labels == ("A", "others")


def test_what_may_be_a_key_is_a_public_rule() -> None:
    domain = Discovered("e", "e", "text", 1, Fraction(1, 9), "others", 9)
    assert domain.is_key("Soci\u00e9t\u00e9\u00a0G")
    for odd in ("", "others", "a\x00b", "x" * 201, "a\nb", 3):
        assert not domain.is_key(odd)
    whole = Discovered("e", "e", "integer", 1, Fraction(1, 9), -1, 9)
    assert [value for value in (5, -1, 2**53, 0) if whole.is_key(value)] == [5, 0]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no noise of this kind": ({"mechanism": "DiscreteLaplace(scale=2)"}, "is DiscreteGaussian"),
    "open": ({"mechanism": "DiscreteGaussian(sigma=?)"}, "is DiscreteGaussian"),
    "typed sensitivity": ({"mechanism": "DiscreteGaussian(sigma=2, sensitivity=3)"}, "sensitivity is not typed in"),
    "no delta": ({"delta": "0"}, "delta \\(0\\) must be at least 1e-300, and below 1/2"),
    "a delta below doubles": ({"delta": "1e-400"}, "delta \\(1e-400\\) must be at least 1e-300"),
    "a delta that says nothing": ({"delta": "0.5"}, "delta \\(0.5\\) must be at least 1e-300, and below 1/2"),
    "typed threshold": ({"more": "threshold = 5"}, "has no such field"),
    "a row has one key": ({"unit": "row"}, "an integer from 1 to 1"),
    "another kind": ({"more": 'kind = "number"'}, "kind must be text or integer"),
    "other of another kind": ({"more": 'kind = "integer"'}, "other must be a key like the others"),
    "adds up": ({"query": 'adds_up = "x"'}, "is not made to add up"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    fields, message = WRONG[name]
    with pytest.raises(PlanFileError, match=message):
        plan(**fields)


def test_other_is_required() -> None:
    with pytest.raises(PlanFileError, match="other is missing: the key for all who have none"):
        read_plan("plan.toml", PLAN.format(**GIVEN).replace('other = "others"\n', ""))
