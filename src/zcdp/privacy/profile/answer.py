"""What is answered about a profile: two floats around the truth, or why there are none."""

from __future__ import annotations

from typing import NamedTuple

from zcdp.numeric.certify import NotCertified

__all__ = ["Answer", "NoAnswer"]


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
