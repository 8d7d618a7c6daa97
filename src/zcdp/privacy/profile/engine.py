"""What an engine for the profile must offer, how to write one, and the question that it is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.once import cached_property
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.snap import common_lattice
from zcdp.privacy.profile.line import Line
from zcdp.privacy.profile.saddle import line_for_delta, line_for_epsilon
from zcdp.privacy.profile.transform import Transform

__all__ = ["Answer", "Engine", "NoAnswer", "Offer", "Question"]


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


@dataclass(frozen=True)
class Question:
    """One composition in one order, near one epsilon: what an engine needs for an offer, at the working precision."""

    parts: Parts
    given: Fraction | float
    """An epsilon (a Fraction), or the logarithm of a delta (a float)."""
    share: int = 1
    """What the whole effort is divided by."""
    from_zero: bool = False
    """Whether the answer must hold for every epsilon >= 0, not only for those near the one that is proposed."""

    @cached_property
    def transform(self) -> Transform:
        """M."""
        return Transform(self.parts)

    @cached_property
    def lattice(self) -> Lattice | None:
        """The common lattice of all parts, if there is one."""
        return common_lattice(self.parts)

    @cached_property
    def _saddle(self) -> tuple[arb, Fraction]:
        if isinstance(self.given, Fraction):
            return line_for_epsilon(self.transform, self.given), self.given
        return line_for_delta(self.transform, self.given)

    @property
    def c(self) -> arb:
        """The line to integrate along."""
        return self._saddle[0]

    @property
    def epsilon(self) -> Fraction:
        """The given epsilon, or a proposal for the one at which delta is as given."""
        return self._saddle[1]

    @property
    def order(self) -> float:
        """The same as a float, where it was needed; 1 where it was not."""
        return float(self.c) if "_saddle" in vars(self) else 1.0

    @cached_property
    def line(self) -> Line:
        """The same with the size of the integrand on it."""
        return Line(self.transform, self.c, lift(self.epsilon), log_delta=self.log_delta)

    @property
    def log_delta(self) -> float | None:
        """The given one, where estimates by the saddle point formula may be far off; else None."""
        return self.given if self.transform.quick and isinstance(self.given, float) else None

    @cached_property
    def least(self) -> Fraction:
        """An epsilon that is hardly above the answer, where a given delta leads to `epsilon`."""
        if self.from_zero:
            return Fraction(0)
        if isinstance(self.given, Fraction):
            return self.given
        room, top = 1 / float(self.c), self.transform.largest
        room = min(room, float(top - lift(self.epsilon)))
        return max(Fraction(float(self.epsilon - Fraction(room))), Fraction(0))  # a float, as the search wants

    def whole(self) -> Question:
        """The same from epsilon 0 on."""
        return replace(self, from_zero=True)


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
