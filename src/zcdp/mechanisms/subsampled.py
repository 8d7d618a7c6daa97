"""A mechanism that runs on a random sample of the records."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import ClassVar
from warnings import warn

from zcdp.errors import BadType, BadValue, SensitivityWarning
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise.gaussian import Gaussian
from zcdp.mechanisms.wrapper import Wrapper
from zcdp.numeric.exact import Exact, Value, integer, literal, rational
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve
from zcdp.privacy.loss import LossLaw, replaced_law, sampled_law
from zcdp.privacy.plan import Plan
from zcdp.privacy.relation import Relation
from zcdp.privacy.sampled_curve import SampledConvex, product_law, replaced_curve, sampled_curve
from zcdp.text.suggestions import thing

__all__ = ["READING", "Subsampled", "note_on_moves"]

READING: ContextVar[bool] = ContextVar("READING", default=False)
"""Whether text is read, which may have been stored long ago: nobody is there to be warned."""

MOVES = (
    "sigma of noise on a sample of a fixed size is in units of what replacing one record moves: of a sum of gradients "
    "clipped to norm C that is 2C, so that this is noise of standard deviation 2 sigma C; for noise of z C write "
    "Gaussian(sigma=z, sensitivity=2), and where a replaced record moves the sum by 1, sensitivity=L2(1)"
)

AGREE = 1e-9  # Two ends of rho so close are one value: each is searched to 1e-10 of it.


@dataclass(frozen=True, init=False, repr=False)
class Subsampled(Wrapper):
    """A mechanism or a whole plan on one random sample, anew in each use: by `rate`, or `size` records `of` so many.

    `rate`: a Poisson sample, each record takes part by itself with this probability. Neighbours are a data set and the
    same without one record. Of a local randomizer, a record that is not drawn, or not there, sends the report of one
    fixed value.
    `size` and `of`: so many different records, all sets of them alike. Neighbours are two data sets of which one record
    is another: the pair is the least that dominates all of them, attained by one use.

    The base's sensitivity is stated for the same neighbours. **Of gradients clipped to norm C, one that is replaced
    moves the sum by 2C**: noise of standard deviation z C is `Gaussian(sigma=z, sensitivity=2)` on a sample of a fixed
    size, and `Gaussian(sigma=z)` there is noise of 2 z C, of which a `SensitivityWarning` tells.

    Which records were drawn stays secret. Batches cut from a shuffled data set are neither, and not covered.

    Sampling makes large losses rare, not small: rho of sampled Gaussian noise is that of the noise itself, whatever the
    rate, and the profile is what to ask. Theorems: docs/theorems/sampling.md, docs/theorems/fixed-size.md.

    >>> from zcdp import Gaussian
    >>> step = Subsampled(Gaussian(sigma=1), rate="0.01")
    >>> step.rho, (10_000 * step).epsilon_at(delta=1e-5)
    (0.5, 6.18771238997154...)
    >>> (10_000 * Subsampled(Gaussian(sigma=2, sensitivity=2), size=600, of=60_000)).epsilon_at(delta=1e-5)
    8.0839634678118...
    """

    known_elsewhere = True
    theorem: ClassVar[str] = "sampling"
    _no_group = "the members of a group are drawn one by one"

    mechanism: Mechanism | Plan
    rate: Fraction
    size: int | None = None
    of: int | None = None

    def __init__(
        self,
        mechanism: Mechanism | Plan,
        *,
        rate: Value | None = None,
        size: Value | None = None,
        of: Value | None = None,
    ) -> None:
        if isinstance(mechanism, Plan):
            [(only, count), *others] = mechanism.parts
            mechanism = mechanism if others or count > 1 or not isinstance(only, Mechanism) else only
        if not isinstance(mechanism, Mechanism | Plan):
            raise BadType(f"mechanism ({thing(mechanism)}) must be a mechanism or a plan, as Gaussian(sigma=1)")
        if rate is not None and size is None and of is None:
            self._set(mechanism=mechanism, rate=_rate(rate), size=None, of=None)
            _refuse_replaced(mechanism)
        elif rate is None and size is not None and of is not None:
            drawn, whole = integer(size, "size", 1), integer(of, "of", 1)
            if drawn > whole:
                raise BadValue(f"size ({drawn}) must be at most of ({whole}): no record is drawn twice")
            Relation.REPLACE.joined(mechanism.relation)
            _refuse_other_size(mechanism, drawn)
            if not READING.get() and any(_counts_in_moves(part) for part, _ in mechanism.parts):
                warn(MOVES, SensitivityWarning, stacklevel=3)  # of the constructor, and of what words its complaints
            self._set(mechanism=mechanism, rate=Fraction(drawn, whole), size=drawn, of=whole)
        else:
            raise BadType("give a rate, for a Poisson sample, or size and of, for one without replacement")
        if self._law is None:
            if self._base_law is not None:
                many = "its losses are too many to list, and no formula for them is known"
                raise BadValue(f"{mechanism!r} cannot be sampled: {many}; continuous noise of any size can be")
            raise BadValue(f"{mechanism!r} cannot be sampled: no law of its privacy loss is known")

    def __repr__(self) -> str:
        how = f"rate={literal(self.rate)}" if self.size is None else f"size={self.size}, of={self.of}"
        return f"Subsampled({self.mechanism!r}, {how})"

    @cached_property
    def _law(self) -> LossLaw | None:
        """That of the base's own pair, if it can be sampled; else that of all of pure DP, which dominates it."""
        drawn = sampled_law if self.size is None else replaced_law
        for law in (self._base_law, Curve.pair(self.mechanism)):
            found = law if law is None or self.rate == 1 else drawn(law, self.rate)
            if found is not None:
                return found
        return None

    @cached_property
    def _base_law(self) -> LossLaw | None:
        """Of one mechanism, or of the product of a plan's parts or of a mechanism's coordinates."""
        base = self.mechanism
        if isinstance(base, Plan):
            return product_law(base)
        return base.pair() if base.coordinates == ((base, 1),) else product_law(Plan.sum_of(base))

    @cached_property
    def _curve(self) -> Curve:
        if self.rate == 1:
            return self.mechanism
        curve = sampled_curve if self.size is None else replaced_curve
        return curve(self._curve_law, self.mechanism, self.rate)

    @cached_property
    def _curve_law(self) -> LossLaw | None:
        """Of finitely many losses, where there is one: its curve is searched over all orders."""
        base, drawn = self._base_law, sampled_law if self.size is None else replaced_law
        return (base and drawn(base, self.rate, cells=True)) or self._law

    @property
    def relation(self) -> Relation:
        return Relation.ADD_REMOVE if self.size is None else Relation.REPLACE

    def pair(self) -> LossLaw | None:
        return self._law

    @property
    def is_tight(self) -> bool:
        """Whether rho is that of the sampled base's own pair, however often it is used.

        Irrational masses of few outcomes are rounded outward and inward: then, whether both ends agree.
        """
        if not self.mechanism.is_tight or (self.size is not None and self.rate < 1):
            return False
        if self._curve_is_own:
            return True
        if self._base_law is None or not self._base_law.few:
            return False
        lower, upper = self.rho_bounds
        return upper == inf or upper - lower <= AGREE * upper

    @property
    def _curve_is_own(self) -> bool:
        """Whether the curve is that of the pair itself, not of one that only dominates it."""
        return self.rate == 1 or (self._curve_law is not None and self._curve_law.exact)

    @property
    def largest_loss(self) -> Exact | None:
        return self._bounded.largest_loss

    @property
    def unbounded(self) -> bool:
        return self._curve.unbounded

    @property
    def pure_epsilon(self) -> float:
        return self._bounded.pure_epsilon

    @cached_property
    def _bounded(self) -> Curve:
        """The curve of the least largest loss: pure DP of the base bounds that of any sample.

        A law that only dominates may have losses that no sample of a bounded mechanism has.
        """
        by_convexity = SampledConvex(self.mechanism, self.rate)
        return by_convexity if by_convexity.pure_epsilon < self._curve.pure_epsilon else self._curve

    def _divergence(self, excess: Fraction) -> float:
        found = self._curve._divergence(excess)
        if self._law is None or self._law.exact:
            return found
        return min(found, self.mechanism._divergence(excess))  # By convexity a sample costs no more.

    @property
    def rho(self) -> float:
        """See `Curve`: by convexity a sample costs no more than its base."""
        return self._rho_above

    @cached_property
    def _rho_above(self) -> float:
        return min(self._curve._peak_bounds[1], self.mechanism.rho)

    @property
    def rho_bounds(self) -> tuple[float, float]:
        return self.mechanism.rho_bounds if self.rate == 1 else self._peak_bounds

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """The lower end is that of what some neighbours attain."""
        if self._curve_is_own:
            lower = self._curve._peak_bounds[0]
        else:
            attained = [law.witness for law in (self._curve_law, self._law) if law is not None and law.witness]
            lower = sampled_curve(attained[0], self.mechanism, self.rate).rho_bounds[0] if attained else 0.0
        return min(lower, self.rho), self.rho

    @cached_property
    def rho_fraction(self) -> Fraction:
        return self.mechanism.rho_fraction if self.pure_epsilon == inf else super().rho_fraction


def _refuse_replaced(mechanism: Mechanism | Plan) -> None:
    """A Poisson sample has neighbours of one record more or less: the base must be stated for them.

    Of a local randomizer a record that is not there sends the report of a fixed value: that is covered.
    """
    for part, _ in mechanism.parts:
        if part.relation is Relation.REPLACE and not getattr(part, "local", False):
            rule = "its neighbours have equally many records, those of a Poisson sample one more or less"
            raise BadValue(f"{part!r} cannot run on a Poisson sample: {rule}; give size and of")


def _refuse_other_size(mechanism: Mechanism | Plan, drawn: int) -> None:
    """What runs on a sample of a fixed size and states how many records it has must state this many."""
    for part, _ in mechanism.parts:
        stated = {"clients": getattr(part, "clients", None), "of": getattr(part, "of", None)}
        for name, records in stated.items():
            if records is not None and records != drawn:
                raise BadValue(f"{name} ({records}) of {part!r} must be size ({drawn}): it runs on what is drawn")


def note_on_moves(curve: Curve) -> str | None:
    """What to tell someone who typed noise on a sample of a fixed size without saying what a record moves."""
    for part, _ in curve.parts:
        if isinstance(part, Subsampled) and part.size is not None:
            for noise, _ in part.mechanism.parts:
                if _counts_in_moves(noise):
                    return f"{noise!r}: {MOVES}"
    return None


def _counts_in_moves(noise: Curve) -> bool:
    """Gaussian noise whose sensitivity was left to be 1: L2(1) is written on purpose."""
    return isinstance(noise, Gaussian) and noise.sensitivity == 1


def _rate(rate: Value) -> Fraction:
    probability = rational(rate, "rate")
    if not 0 < probability <= 1:
        rule = "must be above 0 and at most 1: the probability that a record is drawn"
        raise BadValue(f"rate ({literal(probability)}) {rule}")
    return probability
