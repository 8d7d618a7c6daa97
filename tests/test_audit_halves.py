"""The event of an audit is chosen by the first half of the outputs alone."""

from __future__ import annotations

import numpy as np

from zcdp.auditing import _bound


def test_the_half_that_bounds_an_event_does_not_choose_it() -> None:
    """The first halves say nothing: any event that the second halves would choose, was chosen by looking at them."""
    alike = np.tile([0, 1, 2, 3], 250)
    for many in (0, 1, 2, 3):
        outputs = np.concatenate([alike, np.full(1000, many)])
        others = np.concatenate([alike, np.full(1000, 3 - many)])
        assert _bound(outputs, others, 1e-6)[0] == 0  # all outputs are the event, and that has probability 1
