"""How a training run draws its batches, and by how many clip norms one example can then move the sum of gradients."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from zcdp.errors import BadValue
from zcdp.mechanisms import Allocation as AllocatedEpoch
from zcdp.mechanisms import Gaussian, MixtureOfGaussians, ReplacedSample, Subsampled, TruncatedSample
from zcdp.numeric.exact import Value, in_domain, integer, literal, rational
from zcdp.privacy.curve import Curve
from zcdp.text.calls import spoken_class

__all__ = ["Allocation", "Batches", "FixedSize", "Poisson", "Truncated"]


@spoken_class
@dataclass(frozen=True, init=False, repr=False)
class Batches(metaclass=ABCMeta):
    """A way to draw batches: for which neighbours it hides an example, and what one use of it costs.

    `noise_multiplier` is the standard deviation of the noise on the *sum* of the clipped gradients of a batch, divided
    by the clip norm C. Theorem: docs/theorems/training.md.
    """

    moves: ClassVar[int]
    """By how many clip norms C one example moves the sum, at most."""
    neighbours: ClassVar[str]
    """What neighbouring data sets are, for people; `{one}` stands for an example, or a user."""
    drawn: ClassVar[str]
    """How batches must be drawn for the numbers to hold, for people."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrong arguments raise an error that names the class and the parameter, as the caller wrote them."""
        super().__init_subclass__(**options)
        spoken_class(cls)

    @property
    def steps_per_use(self) -> int:
        """How many steps one use of `mechanism` stands for."""
        return 1

    @property
    @abstractmethod
    def share(self) -> Fraction:
        """The probability that an example is drawn in one step: what makes steps epochs."""

    @abstractmethod
    def mechanism(self, noise_multiplier: Fraction) -> Curve:
        """What `steps_per_use` steps cost, noise of this multiple of C on each sum."""

    def of_users(self, noise_multiplier: Fraction, examples_per_user: int) -> Curve:
        """The same for neighbours that differ by one user with up to so many examples, each clipped and drawn alone."""
        del noise_multiplier, examples_per_user
        rule = "no bound is known for the examples of one user; Poisson(rate) has one, or draw whole users"
        raise BadValue(f"examples_per_user: with {self!r} {rule}")

    def __repr__(self) -> str:
        shown = (f"{field.name}={literal(getattr(self, field.name))}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(shown)})"

    def _set(self, **parameters: Fraction | int) -> None:
        for name, value in parameters.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, init=False, repr=False)
class Poisson(Batches):
    """Each example is in a batch with probability `rate`, by itself, anew in each step; the size of a batch varies."""

    moves = 1
    neighbours = "Neighbours differ by one {one}, added or removed."
    drawn = "Each {one} is drawn by itself with this probability in every step. Shuffled batches of one size are not "
    drawn += "covered."

    rate: Fraction
    """The probability with which an example is in a batch."""

    def __init__(self, rate: Value) -> None:
        self._set(rate=_rate(rate))

    @property
    def share(self) -> Fraction:
        """The rate."""
        return self.rate

    def mechanism(self, noise_multiplier: Fraction) -> Curve:
        """One step, of sensitivity C."""
        return Subsampled(Gaussian(sigma=noise_multiplier), rate=self.rate)

    def of_users(self, noise_multiplier: Fraction, examples_per_user: int) -> Curve:
        """One step: as many of the user's examples as are drawn move the sum by C each."""
        return MixtureOfGaussians(sigma=noise_multiplier, rate=self.rate, examples=examples_per_user)


@dataclass(frozen=True, init=False, repr=False)
class FixedSize(Batches):
    """Each batch has exactly `size` different examples out of `of`, drawn anew in each step.

    Neighbours are two data sets of which one example is another: its clipped gradient moves the sum by up to 2 C.
    """

    moves = 2
    neighbours = "Neighbours differ by one {one}, replaced by another."
    drawn = "Each batch is drawn anew from all {one}s. Batches cut from a shuffled data set are not covered."

    size: int
    """How many examples a batch has."""
    of: int
    """How many examples there are."""

    def __init__(self, size: Value, of: Value) -> None:
        drawn, whole = integer(size, "size", 1), integer(of, "of", 1)
        if drawn > whole:
            raise BadValue(f"size ({drawn}) must be at most of ({whole}): no example is drawn twice")
        self._set(size=drawn, of=whole)

    @property
    def share(self) -> Fraction:
        """The size of a batch over the number of examples."""
        return Fraction(self.size, self.of)

    def mechanism(self, noise_multiplier: Fraction) -> Curve:
        """One step: an example of norm at most C takes another's place, and moves the sum by up to 2 C."""
        return ReplacedSample(Gaussian(sigma=noise_multiplier), size=self.size, of=self.of)


@dataclass(frozen=True, init=False, repr=False)
class Truncated(Batches):
    """As `Poisson`, but of a batch of more than `most` examples so many are kept, chosen at random: a fixed shape.

    An example that is drawn into a full batch takes another one's place, and then moves the sum by up to 2 C; how
    rarely that happens depends on the number of examples, `of`, which becomes public.
    """

    moves = 1
    neighbours = "Neighbours differ by one {one}, added or removed. In a full batch it takes another's place: 2 C."
    drawn = Poisson.drawn

    rate: Fraction
    """The probability with which an example is drawn."""
    most: int
    """How many examples a batch has at most."""
    of: int
    """How many examples there are, at most."""

    def __init__(self, rate: Value, most: Value, of: Value) -> None:
        self._set(rate=_rate(rate), most=integer(most, "most", 1), of=integer(of, "of", 1))

    @property
    def share(self) -> Fraction:
        """The rate; what is cut off is drawn too."""
        return self.rate

    def mechanism(self, noise_multiplier: Fraction) -> Curve:
        """One step, of sensitivity C, or 2 C in a full batch."""
        base = Gaussian(sigma=noise_multiplier)
        return TruncatedSample(base, rate=self.rate, most=self.most, of=self.of)


@dataclass(frozen=True, init=False, repr=False)
class Allocation(Batches):
    """In each epoch every example goes to one of so many batches, at random and by itself: "balls in bins".

    Batches vary in size, and which example went where stays secret. Noise may change between epochs, not within one.
    """

    moves = 1
    neighbours = Poisson.neighbours
    drawn = "In each epoch each {one} goes to one of the batches at random, by itself, and batches vary in size. "
    drawn += "Shuffled batches of one size are not covered."

    batches: int
    """How many batches, and so steps, an epoch has."""

    def __init__(self, batches: Value) -> None:
        self._set(batches=integer(batches, "batches", 1))

    @property
    def steps_per_use(self) -> int:
        """An epoch has as many steps as batches."""
        return self.batches

    @property
    def share(self) -> Fraction:
        """One batch of an epoch."""
        return Fraction(1, self.batches)

    def mechanism(self, noise_multiplier: Fraction) -> Curve:
        """One epoch, of sensitivity C."""
        return AllocatedEpoch(Gaussian(sigma=noise_multiplier), batches=self.batches)


def _rate(rate: Value) -> Fraction:
    """The rate as an exact number, above 0 and at most 1."""
    probability = rational(rate, "rate")
    if not 0 < probability <= 1:
        raise BadValue(f"rate ({literal(probability)}) must be above 0 and at most 1")
    return in_domain(probability, "rate", rate)
