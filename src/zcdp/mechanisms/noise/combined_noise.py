"""Noise made from noise: `Truncated` to an interval, and `Mixture`, drawn from several kinds at random."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.noise.own_noise import DensityNoise
from zcdp.mechanisms.sensitivity import L0LInf
from zcdp.numeric.density import Density, MixtureDensity
from zcdp.numeric.exact import Value, literal, positive_rational, rational
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss.density_law import Support
from zcdp.text.suggestions import thing

__all__ = ["Mixture", "Truncated"]

MOST_PARTS = 20
ROUNDING = Fraction(1, 10**12)  # by so much the sum of probabilities that are floats may miss 1
KINDS = (
    "noise that is known by its density: StudentT, GeneralizedGaussian(power=1, ...) for Laplace and power=2 for "
    "Gaussian noise, or Noise('...')"
)


@dataclass(frozen=True, init=False, repr=False)
class Truncated(DensityNoise):
    """Other noise, given that it falls between `low` and `high`: drawn again until it does.

    Outputs near the ends give the input away: rho is infinite, and (epsilon, delta) is answered. (To clamp *outputs* to
    a range is something else, and costs nothing.) The sensitivity is that of the noise inside, unless it is given.
    Theorem: docs/theorems/own-noise.md.

    >>> from zcdp import StudentT
    >>> near = Truncated(StudentT(degrees=3, scale=2), low=-40, high=40)
    >>> near.rho, near.infinite_because
    (inf, 'the noise ends at -40 and 40: beyond, an output gives the input away')
    >>> near.delta_at(epsilon=1)
    1.0714096318841...e-05
    """

    noise_inside: DensityNoise
    """The noise that is cut off."""
    low: Fraction | None = None
    """Where the noise begins; None if it has no least value."""
    high: Fraction | None = None
    """Where the noise ends; None if it has no largest value."""
    sensitivity: Fraction | L0LInf = Fraction(1)

    def __init__(
        self,
        noise_inside: DensityNoise,
        *,
        low: Value | None = None,
        high: Value | None = None,
        sensitivity: Value | L0LInf | None = None,
    ) -> None:
        if not isinstance(noise_inside, DensityNoise) or isinstance(noise_inside, Truncated):
            raise BadType(f"noise_inside ({thing(noise_inside)}) must be {KINDS}")
        ends = [None if end is None else rational(end, name) for end, name in ((low, "low"), (high, "high"))]
        if ends == [None, None]:
            raise BadType("give low, high, or both: where the noise ends")
        if ends[0] is not None and ends[1] is not None and not ends[0] < ends[1]:
            raise BadValue(f"low ({low}) must be below high ({high})")
        self._set(noise_inside=noise_inside, low=ends[0], high=ends[1])
        self._set_sensitivity(noise_inside.sensitivity if sensitivity is None else sensitivity)
        if not noise_inside.is_unimodal:
            raise BadValue(f"noise_inside ({noise_inside!r}) must have one mode")

    def _make(self) -> Density:
        return self.noise_inside._density

    @property
    def support(self) -> Support:
        """Where the noise ends."""
        return Support(self.low, self.high)

    @property
    def is_unimodal(self) -> bool:
        return self.noise_inside.is_unimodal

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self.noise_inside.assumptions

    def __repr__(self) -> str:
        ends = [f"{name}={literal(end)}" for name, end in (("low", self.low), ("high", self.high)) if end is not None]
        if self.sensitivity != self.noise_inside.sensitivity:
            ends.append(_sensitivity(self.sensitivity))
        return f"Truncated({', '.join([repr(self.noise_inside), *ends])})"


@dataclass(frozen=True, init=False, repr=False)
class Mixture(DensityNoise):
    """Noise that is drawn from one of several kinds, by the given probabilities: `Mixture([[0.9, one], [0.1, other]])`.

    It must stay secret which one was drawn. Each kind is divided by its own integral. Probabilities add up to 1; whole
    numbers are weights, which are divided by their sum. The sensitivity is that of all kinds, unless it is given. With
    several modes all shifts are searched, and `rho` is an upper bound. Theorem: docs/theorems/own-noise.md.

    >>> from zcdp import GeneralizedGaussian
    >>> Mixture([[9, GeneralizedGaussian(power=1, scale=2)], [1, GeneralizedGaussian(power=1, scale=5)]]).rho
    0.09443489815...
    """

    parts_inside: tuple[tuple[Fraction, DensityNoise], ...]
    """Pairs of a probability and a kind of noise."""
    sensitivity: Fraction | L0LInf = Fraction(1)

    def __init__(self, parts_inside: Iterable[Sequence[object]], *, sensitivity: Value | L0LInf | None = None) -> None:
        if isinstance(parts_inside, str) or not isinstance(parts_inside, Iterable):
            raise BadType(f"parts_inside ({thing(parts_inside)}) must be a list of pairs of a probability and a noise")
        found: list[tuple[Fraction, DensityNoise]] = []
        for n, pair in enumerate(parts_inside):
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise BadType(f"parts_inside[{n}] ({thing(pair)}) must be a pair of a probability and a noise")
            weight, noise = pair
            if not isinstance(noise, DensityNoise) or noise.support != Support():
                raise BadType(f"parts_inside[{n}] ({thing(noise)}) must be {KINDS}, without ends")
            found.append((positive_rational(weight, "weight"), noise))  # type: ignore[arg-type]
        if not 1 <= len(found) <= MOST_PARTS:
            raise BadValue(f"parts_inside must be 1 to {MOST_PARTS} kinds of noise, not {len(found)}")
        whole = sum((weight for weight, _ in found), Fraction(0))
        if any(weight.denominator > 1 for weight, _ in found) and abs(whole - 1) > ROUNDING:
            raise BadValue(f"parts_inside: probabilities must add up to 1, not {float(whole):.12g}")
        self._set(parts_inside=tuple((weight / whole, noise) for weight, noise in found))
        if sensitivity is None and len({noise.sensitivity for _, noise in found}) > 1:
            raise BadValue("parts_inside have different sensitivities: give the sensitivity of the mixture")
        self._set_sensitivity(found[0][1].sensitivity if sensitivity is None else sensitivity)
        made = self._density
        made.tail(-1), made.tail(1)
        made.check()

    def _make(self) -> Density:
        return MixtureDensity([(weight, noise._density) for weight, noise in self.parts_inside])

    @cached_property
    def _common_mode(self) -> bool:
        """Whether all kinds rise to one common place and fall from there: so does the mixture."""
        places = {noise._density.symmetric_about for _, noise in self.parts_inside}
        return len(places) == 1 and None not in places and all(noise.is_unimodal for _, noise in self.parts_inside)

    @property
    def is_unimodal(self) -> bool:
        return self._common_mode or self._density.is_unimodal

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for _, noise in self.parts_inside for one in noise.assumptions))

    def __repr__(self) -> str:
        pairs = ", ".join(f"[{literal(weight)}, {noise!r}]" for weight, noise in self.parts_inside)
        own = "" if self.sensitivity == self.parts_inside[0][1].sensitivity else f", {_sensitivity(self.sensitivity)}"
        return f"Mixture([{pairs}]{own})"


def _sensitivity(given: Fraction | L0LInf) -> str:
    return f"sensitivity={literal(given) if isinstance(given, Fraction) else repr(given)}"
