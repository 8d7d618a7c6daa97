"""Every check fails where what it checks is a little wrong, in each direction that the theorem forbids."""

from __future__ import annotations

from types import ModuleType

import pytest
from verification.altered import altered

from zcdp import mechanisms
from zcdp.verification import Check, run
from zcdp.verification import check_collection as collection
from zcdp.verification import check_conversions as conversions
from zcdp.verification import check_formulas as formulas
from zcdp.verification import check_limits as limits
from zcdp.verification import check_profiles as profiles
from zcdp.verification import check_small_cases as small_cases
from zcdp.verification import check_tables as tables

ALL = (collection, conversions, formulas, limits, profiles, small_cases, tables)
MODULES = {one.__name__.rpartition(".check_")[2]: one for one in ALL}

WRONG: list[tuple[str, str, str, dict[str, float]]] = [
    # module, words of the check's statement, mechanism, factors
    ("conversions", "5 times 2-RR", "RandomizedResponse", {"delta_at": 1 - 1e-6}),
    ("conversions", "5 times 2-RR", "RandomizedResponse", {"delta_at": 1 + 1e-6}),
    ("conversions", "curves of a sum add up", "Laplace", {"rdp": 1 + 1e-9}),
    ("conversions", "curves of a sum add up", "Laplace", {"rdp": 1 - 1e-9}),
    ("conversions", "curves of a sum add up", "Laplace", {"rho": 1.001}),
    ("conversions", "met in both directions", "BinaryRandomizedResponse", {"delta_at": 0.99}),
    ("conversions", "a larger profile has", "PureDP", {"delta_at": 0.7}),
    ("conversions", "a larger profile has", "PureDP", {"rdp": 0.3}),
    ("conversions", "logistic profile covers", "Logistic", {"delta_at": 0.5}),
    ("conversions", "logistic profile covers", "BoundedRange", {"delta_at": 1.01}),
    ("conversions", "logistic profile covers", "RandomizedResponse", {"delta_at": 2}),
    ("conversions", "between two Laplace profiles", "DiscreteLaplace", {"delta_at": 0.99}),
    ("conversions", "between two Laplace profiles", "DiscreteLaplace", {"delta_at": 1.01}),
    ("conversions", "covers permute-and-flip", "Laplace", {"delta_at": 0.5}),
    ("formulas", "the curve lies below that of Gaussian", "DiscreteGaussian", {"rdp": 1.5}),
    ("formulas", "4-RR as a bare matrix", "Channel", {"rho": 1 + 1e-8}),
    ("formulas", "4-RR as a bare matrix", "Channel", {"rho": 1 - 1e-8}),
    ("formulas", "a Laplace move costs the quadratic", "Laplace", {"rho": 1 + 1e-12}),
    ("formulas", "a Laplace move costs the quadratic", "Laplace", {"rho": 1 - 1e-12}),
    ("limits", "epsilon = 1: sensitivity 1 is pure DP", "PureDP", {"rdp": 1 + 1e-12}),
    ("limits", "epsilon = 1: sensitivity 1 is pure DP", "PureDP", {"rdp": 1 - 1e-12}),
    ("limits", "epsilon = 1: sensitivity 1 is pure DP", "PureDP", {"rho": 1 + 1e-12}),
    ("limits", "epsilon = 1: a fine lattice is Laplace", "Laplace", {"rho": 1 - 1e-10}),
    ("limits", "epsilon = 1: 2-RR is pure DP", "RandomizedResponse", {"rdp": 1 + 1e-12}),
    ("limits", "epsilon = 1: two pure DP steps", "RAPPOR", {"rdp": 1 - 1e-12}),
    ("limits", "epsilon = 1: the exponential mechanism is", "BoundedRange", {"rho": 1 + 1e-12}),
    ("limits", "epsilon = 1: subsets of size 1", "SubsetSelection", {"rdp": 1 - 1e-12}),
    ("limits", "epsilon = 1: no mechanism costs more", "RAPPOR", {"rho": 3}),
    ("limits", "epsilon = 1: no mechanism costs more", "PermuteAndFlip", {"rdp": 3}),
    ("limits", "epsilon = 1: 9-RR summed up", "RandomizedResponse", {"rdp": 1 + 1e-13}),
    ("limits", "epsilon = 1: 9-RR summed up", "RandomizedResponse", {"rdp": 1 - 1e-13}),
    ("limits", "epsilon = 1: rho equals the KL", "Logistic", {"rdp": 1 + 1e-15}),
    ("limits", "epsilon = 1: between bounded range and", "PermuteAndFlip", {"rho": 0.2}),
    ("limits", "epsilon = 1: between bounded range and", "PermuteAndFlip", {"rho": 3}),
    ("profiles", "few responses are a binomial sum", "PureDP", {"delta_bounds": 1 + 1e-9}),
    ("profiles", "few responses are a binomial sum", "PureDP", {"delta_bounds": 1 - 1e-9}),
    ("profiles", "Gaussian noise many times", "Gaussian", {"delta_bounds": 1 + 1e-9}),
    ("profiles", "Gaussian noise many times", "Gaussian", {"delta_bounds": 1 - 1e-9}),
    ("profiles", "beside a Laplace", "Laplace", {"delta_bounds": 1 + 1e-5}),
    ("profiles", "beside a Laplace", "Laplace", {"delta_bounds": 1 - 1e-5}),
    ("profiles", "losses on no lattice", "PureDP", {"delta_bounds": 1 + 1e-9}),
    ("profiles", "next to the largest loss", "PureDP", {"epsilon_bounds": 1 + 1e-9}),
    ("profiles", "next to the largest loss", "PureDP", {"epsilon_bounds": 1 - 1e-9}),
    ("profiles", "one use of a channel", "Channel", {"delta_bounds": 1 + 1e-9}),
    ("profiles", "several uses have that", "BinaryRandomizedResponse", {"delta_bounds": 1 + 1e-9}),
    ("profiles", "several uses have that", "BinaryRandomizedResponse", {"delta_bounds": 1 - 1e-9}),
    ("profiles", "two candidates against three", "ReportNoisyMax", {"rho_bounds": 4}),
    ("profiles", "two candidates against three", "ReportNoisyMax", {"rho_bounds": 0.2}),
    ("small_cases", "shuffled binary reports", "Shuffled", {"delta_at": 1 - 1e-9}),
    ("small_cases", "one use on a sample of fixed size", "Subsampled", {"delta_at": 1 - 1e-5}),
    ("small_cases", "one use on a sample of fixed size", "Subsampled", {"delta_at": 1 + 1e-5}),
    ("small_cases", "a uniform answer against", "BinaryRandomizedResponse", {"pure_epsilon": 1 - 1e-12}),
    ("tables", "two of three counts", "TopK", {"pure_epsilon": 0.45}),
    ("tables", "two of three counts", "TopK", {"rho": 0.2}),
    ("collection", "all hashes of four values", "LinearHashing", {"rho": 1 + 1e-8}),
    ("collection", "all hashes of four values", "LinearHashing", {"rho": 1 - 1e-8}),
    ("collection", "all reports of two collections", "MemoizedRAPPOR", {"rho": 1 + 1e-8}),
    ("collection", "all reports of two collections", "MemoizedRAPPOR", {"rho": 1 - 1e-8}),
]  # fmt: skip


def checks(module: ModuleType, words: str) -> list[Check]:
    return [check for check in module.checks(deep=False) if words in check.statement]


@pytest.mark.parametrize(
    ("module", "words", "name", "factors"), WRONG, ids=lambda one: one if isinstance(one, str) else str(one)
)
def test_a_check_of_a_wrong_mechanism_fails(
    module: str, words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = MODULES[module]
    monkeypatch.setattr(at, name, altered(getattr(mechanisms, name), **factors))
    asked = checks(at, words)
    assert asked
    for found in run(asked):
        assert not found.passed
        assert found.error is None
