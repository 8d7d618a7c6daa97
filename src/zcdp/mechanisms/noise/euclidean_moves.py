"""Laplace, logistic and discrete Laplace noise under a bound on the Euclidean length of the move: dominating pairs.

One move has the largest cumulant, but no single move has the largest profile at every epsilon; so the pairs here
dominate all moves. Theorem: docs/theorems/vector-queries.md, 4 to 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import comb, isqrt

from flint import arb, arb_poly

from zcdp.numeric.balls import enclose, lift, working_bits
from zcdp.numeric.exact import Exact, Log
from zcdp.numeric.functions import exp, expm1
from zcdp.privacy.loss import Claim, LossLaw, discrete_laplace_claim, gaussian_pair
from zcdp.privacy.loss.exponential_law import MirroredSum, Terms
from zcdp.privacy.loss.law import Parts

__all__ = ["real_moves_pair", "whole_moves_pair"]


ONE_PARTITION = 3  # Integer moves whose squares add up to at most 3 are by 1 only: there is one partition into squares.
MOST_SQUARES = 100  # 100 has 1116 partitions into squares, which take half a second.


def real_moves_pair(epsilon: Exact, one: Callable[[Exact], LossLaw], *, eighths: int) -> Claim:
    """The Gaussian pair mu^2 = pi epsilon^2 eighths/8, which dominates real moves of at most epsilon scales in length.

    `eighths` is 4 for Laplace noise and 1 for logistic noise, `one` makes the law of one coordinate. For lower bounds
    there are two pairs of actual neighbours: one coordinate moves by the whole length, or 16 by a quarter of it.
    Theorems: docs/theorems/vector-queries.md, docs/theorems/logistic-vectors.md.
    """
    rational = _not_above(epsilon, 1)
    above = gaussian_pair(lambda: eighths * arb.pi() / 8 * lift(epsilon) ** 2)
    longest, quarter = (one(move) for move in (rational, rational / 4))
    return Claim(above, lower=(((longest, 1),), ((quarter, 16),)))


def whole_moves_pair(epsilon: Exact, squares: int) -> Claim:
    """A pair that dominates integer moves whose squares add up to at most `squares`, under discrete Laplace noise.

    The rate of the noise is t = epsilon/squares. If `squares` is at most 100, the profile of the pair is at the points
    e^{tj} the largest of all partitions into squares, and linear between them. Else it is the Gaussian pair
    mu = 2 Phi^{-1}(1/(1+e^-t)) sqrt(squares).
    """
    if squares <= ONE_PARTITION:
        return Claim.exactly(_moves_by_one(epsilon, squares))
    known: dict[int, Terms] = {}

    def terms() -> Terms:
        if (found := known.get(bits := working_bits())) is None:
            found = known[bits] = _greatest(lift(epsilon) / squares, squares)
        return found

    def curvature() -> arb:
        half = lift(epsilon) / (2 * squares)
        # Phi^{-1}(1/(1+e^-t)) = sqrt(2) erfinv(tanh(t/2))
        return 8 * squares * half.tanh().erfinv() ** 2

    few = squares <= MOST_SQUARES
    above: LossLaw = MirroredSum(epsilon, terms, Fraction(1, squares)) if few else gaussian_pair(curvature)
    return Claim(above, lower=tuple(_neighbours(_not_above(epsilon, squares), squares)))


def _not_above(epsilon: Exact, parts: int) -> Fraction:
    """epsilon/parts, or a float just below it if epsilon is a logarithm; a smaller rate has a smaller profile."""
    if isinstance(epsilon, Log):
        return Fraction(enclose(lambda: lift(epsilon) / parts)[0])
    return epsilon / parts


def _moves_by_one(epsilon: Exact, squares: int) -> LossLaw:
    """The exact law of `squares` coordinates that move by 1: binomial, with losses epsilon (1 - 2k/squares)."""

    def terms() -> Terms:
        edge = 1 / (2 * (lift(epsilon) / (2 * squares)).cosh()) ** squares
        return [[comb(squares, k) * edge] for k in range(squares + 1)]

    at = partial(_moves_by_one, squares=squares)
    return MirroredSum(epsilon, terms, Fraction(2, squares), at)


def greedy(squares: int, largest: int) -> list[tuple[int, int]]:
    """Numbers of moves, each with its length, whose squares add up to `squares`: always the longest up to `largest`.

    >>> greedy(6, 2), greedy(23, 3)
    ([(1, 2), (2, 1)], [(2, 3), (1, 2), (1, 1)])
    """
    found: list[tuple[int, int]] = []
    while squares:
        largest = min(largest, isqrt(squares))
        count, squares = divmod(squares, largest**2)
        found.append((count, largest))
    return found


def _neighbours(rate: Fraction, squares: int) -> Iterator[Parts]:
    """Lower bounds: some partitions into squares, each with the largest profile at some epsilon.

    Each is the greedy one with some largest move.
    """
    root = isqrt(squares)
    for largest in sorted({root, max(root - 1, 1), (root + 1) // 2, 1}, reverse=True):
        # A long move is enclosed by two Laplace pairs, of which the lower one counts.
        each = ((discrete_laplace_claim(rate * move, move).lower[0], count) for count, move in greedy(squares, largest))
        yield tuple((law, count) for ((law, _),), count in each)


def _greatest(t: arb, squares: int) -> Terms:
    """The coefficients of a law on the losses tj, |j| <= squares: its profile at e^{tj} is the largest of all moves."""
    points = [exp(t * j) for j in range(squares + 1)]
    gaps = [points[j] * expm1(t) for j in range(squares)]
    falls = [exp(-t * j / 2) for j in range(squares + 1)]
    best = [arb(0)] * (squares + 1)
    for law in _partitions(t, squares):
        # Coefficient k belongs to the loss t(top - 2k); its Q-mass is the coefficient times e^{-loss/2}.
        top = law.degree()
        beyond = value = arb(0)
        for j in range(top - 1, -1, -1):
            if (top - j) % 2:
                beyond += law[(top - j - 1) // 2] * falls[j + 1]
            value += gaps[j] * beyond
            best[j] = best[j].max(value)
    # slopes of the profile between e^{tj} and e^{t(j+1)}; the change of slope at e^{tj} is the Q-mass of the loss tj
    slopes = [(best[j] - best[j + 1]) / gaps[j] for j in range(squares)]
    half = [slopes[-1] / falls[squares]]
    half.extend((slopes[j - 1] - slopes[j]) / falls[j] for j in range(squares - 1, 0, -1))
    before = (-expm1(-t) + exp(-t) * best[1] - best[0]) / -expm1(-t)
    return [[mass] for mass in (*half, before - slopes[0], *reversed(half))]


def _partitions(t: arb, squares: int) -> Iterator[arb_poly]:
    """The laws of all integer moves whose squares add up to `squares`.

    Each is the polynomial of the coefficients c_k of e^{t(d-2k)w} in its transform, d the sum of the moves.
    """
    side = 1 / (2 * (t / 2).cosh())
    ones = [arb_poly([1])]
    for _ in range(squares):
        ones.append(ones[-1] * arb_poly([side, side]))
    moves: dict[int, arb_poly] = {}
    for d in range(2, isqrt(squares) + 1):
        edge = exp(-t * d / 2) / (1 + exp(-t))
        moves[d] = arb_poly([edge, *[-expm1(-t) * edge] * (d - 1), edge])

    def extend(law: arb_poly, rest: int, largest: int) -> Iterator[arb_poly]:
        for part in range(min(largest, isqrt(rest)), 1, -1):
            yield from extend(law * moves[part], rest - part * part, part)
        yield law * ones[rest]

    return extend(arb_poly([1]), squares, isqrt(squares))
