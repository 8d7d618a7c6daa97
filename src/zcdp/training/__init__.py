"""What a training run by noisy gradients costs: a word that owns the clip norm, ways to draw batches, matrices."""

from zcdp.training.batches import Batches, FixedSize, Poisson, Truncated
from zcdp.training.training_plan import Training

__all__ = ["Batches", "FixedSize", "Poisson", "Training", "Truncated"]
