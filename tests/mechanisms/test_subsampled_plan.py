"""A whole plan on one sample against every data set of few records, and against the formula of one use."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import expm1, fsum, log, log1p
from pathlib import Path

import pytest

from zcdp import Gaussian, Laplace, Log, Plan, RandomizedResponse, Subsampled, account
from zcdp.report.account_report import render

ROWS = [[Fraction(3 if out == value else 1, 5) for out in range(3)] for value in range(3)]
"""Randomized response with e^epsilon = 3, k = 3; a record that is not drawn, or not there, sends the report of 0."""


def both_reports(value: int) -> list[Fraction]:
    """Two reports of the same record."""
    return [ROWS[value][a] * ROWS[value][b] for a, b in product(range(3), repeat=2)]


def delta(p: list[Fraction], q: list[Fraction], x: Fraction, uses: int) -> Fraction:
    whole = [(Fraction(1), Fraction(1))]
    for _ in range(uses):
        whole = [(a * c, b * d) for a, b in whole for c, d in zip(p, q, strict=True)]
    return sum((max(a - x * b, Fraction(0)) for a, b in whole), Fraction(0))


@pytest.mark.parametrize("x", [Fraction(11, 10), Fraction(7, 5)], ids=str)
@pytest.mark.parametrize("uses", [1, 2])
def test_two_reports_of_one_sampled_record(uses: int, x: Fraction) -> None:
    """The record is drawn once for both reports: the other records are independent of it, and add nothing."""
    rate = Fraction(3, 10)
    plan = uses * Subsampled(2 * RandomizedResponse(epsilon=Log(3), k=3), rate=rate)
    lower, upper = plan.delta_bounds(epsilon=log(x))
    worst = Fraction(0)
    for value in (1, 2):
        without = both_reports(0)
        with_it = [rate * a + (1 - rate) * b for a, b in zip(both_reports(value), without, strict=True)]
        worst = max(worst, delta(with_it, without, x, uses), delta(without, with_it, x, uses))
    assert lower <= float(worst) * (1 + 1e-9)
    assert float(worst) <= upper * (1 + 1e-9)
    if uses == 1:
        assert upper <= float(worst) * (1 + 1e-9)


@pytest.mark.parametrize("rate", ["1/10", "7/10"])
@pytest.mark.parametrize("replaced", [False, True], ids=["poisson", "fixed size"])
def test_renyi_divergences_of_two_reports_of_one_sampled_record(rate: str, replaced: bool) -> None:
    """Of bounded losses the divergence is near that of the outputs, not that of reports which are always sent."""
    share = Fraction(rate)
    base = 2 * RandomizedResponse(epsilon=Log(3), k=3)
    how: dict[str, object] = {"size": share * 10, "of": 10} if replaced else {"rate": rate}
    step = Subsampled(base, **how)  # type: ignore[arg-type]
    rows = [both_reports(value) for value in range(3)]
    mixed = [[float(share * a + (1 - share) * b) for a, b in zip(row, rows[0], strict=True)] for row in rows]
    pairs = [(mixed[1], mixed[0]), (mixed[0], mixed[1])] + ([(mixed[1], mixed[2])] if replaced else [])

    def divergence(order: float) -> float:
        return max(log(fsum(a**order * b ** (1 - order) for a, b in zip(*pair, strict=True))) for pair in pairs) / (
            order - 1
        )

    most = 1.1 if replaced else 1.01  # the envelope of all pairs tells more than any of them
    for order in (1.5, 2.0, 4.0, 32.0):
        assert divergence(order) * (1 - 1e-13) <= step.rdp(order) <= most * divergence(order)
        assert 7 * step.rdp(order) == pytest.approx((7 * step).rdp(order), rel=1e-12)
    peak = max(divergence(1 + n / 20) / (1 + n / 20) for n in range(1, 600))
    assert peak <= step.rho <= most * peak < base.rho / 1.5
    assert 7 * peak <= (7 * step).rho <= 7 * most * peak


def test_one_use_is_the_formula() -> None:
    base = 2 * Laplace(epsilon="0.5") + Gaussian(sigma=1)
    step = Subsampled(base, rate="0.01")
    lower, upper = step.delta_bounds(epsilon="0.2")
    truth = 0.01 * base.delta_at(epsilon=log1p(expm1(0.2) / 0.01))
    assert lower == pytest.approx(truth, rel=1e-12)
    assert upper == pytest.approx(truth, rel=1e-12)
    assert lower <= upper
    assert step.rho == base.rho


def test_several_noises_on_one_sample_are_one_noise() -> None:
    several = 300 * Subsampled(3 * Gaussian(sigma=2) + Gaussian(sigma=4), rate="0.01")
    one = 300 * Subsampled(Gaussian(rho="13/32"), rate="0.01")
    assert several.epsilon_bounds(delta=1e-6) == one.epsilon_bounds(delta=1e-6)


def test_text_keeps_it() -> None:
    text = "4 * Subsampled(2 * Laplace(epsilon=0.5) + Gaussian(sigma=1), rate='0.01')"
    assert repr(Plan.parse(text)) == text
    assert Plan.from_json(Plan.parse(text).to_json()) == Plan.parse(text)


FILE = """
[[query]]
name = "batches"
mechanism = "Subsampled(Gaussian(sigma=4), size=5, of=100)"
count = 20
[[query]]
name = "crowd"
mechanism = "Shuffled(RandomizedResponse(epsilon=1, k=4), clients=12)"
"""


def test_a_plan_file_of_samples_and_shuffled_reports(tmp_path: Path) -> None:
    """Read, accounted for, and shown: one relation, and each mechanism as it was written."""
    path = tmp_path / "plan.toml"
    path.write_text(FILE)
    facts = account(path, delta="1e-5", curve=False)
    whole = facts.to_dict()
    assert whole["total"]["relation"] == "replace"
    assert [query["mechanism"] for query in whole["queries"]] == [
        "Subsampled(Gaussian(sigma=4), size=5, of=100)",
        "Shuffled(RandomizedResponse(epsilon=1, k=4), clients=12)",
    ]
    assert [query["theorem"] for query in whole["queries"]] == ["sampling", "shuffling"]
    assert 0 < whole["total"]["epsilon"] < 2
    page = render(facts)
    assert "size=5, of=100" in page
    assert "clients=12" in page
