"""A channel of float rows draws from the rows divided by their exact sums, which are what is certified."""

from __future__ import annotations

from itertools import chain, repeat

from zcdp import Channel


def test_a_place_between_the_given_row_and_the_normalised_one() -> None:
    """0.0101...01 of 160 bits is below 1/3, and above the float 1/3, which is 2^-54/3 less."""
    thirds = [1 / 3] * 3
    channel = Channel([thirds, [0.5, 0.25, 0.25]])
    stream = chain(b"\x55" * 20, repeat(0))

    def source(count: int) -> bytes:
        return bytes(next(stream) for _ in range(count))

    assert channel._tables[0].draw(1, source).tolist() == [0]
