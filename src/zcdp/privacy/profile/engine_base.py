"""`Engine`: the interface of a method that computes delta(epsilon) of a composition, and how to write one."""

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
    """An engine that applies to a question."""

    cost: float
    """The expected work, in nanoseconds."""
    build: Callable[[], Engine]
    """Makes the engine; may raise `NotCertified`."""


class Engine(ABC):
    """A method for delta(epsilon) of a composition, built for one question: it is tight near the question's epsilon.

    *To write one*, make a subclass in one file. `offer` returns the expected work and a function that builds the
    engine, or None if the engine does not apply or would take too long. `delta` must enclose the true value: whatever
    is left out is added to one end or the other, by a theorem. `estimate` is heuristic. Then add the class to the
    table `ENGINES` in src/zcdp/privacy/profile/engines.py. An engine uses the methods of laws and never tests their
    class. It is used at the working precision at which it was built, and caches no answers.
    """

    name: ClassVar[str]
    """The method's name in the answer."""
    only_rounding: ClassVar[bool] = True
    """Whether the two ends differ only by rounding and negligible terms, so that a higher precision helps."""
    attained: ClassVar[bool] = False
    """Whether the answer is exact for the mechanisms themselves, not only for the laws that dominate them."""

    most_laws: ClassVar[float] = inf
    """The engine is used for compositions of at most so many different laws."""
    most_uses: ClassVar[float] = inf
    """The engine is used for compositions of at most so many uses in total."""
    of_atoms: ClassVar[bool] = False
    """Whether the engine is used only if all laws are discrete, made of atoms alone."""
    on_lattice: ClassVar[bool] = False
    """Whether the engine is used only if all laws share a lattice."""

    guess: Fraction = Fraction(0)
    """The epsilon at which a search for the epsilon of a given delta begins."""
    least: Fraction = Fraction(0)
    """The least epsilon for which the engine can answer."""

    @classmethod
    @abstractmethod
    def offer(cls, question: Question) -> Offer | None:
        """The expected work and how to build the engine; None if it does not apply."""

    @abstractmethod
    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Two balls: the lower end of the first is at most delta(epsilon), the upper end of the second at least."""

    def upper(self, epsilon: Fraction) -> arb:
        """A ball whose upper end is at least delta(epsilon): the second of `delta`, possibly with less work."""
        return self.delta(epsilon)[1]

    def near(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Bounds at an epsilon for which the engine was not built. Only the upper end of the second is certified.

        The gap between the two says whether to build another engine.
        """
        return self.delta(epsilon)

    @abstractmethod
    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
