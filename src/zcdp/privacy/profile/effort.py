"""What an answer may cost: every price and every budget of the engines, in nanoseconds on one common core.

Only how tight an answer is, and how soon it comes, rests on these numbers; none of them is part of a proof.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Effort"]

MILLISECOND = 1_000_000

# prices
TRANSFORM = 8_000  # of one plain law at one node, in balls
BOUND = 200  # on the decay of one plain law over one cell
TERM = 500  # of a whole finite sum
CUT_TERM = 80_000  # of one that is cut, with the bits that its cancellation takes
CUT_TERM_OF_ONE = 1_920  # the same of a single law, which needs no search among exponents
DOUBLES = 3  # one complex product of doubles, at one node
DOUBLE_NODE = 20 * DOUBLES  # a node in doubles, beside its factors
GRID_POINT = 120_000  # a point of the grid of losses, of one law
GAME_STATE = 20  # one state of the adaptive recursion, at one use

# budgets
WHOLE_SUM = 1 * MILLISECOND  # up to which a whole finite sum is taken without looking further
CHEAP = 16 * MILLISECOND  # below which no other engine is looked for
CUT_SUM = 480 * MILLISECOND
SMOOTH_DOUBLES = 480 * MILLISECOND
GRID = 960 * MILLISECOND
GAME = 40 * MILLISECOND  # for one delta


class Effort(NamedTuple):
    """The work that a contour in balls may take."""

    nodes: int = 800 * MILLISECOND
    """To evaluate them."""
    cells: int = 100 * MILLISECOND
    """To find out which nodes are needed."""

    def part(self, share: int) -> Effort:
        """One `share`-th of it."""
        return Effort(self.nodes // share, self.cells // share)


CONTOUR = Effort()
ROUGH = Effort(32 * MILLISECOND)
SMOOTH = Effort(320 * MILLISECOND, 40 * MILLISECOND)
