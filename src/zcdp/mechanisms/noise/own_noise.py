"""Continuous noise whose density you write: `Noise`, and what all noise that is known by its density has in common.

The density is a formula in x, of which no constant needs to be known: it is integrated. Positivity, the tails and that
there is one mode are proven by balls, or stated by whoever writes the density and then printed as assumptions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from math import ceil, inf, log2
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise.additive import Accuracy, AddsReals, noise_accuracy
from zcdp.mechanisms.sensitivity import L0LInf, Sensitivity
from zcdp.mechanisms.three_point_loss import three_point_cumulant
from zcdp.numeric.balls import (
    NotCertified,
    Undecided,
    above,
    at_precision,
    below,
    enclose,
    lift,
    upper_float,
    working_bits,
)
from zcdp.numeric.density import Density, FormulaDensity, Stated
from zcdp.numeric.exact import Exact, Value, integer, literal, positive_rational, probability, rational
from zcdp.numeric.formula import read, trace
from zcdp.numeric.functions import Number
from zcdp.numeric.supremum import Convex, Supremum
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import SECOND, within
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.density_cumulant import ShiftCumulant, steepest
from zcdp.privacy.envelope import max_ball, real_s
from zcdp.privacy.loss import Claim
from zcdp.privacy.loss.density_law import DensityLaw, ShiftedDensity, Support, coarser_law, lattice_law_below
from zcdp.text.suggestions import thing

if TYPE_CHECKING:
    from zcdp.samplers.density_noise import DensityNoiseOnGrid

__all__ = ["DensityNoise", "Noise"]

RHO_BITS, RHO_TOLERANCE, BELOW_ORDER = 80, 1e-10, 8
TIGHT = 1e-6  # of two ends of rho that are so close, relatively, either is rho
LOOSE_TOLERANCE = 1e-4  # where the peak over orders is too flat to be found more closely
RHO_WORK = 30 * SECOND  # for a search over all orders; what takes more has a bound, or is refused
NEAR_LIMIT = 0.02  # how far above the limit of high orders a bound on rho lies where slopes jump
BOUND_BITS, RDP_BITS = 96, 128
UNSTATED = "no upper end of the slope of log f is stated for the tails"
UNKNOWN = "no bound on rho is known for several modes and such slopes: if it is a mixture, write it as a Mixture"
SHIFT_CELLS, SHIFT_POINTS = 16, 48  # cells of shifts, and lattice points, where the density has several modes
WITNESS_POINTS = 48
HALF_WIDTH_STEPS = 60
DEFAULT_START = 1000  # widths of the density from which on a stated tail holds, if nothing is said


class DensityNoise(AddsReals, Mechanism):
    """Independent noise of a density that is known by certified integration; a subclass says which density.

    For one mode the largest shift is the worst one; else all shifts are searched. A vector of answers is taken under
    `L0LInf` only. Theorems: docs/theorems/own-noise.md, docs/theorems/shift.md.
    """

    theorem: ClassVar[str] = "own-noise"
    budget = None
    is_envelope = True
    curve_of_pair = True
    is_integrated = True
    sensitivity: Fraction | L0LInf

    @property
    def support(self) -> Support:
        """Where the noise ends, if it does."""
        return Support()

    @abstractmethod
    def _make(self) -> Density:
        """The density, up to a constant."""

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorem pages: also the one on shifts."""
        return (self.theorem, "shift")

    def _set_sensitivity(self, given: Value | L0LInf) -> None:
        if isinstance(given, Sensitivity):
            if not isinstance(given, L0LInf):
                raise BadValue(
                    f"sensitivity ({given}) must be a number or L0LInf: no worst spread over answers is known"
                )
            self._set(sensitivity=given)
        else:
            self._set(sensitivity=positive_rational(given, "sensitivity"))

    @cached_property
    def _density(self) -> Density:
        return self._make()

    @property
    def _step(self) -> Fraction:
        """By how much one coordinate moves at most."""
        return self.sensitivity.c if isinstance(self.sensitivity, L0LInf) else self.sensitivity

    @property
    def _many(self) -> int:
        """How many coordinates move."""
        return self.sensitivity.m if isinstance(self.sensitivity, L0LInf) else 1

    @property
    def is_unimodal(self) -> bool:
        """Whether the density rises to one place and falls from there, as proven or stated."""
        return self._density.is_unimodal

    @cached_property
    def _pairs(self) -> tuple[ShiftedDensity, ...]:
        """The pair of the largest shift, and the reversed one if that has another law."""
        pair = ShiftedDensity(self._density, self._step, self.support)
        return (pair,) if pair.is_symmetric else (pair, pair.reversed())

    @cached_property
    def _cumulants(self) -> tuple[ShiftCumulant, ...]:
        return tuple(map(ShiftCumulant, self._pairs))

    # rho and Renyi divergences.

    @cached_property
    def infinite_because(self) -> str:
        """Why rho is infinite; empty if it is finite."""
        low, high = self.support
        if low is not None or high is not None:
            ends = " and ".join(literal(end).strip("'") for end in (low, high) if end is not None)
            return f"the noise ends at {ends}: beyond, an output gives the input away"
        tails = [self._density.tail(side) for side in (-1, 1)]
        for tail in tails:
            if tail.power > 1:
                return "the density falls faster than that of any Gaussian noise"
            if not tail.most.is_finite():
                return UNSTATED
        if not self.is_unimodal and self._bend is None and self._steepest == inf:
            return UNKNOWN
        return ""

    @property
    def unbounded(self) -> bool:
        return self.support != Support() or self.infinite_because in (UNSTATED, UNKNOWN)

    @property
    def is_tight(self) -> bool:
        if not self.is_unimodal or self.unbounded:
            return self.is_unimodal
        try:
            lower, upper = self.rho_bounds
        except NotCertified:
            return False
        return lower == inf or upper - lower <= TIGHT * upper

    @property
    def largest_loss(self) -> Exact | None:
        if self.pure_epsilon == inf:
            return None
        raise AttributeError("the largest loss of noise of this density has no closed form: see pure_epsilon")

    @cached_property
    def pure_epsilon(self) -> float:
        """The least float epsilon for which pure epsilon-DP is certified; inf if there is none."""
        largest = self._largest_of_one
        return largest if self._many == 1 or largest == inf else upper_float(lambda: self._many * arb(largest))

    @cached_property
    def _largest_of_one(self) -> float:
        """The same for one coordinate."""
        if self.unbounded:
            return inf
        if self.is_unimodal:
            return max(cumulant.largest[1] for cumulant in self._cumulants)
        return self._steepest

    @cached_property
    def _steepest(self) -> float:
        """The steepest slope of log f anywhere, times the shift."""
        return at_precision(BOUND_BITS, self._steepest_loss)

    def _steepest_loss(self) -> float:
        density, most = self._density, arb(0)
        for side in (-1, 1):
            tail = density.tail(side)
            if tail.power > 0:
                return inf
            most = most.max(tail.most * tail.growth(tail.start))
        ends = (-density.tail(-1).start).lower().floor(), density.tail(1).start.upper().ceil()
        for a, b in density._shells(*ends):
            size = (b - a) / 8
            for n in range(8):
                most = most.max(abs(density.slope((a + n * size).union(a + (n + 1) * size))).upper())
        return above(lift(self._step) * most) if most.is_finite() else inf

    def loss_ball(self) -> arb:
        return arb(self.pure_epsilon)

    @cached_property
    def _bend(self) -> arb | None:
        """M with V'' <= M everywhere: rho is at most M D^2/2 for every shift up to D, of any density."""
        return self._density.steepest_bend()

    def cumulant(self, s: Number) -> Number:
        excess = real_s(s)
        if self.unbounded:
            return arb.pos_inf()  # type: ignore[return-value]
        if self.is_unimodal:
            bits = min(working_bits(), RDP_BITS)  # integrals of more digits take longer, and nobody needs them
            own = at_precision(bits, lambda: max_ball([cumulant.value(excess) for cumulant in self._cumulants]))
        else:
            own = self._cumulant_of_bounds(excess)
        return self._many * own  # type: ignore[return-value]

    def _cumulant_of_bounds(self, s: arb) -> arb:
        """For several modes: the bound by the largest loss, or by the steepest change of the slope."""
        bounds = []
        if (one := self._largest_of_one) < inf:
            bounds.append(three_point_cumulant(s, arb(one), arb(2)))
        if self._bend is not None:
            bounds.append(s * (1 + s) * self._bend * lift(self._step) ** 2 / 2)
        if not bounds:
            raise NotCertified("no bound on the Renyi curve is known for a density of several modes and such tails")
        return bounds[0] if len(bounds) == 1 else bounds[0].min(bounds[1])

    def kl(self) -> arb:
        if self.unbounded:
            return arb.pos_inf()
        if self.is_unimodal:
            return self._many * max_ball([cumulant.kl() for cumulant in self._cumulants])
        slightly = arb(2) ** -40
        return self._many * self._cumulant_of_bounds(slightly) / slightly

    def convexes(self) -> Sequence[Convex]:
        if not self.is_unimodal or self.pure_epsilon == inf:
            raise NotCertified("the search over orders needs a bounded privacy loss, of one mode")
        found, many = [cumulant.convex() for cumulant in self._cumulants], self._many
        if many == 1:
            return found
        return [Convex(one.value, many * one.kl, many * one.largest, parts=((one, many),)) for one in found]

    @cached_property
    def supremum(self) -> Supremum:
        """Certified bounds on rho of one coordinate, by a search over all orders."""
        if self.infinite_because in (UNSTATED, UNKNOWN):
            return Supremum(self._known_of_rho(), inf, 0, 0.0)
        if self.infinite_because:
            return Supremum(inf, inf, 0, inf)
        small = max(log2(self._density.width) - log2(self._step), 0)  # the cumulant is as small as the shift squared
        return at_precision(RHO_BITS + 2 * ceil(small), self._searched)

    def _known_of_rho(self) -> float:
        """A lower end of rho where no bound above it is known: the divergence of order 1, or 0."""
        try:
            return max(at_precision(BOUND_BITS, lambda: [below(one.kl()) for one in self._cumulants]))
        except (NotCertified, Undecided):
            return 0.0

    def _searched(self) -> Supremum:
        most = None if self._bend is None else self._bend * lift(self._step) ** 2 / 2
        if not self.is_unimodal:
            return self._unsearched(most)
        if most is not None and self.pure_epsilon == inf:
            # Tails like a Gaussian's: the bound is that of the limit of high orders, and nearly so of lower ones.
            ratios = [
                (below(c.value(s) / (s * (1 + s))), s) for c in self._cumulants for s in map(arb, (1, BELOW_ORDER))
            ]
            lower, point = max(ratios, key=lambda one: one[0])
            lower = max(lower, *(below(cumulant.kl()) for cumulant in self._cumulants))
            try:
                own = within(RHO_WORK, lambda: steepest(self._cumulants, RHO_TOLERANCE), apart=True)
            except NotCertified:
                return Supremum(min(lower, above(most)), above(most), 0, float(point))
            return own if own.upper <= above(most) else own._replace(upper=above(most))
        for tolerance in (RHO_TOLERANCE, LOOSE_TOLERANCE):
            try:
                return within(RHO_WORK, partial(steepest, self._cumulants, tolerance), apart=True)
            except (NotCertified, Undecided):
                if self.pure_epsilon == inf:
                    break
        else:
            return self._unsearched(most)
        # Nothing below the limit of high orders can be proven: that is the bound, or a little more.
        limit = at_precision(BOUND_BITS, lambda: max_ball([cumulant.limit() for cumulant in self._cumulants]))
        return within(RHO_WORK, lambda: steepest(self._cumulants, NEAR_LIMIT, limit.upper()), apart=True)

    def _unsearched(self, most: arb | None) -> Supremum:
        """Bounds on rho by the largest loss and the largest slope of the slope of log f; from below by order 1."""
        bounds = [] if most is None else [above(most)]
        if (one := self._largest_of_one) < inf:
            bounds.append(above(arb(one) * (arb(one) / 2).tanh()))
        return Supremum(self._known_of_rho(), min(bounds, default=inf), 0, 0.0)

    def search_rho(self, tolerance: float = 1e-10) -> tuple[float, float]:
        del tolerance
        return self._peak_bounds

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        lower, upper = self.supremum[:2]
        if self._many == 1 or upper == inf:
            return lower, min(upper, self.pure_epsilon)
        return tuple(enclose(lambda one=one: self._many * arb(one))[n] for n, one in enumerate((lower, upper)))  # type: ignore[return-value,misc]

    def _quick(self, order: float) -> float | None:
        del order
        return None

    @cached_property
    def rho_bounds(self) -> tuple[float, float]:
        """Certified floats (lower, upper) around the tight zCDP parameter."""
        return self._peak_bounds

    def peak(self) -> Peak:
        raise NotCertified("the peak of noise of any density is searched, see `supremum`")

    @cached_property
    def rho_order(self) -> float:
        """The order alpha at which the search found D(alpha)/alpha to be largest; 1.0 means in the limit alpha -> 1."""
        return 1 + self.supremum.point

    # The privacy profile.

    @property
    def coordinates(self) -> tuple[tuple[Curve, int], ...]:
        if not isinstance(self.sensitivity, L0LInf):
            return ((self, 1),)
        return ((self._at(self._step), self._many),)

    def _at(self, sensitivity: Fraction) -> Self:
        """The same noise for another sensitivity."""
        named = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "sensitivity"}
        kind: Any = type(self)
        made: Self = kind(**{**named, "sensitivity": sensitivity})
        made.__dict__["_density"] = self._density
        return made

    def pair(self) -> Claim | None:
        return self._claim

    @cached_property
    def _claim(self) -> Claim:
        if self.is_unimodal:
            law = DensityLaw.of(self._pairs, exact=True)
            under = lattice_law_below(law) or coarser_law(self._worse, WITNESS_POINTS)
            return Claim(law, lower=Claim.laws(under), lower_alone=Claim.laws(law))
        count = SHIFT_CELLS
        radius = self._step / (2 * count)
        centres = [radius * (2 * n + 1) for n in range(count)]
        pair = self._pairs[0]
        cells = [replace(pair, shift=centre, radius=radius) for centre in centres]
        if len(self._pairs) > 1:
            cells += [replace(pair, shift=-centre, radius=radius) for centre in centres]
        law = DensityLaw.of(cells, points=SHIFT_POINTS, exact=False)
        some = [coarser_law(replace(pair, shift=self._step * n / 4), WITNESS_POINTS) for n in (4, 3, 2)]
        return Claim(law, lower=Claim.laws(*some))

    @property
    def _worse(self) -> ShiftedDensity:
        """The direction with the larger divergence of order 1, for lower ends."""
        if len(self._pairs) == 1 or self.unbounded:
            return self._pairs[0]
        kls = at_precision(BOUND_BITS, lambda: [float(cumulant.kl().mid()) for cumulant in self._cumulants])
        return self._pairs[0] if kls[0] >= kls[1] else self._pairs[1]

    def group(self, size: Value) -> Self:
        """Inputs at a distance of `size` neighbours: the same noise, and that many times the sensitivity."""
        steps = integer(size, "size", 1)
        if isinstance(self.sensitivity, L0LInf):
            if steps == 1:
                return self
            raise BadValue(f"sensitivity ({self.sensitivity}) has no multiple for a group: state that of the group")
        return self._at(self._step * steps)

    # Accuracy and draws.

    @property
    def _spread(self) -> float:
        return self._density.width

    @cached_property
    def variance(self) -> float:
        """The mean square of the noise, its distance from 0, rounded up; inf if it has none."""
        square = at_precision(BOUND_BITS, self._second_moment)
        return above(square) if square.is_finite() else inf

    def _second_moment(self) -> arb:
        pair = self._pairs[0]
        low, high = self.support
        return (
            self._density.mean_square(None if low is None else lift(low), None if high is None else lift(high))
            / pair.whole()
        )

    @property
    def relative_error(self) -> float | None:
        """The root of the mean square of the noise divided by the largest change of one answer."""
        return upper_float(lambda: arb(self.variance).sqrt() / lift(self._step)) if self.variance < inf else inf

    def accuracy(self, level: Value = Fraction(19, 20), *, answers: int = 1) -> Accuracy:
        """Root mean square of the noise, inf if it has none, and the half-width of an interval that holds the truth."""
        if self.variance < inf:
            return noise_accuracy(self, level, answers=answers)
        chance, many = probability(level, "level"), integer(answers, "answers", 1)

        def miss() -> arb:
            return lift(1 - chance) if many == 1 else -(lift(chance).log() / many).expm1()

        return Accuracy(inf, self._half_width(miss), float(chance), many)

    def _quantile(self, miss: arb) -> arb:
        del miss
        raise NotCertified("the quantile of noise of any density is searched in floats")

    def _half_width(self, miss: Callable[[], arb]) -> float:
        """The least h, up to a relative 2^-40, at which |noise| exceeds h with a probability of at most `miss`."""
        pair = self._pairs[0]

        def fits(h: float) -> bool:
            place = Fraction(h)
            return bool(pair.outside(-1, -place) + pair.outside(1, place) <= miss())

        def search() -> float:
            low, high = 0.0, self._density.width
            while not fits(high):
                low, high = high, 2 * high
            for _ in range(HALF_WIDTH_STEPS):
                if high - low <= high * 2.0**-40:
                    break
                middle = (low + high) / 2
                low, high = (low, middle) if fits(middle) else (middle, high)
            return high

        return at_precision(BOUND_BITS, search)

    def noise(self, grid: Fraction) -> DensityNoiseOnGrid:
        from zcdp.samplers.density_noise import DensityNoiseOnGrid

        return DensityNoiseOnGrid(self._pairs[0], grid)


@dataclass(frozen=True, init=False, repr=False)
class Noise(DensityNoise):
    """Noise of the density that you write, up to a constant, as a formula in x: `Noise("(1 + x^2/12)^-2")`.

    The formula may use + - * / ^, exp, log, sqrt, abs, min, max, cosh, tanh, atan, erf and pi; numbers in it are exact.
    In Python it may also be a function, `Noise(lambda x: (1 + x**2 / 12) ** -2)`, which is called once with a symbol.
    The density is integrated, so that no constant is needed, and checked: it is positive, falls far out, has one mode.

    What the form of the formula does not show must be stated. `tail`: ["power", a, b, x] says that beyond |x| = x the
    slope of -log f times |x| lies between a and b, ["exponential", a, b, x] that the slope itself does; without b
    nothing bounds the loss, and only (epsilon, delta) is answered. `unimodal=True` says that there is one mode. Both
    are `assumptions`, printed with every guarantee. Theorems: docs/theorems/own-noise.md, docs/theorems/shift.md.

    >>> student = Noise("(1 + x^2/12)^-2")
    >>> student.rho_bounds
    (0.0820549009..., 0.0820549009...)
    >>> student.epsilon_bounds(delta=1e-6), student.pure_epsilon
    ((0.5752092034752..., 0.5752092034752...), 0.57536414490...)
    >>> (100 * student).epsilon_at(delta=1e-6)
    25.9398786710...
    """

    density: str
    """The formula, as it is read: with its constants worked out."""
    sensitivity: Fraction | L0LInf = Fraction(1)
    tail: tuple[object, ...] | None = None
    """What is stated of both tails, if the formula does not show it: the kind, and two or three numbers."""
    unimodal: bool = False
    """Whether it is stated, not proven, that the density has one mode."""

    def __init__(
        self,
        density: str | Callable[[Any], Any],
        *,
        sensitivity: Value | L0LInf = 1,
        tail: Sequence[object] | None = None,
        unimodal: bool = False,
    ) -> None:
        if isinstance(density, str):
            formula = read(density)
        elif callable(density):
            formula = trace(density)
        else:
            raise BadType(f"density ({thing(density)}) must be text such as 'exp(-abs(x))', or a function of x")
        self._set_sensitivity(sensitivity)
        if not isinstance(unimodal, bool):
            raise BadType(f"unimodal ({thing(unimodal)}) must be True or False")
        stated = None if tail is None else _stated(tail)
        self._set(density=str(formula), tail=stated, unimodal=unimodal)
        made = self._density
        made.probe()
        made.tail(-1), made.tail(1)
        made.check()
        if made.stated is not None:
            made.test_tails()
        self._set(unimodal=unimodal and not made.is_unimodal)
        if self.unimodal:
            made.test_mode()

    def _make(self) -> Density:
        formula = read(self.density)
        if self.tail is None:
            return FormulaDensity(formula)
        kind, least, *others = self.tail
        most, start = (others[0] if others else None), (others[1] if len(others) > 1 else None)
        if start is None:
            bare = FormulaDensity(formula)
            start = Fraction(ceil(abs(bare.mode_near) + DEFAULT_START * bare.width))
        return FormulaDensity(formula, Stated(str(kind), least, most, start))  # type: ignore[arg-type]

    @property
    def is_unimodal(self) -> bool:
        return self.unimodal or self._density.is_unimodal

    @property
    def assumptions(self) -> tuple[str, ...]:
        found = [] if self._density.stated is None else [str(self._density.stated)]
        return (*found, *(["the density has one mode"] if self.unimodal else []))

    def __repr__(self) -> str:
        told = [repr(self.density)]
        if self.sensitivity != 1:
            given = self.sensitivity
            told.append(f"sensitivity={literal(given) if isinstance(given, Fraction) else repr(given)}")
        if self.tail is not None:
            shown = (repr(one) if isinstance(one, str) or one is None else literal(one) for one in self.tail)  # type: ignore[arg-type]
            told.append(f"tail=[{', '.join(shown)}]")
        if self.unimodal:
            told.append("unimodal=True")
        return f"Noise({', '.join(told)})"


def _stated(tail: Sequence[object]) -> tuple[object, ...]:
    """The parts of `tail`, checked: a kind, the least and the largest slope, and from where on they hold."""
    rule = "must be ['power', a, b, x] or ['exponential', a, b, x]; b and x may be left out"
    if isinstance(tail, str) or not isinstance(tail, Sequence) or not 2 <= len(tail) <= 4:
        raise BadValue(f"tail ({thing(tail)}) {rule}")
    kind, *numbers = tail
    if kind not in ("power", "exponential"):
        raise BadValue(f"tail ({kind!r}) {rule}")
    exact = [None if one is None else rational(one, "tail") for one in numbers]  # type: ignore[arg-type]
    least = exact[0]
    if least is None or least <= (1 if kind == "power" else 0):
        raise BadValue(f"tail: a ({numbers[0]}) must be above {1 if kind == 'power' else 0}, or no integral is finite")
    if len(exact) > 1 and exact[1] is not None and exact[1] < least:
        raise BadValue(f"tail: b ({numbers[1]}) must be at least a ({numbers[0]})")
    if len(exact) > 2 and exact[2] is not None and exact[2] <= 0:
        raise BadValue(f"tail: x ({numbers[2]}) must be positive")
    return (kind, *exact)
