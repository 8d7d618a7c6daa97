"""Black-box audit: statistical lower bounds on epsilon, at any delta, and on rho, from outputs of a mechanism.

Half of the outputs under two neighbouring inputs choose an event; the other half bound its two probabilities p and q by
Clopper-Pearson intervals. log((lower end of p - delta)/upper end of q) is a lower bound on epsilon. Bands around both
empirical laws of the other half bound the probabilities of many nested events at once: a pair of laws below the
mechanism, which says epsilon at every delta, rho and the whole trade-off curve. Theorem: docs/theorems/audit.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, log, nextafter, sqrt
from typing import TYPE_CHECKING, Any, Protocol

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.channel import LossPair
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.numeric.exact import Value, float_above, integer, positive_rational, probability, rational
from zcdp.numeric.search import greatest_float
from zcdp.privacy.loss.tradeoff_hull import hull
from zcdp.text.calls import spoken, spoken_class
from zcdp.text.notebook import shown
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

    @property
    def rho(self) -> float:
        """The stated rho."""

    def epsilon_at(self, *, delta: Value) -> float:
        """The stated epsilon at a delta."""

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """`size` outputs for each of two neighbouring inputs."""


@spoken_class
@dataclass(frozen=True)
class Audit:
    """The result of an audit."""

    epsilon: float
    """The stated epsilon, at `delta`."""
    epsilon_lower: float
    """A lower bound on the true epsilon at `delta`, at the stated confidence."""
    event: str
    """The event that gives this bound, in words."""
    draws: int
    confidence: float
    delta: float = 0.0
    rho: float = inf
    """The stated rho; inf if none is stated."""
    rho_lower: float = 0.0
    """A lower bound on the true rho, at the same confidence; 0 if it was not asked for."""
    law: LossPair | None = None
    """A pair of laws that is surely, at the same confidence, no easier to tell apart than the two outputs."""
    at_best: float = inf
    """What epsilon_lower would be had an event come in every draw of one input and in none of the other."""

    def _repr_html_(self) -> str:
        """What a notebook shows: both epsilons, and whether they contradict."""
        return shown(self)

    @property
    def violated(self) -> bool:
        """Whether a lower bound exceeds what is stated."""
        return self.epsilon_lower > self.epsilon or self.rho_lower > self.rho


@spoken
def audit(
    mechanism: Auditable | tuple[Outputs, Outputs],
    *,
    epsilon: Value | None = None,
    delta: Value = 0,
    rho: Value | None = None,
    draws: int = 1_000_000,
    confidence: float = 0.999999,
) -> Audit:
    """A lower bound on the epsilon of a mechanism, from `draws` outputs for each of two neighbouring inputs.

    Instead of a mechanism, two functions from a number of draws to outputs may be given, with what is stated of them:
    epsilon, at `delta` if it is given, or rho, or both. A mechanism that keeps what it states is flagged as violated
    with probability at most 1 - confidence. With a delta or a rho half of that goes to bands around whole laws.

    >>> from zcdp import Gaussian, RandomizedResponse
    >>> audit(RandomizedResponse(epsilon=1, k=2), draws=10_000).violated
    False
    >>> found = audit(Gaussian(sigma=1), delta="1e-5", draws=20_000)
    >>> found.violated, 0.5 < found.epsilon_lower < found.epsilon < 4.4, 0.05 < found.rho_lower < 0.5
    (False, True, True)
    """
    confidence, draws = float(probability(confidence, "confidence")), integer(draws, "draws", 2)
    chance = rational(delta, "delta")
    if not 0 <= chance < 1:
        raise BadValue(f"delta ({delta}) must be at least 0 and below 1")
    banded = bool(chance) or rho is not None
    claimed, claimed_rho = _stated(mechanism, epsilon, chance, rho)
    if isinstance(mechanism, tuple):
        first, second = mechanism[0](draws), mechanism[1](draws)
    else:
        first, second = mechanism.neighbouring_outputs(draws)
    looks = _looks(first, second)
    share = (1 - confidence) / 2 if banded else 1 - confidence
    risk = share / (2 * len(looks))  # a union bound: each look is used in both directions of the inputs
    best, event, steep = 0.0, "none", 0.0
    for name, one, two in looks:
        for outputs, others, which in ((one, two, "first"), (two, one, "second")):
            bound, (p, q, count) = _bound(outputs, others, risk, chance)
            steep = max(steep, _rho(p, q)) if banded else steep
            if bound > best:
                best, event = bound, f"{count} of the {name}s, likelier for the {which} input"
    law = _band_law(*looks[0][1:], share) if banded else None
    if law is not None:
        steep = max(steep, law.rho_bounds[0])
        if (bound := law.epsilon_bounds(delta=chance)[0] if chance else 0.0) > best:
            best, event = bound, "bands around the laws of both outputs"
    return Audit(
        claimed,
        best,
        event,
        draws,
        confidence,
        float(chance),
        claimed_rho,
        steep,
        law,
        _at_best(draws - draws // 2, risk, float(chance)),
    )


def _stated(
    mechanism: Auditable | tuple[Outputs, Outputs], epsilon: Value | None, delta: Fraction, rho: Value | None
) -> tuple[float, float]:
    """The stated epsilon and rho, checked: as given, or as the mechanism says; inf where nothing is stated."""
    if isinstance(mechanism, type):
        raise BadType(f"mechanism ({mechanism.__name__}) is a class: give one with its parameters")
    if not isinstance(mechanism, tuple) and not hasattr(mechanism, "neighbouring_outputs"):
        raise BadType(f"mechanism ({thing(mechanism)}) must be one that can be run, or two functions")
    if isinstance(mechanism, tuple):
        if epsilon is None and rho is None:
            raise BadType("give the stated epsilon of the two functions, or their stated rho")
    else:
        if epsilon is None:
            epsilon = mechanism.epsilon_at(delta=delta) if delta else mechanism.pure_epsilon
        if rho is None and delta:
            rho = mechanism.rho
    return _number(epsilon, "epsilon"), _number(rho, "rho")


def _number(stated: Value | None, name: str) -> float:
    """What is stated as a float, rounded up; inf where nothing is, or nothing finite."""
    if stated is None or stated == inf:
        return inf
    return float_above(positive_rational(stated, name))


def _epsilon(p: float, q: float, delta: Fraction) -> float:
    """log((p - delta)/q), rounded down; 0 where that is not positive."""
    if not Fraction(p) > delta:
        return 0.0
    return max(0.0, at_precision(64, lambda: below(((arb(p) - lift(delta)) / arb(q)).log())))


def _at_best(trials: int, risk: float, delta: float) -> float:
    """What an event shows that comes in all trials of one input and in none of the other: p^n = risk/2, q = 1 - p."""
    size = log(2 / risk) / trials
    return max(log((exp(-size) - delta) / -expm1(-size)), 0.0) if exp(-size) > delta else 0.0


def _rho(p: float, q: float) -> float:
    """A lower bound on rho of laws that give an event at least p and at most q."""
    if not q < p:
        return 0.0
    low, high = Fraction(p), min(Fraction(q), Fraction(1))
    return LossPair([low, 1 - low], [high, 1 - high]).rho_bounds[0] if low < 1 else 0.0


def _band_law(first: NDArray[Any], second: NDArray[Any], risk: float) -> LossPair | None:
    """A pair of laws below the two outputs, which fails with probability at most `risk`; None if it is no pair at all.

    The first half sorts outputs into classes and these by the ratio of their counts; by the second half all unions of
    classes from the top have P at least its share less e, and Q at most its share plus e, e = sqrt(log(2/risk)/(2n)).
    """
    import numpy as np

    ours, theirs, codes = _classes(first, second)
    ranked = np.argsort(-(ours + 0.5) / (theirs + 0.5), kind="stable")
    shares = []
    for coded, sign in zip(codes, (-1, 1), strict=True):
        counts = np.bincount(coded, minlength=ours.size)[ranked]
        margin = sign * Fraction(_half_width(int(coded.size), risk))
        shares.append([Fraction(int(one), int(coded.size)) + margin for one in np.cumsum(counts)])
    points = [(q, p) for p, q in zip(*shares, strict=True) if q < p and q < 1 and p > 0]
    if not points:
        return None
    edges = hull(points)
    return LossPair([dy for dy, _ in edges], [dx for _, dx in edges], ordered=True)


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


def _half_width(trials: int, risk: float) -> float:
    """sqrt(log(2/risk)/(2 trials)), rounded up: half of a band that fails, on either side of two, with this risk."""
    return at_precision(64, lambda: above(((arb(2) / arb(risk)).log() / (2 * trials)).sqrt()))


def _classes(outputs: NDArray[Any], others: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], list[NDArray[Any]]]:
    """Counts of both first halves in classes that they decide, and the classes of both second halves."""
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
    return ours, theirs, [outputs[half:], others[other_half:]]


def _bound(
    outputs: NDArray[Any], others: NDArray[Any], risk: float, delta: Fraction = Fraction(0)
) -> tuple[float, tuple[float, float, int]]:
    """A lower bound on epsilon that fails with probability at most `risk`, and its event: p, q, number of classes."""
    import numpy as np

    ours, theirs, (held, other) = _classes(outputs, others)
    ranked = np.argsort(-(ours + 0.5) / (theirs + 0.5))
    # the event is the set of highest-ranked classes with the best ratio of approximate (heuristic) interval ends
    z = sqrt(2 * log(1 / risk))
    a, b = np.cumsum(ours[ranked]), np.cumsum(theirs[ranked])
    gain = np.maximum(a - z * np.sqrt(a) - float(delta) * ours.sum(), 1e-9) / (b + z * np.sqrt(b) + z * z)
    count = int(np.argmax(gain)) + 1
    event = np.zeros(ours.size, dtype=bool)
    event[ranked[:count]] = True
    p, q = _ends(int(event[held].sum()), held.size, int(event[other].sum()), other.size, risk)
    return _epsilon(p, q, delta), (p, q, count)


def _ends(hits: int, trials: int, others: int, other_trials: int, risk: float) -> tuple[float, float]:
    """Confidence bounds p, from below, and q, from above, that fail with probability at most `risk` together."""
    p = _at_least(hits, trials, risk / 2)
    return p, nextafter(1 - _at_least(other_trials - others, other_trials, risk / 2), inf)


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
