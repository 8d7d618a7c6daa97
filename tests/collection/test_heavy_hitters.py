"""Frequent strings that nobody listed: privacy by the exact law, judges who took no part, false ones, coverage."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from collection.exact_tree import planted
from mpmath import mp, mpf

import zcdp
from zcdp import HeavyHitters
from zcdp.errors import BadType, BadValue

SMALL = HeavyHitters(epsilon="log(4)", alphabet="ab", length=2, g=3, levels=(1, 2, 2), weights=(2, 1, 1))
STRINGS = ["", "a", "b", "aa", "ab", "ba", "bb"]


def by_definition(string: str) -> dict[str, Fraction]:
    """The law of a report: level by weight, uniform vector, bucket by randomized response with e^epsilon = 4."""
    number = int("".join(str(" ab".index(one)) for one in string.ljust(2)), 3)
    digits, law = divmod(number, 3), {}
    for level, (depth, weight) in enumerate(((1, 2), (2, 1), (2, 1))):
        for vector in product(range(3), repeat=depth):
            bucket = sum(a * v for a, v in zip(vector, digits, strict=False)) % 3
            for z in range(3):
                report = bytes([level, z, *vector, *[0] * (2 - depth)]).hex()
                law[report] = Fraction(weight, 4) / 3**depth * Fraction(4 if z == bucket else 1, 6)
    return law


@pytest.mark.parametrize("string", STRINGS)
def test_a_report_has_exactly_its_law(string: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = planted(monkeypatch)
    assert tree.law(lambda: SMALL.report(string).hex()) == by_definition(string)


def test_arrays_have_the_same_law() -> None:
    n = 60_000
    for string in ("", "ba"):
        found = Counter(row.tobytes().hex() for row in SMALL.release([string] * n))
        law = by_definition(string)
        assert set(found) <= set(law)
        statistic = sum((found[one] - float(p) * n) ** 2 / (float(p) * n) for one, p in law.items())
        assert float(mp.gammainc(mpf(len(law) - 1) / 2, statistic / 2, mp.inf, regularized=True)) > 1e-7


@pytest.mark.parametrize("epsilon", ["0", "1/2", "0.7", "1.3", "1.3863"])
def test_the_plan_covers_every_two_strings_and_is_met_by_some(epsilon: str) -> None:
    """The hockey-stick divergence of the exact laws, level included, against delta of the plan."""
    e = Fraction(exp(float(Fraction(epsilon))))
    laws = {one: by_definition(one) for one in STRINGS}
    worst = max(
        sum((max(p - e * laws[b][report], Fraction(0)) for report, p in laws[a].items()), Fraction(0))
        for a, b in permutations(STRINGS, 2)
    )
    claimed = SMALL.plan.delta_at(epsilon=epsilon)
    assert float(worst) <= claimed + 1e-12
    assert claimed <= float(worst) + 1e-9  # two strings that differ in their first digit meet it


def test_one_client_sends_one_report_of_the_mechanism() -> None:
    words = HeavyHitters(epsilon=4, alphabet="abcdefghijklmnopqrstuvwxyz", length=6)
    assert words.plan == 1 * zcdp.LocalHashing(epsilon=4, g=53, random_hash=True)
    assert words.levels == (3, 5, 5)
    assert words.report_bytes == 7
    assert words.weights == (16, 20, 9)


def zipf(design: HeavyHitters, strings: list[str], n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    law = 1 / np.arange(1, len(strings) + 1)
    law /= law.sum()
    return [strings[one] for one in rng.choice(len(strings), n, p=law)], law


def test_frequent_strings_are_found_with_intervals_around_the_truth() -> None:
    rng = np.random.default_rng(5)
    design = HeavyHitters(epsilon=4, alphabet="abcdefghij", length=5)
    strings = sorted({"".join(rng.choice(list("abcdefghij"), rng.integers(3, 6))) for _ in range(600)})
    rng.shuffle(strings)
    held, law = zipf(design, strings, 60_000, rng)
    found = design.find(design.release(held), top=10, level="0.999999")
    assert found.top(3).strings == tuple(strings[:3])
    truth = np.array([law[strings.index(one)] if one in strings else 0.0 for one in found.strings])
    assert (found.lower <= truth).all()
    assert (truth <= found.upper).all()
    assert set(found.heavy().strings) <= set(strings)
    assert found.heavy(above=0.02).strings == tuple(
        one for one, low in zip(found.strings, found.lower, strict=True) if low > 0.02
    )
    assert found.judges < found.reports == 60_000


def test_judges_take_no_part_in_the_search() -> None:
    """Other reports of the last level change the estimates, and not which strings are judged."""
    rng = np.random.default_rng(6)
    design = HeavyHitters(epsilon=3, alphabet="abcd", length=4)
    reports = design.release(["abcd"] * 2000 + ["dcba"] * 1500 + ["aa"] * 1000)
    found = design.find(reports, top=5)
    last = reports[:, 0] == len(design.levels) - 1
    reports[last, 1] = rng.integers(0, design.g, last.sum())
    again = design.find(reports, top=5)
    assert set(again.strings) == set(found.strings)
    assert found.heavy().strings
    assert not again.heavy().strings


def test_the_risk_is_shared_by_all_candidates() -> None:
    """The interval of a candidate is that of the judges' counts at risk/m, by another way to compute it."""
    design = HeavyHitters(epsilon=2, alphabet="abc", length=3)
    reports = design.release(["abc"] * 900 + ["cab"] * 600)
    found = design.find(reports, top=3, level="0.9")
    judges = reports[reports[:, 0] == len(design.levels) - 1]
    digits, n = design.code.digits(found.strings, design.g), len(judges)
    assert n == found.judges
    support = design.mechanism.support
    for place in range(len(found)):
        count = sum(int(row[2:].astype(int) @ digits[place]) % design.g == row[1] for row in judges)
        assert found.frequencies[place] == pytest.approx((count / n - support.q) / (support.p - support.q))
        for end, beyond in ((found.lower[place], range(count, n + 1)), (found.upper[place], range(count + 1))):
            chance = support.q + (support.p - support.q) * float(end)
            tail = sum(comb(n, j) * mpf(chance) ** j * (1 - mpf(chance)) ** (n - j) for j in beyond)
            inside = 0 < end < 1
            assert not inside or float(tail) == pytest.approx(0.05 / len(found), rel=1e-3)


@pytest.mark.deep
def test_false_ones_and_misses_are_as_rare_as_stated() -> None:
    """Of 400 collections each: at most 5 % may name a string that nobody holds, or miss a frequency."""
    rng, runs = np.random.default_rng(), 400
    design = HeavyHitters(epsilon=1, alphabet="ab", length=6)
    strings = ["".join(one) for one in product("ab", repeat=6)]
    false = missed = 0
    for _ in range(runs):
        some = [strings[n] for n in rng.permutation(len(strings))[:12]]
        held, law = zipf(design, some, 6000, rng)
        found = design.find(design.release(held), top=50)
        truth = np.array([law[some.index(one)] if one in some else 0.0 for one in found.strings])
        false += not set(found.heavy().strings) <= set(some)
        missed += not ((found.lower <= truth) & (truth <= found.upper)).all()
    most = next(
        m for m in range(runs) if sum(comb(runs, j) * 0.05**j * 0.95 ** (runs - j) for j in range(m + 1)) > 1 - 1e-6
    )
    assert max(false, missed) <= most, (false, missed)


def test_a_design_is_read_back_and_refused_where_its_parts_disagree() -> None:
    made = HeavyHitters(epsilon="1.5", alphabet="abc", length=7)
    assert HeavyHitters.read(json.dumps(made.design())) == made
    assert eval(repr(made), {"HeavyHitters": HeavyHitters}) == made
    for change in (
        {"format": "x"},
        {"report": 7},
        {"levels": [1, 2]},
        {"weights": [1]},
        {"mechanism": "Laplace(epsilon=1)"},
    ):
        with pytest.raises(ValueError, match=r"the design|levels|weights"):
            HeavyHitters.read(json.dumps(made.design() | change))
    with pytest.raises(BadValue, match=r"is no design of strings"):
        HeavyHitters.read("[]")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(BadValue, match=r"g .9. must be a prime of at most 251"):
        HeavyHitters(epsilon=1, alphabet="ab", length=3, g=9)
    with pytest.raises(BadValue, match=r"must rise to all 3 digits"):
        HeavyHitters(epsilon=1, alphabet="ab", length=3, g=3, levels=(2, 3))
    with pytest.raises(BadValue, match=r"must rise to all 3 digits"):
        HeavyHitters(epsilon=1, alphabet="ab", length=3, g=3, levels=(2, 1, 3, 3))
    with pytest.raises(BadValue, match=r"weights"):
        HeavyHitters(epsilon=1, alphabet="ab", length=3, g=3, levels=(2, 3, 3), weights=(1, 0, 1))
    with pytest.raises(BadType, match=r"a list of strings"):
        SMALL.release("ab")
    with pytest.raises(BadValue, match=r"reports must be rows of 4 bytes"):
        SMALL.find(np.zeros((3, 5), dtype=np.uint8))
    with pytest.raises(BadValue, match=r"levels or digits that the design has not"):
        SMALL.find(np.full((3, 4), 7, dtype=np.uint8))
    with pytest.raises(BadValue, match=r"2 reports are too few"):
        SMALL.find(SMALL.release(["a", "b"]))


def test_g_is_about_what_has_the_least_variance() -> None:
    for epsilon in (0.5, 1, 2, 4):
        g = HeavyHitters(epsilon=epsilon, alphabet="ab", length=3).g
        assert abs(log(g) - log(exp(epsilon) + 1)) < 0.25
