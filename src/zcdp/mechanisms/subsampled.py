"""Amplification by sampling: a mechanism that runs on a random sample of the records."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import ClassVar
from warnings import warn

from zcdp.errors import BadType, BadValue, SensitivityWarning
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.channel import has_graph
from zcdp.mechanisms.noise.gaussian import Gaussian
from zcdp.mechanisms.wrapper import PlanWrapper
from zcdp.numeric.exact import Exact, Value, in_domain, integer, literal, rational
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Plan
from zcdp.privacy.loss import Claim, replaced_claim, sampled_claim
from zcdp.privacy.relation import Relation
from zcdp.privacy.sampled_curve import SampledConvex, replaced_curve, sampled_curve

__all__ = ["READING", "Subsampled", "note_on_moves", "refuse_replaced"]

READING: ContextVar[bool] = ContextVar("READING", default=False)
"""Whether a plan is being read from text, which may be old and stored: constructors then give no warnings."""

MOVES = (
    "sigma of noise on a sample of a fixed size is in units of what replacing one record moves: of a sum of gradients "
    "clipped to norm C that is 2C, so that this is noise of standard deviation 2 sigma C; for noise of z C write "
    "Gaussian(sigma=z, sensitivity=2), and where a replaced record moves the sum by 1, sensitivity=L2(1)"
)

RHO_AGREEMENT = 1e-9  # relative gap below which two ends of rho count as equal: each is searched to a relative 1e-10


@dataclass(frozen=True, init=False, repr=False)
class Subsampled(PlanWrapper):
    """A mechanism or a whole plan on a random sample, drawn anew in each use: by `rate`, or `size` records out of `of`.

    `rate`: a Poisson sample, which contains each record independently with this probability. Neighbours are a data set
    and the same without one record. With a local randomizer, a record that is not drawn, or not there, sends the report
    of one fixed value.
    `size` and `of`: a sample without replacement, uniform over all sets of `size` different records. Neighbours are two
    data sets that differ in one record: the pair is the least that dominates all of them, and one use attains it.

    The base's sensitivity must be stated for the same neighbours. **Replacing one of several gradients clipped to norm
    C moves their sum by 2C**: on a sample of fixed size noise of standard deviation z C is
    `Gaussian(sigma=z, sensitivity=2)`, while `Gaussian(sigma=z)` is noise of standard deviation 2 z C and gives a
    `SensitivityWarning`.

    It must stay secret which records were drawn. Batches cut from a shuffled data set are neither of the two samples,
    and are not covered.

    Sampling makes large losses rare, not small: rho of sampled Gaussian noise is that of the noise itself, whatever the
    rate, so ask for the profile instead. Theorems: docs/theorems/sampling.md, docs/theorems/fixed-size.md.

    >>> from zcdp import Gaussian
    >>> step = Subsampled(Gaussian(sigma=1), rate="0.01")
    >>> step.rho, (10_000 * step).epsilon_at(delta=1e-5)
    (0.5, 6.18771238997154...)
    >>> (10_000 * Subsampled(Gaussian(sigma=2, sensitivity=2), size=600, of=60_000)).epsilon_at(delta=1e-5)
    8.0839634678118...
    """

    known_elsewhere = True
    theorem: ClassVar[str] = "sampling"
    _no_group = "the members of a group are drawn one by one; of Gaussian noise MixtureOfGaussians has their law"

    mechanism: Mechanism | Plan
    rate: Fraction
    """The probability that a record is drawn."""
    size: int | None = None
    of: int | None = None
    """How many records there are."""

    def __init__(
        self,
        mechanism: Mechanism | Plan,
        *,
        rate: Value | None = None,
        size: Value | None = None,
        of: Value | None = None,
    ) -> None:
        given, mechanism = mechanism, self._taken(mechanism)
        if rate is not None and size is None and of is None:
            self._set(mechanism=mechanism, rate=_rate(rate), size=None, of=None)
            refuse_replaced(mechanism, "run on a Poisson sample", "; give size and of", absent=True)
        elif rate is None and size is not None and of is not None:
            drawn, whole = integer(size, "size", 1), integer(of, "of", 1)
            if drawn > whole:
                raise BadValue(f"size ({drawn}) must be at most of ({whole}): no record is drawn twice")
            Relation.REPLACE.joined(given.relation)  # a plan may say more than its one mechanism, as correlated noise
            _refuse_graphs(mechanism)
            _refuse_other_size(mechanism, drawn)
            if not READING.get() and any(_counts_in_moves(part) for part, _ in mechanism.parts):
                warn(MOVES, SensitivityWarning, stacklevel=3)  # past the constructor and the metaclass that calls it
            self._set(mechanism=mechanism, rate=Fraction(drawn, whole), size=drawn, of=whole)
        else:
            raise BadType("give a rate, for a Poisson sample, or size and of, for one without replacement")
        if self._claim is None:
            if self._base is not None:
                many = "its losses are too many to list, and no formula for them is known"
                raise BadValue(f"{mechanism!r} cannot be sampled: {many}; continuous noise of any size can be")
            raise BadValue(f"{mechanism!r} cannot be sampled: no law of its privacy loss is known")

    def __repr__(self) -> str:
        how = f"rate={literal(self.rate)}" if self.size is None else f"size={self.size}, of={self.of}"
        return f"Subsampled({self.mechanism!r}, {how})"

    def _drawn(self, claim: Claim, *, cells: bool = False) -> Claim | None:
        """A claim of the base, sampled; with `cells`, by laws with finitely many losses."""
        if self.rate == 1:
            return claim
        return (sampled_claim if self.size is None else replaced_claim)(claim, self.rate, cells=cells)

    @cached_property
    def _curve(self) -> Curve:
        if self.rate == 1:
            return self.mechanism
        curve, claim = sampled_curve if self.size is None else replaced_curve, self._curve_claim
        return curve(None if claim is None else claim.upper, self.mechanism, self.rate)

    @cached_property
    def _curve_claim(self) -> Claim | None:
        """The claim whose Renyi curve is searched over all orders: of a law with finitely many losses, if possible."""
        return (self._base and self._drawn(self._base, cells=True)) or self._claim

    @property
    def relation(self) -> Relation:
        return Relation.ADD_REMOVE if self.size is None else Relation.REPLACE

    @property
    def is_tight(self) -> bool:
        """Whether rho is that of the sampled pair of the base itself, for any number of uses.

        If finitely many outcomes have irrational masses, these are rounded outward and inward; rho is tight if both
        ends agree.
        """
        if not self.mechanism.is_tight or (self.size is not None and self.rate < 1):
            return False
        if self._curve_is_own:
            return True
        if self._base is None or not self._base.upper.few:
            return False
        lower, upper = self.rho_bounds
        return upper == inf or upper - lower <= RHO_AGREEMENT * upper

    @property
    def _curve_is_own(self) -> bool:
        """Whether the Renyi curve is that of the mechanism's own pair, not of one that only dominates it."""
        return self.rate == 1 or (self._curve_claim is not None and self._curve_claim.exact)

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
        """Of two valid curves the one with the smaller pure epsilon: that of the sampled law, or that by convexity.

        A law that only dominates may have larger losses than any sample of the base.
        """
        by_convexity = SampledConvex(self.mechanism, self.rate)
        return by_convexity if by_convexity.pure_epsilon < self._curve.pure_epsilon else self._curve

    def _divergence(self, excess: Fraction) -> float:
        found = self._curve._divergence(excess)
        if self._claim is None or self._claim.exact:
            return found
        return min(found, self.mechanism._divergence(excess))  # By convexity a sample costs no more.

    @property
    def rho(self) -> float:
        """The zCDP parameter, rounded up: at most that of the base, since by convexity a sample costs no more."""
        return self._rho_above

    @cached_property
    def _rho_above(self) -> float:
        return min(self._curve._peak_bounds[1], self.mechanism.rho)

    @property
    def rho_bounds(self) -> tuple[float, float]:
        return self.mechanism.rho_bounds if self.rate == 1 else self._peak_bounds

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """Certified bounds on rho; the lower one is from a pair that some neighbours attain."""
        if self._curve_is_own:
            lower = self._curve._peak_bounds[0]
        else:
            claims = [claim for claim in (self._curve_claim, self._claim) if claim is not None]
            attained = [law for claim in claims for ((law, _), *_) in claim.lower]
            lower = sampled_curve(attained[0], self.mechanism, self.rate).rho_bounds[0] if attained else 0.0
        return min(lower, self.rho), self.rho

    @cached_property
    def rho_fraction(self) -> Fraction:
        return self.mechanism.rho_fraction if self.pure_epsilon == inf else super().rho_fraction


def _refuse_graphs(mechanism: Mechanism | Plan) -> None:
    """Refuse a channel of which only some inputs are neighbours: the record in the place of one not drawn is any."""
    for part, _ in mechanism.parts:
        if has_graph(part):
            raise BadValue(f"{part!r} cannot run on a sample of a fixed size: only some of its inputs are neighbours")


def refuse_replaced(mechanism: Mechanism | Plan, what: str, hint: str = "", *, absent: bool = False) -> None:
    """Refuse a base that is stated for replace-one neighbours only, where neighbours differ by one record.

    `what` it cannot do is part of the message. Local randomizers are allowed: a record that is not there sends the
    report of a fixed value; with `absent` also channels of which one input is a neighbour of all.
    """
    for part, _ in mechanism.parts:
        if has_graph(part):
            if absent and getattr(part, "takes_absence", False):
                continue
            rule = "an absent record sends the report of a fixed input, which must be a neighbour of every other"
            raise BadValue(f"{part!r} cannot {what}: {rule}")
        if part.relation is Relation.REPLACE and not getattr(part, "local", False):
            rule = "its neighbours have equally many records, those of a Poisson sample one more or less"
            rule = rule if "Poisson" in what else "its neighbours have equally many records, here one more or less"
            raise BadValue(f"{part!r} cannot {what}: {rule}{hint}")


def _refuse_other_size(mechanism: Mechanism | Plan, drawn: int) -> None:
    """Refuse a base that states another number of records than the sample has."""
    for part, _ in mechanism.parts:
        stated = {"clients": getattr(part, "clients", None), "of": getattr(part, "of", None)}
        for name, records in stated.items():
            if records is not None and records != drawn:
                raise BadValue(f"{name} ({records}) of {part!r} must be size ({drawn}): it runs on what is drawn")


def note_on_moves(curve: Curve) -> str | None:
    """A note for Gaussian noise on a sample of fixed size whose sensitivity was left at its default; else None."""
    for part, _ in curve.parts:
        if isinstance(part, Subsampled) and part.size is not None:
            for noise, _ in part.mechanism.parts:
                if _counts_in_moves(noise):
                    return f"{noise!r}: {MOVES}"
    return None


def _counts_in_moves(noise: Curve) -> bool:
    """Whether this is Gaussian noise with the default sensitivity 1; `L2(1)` is taken as written on purpose."""
    return isinstance(noise, Gaussian) and noise.sensitivity == 1


def _rate(rate: Value) -> Fraction:
    """The rate as an exact number, which must be above 0 and at most 1."""
    probability = rational(rate, "rate")
    if not 0 < probability <= 1:
        rule = "must be above 0 and at most 1: the probability that a record is drawn"
        raise BadValue(f"rate ({literal(probability)}) {rule}")
    return in_domain(probability, "rate", rate)
