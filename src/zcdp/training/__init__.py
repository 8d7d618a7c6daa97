"""What a training run by noisy gradients costs: a word that owns the clip norm, ways to draw batches, matrices."""

from zcdp.plans.plan_text import Word
from zcdp.training.batches import Allocation, Batches, FixedSize, Poisson, Truncated
from zcdp.training.matrix_mechanism import CyclicPoisson, MatrixMechanism, square_root_coefficients
from zcdp.training.participation import Cyclic, MinSeparated, Participation, Single
from zcdp.training.training_plan import Training

__all__ = [
    "Allocation",
    "Batches",
    "Cyclic",
    "CyclicPoisson",
    "FixedSize",
    "MatrixMechanism",
    "MinSeparated",
    "Participation",
    "Poisson",
    "Single",
    "Training",
    "Truncated",
    "square_root_coefficients",
]


def word() -> Word:
    """`Training` in plan text, where `sampling` is written with the names of the ways to draw batches."""
    ways = (Poisson, FixedSize, Allocation, Truncated)
    return Word(Training, "sampling", {way.__name__: way for way in ways})
