"""What an answer may cost: every price and every budget of the engines, in nanoseconds on one common core.

Only how tight an answer is, and how soon it comes, rests on these numbers; none of them is part of a proof.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Effort"]

MILLISECOND = 1_000_000

# Prices: what each of these takes.
TRANSFORM = 8_000  # One plain law at one node, in balls.
BOUND = 200  # The bound on the decay of one plain law over one cell.
TERM = 500  # One term of a whole finite sum.
CUT_TERM = 80_000  # One term of a sum that is cut, with the bits that its cancellation takes.
CUT_TERM_OF_ONE = 1_920  # The same of a single law, which needs no search among exponents.
DOUBLES = 3  # One complex product of doubles at one node.
DOUBLE_NODE = 20 * DOUBLES  # A node in doubles, beside its factors.
GRID_POINT = 120_000  # a point of the grid of losses, of one law
GAME_STATE = 20  # One state of the adaptive recursion at one use.

# Budgets: what each of these may take.
WHOLE_SUM = 1 * MILLISECOND  # A whole finite sum that takes less is taken without looking further.
CHEAP = 16 * MILLISECOND  # No other engine is asked where one takes less.
CUT_SUM = 480 * MILLISECOND
SMOOTH_DOUBLES = 640 * MILLISECOND
GRID = 960 * MILLISECOND
GAME = 40 * MILLISECOND  # The recursion for one delta.


class Effort(NamedTuple):
    """The work that a contour in balls may take."""

    nodes: int = 800 * MILLISECOND
    """To evaluate them."""
    cells: int = 100 * MILLISECOND
    """To find out which nodes are needed."""


CONTOUR = Effort()
ROUGH = Effort(32 * MILLISECOND)
SMOOTH = Effort(320 * MILLISECOND, 40 * MILLISECOND)
