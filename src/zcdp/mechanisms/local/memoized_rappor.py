"""RAPPOR with memory (Erlingsson, Pihur and Korolova 2014): permanent noise, and fresh noise in every collection.

A client draws a noisy one-hot vector once, remembers it, and reports it through fresh noise each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb, ctx

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.local.local_randomizer import FractionOrBall
from zcdp.mechanisms.local.unary_encoding import ReportsBits
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Log, Value, integer, probability
from zcdp.numeric.supremum import Convex
from zcdp.numeric.threads import cached_property
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair
from zcdp.privacy.loss import Claim, LossLaw, finite_law

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.support import Support

__all__ = ["MemoizedRAPPOR"]


MOST_COLLECTIONS = 1000
KEPT_PRECISIONS = 4
"""Once pairs are cached at more precisions than this, the cache is emptied."""
MOST_EXACT_COLLECTIONS, MOST_EXACT_BITS = 31, 4_000
"""Most collections whose loss law keeps all its atoms (about a thousand), and most bits of the exact masses."""


def _bits(p: Fraction, q: Fraction) -> int:
    """The bit length of the common denominator of the probabilities of one collection."""
    return (p.denominator * q.denominator).bit_length()


@dataclass(frozen=True)
class _Two(FinitePair):
    """The product of two independent pairs: losses, and so cumulants, add up."""

    other: FinitePair

    def value(self, s: arb) -> arb:
        return super().value(s) + self.other.value(s)

    def taylor(self, s: arb) -> tuple[arb, arb, arb]:
        one, other = super().taylor(s), self.other.taylor(s)
        return one[0] + other[0], one[1] + other[1], one[2] + other[2]

    def kl(self) -> arb:
        return super().kl() + self.other.kl()

    def largest(self) -> arb:
        return super().largest() + self.other.largest()

    def convex(self) -> Convex:
        return Convex(self.value, self.kl(), self.largest(), self.taylor)


def _two_bits(laws: Sequence[tuple[Fraction, Fraction]]) -> LossLaw:
    """The loss law of two different values: their one-hot vectors differ in two positions, reported independently.

    `laws` has for each outcome of one position its probability if the bit is true, and if it is false.
    """
    return finite_law([(true * no, false * yes) for true, false in laws for yes, no in laws])


@dataclass(frozen=True, init=False, repr=False)
class MemoizedRAPPOR(ReportsBits, FiniteEnvelope, Mechanism):
    """All `collections` reports of ONE value that does not change; a client whose value changes is not covered.

    Each bit of the one-hot vector is remembered wrongly with probability f/2. A collection reports a remembered 1 as 1
    with probability q, and a remembered 0 as 1 with probability p < q. Theorem: docs/theorems/memoized-rappor.md.

    >>> m = MemoizedRAPPOR(f="1/2", p="1/2", q="3/4", collections=30)
    >>> m.rho
    0.85015564...
    """

    local = True

    theorem: ClassVar[str] = "memoized-rappor"
    budget = None
    f: Fraction
    """Share of permanent noise."""
    p: Fraction
    q: Fraction
    collections: int
    """How often a client reports."""

    def __init__(self, *, f: Value, p: Value, q: Value, collections: Value) -> None:
        low, high = probability(p, "p"), probability(q, "q")
        if low >= high:
            raise BadValue(f"p ({p}) must be below q ({q}): a remembered 1 is reported as 1 more often than a 0")
        rounds = integer(collections, "collections", 1)
        if rounds > MOST_COLLECTIONS:
            raise BadValue(f"collections ({collections}) must be at most {MOST_COLLECTIONS}")
        self._set(f=probability(f, "f"), p=low, q=high, collections=rounds)

    def _masses(self, ones: int, number: Callable[[Fraction], Any] = Fraction) -> tuple[Any, Any]:
        """The probabilities that a true bit, and a false bit, is reported as 1 in exactly `ones` of the collections."""
        zeros, many = self.collections - ones, comb(self.collections, ones)
        p, q, wrong = number(self.p), number(self.q), number(self.f / 2)
        remembered = many * q**ones * (1 - q) ** zeros
        forgotten = many * p**ones * (1 - p) ** zeros
        return (1 - wrong) * remembered + wrong * forgotten, wrong * remembered + (1 - wrong) * forgotten

    @cached_property
    def _laws(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return tuple(map(self._masses, range(self.collections + 1)))

    def pair(self) -> Claim:
        """The exact pair of up to 31 collections; beyond, the dominating pair of the memory itself.

        The reports are noisy copies of the memory, so its pair dominates them. Where p and q have hundreds of digits
        the exact pair is limited to fewer collections. Theorem: docs/theorems/memoized-rappor.md, parts 1 and 4.
        """
        exactly = max(min(MOST_EXACT_COLLECTIONS, MOST_EXACT_BITS // _bits(self.p, self.q)), 1)
        if self.collections <= exactly:
            return Claim.exactly(_two_bits(self._laws))
        fewer = MemoizedRAPPOR(f=self.f, p=self.p, q=self.q, collections=exactly)
        wrong = self.f / 2
        memory = (1 - wrong, wrong), (wrong, 1 - wrong)
        return Claim(_two_bits(memory), lower=fewer.pair().lower)

    @property
    def largest_loss(self) -> Exact:
        if self.collections * _bits(self.p, self.q) > MOST_EXACT_BITS:
            raise AttributeError("the largest loss of so many collections is too long a number: see pure_epsilon")
        return Log(self._largest_ratio(Fraction))

    def _largest_ratio(self, number: Callable[[Fraction], Any]) -> Any:
        (true_0, false_0), (true_1, false_1) = self._masses(0, number), self._masses(self.collections, number)
        return true_1 / false_1 * (false_0 / true_0)

    @cached_property
    def pure_epsilon(self) -> float:
        return enclose(self.loss_ball)[1]

    def loss_ball(self) -> arb:
        value: arb = self._largest_ratio(lift).log()
        return value

    def pairs(self) -> Sequence[FinitePair]:
        """The worst pair as balls, cached for each working precision: every order that is evaluated needs it."""
        kept, bits = self._kept, ctx.prec
        if bits not in kept:
            if len(kept) > KEPT_PRECISIONS:
                kept.clear()
            kept[bits] = self._pairs()
        return kept[bits]

    @cached_property
    def _kept(self) -> dict[int, Sequence[FinitePair]]:
        return {}

    def _pairs(self) -> Sequence[FinitePair]:
        laws = [self._masses(ones, lift) for ones in range(self.collections + 1)]  # balls: fractions would be too long
        true, false = [one for one, _ in laws], [one for _, one in laws]
        loss = [(one / other).log() for one, other in laws]
        return [_Two(true, loss, FinitePair(false, [-one for one in loss]))]

    def _bits(self) -> tuple[arb, arb]:
        p, q, _ = self._exact_support
        return lift(p), lift(q)

    @property
    def _exact_support(self) -> tuple[Fraction, Fraction, Fraction]:
        wrong = self.f / 2
        p, q = (1 - wrong) * self.q + wrong * self.p, wrong * self.q + (1 - wrong) * self.p
        return p, q, p * q

    @cached_property
    def support(self) -> Support:
        """The support probabilities p, q, b of one collection, which is a unary encoding."""
        from zcdp.estimation.support import Support

        exact = self._exact_support
        return Support(lambda: (lift(exact[0]), lift(exact[1]), lift(exact[2])), exact)

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:  # noqa: ARG002 - f, p and q are given
        raise BadType("memoized RAPPOR is given by its f, p and q")

    def remember(self, values: ArrayLike, *, d: Value) -> Any:
        """Permanent vectors of d bits, packed: draw them ONCE for each client, and keep them as secret as the value."""
        from zcdp.samplers.reports import UnaryReports
        from zcdp.samplers.run_samplers import each

        size, wrong = integer(d, "d", 2), self.f / 2
        memory = UnaryReports(lambda: lift(1 - wrong), lambda: lift(wrong))
        return each(lambda v: memory.report_one(v, size), lambda v: memory.report(v, size), values, size)

    def release(self, memory: ArrayLike, *, d: Value) -> Any:
        """The reports of one collection, packed, from the permanent vectors that `remember` drew."""
        import numpy as np

        from zcdp.samplers.reports import noisy_bits

        size = integer(d, "d", 2)
        rows = np.asarray(memory)
        if rows.dtype != np.uint8 or rows.ndim == 0 or rows.shape[-1] != (size + 7) // 8:
            raise BadValue(f"memory must be rows of {(size + 7) // 8} bytes, as `remember` gives them")
        return noisy_bits(rows, lambda: lift(self.q), lambda: lift(self.p), size)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        def outputs(value: int) -> NDArray[Any]:
            memory = self.remember(np.full(size, value), d=2)
            return np.concatenate([self.release(memory, d=2) for _ in range(self.collections)], axis=1)

        return outputs(0), outputs(1)
