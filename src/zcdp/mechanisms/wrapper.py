"""The base class of mechanisms that run another mechanism: their privacy comes from a curve derived from it."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NoReturn

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.channel import has_graph
from zcdp.numeric.exact import Value
from zcdp.numeric.functions import Number
from zcdp.numeric.supremum import Convex
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak, Plan
from zcdp.privacy.loss import Claim
from zcdp.privacy.sampled_curve import product_claim
from zcdp.text.suggestions import thing

__all__ = ["PlanWrapper", "Wrapper"]


class Wrapper(Mechanism):
    """A mechanism around another one; its Renyi curve is that of `_curve`."""

    budget: ClassVar[None] = None
    is_envelope = True
    _no_group: ClassVar[str]
    """The reason why there is no bound for groups, for the error message."""

    @property
    @abstractmethod
    def _curve(self) -> Curve:
        """The Renyi curve of the wrapped mechanism as a whole; subclasses cache it."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was stated of the mechanisms inside."""
        inside: Curve = self.mechanism  # type: ignore[attr-defined] # each subclass has this field
        return tuple(dict.fromkeys(one for part, _ in inside.parts for one in getattr(part, "assumptions", ())))

    def cumulant(self, s: Number) -> Number:
        return self._curve.cumulant(s)

    def kl(self) -> arb:
        return self._curve.kl()

    def peak(self) -> Peak:
        return self._curve.peak()

    def convexes(self) -> list[Convex]:
        return list(self._curve.convexes())

    def search_rho(self, tolerance: float = 1e-10) -> tuple[float, float]:
        return self._curve.search_rho(tolerance)

    @property
    def rho_order(self) -> float:
        return self._curve.rho_order

    def group(self, size: Value) -> NoReturn:
        """No bound for groups is known: this raises `BadValue` with the reason."""
        del size
        raise BadValue(f"{self!r} has no group bound: {self._no_group}")


class PlanWrapper(Wrapper):
    """A mechanism that runs another one, or a whole plan, on records drawn at random: a claim made of the base's."""

    mechanism: Mechanism | Plan

    @staticmethod
    def _taken(mechanism: Mechanism | Plan) -> Mechanism | Plan:
        """The base as it is kept: of a plan that is one use of one mechanism, that mechanism."""
        if isinstance(mechanism, Plan):
            [(only, count), *others] = mechanism.parts
            mechanism = mechanism if others or count > 1 or not isinstance(only, Mechanism) else only
        if not isinstance(mechanism, Mechanism | Plan):
            raise BadType(f"mechanism ({thing(mechanism)}) must be a mechanism or a plan, as Gaussian(sigma=1)")
        for part, _ in mechanism.parts:
            if getattr(part, "exactly", False):
                raise BadValue(f"{part!r} cannot run on records drawn at random: their number is not just its own")
        return mechanism

    @abstractmethod
    def _drawn(self, claim: Claim) -> Claim | None:
        """What a claim of the base becomes; None if it is not known."""

    @cached_property
    def _claim(self) -> Claim | None:
        """The claim of the base, drawn, if it can be; else that of the pure DP pair that dominates the base."""
        for claim in (self._base, Curve.pair(self.mechanism)):
            if claim is not None and (found := self._drawn(claim)) is not None:
                return found
        return None

    @cached_property
    def _base(self) -> Claim | None:
        """The claim of the base: of one mechanism, or of the product of a plan's parts or a mechanism's coordinates."""
        base = self.mechanism
        alone = isinstance(base, Mechanism) and base.coordinates == ((base, 1),)
        claim = base.pair() if alone else product_claim(Plan.sum_of(base))
        if claim is None or not any(has_graph(part) for part, _ in base.parts):
            return claim
        # The absent record sends the report of one fixed row: a pair that is attained the other way round is not here.
        return Claim(claim.upper, coarser=claim.coarser)

    def pair(self) -> Claim | None:
        return self._claim
