"""Sums of complex exponentials on the nodes of a contour in doubles: one product of matrices a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.numeric.balls import above
from zcdp.numeric.double_tables import decays, power, waves
from zcdp.numeric.once import cached_property
from zcdp.numeric.one_core import product
from zcdp.numeric.trapezoid import TooManyNodes
from zcdp.numeric.work import count_work
from zcdp.privacy.loss.tilted import MOST_TERMS, Exponentials
from zcdp.privacy.profile.effort import DOUBLES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]

__all__ = ["HEIGHT", "ULP", "WIDTH", "Waves"]

ULP = 2.0**-53
WIDTH, HEIGHT = 1024, 16  # So many nodes at a time fit into the cache.
ROW = 250_000  # nanoseconds that the powers of one exponential take
ENTRY = 64  # One power of one exponential is off by at most so many units of 2^-53.


class Waves:
    """(sum over j of g_j e^{iy l_j})^n at the nodes y = k step, with Im l_j >= 0. Theorem: docs/theorems/doubles.md."""

    top = arb(0)

    def __init__(self, sum_of: Exponentials, count: int, step: float) -> None:
        import numpy

        terms = len(sum_of.rates)
        if terms > MOST_TERMS or not all(rate.imag.rad() * (step * 2.0**23) < ULP for rate in sum_of.rates):
            raise TooManyNodes
        self.rates, self.step, self.count = sum_of.rates, step, count
        self.weights = numpy.array([complex(weight) for weight in sum_of.weights])
        size = sum((abs(weight) for weight in sum_of.weights), arb(0))
        unknown = sum((weight.rad() for weight in sum_of.weights), sum_of.error)
        # There are two powers, their product with the weight, and a sum of so many complex terms.
        rounding = size * ((2 * ENTRY + 16 + 4 * terms) * ULP) + 4 * ULP
        self.error = (rounding + unknown) * count
        self.cost = DOUBLES * (1.5 + 0.5 * terms + 0.7 * (count.bit_length() - 1))
        self.strength = float(count)
        self._long: tuple[int, Complexes] | None = None

    def _powers(self, times: int, first: int) -> Complexes:
        """e^{iky l_j} for y = times step and k = first, ..., first + WIDTH - 1: a row for each j."""
        import numpy as np

        count_work(ROW * len(self.rates))
        k = np.arange(first, first + WIDTH)
        heights: Any = k.astype(float)
        rows = []
        for rate in self.rates:
            fall = above(rate.imag * (self.step * times))
            rows.append(waves(rate.real * (self.step * times), k) * decays(heights * max(fall, 0.0)))
        return np.array(rows)

    @cached_property
    def _short(self) -> Complexes:
        return self._powers(1, 0)

    def at(self, first: int, turn: Complexes) -> Complexes:
        """On HEIGHT rows of WIDTH nodes from the given row on."""
        del turn
        page, place = divmod(first, WIDTH)
        if self._long is None or self._long[0] != page:  # The waves of many rows are made at once.
            self._long = page, (self._powers(WIDTH, page * WIDTH).T * self.weights)
        answer: Complexes = product(self._long[1][place : place + HEIGHT], self._short)
        return power(answer, self.count)
