"""The mean of a positive part by counts and by a contour against all counts in fractions, coarse ones too."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from flint import arb

from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Log
from zcdp.privacy.loss import ShuffledProfile
from zcdp.privacy.loss import shuffled_law as by_counts
from zcdp.privacy.loss import shuffled_law as shuffled_profile
from zcdp.privacy.loss.shuffled_law import mean_by_counts

Law = list[tuple[Fraction, Fraction]]

SLACK = arb(2) ** -40  # more than what is lost where two balls of few bits are compared


def compositions(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, parts - 1):
            yield (first, *rest)


def positive_part(law: Law, n: int) -> Fraction:
    """E (Y_1 + ... + Y_n)_+, by how often each value is drawn."""
    total = Fraction(0)
    for counts in compositions(n, len(law)):
        ways, left, mass = 1, n, Fraction(1)
        for count, (_, m) in zip(counts, law, strict=True):
            ways, left, mass = ways * comb(left, count), left - count, mass * m**count
        total += max(sum(c * y for c, (y, _) in zip(counts, law, strict=True)), Fraction(0)) * ways * mass
    return total


LAWS = {
    "two": [("1", "2/5"), ("-1/2", "3/5")],
    "fair": [("1", "1/2"), ("-1", "1/2")],
    "likely above": [("1/3", "9/10"), ("-2", "1/10")],
    "nearly always above": [("1/3", "19/20"), ("-1/4", "1/20")],
    "likely below": [("3", "1/10"), ("-1/4", "9/10")],
    "three": [("2", "1/5"), ("-1", "3/10"), ("-1/3", "1/2")],
    "with zero": [("2", "1/20"), ("-2", "1/20"), ("0", "9/10")],
    "four": [("3/2", "1/8"), ("-3", "1/8"), ("-1/2", "1/4"), ("0", "1/2")],
    "rare": [("2", "1/50"), ("-3", "1/40"), ("1/9", "191/200")],
}


def law_of(name: str) -> Law:
    return [(Fraction(y), Fraction(m)) for y, m in LAWS[name]]


def balls(law: Law) -> list[tuple[arb, arb]]:
    return [(lift(y), lift(m)) for y, m in law]


@pytest.mark.parametrize("name", LAWS)
def test_a_mean_over_counts_is_that_of_all_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all counts it is exact; of those of rare values it is between two ends, however few are summed over."""
    law = law_of(name)
    for n in (1, 2, 3, 8, 13):
        truth = positive_part(law, n)
        low, high = at_precision(128, lambda n=n: mean_by_counts(balls(law), n))
        assert low.overlaps(lift(truth))
        assert high.overlaps(lift(truth))
        with monkeypatch.context() as patch:
            patch.setattr(by_counts, "MOST_COUNT_TERMS", 0)
            for tiny in (-1, -4, -12, -64):
                patch.setattr(by_counts, "RARE_DRAWS_LOG2", tiny)
                found = at_precision(128, lambda n=n: mean_by_counts(balls(law), n)) if n > 1 else None
                if found is not None:
                    assert found[0] - SLACK <= lift(truth) <= found[1] + SLACK
    if name == "rare":
        monkeypatch.setattr(by_counts, "MOST_COUNT_TERMS", 0)
        assert mean_by_counts(balls(law), 13) is not None
    if name == "fair":
        monkeypatch.setattr(by_counts, "MOST_COUNT_TERMS", 0)
        assert mean_by_counts(balls(law), 13) is None


@pytest.mark.parametrize("name", LAWS)
def test_a_contour_is_between_its_ends_however_coarse(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Aliases, nodes that are left out, turns and noise are charged: with much of each as well as with little."""
    law = law_of(name)
    truths = {n: lift(positive_part(law, n)) for n in (1, 4, 9)}
    settings = product((34.0, 3.0, 0.5), (50.0, 4.0, 0.7), (2e-3, 0.3, 2.0))
    for fall, skipped, weak in settings:
        monkeypatch.setattr(shuffled_profile, "ALIAS_FALL", fall)
        monkeypatch.setattr(shuffled_profile, "SKIPPED_FALL", skipped)
        monkeypatch.setattr(shuffled_profile, "WEAK_NOISE", weak)
        for n, truth in truths.items():
            below, above = at_precision(128, lambda n=n: shuffled_profile._positive_part(balls(law), n))
            assert below <= truth + SLACK, (fall, skipped, weak, n)
            assert above >= truth - SLACK, (fall, skipped, weak, n)
            if (fall, skipped, weak) == (34.0, 50.0, 2e-3):
                assert above <= truth * arb(1.2) + n * arb(0.01)


@pytest.mark.parametrize("turns", [1, 2, 64])
def test_what_is_beyond_the_last_turn_is_charged(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffled_profile, "MOST_TURNS", turns)
    for smooth, name in product((3.0, 0.6, 0.1), ("two", "likely below", "four")):
        monkeypatch.setattr(shuffled_profile, "LAST_TURN_DEVIATIONS", smooth)
        law = law_of(name)
        for n in (1, 5):
            truth = lift(positive_part(law, n))
            below, above = at_precision(128, lambda n=n, law=law: shuffled_profile._positive_part(balls(law), n))
            assert below - SLACK <= truth <= above + SLACK, (smooth, name, n)


def blanket(e: Fraction, k: int, g: Fraction) -> Law:
    """Of k-ary randomized response: E - g, 1 - gE, 1 - g and 0, with masses p, p, (k-2)p and what is left."""
    p = 1 / (e + k - 1)
    return [(e - g, p), (1 - g * e, p), (1 - g, (k - 2) * p), (Fraction(0), 1 - k * p)]


def reports(e: Fraction, k: int, g: Fraction, n: int) -> Fraction:
    """delta of n reports without senders: one client has x_0 or x_1, all others one value, in the worse order.

    By the counts of all reports, from the definition: the sum over multisets of (P - gQ)_+.
    """
    p = 1 / (e + k - 1)

    def chances(value: int) -> list[Fraction]:
        return [e * p if y == value else p for y in range(k)]

    def multisets(value: int, others: int) -> dict[tuple[int, ...], Fraction]:
        found = {tuple(int(y == z) for z in range(k)): m for y, m in enumerate(chances(value))}
        for _ in range(n - 1):
            longer: dict[tuple[int, ...], Fraction] = {}
            for counts, mass in found.items():
                for y, m in enumerate(chances(others)):
                    more = tuple(c + (y == z) for z, c in enumerate(counts))
                    longer[more] = longer.get(more, Fraction(0)) + mass * m
            found = longer
        return found

    best = Fraction(0)
    for others in (2,) if k > 2 else (0, 1):
        with_it, without = multisets(0, others), multisets(1, others)
        best = max(best, sum(max(with_it[c] - g * without[c], Fraction(0)) for c in with_it))
    return best


@pytest.mark.parametrize(("ratio", "k"), [("3", 2), ("3/2", 2), ("8", 2), ("3", 3), ("3", 5), ("20", 4), ("6/5", 3)])
def test_reports_without_senders_are_those_of_the_definition(
    ratio: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    e = Fraction(ratio)
    for n, part in product((1, 2, 4), (0, Fraction(1, 3), Fraction(9, 10), 2)):
        g = 1 + (e - 1) * part
        exact, attained = positive_part(blanket(e, k, g), n) / n, reports(e, k, g, n)
        epsilon = Log(g)

        def asked(n: int = n, epsilon: Log = epsilon) -> tuple[arb, tuple[arb, arb]]:
            profile = ShuffledProfile(lift(Log(e)), k, n)
            place = lift(epsilon) if epsilon.argument != 1 else arb(0)
            return profile.above(place), profile.attained(place)

        above, (low, high) = at_precision(200, asked)
        if part < 1:
            assert above.overlaps(lift(exact))
            assert low.overlaps(lift(attained))
            assert high.overlaps(lift(attained))
        assert low - SLACK <= lift(attained) <= high + SLACK
        assert lift(attained) <= above + SLACK
        with monkeypatch.context() as patch:  # by the contour alone
            patch.setattr(shuffled_profile, "mean_by_counts", lambda law, n: None)
            above, (low, high) = at_precision(200, asked)
        assert lift(exact) <= above + SLACK
        assert low - SLACK <= lift(attained) <= high + SLACK
        assert above <= lift(exact) + arb("0.1")
        assert low >= lift(attained) - arb("0.1")


@pytest.mark.parametrize("clients", [700, 10**5, 10**9])
@pytest.mark.parametrize(("loss", "k", "epsilon"), [(1, 2, "0.01"), (4, 40, "0.05"), (9, 40, "0.3"), (2, 7, "0.4")])
def test_the_sum_in_doubles_is_that_in_balls(
    clients: int, loss: int, k: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes of one line, added in doubles and in balls of 160 bits: the radius covers the difference."""
    seen = []
    plain = shuffled_profile._sum_in_doubles

    def both(law: object, powers: object, whole: object, n: int, c: float, step: float, half: arb, kept: object) -> arb:
        exact = shuffled_profile._sum_in_balls(law, powers, whole, n, arb(c), arb(step), half, kept)  # type: ignore[arg-type]
        found = plain(law, powers, whole, n, c, step, half, kept)  # type: ignore[arg-type]
        seen.append((exact, found))
        return exact

    monkeypatch.setattr(shuffled_profile, "_sum_in_doubles", both)
    at_precision(160, lambda: ShuffledProfile(arb(loss), k, clients).above(lift(Fraction(epsilon))))
    for exact, found in seen:
        if found is not None:
            assert found.overlaps(exact)
            assert found.rad() <= 2.0**-24 * abs(exact)
            # the error is far below its bound: half a unit in the last place of the q_j, a_j and D is what there is
            assert abs(found.mid() - exact) <= found.rad() / 4


def test_values_that_are_known_to_few_digits_are_not_added_in_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Next to the largest loss E - g is a difference of few digits: doubles would not hold what it may be."""
    seen = []
    plain = shuffled_profile._sum_in_doubles

    def both(law: object, powers: object, whole: object, n: int, c: float, step: float, half: arb, kept: object) -> arb:
        wide = shuffled_profile._sum_in_balls(law, powers, whole, n, arb(c), arb(step), half, kept)  # type: ignore[arg-type]
        found = plain(law, powers, whole, n, c, step, half, kept)  # type: ignore[arg-type]
        seen.append(wide)
        assert found is None or found.contains(wide)
        return wide

    monkeypatch.setattr(shuffled_profile, "_sum_in_doubles", both)
    for bits in (64, 130):
        near = 1 - Fraction(1, 3 << bits - 30)
        at_precision(bits, lambda near=near: ShuffledProfile(arb(1), 2, 145).above(lift(near)))
    assert len(seen) == 2
