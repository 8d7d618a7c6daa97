"""One row per mechanism instance: a new row buys every law in tests/laws."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zcdp import (
    RAPPOR,
    BoundedRange,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    PureDP,
    RandomizedResponse,
)


@dataclass(frozen=True)
class Kind:
    """A mechanism class, how the independent reference names it, and the parameters beside its budget."""

    mechanism: type[Mechanism]
    reference: str
    fixed: tuple[dict[str, Any], ...] = ({},)

    def at(self, budget: Any, **fixed: Any) -> Mechanism:
        return self.mechanism(**{self.mechanism.budget: budget}, **fixed)

    def truth(self, budget: Fraction, **fixed: Any) -> dict[str, Any]:
        """Parameters of the reference."""
        name = "eta" if self.reference == "bounded_range" else "epsilon"
        return {name: budget, **fixed}


KINDS = (
    Kind(PureDP, "pure_dp"),
    Kind(Laplace, "laplace"),
    Kind(DiscreteLaplace, "discrete_laplace", tuple({"sensitivity": d} for d in (1, 2, 7, 1000, 10**18))),
    Kind(
        RandomizedResponse,
        "randomized_response",
        tuple({"k": k} for k in (2, 3, 6, 7, 9, 50, 2925, 10**9, 2**63)),
    ),
    Kind(RAPPOR, "rappor"),
    Kind(BoundedRange, "bounded_range"),
    Kind(ExponentialMechanism, "bounded_range"),
)

EPSILONS = (5e-324, 1e-300, 1e-9, Fraction(1, 3), 1, 3.5, 40, 1e4, 1.7976931348623157e308)
EVERYDAY = (1e-6, 1e-3, "0.1", Fraction(1, 3), 1, 3.5, 10, 40)

ROWS: tuple[Mechanism, ...] = tuple(
    kind.at(epsilon, **fixed) for kind in KINDS for fixed in kind.fixed for epsilon in EPSILONS
)
EVERYDAY_ROWS: tuple[Mechanism, ...] = tuple(
    kind.at(epsilon, **fixed) for kind in KINDS for fixed in kind.fixed for epsilon in EVERYDAY
)
