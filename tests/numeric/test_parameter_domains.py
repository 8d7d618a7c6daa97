"""What a person writes is held to the domains of the table: inside accepted, beyond refused by the limit's name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import zcdp
from zcdp import (
    L1,
    L2,
    AsymmetricLaplace,
    Filter,
    Gaussian,
    L0LInf,
    L1LInf,
    Laplace,
    Log,
    Mechanism,
    Odometer,
    Plan,
    PureDP,
    Query,
    RandomizedResponse,
    Subsampled,
    account,
    allocate,
    calibrate,
)
from zcdp.errors import BadValue
from zcdp.ledger import Ledger
from zcdp.ledger.spend_text import cost_of, plan_of
from zcdp.ledger.terms import Terms
from zcdp.numeric.exact import positive_rational
from zcdp.numeric.parameter_domains import DOMAINS, WHOLE_DOMAINS, Domain, unlimited
from zcdp.plans.plan_file import read_plan

ROOT = Path(__file__).parent.parent.parent
REAL = {name: one for one in DOMAINS for name in one.names}
WHOLE = {name: one for one in WHOLE_DOMAINS for name in one.names}

# One call of every constructor with parameters that people have, and the parameters that are held to a domain.
CALLS: dict[str, dict[str, Any]] = {
    "PureDP": {"epsilon": 1, "total_variation": "0.1"},
    "PureGroup": {"epsilon": 1, "size": 3},
    "Laplace": {"epsilon": 1, "sensitivity": 3},
    "DiscreteLaplace": {"epsilon": 1, "sensitivity": 3},
    "Logistic": {"epsilon": 1, "sensitivity": 3},
    "Gaussian": {"sigma": 2, "sensitivity": 3},
    "DiscreteGaussian": {"sigma": 2, "sensitivity": 3},
    "Staircase": {"epsilon": 1, "sensitivity": 3},
    "DiscreteStaircase": {"epsilon": 1, "sensitivity": 5, "r": 2},
    "TruncatedGeometric": {"epsilon": 1, "n": 5, "sensitivity": 2},
    "RandomizedResponse": {"epsilon": 1, "k": 4},
    "BinaryRandomizedResponse": {"p": "0.6", "q": "0.3"},
    "RAPPOR": {"epsilon": 1},
    "UnaryEncoding": {"p": "0.6", "q": "0.3"},
    "OptimizedUnaryEncoding": {"epsilon": 1},
    "SubsetSelection": {"epsilon": 1, "k": 9, "size": 3},
    "HadamardResponse": {"epsilon": 1, "blocks": 2},
    "LocalHashing": {"epsilon": 1, "g": 4},
    "LinearHashing": {"epsilon": 1, "g": 5, "k": 20},
    "SquareWave": {"epsilon": 1, "steps": 8, "width": 3},
    "HybridResponse": {"epsilon": 1, "steps": 8, "width": 3, "share": "0.5"},
    "MemoizedRAPPOR": {"f": "0.5", "p": "0.25", "q": "0.75", "collections": 4},
    "BoundedRange": {"eta": 1},
    "ExponentialMechanism": {"epsilon": 1},
    "PermuteAndFlip": {"epsilon": 1},
    "ReportNoisyMax": {"epsilon": 1},
    "TopK": {"epsilon": 1, "k": 3},
    "SparseVector": {"epsilon_threshold": 1, "epsilon_queries": 1, "positives": 3},
    "Subsampled": {"mechanism": Gaussian(sigma=1), "rate": "0.1"},
    "ReplacedSample": {"mechanism": Gaussian(sigma=1), "rate": "0.1"},
    "Allocation": {"mechanism": Gaussian(sigma=1), "batches": 10},
    "TruncatedSample": {"mechanism": Gaussian(sigma=1), "rate": "0.1", "most": 20, "of": 100},
    "MixtureOfGaussians": {"sigma": 2, "rate": "0.1", "examples": 3},
    "Shuffled": {"mechanism": RandomizedResponse(epsilon=1, k=2), "clients": 100},
    "StudentT": {"degrees": 3, "scale": 2, "sensitivity": 3},
    "Cauchy": {"scale": 2, "sensitivity": 3},
    "GeneralizedGaussian": {"power": 1, "scale": 2, "sensitivity": 3},
    "AsymmetricLaplace": {"left": 1, "right": 2, "sensitivity": 3},
    "Noise": {"density": "exp(-abs(x))", "sensitivity": 3},
    "Truncated": {"noise_inside": AsymmetricLaplace(left=1, right=1), "low": -9, "high": 9, "sensitivity": 3},
    "Mixture": {"parts_inside": [[1, AsymmetricLaplace(left=1, right=1)]], "sensitivity": 3},
    "IntegerNoise": {"pmf": [1, 2, 1], "start": -1, "tails": "1/2", "sensitivity": 3},
}
WITHOUT = {"Channel", "LossPair"}  # their entries are any probabilities
CONSTRUCTORS = {name: getattr(zcdp, name) for name in zcdp.__all__ if isinstance(getattr(zcdp, name), type)}
MECHANISMS = {
    name: kind for name, kind in CONSTRUCTORS.items() if issubclass(kind, Mechanism) and kind is not Mechanism
}
NOT_HELD = {"mechanism", "monotone", "noise", "random_hash", "neighbours", "gamma"}
NOT_HELD |= {"density", "noise_inside", "parts_inside", "pmf", "low", "high", "start", "tails", "width", "share"}
"""Parameters that are no numbers, places that may be any, fractions that any number from 0 to 1 is, and a width, which
is at most the number of steps."""


def beyond(one: Domain) -> list[Fraction]:
    """A number below the domain and one above it, as far as it has such ends."""
    least, most = one._limits
    below = [least / 2] if least is not None else []
    if most is None or most == 1:  # above 1 a rate is refused by the words for any probability
        return below
    return [*below, 2 * most if most > 1 else (1 + most) / 2]


def refused(call: Callable[[], object], one: Domain, name: str) -> None:
    with pytest.raises(BadValue) as caught:
        call()
    assert type(caught.value) is BadValue
    assert one.rule in str(caught.value)
    assert name in str(caught.value)


def test_every_mechanism_is_here() -> None:
    assert set(CALLS) | WITHOUT == set(MECHANISMS)


@pytest.mark.parametrize("name", CALLS)
def test_mechanisms_refuse_what_lies_beyond(name: str) -> None:
    kind, inside = MECHANISMS[name], CALLS[name]
    kind(**inside)
    held = 0
    for parameter in signature(kind).parameters:
        value = inside.get(parameter)
        if parameter in NOT_HELD or value is None:
            continue
        whole = parameter in WHOLE and isinstance(getattr(kind(**inside), parameter, None), int)
        one = (WHOLE if whole else REAL)[parameter]
        held += 1
        for number in beyond(one):
            if whole and number.denominator > 1:
                continue
            refused(lambda number=number, parameter=parameter: kind(**{**inside, parameter: number}), one, parameter)
    assert held


BY_SCALE = ("Laplace", "DiscreteLaplace", "Logistic")


@pytest.mark.parametrize("name", BY_SCALE)
def test_an_epsilon_that_follows_from_the_scale_is_held_too(name: str) -> None:
    kind = MECHANISMS[name]
    for number in beyond(REAL["scale"]):
        refused(lambda number=number: kind(scale=number), REAL["scale"], "scale")
    for scale in ("1e13", "1e-10"):
        refused(lambda scale=scale: kind(scale=scale), REAL["epsilon"], "epsilon = sensitivity/scale")


@pytest.mark.parametrize("name", ["Gaussian", "DiscreteGaussian"])
def test_what_follows_from_gaussian_noise_is_held_too(name: str) -> None:
    kind = MECHANISMS[name]
    for number in beyond(REAL["rho"]):
        refused(lambda number=number: kind(rho=number), REAL["rho"], "rho")
    refused(lambda: kind(rho="1e-90"), REAL["sigma"], "sigma = sensitivity/sqrt(2 rho)")
    refused(lambda: kind(sigma="1e-30"), REAL["rho"], "rho = sensitivity^2/(2 sigma^2)")


@pytest.mark.parametrize(
    ("make", "name", "one"),
    [
        (L1, "d", REAL["d"]),
        (L2, "b", REAL["b"]),
        (lambda b: L2(f"sqrt({b**2})"), "b", REAL["b"]),
        (lambda a: L1LInf(a, 1), "a", REAL["a"]),
        (lambda c: L1LInf(1, c), "c", REAL["c"]),
        (lambda c: L0LInf(1, c), "c", REAL["c"]),
        (lambda m: L0LInf(m, 1), "m", WHOLE["m"]),
        (lambda count: count * Laplace(epsilon=1), "count", WHOLE["count"]),
        (lambda size: Laplace(epsilon="1e-9").group(size), "size", WHOLE["size"]),
        (lambda size: Subsampled(Gaussian(sigma=1), size=1, of=size), "of", WHOLE["of"]),
        (lambda rho: Filter(rho=rho), "rho", REAL["rho"]),
        (lambda epsilon: Filter(epsilon=epsilon, delta="1e-6"), "epsilon", REAL["epsilon"]),
        (lambda delta: Filter(epsilon=1, delta=delta), "delta", REAL["delta"]),
        (lambda order: Filter(epsilon=1, delta="1e-6", order=order), "order", REAL["order"]),
        (lambda rho: Filter(rho=1).would_fit(rho=rho), "rho", REAL["rho"]),
        (lambda delta: Odometer().anytime_epsilon(delta=delta), "delta", REAL["delta"]),
        (lambda delta: Laplace(epsilon=1).epsilon_at(delta=delta), "delta", REAL["delta"]),
        (lambda delta: (2 * Laplace(epsilon=1)).routes(delta=delta), "delta", REAL["delta"]),
        (lambda order: Laplace(epsilon=1).rdp(order), "order", REAL["order"]),
        (lambda delta: zcdp.zcdp_to_epsilon(1, delta), "delta", REAL["delta"]),
        (lambda rho: Laplace.calibrate(rho=rho), "rho", REAL["rho"]),
        (lambda rho: calibrate(lambda e: Laplace(epsilon=e), rho=rho), "rho", REAL["rho"]),
        (lambda e: calibrate(lambda x: Laplace(epsilon=x), epsilon=e, delta=0), "epsilon", REAL["epsilon"]),
        (lambda e: calibrate(lambda x: Laplace(epsilon=x), epsilon=e, delta="0.1"), "epsilon", REAL["epsilon"]),
        (lambda d: calibrate(lambda x: Laplace(epsilon=x), epsilon=1, delta=d), "delta", REAL["delta"]),
        (lambda rho: allocate([Query(Laplace)], rho=rho), "rho", REAL["rho"]),
        (lambda e: allocate([Query(Laplace)], epsilon=e, delta="1e-6"), "epsilon", REAL["epsilon"]),
        (lambda weight: Query(Laplace, weight=weight), "weight", REAL["weight"]),
        (lambda sd: Query(Laplace, sd=sd), "sd", REAL["sd"]),
        (lambda w: Query(Laplace, half_width=w), "half_width", REAL["half_width"]),
        (lambda level: Laplace(epsilon=1).accuracy(level=level), "level", REAL["level"]),
        (lambda grid: Laplace(epsilon=1).release(1.0, grid=grid), "grid", REAL["grid"]),
        (lambda delta: account("Laplace(epsilon=1)", delta=delta, curve=False), "delta", REAL["delta"]),
    ],
)
def test_other_doors_refuse_what_lies_beyond(make: Callable[[Any], object], name: str, one: Domain) -> None:
    for number in beyond(one):
        refused(lambda number=number: make(number), one, name)


@pytest.mark.parametrize("rho", ["1e-101", "1e31"])
def test_files_and_ledgers_refuse_what_lies_beyond(rho: str, tmp_path: Path) -> None:
    text = f'[budget]\nrho = "{rho}"\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'
    with pytest.raises(ValueError, match=r"x\.toml:2: rho \('1e.*'\) must be between 1e-100 and 1e30"):
        read_plan("x.toml", text)
    with pytest.raises(zcdp.PlanError, match="must be between 1e-12 and 1e9"):
        Plan.parse("2 * Laplace(epsilon=1e10)")
    with Ledger(tmp_path / "x.db") as ledger:
        refused(lambda: ledger.open_account("a", rho=rho, unit="person"), REAL["rho"], "rho")
        ledger.open_account("a", rho=1, unit="person")
        refused(lambda: ledger.would_fit("a", rho=rho), REAL["rho"], "rho")


@pytest.mark.parametrize("one", [*DOMAINS, *WHOLE_DOMAINS], ids=lambda one: one.names[0])
def test_the_ends_themselves_are_inside_as_text_and_as_floats(one: Domain) -> None:
    for end, limit in zip((one.least, one.most), one._limits, strict=True):
        if limit is None:
            continue
        assert one.holds(limit)
        if "^" not in end and "-" not in end.removeprefix("1e-"):
            assert one.holds(Fraction(end))
            assert one.holds(Fraction(float(end)))


def test_the_ends_of_epsilon_are_inside() -> None:
    for epsilon in (1e-12, "1e-12", 1e9, "1e9", Log(Fraction(10**12 + 2, 10**12)), "log(3)"):
        m = Laplace(epsilon=epsilon)
        assert Plan.parse(repr(m)) == 1 * m
        assert 0 < m.rho <= m.pure_epsilon
    refused(lambda: Laplace(epsilon=Log(1 + Fraction(1, 10**13))), REAL["epsilon"], "epsilon")


def test_zero_is_asked_where_it_always_was() -> None:
    m = 3 * Laplace(epsilon=1)
    assert m.epsilon_at(delta=0) == 3
    assert m.delta_at(epsilon=0) > 0
    assert 0 < calibrate(lambda e: Laplace(epsilon=e), epsilon=0, delta="0.1") < 1


def test_what_is_derived_may_lie_beyond() -> None:
    """A million coordinates, selections or uses of the least epsilon, and totals of the largest."""
    for m in (
        Laplace(epsilon="1e-12", sensitivity=L0LInf(10**6, 1)),
        zcdp.DiscreteLaplace(epsilon="1e-12", sensitivity=L2(10**6)),
        zcdp.DiscreteGaussian(sigma=10**30, sensitivity=L0LInf(10**12, 1)),
        zcdp.TopK(epsilon="1e-12", k=10**6, noise="laplace"),
    ):
        assert m.rho > 0
        assert m.epsilon_at(delta="1e-6") >= 0
    assert (10**12 * PureDP(epsilon=10**9)).pure_epsilon == 1e21
    assert (10**12 * PureDP(epsilon=10**9)).epsilon_at(delta="1e-6") <= 1e21
    assert zcdp.zcdp_to_epsilon("1e40", "1e-6") >= 1e40


def test_a_group_beyond_is_refused_as_it_could_not_be_read_back() -> None:
    assert PureDP(epsilon=1000).group(10**6).pure_epsilon == 1e9
    refused(lambda: PureDP(epsilon=1000).group(10**7), REAL["epsilon"], "epsilon")


def test_a_search_ends_within_the_domain_or_is_refused() -> None:
    assert Laplace.calibrate(rho="1e18").epsilon == 10**9  # the least noise there is
    with pytest.raises(BadValue, match="too small: no float epsilon from 1e-12 on stays within it"):
        Laplace.calibrate(rho="1e-30")
    for rho in ("1e-28", "1e17"):
        refused(
            lambda rho=rho: calibrate(lambda e: Laplace(epsilon=e), rho=rho), REAL["epsilon"], "the budget asks for"
        )
        refused(lambda rho=rho: allocate([Query(Laplace)], rho=rho), REAL["epsilon"], "epsilon")
    refused(lambda: allocate([Query(Laplace, sensitivity="1e40")], rho=1), REAL["sensitivity"], "sensitivity")


def test_what_no_person_wrote_is_read_as_it_is() -> None:
    def read() -> Plan:
        old = Plan.parse("Laplace(epsilon='1e-300')")
        assert unlimited(Plan.parse)(repr(old)) == old == Plan.parse(repr(old))
        return old

    old = unlimited(read)()
    with pytest.raises(ValueError, match="must be between 1e-12 and 1e9"):
        Plan.parse(repr(old))


def test_ctrl_c_at_any_line_leaves_the_limits_as_they_are() -> None:
    """An interrupt at each of the lines that run, one after the other, as a signal between any two of them may come."""

    @unlimited
    def work() -> object:
        return positive_rational(10**10, "epsilon")

    def interrupted_at(line: int) -> bool:
        left = line

        def trace(*_: object) -> Callable[..., object]:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False

    lines = 0
    while interrupted_at(lines := lines + 1):
        with pytest.raises(ValueError, match="must be between 1e-12 and 1e9"):
            positive_rational(10**10, "epsilon")
    assert lines > 10


def test_the_page_of_limits_has_the_table() -> None:
    """Each row: names, least, most, why."""
    page = (ROOT / "docs" / "explanation" / "limits.md").read_text()
    table = page[page.index("## How large and how small") :].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    written = [(*(cell.strip("`") for cell in row[0].split(", ")),) for row in rows[2:]]
    table_of_code = [*DOMAINS, *WHOLE_DOMAINS]
    assert written == [one.names for one in table_of_code]
    for row, one in zip(rows[2:], table_of_code, strict=True):
        assert row[1:] == [one.least, one.most, one.why]


def test_a_ledger_of_an_earlier_version_opens_and_verifies(tmp_path: Path) -> None:
    """Written by 0.2.0: epsilons from 5e-324 to 1e8, groups and vectors of 10^15, an order of 1e30, delta 1e-310."""
    lines = (ROOT / "tests" / "references" / "ledger_beyond_the_domains.jsonl").read_text().splitlines()
    with Ledger(tmp_path / "old.db") as ledger:
        assert ledger.load(lines) == len(lines) == 29
        assert ledger.verify()
        assert ledger.plan("tiny").epsilon_at(delta="1e-6") == 0
        refused(lambda: ledger.spend("tiny", Laplace(epsilon="1e-300"), key="new"), REAL["epsilon"], "epsilon")


def test_what_an_earlier_version_wrote_is_priced_again() -> None:
    """At its true cost, which is above all epsilons of today: PureDP costs epsilon tanh(epsilon/2)."""
    assert plan_of('[{"count": 1, "mechanism": "PureDP(epsilon=\'1e14\')"}]') is not None
    text = '[{"count": 1, "mechanism": "PureDP(epsilon=\'1e15\')"}]'
    found = cost_of(Terms("person"), text)
    assert not isinstance(found, str)
    assert found.size == 10**15
