"""One row per mechanism instance, from the files of tests/rows: a new row buys every law in tests/laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import rows

import zcdp
from zcdp import Mechanism


@dataclass(frozen=True)
class Kind:
    """A mechanism with a budget, the parameters beside it, and its independent reference."""

    mechanism: type[Mechanism]
    fixed: tuple[dict[str, Any], ...]
    reference: Callable[..., Any] | None
    others: Callable[[Random], dict[str, Any]]

    def at(self, budget: Any, **fixed: Any) -> Mechanism:
        return self.mechanism(**{self.mechanism.budget: budget}, **fixed)


KINDS = tuple(
    Kind(
        getattr(zcdp, kind.name),
        tuple({name: rows.built(value) for name, value in fixed.items()} for fixed in kind.fixed),
        kind.reference,
        kind.others,
    )
    for kind in rows.every("KINDS")
)

EPSILONS = (1e-12, 1e-6, 0.01, Fraction(1, 3), 1, 3.5, 10, 40, 1e4, 1e9)
EVERYDAY = (1e-6, 1e-3, "0.1", Fraction(1, 3), 1, 3.5, 10, 40)

# mechanisms whose parameters have no one budget among them
DENSITIES = {"AsymmetricLaplace", "Cauchy", "GeneralizedGaussian", "Mixture", "Noise", "StudentT", "Truncated"}
"""Their laws are integrated for seconds: what holds over the table is tried in deep runs, tests/laws/test_densities."""
OTHERS: tuple[Mechanism, ...] = tuple(one.build() for one in rows.every("EXAMPLES") if one.name not in DENSITIES)

ROWS: tuple[Mechanism, ...] = (
    *(kind.at(epsilon, **fixed) for kind in KINDS for fixed in kind.fixed for epsilon in EPSILONS),
    *OTHERS,
)
EVERYDAY_ROWS: tuple[Mechanism, ...] = (
    *(kind.at(epsilon, **fixed) for kind in KINDS for fixed in kind.fixed for epsilon in EVERYDAY),
    *OTHERS,
)
