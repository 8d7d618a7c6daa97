"""Every kind of law x every transformation x one use and several, in data sets that are written out."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from neighbours import checks as near
from neighbours.truth import Truth

from features import laws
from features.checks import Tally
from features.kinds import KINDS
from features.noises import AGAIN, BATCHED, NOISES, OWN, SAMPLINGS, batched, drawn
from features.transformations import TRANSFORMATIONS
from zcdp import ZcdpError

REFUSED = {"poisson of fixed", "fixed of poisson", "allocated fixed"}
"""Neighbours of the one are of equal size, of the other not."""
DEEP = {1: range(100, 102), 2: range(100, 101), 3: range(100, 101)}
"""Under which seeds so many uses are drawn."""
EACH = 5  # transformations of each kind, and kinds of each transformation, everyday
ALIKE = 1.001  # by how much the bins of noise may hide


def _report(tally: Tally | near.Tally) -> None:
    assert not tally.failures, "\n".join([f"{len(tally.failures)} of {tally.checks}", *tally.failures[:20]])


def _counted(tally: Tally | near.Tally, record_property: Callable[[str, object], None]) -> None:
    """For the last lines of a run: tests/conftest.py adds them up."""
    for name, count in {"comparisons with the truth": tally.checks, "refusals": tally.refused}.items():
        record_property(name, count)


@pytest.mark.parametrize("kind", KINDS)
def test_some_transformations(kind: str) -> None:
    """Drawn at random, used once or twice."""
    tally, rng = Tally(), Random(f"some {kind}")
    known = [name for name in TRANSFORMATIONS if name not in laws.HEAVY]
    known = [name for name in known if not (kind in laws.SLOW and ("plan" in name or "beside" in name))]
    for transformation in rng.sample(sorted(known), EACH):
        uses = 1 if kind in laws.SLOW or laws.is_plan(transformation) else rng.randint(1, 2)
        laws.one(kind, transformation, uses, 0, tally, quick=True)
    _report(tally)


@pytest.mark.parametrize("transformation", [name for name in TRANSFORMATIONS if name not in laws.HEAVY])
def test_some_kinds(transformation: str) -> None:
    """The same the other way round, so that none is left out."""
    tally, rng = Tally(), Random(f"some {transformation}")
    cut = "truncated" in transformation
    each = 1 if cut else EACH
    for kind in rng.sample(sorted(laws.CUT if cut else set(KINDS) - laws.SLOW), each):
        laws.one(kind, transformation, 1, 1, tally, quick=True)
    _report(tally)
    assert (tally.checks == 0) == (transformation in REFUSED)


@pytest.mark.deep
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_under_each_transformation(
    kind: str, transformation: str, record_property: Callable[[str, object], None]
) -> None:
    tally = Tally()
    for uses, seeds in DEEP.items():
        if laws.is_quick_enough(kind, transformation, uses):
            for seed in seeds:
                laws.one(kind, transformation, uses, seed, tally)
    _counted(tally, record_property)
    _report(tally)


def _noise(name: str, sampling: str, uses: int, seed: int, tally: near.Tally) -> None:
    rng = Random(f"{name} {sampling} {uses} {seed}")
    try:
        row = {**NOISES, **OWN}.get(name)
        case = batched(BATCHED[name], sampling, rng) if row is None else drawn(row, sampling, rng)
    except ZcdpError:
        tally.refused += 1
        return
    if case is None:
        return
    plan = case.mechanism if uses == 1 else uses * case.mechanism
    truth = Truth([(case, uses)], rng, 1)
    near.hold(tally, plan, truth, rng)
    if plan.is_tight:
        most = truth.rho(above=True)
        tally.hold(plan.rho <= most * ALIKE, "is_tight", repr(plan), f"{plan.rho!r}, true {most!r}")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_some_noises(sampling: str) -> None:
    for name in ("Logistic-scalar" if "fixed" in sampling else "DiscreteLaplace-L1", "IntegerNoise-scalar"):
        tally = near.Tally()
        _noise(name, sampling, 1, 1, tally)
        _report(tally)
        assert tally.checks


@pytest.mark.deep
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", [*NOISES, *OWN])
def test_each_noise_under_each_sampling(
    name: str, sampling: str, record_property: Callable[[str, object], None]
) -> None:
    tally = near.Tally()
    for uses in (1, 2):
        _noise(name, sampling, uses, 100, tally)
    _counted(tally, record_property)
    _report(tally)


@pytest.mark.parametrize("name", ["MixtureOfGaussians-none-ordered sums", "Allocation-none-ordered integers"])
def test_some_noises_on_what_is_drawn_already(name: str) -> None:
    """A sample of them, used twice."""
    tally = near.Tally()
    _noise(name, "poisson", 2 if "Mixture" in name else 1, 1, tally)
    _report(tally)
    assert tally.checks


@pytest.mark.deep
@pytest.mark.parametrize("sampling", AGAIN)
@pytest.mark.parametrize("name", BATCHED)
def test_each_noise_on_what_is_drawn_already(
    name: str, sampling: str, record_property: Callable[[str, object], None]
) -> None:
    tally = near.Tally()
    for uses in (1, 2):
        for seed in (100, 101, 102):
            _noise(name, sampling, uses, seed, tally)
    _counted(tally, record_property)
    _report(tally)
