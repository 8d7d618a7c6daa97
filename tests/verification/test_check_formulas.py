"""The checks of formulas fail where rho, a curve or a move is a little wrong, in either direction."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from verification.altered import Altered, assert_seen

from zcdp.mechanisms import L2, DiscreteGaussian, DiscreteLaplace, Gaussian, L0LInf, Laplace, Logistic, ReportNoisyMax
from zcdp.verification import check_formulas
from zcdp.verification import check_formulas as formulas
from zcdp.verification.proofs import Proof


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (1 + 1e-8, False), (1 - 1e-8, False)])
def test_rho_beside_the_search(factor: float, holds: bool) -> None:
    assert formulas._searched(Altered(Laplace(epsilon=1), {"rho": factor})) is holds  # type: ignore[arg-type]


@pytest.mark.parametrize(("ends", "holds"), [((1, 1), True), ((1, 1 + 2e-10), True), ((0.999, 1.001), False)])
def test_a_search_that_does_not_close_in_proves_nothing(ends: tuple[float, float], holds: bool) -> None:
    assert formulas._searched(SimpleNamespace(rho=1.0, search_rho=lambda _: ends)) is holds  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bounds", "rho", "holds"),
    [((0.1, 0.2), 0.2, True), ((0.0, 0.2), 0.2, False), ((0.3, 0.2), 0.2, False), ((0.1, 0.2), 0.25, False)],
)
def test_a_concrete_pair_below_its_bound(bounds: tuple[float, float], rho: float, holds: bool) -> None:
    assert formulas._between(ReportNoisyMax(epsilon=1))
    assert formulas._between(SimpleNamespace(rho_bounds=bounds, rho=rho)) is holds  # type: ignore[arg-type]


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (1 + 1e-13, False), (1 - 1e-13, False)])
def test_the_line_of_gaussian_noise(factor: float, holds: bool) -> None:
    assert formulas._is_line(Altered(Gaussian(sigma=3), {"rdp": factor})) is holds  # type: ignore[arg-type]


def only(kind: type, shape: type, factors: dict[str, float]) -> Any:
    """Wrong only for moves of this shape."""

    def make(**given: Any) -> Any:
        right = kind(**given)
        return Altered(right, factors) if isinstance(given.get("sensitivity", 1), shape) else right

    return make


WRONG: list[tuple[str, type, type, dict[str, float]]] = [
    ("_cells", DiscreteLaplace, L0LInf, {"rho": 1 + 1e-12}),
    ("_cells", DiscreteLaplace, L0LInf, {"rho": 1 - 1e-12}),
    ("_cells", DiscreteLaplace, int, {"rho": 1 - 1e-12}),
    ("_whole_moves", DiscreteGaussian, L2, {"delta_at": 0.5}),
    ("_whole_moves", DiscreteGaussian, L2, {"rho": 1 + 1e-12}),
    ("_whole_moves", DiscreteGaussian, L0LInf, {"delta_at": 2}),
    ("_logistic_moves", Logistic, L0LInf, {"rho": 1 + 1e-12}),
    ("_logistic_moves", Logistic, L0LInf, {"rho": 1 - 1e-12}),
    ("_logistic_moves", Logistic, L2, {"rho": 0.99}),
    ("_logistic_moves", Logistic, L2, {"rho": 1.01}),
    ("_logistic_moves", Logistic, int, {"delta_at": 1.0, "rho": 1.01}),
]


@pytest.mark.parametrize(("check", "kind", "shape", "factors"), WRONG)
def test_moves(check: str, kind: type, shape: type, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    holds = getattr(formulas, check)
    assert holds()
    monkeypatch.setattr(formulas, kind.__name__, only(kind, shape, factors))
    assert not holds()


@pytest.mark.parametrize(("six", "seven"), [(True, False), (True, True), (False, False)])
def test_six_values_must_be_proved_and_seven_not(six: bool, seven: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {6: six, 7: seven}
    monkeypatch.setattr(formulas, "prove", lambda claim, *_, **__: Proof(told[claim.keywords["k"]], 1))
    assert formulas._boxes() is (six and not seven)


WRONG: list[tuple[str, str, dict[str, float]]] = [
    # words of the check's statement, mechanism, factors
    ("the curve lies below that of Gaussian", "DiscreteGaussian", {"rdp": 1.5}),
    ("4-RR as a bare matrix", "Channel", {"rho": 1 + 1e-8}),
    ("4-RR as a bare matrix", "Channel", {"rho": 1 - 1e-8}),
    ("a Laplace move costs the quadratic", "Laplace", {"rho": 1 + 1e-12}),
    ("a Laplace move costs the quadratic", "Laplace", {"rho": 1 - 1e-12}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name", "factors"), WRONG, ids=str)
def test_a_check_of_a_wrong_mechanism_fails(
    words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each direction that the theorem forbids."""
    assert_seen(check_formulas, words, name, factors, monkeypatch)
