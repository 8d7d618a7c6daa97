"""k-ary randomized response: the truth with probability e^epsilon/(e^epsilon + k - 1), else a uniform other value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.local.local_randomizer import CollectsNumbers, FractionOrBall
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Log, Value, integer, positive, probability
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss import Claim, three_point_pair

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.reports import Response
    from zcdp.samplers.source import Source

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, init=False, repr=False)
class RandomizedResponse(CollectsNumbers, ThreePoint):
    """k-RR: rho = epsilon (e^epsilon - 1)/(e^epsilon - 1 + k) for k up to k*(epsilon); beyond, from a certified root.

    Theorem: docs/theorems/three-point.md.

    >>> m = RandomizedResponse(epsilon="0.5", k=1000)
    >>> m.rho, m.rho_order
    (0.009391778951929268, 27.084150901309716)
    """

    known_elsewhere = True
    local = True

    epsilon: Exact
    k: int

    def __init__(self, *, epsilon: Value, k: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"), k=integer(k, "k", 2))

    @classmethod
    def from_probability(cls, p: Value, k: Value) -> Self:
        """The mechanism that tells the truth with probability p > 1/k; its epsilon log(p (k-1)/(1-p)) is exact.

        >>> RandomizedResponse.from_probability("3/4", 4)
        RandomizedResponse(epsilon='log(9)', k=4)
        """
        truth, size = probability(p, "p"), integer(k, "k", 2)
        if truth <= Fraction(1, size):
            raise BadValue(f"p ({p}) must be above 1/k (1/{size}), the probability of a blind guess")
        return cls(epsilon=Log(truth * (size - 1) / (1 - truth)), k=size)

    def kappa(self) -> arb:
        return arb(self.k)

    def blanket(self) -> int:
        return self.k

    @property
    def is_its_blanket(self) -> bool:
        return True

    def pair(self) -> Claim:
        return Claim.exactly(three_point_pair(self.epsilon, self.k))

    @cached_property
    def _response(self) -> Response:
        from zcdp.samplers.reports import Response

        return Response(lambda: lift(self.epsilon), self.k)

    def release(self, values: ArrayLike) -> Any:
        """A response for each value, in the type of the values, which must be wide enough for k - 1."""
        from zcdp.samplers.run_samplers import each_in_its_type

        return each_in_its_type(self._response.respond_one, self._response.respond, values, self.k)

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        p = 1 / (1 + (self.k - 1) * x)
        return p, x * p, 0 * p

    def _outputs(self, k: int) -> int:
        return k

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:  # noqa: ARG002 - it has its k
        return self._response.respond(values, source)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        return self.release(np.zeros(size, dtype=np.int64)), self.release(np.ones(size, dtype=np.int64))
