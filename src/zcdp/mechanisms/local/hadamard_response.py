"""Hadamard response: outputs where the value's row of a Hadamard matrix is +1 are e^epsilon times as likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.local.local_randomizer import CollectsNumbers, FractionOrBall
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import lift, settled, trusted
from zcdp.numeric.exact import Exact, Value, integer, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.estimator import Estimator
    from zcdp.samplers.reports import HadamardReports
    from zcdp.samplers.source import Source

__all__ = ["HadamardResponse"]


@dataclass(frozen=True, init=False, repr=False)
class HadamardResponse(CollectsNumbers, ThreePoint):
    """Hadamard response with one block, or with several. A value has a block, and in it a row that is not constant.

    With several blocks the worst pair of values lies in different blocks. Theorem: docs/theorems/three-point-maps.md.

    >>> HadamardResponse(epsilon=1).rho
    0.2310585786300049
    """

    local = True

    epsilon: Exact
    blocks: int = 1
    """How many blocks of the Hadamard matrix are used."""

    def __init__(self, *, epsilon: Value, blocks: Value = 1) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"), blocks=integer(blocks, "blocks", 1))

    def kappa(self) -> arb:
        return lift(self.epsilon).exp() + 3 if self.blocks == 1 else arb(2 * self.blocks)

    def release(self, values: ArrayLike, *, k: Value) -> Any:
        """An output for each value in 0 .. k-1; the size of a block is the least power of two with rows enough."""
        import numpy as np

        from zcdp.samplers.run_samplers import each

        size = integer(k, "k", 2)
        reports = self._sampler(size)
        return each(lambda v: int(reports.report(np.array([v]))[0]), reports.report, values, size)

    def _sampler(self, k: int) -> HadamardReports:
        from zcdp.samplers.reports import HadamardReports

        return HadamardReports(lambda: lift(self.epsilon), k, self.blocks)

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:
        return self._sampler(k).report(values, source)

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        if self.blocks > 1:
            raise BadValue(f"with several blocks ({self.blocks}) values are estimated by signs, not by supports")
        p = 1 / (1 + x)
        return p, (p + x * p) / 2, p / 2

    @property
    def _estimator(self) -> Estimator:
        if self.blocks == 1:
            return super()._estimator
        from zcdp.estimation.estimator import BySigns

        def near(part: int) -> float:
            def ratio() -> arb:
                x = (-lift(self.epsilon)).exp()
                whole = 1 + (2 * self.blocks - 1) * x
                return (whole / (1 - x), (1 + x) / whole)[part]

            return settled(lambda: trusted(ratio()))

        return BySigns(near(0), near(1))

    @property
    def _signed(self) -> bool:
        return self.blocks > 1

    def _outputs(self, k: int) -> int:
        from zcdp.samplers.reports import hadamard_width

        return hadamard_width(k, self.blocks) * self.blocks

    def _decode(self, sums: NDArray[Any], k: int) -> NDArray[Any]:
        import numpy as np

        from zcdp.estimation.report_counts import hadamard_signs

        signs = np.concatenate([hadamard_signs(row)[1:] for row in sums.reshape(self.blocks, -1)])[:k]
        return signs if self.blocks > 1 else np.asarray((sums.sum() + signs) // 2)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        k = 2 * self.blocks
        return self.release(np.zeros(size, dtype=int), k=k), self.release(np.full(size, k - 1), k=k)
