"""`Training`: the plan of a training run by noisy gradients, whose noise is always counted in clip norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Self

from zcdp.accounting.calibration import calibrate
from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import Value, integer, literal, positive_rational
from zcdp.numeric.parameter_domains import unlimited
from zcdp.privacy.curve import Curve, Plan
from zcdp.text.suggestions import thing
from zcdp.training.batches import Batches

__all__ = ["Training"]

UNITS = ("example", "user")
LONGEST_SCHEDULE = 10_000  # entries
CLIPPED = {
    "example": "each example's gradient is clipped to norm C",
    "user": "the gradients of each user's examples are clipped to norm C as a whole",
}


class Training(Plan):
    """A training run: `steps` noisy sums of gradients that were clipped to norm C, each over a batch drawn at random.

    `noise_multiplier` is the standard deviation of the noise on the **sum** of the clipped gradients, divided by C,
    whatever the neighbours; where sums are averaged afterwards, it is that of the sum before. How batches are drawn,
    `sampling`, decides who neighbours are, and by how much one example moves the sum: `moves` says so.

    `sampling` is `Poisson(rate)`, `FixedSize(size, of)`, `Allocation(batches)` or `Truncated(rate, most, of)`.
    `unit="user"`: what is drawn, and clipped as a whole, is all that one user has. With `examples_per_user=k` examples
    are drawn one by one instead, each clipped by itself, and neighbours differ by one user with at most k of them.
    `schedule`: pairs (steps, factor); in these steps the noise is `factor` times `noise_multiplier`.

    It is a plan: it answers what plans answer, adds up with others, and `calibrate` finds its noise. Its `repr` is plan
    text, for plan files and the command line; its `parts` are the mechanisms that it stands for, which `to_json` and a
    ledger write. Theorem: docs/theorems/training.md.

    >>> from zcdp.training import FixedSize, Poisson, Training
    >>> run = Training(noise_multiplier="1.1", steps=14063, sampling=Poisson("256/60000"))
    >>> run.epsilon_at(delta="1e-5")
    2.381689...
    >>> print(Training(noise_multiplier=1, steps=10_000, sampling=FixedSize(600, of=60_000)))
    Training(noise_multiplier=1, steps=10000, sampling=FixedSize(size=600, of=60000))
    Each example is drawn 100 times on average.
    One example moves the sum of clipped gradients by up to 2 C; the noise on it has standard deviation 1 C.
    Neighbours differ by one example, replaced by another.
    """

    noise_multiplier: Fraction
    steps: int
    sampling: Batches
    unit: str
    examples_per_user: int | None
    schedule: tuple[tuple[int, Fraction], ...]

    def __init__(
        self,
        *,
        noise_multiplier: Value = 1,
        steps: Value | None = None,
        sampling: Batches,
        unit: str = "example",
        examples_per_user: Value | None = None,
        schedule: Sequence[tuple[Value, Value]] | None = None,
    ) -> None:
        if not isinstance(sampling, Batches):
            raise BadType(f"sampling ({thing(sampling)}) must say how batches are drawn, as Poisson('256/60000')")
        if unit not in UNITS:
            raise BadValue(f"unit ({thing(unit)}) must be 'example' or 'user'")
        if examples_per_user is not None and unit != "user":
            raise BadValue(f"examples_per_user ({examples_per_user}) is for unit='user'")
        self.noise_multiplier = positive_rational(noise_multiplier, "noise_multiplier")
        self.schedule = _schedule(steps, schedule)
        self.steps = sum(count for count, _ in self.schedule)
        self.sampling, self.unit = sampling, unit
        self.examples_per_user = (
            None if examples_per_user is None else integer(examples_per_user, "examples_per_user", 1)
        )
        whole = Plan.sum_of(*(count * curve for curve, count in self._uses()))
        self._curve, self._times, self._left, self._relation = whole, 1, None, whole.relation

    def _uses(self) -> list[tuple[Curve, int]]:
        """Each entry of the schedule as a mechanism and its number of uses."""
        per_use, found = self.sampling.steps_per_use, []
        for count, factor in self.schedule:
            uses, left = divmod(count, per_use)
            if left:
                rule = f"must be whole epochs of {per_use} batches: with {self.sampling!r} noise changes between epochs"
                raise BadValue(f"steps ({count}) {rule}")
            noise = self.noise_multiplier * factor
            found.append((self._mechanism(noise), uses))
        return found

    def _mechanism(self, noise: Fraction) -> Curve:
        if self.examples_per_user is not None:
            return self.sampling.of_users(noise, self.examples_per_user)
        return self.sampling.mechanism(noise)

    @property
    def moves(self) -> str:
        """By how much one example, or one user, moves the sum of clipped gradients at most: "C" or "2 C", or "k C"."""
        times = self.sampling.moves * (self.examples_per_user or 1)
        return "C" if times == 1 else f"{times} C"

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the numbers rest on, in sentences: the size of a move, the neighbours, and how batches are drawn."""
        each = "example" if self.examples_per_user is not None else self.unit
        clipped = CLIPPED[each]
        return (
            f"One {self.unit} moves the sum of clipped gradients by up to {self.moves}: {clipped}.",
            self.sampling.neighbours.format(one=self._neighbour),
            self.sampling.drawn.format(one=each),
        )

    @property
    def _neighbour(self) -> str:
        """In what neighbours differ, for people."""
        most = self.examples_per_user
        return self.unit if most is None else f"user with at most {most} example{'s' * (most > 1)}"

    @classmethod
    def calibrate(
        cls,
        *,
        rho: Value | None = None,
        epsilon: Value | None = None,
        delta: Value | None = None,
        steps: Value | None = None,
        sampling: Batches,
        unit: str = "example",
        examples_per_user: Value | None = None,
        schedule: Sequence[tuple[Value, Value]] | None = None,
    ) -> Self:
        """The training of least noise that is certified to stay within a budget: rho, or epsilon and delta.

        The other parameters are those of the training.

        >>> from zcdp.training import Poisson
        >>> run = Training.calibrate(epsilon=3, delta="1e-5", steps=14063, sampling=Poisson("256/60000"))
        >>> float(run.noise_multiplier)
        0.968427...
        """
        made = partial(
            cls,
            steps=steps,
            sampling=sampling,
            unit=unit,
            examples_per_user=examples_per_user,
            schedule=schedule,
        )
        found = calibrate(lambda z: made(noise_multiplier=z), rho=rho, epsilon=epsilon, delta=delta)
        return made(noise_multiplier=found)

    def __repr__(self) -> str:
        shown = [f"noise_multiplier={literal(self.noise_multiplier)}"]
        plain = len(self.schedule) == 1 and self.schedule[0][1] == 1
        shown += [f"steps={self.steps}"] if plain else []
        shown.append(f"sampling={self.sampling!r}")
        shown += [f"unit={self.unit!r}"] if self.unit != "example" else []
        shown += [f"examples_per_user={self.examples_per_user}"] if self.examples_per_user is not None else []
        if not plain:
            entries = ", ".join(f"[{count}, {literal(factor)}]" for count, factor in self.schedule)
            shown.append(f"schedule=[{entries}]")
        return f"Training({', '.join(shown)})"

    def __str__(self) -> str:
        factors = [factor * self.noise_multiplier for _, factor in self.schedule]
        low, high = (f"{float(end):g}" for end in (min(factors), max(factors)))
        noise = f"{low} C" if low == high else f"{low} C to {high} C"
        moved = f"One {self.unit} moves the sum of clipped gradients by up to {self.moves}"
        times = f"{float(self.steps * self.sampling.share):.6g}"
        each = "example" if self.examples_per_user is not None else self.unit
        drawn = f"Each {each} is drawn {times} time{'s' * (times != '1')} on average."
        return f"{self!r}\n{drawn}\n{moved}; the noise on it has standard deviation {noise}.\n{self.assumed[1]}"

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[Any, ...]]:
        kept = ("noise_multiplier", "sampling", "unit", "examples_per_user", "schedule")
        return _remade, (type(self), {name: getattr(self, name) for name in kept})


def _remade(kind: type[Training], kept: dict[str, Any]) -> Training:
    """A training from its pickle: numbers that a search found may lie beyond what a person may write."""
    return unlimited(kind)(**kept)


def _schedule(steps: Value | None, schedule: Sequence[tuple[Value, Value]] | None) -> tuple[tuple[int, Fraction], ...]:
    """The pairs of a number of steps and the factor of their noise; without a schedule one pair, of factor 1."""
    if schedule is None:
        if steps is None:
            raise BadType("give steps, or a schedule of (steps, factor)")
        return ((integer(steps, "steps", 1), Fraction(1)),)
    pairs = [] if isinstance(schedule, str) else list(schedule)
    if (
        not pairs
        or len(pairs) > LONGEST_SCHEDULE
        or not all(isinstance(one, tuple | list) and len(one) == 2 for one in pairs)
    ):
        raise BadType(
            f"schedule must be pairs (steps, factor), 1 to {LONGEST_SCHEDULE} of them, as [(7000, 1.3), (7000, 1)]"
        )
    read = tuple((integer(count, "steps", 1), positive_rational(factor, "factor")) for count, factor in pairs)
    if steps is not None and integer(steps, "steps", 1) != sum(count for count, _ in read):
        raise BadValue(
            f"steps ({steps}) must be the sum of the schedule's ({sum(count for count, _ in read)}), or be left out"
        )
    return read
