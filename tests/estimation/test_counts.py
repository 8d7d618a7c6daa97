"""Counts add up, are compared by all that they say, and are not changed by whoever made or holds them."""

from __future__ import annotations

import numpy as np
import pytest

from zcdp import RAPPOR, HadamardResponse, RandomizedResponse
from zcdp.estimation.histogram import Counts


def test_sums_of_signs_add_up_below_zero() -> None:
    m = HadamardResponse(epsilon=1, blocks=2)
    parts = [m.count(np.array(some), k=5) for some in ([1, 3, 7], [2, 5], [0, 0, 6])]
    whole = m.count(np.array([1, 3, 7, 2, 5, 0, 0, 6]), k=5)
    assert min(whole.supports) < 0
    assert sum(parts) == whole
    assert (parts[0] + parts[1]).signed
    assert m.estimate(sum(parts)).frequencies.tolist() == m.estimate(whole).frequencies.tolist()


def test_counts_are_equal_if_all_that_they_say_is() -> None:
    one = Counts("a", 5, [1, 2])
    assert one == Counts("a", 5, [1, 2])
    for other in (Counts("b", 5, [1, 2]), Counts("a", 6, [1, 2]), Counts("a", 5, [2, 1]), Counts("a", 5, [1, 2, 0]), 3):
        assert one != other
    assert Counts("a", 5, [1, 2]) + Counts("a", 4, [3, 0]) == Counts("a", 9, [4, 2])


def test_what_was_counted_cannot_be_changed_afterwards() -> None:
    given = np.array([1, 2])
    counts = Counts("a", 5, given)
    given[0] = 4
    assert counts.supports.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        counts.supports[0] = 3


@pytest.mark.parametrize("supports", [[3], [[1, 2], [3, 4]], [0.5, 1.0], ["a", "b"]])
def test_supports_are_whole_numbers_of_two_values_or_more(supports: list[object]) -> None:
    with pytest.raises(ValueError, match="supports must be one whole number for each of at least 2 values"):
        Counts("a", 9, supports)


def test_bounds_of_supports_are_the_number_of_reports_on_both_sides() -> None:
    assert Counts("a", 3, [3, 0]).supports.tolist() == [3, 0]
    assert Counts("a", 3, [-3, 3], signed=True).supports.tolist() == [-3, 3]
    with pytest.raises(ValueError, match=r"at most the number of reports \(3\), not 4"):
        Counts("a", 3, [-4, 3], signed=True)
    with pytest.raises(ValueError, match="counts of different designs do not add up"):
        Counts("a", 3, [1, 1]) + Counts("a", 3, [1, 1, 1])
    with pytest.raises(TypeError):
        Counts("a", 3, [1, 1]) + 3  # type: ignore[operator]


def test_counts_of_another_number_of_values_are_not_estimated() -> None:
    m = RandomizedResponse(epsilon=1, k=3)
    with pytest.raises(ValueError, match=r"k \(4\) must be the 3 of the mechanism"):
        m.estimate(Counts(repr(m), 3, [1, 1, 1, 0]))
    with pytest.raises(TypeError, match="say how many values there are: k"):
        RAPPOR(epsilon=1).count(np.zeros((2, 1), np.uint8))


def test_a_tally_is_the_count_of_the_reports_that_it_tells_of() -> None:
    """Also where trailing reports never came, and those that are not numbers of times are refused."""
    for m, k, outputs in ((RandomizedResponse(epsilon=1, k=5), 5, 5), (HadamardResponse(epsilon=1), 5, 8)):
        often = [3, 0, 2, 1]
        reports = np.repeat(np.arange(4), often)
        assert m.tally(often, k=k) == m.count(reports, k=k)
        assert m.tally([*often, *[0] * (outputs - 4)], k=k) == m.count(reports, k=k)
        with pytest.raises(ValueError, match="of another design"):
            m.tally([*often, *[0] * (outputs - 3)], k=k)
    with pytest.raises(TypeError, match="reports must be integers"):
        RandomizedResponse(epsilon=1, k=3).tally([0.5, 1.0, 1.0])
