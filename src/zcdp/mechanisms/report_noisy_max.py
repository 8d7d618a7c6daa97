"""Report noisy max: the candidate whose utility plus noise is largest, for three kinds of noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.bounded_range import BoundedRange
from zcdp.mechanisms.laplace import Laplace
from zcdp.mechanisms.permute_and_flip import PermuteAndFlip
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, positive
from zcdp.numeric.functions import Number
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw, laplace_pair

__all__ = ["ReportNoisyMax"]

NOISES = ("laplace", "gumbel", "exponential")


@dataclass(frozen=True, init=False, repr=False)
class ReportNoisyMax(Mechanism):
    """Noise of scale 2 sensitivity/epsilon (sensitivity/epsilon if all utilities move the same way).

    With Gumbel noise it is the exponential mechanism, with exponential noise permute-and-flip: both exact. With Laplace
    noise rho is a proven upper bound, `is_tight` False. Theorem: docs/theorems/report-noisy-max.md.

    >>> m = ReportNoisyMax(epsilon=1)
    >>> m.is_tight, m.rho_bounds
    (False, (0.16434..., 0.36787944117144233))
    """

    theorem: ClassVar[str] = "report-noisy-max"
    epsilon: Exact
    noise: str = "laplace"

    def __init__(self, *, epsilon: Value, noise: str = "laplace") -> None:
        if noise not in NOISES:
            raise ValueError(f"noise ({noise!r}) must be one of {', '.join(map(repr, NOISES))}")
        self._set(epsilon=positive(epsilon, "epsilon"), noise=noise)

    @property
    def is_tight(self) -> bool:
        return self.noise != "laplace"

    @property
    def _bound(self) -> Mechanism:
        if self.noise == "gumbel":
            return BoundedRange(eta=self.epsilon)
        return PermuteAndFlip(epsilon=self.epsilon) if self.noise == "exponential" else Laplace(epsilon=self.epsilon)

    def usual_divisor(self) -> int:
        return self._bound.usual_divisor()

    is_envelope = True  # a class of pairs, for each kind of noise
    adds_up = True

    def pair(self) -> LossLaw | None:
        """That of bounded range, or the Laplace pair. Theorem: docs/theorems/lipschitz.md."""
        return laplace_pair(self.epsilon, exact=False) if self.noise == "laplace" else self._bound.pair()

    def cumulant(self, s: Number) -> Number:
        return self._bound.cumulant(s)

    def kl(self) -> arb:
        return self._bound.kl()

    def peak(self) -> Peak:
        return self._bound.peak()

    def witness(self) -> arb:
        """KL for two tied candidates against three: behind by some share of epsilon, then ahead by the rest of it."""
        epsilon, best = lift(self.epsilon), arb(0)
        for n in range(17):
            win, lose = _two_beat_three(epsilon * n / 16), _two_lose_to_three(epsilon * (16 - n) / 16)
            one = (1 - win) * ((1 - win) / lose).log() + win * (win / (1 - lose)).log()
            other = lose * (lose / (1 - win)).log() + (1 - lose) * ((1 - lose) / win).log()
            best = best.max(one).max(other)
        return best


def _two_beat_three(w: arb) -> arb:
    """P(max of two Laplace variables exceeds w + max of three), w >= 0, by integrating over the former."""
    e = (-w).exp()
    return e**3 / 80 + e**3 * ((1 / e**2 - 1) - (1 / e - 1)) / 16 + e * (arb(15) / 32 - e * 13 / 160)


def _two_lose_to_three(w: arb) -> arb:
    """P(max of three Laplace variables exceeds w + max of two), w >= 0, by integrating over the former."""
    e = (-w).exp()
    middle = 3 * e**2 / 8 * ((1 / e - 1) - w + (1 - e) / 4)
    return 3 * e**2 / 160 + middle + 3 * e / 2 * (arb(7) / 12 - e * 11 / 48 + e**2 / 30)
