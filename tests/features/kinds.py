"""Kinds of law, drawn at random: a mechanism of the library beside the pairs of its neighbours, all masses rational."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import isqrt
from random import Random

from neighbours.moves import squares

import zcdp
from features.exact import Known, Mechanism, Pair, Row, counts
from zcdp import Log

World = Callable[[Random, bool], Mechanism]
"""A mechanism on data sets that is what was stated, of neighbours of which a record is replaced, or not there."""

REACH = 7  # sums of records stay within


@dataclass(frozen=True)
class Drawn:
    """One mechanism of a kind."""

    mechanism: zcdp.Mechanism
    known: Known
    world: World
    clients: int | None = None
    """How many records it runs on, if it says so."""
    values: int = 3
    """How many different records there may be."""
    ordered: bool = False
    far: Known | None = None
    """What data sets tell that are two neighbours apart; None: what neighbours do, as all data sets are."""


KINDS: dict[str, Callable[[Random], Drawn]] = {}


def kind(name: str) -> Callable[[Callable[[Random], Drawn]], Callable[[Random], Drawn]]:
    """Enters a function that draws mechanisms of a kind."""

    def enter(draw: Callable[[Random], Drawn]) -> Callable[[Random], Drawn]:
        KINDS[name] = draw
        return draw

    return enter


def among(rows: Sequence[Row], *, ordered: bool = False) -> World:
    """Any of the rows on any records; `ordered`: the first where one of some records is there, else the second."""

    def world(rng: Random, replaced: bool) -> Mechanism:
        del replaced
        key = rng.getrandbits(64)
        if ordered:
            return lambda records: rows[0 if any(key >> record & 1 for record in records) else 1]
        return lambda records: rows[Random(f"{key} {sorted(records)}").randrange(len(rows))]

    return world


def _row(weights: Sequence[int]) -> Row:
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def _weights(rng: Random, size: int, *, zeros: Sequence[int] = (), most: int = 9) -> Row:
    return _row([0 if n in zeros else rng.randint(1, most) for n in range(size)])


def _pair(p: Row, q: Row, *, ordered: bool) -> Drawn:
    pair = Pair.of(p, q)
    known = Known.ordered([pair]) if ordered else Known.either([pair])
    world = among([p, q], ordered=ordered)
    ratio = max(pair.ratio, pair.turned.ratio)
    far = Known.either([_moved(ratio, [2])], complete=False) if ratio > 1 else known
    return Drawn(zcdp.LossPair(p, q, ordered=ordered), known, world, ordered=ordered, far=far)


def _enter_pairs() -> None:
    def positive(rng: Random) -> tuple[Row, Row]:
        size = rng.randint(2, 4)
        return _weights(rng, size), _weights(rng, size)

    def zero_in_p(rng: Random) -> tuple[Row, Row]:
        size = rng.randint(2, 4)
        return _weights(rng, size, zeros=[rng.randrange(size)]), _weights(rng, size)

    def zero_in_q(rng: Random) -> tuple[Row, Row]:
        q, p = zero_in_p(rng)
        return p, q

    def zeros_in_both(rng: Random) -> tuple[Row, Row]:
        size = rng.randint(3, 4)
        one, other = rng.sample(range(size), 2)
        return _weights(rng, size, zeros=[one]), _weights(rng, size, zeros=[other])

    def textbook(rng: Random) -> tuple[Row, Row]:
        """The worst that is (log E, delta)-private."""
        ratio, delta = rng.randint(2, 5), Fraction(1, rng.choice((3, 20, 100, 10**6)))
        rest = (1 - delta) / (ratio + 1)
        p = (delta, ratio * rest, rest, Fraction(0))
        return p, p[::-1]

    def given_away(rng: Random) -> tuple[Row, Row]:
        """All, or nearly all, of one law is where the other is not."""
        x = Fraction(rng.randint(0, 3), 4)
        return (Fraction(1), Fraction(0)), (x, 1 - x)

    def lattice(rng: Random) -> tuple[Row, Row]:
        weights = [2**n for n in range(rng.randint(2, 4))]
        turned = weights[1:] + weights[:1]
        return _row(rng.sample(weights, len(weights)) if rng.random() < 0.5 else turned), _row(weights)

    def lattice_and_zeros(rng: Random) -> tuple[Row, Row]:
        p, q = lattice(rng)
        share, zero = Fraction(1, rng.randint(2, 50)), Fraction(0)
        more = rng.choice(((share, zero), (zero, share), (share, share)))
        p, q = (tuple((1 - new) * mass for mass in row) for new, row in zip(more, (p, q), strict=True))
        return (*p, more[0], zero), (*q, zero, more[1])

    shapes = (positive, zero_in_p, zero_in_q, zeros_in_both, textbook, given_away, lattice, lattice_and_zeros)
    for shape in shapes:
        for ordered in (False, True):
            name = f"{'ordered ' if ordered else ''}{shape.__name__.replace('_', ' ')}"

            def draw(rng: Random, shape: Callable[[Random], tuple[Row, Row]] = shape, ordered: bool = ordered) -> Drawn:
                return _pair(*shape(rng), ordered=ordered)

            kind(name)(draw)


_enter_pairs()


def _channel(rows: Sequence[Row]) -> Drawn:
    return Drawn(zcdp.Channel(rows), _of_rows(rows), among(rows))


def _of_rows(rows: Sequence[Row]) -> Known:
    return Known.either(Pair.of(one, other) for one, other in permutations(rows, 2) if one != other)


@kind("rows")
def _rows(rng: Random) -> Drawn:
    size = rng.randint(2, 3)
    first = tuple(Fraction(1, size) for _ in range(size))
    return _channel(
        [first, *(_weights(rng, size) for _ in range(rng.randint(1, 2))), _row([10] + [1] * (size - 1))][-3:]
    )


@kind("rows with zeros")
def _rows_with_zeros(rng: Random) -> Drawn:
    size = rng.randint(2, 3)
    first = _weights(rng, size)
    rows = [_weights(rng, size, zeros=rng.sample(range(size), rng.randint(1, size - 1))) for _ in range(2)]
    return _channel([first, *rows])


@kind("response")
def _response(rng: Random) -> Drawn:
    ratio, k = rng.randint(2, 6), rng.randint(2, 4)
    rows = [_row([ratio if n == value else 1 for n in range(k)]) for value in range(k)]
    known = _of_rows(rows[:3])  # two values of the same ones are alike, but for the names of the reports
    return Drawn(zcdp.RandomizedResponse(epsilon=Log(ratio), k=k), known, among(rows))


def _bits(rng: Random, *, ordered: bool) -> Drawn:
    low, high = sorted(rng.sample(range(1, 12), 2))
    p, q = ((Fraction(x, 12), Fraction(12 - x, 12)) for x in (high, low))
    drawn = _pair(p, q, ordered=ordered)
    bits = zcdp.BinaryRandomizedResponse(Fraction(high, 12), Fraction(low, 12), ordered=ordered)
    return Drawn(bits, drawn.known, drawn.world, ordered=ordered)


@kind("bits")
def _either_bits(rng: Random) -> Drawn:
    return _bits(rng, ordered=False)


@kind("ordered bits")
def _ordered_bits(rng: Random) -> Drawn:
    return _bits(rng, ordered=True)


@kind("pure")
def _pure(rng: Random) -> Drawn:
    """Binary randomized response is the worst of that epsilon."""
    ratio = Fraction(rng.randint(5, 20), 4)
    rows = [(ratio / (ratio + 1), 1 / (ratio + 1)), (1 / (ratio + 1), ratio / (ratio + 1))]
    return Drawn(zcdp.PureDP(epsilon=Log(ratio)), _of_rows(rows), among(rows), far=Known.either([_moved(ratio, [2])]))


@kind("range")
def _range(rng: Random) -> Drawn:
    """Two losses that differ by log 16: some of the pairs of bounded range."""
    pairs = []
    for n in (1, 2, 3):
        more, less = Fraction(2**n), Fraction(2**n, 16)
        q = (1 - less) / (more - less)
        pairs.append(Pair.of((more * q, less * (1 - q)), (q, 1 - q)))
    rows = [tuple(one for one, _ in pairs[1].masses), tuple(other for _, other in pairs[1].masses)]
    mechanism = zcdp.BoundedRange if rng.random() < 0.5 else zcdp.ExponentialMechanism
    made = mechanism(eta=Log(16)) if mechanism is zcdp.BoundedRange else mechanism(epsilon=Log(16))
    known = Known.either(pairs, complete=False)
    return Drawn(made, known, among(rows), far=known)


def geometric(base: Fraction | int, middle: int, low: int, high: int) -> Row:
    """Mass as base^-|i - middle|, what is beyond low and high at these."""
    unit = Fraction(base - 1, base + 1)
    inside = [unit / base ** abs(i - middle) for i in range(low + 1, high)]
    tail = unit * Fraction(base, base - 1)
    return (tail / base ** (middle - low), *inside, tail / base ** (high - middle))


def _summed(noise: Callable[[int], Row], far: int) -> World:
    """Noise on the sum of records, which are 0 .. far if they may be replaced, else -far .. far."""

    def world(rng: Random, replaced: bool) -> Mechanism:
        values = [rng.choice((far, rng.randint(0 if replaced else -far, far))) for _ in range(8)]
        return lambda records: noise(max(-REACH, min(REACH, sum(values[record] for record in records))))

    return world


def _counting(base: int, far: int) -> World:
    return _summed(lambda at: geometric(base, at, -REACH, REACH), far)


def _moved(base: Fraction | int, move: Sequence[int]) -> Pair:
    """Geometric noise on each coordinate that moves."""
    rows = [(geometric(base, 0, 0, far), geometric(base, far, 0, far)) for far in move]
    pair = Pair(((Fraction(1), Fraction(1)),))
    for p, q in rows:
        pair = Pair.joined((a * c, b * d) for a, b in pair.masses for c, d in zip(p, q, strict=True))
    return pair


@kind("geometric")
def _geometric(rng: Random) -> Drawn:
    base, far = rng.randint(2, 4), rng.randint(1, 2)
    mechanism = zcdp.DiscreteLaplace(epsilon=Log(base**far), sensitivity=far)
    known = Known.either(_moved(base, [move]) for move in range(far, 0, -1))
    return Drawn(mechanism, known, _counting(base, far), far=Known.either([_moved(base, [2 * far])]))


def _vector(base: int, sensitivity: zcdp.Sensitivity, most: int, moves: Sequence[Sequence[int]]) -> Drawn:
    mechanism = zcdp.DiscreteLaplace(epsilon=Log(base**most), sensitivity=sensitivity)
    known = Known.either(_moved(base, move) for move in moves)
    far = Known.either([_moved(base, [2 * one for one in moves[0]])], complete=False)
    return Drawn(mechanism, known, _counting(base, max(max(moves))), far=far)


@kind("vector L0LInf")
def _many_cells(rng: Random) -> Drawn:
    m, c = rng.choice(((2, 1), (2, 2), (3, 1)))
    return _vector(rng.randint(2, 3), zcdp.L0LInf(m, c), m * c, [[c] * m])


@kind("vector L1LInf")
def _bounded_cells(rng: Random) -> Drawn:
    a, c = rng.choice(((3, 2), (3, 1), (2, 1)))
    return _vector(rng.randint(2, 3), zcdp.L1LInf(a, c), a, [[*[c] * (a // c), *([a % c] if a % c else [])]])


@kind("vector L1")
def _total(rng: Random) -> Drawn:
    d = rng.randint(2, 3)
    return _vector(2, zcdp.L1(d), d, [[d], [1] * d, [d - 1, 1]])


@kind("vector L2")
def _length(rng: Random) -> Drawn:
    square = rng.randint(1, 5)
    root = isqrt(square)
    length = zcdp.L2(root if root * root == square else f"sqrt({square})")
    return _vector(rng.randint(2, 3), length, square, [list(roots) for roots in squares(square)])


@kind("stairs")
def _stairs(rng: Random) -> Drawn:
    """The mass falls by `base` at r, far + r, 2 far + r, ... on either side."""
    base, far = rng.randint(2, 4), rng.randint(1, 3)
    r = rng.randint(1, far)

    def masses(at: int) -> Row:
        """On one period beyond all sums, which stands for all that follow, and what is between."""
        reach = REACH + far

        def mass(i: int) -> Fraction:
            away = abs(i - at)
            return Fraction(1, base ** (away // far + (away % far >= r)))

        series = Fraction(base, base - 1)
        row = [mass(i) * (series if abs(i) > REACH else 1) for i in range(-reach, reach + 1)]
        return tuple(x / sum(row) for x in row)

    mechanism = zcdp.DiscreteStaircase(epsilon=Log(base), sensitivity=far, r=r)
    known = Known.either(Pair.of(masses(move), masses(0)) for move in range(far, 0, -1))
    apart = Known.either([Pair.of(masses(2 * far), masses(0))], complete=False)
    return Drawn(mechanism, known, _summed(masses, far), far=apart)


@kind("truncated")
def _truncated(rng: Random) -> Drawn:
    base, n = rng.randint(2, 4), rng.randint(1, 4)
    rows = [tuple(Fraction(1, base ** abs(x - y)) for y in range(n + 1)) for x in range(n + 1)]
    rows = [tuple(x / sum(row) for x in row) for row in rows]
    known = Known.either(Pair.of(rows[x], rows[x + 1]) for x in range(n))
    world = _summed(lambda at: rows[max(0, min(n, at))], 1)
    far = Known.either(Pair.of(rows[x], rows[min(x + 2, n)]) for x in range(n))
    return Drawn(zcdp.TruncatedGeometric(epsilon=Log(base), n=n), known, world, far=far)


@kind("shuffled")
def _shuffled(rng: Random) -> Drawn:
    ratio, (k, clients) = rng.randint(2, 4), rng.choice(((2, 2), (2, 3), (3, 2)))
    rows = [_row([ratio if n == value else 1 for n in range(k)]) for value in range(k)]

    def law(values: tuple[int, ...]) -> Row:
        return counts(values, rows)

    def world(rng: Random, replaced: bool) -> Mechanism:
        del replaced
        chosen = [rng.randrange(k) for _ in range(8)]
        return lambda records: law(tuple(chosen[record] for record in records))

    mechanism = zcdp.Shuffled(zcdp.RandomizedResponse(epsilon=Log(ratio), k=k), clients=clients)
    return Drawn(mechanism, everybody(law, k, clients), world, clients=clients, values=k)


def everybody(law: Mechanism, values: int, records: int, *, complete: bool = True) -> Known:
    """All pairs of data sets of which one record is another."""
    pairs = []
    for others in product(range(values), repeat=records - 1):
        if list(others) == sorted(others):  # no order of the records counts
            for one, other in permutations(range(values), 2):
                pairs.append(Pair.of(law((*others, one)), law((*others, other))))
    return Known.either(pairs, complete=complete)
