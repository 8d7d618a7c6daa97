"""A training loop as users of jax-privacy write it: clipped gradients, noise, and the account of the whole run.

With jax-privacy (2.0) and dp-accounting installed, jax-privacy accounts for the same run, by its own accountant and by
zcdp's inside it; with jax alone a small model is trained; without either the account stays, which needs zcdp only. Run
`python examples/jax_loop.py`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from zcdp.training import Poisson, Training

EXAMPLES, BATCH, STEPS, CLIP_NORM, DELTA = 60_000, 256, 200, 1.0, "1e-5"


def planned(epsilon: float) -> Training:
    """The training of least noise for this epsilon: each example is in a batch with probability BATCH/EXAMPLES."""
    return Training.calibrate(epsilon=epsilon, delta=DELTA, steps=STEPS, sampling=Poisson(f"{BATCH}/{EXAMPLES}"))


def trained(run: Training, examples: int = 2_000, features: int = 8) -> float:
    """A linear model by noisy sums of clipped gradients; returns its squared error.

    The noise is drawn in floats: what is accounted is the Gaussian mechanism (docs/explanation/limits.md). This small
    data set stands for the large one: the rate is the same.
    """
    import jax
    import jax.numpy as jnp

    noise = float(run.noise_multiplier) * CLIP_NORM
    rate = BATCH / EXAMPLES
    keys = jax.random.split(jax.random.key(0), 3)  # to be repeated here; a real run needs a key that nobody knows
    truth = jnp.linspace(-1.0, 1.0, features)
    x = jax.random.normal(keys[0], (examples, features))
    y = x @ truth

    def loss(w: Any, x: Any, y: Any) -> Any:
        return (x @ w - y) ** 2 / 2

    @jax.jit
    def step(w: Any, key: Any) -> Any:
        drawing, adding = jax.random.split(key)
        drawn = jax.random.bernoulli(drawing, rate, (examples,))  # a Poisson sample: each example by itself
        gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(w, x, y)
        norms = jnp.linalg.norm(gradients, axis=1)
        clipped = gradients * jnp.minimum(1.0, CLIP_NORM / norms)[:, None]
        total = (clipped * drawn[:, None]).sum(axis=0)
        noisy = total + noise * jax.random.normal(adding, (features,))  # noise on the sum, in clip norms
        return w - 0.5 * noisy / (rate * examples)

    w = jnp.zeros(features)
    for key in jax.random.split(keys[1], STEPS):
        w = step(w, key)
    return float(((w - truth) ** 2).mean())


def peer_accounts(run: Training) -> dict[str, float]:
    """epsilon of the run as jax-privacy accounts for it, with its own accountant and with that of zcdp inside it."""
    from jax_privacy import accounting

    from zcdp.adapters.dp_accounting import Accountant

    class Certified(accounting.DpAccountantConfig):  # type: ignore[misc, name-defined]
        """Has jax-privacy compose its events in zcdp."""

        def create_accountant(self) -> Accountant:
            return Accountant()

    asked = accounting.DpParams(
        noise_multipliers=float(run.noise_multiplier), num_samples=EXAMPLES, batch_size=BATCH, delta=float(DELTA)
    )
    found = {}
    for name, config in (("its own accountant", accounting.PldAccountantConfig()), ("zcdp inside it", Certified())):
        accountant = accounting.DpsgdTrainingAccountant(dp_accountant_config=config)
        found[name] = float(accountant.compute_epsilon(num_updates=STEPS, dp_params=asked))
    return found


def main() -> None:
    """Print the account of a run, and what the packages that are installed make of it."""
    run = planned(epsilon=2.0)
    print(run)
    print(f"epsilon {run.epsilon_at(delta=DELTA):.6f} at delta {DELTA}")
    for steps in (50, 100, STEPS):
        part = Training(noise_multiplier=run.noise_multiplier, steps=steps, sampling=run.sampling)
        print(f"after {steps:4} steps: epsilon {part.epsilon_at(delta=DELTA):.6f}")
    if find_spec("jax"):
        print(f"squared error of the model: {trained(run):.4f}")
    else:
        print("jax is not installed, so no model is trained: pip install jax")
    if find_spec("jax_privacy") and find_spec("dp_accounting"):
        for name, epsilon in peer_accounts(run).items():
            print(f"jax-privacy, by {name}: epsilon {epsilon:.6f}")
    else:
        print("jax-privacy is not installed, so it is not asked: pip install jax-privacy dp-accounting==0.6.0")


if __name__ == "__main__":
    main()
