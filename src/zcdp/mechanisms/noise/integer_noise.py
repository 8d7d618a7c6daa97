"""Integer noise of any masses: a table of them, and on request geometric tails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise.additive import AddsIntegers
from zcdp.mechanisms.sensitivity import L0LInf, Sensitivity
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Log, Value, integer, literal, rational, times
from zcdp.numeric.functions import Number
from zcdp.numeric.supremum import Convex
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair
from zcdp.privacy.loss import Claim, envelope_of_rows
from zcdp.text.suggestions import thing

if TYPE_CHECKING:
    from zcdp.samplers.integer_table import TableNoise

__all__ = ["IntegerNoise"]

MOST_MASSES = 100_000  # of a table
MOST_SEARCHED = 1_000_000  # masses of all shifts together from which pairs are made
Masses = tuple[Fraction, ...]


@dataclass(frozen=True, init=False, repr=False)
class IntegerNoise(AddsIntegers, FiniteEnvelope, Mechanism):
    """Noise on the integers whose masses you write: `pmf` is a table from `start` on, or a mapping from each integer.

    Only the ratios of the masses count: they are divided by their exact sum. With `tails` the masses go on beyond the
    table on both sides, each `tails` times the one before it, so that every integer is possible. Without them the noise
    ends: some outcomes give the input away, rho is infinite, and only (epsilon, delta) is answered.

    If the masses rise to one place and fall from there, the largest shift is the worst one (docs/theorems/shift.md);
    otherwise all shifts up to the sensitivity are searched, and the answer is the envelope of them. All of it is exact.
    Theorem: docs/theorems/integer-noise.md.

    >>> noise = IntegerNoise([1, 2, 1], start=-1, tails="1/2")
    >>> noise == IntegerNoise({-1: 1, 0: 2, 1: 1}, tails="1/2"), noise.rho, noise.pure_epsilon
    (True, 0.231049060..., 0.6931471805599454)
    >>> from math import comb
    >>> ends = IntegerNoise([comb(200, k) for k in range(201)], start=-100)
    >>> ends.rho, ends.infinite_because
    (inf, 'the noise ends at -100 and 100')
    >>> ends.epsilon_at(delta=1e-6)
    0.58732531...
    """

    theorem: ClassVar[str] = "integer-noise"
    budget = None

    pmf: Masses
    """The masses of the integers from `start` on, up to a common factor."""
    start: int = 0
    """The integer that the first mass belongs to."""
    tails: Fraction | None = None
    """The ratio by which masses fall from step to step beyond both ends of the table; None: there are none beyond."""
    sensitivity: int | L0LInf = 1

    def __init__(
        self,
        pmf: Mapping[int, Value] | Iterable[Value],
        *,
        start: Value | None = None,
        tails: Value | None = None,
        sensitivity: Value | L0LInf = 1,
    ) -> None:
        first, masses = _table(pmf, start)
        ratio = None if tails is None else rational(tails, "tails")
        if ratio is not None and not 0 < ratio < 1:
            raise BadValue(f"tails ({tails}) must lie strictly between 0 and 1: the ratio from one mass to the next")
        if isinstance(sensitivity, Sensitivity):
            if not isinstance(sensitivity, L0LInf):
                raise BadValue(f"sensitivity ({sensitivity}) must be a number or L0LInf: no worst spread is known")
            bound: int | L0LInf = sensitivity.whole()
        else:
            bound = integer(sensitivity, "sensitivity", 1)
        self._set(pmf=masses, start=first, tails=ratio, sensitivity=bound)
        if not self.is_unimodal and self._step * (len(masses) + self._step) > MOST_SEARCHED:
            raise BadValue(
                f"sensitivity ({self._step}) gives too many shifts to search: the masses rise again after they fell"
            )

    def __repr__(self) -> str:
        told = [f"[{', '.join(map(literal, self.pmf))}]", f"start={self.start}"]
        if self.tails is not None:
            told.append(f"tails={literal(self.tails)}")
        if self.sensitivity != 1:
            told.append(f"sensitivity={self.sensitivity!r}")
        return f"IntegerNoise({', '.join(told)})"

    @property
    def _step(self) -> int:
        """By how much one coordinate moves at most."""
        return int(self.sensitivity.c) if isinstance(self.sensitivity, L0LInf) else self.sensitivity

    @property
    def _many(self) -> int:
        """How many coordinates move."""
        return self.sensitivity.m if isinstance(self.sensitivity, L0LInf) else 1

    @property
    def is_unimodal(self) -> bool:
        """Whether the masses rise to one place and fall from there, decided exactly; the largest shift is worst then.

        Equal neighbours are allowed.
        """
        falls = False
        for before, after in zip(self.pmf, self.pmf[1:], strict=False):
            if after > before and falls:
                return False
            falls = falls or after < before
        return True

    @property
    def unbounded(self) -> bool:
        return self.tails is None or not all(self.pmf)

    @property
    def infinite_because(self) -> str:
        """Why rho is infinite; empty if it is finite."""
        if self.tails is None:
            return f"the noise ends at {self.start} and {self.start + len(self.pmf) - 1}"
        gaps = [self.start + n for n, mass in enumerate(self.pmf) if not mass]
        return f"the noise is never {gaps[0]}, which lies between values that it has" if gaps else ""

    def _at(self, k: int) -> Fraction:
        """The mass of an integer, not normalised."""
        n = k - self.start
        if 0 <= n < len(self.pmf):
            return self.pmf[n]
        if self.tails is None:
            return Fraction(0)
        return self.pmf[0] * self.tails**-n if n < 0 else self.pmf[-1] * self.tails ** (n - len(self.pmf) + 1)

    @cached_property
    def _whole(self) -> Fraction:
        """The sum of all masses as they are given."""
        beyond = Fraction(0) if self.tails is None else self.tails / (1 - self.tails) * (self.pmf[0] + self.pmf[-1])
        return sum(self.pmf, beyond)

    def _moved(self, shift: int) -> tuple[Masses, Masses]:
        """The masses of all outputs on an input and on one that is larger by `shift`.

        Beyond the tables of both the ratio of the two is constant: each tail is one outcome.
        """
        first, last = self.start, self.start + len(self.pmf) - 1
        if self.tails is None:
            inside, tails = range(first, last + shift + 1), []
        else:
            inside, r = range(first + 1, last + shift), self.tails
            tails = [
                (self.pmf[0] / (1 - r), self.pmf[0] * r**shift / (1 - r)),
                (self.pmf[-1] * r**shift / (1 - r), self.pmf[-1] / (1 - r)),
            ]
        pairs = [*tails, *((self._at(k), self._at(k - shift)) for k in inside)]
        p, q = zip(*((a / self._whole, b / self._whole) for a, b in pairs if a or b), strict=True)
        return p, q

    @cached_property
    def _rows(self) -> list[tuple[Masses, Masses]]:
        """The pair of the largest shift, or if the masses rise and fall more than once those of all shifts."""
        shifts = [self._step] if self.is_unimodal else range(1, self._step + 1)
        return [self._moved(shift) for shift in shifts]

    @property
    def largest_loss(self) -> Exact | None:
        if self.unbounded:
            return None
        ratio = max(max(a / b, b / a) for p, q in self._rows for a, b in zip(p, q, strict=True))
        return times(self._many, Log(ratio)) if ratio > 1 else Fraction(0)

    def pairs(self) -> Sequence[FinitePair]:
        return [FinitePair(*_balls(p, q)) for p, q in (*self._rows, *((q, p) for p, q in self._rows))]

    def cumulant(self, s: Number) -> Number:
        return self._many * super().cumulant(s)

    def kl(self) -> arb:
        return self._many * super().kl()

    def loss_ball(self) -> arb:
        return self._many * super().loss_ball()

    def convexes(self) -> Sequence[Convex]:
        return [_repeated(one, self._many) for one in super().convexes()]

    @property
    def coordinates(self) -> tuple[tuple[Curve, int], ...]:
        if not isinstance(self.sensitivity, L0LInf):
            return ((self, 1),)
        return ((IntegerNoise(self.pmf, start=self.start, tails=self.tails, sensitivity=self._step), self._many),)

    def pair(self) -> Claim | None:
        """The pair of the largest shift, or the envelope of all shifts."""
        if isinstance(self.sensitivity, L0LInf):
            return super().pair()
        found = envelope_of_rows(self._rows, coarser=Curve.pair(self))
        return found or Curve.pair(self)

    def group(self, size: Value) -> IntegerNoise:
        """Inputs at a distance of `size` neighbours: the same noise, and that many times the sensitivity."""
        steps = integer(size, "size", 1)
        if isinstance(self.sensitivity, L0LInf) and steps > 1:
            raise BadValue(f"sensitivity ({self.sensitivity}) has no multiple for a group: state that of the group")
        return IntegerNoise(self.pmf, start=self.start, tails=self.tails, sensitivity=self._step * steps)

    @property
    def variance(self) -> float:
        """The mean square of the noise, its distance from 0, rounded up; the variance if its mean is 0."""
        return enclose(self._second_moment)[1]

    def _second_moment(self) -> arb:
        return lift(self._mean_square)

    @cached_property
    def _mean_square(self) -> Fraction:
        total = sum((mass * (self.start + n) ** 2 for n, mass in enumerate(self.pmf)), Fraction(0))
        if (r := self.tails) is not None:
            # sums of r^j, j r^j and j^2 r^j over j >= 1, for the outcomes at a distance j from an end
            zeroth, first, second = r / (1 - r), r / (1 - r) ** 2, r * (1 + r) / (1 - r) ** 3
            ends = (self.pmf[0], -self.start), (self.pmf[-1], self.start + len(self.pmf) - 1)
            total += sum(mass * (x * x * zeroth + 2 * x * first + second) for mass, x in ends)
        return total / self._whole

    def _outside(self, h: int) -> arb:
        ends = (self.pmf[::-1], -self.start - len(self.pmf) + 1), (self.pmf, self.start)
        return sum((self._beyond(masses, start, h) for masses, start in ends), arb(0)) / lift(self._whole)

    def _beyond(self, masses: Masses, start: int, h: int) -> arb:
        """The weight of all integers above h >= 0, of these masses from `start` on and their tails."""
        last, r = start + len(masses) - 1, self.tails or Fraction(0)
        if h >= last:
            return lift(masses[-1] * r / (1 - r)) * lift(r) ** (h - last) if r else arb(0)
        if h >= start - 1:
            return lift(sum(masses[h + 1 - start :], masses[-1] * r / (1 - r)))
        return lift(self._whole) - (lift(masses[0] * r / (1 - r)) * lift(r) ** (start - 1 - h) if r else 0)

    def noise(self) -> TableNoise:
        from zcdp.samplers.integer_table import TableNoise

        return TableNoise(self.pmf, self.start, self.tails or Fraction(0))


def _table(pmf: Mapping[int, Value] | Iterable[Value], start: Value | None) -> tuple[int, Masses]:
    """Where the table begins, and its masses without zeros at the ends; `BadValue` for what is no list of masses."""
    if isinstance(pmf, Mapping):
        if start is not None:
            raise BadValue(f"start ({start}) is for a list: the keys of a mapping `pmf` say which integers they are")
        keyed = {_whole_number(key): value for key, value in pmf.items()}
        if not keyed:
            raise BadValue("pmf must hold at least one mass")
        first = min(keyed)
        if max(keyed) - first >= MOST_MASSES:
            raise BadValue(f"pmf must span at most {MOST_MASSES} integers, not {max(keyed) - first + 1}")
        values: list[Value] = [keyed.get(k, 0) for k in range(first, max(keyed) + 1)]
    elif isinstance(pmf, Iterable) and not isinstance(pmf, str):
        first = 0 if start is None else _whole_number(start)
        values = pmf.tolist() if hasattr(pmf, "tolist") else list(pmf)
    else:
        raise BadType(f"pmf ({thing(pmf)}) must be a list of masses, or a mapping from integers to them")
    if len(values) > MOST_MASSES:
        raise BadValue(f"pmf must hold at most {MOST_MASSES} masses, not {len(values)}")
    masses = [rational(value, f"pmf[{n}]") for n, value in enumerate(values)]
    for n, mass in enumerate(masses):
        if mass < 0:
            raise BadValue(f"pmf[{n}] ({values[n]}) must not be negative")
    has = [n for n, mass in enumerate(masses) if mass]
    if not has:
        raise BadValue("pmf must have a mass above 0")
    return first + has[0], tuple(masses[has[0] : has[-1] + 1])


def _whole_number(value: Value) -> int:
    number = rational(value, "start")
    if number.denominator != 1:
        raise BadValue(f"start ({value}) must be a whole number")
    return number.numerator


def _balls(p: Masses, q: Masses) -> tuple[list[arb], list[arb]]:
    """The P-masses and the losses of the outcomes that P has."""
    kept = [(lift(a), lift(Log(a / b)) if a != b else arb(0)) for a, b in zip(p, q, strict=True) if a and b]
    return [mass for mass, _ in kept], [loss for _, loss in kept]


def _repeated(one: Convex, many: int) -> Convex:
    """The cumulant of so many independent coordinates."""
    return (
        one
        if many == 1
        else Convex(lambda s: many * one.value(s), many * one.kl, many * one.largest, parts=((one, many),))
    )
