"""Top-k and selections one way: laws of what is drawn, one-shot noise, limits of many ties, accuracy, refusals."""

from __future__ import annotations

from itertools import permutations, product
from math import exp, log, sqrt, tanh
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded
from mpmath import mp
from neighbours.selection import Winner, exponential, laplace_max, peeled, permute_and_flip

import zcdp
from zcdp import BoundedRange, DiscreteGaussian, ExponentialMechanism, PermuteAndFlip, Plan, ReportNoisyMax, TopK
from zcdp.accounting.baselines import PURE, usual
from zcdp.plans.plan_file import PlanFileError, read_plan

WINNERS: dict[str, Winner] = {"gumbel": exponential, "exponential": permute_and_flip, "laplace": laplace_max}
SCORES = [0.0, 1.5, -1.0, 0.5]


def chi_square(counts: list[int], law: list[float]) -> float:
    total = sum(counts)
    statistic = sum((n - total * p) ** 2 / (total * p) for n, p in zip(counts, law, strict=True))
    return float(mp.gammainc((len(law) - 1) / 2, statistic / 2, mp.inf, regularized=True))


@pytest.mark.parametrize("noise", WINNERS)
@pytest.mark.parametrize("monotone", [False, True])
def test_what_is_drawn_is_k_selections_of_an_equal_share(noise: str, monotone: bool) -> None:
    """epsilon 4 in all, two selections: scores weigh 4/2/(2 sensitivity) = 1/2, or twice that at half the moves."""
    m = TopK(epsilon=4, k=2, noise=noise, monotone=monotone)
    draws = [tuple(m.release(SCORES, sensitivity=4 if monotone else 2)) for _ in range(3000)]
    ways = list(permutations(range(4), 2))
    counts = [draws.count(way) for way in ways]
    assert chi_square(counts, peeled(WINNERS[noise], SCORES, 0.5, 2)) > 1e-6
    assert chi_square(counts, peeled(WINNERS[noise], SCORES, 1.0, 2)) < 1e-6  # of twice the budget


def test_arrays_and_lists_name_the_same_candidates() -> None:
    for scores in ([0, 10**6, 5, 10**7], np.array([0, 10**6, 5, 10**7]), (0.0, 1e6, 5.0, 1e7)):
        assert TopK(epsilon=9, k=2).release(scores, sensitivity=1) == [3, 1]
    assert sorted(TopK(epsilon=1, k=9).release([1] * 9, sensitivity=1)) == list(range(9))


def test_noise_drawn_once_has_the_same_law() -> None:
    """P(i first and j second) of Gumbel sums by an integral over the second, against one after another."""
    x = [mp.mpf(s) / 2 for s in SCORES]
    after = peeled(exponential, SCORES, 0.5, 2)
    for (i, j), expected in zip(permutations(range(4), 2), after, strict=True):
        rest = sum(mp.exp(x[n]) for n in range(4) if n not in (i, j))

        def density(u: mp.mpf, i: int = i, j: int = j, rest: mp.mpf = rest) -> mp.mpf:
            others = mp.exp(x[j] - u) * mp.exp(-(mp.exp(x[j]) + rest) * mp.exp(-u))  # j is at u, the rest below
            return others * -mp.expm1(-mp.exp(x[i] - u))  # and i above

        assert float(mp.quad(density, [-4, 0, 4, 40])) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("noise", WINNERS)
def test_many_ties_come_near_to_bounded_range(noise: str) -> None:
    """Which of two groups of ties the winner is of: the more there are, the nearer are its log-odds to eta/2."""
    eta = 0.7

    def odds(ties: int) -> float:
        ahead = float(WINNERS[noise]([1.0] * ties + [0.0] * ties, eta / 2)[:ties].sum())
        return log(ahead / (1 - ahead))

    few, many = (abs(odds(ties) - eta / 2) for ties in (4, 20))
    assert many <= max(few / 3, 1e-12)
    two = TopK(epsilon=2 * eta, k=2, noise=noise)
    p = 1 / (1 + exp(-eta / 2))
    assert two.rho_bounds[0] >= 2 * (2 * p - 1) * eta / 2 * (1 - 1e-12)


@pytest.mark.parametrize("noise", WINNERS)
def test_each_of_the_selections_is_what_it_is(noise: str) -> None:
    """Bridges take a mechanism apart: the parts must cost what the whole does, by name and in every unit."""
    one = {"gumbel": ExponentialMechanism, "exponential": PermuteAndFlip}.get(noise, ReportNoisyMax)(epsilon=1)
    [(part, count)] = TopK(epsilon=3, k=3, noise=noise).coordinates
    assert (repr(part), count) == (repr(one), 3)
    assert (part.rho, part.pure_epsilon) == (one.rho, one.pure_epsilon)
    assert part.rdp(4) == one.rdp(4)
    lower, upper = TopK(epsilon=3, k=3, noise=noise).epsilon_bounds(delta="0.01")
    assert 0 < lower < upper <= 3


def test_k_times_one_and_what_is_tight() -> None:
    assert TopK(epsilon=1, k=1).rho == ExponentialMechanism(epsilon=1).rho
    assert TopK(epsilon=1, k=10).rho == (10 * ExponentialMechanism(epsilon="0.1")).rho
    assert TopK(epsilon=1, k=10).epsilon_at(delta=1e-6) == (10 * BoundedRange(eta="0.1")).epsilon_at(delta=1e-6)
    assert TopK(epsilon=1, k=1, noise="exponential").rho_bounds == PermuteAndFlip(epsilon=1).rho_bounds
    lower, upper = TopK(epsilon=2, k=2, noise="exponential").rho_bounds
    assert upper == (2 * PermuteAndFlip(epsilon=1)).rho
    assert PermuteAndFlip(epsilon=1).rho * 0.999 < lower < upper
    assert not TopK(epsilon=2, k=2, noise="exponential").is_tight
    assert TopK(epsilon=2, k=2).group(3) == TopK(epsilon=6, k=2)
    written = Plan.parse("TopK(epsilon=1, k=10, monotone=True)")
    assert repr(written) == "TopK(epsilon=1, k=10, monotone=True)"
    assert Plan.from_json(written.to_json()) == written == Plan.sum_of(TopK(epsilon=1, k=10, monotone=True))
    assert written != Plan.sum_of(TopK(epsilon=1, k=10))  # The first is stated for add_remove neighbours alone.


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip, ReportNoisyMax])
@pytest.mark.parametrize("monotone", [False, True])
def test_one_that_falls_further_behind_is_rare(kind: type, monotone: bool) -> None:
    """Nine candidates at the distance that is told, and one ahead: the chance that it is not selected, from the law."""
    m = kind(epsilon=1, monotone=monotone)
    winner = {ExponentialMechanism: exponential, PermuteAndFlip: permute_and_flip}.get(kind, laplace_max)
    weight = 1 / 3 if monotone else 1 / 6
    told = m.falls_behind(10, sensitivity=3, level="0.9")
    missed = 1 - float(winner([told, *[0.0] * 9], weight)[0])
    assert missed <= 0.1
    if kind is ExponentialMechanism:
        assert missed == pytest.approx(0.1, abs=1e-6)
    assert 1 - float(winner([0.8 * told, *[0.0] * 9], weight)[0]) > 0.1
    assert m.falls_behind(1) == 0
    assert 2 * kind(epsilon=1, monotone=True).relative_error == kind(epsilon=1).relative_error


@pytest.mark.parametrize("noise", WINNERS)
def test_all_of_several_selections_are_as_near_as_is_told(noise: str) -> None:
    """Three ahead of seven by the distance that is told: the chance that one of the three is missed, from the law."""
    m = TopK(epsilon=3, k=3, noise=noise)
    told = m.falls_behind(10, level="0.9")
    scores = [told] * 3 + [0.0] * 7

    def missed(ahead: int) -> float:
        """The chance that so many that are ahead, and the seven, are not selected in this order."""
        if not ahead:
            return 0.0
        hit = sum(float(p) for p in WINNERS[noise](scores[3 - ahead :], 0.5)[:ahead])
        return 1 - hit + hit * missed(ahead - 1)

    assert missed(3) <= 0.1
    one = ExponentialMechanism(epsilon=1).falls_behind(10, level="0.9")
    if noise == "gumbel":
        scores = [one] * 3 + [0.0] * 7
        assert missed(3) > 0.1  # what is told of one selection does not hold for three
    assert TopK(epsilon=1, k=1).falls_behind(10) == ExponentialMechanism(epsilon=1).falls_behind(10)
    with pytest.raises(ValueError, match=r"candidates \(2\)"):
        m.falls_behind(2)


@pytest.mark.parametrize("noise", WINNERS)
@pytest.mark.parametrize(("k", "candidates"), [(3, 3), (2, 3), (9, 10)])
def test_candidates_that_are_further_apart_than_is_told_are_selected_in_order(
    noise: str, k: int, candidates: int
) -> None:
    """Each is ahead of the next by a little more than the distance that is told, the last of those left among them."""
    m = TopK(epsilon=k, k=k, noise=noise)
    step = m.falls_behind(candidates, level="0.9") + 1e-3
    chance = 1.0
    for left in range(candidates, candidates - k, -1):
        chance *= float(WINNERS[noise]([step * n for n in range(left, 0, -1)], 0.5)[0])
    assert chance >= 0.9


def test_elsewhere_each_selection_is_charged_by_itself() -> None:
    """Four of epsilon 1/2: epsilon^2/8 of each where noise is of bounded range, else epsilon^2/2."""
    pure = pytest.approx(4 * 0.5 * tanh(0.25))
    assert usual(TopK(epsilon=2, k=4)) == {"epsilon^2/8": pytest.approx(4 * 0.25 / 8), PURE: pure}
    for noise in ("exponential", "laplace"):
        assert usual(TopK(epsilon=2, k=4, noise=noise)) == {"epsilon^2/2": pytest.approx(4 * 0.25 / 2), PURE: pure}
        assert set(usual(ReportNoisyMax(epsilon=1, noise=noise))) == {"epsilon^2/2", PURE}
    assert usual(ReportNoisyMax(epsilon=1, noise="gumbel"))["epsilon^2/8"] == pytest.approx(1 / 8)


@pytest.mark.parametrize("noise", WINNERS)
def test_several_selections_cost_what_they_do_one_after_another(noise: str) -> None:
    """At every order as many times one; and never less than two groups of ties tell, all ways enumerated."""
    k, each = 3, 0.8
    m = TopK(epsilon="2.4", k=k, noise=noise)
    kinds = {"gumbel": ExponentialMechanism, "exponential": PermuteAndFlip, "laplace": ReportNoisyMax}
    one = kinds[noise](epsilon="0.8")
    laws = [np.array(peeled(WINNERS[noise], [a] * 3 + [1.0 - a] * 3, each / 2, k)) for a in (1.0, 0.0)]
    for order in (1.01, 1.5, 2, 5, 40):
        told = m.rdp(order)
        assert told == pytest.approx(k * one.rdp(order), rel=1e-9)
        assert told >= np.log((laws[0] ** order * laws[1] ** (1 - order)).sum()) / (order - 1)
    assert m.rdp(1) == pytest.approx(k * one.rdp(1), rel=1e-9)
    assert m.rdp(float("inf")) == pytest.approx(k * each)
    assert m.rho == pytest.approx(k * one.rho, rel=1e-9)
    for share in (0.2, 0.5, 0.9):
        worst = np.maximum(laws[0] - np.exp(share * k * each) * laws[1], 0).sum()
        assert m.delta_at(epsilon=share * k * each) >= worst
    assert m.rho_bounds[0] <= k * one.rho


PLAN = """
[data]
unit = "row"
neighbours = "%s"
[domain.region]
values = ["a", "b", "c"]
[[query]]
name = "best"
measure = "top"
of = "region"
k = 2
mechanism = "%s"
"""


@pytest.mark.parametrize(
    ("neighbours", "mechanism", "told"),
    [
        ("add-remove", "ExponentialMechanism(epsilon=1)", "2 * ExponentialMechanism(epsilon=1, monotone=True)"),
        (
            "add-remove",
            "ExponentialMechanism(epsilon=1, monotone=True)",
            "2 * ExponentialMechanism(epsilon=1, monotone",
        ),
        ("replace", "ExponentialMechanism(epsilon=1)", "2 * ExponentialMechanism(epsilon=1)"),
        ("replace", "ExponentialMechanism(epsilon=1, monotone=True)", None),
    ],
)
def test_whether_counts_move_one_way_follows_from_the_neighbours(
    neighbours: str, mechanism: str, told: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN % (neighbours, mechanism))
    if told is None:
        with pytest.raises(PlanFileError, match="monotone is not typed in: the bounds say that scores may move both"):
            read_plan(path)
        return
    [entry] = read_plan(path).entries
    assert repr(entry.count * entry.plan).startswith(told)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"k \(4\) must be at most the number of scores \(3\)"):
        TopK(epsilon=1, k=4).release([1, 2, 3], sensitivity=1)
    with pytest.raises(ValueError, match="at least one"):
        TopK(epsilon=1, k=4).release([], sensitivity=1)
    for wrong in (3, np.ones((2, 2)), {"a": 1}):
        with pytest.raises((TypeError, ValueError), match=r"^scores must be"):
            TopK(epsilon=1, k=2).release(wrong, sensitivity=1)
    with pytest.raises(ValueError, match=r"b \(sqrt\(1/2\)\) must be at least 1 for integer answers"):
        DiscreteGaussian(sigma=1, sensitivity="sqrt(0.5)")
    with pytest.raises(ValueError, match=r"k \(0\) must be at least 1"):
        TopK(epsilon=1, k=0)
    with pytest.raises(TypeError, match=r"monotone \('yes'\) must be True or False"):
        ExponentialMechanism(epsilon=1, monotone="yes")
    with pytest.raises(ValueError, match="must be a rational number, which k"):
        TopK(epsilon="log(3)", k=2)


SIZE = 6000


@pytest.fixture(autouse=True)
def seeded_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(29))


def check(found: Any, chance: float) -> None:
    assert float(np.mean(found)) == pytest.approx(chance, abs=5 * sqrt(chance * (1 - chance) / SIZE))


@pytest.mark.parametrize("monotone", [False, True])
def test_outputs_of_top_k_tell_which_of_two_tied_groups_was_selected_from(monotone: bool) -> None:
    """Four candidates that are ahead fall behind four others: how often the first selection is of the former."""
    m = zcdp.TopK(epsilon=4, k=2, monotone=monotone)
    rate = 2.0 if monotone else 1.0
    laws = [
        _of_first_group([1.0] * 4 + [0.0] * 4, rate),
        _of_first_group([0.0] * 4 + [0.0 if monotone else 1.0] * 4, rate),
    ]
    for outputs, law in zip(m.neighbouring_outputs(SIZE), laws, strict=True):
        for many, chance in enumerate(law):
            check(outputs == many, chance)


def _of_first_group(scores: list[float], rate: float) -> list[float]:
    """The law of how many of two selections by Gumbel noise are among the first four."""
    first = exponential(scores, rate)
    found = [0.0] * 3
    for i, j in product(range(8), repeat=2):
        if i != j:
            left = [n for n in range(8) if n != i]
            second = exponential([scores[n] for n in left], rate)[left.index(j)]
            found[(i < 4) + (j < 4)] += float(first[i] * second)
    return found
