"""Sums of nodes times e^{-ik angle}, for many angles: as products of small matrices."""

from __future__ import annotations

from flint import acb, acb_mat, arb

__all__ = ["Phases"]

BLOCK = 32


class Phases:
    """Sums over the nodes k that are kept of value_k e^{-i k angle}: with k = 32 q + r few exponentials serve all."""

    def __init__(self, kept: list[int]) -> None:
        self.blocks = sorted({k // BLOCK for k in kept})
        place = {q: n * BLOCK for n, q in enumerate(self.blocks)}
        self.places = [place[k // BLOCK] + k % BLOCK for k in kept]

    def spread(self, rows: list[list[acb]]) -> acb_mat:
        """A matrix for `sums`, of one row for each row and block; each row holds a value for each node that is kept."""
        size = len(self.blocks) * BLOCK
        entries = [acb(0)] * (size * len(rows))
        for n, row in enumerate(rows):
            for place, value in zip(self.places, row, strict=True):
                entries[n * size + place] = value
        return acb_mat(len(rows) * len(self.blocks), BLOCK, entries)

    def sums(self, matrix: acb_mat, angle: arb) -> list[arb]:
        """The real part of the sum of each row."""
        short = [acb(1), acb(0, -angle).exp()]
        for r in range(2, BLOCK):
            short.append(short[r // 2] * short[r - r // 2])  # by halves: balls hardly grow
        long = [acb(0, -angle * (q * BLOCK)).exp() for q in self.blocks]
        inner = (matrix * acb_mat(BLOCK, 1, short)).entries()
        outer = acb_mat(len(inner) // len(long), len(long), inner) * acb_mat(len(long), 1, long)
        return [x.real for x in outer.entries()]
