"""Asymmetric binary randomized response: reports 1 with probability p if the bit is 1, and q if it is 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.local.local_randomizer import CollectsNumbers, FractionOrBall
from zcdp.numeric.balls import Undecided, enclose, lift
from zcdp.numeric.exact import Exact, Log, Value, probability
from zcdp.numeric.search import sign_change
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair
from zcdp.privacy.loss import Claim, directed_law, envelope_of_rows
from zcdp.privacy.relation import Relation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.estimator import Estimator
    from zcdp.estimation.support import Support
    from zcdp.samplers.coins import Coin
    from zcdp.samplers.source import Source

__all__ = ["BinaryRandomizedResponse"]


@dataclass(frozen=True, init=False, repr=False)
class BinaryRandomizedResponse(CollectsNumbers, FiniteEnvelope, Mechanism):
    """Bernoulli(p) against Bernoulli(q), p > q, in both directions; p = 1 - q is binary randomized response.

    rho of one direction is the KL divergence if half the variance of the loss is at most KL; otherwise the supremum
    over orders is attained above order 1, at a root that is enclosed by a certified search. rho of the mechanism is the
    larger of the two directions. Theorem: docs/theorems/two-point.md.

    >>> m = BinaryRandomizedResponse(p="1/2", q="1/4")
    >>> m.rho, m.rho_order
    (0.14556437598559735, 1.490475...)
    """

    local = True

    theorem: ClassVar[str] = "two-point"
    budget = None
    k: ClassVar[int] = 2
    """The number of values: the two bits 0 and 1."""
    p: Fraction
    q: Fraction
    ordered: bool = False
    """Whether the bit is 1 with the person's record and 0 without it, so that the neighbours are add_remove."""

    def __init__(self, p: Value, q: Value, *, ordered: bool = False) -> None:
        high, low = probability(p, "p"), probability(q, "q")
        if high <= low:
            raise BadValue(f"p ({p}) must be above q ({q}): saying 1 is more likely if the bit is 1")
        self._set(p=high, q=low, ordered=ordered)

    def release(self, values: ArrayLike) -> Any:
        """A randomized bit for each bit, in the type of the input."""
        import numpy as np

        from zcdp.samplers.run_samplers import each_in_its_type
        from zcdp.samplers.source import secure

        def many(bits: NDArray[Any]) -> NDArray[Any]:
            return self._drawn(bits, 2, secure)

        return each_in_its_type(lambda bit: int(many(np.array([bit]))[0]), many, values, 2)

    @cached_property
    def _coins(self) -> tuple[Coin, Coin]:
        from zcdp.samplers.coins import Coin

        return Coin(lambda: lift(self.q)), Coin(lambda: lift(self.p))

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:  # noqa: ARG002 - it is 2
        import numpy as np

        no, yes = (coin.flips(values.size, source) for coin in self._coins)
        return np.where(values == 1, yes, no).astype(values.dtype)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        return self.release(np.ones(size, dtype=np.int64)), self.release(np.zeros(size, dtype=np.int64))

    def _outputs(self, k: int) -> int:
        return k

    def _supports(self, p: Fraction, q: Fraction) -> Support:
        from zcdp.estimation.support import Support

        return Support(lambda: (lift(p), lift(q), arb(0)), (p, q, Fraction(0)))

    @cached_property
    def support(self) -> Support:
        """The support probabilities p, q, b of the value 1; those of the value 0 are 1-q, 1-p and 0."""
        return self._supports(self.p, self.q)

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:  # noqa: ARG002 - p and q are given
        raise BadType("binary randomized response is given by its p and q")

    @property
    def _estimator(self) -> Estimator:
        from zcdp.estimation.estimator import ByTwoSupports

        return ByTwoSupports(self._supports(1 - self.q, 1 - self.p), self.support)

    @property
    def relation(self) -> Relation:
        return Relation.ADD_REMOVE if self.ordered else Relation.REPLACE

    def pair(self) -> Claim | None:
        """The dominating pair of both directions; of one direction alone if `ordered`.

        Theorem: docs/theorems/envelope.md.
        """
        rows = (self.p, 1 - self.p), (self.q, 1 - self.q)
        if self.ordered:
            return Claim.exactly(directed_law(*rows))
        return envelope_of_rows([rows], coarser=super().pair())

    @property
    def largest_loss(self) -> Exact:
        return Log(max(self.p / self.q, (1 - self.q) / (1 - self.p)))

    def pairs(self) -> Sequence[FinitePair]:
        p, q = self.p, self.q
        yes, no = lift(Log(p / q)), lift(Log((1 - p) / (1 - q)))
        forward = FinitePair([lift(p), lift(1 - p)], [yes, no])
        return [forward, FinitePair([lift(q), lift(1 - q)], [-yes, -no])]

    def peak(self) -> Peak:
        one, other = (two_point_peak(pair) for pair in self.pairs())
        return Peak(one.rho.max(other.rho), one.order if one.rho > other.rho else other.order)

    @cached_property
    def rho_order(self) -> float:
        """The order alpha at which D(alpha)/alpha attains rho; 1.0 means in the limit alpha -> 1."""
        return enclose(lambda: self.peak().order, floor=1.0)[0]

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        return self._certified(lambda: self.peak().rho)


def two_point_peak(pair: FinitePair) -> Peak:
    """A ball around rho of one direction of a pair on two outcomes, and one around the order that attains it.

    Theorem: docs/theorems/two-point.md.
    """
    _, kl, variance = pair.taylor(arb(0))
    if variance <= 2 * kl:
        return Peak(kl, arb(1))
    if not variance > 2 * kl:
        raise Undecided

    def climb(s: arb) -> tuple[arb, arb]:
        """The numerator of the derivative of K(s)/(s(1+s)), and the derivative of this numerator."""
        k0, k1, k2 = pair.taylor(s)
        return s * (1 + s) * k1 - (1 + 2 * s) * k0, s * (1 + s) * k2 - 2 * k0

    around = sign_change(climb)
    middle, run = around.mid(), around * (1 + around)
    # Mean value form: the ratio is stationary at its maximum, so the width of the bracket enters quadratically.
    ratio = pair.value(middle) / (middle * (1 + middle)) + climb(around)[0] / run**2 * (around - middle)
    return Peak(ratio, 1 + around)
