"""Laws of finitely many losses: atoms at any places, in one order or in both."""

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
from zcdp.privacy.loss.expansion import Expansion, FreeAtoms
from zcdp.privacy.loss.exponential_law import ROWS, ExponentialSum, ExponentialSumFactor, Terms
from zcdp.privacy.loss.hull import Atom, both_directions, hull, prefixes
from zcdp.privacy.loss.law import Game, LossLaw, Outcomes
from zcdp.privacy.loss.transform import Factor, Polynomial, Taylor, Tilted
from zcdp.privacy.relation import Relation

__all__ = ["FiniteLaw", "envelope_of_atoms", "finite_law", "mixed"]


MOST_ATOMS = 400  # of an envelope
LONGEST_ROW = 64  # points of a lattice onto which atoms are put
WAVES = 4  # the likeliest atoms, of which the bound on the decay takes all pairs


def finite_law(atoms: Sequence[Atom], **options: Any) -> LossLaw:
    """The law of the loss of a pair on finitely many outcomes, given by their P- and Q-masses, in this order.

    Outcomes that only one of the two can produce are among them. Where all losses are whole multiples of one number it
    is a sum of exponentials at equal distances, which more engines can use. `options` are those of `LossLaw`.
    """
    merged: dict[Fraction, Fraction] = {}
    revealed = hidden = Fraction(0)
    for p, q in atoms:
        if p and q:
            merged[p / q] = merged.get(p / q, Fraction(0)) + p
        else:
            revealed, hidden = revealed + p, hidden + q
    law = FiniteLaw(tuple(sorted(merged.items(), reverse=True)), revealed, hidden, **options)
    return law._as_row() or law


def mixed(atoms: Sequence[Atom], rate: Fraction) -> list[Atom]:
    """The outcomes of ((1-q) Q + q P, Q) from those of (P, Q): an infinite loss -inf becomes log(1-q)."""
    return [(rate * p + (1 - rate) * q, q) for p, q in atoms]


def envelope_of_atoms(atoms: Sequence[Atom], **options: Any) -> LossLaw | None:
    """The envelope of one pair on finitely many outcomes, given by their P- and Q-masses, in both orders.

    `options` are those of `LossLaw`; it is not taken for exact. Theorem: docs/theorems/envelope.md.
    """
    p, q = zip(*atoms, strict=True)
    edges = hull(both_directions([prefixes(p, q)]))
    return finite_law(edges, **options) if len(edges) <= MOST_ATOMS else None


@dataclass(frozen=True, eq=False)
class FiniteLaw(LossLaw):
    """M(z) = sum of p_k g_k^z over the atoms with finite losses log g_k."""

    masses: tuple[tuple[Fraction, Fraction], ...]
    """g_k and p_k, the largest first."""
    revealed: Fraction
    """P(L = +inf)."""
    hidden: Fraction
    """Q(L = -inf)."""
    rows: Game | None = None
    """The two rows that may face either way, where this is their envelope."""

    def __post_init__(self) -> None:
        both = {
            "P": sum((p for _, p in self.masses), self.revealed),
            "Q": sum((p / g for g, p in self.masses), self.hidden),
        }
        for name, whole in both.items():
            if whole != 1:
                raise BadValue(f"the {name}-masses of a law must sum to 1, not {float(whole)!r}")

    @property
    def atoms(self) -> list[Atom]:
        """P- and Q-masses of all outcomes, infinite losses included, the largest ratio first."""
        finite = [(p, p / g) for g, p in self.masses]
        ends = (self.revealed, Fraction(0)), (Fraction(0), self.hidden)
        return [atom for atom in (ends[0], *finite, ends[1]) if any(atom)]

    @cached_property
    def losses(self) -> list[Exact]:
        """The finite losses."""
        return [Log(g) if g != 1 else Fraction(0) for g, _ in self.masses]

    def ready(self) -> Factor:
        """See `LossLaw`."""
        masses = [lift(p) for _, p in self.masses]
        return _AtomsFactor([lift(loss) for loss in self.losses], masses, lift(self.revealed))

    def largest(self) -> arb:
        """See `LossLaw`; 0 where every outcome gives the input away."""
        return lift(self.losses[0]) if self.losses else arb(0)

    def game(self) -> Game | None:
        """See `LossLaw`."""
        return self.rows

    def expansion(self) -> Expansion:
        """See `LossLaw`."""
        roots = [lift(g).rsqrt() for g, _ in self.masses]
        return FreeAtoms(self.losses, [lift(p) * root for (_, p), root in zip(self.masses, roots, strict=True)])

    def reverse(self) -> LossLaw:
        """Masses change places, and losses their sign."""
        if self.symmetric:
            return self
        options = {"rows": self.rows, "relation": self.relation, "symmetric": False, **self.claims_reversed()}
        return finite_law([(q, p) for p, q in self.atoms], **options)

    @property
    def few(self) -> bool:
        """See `LossLaw`."""
        return True

    def outcomes(self, *, inward: bool = False) -> Outcomes:  # noqa: ARG002
        """See `LossLaw`."""
        return Outcomes([(lift(p), lift(q)) for p, q in self.atoms])

    def sampled(self, rate: Fraction) -> LossLaw:
        """See `LossLaw`; all masses are rational."""
        return finite_law(mixed(self.atoms, rate), symmetric=False, relation=Relation.ADD_REMOVE)

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """See `LossLaw`; all masses are rational."""
        return envelope_of_atoms(mixed(self.atoms, rate))

    def _options(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "exact": self.exact,
            "exact_alone": self.exact_alone,
            "witness_alone": self.witness_alone,
            "witness": self.witness,
            "neighbours": self.neighbours,
            "coarser": self.coarser,
            "relation": self.relation,
            "symmetric": self.symmetric,
        }

    def _looks_symmetric(self) -> bool:
        """Exactly: the mass at -loss is the Q-mass at loss."""
        mirrored = {1 / g: p / g for g, p in self.masses}
        return self.revealed == self.hidden and mirrored == dict(self.masses)

    def _as_row(self) -> LossLaw | None:
        """The same at equal distances, if all losses are multiples of one number, and the row is not long."""
        base = _common_base([g for g, _ in self.masses])
        if base is None:
            return None
        steps = [_power_of(g, base) for g, _ in self.masses]
        if steps[0] <= 0 or steps[0] - steps[-1] >= LONGEST_ROW:
            return None
        options = {name: value for name, value in self._options().items() if name != "rows"}
        row = partial(self._row_terms, steps)
        return RowOfAtoms(Log(base ** steps[0]), row, Fraction(1, steps[0]), source=self, **options)

    def _row_terms(self, steps: list[int]) -> Terms:
        rows = [[arb(0)] for _ in range(steps[0] - steps[-1] + 1)]
        for step, (g, p) in zip(steps, self.masses, strict=True):
            rows[steps[0] - step] = [lift(p) * lift(g).rsqrt()]
        return rows


@dataclass(frozen=True, eq=False)
class RowOfAtoms(ExponentialSum):
    """A finite law on a lattice: the engines take it for a sum of exponentials, and that is what it is."""

    source: FiniteLaw = field(kw_only=True)

    def ready(self) -> ExponentialSumFactor:
        """See `LossLaw`."""
        factor = super().ready()
        factor.revealed = lift(self.source.revealed)
        return factor

    def reverse(self) -> LossLaw:
        """See `LossLaw`."""
        return self if self.symmetric else self.source.reverse()

    def sampled(self, rate: Fraction) -> LossLaw:
        """See `LossLaw`."""
        return self.source.sampled(rate)

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """See `LossLaw`."""
        return self.source.replaced(rate)

    def outcomes(self, *, inward: bool = False) -> Outcomes:
        """See `LossLaw`."""
        return self.source.outcomes(inward=inward)

    def game(self) -> Game | None:
        """See `LossLaw`."""
        return self.source.rows

    def _looks_symmetric(self) -> bool:
        return self.source._looks_symmetric()


class _AtomsFactor(Factor):
    atomic = True

    def __init__(self, losses: list[arb], masses: list[arb], revealed: arb) -> None:
        self.losses, self.masses, self.revealed = losses, masses, revealed
        self.weight = 1 + len(losses) / ROWS * 4  # an exponential for each

    def moment(self, z: Any) -> Any:
        """See `Factor`."""
        total = z * 0  # in the numbers of z, also where every outcome gives the input away
        for loss, mass in zip(self.losses, self.masses, strict=True):
            total = total + (z * loss).exp() * mass
        return total

    def _tilted(self, c: arb, moment: arb) -> list[arb]:
        return [(c * loss).exp() * mass / moment for loss, mass in zip(self.losses, self.masses, strict=True)]

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """See `Factor`."""
        masses = self._tilted(c, taylor.moment)
        likely = sorted(range(len(masses)), key=lambda k: -float(masses[k].mid()))[:WAVES]
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
        """See `Factor`."""
        top = self.losses[0]
        masses = self._tilted(c, self.moment(c))
        polynomials = [Polynomial([[q]], arb(0), top - loss) for q, loss in zip(masses, self.losses, strict=True)]
        polynomials[0] = Polynomial([[masses[0]]], arb(0), arb(0))
        return Tilted(polynomials, top, arb(0))

    def near_top(self, s: arb) -> tuple[arb, arb]:  # noqa: ARG002
        """See `Factor`."""
        return self.masses[0], arb(0)


def _common_base(ratios: list[Fraction]) -> Fraction | None:
    """The number b > 1 of which all ratios are whole powers, the largest such; None where there is none."""
    base = Fraction(1)
    size = max((max(g.numerator, g.denominator) for g in ratios), default=1)
    for ratio in ratios:
        a, b = max(ratio, 1 / ratio), base
        while b != 1:  # Euclid's algorithm with quotients for differences: common powers are never longer
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
    power, inverse = 0, ratio < 1
    rest = 1 / ratio if inverse else ratio
    while rest > 1:
        rest /= base
        power += 1
    return -power if inverse else power
