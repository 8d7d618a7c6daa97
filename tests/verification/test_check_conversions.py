"""The checks of budgets, calibration and routes fail where those are a little wrong."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from verification.altered import altered, assert_seen

from zcdp import BudgetExceeded, Channel, Laplace, audit_training
from zcdp.accounting.allocation import allocate
from zcdp.accounting.calibration import calibrate
from zcdp.accounting.filter import renyi_budget
from zcdp.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, RandomizedResponse
from zcdp.verification import check_conversions


@pytest.mark.parametrize(
    ("routes", "holds"),
    [((1, 2, 3), True), ((1, 1, 1), True), ((2, 1, 3), False), ((1, 3, 2), False), ((3, 2, 1), False)],
)
def test_the_order_of_the_routes(routes: tuple[int, ...], holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Told:
        def __init__(self, **_: str) -> None: ...

        def __rmul__(self, count: int) -> Any:
            return SimpleNamespace(routes=lambda delta: dict(zip(("profile", "rdp", "zcdp"), routes, strict=True)))

    monkeypatch.setattr(check_conversions, "Laplace", Told)
    assert check_conversions._routes_ranked(100) is holds


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (1 + 1e-12, False), (1 - 1e-12, False)])
def test_a_mechanism_calibrated_to_the_last_bit(factor: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Calibrated:
        def __new__(cls, **given: Any) -> Any:
            return Laplace(**given)

        @staticmethod
        def calibrate(*, rho: str) -> Laplace:
            return Laplace(epsilon=float(Laplace.calibrate(rho=rho).epsilon) * factor)  # type: ignore[arg-type]

    monkeypatch.setattr(check_conversions, "Laplace", Calibrated)
    assert check_conversions._calibration() is holds


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (1 + 1e-6, False), (1 - 1e-6, False)])
def test_a_calibrated_plan(factor: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_conversions, "calibrate", lambda plan, **target: calibrate(plan, **target) * factor)
    assert check_conversions._plan_calibration() is holds


@pytest.mark.parametrize(
    ("factors", "holds"), [((1, 1), True), ((1.001, 1.001), False), ((0.999, 0.999), False), ((0.9999, 1.0001), False)]
)
def test_an_allocation(factors: tuple[float, float], holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(queries: Any, **target: Any) -> list[Laplace]:
        found = allocate(queries, **target)
        epsilons = (float(one.epsilon) * factor for one, factor in zip(found, factors, strict=True))  # type: ignore[attr-defined]
        return [Laplace(epsilon=e, sensitivity=one.sensitivity) for e, one in zip(epsilons, found, strict=True)]  # type: ignore[attr-defined]

    monkeypatch.setattr(check_conversions, "allocate", changed)
    assert check_conversions._allocation() is holds


@pytest.mark.parametrize("kind", [Gaussian, DiscreteGaussian, DiscreteLaplace])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_half_width(kind: type, change: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def noise(**given: Any) -> Any:
        right = kind(**given)
        return SimpleNamespace(
            accuracy=lambda **level: SimpleNamespace(half_width=right.accuracy(**level).half_width + change)
        )

    assert check_conversions._accuracy()
    monkeypatch.setattr(check_conversions, kind.__name__, noise)
    assert not check_conversions._accuracy()


@pytest.mark.parametrize(("refuses", "left", "holds"), [(True, 0, True), (False, 0, False), (True, 1, False)])
def test_a_filter(refuses: bool, left: int, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kept:
        remaining = left

        def __init__(self, rho: str) -> None:
            self.rest = Fraction(rho)

        def spend(self, rho: str) -> None:
            self.rest -= Fraction(rho)
            if refuses and self.rest < 0:
                raise BudgetExceeded("no more")

    monkeypatch.setattr(check_conversions, "Filter", Kept)
    assert check_conversions._filter() is holds


def test_a_renyi_budget_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_conversions._renyi()
    monkeypatch.setattr(check_conversions, "renyi_budget", lambda *given: renyi_budget(*given) * Fraction(6, 5))
    assert not check_conversions._renyi()


WRONG: list[tuple[str, str, dict[str, float]]] = [
    # words of the check's statement, mechanism, factors
    ("5 times 2-RR", "RandomizedResponse", {"delta_at": 1 - 1e-6}),
    ("5 times 2-RR", "RandomizedResponse", {"delta_at": 1 + 1e-6}),
    ("curves of a sum add up", "Laplace", {"rdp": 1 + 1e-9}),
    ("curves of a sum add up", "Laplace", {"rdp": 1 - 1e-9}),
    ("curves of a sum add up", "Laplace", {"rho": 1.001}),
    ("met in both directions", "BinaryRandomizedResponse", {"delta_at": 0.99}),
    ("a larger profile has", "PureDP", {"delta_at": 0.7}),
    ("a larger profile has", "PureDP", {"rdp": 0.3}),
    ("logistic profile covers", "Logistic", {"delta_at": 0.5}),
    ("logistic profile covers", "BoundedRange", {"delta_at": 1.01}),
    ("logistic profile covers", "RandomizedResponse", {"delta_at": 2}),
    ("between two Laplace profiles", "DiscreteLaplace", {"delta_at": 0.99}),
    ("between two Laplace profiles", "DiscreteLaplace", {"delta_at": 1.01}),
    ("covers permute-and-flip", "Laplace", {"delta_at": 0.5}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name", "factors"), WRONG, ids=str)
def test_a_check_of_a_wrong_mechanism_fails(
    words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each direction that the theorem forbids."""
    assert_seen(check_conversions, words, name, factors, monkeypatch)


def test_a_delta_that_is_not_shared_with_what_tells_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_conversions._approximate()
    monkeypatch.setattr(check_conversions, "left_of_delta", lambda delta, _mass: delta)
    assert not check_conversions._approximate()


def test_a_level_of_too_small_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_conversions._levels()
    monkeypatch.setattr(check_conversions, "RandomizedResponse", altered(RandomizedResponse, rho=0.9))
    assert not check_conversions._levels()


@pytest.mark.parametrize("part", [Fraction(1), Fraction(1001, 1000), Fraction(999, 1000)])
def test_finds_of_an_attack(part: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_conversions, "Gaussian", lambda *, sigma: Gaussian(sigma=sigma * part))
    assert check_conversions._tradeoff() is (part == 1)


def test_groups_of_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_conversions._graph()
    monkeypatch.setattr(check_conversions, "Channel", lambda rows, **_: Channel(rows))
    assert not check_conversions._graph()


@pytest.mark.parametrize(("more", "holds"), [(0.0, True), (1e-6, False), (-1e-6, False)])
def test_one_training_run(more: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(**given: Any) -> Any:
        return SimpleNamespace(epsilon_lower=audit_training(**given).epsilon_lower + more)

    monkeypatch.setattr(check_conversions, "audit_training", told)
    assert check_conversions._one_run() is holds
