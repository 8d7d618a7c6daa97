"""Limits: each is about its own number, none is no limit, and the size of what a client draws is what is told."""

from __future__ import annotations

import pytest

from zcdp.collection.limits import PHONE, UNLIMITED, Limits, Size, whole_bytes

SIZE = Size(bytes=10, draws=20, memory=30)


@pytest.mark.parametrize(("limits", "fits"), [
    (Limits(10, 20, 30), True), (Limits(9, 20, 30), False), (Limits(10, 19, 30), False), (Limits(10, 20, 29), False),
    (Limits(None, None, 29), False), (UNLIMITED, True), (PHONE, True),
])  # fmt: skip
def test_a_size_is_within_all_limits(limits: Limits, fits: bool) -> None:
    assert limits.hold(SIZE) is fits


def test_limits_are_whole_numbers_from_1_on() -> None:
    assert Limits.of(most_bytes="3", most_draws=None, most_memory=1e6) == Limits(3, None, 10**6)
    with pytest.raises(ValueError, match=r"most_bytes \(0\) must be at least 1"):
        Limits.of(most_bytes=0, most_draws=None, most_memory=None)
    with pytest.raises(ValueError, match=r"no design fits the limits \(bytes 3\): raise them"):
        Limits(3, None, None).require([])


def test_numbers_fit_their_bytes() -> None:
    for outcomes in (2, 255, 256, 257, 65536, 65537, 2**24, 2**24 + 1, 2**62):
        size = whole_bytes(outcomes)
        assert outcomes <= 256**size
        assert outcomes > 256 ** (size - 1) or size == 1
