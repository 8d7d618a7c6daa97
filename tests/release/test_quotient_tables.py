"""Published means, sums with them, ratios and variances: intervals that hold at 95%, figures by hand."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isinf, sqrt

import numpy as np
import pytest
from release.noise_laws import deviation, drawn_often, gaussian, half, laplace, published_with

from zcdp import DiscreteGaussian
from zcdp.accounting.quotient_accuracy import sum_accuracy
from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.release.bounding import Exact
from zcdp.tables.clipped_sums import Amount

HEAD = '[data]\nunit = "row"\n[domain]\nregion = ["R1", "R2"]\n'
MEAN = HEAD + '[[query]]\nname = "a"\nmeasure = "mean"\nof = "pay"\nclip = [{}, {}]\ngrid = "{}"\n'
MEAN += 'mechanism = "DiscreteLaplace(scale=20)"\ncount_mechanism = "DiscreteGaussian(sigma=3)"\n'


@pytest.mark.parametrize("count", [-20, 0, 6, 7, 8, 60])
@pytest.mark.parametrize(("low", "high", "grid"), [(0, 100, "1"), (-20, -5, "5")])
def test_a_mean_is_the_noisy_sum_over_the_noisy_count_within_its_clip(
    count: int, low: int, high: int, grid: str
) -> None:
    step = Fraction(grid)
    first, last = int(low / step), int(high / step)
    centre, off = (first + last) // 2, half(gaussian(3), 0.025)
    for above in (-400, -7, 0, 33, 900):
        table = published_with(MEAN.format(low, high, grid), Exact([4], [2]), [[above - 2], [count - 4]])
        [value], [lower], [upper] = (table.columns[name] for name in ("value", "lower", "upper"))
        assert table.columns["persons"] == [count]
        told = min(max(Fraction(above, max(count, 1)), Fraction(first - centre)), Fraction(last - centre))
        if count <= off:  # nobody may be there: nothing is known, and no figure is told
            assert [lower, upper] == [low, high]
        if [lower, upper] == [low, high]:
            assert [value] == table.columns["sd"] == [None]
            continue
        assert value == pytest.approx(float((told + centre) * step))
        assert low <= lower <= value <= upper <= high
        assert lower < upper


def test_the_deviation_of_a_mean_is_that_of_first_order() -> None:
    """By the slopes of sum/count in either, as differences."""
    spreads = deviation(laplace(20)), deviation(gaussian(3))
    for above, count in ((0, 50), (400, 50), (-800, 40), (300, 9)):
        table = published_with(MEAN.format(0, 100, "1/2"), Exact([0], [0]), [[above], [count]])
        slopes = ((above + 1) / count - above / count, (above / (count + 1e-6) - above / count) / 1e-6)
        spread = sqrt(sum((slope * one) ** 2 for slope, one in zip(slopes, spreads, strict=True))) / 2
        assert table.columns["sd"] == [pytest.approx(spread, rel=1e-4)]


PLAN = HEAD + '[[query]]\nname = "a"\nmeasure = "mean"\nof = "pay"\nclip = [0, 10000]\ngrid = 1\n'
PLAN += 'mechanism = "DiscreteGaussian(sigma=70711)"\ncount_mechanism = "DiscreteGaussian(sigma=14)"\n'
LAWS = [("gaussian", 70711.0), ("gaussian", 14.0)]


def covered(text: str, exact: Exact, truth: float, runs: int, laws: list[tuple[str, float]]) -> tuple[float, float]:
    """How often the interval holds the truth, and how long its half is in deviations, by the median."""
    held, lengths = 0, []
    for table in drawn_often(text, exact, runs, 7, laws):
        [low], [high], [sd] = (table.columns[name] for name in ("lower", "upper", "sd"))
        held += low <= truth <= high
        lengths.append((high - low) / 2 / sd if sd else inf)
    return held / runs, float(np.median(lengths))


@pytest.mark.parametrize(("persons", "mean"), [(5, 7000), (300, 6000), (1000, 2000), (5000, 9000)])
def test_the_interval_of_a_mean_holds_at_95_percent_and_is_no_longer_than_it_must_be(persons: int, mean: int) -> None:
    """Where it was 2.7 to 3.2 deviations to either side, and held at 99.9%."""
    held, length = covered(PLAN, Exact([persons], [persons * (mean - 5000)]), mean, 500, LAWS)
    assert held > 0.95 - 0.04  # four standard errors, of a fixed seed
    if persons > 100:
        assert held < 0.95 + 0.03
        assert length == pytest.approx(1.97, rel=0.02)


@pytest.mark.deep
@pytest.mark.parametrize("persons", [1, 10, 30, 60, 100, 300, 1000, 5000])
@pytest.mark.parametrize("mean", [0, 1000, 5000, 7500, 10000])
def test_intervals_of_means_hold_for_all_truths(persons: int, mean: int) -> None:
    held, length = covered(PLAN, Exact([persons], [persons * (mean - 5000)]), mean, 10_000, LAWS)
    assert held > 0.95 - 0.009  # four standard errors
    if persons >= 300 and 0 < mean < 10_000:  # where the clip cuts no interval
        assert held < 0.95 + 0.012
        assert length == pytest.approx(1.97, rel=0.025)


@pytest.mark.parametrize("clip", [(0, 1000), (-200, 1000), (300, 1000), (-1000, -300)])
def test_a_sum_beside_its_mean_has_the_law_of_a_sum_alone_that_costs_the_same(clip: tuple[int, int]) -> None:
    """With rho shared as width to distance from 0: 1 : 1 for a clip that begins at 0. The middle is in whole steps."""
    low, high = clip
    wide, away, rho = (high - low) / 2, abs(high + low) / 2, 0.005
    share = wide / (wide + away)
    above, below = DiscreteGaussian(sigma=wide / sqrt(2 * rho * share)), DiscreteGaussian(sigma=1)
    if away:
        below = DiscreteGaussian(sigma=1 / sqrt(2 * rho * (1 - share)))
    found = sum_accuracy(Amount("pay", Fraction(1), low, high), above, below)
    alone = DiscreteGaussian(rho=rho, sensitivity=max(abs(low), abs(high))).accuracy()
    assert found.standard_deviation == pytest.approx(alone.standard_deviation, rel=1e-3)
    assert found.half_width == pytest.approx(alone.half_width, rel=0.01)


def test_sum_mean_and_persons_are_of_the_same_two_noisy_numbers() -> None:
    text = PLAN + 'publish = ["persons", "sum", "mean"]\n'
    table = published_with(text, Exact([1000], [1000 * 1500]), [[40_000], [-12]])
    columns = {name: values[0] for name, values in table.columns.items()}
    assert list(columns)[:6] == ["sum", "sum_sd", "sum_lower", "sum_upper", "value", "sd"]
    assert columns["persons"] == 988
    assert columns["sum"] == 1_540_000 + 5000 * 988
    assert columns["value"] == pytest.approx(columns["sum"] / 988)
    assert columns["sum_sd"] == pytest.approx(sqrt(70711**2 + (5000 * 14) ** 2), rel=1e-5)
    reach = columns["sum_upper"] - columns["sum"]
    assert columns["sum"] - columns["sum_lower"] == reach
    assert reach == pytest.approx(1.97 * columns["sum_sd"], rel=0.005)
    assert columns["persons_upper"] - 988 == half(gaussian(14), 0.05) == 988 - columns["persons_lower"]
    alone = published_with(PLAN + 'publish = ["mean"]\n', Exact([1000], [1000 * 1500]), [[40_000], [-12]])
    assert list(alone.columns) == ["value", "sd", "lower", "upper"]
    for wrong in ('["sum"]', '["mean", "median"]', '"mean"', '[["mean"]]'):
        with pytest.raises(PlanFileError, match="publish"):
            read_plan("plan.toml", PLAN + f"publish = {wrong}\n")


def test_intervals_of_the_sum_beside_a_mean_hold() -> None:
    text, runs = PLAN + 'publish = ["sum", "mean"]\n', 400
    tables = drawn_often(text, Exact([1000], [1000 * 1500]), runs, 3, LAWS)
    held = sum(table.columns["sum_lower"][0] <= 6_500_000 <= table.columns["sum_upper"][0] for table in tables)
    assert held / runs == pytest.approx(0.95, abs=0.045)


RATIO = HEAD + '[[query]]\nname = "a"\nmeasure = "ratio"\nof = "pay"\nclip = [0, 1000]\ngrid = 2\nover = "hours"\n'
RATIO += 'over_clip = [0, 50]\nover_grid = "1/2"\nmechanism = "DiscreteGaussian(sigma=5000)"\n'
RATIO += 'over_mechanism = "DiscreteLaplace(scale=600)"\n'


def shortest(above: int, below: int) -> float:
    """Half of the exact set of quotients where both noises are 0, in deviations of first order; by simulated noise."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(0, 5000, 100_000), rng.laplace(0, 600, 100_000)
    ends = []
    for sign in (1, -1):
        end = above / below
        for _ in range(25):  # a - r b = -h(r) at the upper end, and h(r) at the lower one
            end = (above + sign * np.quantile(np.abs(x - end * y), 0.95)) / below
        ends.append(end)
    spread = sqrt(5000**2 + 2 * (600 * above / below) ** 2) / below
    return float(ends[0] - ends[1]) / 2 / spread


RATIOS = [
    (40_000, 30_000),
    (-7000, 9000),
    (0, 50_000),
    (90_000, 20_000),
    pytest.param(30_000, 3000, marks=pytest.mark.deep),
    pytest.param(900_000, 4000, marks=pytest.mark.deep),  # of many steps of half-widths
]
"""The sum below the line is 83 down to 3.5 deviations from 0."""


@pytest.mark.parametrize(("above", "below"), RATIOS)
def test_the_interval_of_a_ratio_holds_at_95_percent(above: int, below: int) -> None:
    """It is as long as the exact set: 1.96 to 2.15 deviations where the noise below the line is small beside the sum.

    Where that is not so it must be longer, by about 1/(1 - g^2) if the noise below the line is g of the sum at 95%.
    """
    truth, runs = above * 2 / (below / 2), 400 if below >= 4000 else 150
    held, length = covered(RATIO, Exact([0], [above], [below]), truth, runs, [("gaussian", 5000.0), ("laplace", 600.0)])
    assert held == pytest.approx(0.96, abs=0.04)
    ideal = shortest(above, below)
    assert length == pytest.approx(ideal, rel=0.06)
    if below >= 9000:
        assert length < 2.2
    if (above, below) == (900_000, 4000):  # Laplace noise within log(20) scales: 0.45 of the sum below the line
        g = 600 * np.log(20) / 4000
        assert ideal == pytest.approx(np.log(20) / sqrt(2) / (1 - g**2), rel=0.02)


def test_a_ratio_over_what_may_be_nothing_has_no_ends() -> None:
    table = published_with(RATIO, Exact([0], [100], [50]), [[0], [0]])
    assert [table.columns[name][0] for name in ("value", "sd", "lower", "upper", "over")] == [None, None, -inf, inf, 25]
    table = published_with(RATIO, Exact([0], [100_000], [50_000]), [[0], [-50_000]])
    assert table.columns["value"] == [None]
    assert isinf(table.columns["upper"][0])
    table = published_with(RATIO, Exact([0], [100_000], [50_000]), [[0], [0]])
    assert 7 < table.columns["lower"][0] < table.columns["value"][0] == 8 < table.columns["upper"][0] < 9


def test_large_errors_are_written_as_people_write_them() -> None:
    table = published_with(RATIO.replace("scale=600", "scale=6000000"), Exact([0], [100], [50]), [[0], [0]])
    assert "noise of standard deviation 4,242,640 on over" in table.about


VARIANCE = HEAD + '[[query]]\nname = "a"\nmeasure = "variance"\nof = "pay"\nclip = [0, 100]\ngrid = "1/2"\n'
VARIANCE += 'mechanism = "DiscreteGaussian(sigma=1000)"\nsquare_mechanism = "DiscreteGaussian(sigma=50000)"\n'
VARIANCE += 'count_mechanism = "DiscreteGaussian(sigma=10)"\n'


def moments(values: list[float]) -> Exact:
    """In steps of 1/2 about the middle of the clip, squares about half of the largest."""
    steps = [int(2 * value) - 100 for value in values]
    return Exact([len(values)], [sum(steps)], [sum(step**2 - 5000 for step in steps)])


def test_a_variance_is_that_of_the_values() -> None:
    values = [float(n % 61) for n in range(3000)]
    table = published_with(VARIANCE, moments(values), [[0], [0], [0]])
    assert table.columns["value"] == [pytest.approx(np.var(values))]
    assert table.columns["persons"] == [3000]
    assert table.columns["lower"][0] < np.var(values) < table.columns["upper"][0]


@pytest.mark.parametrize("name", ["uniform", "two ends", "constant", "few"])
def test_the_interval_of_a_variance_holds(name: str) -> None:
    values = {
        "uniform": [float(n % 101) for n in range(4000)],
        "two ends": [0.0, 100.0] * 2000,
        "constant": [70.0] * 3000,
        "few": [10.0, 30.0, 90.0],
    }[name]
    exact, runs = moments(values), 100
    laws = [("gaussian", 1000.0), ("gaussian", 50_000.0), ("gaussian", 10.0)]
    held, errors, spreads = 0, [], []
    for table in drawn_often(VARIANCE, exact, runs, 5, laws):
        [value], [low], [high], [sd] = (table.columns[one] for one in ("value", "lower", "upper", "sd"))
        held += low <= np.var(values) <= high
        if (low, high) == (0, 2500):  # all that the clip allows: no figure is told
            assert value is sd is None
            continue
        assert 0 <= low <= value <= high <= 2500
        errors.append(value - np.var(values))
        spreads.append(sd)
    assert held / runs > 0.93
    if name == "uniform":  # where nothing is cut
        assert np.std(errors) == pytest.approx(np.median(spreads), rel=0.35)


def test_a_clip_whose_squares_do_not_fit_is_refused() -> None:
    with pytest.raises(PlanFileError, match="take a larger grid"):
        read_plan("plan.toml", VARIANCE.replace("[0, 100]", "[0, 100000000]"))
    for field in ("over", "over_clip", "over_grid", "over_mechanism"):
        with pytest.raises(PlanFileError, match=field):
            read_plan("plan.toml", "\n".join(one for one in RATIO.splitlines() if not one.startswith(f"{field} =")))
