"""What is said of epsilon and what is said of delta agree where deltas are tiny or next to 1, for every mechanism.

Each end has a method of its own there (next to the largest loss, or by a bound on the tail): a lower end of epsilon
that nobody attains contradicts the upper end of delta just below it.
"""

from __future__ import annotations

import pytest
from table import EVERYDAY_ROWS, OTHERS

from zcdp import RAPPOR, Gaussian, Laplace, Mechanism, Plan, RandomizedResponse, Shuffled, Subsampled

DELTAS = ("1e-300", "1e-290", "1e-100", "1e-20", "0.9999999999")
WRAPPED = (
    Shuffled(RandomizedResponse(epsilon="0.1", k=2), clients=1000),
    Shuffled(RandomizedResponse(epsilon=1, k=3), clients=20),
    Shuffled(RAPPOR(epsilon=2), clients=30),
    Subsampled(2 * Laplace(epsilon="0.5") + Gaussian(sigma=1), rate="0.01"),
    Subsampled(3 * RandomizedResponse(epsilon=1, k=3), rate="0.1"),
    Subsampled(Laplace(epsilon=1), size=5, of=50),
)
NAMED = {type(m).__name__: m for m in reversed(EVERYDAY_ROWS) if not m.pure_epsilon < 1e-2}


def agree(curve: Mechanism | Plan, deltas: tuple[str, ...]) -> None:
    for delta in deltas:
        lower, upper = curve.epsilon_bounds(delta=delta)
        if 0 < lower < float("inf"):
            assert curve.delta_bounds(epsilon=lower * (1 - 1e-12))[1] >= float(delta), delta
        if upper < float("inf"):
            assert curve.delta_bounds(epsilon=upper * (1 + 1e-12))[0] <= float(delta), delta


@pytest.mark.parametrize("m", [*NAMED.values(), *OTHERS, *WRAPPED], ids=repr)
def test_epsilon_and_delta_agree(m: Mechanism) -> None:
    agree(m, DELTAS[1:4:2])


@pytest.mark.deep
@pytest.mark.parametrize("m", [*EVERYDAY_ROWS, *WRAPPED], ids=repr)
def test_epsilon_and_delta_agree_everywhere(m: Mechanism) -> None:
    for curve in (m, 3 * m, m + Laplace(epsilon="0.3") if m.relation.name != "ADD_REMOVE" else 2 * m):
        agree(curve, DELTAS)
