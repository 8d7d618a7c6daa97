"""The base class of mechanisms that run another mechanism: their privacy comes from a curve derived from it."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NoReturn

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.exact import Value
from zcdp.numeric.functions import Number
from zcdp.numeric.supremum import Convex
from zcdp.privacy.curve import Curve, Peak

__all__ = ["Wrapper"]


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
