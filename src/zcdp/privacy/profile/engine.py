"""What an engine for the profile must offer, and how to write one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar, NamedTuple

from flint import arb

from zcdp.numeric.certify import NotCertified
from zcdp.privacy.profile.question import Question

__all__ = ["Answer", "Engine", "NoAnswer", "Offer"]


class NoAnswer(NotCertified):
    """The profile is too extreme to be certified; other routes may know more."""

    def __init__(self, reason: str, order: float) -> None:
        super().__init__(reason)
        self.order = order
        """The order, less one, at which it looked last: a guess for others."""


class Answer(NamedTuple):
    """Two floats around the truth, and how they were found."""

    lower: float
    upper: float
    method: str
    """The name of the engine, or of the argument that needed none."""
    order: float = 1.0
    """The order, less one, at which it looked: a guess for others."""
    attained: bool = False
    """Whether the lower end is one of the mechanisms themselves, not only of the laws that dominate them."""
    cost: float = 0.0
    """What the engine was expected to cost, in nanoseconds."""


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
    in the table `ENGINES` of src/zcdp/privacy/profile/choose.py. An engine asks laws for what they offer, never which
    kind they are; it lives at one working precision, and keeps no answer.
    """

    name: ClassVar[str]
    """What the answer says of its method."""
    only_rounding: ClassVar[bool] = True
    """Whether the two ends are apart by rounding alone, or what was chosen to be negligible: then more bits help."""
    attained: ClassVar[bool] = False
    """Whether it answers for the mechanisms themselves, not for the laws that dominate them."""

    of_one_law: ClassVar[bool] = False
    """Whether it is only for one law with nothing beside it: then it is not asked of others."""

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
