"""A symmetric law of atoms on a lattice, most of them next to each other and a few far out.

It is made of chords of a profile between points whose losses are multiples of one number (profile_law.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from zcdp.numeric.balls import NotCertified, above, at_precision, below, ceiling, lift, root_below, trusted
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss.decay import Share, WaveShare
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.law import LossLaw, Outcomes
from zcdp.privacy.loss.transform import Factor, Polynomial, Taylor, Tilted

__all__ = ["LatticeRow"]

WAVE_DISTANCES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # of atoms whose pairs bound the decay of the transform
RATIO_BITS = 1000  # after the point, of the rational ratios P/Q that stand for this law where it is sampled
POWERS_AS_COSTLY_AS_REST = 16  # so many atoms take as long to add up as everything else in one evaluation of M


@dataclass(frozen=True, eq=False)
class LatticeRow(LossLaw):
    """The law with Q-mass q_k at the loss k h and P-mass q_k at -k h, k > 0; the rest of both has the loss 0.

    So the P-mass at k h is q_k e^{kh}, the law is symmetric, and all of its mass is there, whatever the q_k are, if
    that rest is not negative. Theorem: docs/theorems/grid.md.
    """

    step: Fraction
    """h."""
    masses: Mapping[int, Fraction]
    """q_k by k."""

    def coefficients(self) -> dict[int, arb]:
        """The square roots of P-mass times Q-mass by k, for k >= 0, at the working precision."""
        last = self.__dict__.get("_kept")
        if last is None or last[0] != ctx.prec:
            half, rest, found = lift(self.step) / 2, arb(1), {}
            for k, mass in self.masses.items():
                grown = (half * k).exp()
                found[k] = lift(mass) * grown
                rest -= lift(mass) * (1 + grown * grown)
            found[0] = rest
            last = self.__dict__["_kept"] = ctx.prec, found
        kept: dict[int, arb] = last[1]
        return kept

    def ready(self) -> Factor:
        """The transform of one use, with constants at the working precision."""
        return _LatticeFactor(lift(self.step), self.coefficients())

    def largest(self) -> arb:
        """The largest loss, at the working precision."""
        return lift(self.step) * max(self.masses)

    def lattice(self) -> Lattice:
        """The multiples of h."""
        return Lattice(self.step * max(self.masses), self.step)

    def _looks_symmetric(self) -> bool:
        return True

    @property
    def few(self) -> bool:
        """Whether `outcomes` lists this law's own outcomes, all of them."""
        return True

    def outcomes(self, *, inward: bool = False) -> Outcomes:  # noqa: ARG002
        """P- and Q-masses of all atoms, the largest loss first, as balls."""
        step, found = lift(self.step), self.coefficients()
        halves = {k: (step * k / 2).exp() for k in found if k}
        up = [(found[k] * halves[k], found[k] / halves[k]) for k in sorted(halves, reverse=True)]
        return Outcomes([*up, (found[0], found[0]), *((q, p) for p, q in reversed(up))])

    def sampled(self, rate: Fraction) -> LossLaw:
        """A law that dominates that of ((1-q) Q + q P, Q), Poisson sampling at rate q."""
        return self.source.sampled(rate)

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """A law that dominates the envelope of ((1-q) Q + q P, Q) in both directions, q the rate."""
        return self.source.replaced(rate)

    @cached_property
    def source(self) -> FiniteLaw:
        """A law of rational masses that dominates this one: losses above 0 are rounded up, and 0 keeps the rest."""

        def rounded() -> list[tuple[Fraction, Fraction]]:
            step = lift(self.step)
            up = [(Fraction(ceiling((step * k).exp() * 2**RATIO_BITS), 2**RATIO_BITS), q) for k, q in self._positive()]
            rest = 1 - sum((q * (1 + g) for g, q in up), Fraction(0))
            if rest < 0:
                raise NotCertified("the losses of a law on a lattice cannot be rounded up")
            return [*((g, q * g) for g, q in up), (Fraction(1), rest), *((1 / g, q) for g, q in reversed(up))]

        return FiniteLaw(tuple(at_precision(2 * RATIO_BITS, rounded)), Fraction(0), Fraction(0))

    def _positive(self) -> list[tuple[int, Fraction]]:
        return [(k, mass) for k, mass in sorted(self.masses.items(), reverse=True) if mass]


class _LatticeFactor(Factor):
    """The transform of a `LatticeRow`: with w = z + 1/2 and t = e^{hw}, c_0 + sum of c_k (t^k + t^-k)."""

    atomic = True

    def __init__(self, step: arb, found: dict[int, arb]) -> None:
        self.step, self.revealed, self.middle = step, arb(0), found[0]
        near = 0
        while near + 1 in found:
            near += 1
        self.near = [found[k] for k in range(1, near + 1)]
        self.far = sorted((k, c) for k, c in found.items() if k > near)
        self.last = self.far[-1][0] if self.far else near
        self.weight = 1 + (len(self.near) + 4 * len(self.far)) / POWERS_AS_COSTLY_AS_REST

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        return self.once(z, z + arb(1) / 2, None)

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """M(z), for a caller that has w = z + 1/2 at hand."""
        total: Any = w * 0 + self.middle
        for base in ((w * self.step).exp(), (w * -self.step).exp()):
            inner: Any = w * 0
            for coefficient in reversed(self.near):
                inner = (inner + coefficient) * base
            total = total + inner
            for k, coefficient in self.far:
                total = total + base**k * coefficient
        return total

    def _tilted(self, c: arb, moment: arb) -> dict[int, arb]:
        """The tilted mass of each atom, by its place on the lattice."""
        x, pairs = (c + arb(1) / 2) * self.step, [*enumerate(self.near, 1), *self.far]
        found = {0: self.middle / moment}
        for k, coefficient in pairs:
            grown = (x * k).exp()
            found[k], found[-k] = coefficient * grown / moment, coefficient / grown / moment
        return found

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        masses, waves = self._tilted(c, taylor.moment), []
        for distance in WAVE_DISTANCES:
            pairs = [masses[k] * masses[k + distance] for k in masses if k + distance in masses]
            if (weight := below(2 * sum(pairs, arb(0)))) > 0:
                waves.append((weight, trusted(self.step * distance / (2 * arb.pi()))))
        return WaveShare(
            count,
            root_below(taylor.variance),
            tuple(waves),
            near_end=below(arb.pi() / (2 * self.last * self.step)),
            atoms=above(sum(masses.values(), arb(0))),
        )

    def tilted(self, c: arb) -> Tilted:
        """The tilted law as finitely many terms, for the contour integral in doubles."""
        top, masses = self.step * self.last, self._tilted(c, self.moment(c))
        places = sorted(masses, reverse=True)
        polynomials = [Polynomial([[masses[k]]], arb(0), self.step * (self.last - k)) for k in places]
        return Tilted(polynomials, top, arb(0))

    def near_top(self, s: arb) -> tuple[arb, arb]:  # noqa: ARG002
        """Lower bounds on P(L = largest) and on P(L >= largest - s)."""
        last = self.far[-1][1] if self.far else self.near[-1]
        return last * (self.step * self.last / 2).exp(), arb(0)
