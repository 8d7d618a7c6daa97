"""Black-box audit: a statistical lower bound on epsilon from outputs of a mechanism, with a stated confidence.

Half of the outputs under two neighbouring inputs choose an event; the other half bound its two probabilities p and q by
Clopper-Pearson intervals. log(lower end of p / upper end of q) is a lower bound on epsilon. Theorem:
docs/theorems/audit.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, nextafter, sqrt
from typing import TYPE_CHECKING, Any, Protocol

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import at_precision, below
from zcdp.numeric.exact import integer, probability
from zcdp.numeric.search import greatest_float
from zcdp.text.calls import spoken, spoken_class
from zcdp.text.suggestions import thing

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Audit", "audit"]

Outputs = Callable[[int], Any]

CLASSES = 256
"""Outputs are binned into classes, with at most this many edges between them; an event is a union of classes."""


class Auditable(Protocol):
    """A mechanism that can be run on a pair of neighbouring inputs."""

    @property
    def pure_epsilon(self) -> float:
        """The stated pure epsilon."""

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """`size` outputs for each of two neighbouring inputs."""


@spoken_class
@dataclass(frozen=True)
class Audit:
    """The result of an audit."""

    epsilon: float
    """The stated epsilon."""
    epsilon_lower: float
    """A lower bound on the true epsilon, at the stated confidence."""
    event: str
    """The event that gives this bound, in words."""
    draws: int
    confidence: float

    @property
    def violated(self) -> bool:
        """Whether the lower bound exceeds the stated epsilon."""
        return self.epsilon_lower > self.epsilon


@spoken
def audit(
    mechanism: Auditable | tuple[Outputs, Outputs],
    *,
    epsilon: float | None = None,
    draws: int = 1_000_000,
    confidence: float = 0.999999,
) -> Audit:
    """A lower bound on the epsilon of a mechanism, from `draws` outputs for each of two neighbouring inputs.

    Instead of a mechanism, two functions from a number of draws to outputs may be given, with their stated epsilon. A
    mechanism that keeps its stated epsilon is flagged as violated with probability at most 1 - confidence.

    >>> from zcdp import RandomizedResponse
    >>> audit(RandomizedResponse(epsilon=1, k=2), draws=10_000).violated
    False
    """
    confidence, draws = float(probability(confidence, "confidence")), integer(draws, "draws", 2)
    if isinstance(mechanism, type):
        raise BadType(f"mechanism ({mechanism.__name__}) is a class: give one with its parameters")
    if not isinstance(mechanism, tuple) and not hasattr(mechanism, "neighbouring_outputs"):
        raise BadType(f"mechanism ({thing(mechanism)}) must be one that can be run, or two functions")
    if isinstance(mechanism, tuple):
        if epsilon is None:
            raise BadType("give the stated epsilon of the two functions")
        first, second = mechanism[0](draws), mechanism[1](draws)
    else:
        first, second = mechanism.neighbouring_outputs(draws)
        epsilon = mechanism.pure_epsilon if epsilon is None else epsilon
    if not epsilon > 0:
        raise BadValue(f"epsilon ({epsilon}) must be positive")
    looks = _looks(first, second)
    risk = (1 - confidence) / (2 * len(looks))  # a union bound: each look is used in both directions of the inputs
    best, event = 0.0, "none"
    for name, one, two in looks:
        for outputs, others, which in ((one, two, "first"), (two, one, "second")):
            bound, count = _bound(outputs, others, risk)
            if bound > best:
                best, event = bound, f"{count} of the {name}s, likelier for the {which} input"
    return Audit(epsilon, best, event, draws, confidence)


def _looks(first: Any, second: Any) -> list[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Features of the outputs, coded as integers: the output itself, and for floats the position of the lowest set bit.

    Each is (name, codes of the first input, codes of the second).
    """
    import numpy as np

    both = np.concatenate([np.asarray(first), np.asarray(second)])
    if both.ndim > 1:
        packed = np.ascontiguousarray(both).reshape(len(both), -1)
        both = packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1])))[:, 0]
    cut = len(both) // 2
    codes = np.unique(both, return_inverse=True)[1]
    looks = [("output", codes[:cut], codes[cut:])]
    if both.dtype.kind == "f":
        mantissa, exponent = np.frexp(both.astype(np.float64))
        digits = (mantissa * 2.0**53).astype(np.int64)
        lowest = exponent + np.frexp((digits & -digits).astype(np.float64))[1]
        looks.append(("lowest bit", lowest[:cut], lowest[cut:]))
    return looks


def _bound(outputs: NDArray[Any], others: NDArray[Any], risk: float) -> tuple[float, int]:
    """A lower bound on epsilon that fails with probability at most `risk`, and the number of classes in its event."""
    import numpy as np

    half, other_half = outputs.size // 2, others.size // 2
    # the classes, their ranks and the event depend on the first half alone, so that the second half is a fresh sample
    edges, weight = np.unique(np.concatenate([outputs[:half], others[:other_half]]), return_counts=True)
    if edges.size > CLASSES:
        edges = edges[np.unique(np.searchsorted(np.cumsum(weight), np.arange(CLASSES) / CLASSES * weight.sum()))]
    outputs, others = (np.searchsorted(edges, codes, side="right") for codes in (outputs, others))
    classes = edges.size + 1
    ours = np.bincount(outputs[:half], minlength=classes)
    theirs = np.bincount(others[:other_half], minlength=classes)
    ranked = np.argsort(-(ours + 0.5) / (theirs + 0.5))
    # the event is the set of highest-ranked classes with the best ratio of approximate (heuristic) interval ends
    z = sqrt(2 * log(1 / risk))
    a, b = np.cumsum(ours[ranked]), np.cumsum(theirs[ranked])
    gain = np.maximum(a - z * np.sqrt(a), 1e-9) / (b + z * np.sqrt(b) + z * z)
    count = int(np.argmax(gain)) + 1
    event = np.zeros(classes, dtype=bool)
    event[ranked[:count]] = True
    p = _at_least(int(event[outputs[half:]].sum()), outputs.size - half, risk / 2)
    hits = int(event[others[other_half:]].sum())
    q = nextafter(1 - _at_least(others.size - other_half - hits, others.size - other_half, risk / 2), inf)
    return (max(0.0, at_precision(64, lambda: below((arb(p) / arb(q)).log()))) if p > 0 else 0.0), count


def _at_least(hits: int, trials: int, risk: float) -> float:
    """A lower confidence bound on a probability after `hits` in `trials` (Clopper-Pearson, rounded down).

    It is a p with P(Bin(n, p) >= k) <= risk, n = trials and k = hits. That tail is at most its first term over 1 - r,
    r = (n-k) p/((k+1) (1-p)), as each term is at most r times the one before.
    """
    if not hits:
        return 0.0

    def rare(p: float) -> bool:
        if p * trials >= hits:
            return False
        x = arb(p)
        ratio = (trials - hits) * x / ((hits + 1) * (1 - x))
        ways = arb(trials + 1).lgamma() - arb(hits + 1).lgamma() - arb(trials - hits + 1).lgamma()
        term = (ways + hits * x.log() + (trials - hits) * (1 - x).log()).exp()
        return bool(term <= risk * (1 - ratio))

    return at_precision(128, lambda: greatest_float(rare)) or 0.0
