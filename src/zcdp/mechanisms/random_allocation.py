"""Amplification by random allocation ("balls in bins"): each record takes part in one batch of an epoch, at random."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from zcdp.errors import BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.subsampled import refuse_replaced
from zcdp.mechanisms.wrapper import PlanWrapper
from zcdp.numeric.exact import Exact, Value, integer
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Plan
from zcdp.privacy.loss import Claim, LossLaw, allocated_claim
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.gaussian_law import GaussianLaw
from zcdp.privacy.relation import Relation
from zcdp.privacy.sampled_curve import SampledFinite

__all__ = ["Allocation"]

MOST_BATCHES = 10**6


@dataclass(frozen=True, init=False, repr=False)
class Allocation(PlanWrapper):
    """One epoch of a mechanism on `batches` batches, where each record goes to one of them, uniformly at random.

    Records are allocated independently of each other and anew in each epoch: the batches have random sizes, and which
    record went where stays secret. One use is one epoch, `batches` steps of the mechanism; a later step may depend on
    the outputs of all earlier ones. Neighbours are a data set and the same without one record, and the sensitivity of
    the mechanism must be stated for them.

    It is *not* cutting a shuffled data set into batches of one size: there the places of other records depend on those
    of the one, and nothing is claimed. Against Poisson sampling at the rate 1/batches the guarantee is better by a
    tenth or so where that is used, and every record takes part in each epoch. Like sampling it makes large losses rare,
    not small: rho is that of one step of Gaussian noise, so ask for the profile. Theorem:
    docs/theorems/random-allocation.md.

    >>> from zcdp import Gaussian
    >>> epoch = Allocation(Gaussian(sigma=1), batches=100)
    >>> epoch.rho, epoch.epsilon_at(delta=1e-5)
    (0.5, 0.62093967161978...)
    """

    theorem: ClassVar[str] = "random-allocation"
    _no_group = "the members of a group are allocated one by one"

    mechanism: Mechanism | Plan
    batches: int
    """How many batches there are in one epoch."""

    def __init__(self, mechanism: Mechanism | Plan, *, batches: Value) -> None:
        mechanism = self._taken(mechanism)
        number = integer(batches, "batches", 1)
        if number > MOST_BATCHES:
            raise BadValue(f"batches ({number}) must be at most {MOST_BATCHES}: more are not certified")
        refuse_replaced(mechanism, "be allocated to batches at random")
        self._set(mechanism=mechanism, batches=number)
        if self._claim is None:
            raise BadValue(
                f"{mechanism!r} cannot be allocated: no law of its privacy loss with a list of outcomes is known"
            )

    def __repr__(self) -> str:
        return f"Allocation({self.mechanism!r}, batches={self.batches})"

    def _drawn(self, claim: Claim) -> Claim | None:
        return _allocated(claim, self.batches)

    @cached_property
    def _curve(self) -> Curve:
        """The Renyi curve of an epoch whose outcomes are listed; else that of one step, which is not lower."""
        return self.mechanism if self._listed is None else self._listed

    @cached_property
    def _listed(self) -> SampledFinite | None:
        """The Renyi curve of the law of an epoch, if that is a list of outcomes."""
        return None if self.batches == 1 or self._claim is None else _curve_of(self._claim.upper)

    @property
    def _curve_is_own(self) -> bool:
        """Whether the Renyi curve is that of the worst neighbours, not of a pair that only dominates them."""
        return self._listed is not None and self._claim is not None and self._claim.exact

    @property
    def relation(self) -> Relation:
        return Relation.ADD_REMOVE

    @property
    def is_tight(self) -> bool:
        """Whether the Renyi curve is the epoch's own: if there is a single batch, or if its outcomes are listed."""
        return self._curve_is_own or (self.batches == 1 and self.mechanism.is_tight)

    @property
    def largest_loss(self) -> Exact | None:
        return self.mechanism.largest_loss

    @property
    def unbounded(self) -> bool:
        return self.mechanism.unbounded

    @property
    def pure_epsilon(self) -> float:
        return self.mechanism.pure_epsilon

    @property
    def rho(self) -> float:
        """The zCDP parameter, rounded up: at most that of one step, by convexity."""
        return self._peak_bounds[1]

    @property
    def rho_bounds(self) -> tuple[float, float]:
        return self._peak_bounds

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        if self._listed is not None:
            upper = min(self._listed._peak_bounds[1], self.mechanism.rho)
            curves = [_curve_of(law) for ((law, _), *_) in (() if self._claim is None else self._claim.lower)]
            lower = max((curve._peak_bounds[0] for curve in curves if curve is not None), default=0.0)
            return min(lower, upper), upper
        own = self.batches == 1 or (self._base is not None and self._base.exact and _is_gaussian(self._base))
        return self.mechanism.rho_bounds if own else (0.0, self.mechanism.rho)

    @cached_property
    def rho_fraction(self) -> Fraction:
        return self.mechanism.rho_fraction if self._listed is None else super().rho_fraction


@lru_cache(maxsize=64)
def _curve_of(law: LossLaw) -> SampledFinite | None:
    """The Renyi curve of a law that is a list of outcomes; None of any other."""
    finite = getattr(law, "source", law)
    return SampledFinite(finite) if isinstance(finite, FiniteLaw) else None


def _is_gaussian(claim: Claim) -> bool:
    """Whether the law is that of Gaussian noise, whose rho no allocation lowers: it is the limit of large orders."""
    return isinstance(claim.upper, GaussianLaw)


@lru_cache(maxsize=64)
def _allocated(claim: Claim, batches: int) -> Claim | None:
    """`allocated_claim`, cached: a plan asks the same mechanism again and again."""
    return allocated_claim(claim, batches)
