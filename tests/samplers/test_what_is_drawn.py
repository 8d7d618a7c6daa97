"""What a mechanism draws is at its own epsilon and sensitivity: chances that a factor of two would change by far."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import rows
from samplers.hits import DRAWS, Hits

from zcdp.mechanisms import MECHANISMS

CHANCES: dict[str, tuple[rows.Made, Hits, float]] = {
    name: one for file in rows.files() for name, one in getattr(file, "DRAWN", {}).items()
}


@pytest.mark.parametrize("name", CHANCES)
def test_what_is_drawn_is_what_is_accounted(name: str) -> None:
    """Within six standard deviations: a sound sampler fails once in 10^9."""
    mechanism, hits, chance = CHANCES[name]
    found = np.asarray(hits(mechanism.build()))
    assert found.shape == (DRAWS,)
    assert abs(float(found.mean()) - chance) <= 6 * sqrt(chance * (1 - chance) / DRAWS)


ELSEWHERE = {"ReportNoisyMax", "TopK", "HadamardResponse", "LinearHashing", "LocalHashing", "MemoizedRAPPOR"}
ELSEWHERE |= {"BinaryRandomizedResponse", "Channel"}
"""Their laws are tested in test_comparisons.py, test_top_k.py, and by the estimates of tests/estimation."""


def test_every_mechanism_that_draws_is_here() -> None:
    drawn = {kind.__name__ for kind in MECHANISMS if hasattr(kind, "release")}
    assert {name.partition(",")[0] for name in CHANCES} | ELSEWHERE == drawn
