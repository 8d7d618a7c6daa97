"""What a training run by noisy gradients costs: a word that owns the clip norm, ways to draw batches, matrices."""

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
