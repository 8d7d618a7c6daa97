"""Laws with finitely many outcomes of rational masses: a pair in one direction, or the envelope of both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import above, below, lift, root_below, trusted
from zcdp.numeric.exact import Exact, Log
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss.decay import Share, WaveShare
from zcdp.privacy.loss.exponential_law import ROWS_AS_COSTLY_AS_REST, ExponentialSum, ExponentialSumFactor, Terms
from zcdp.privacy.loss.exponential_terms import Expansion, FreeAtoms
from zcdp.privacy.loss.law import Game, LossLaw, Outcomes
from zcdp.privacy.loss.tradeoff_hull import Atom, both_directions, hull, prefixes
from zcdp.privacy.loss.transform import Factor, Polynomial, Taylor, Tilted

__all__ = ["FiniteLaw", "envelope_of_atoms", "finite_law", "mixed"]


MOST_ATOMS = 400  # of an envelope
LONGEST_ROW = 64  # the most lattice points of a law that is stored as a row of equally spaced atoms
WAVE_ATOMS = 4  # The bound on the decay uses all pairs of so many atoms, the likeliest ones.


def finite_law(atoms: Sequence[Atom], rows: Game | None = None) -> LossLaw:
    """The law of a pair on finitely many outcomes, given by their (P-mass, Q-mass).

    The list includes outcomes that only P or only Q can produce. If all losses are integer multiples of one number, the
    result is a sum of equally spaced exponentials, which more engines can use. `rows` are the two distributions of
    which the law is the envelope, if it is one of a single pair.
    """
    merged: dict[Fraction, Fraction] = {}
    revealed = hidden = Fraction(0)
    for p, q in atoms:
        if p and q:
            merged[p / q] = merged.get(p / q, Fraction(0)) + p
        else:
            revealed, hidden = revealed + p, hidden + q
    law = FiniteLaw(tuple(sorted(merged.items(), reverse=True)), revealed, hidden, rows)
    return law._as_row() or law


def mixed(atoms: Sequence[Atom], rate: Fraction) -> list[Atom]:
    """The outcomes of ((1-q) Q + q P, Q) from those of (P, Q), q the rate; a loss of -inf becomes log(1-q)."""
    return [(rate * p + (1 - rate) * q, q) for p, q in atoms]


def envelope_of_atoms(atoms: Sequence[Atom]) -> LossLaw | None:
    """The envelope, over both directions, of a pair on finitely many outcomes given by their (P-mass, Q-mass).

    None if it has too many atoms. Theorem: docs/theorems/envelope.md.
    """
    p, q = zip(*atoms, strict=True)
    edges = hull(both_directions([prefixes(p, q)]))
    return finite_law(edges) if len(edges) <= MOST_ATOMS else None


@dataclass(frozen=True, eq=False)
class FiniteLaw(LossLaw):
    """The law with M(z) = sum of p_k g_k^z over its atoms, of finite losses log g_k and P-masses p_k."""

    masses: tuple[tuple[Fraction, Fraction], ...]
    """The pairs (g_k, p_k), the largest g_k first."""
    revealed: Fraction
    """P(L = +inf)."""
    hidden: Fraction
    """Q(L = -inf)."""
    rows: Game | None = None
    """The two distributions of which this law is the envelope, if it is one of a single pair."""

    def __post_init__(self) -> None:
        both = {
            "P": sum((p for _, p in self.masses), self.revealed),
            "Q": sum((p / g for g, p in self.masses), self.hidden),
        }
        for name, whole in both.items():
            if whole != 1:
                raise BadValue(f"the {name}-masses of a law must sum to 1, not {float(whole)!r}")

    @cached_property
    def symmetric(self) -> bool:
        """Whether the P-mass at -l is the Q-mass at l for every loss l, decided exactly."""
        return self.revealed == self.hidden and {1 / g: p / g for g, p in self.masses} == dict(self.masses)

    @property
    def atoms(self) -> list[Atom]:
        """P- and Q-masses of all outcomes, infinite losses included, the largest ratio first."""
        finite = [(p, p / g) for g, p in self.masses]
        ends = (self.revealed, Fraction(0)), (Fraction(0), self.hidden)
        return [atom for atom in (ends[0], *finite, ends[1]) if any(atom)]

    @cached_property
    def losses(self) -> list[Exact]:
        """The finite losses, the largest first, as exact numbers."""
        return [Log(g) if g != 1 else Fraction(0) for g, _ in self.masses]

    def ready(self) -> Factor:
        """The transform of one use, with constants at the working precision."""
        masses = [lift(p) for _, p in self.masses]
        return _AtomsFactor([lift(loss) for loss in self.losses], masses, lift(self.revealed))

    def largest(self) -> arb:
        """The largest finite loss, at the working precision; 0 if all losses are infinite."""
        return lift(self.losses[0]) if self.losses else arb(0)

    def game(self) -> Game | None:
        """The two rows of which this law is the envelope, for the adaptive engine; None where they are not kept."""
        return self.rows

    def expansion(self) -> Expansion:
        """M(z) as a finite sum of terms C e^{aw} w^{-j}, w = z + 1/2, at the working precision."""
        roots = [lift(g).rsqrt() for g, _ in self.masses]
        return FreeAtoms(self.losses, [lift(p) * root for (_, p), root in zip(self.masses, roots, strict=True)])

    def reverse(self) -> LossLaw:
        """The law of the pair (Q, P): P- and Q-masses change places, losses their signs."""
        return self if self.symmetric else finite_law([(q, p) for p, q in self.atoms])

    @property
    def few(self) -> bool:
        """Whether `outcomes` lists this law's own outcomes, all of them."""
        return True

    def outcomes(self, *, inward: bool = False) -> Outcomes:  # noqa: ARG002
        """The P- and Q-masses of all outcomes, infinite losses included, as balls."""
        return Outcomes([(lift(p), lift(q)) for p, q in self.atoms])

    def sampled(self, rate: Fraction) -> LossLaw:
        """The law of ((1-q) Q + q P, Q), Poisson sampling at rate q, in exact rationals."""
        return finite_law(mixed(self.atoms, rate))

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """The envelope of ((1-q) Q + q P, Q) in both directions, q the rate, in exact rationals; None if it is long."""
        return envelope_of_atoms(mixed(self.atoms, rate))

    def _looks_symmetric(self) -> bool:
        return True

    def _as_row(self) -> LossLaw | None:
        """The law as a row of equally spaced atoms, if all losses are multiples of one number and the row is short."""
        base = _common_base([g for g, _ in self.masses])
        if base is None:
            return None
        steps = [_power_of(g, base) for g, _ in self.masses]
        if steps[0] <= 0 or steps[0] - steps[-1] >= LONGEST_ROW:
            return None
        row = partial(self._row_terms, steps)
        return RowOfAtoms(Log(base ** steps[0]), row, Fraction(1, steps[0]), source=self)

    def _row_terms(self, steps: list[int]) -> Terms:
        rows = [[arb(0)] for _ in range(steps[0] - steps[-1] + 1)]
        for step, (g, p) in zip(steps, self.masses, strict=True):
            rows[steps[0] - step] = [lift(p) * lift(g).rsqrt()]
        return rows


@dataclass(frozen=True, eq=False)
class RowOfAtoms(ExponentialSum):
    """A finite law whose losses lie on a lattice, as a sum of exponentials; `source` is the same law in rationals."""

    source: FiniteLaw = field(kw_only=True)

    def ready(self) -> ExponentialSumFactor:
        """The transform of one use, with constants at the working precision."""
        factor = super().ready()
        factor.revealed = lift(self.source.revealed)
        return factor

    def reverse(self) -> LossLaw:
        """The law of the pair (Q, P)."""
        return self if self.symmetric else self.source.reverse()

    def sampled(self, rate: Fraction) -> LossLaw:
        """The law of ((1-q) Q + q P, Q), q the rate: amplification by Poisson sampling."""
        return self.source.sampled(rate)

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """The envelope of ((1-q) Q + q P, Q) in both directions, q the rate: samples of a fixed size."""
        return self.source.replaced(rate)

    def outcomes(self, *, inward: bool = False) -> Outcomes:
        """The P- and Q-masses of all outcomes, infinite losses included, as balls."""
        return self.source.outcomes(inward=inward)

    def game(self) -> Game | None:
        """The two rows of which this law is the envelope, for the adaptive engine; None where they are not kept."""
        return self.source.rows

    @property
    def symmetric(self) -> bool:
        """Whether the law is that of the reversed pair, decided by its rational masses."""
        return self.source.symmetric

    def _looks_symmetric(self) -> bool:
        return True


class _AtomsFactor(Factor):
    """The transform of a `FiniteLaw`: one exponential for each atom."""

    atomic = True

    def __init__(self, losses: list[arb], masses: list[arb], revealed: arb) -> None:
        self.losses, self.masses, self.revealed = losses, masses, revealed
        self.weight = 1 + len(losses) / ROWS_AS_COSTLY_AS_REST * 4  # one exponential for each atom

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        total = z * 0  # zero of the type of z, also if there are no finite losses
        for loss, mass in zip(self.losses, self.masses, strict=True):
            total = total + (z * loss).exp() * mass
        return total

    def _tilted(self, c: arb, moment: arb) -> list[arb]:
        return [(c * loss).exp() * mass / moment for loss, mass in zip(self.losses, self.masses, strict=True)]

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        masses = self._tilted(c, taylor.moment)
        likely = sorted(range(len(masses)), key=lambda k: -float(masses[k].mid()))[:WAVE_ATOMS]
        waves = []
        for i, j in combinations(sorted(likely), 2):
            if (weight := below(2 * masses[i] * masses[j])) > 0:
                waves.append((weight, trusted((self.losses[i] - self.losses[j]) / (2 * arb.pi()))))
        extent = self.losses[0] - self.losses[-1]
        return WaveShare(
            count,
            root_below(taylor.variance),
            tuple(waves),
            near_end=below(arb.pi() / extent) if extent > 0 else 0.0,
            atoms=above(sum(masses, arb(0))),
        )

    def tilted(self, c: arb) -> Tilted:
        """The tilted law as finitely many terms, for the contour integral in doubles."""
        top = self.losses[0]
        masses = self._tilted(c, self.moment(c))
        polynomials = [Polynomial([[q]], arb(0), top - loss) for q, loss in zip(masses, self.losses, strict=True)]
        polynomials[0] = Polynomial([[masses[0]]], arb(0), arb(0))
        return Tilted(polynomials, top, arb(0))

    def near_top(self, s: arb) -> tuple[arb, arb]:  # noqa: ARG002
        """Lower bounds on P(L = largest) and, for laws without that atom, on P(L >= largest - s)."""
        return self.masses[0], arb(0)


def _common_base(ratios: list[Fraction]) -> Fraction | None:
    """The largest b > 1 such that all ratios are integer powers of b; None if there is none, or it is too small."""
    base = Fraction(1)
    size = max((max(g.numerator, g.denominator) for g in ratios), default=1)
    for ratio in ratios:
        a, b = max(ratio, 1 / ratio), base
        while b != 1:  # Euclid's algorithm with quotients for differences; numbers never grow if there is a common base
            for _ in range(LONGEST_ROW):
                if a < b:
                    break
                a /= b
            else:
                return None
            a, b = b, a
            if max(a.numerator, b.numerator, a.denominator, b.denominator) > size:
                return None
        base = a
    return base if base > 1 else None


def _power_of(ratio: Fraction, base: Fraction) -> int:
    """The integer n with ratio = base^n, which must exist."""
    power, inverse = 0, ratio < 1
    rest = 1 / ratio if inverse else ratio
    while rest > 1:
        rest /= base
        power += 1
    return -power if inverse else power
