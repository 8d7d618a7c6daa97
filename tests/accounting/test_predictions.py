"""Accuracies before data: those of simulated intervals and ranks, and noise that just meets a target."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from release.noise_laws import chances, drawn_often, gaussian

from zcdp.accounting.allocation import Query
from zcdp.accounting.plan_account import Account, account
from zcdp.accounting.predictions import GUESSES, Prediction, first_counts, predictions
from zcdp.mechanisms import DiscreteGaussian
from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.release.bounding import Exact
from zcdp.tables.cumulated_counts import CumulatedCounts, group_sizes

HEAD = '[data]\nunit = "row"\n[domain.bins]\ncolumn = "pay"\nfrom = 0\nto = 20\nbins = 20\n'
HEAD += '[domain.many]\ncolumn = "code"\nfrom = 0\nto = 200\nbins = 200\n[[query]]\nname = "a"\n'
MEAN = HEAD + 'measure = "mean"\nof = "pay"\nclip = [0, 1000]\ngrid = "1/10"\n'
MEAN += 'mechanism = "DiscreteGaussian(sigma={})"\ncount_mechanism = "DiscreteGaussian(sigma={})"\n{}'
RANKS = HEAD + 'measure = "quantiles"\nof = "bins"\nquantiles = [0.5, 0.9]\nmechanism = "{}"\n{}'


def predicted(text: str) -> tuple[Prediction, ...]:
    return predictions(read_plan("plan.toml", text))["a"]


def test_an_accuracy_is_told_for_three_guesses_or_for_the_one_of_the_plan() -> None:
    text = MEAN.format(70711, 14, "")
    found = predicted(text)
    assert [one.persons for one in found] == list(GUESSES)
    assert found[1].half_width == pytest.approx(found[2].half_width * 10)
    [one] = predicted(text + "expect = 250\n")
    assert one.persons == 250
    few = predicted(text + "expect = 20\n")[0]
    assert few.half_width == few.typical == 500  # twenty persons are within the noise: all of the clip


@pytest.mark.parametrize(("mean", "which"), [(750, "typical"), (940, "between"), (985, "half_width")])
def test_the_half_width_of_a_mean_is_that_of_simulated_intervals(mean: int, which: str) -> None:
    """Down from the value, where no end of the clip cuts it.

    What is told is of a mean at the end of the clip, and half way there. Both noises weigh the same at the end, so that
    in between, at a part x of the way, the half-width is sqrt((1 + x^2)/2) of that at the end: 6% less at 940.
    """
    persons, text = 2000, MEAN.format(70711, 14, "")
    exact = Exact([persons], [persons * (10 * mean - 5000)])
    tables = drawn_often(text, exact, 200, 5, [("gaussian", 70711.0), ("gaussian", 14.0)])
    halves = [table.columns["value"][0] - table.columns["lower"][0] for table in tables]
    [told] = predicted(text + f"expect = {persons}\n")
    if which != "between":
        assert getattr(told, which) == pytest.approx(np.median(halves), rel=0.05)
    part = (mean - 500) / 500
    assert told.half_width * np.sqrt((1 + part**2) / 2) == pytest.approx(np.median(halves), rel=0.03)


def simulated(text: str, exact: Exact, laws: list[tuple[str, float]]) -> float:
    """Half of the interval of simulated tables, by the median."""
    tables = drawn_often(text, exact, 200, 5, laws)
    return float(np.median([(table.columns["upper"][0] - table.columns["lower"][0]) / 2 for table in tables]))


def test_the_half_width_of_a_variance_is_that_of_simulated_intervals() -> None:
    """Of 3000 persons evenly between 0 and 100: a third of the square of 50 is the mean square about the middle."""
    text = HEAD + 'measure = "variance"\nof = "pay"\nclip = [0, 100]\ngrid = 1\nexpect = 3000\nmechanism = "DiscreteGau'
    text += 'ssian(sigma=700)"\nsquare_mechanism = "DiscreteGaussian(sigma=18000)"\n'
    text += 'count_mechanism = "DiscreteGaussian(sigma=14)"\n'
    exact = Exact([3000], [0], [3000 * (2500 // 3 - 1250)])
    half = simulated(text, exact, [("gaussian", 700.0), ("gaussian", 18_000.0), ("gaussian", 14.0)])
    assert predicted(text)[0].half_width == pytest.approx(half, rel=0.05)


def test_the_half_width_of_a_ratio_is_that_of_simulated_intervals() -> None:
    """Of 2000 persons in the middle of both clips: 50 over 20."""
    text = HEAD + 'measure = "ratio"\nof = "pay"\nclip = [0, 100]\ngrid = 1\nover = "h"\nover_clip = [0, 40]\n'
    text += 'over_grid = 1\nexpect = 2000\nmechanism = "DiscreteGaussian(sigma=900)"\n'
    text += 'over_mechanism = "DiscreteGaussian(sigma=400)"\n'
    half = simulated(text, Exact([2000], [100_000], [40_000]), [("gaussian", 900.0), ("gaussian", 400.0)])
    assert predicted(text)[0].half_width == pytest.approx(half, rel=0.05)


def test_the_error_of_a_rank_is_that_of_simulated_counts() -> None:
    rng, counts = np.random.default_rng(6), CumulatedCounts(group_sizes(20))
    errors = []
    for _ in range(3000):
        noisy = [np.rint(rng.normal(0, 9, size)).astype(int).tolist() for size in counts.sizes]
        ranks, below = counts.ranks(noisy, Fraction(9, 10))
        errors.append([abs(rank / below / 10) for rank in ranks])
    worst = max(np.quantile(errors, 0.95, axis=0))
    told = predicted(RANKS.format("DiscreteGaussian(sigma=9)", "expect = 5000\n"))[0]
    assert told.half_width == pytest.approx(worst / 5000, rel=0.05)


def test_selections_are_told_by_their_ranks_and_counts() -> None:
    told = predicted(RANKS.format("ExponentialMechanism(epsilon=1)", "expect = 1000\n"))[0]
    # 19 others, two quantiles of which one misses with 1/20, and scores of the 90% quantile that move by 0.9
    assert told.half_width == pytest.approx(2 * 0.9 * np.log(19 * 39) / 1000, rel=1e-2)
    assert told.note is None
    three = RANKS.replace("[0.5, 0.9]", "[0.25, 0.5, 0.75]").format("ExponentialMechanism(epsilon=1)", "")
    assert "cumulated" in (predicted(three)[0].note or "")


@pytest.mark.parametrize(("k", "better"), [(1, False), (5, True), (20, True)])
def test_counts_are_advised_where_they_tell_more_than_a_top_list(k: int, better: bool) -> None:
    """At rho = 0.005 and 200 keys a count is within 49, a selection of 1, 5 and 20 keys within 41, 92 and 184."""
    epsilon = (8 * 0.005 / k) ** 0.5  # rho of a selection is about epsilon^2/8
    text = f'measure = "top"\nof = "many"\nk = {k}\nmechanism = "ExponentialMechanism(epsilon={epsilon:.6f})"\n'
    [told] = predicted(HEAD + text)
    assert told.half_width == pytest.approx({1: 38, 5: 100, 20: 230}[k], rel=0.2)
    assert (told.note is not None) == better


@pytest.mark.parametrize(("keys", "k", "level"), [(6, 1, 0.93), (6, 2, 0.93), (30, 5, 0.945)])
def test_the_first_of_noisy_counts_fall_behind_by_no_more_than_told(keys: int, k: int, level: float) -> None:
    """For counts that are all alike, and for steps of which each is a danger; by brute force over draws."""
    rng, noise = np.random.default_rng(5), DiscreteGaussian(sigma=10)
    told = first_counts(keys, k, noise)
    for apart in (0.0, told / 3, told * 1.001 / 2, told * 1.001):
        counts = np.sort(np.arange(keys) * -apart / max(keys - 1, 1) * 3)[::-1]
        fell = 0
        for _ in range(2000):
            order = np.argsort(-(counts + np.rint(rng.normal(0, 10, keys))), kind="stable")
            fell += counts[order[k:]].max() - counts[order[:k]].min() > told
        assert fell / 2000 <= 0.05 + 0.01


def test_the_pairs_that_may_fall_behind_are_those_counted() -> None:
    """One of n equal keys for each of the k largest: with two keys one pair, by the exact law of a difference."""
    x, p = chances(gaussian(10), 200)
    apart = np.abs(x[:, None] - x[None, :])
    weight = p[:, None] * p[None, :]
    for keys, k, pairs in ((2, 1, 1), (10, 1, 9), (10, 3, 24), (4, 4, 6)):
        told = first_counts(keys, k, DiscreteGaussian(sigma=10))
        beyond = float(weight[apart > told].sum()) / 2
        least = float(weight[apart > told - 2].sum()) / 2
        assert beyond <= 0.05 / pairs < least


@pytest.mark.parametrize(("wish", "clip"), [(20, "[0, 1000]"), (3, "[-50, 70]")])
def test_noise_that_meets_its_targets_meets_that_of_the_mean(wish: int, clip: str) -> None:
    """Each part as large as it may be: the mean is within its target, and not far below."""
    text = MEAN.format("?", "?", f"expect = 1500\nhalf_width = {wish}\n").replace("[0, 1000]", clip)
    entries = read_plan("plan.toml", text).entries
    found = [Query(DiscreteGaussian, half_width=one.half_width, free="sigma").at_target() for one in entries]
    closed = text.replace(f"half_width = {wish}\n", "").replace("?", "{}").format(*found)
    half = predicted(closed)[0].half_width
    assert 0.93 * wish < half <= wish


def test_noise_that_meets_its_target_meets_that_of_the_ranks() -> None:
    text = RANKS.format("DiscreteGaussian(sigma=?)", "expect = 4000\nhalf_width = 0.02\n")
    [entry] = read_plan("plan.toml", text).entries
    sigma = Query(DiscreteGaussian, half_width=entry.half_width, free="sigma").at_target()
    half = predicted(RANKS.format(f"DiscreteGaussian(sigma={sigma})", "expect = 4000\n"))[0].half_width
    assert 0.93 * 0.02 < half <= 0.02


def test_a_target_needs_a_guess_and_noise() -> None:
    for text, why in (
        (MEAN.format("?", "?", "half_width = 5\n"), "needs expect"),
        (RANKS.format("DiscreteGaussian(sigma=?)", "half_width = 0.02\n"), "needs expect"),
        (RANKS.format("ExponentialMechanism(epsilon=?)", "half_width = 0.02\nexpect = 9\n"), "a selection has no"),
        (MEAN.format(9, 9, "expect = 0\n"), "expect"),
    ):
        with pytest.raises(PlanFileError, match=why):
            read_plan("plan.toml", text)


def test_an_account_holds_what_is_predicted() -> None:
    ratio = HEAD + 'measure = "ratio"\nof = "pay"\nclip = [0, 100]\ngrid = 1\nover = "h"\nover_clip = [0, 10]\n'
    ratio += 'over_grid = 1\nmechanism = "DiscreteGaussian(sigma=500)"\nover_mechanism = "DiscreteGaussian(sigma=50)"\n'
    variance = HEAD + 'measure = "variance"\nof = "pay"\nclip = [0, 100]\ngrid = 1\nmechanism = "DiscreteGaussian('
    variance += 'sigma=500)"\nsquare_mechanism = "DiscreteGaussian(sigma=20000)"\ncount_mechanism = "DiscreteGaussian('
    variance += 'sigma=9)"\n'
    for text, what in ((ratio, "ratio"), (variance, "variance"), (MEAN.format(900, 9, ""), "mean")):
        made = account(read_plan("plan.toml", text), curve=False)
        first, *others = made.queries
        assert {one.what for one in first.predicted} == {what}
        assert not any(one.predicted for one in others)
        assert Account.from_dict(made.to_dict()) == made
        halves = [one.half_width for one in first.predicted]
        assert halves == sorted(halves, reverse=True)
    # ten thousand persons of 50 over 5 each: the ratio 10 moves by the noise of the sum, and ten times that below
    [told] = predicted(ratio + "expect = 10000\n")
    assert told.half_width == pytest.approx(1.97 * (500**2 + (10 * 50) ** 2) ** 0.5 / 50_000, rel=0.02)
