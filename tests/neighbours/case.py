"""What a row is: a mechanism, named and not yet built, beside the true laws of its neighbouring inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from random import Random
from typing import Any

from rows import built, every

from neighbours.law import Pair


@dataclass(frozen=True)
class Case:
    """One mechanism with its parameters, and neighbours of it: the first is expected to be the worst, or next to it."""

    mechanism: Any
    """Given as a call by its name, `rows.made`, and then built."""
    pairs: Sequence[Pair]
    limits: Sequence[Pair] = ()
    """Pairs that admissible ones come as near to as one likes: the supremum over neighbours has them too."""
    family: Callable[[float], Pair] | None = None
    """Neighbours along a parameter from 0 to 1, one of which is the worst at each order."""
    group: Callable[[int], Sequence[Pair]] | None = None
    """Inputs at a distance of so many neighbours; None: every two inputs are neighbours already."""
    far_limits: Callable[[int], Sequence[Pair]] | None = None
    """As `limits`, for inputs at a distance."""
    far_family: Callable[[int], Callable[[float], Pair] | None] | None = None
    """As `family`, for inputs at a distance."""
    every: bool = False
    """Whether these pairs are all that there are, and each use may meet any of them, in either order."""
    ordered: bool = False
    """Whether all uses, of all such mechanisms, meet their pairs in one and the same order."""
    far_rho: float = 0.0
    """What the ratio of divergence and order comes near to as the order grows; 0 where losses are bounded."""
    group_rho: Callable[[int], float] | None = None
    """As `far_rho`, for inputs at a distance, where their pairs do not show it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanism", built(self.mechanism))


Draw = Callable[[Random, int], Case]
"""A random case with so many random neighbours beside the corners."""


@dataclass(frozen=True)
class Row:
    """A mechanism, the kind of sensitivity that it is given ("none" if it has no such parameter), and a variant."""

    of: str
    draw: Draw
    sensitivity: str = "none"
    variant: str = ""
    deep: bool = False
    """Whether a row that differs little from it is enough but in deep runs."""
    slow: bool = False
    """Whether it stands beside others in deep runs alone: its law is integrated anew for every case."""

    @property
    def mechanism(self) -> Any:
        import zcdp

        return getattr(zcdp, self.of)

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.of, self.sensitivity, self.variant) if part)

    @property
    def is_ordered(self) -> bool:
        """Whether its neighbours differ by a record that one of them lacks."""
        return self.variant.startswith("ordered")

    @property
    def relation(self) -> str:
        """Which neighbours it is stated for; scores that all move one way are those of a person more or less."""
        if self.is_ordered or self.variant.endswith(("monotone", "add_remove")):
            return "add_remove"
        fixed = self.variant.startswith("fixed size") or self.of in {"Shuffled", "ReplacedSample"}
        return "replace" if fixed or self.mechanism.local else "either"

    def beside(self, *, slow: bool) -> list[Row]:
        """Rows that compose with this one, and with each other; slow ones if asked for."""
        other = "replace" if self.relation == "add_remove" else "add_remove"
        rows = (row for row in every("NEIGHBOURS") if slow or not row.slow)
        return [row for row in rows if row.variant != "zero" and row.relation != other]


def some_rows(rng: Random, rows: Sequence[Row], count: int) -> list[Row]:
    """Rows drawn at random, by a rank of each that the others do not change.

    So a new row changes only the draws that it enters: what another mechanism is tried with stays the same.
    """
    draw = rng.random()
    return sorted(rows, key=lambda row: Random(f"{draw} {row.name}").random())[:count]


def some_epsilon(rng: Random, low: float = 0.02, high: float = 5) -> Fraction:
    """Log-uniform, with three digits or so."""
    return Fraction(max(1, round(1000 * exp(rng.uniform(log(low), log(high))))), 1000)
