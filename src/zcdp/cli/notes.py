"""Notes beside an answer: what a quick reader of the plan that was typed may take for something else."""

from __future__ import annotations

from textwrap import wrap

from zcdp.cli.terminal import line, width
from zcdp.mechanisms.subsampled import note_on_moves
from zcdp.privacy.curve import Curve

__all__ = ["print_note_on_moves"]


def print_note_on_moves(curve: Curve) -> None:
    """Where noise on a batch of a fixed size has no stated sensitivity: in which unit its sigma was read."""
    if note := note_on_moves(curve):
        line()
        for text in wrap(f"Note: {note}.", width()):
            line(text)
