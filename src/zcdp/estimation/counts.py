"""Counts of supports: what a block, a day or a machine sends on, and what is added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.display.calls import Spoken
from zcdp.errors import BadValue

__all__ = ["Counts"]


@dataclass(frozen=True, eq=False)
class Counts(metaclass=Spoken):
    """How many of so many reports support each value; counts of the same design add up.

    >>> day = Counts("RandomizedResponse(epsilon=1, k=3)", 6, [1, 2, 3])
    >>> (day + day).supports.tolist()
    [2, 4, 6]
    """

    design: str
    """The mechanism that made the reports, as text: counts of another are refused."""

    reports: int
    supports: NDArray[Any]
    signed: bool = False
    """Whether reports count for and against a value, as in Hadamard response with several blocks."""

    def __init__(self, design: str, reports: int, supports: ArrayLike, *, signed: bool = False) -> None:
        array = np.asarray(supports)
        if array.ndim != 1 or array.size < 2 or array.dtype.kind not in "iu":
            raise BadValue("supports must be one whole number for each of at least 2 values")
        array = array.astype(np.int64)
        if reports < 0:
            raise BadValue(f"reports ({reports}) must not be negative")
        if not signed and int(array.min()) < 0:
            raise BadValue(f"supports must not be negative: value {int(array.argmin())} has {int(array.min())}")
        if int(np.abs(array).max()) > reports:
            raise BadValue(
                f"supports must be at most the number of reports ({reports}), not {int(np.abs(array).max())}"
            )
        array.flags.writeable = False
        for name, value in (("design", design), ("reports", int(reports)), ("supports", array), ("signed", signed)):
            object.__setattr__(self, name, value)

    @property
    def k(self) -> int:
        """The number of values."""
        return self.supports.size

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        if (self.design, self.k) != (other.design, other.k):
            raise BadValue(
                f"counts of different designs do not add up: {self.design} of {self.k} values and "
                f"{other.design} of {other.k}"
            )
        return Counts(self.design, self.reports + other.reports, self.supports + other.supports, signed=self.signed)

    def __radd__(self, other: object) -> Counts:
        return self if other == 0 else NotImplemented  # for sum()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and (self.design, self.reports) == (other.design, other.reports)
            and np.array_equal(self.supports, other.supports)
        )

    __hash__ = None  # type: ignore[assignment]
