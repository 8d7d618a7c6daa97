"""What the law is held against: written without zcdp, not exceeded by any data set, and noticing what is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest

from features.checks import Tally, hold
from features.exact import Known, Pair, Truth, powers
from features.kinds import KINDS
from features.transformations import TRANSFORMATIONS, Case
from zcdp import ZcdpError

G = (Fraction(1), Fraction(21, 20), Fraction(3, 2), Fraction(4), Fraction(10**9))
SAMPLINGS = (
    "poisson",
    "fixed",
    "poisson of poisson",
    "fixed of fixed",
    "poisson of plan",
    "fixed of plan",
    "allocated",
)
SLOW = {"shuffled", "range"}


def test_it_runs_where_there_is_no_zcdp() -> None:
    tests = Path(__file__).parent.parent
    names = "features.exact, neighbours.game, neighbours.law, neighbours.noise, neighbours.samples"
    code = f"import sys; sys.modules['zcdp'] = None; sys.path.insert(0, {str(tests)!r}); import {names}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_no_data_set_tells_more_than_the_pairs(sampling: str) -> None:
    """In one use, at any epsilon: what is known of samples is no less than what they are, subset by subset."""
    compared = 0
    kinds = sorted(set(KINDS) - SLOW)
    for kind in kinds[::4] if "plan" in sampling else kinds:
        rng = Random(f"{kind} {sampling}")
        base = KINDS[kind](rng)
        try:
            case = TRANSFORMATIONS[sampling](base, base, rng)
        except ZcdpError:
            continue
        truth = Truth([(known, 1) for known in case.parts], rng)
        for _ in range(2):
            [met] = case.met(rng, 1)
            told = Truth([(met, 1)], rng)
            for g in G:
                assert not truth.complete or told.delta(g) <= truth.delta(g), (kind, g)
                compared += truth.complete
    assert compared >= 50


def test_numbers_of_a_pair_by_hand() -> None:
    pair = Pair.of([Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)])
    assert pair.hockey_stick(Fraction(1)) == Fraction(1, 4)
    assert (pair.infinite, pair.turned.infinite, pair.ratio) == (0, Fraction(1, 4), 2)
    assert (pair.drawn(Fraction(1, 2)).ratio, pair.drawn(Fraction(1, 2)).turned.infinite) == (Fraction(3, 2), 0)
    assert pair.turned.drawn(Fraction(1, 2)).infinite == Fraction(1, 8)
    truth = Truth([(Known.either([pair]), 2)], Random(0))
    assert truth.infinite == 1 - Fraction(3, 4) ** 2
    assert truth.pure == truth.rho == truth.divergence(2) == inf
    forward = Truth([(Known.ordered([pair]), 2)], Random(0))
    assert forward.delta(Fraction(10**9)) == Fraction(7, 16)
    low, high = powers(Fraction(1))
    assert float(low) == float(high) == pytest.approx(2.718281828459045, rel=1e-15)


class Off:
    """A curve of which one number is not what it should be."""

    def __init__(self, curve: Any, **wrong: Callable[..., Any]) -> None:
        self._curve, self._wrong = curve, wrong

    def __repr__(self) -> str:
        return f"Off({self._curve!r})"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._curve, name)
        if name not in self._wrong:
            return found
        change = self._wrong[name]
        return (lambda *args, **named: change(found(*args, **named))) if callable(found) else change(found)


SMALL = 1 - 1e-6
WRONG: dict[str, tuple[str, Callable[..., Any]]] = {
    "delta": ("delta_bounds", lambda ends: (ends[0] * SMALL, ends[1] * SMALL)),
    "lower delta": ("delta_bounds", lambda ends: (ends[0] / SMALL, ends[1] / SMALL)),
    "epsilon": ("epsilon_bounds", lambda ends: (ends[0] * SMALL, ends[1] * SMALL)),
    "lower epsilon": ("epsilon_bounds", lambda ends: (ends[0] / SMALL, ends[1] / SMALL)),
    "rho": ("rho_bounds", lambda ends: (ends[0] * SMALL, ends[1] * SMALL)),
    "lower rho": ("rho_bounds", lambda ends: (ends[0] / SMALL, ends[1] / SMALL)),
    "is_tight": ("rho_bounds", lambda ends: (ends[0], ends[1] / SMALL)),
    "rdp": ("rdp", lambda value: value * SMALL),
    "pure": ("pure_epsilon", lambda value: value * SMALL),
    "pure upper": ("epsilon_bounds", lambda ends: (ends[0] * SMALL, ends[1] * SMALL)),
    "pure lower": ("epsilon_bounds", lambda ends: (ends[0] / SMALL, ends[1] / SMALL)),
    "delta_at": ("delta_at", lambda value: value * SMALL - 1e-9),
    "raised": ("rdp", lambda value: 1 / 0),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_number_is_noticed(what: str) -> None:
    """Of one use of a sample that is exact."""
    name, change = WRONG[what]
    rng = Random("wrong")
    base = KINDS["ordered positive"](rng)
    case = TRANSFORMATIONS["poisson"](base, base, rng)
    right, wrong = Tally(), Tally()
    hold(right, case, 1, Random(0))
    assert not right.failures
    curve: Any = Off(case.curve, **{name: change})
    hold(wrong, Case(curve, case.parts, case.make, case.records), 1, Random(0))
    assert any(failure.startswith(f"{what}:") for failure in wrong.failures), wrong
