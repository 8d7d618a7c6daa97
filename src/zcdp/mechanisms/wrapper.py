"""A mechanism that runs another one in its own way: what it costs is read off a curve that is derived from it."""

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
    """A mechanism around another, whose Renyi curve is that of `_curve`."""

    budget: ClassVar[None] = None
    is_envelope = True
    _no_group: ClassVar[str]
    """Why nothing is known of groups."""

    @property
    @abstractmethod
    def _curve(self) -> Curve:
        """The curve of the whole, made once."""

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
        """Not known."""
        del size
        raise BadValue(f"{self!r} has no group bound: {self._no_group}")
