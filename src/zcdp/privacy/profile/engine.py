"""What an engine for the profile must offer, and how to write one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import ClassVar, NamedTuple

from flint import arb

from zcdp.privacy.profile.question import Question

__all__ = ["Engine", "Offer"]


class Offer(NamedTuple):
    """An engine that can answer."""

    cost: float
    """In nanoseconds, near enough."""
    build: Callable[[], Engine]


class Engine(ABC):
    """A method for delta(epsilon) of a composition, near the epsilon of one question.

    *To write one*, make a subclass in one file. `offer` says what it would cost, and how to build the engine; it
    answers None where the engine does not apply, or would take longer than it is worth. `delta` encloses the truth: all
    that is left out is charged to one end or the other, by a theorem. `estimate` needs no proof. Then give it its place
    in the table `ENGINES` of src/zcdp/privacy/profile/engines.py. An engine asks laws for what they offer, never which
    kind they are; it lives at one working precision, and keeps no answer.
    """

    name: ClassVar[str]
    """What the answer says of its method."""
    only_rounding: ClassVar[bool] = True
    """Whether the two ends are apart by rounding alone, or what was chosen to be negligible: then more bits help."""
    attained: ClassVar[bool] = False
    """Whether it answers for the mechanisms themselves, not for the laws that dominate them."""

    most_laws: ClassVar[float] = inf
    """It is not asked of compositions of more different laws."""
    most_uses: ClassVar[float] = inf
    """Nor of ones of more uses in all."""
    of_atoms: ClassVar[bool] = False
    """Nor, where this is set, of laws that have more than atoms."""
    on_lattice: ClassVar[bool] = False
    """Nor, where this is set, of ones that share no lattice."""

    guess: Fraction = Fraction(0)
    """Where the search for an epsilon begins."""
    least: Fraction = Fraction(0)
    """Below this epsilon the engine has no answer."""

    @classmethod
    @abstractmethod
    def offer(cls, question: Question) -> Offer | None:
        """What it would cost, and how to build it; None where it has nothing to offer."""

    @abstractmethod
    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Balls whose lower end is below, and whose upper end is above delta(epsilon)."""

    def upper(self, epsilon: Fraction) -> arb:
        """The second of these alone."""
        return self.delta(epsilon)[1]

    def near(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Two numbers whose distance tells how good the engine is at an epsilon far from its own; the second holds."""
        return self.delta(epsilon)

    @abstractmethod
    def estimate(self, epsilon: float) -> float:
        """log delta(epsilon), near enough: for proposals."""
