"""Opacus: an accountant for its privacy engine, with the certified epsilon of DP-SGD on Poisson samples.

It accounts for the distribution that Opacus documents: Gaussian noise of standard deviation noise_multiplier times the
clipping norm, added to the sum over a Poisson sample. Theorem: docs/theorems/adapters.md.
"""

from __future__ import annotations

import warnings
from math import inf
from typing import Any

from zcdp.adapters.common import installed, warn_unless
from zcdp.errors import BadValue
from zcdp.mechanisms import Gaussian, Subsampled
from zcdp.numeric.exact import integer, probability, rational
from zcdp.privacy.curve import Plan

TESTED = ("1.6.0",)
installed("opacus", "opacus")

from opacus.accountants.accountant import IAccountant  # noqa: E402 - after the check that says how to get it
from opacus.accountants.registry import register_accountant  # noqa: E402
from opacus.data_loader import DPDataLoader  # noqa: E402
from opacus.utils.uniform_sampler import UniformWithReplacementSampler  # noqa: E402

__all__ = ["TESTED", "Accountant", "Refused", "register"]

warn_unless("opacus", "opacus", TESTED)


class Refused(BadValue):
    """Training that the theorems do not cover; the message gives the reason."""


class Accountant(IAccountant):  # type: ignore[misc]
    """An Opacus accountant that uses the exact privacy profile of all steps; its epsilon is a certified upper end.

    Assign it to the engine before `make_private`, which attaches the engine's accountant to the optimizer.

    >>> training = Accountant()
    >>> for _ in range(100):
    ...     training.step(noise_multiplier=1.1, sample_rate=0.0625)
    >>> training.get_epsilon(1e-5)
    3.63110005...
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    @classmethod
    def mechanism(cls) -> str:
        """The accountant's name in the registry of Opacus and in saved states."""
        return "zcdp"

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one step of the optimizer."""
        _step(noise_multiplier, sample_rate)  # raises for bad values, before the step is recorded
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Any:
        """The function that the optimizer calls at each step. It refuses a step over several accumulated samples.

        A record that is in two of the samples moves their sum twice: that is not one sample of twice the rate.
        """

        def hook(optimizer: Any) -> None:
            if optimizer.accumulated_iterations != 1:
                raise Refused(
                    f"a step over {optimizer.accumulated_iterations} samples is not covered: a record may be in "
                    "several of them; use a larger batch, and BatchMemoryManager to fit it"
                )
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate)

        return hook

    def __len__(self) -> int:
        """The number of steps."""
        return sum(steps for _, _, steps in self.history)

    @property
    def plan(self) -> Plan | None:
        """All steps as one plan; None before the first step, or if a step had no noise."""
        parts = [(_step(noise, rate), integer(steps, "steps", 1)) for noise, rate, steps in self.history]
        known = [steps * part for part, steps in parts if part is not None]
        return Plan.sum_of(*known) if known and len(known) == len(parts) else None

    def get_epsilon(self, delta: float, *_: Any, **__: Any) -> float:
        """The certified upper end of epsilon at delta, for examples added or removed."""
        return self.get_epsilon_bounds(delta)[1]

    def get_epsilon_bounds(self, delta: float) -> tuple[float, float]:
        """Certified lower and upper ends of epsilon at delta; (inf, inf) if a step had no noise."""
        probability(delta, "delta")
        if not self.history:
            warnings.warn(
                "no step was recorded: the engine must have the accountant before make_private",
                UserWarning,
                stacklevel=3,
            )
            return 0.0, 0.0
        whole = self.plan
        return (inf, inf) if whole is None else whole.epsilon_bounds(delta=delta)

    @staticmethod
    def check(data_loader: Any) -> None:
        """Raise `Refused` if the loader does not draw Poisson samples: shuffled batches are not covered."""
        sampler = getattr(data_loader, "batch_sampler", None)
        if not isinstance(data_loader, DPDataLoader) or type(sampler) is not UniformWithReplacementSampler:
            raise Refused(
                f"{type(data_loader).__name__} does not draw Poisson samples: call make_private with "
                "poisson_sampling=True, and train on the loader that it returns"
            )


def _step(noise_multiplier: float, sample_rate: float) -> Subsampled | None:
    """One step as a subsampled Gaussian mechanism; None if it has no noise."""
    noise, rate = rational(noise_multiplier, "noise_multiplier"), rational(sample_rate, "sample_rate")
    if noise < 0:
        raise BadValue(f"noise_multiplier ({noise_multiplier}) must not be negative")
    if not 0 < rate <= 1:
        raise BadValue(f"sample_rate ({sample_rate}) must be above 0 and at most 1")
    return Subsampled(Gaussian(sigma=noise), rate=rate) if noise else None


def register() -> None:
    """Register the accountant, for `PrivacyEngine(accountant="zcdp")` and Opacus's noise calibration; call it once."""
    register_accountant("zcdp", Accountant, force=True)
