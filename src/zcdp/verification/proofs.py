"""Computer proofs by subdivision: an inequality in ball arithmetic on boxes of parameters that are halved as needed.

A claim that is seen to hold on every box of a cover holds for all parameters; `prove` does this for any claim, and
`PROOFS` are the paper's theorems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from flint import arb

from zcdp.numeric.balls import at_precision

__all__ = [
    "PROOFS",
    "Box",
    "Proof",
    "ProofOf",
    "additive",
    "bounded_range",
    "cover",
    "interval",
    "prove",
    "three_point",
]


PRECISION_BITS = 80
MOST_BOXES = 300_000
NARROWEST_SIDE = 2.0**-40
"""A box whose widest side is narrower than this (see `_width`) is not halved again: the proof stops there."""

Side = tuple[float, float]
Box = tuple[Side, ...]
Claim = Callable[[Box], arb | None]
"""Maps a box to a ball that contains the margin of the claim on it, positive if the claim holds on the whole box.

None means that the claim says nothing about the box."""


@dataclass(frozen=True)
class Proof:
    """The result: whether the claim is proved, and on how many boxes.

    If it is not, `where` is the box at which the search stopped, and `refuted` whether the claim is false there.
    """

    proved: bool
    boxes: int
    where: Box | None = None
    refuted: bool = False


def interval(side: Side) -> arb:
    """A ball that contains all numbers between the two ends."""
    low, high = side
    return arb(low).union(arb(high))


def prove(claim: Claim, cover: Iterable[Box], *, most: int = MOST_BOXES) -> Proof:
    """Halve the boxes of a cover until the claim is seen to hold on each; stops at a counterexample or at a limit.

    >>> prove(lambda box: 1 - interval(box[0]) * (1 - interval(box[0])), [((0.0, 1.0),)]).proved
    True
    >>> prove(lambda box: interval(box[0]) - arb("1.5"), [((0.0, 1.0),)]).refuted
    True
    """
    return at_precision(PRECISION_BITS, lambda: _prove(claim, list(cover), most))


def _prove(claim: Claim, open_boxes: list[Box], most: int) -> Proof:
    done = 0
    while open_boxes:
        box = open_boxes.pop()
        if done + len(open_boxes) > most:
            return Proof(False, done, box)
        margin = claim(box)
        if margin is None or margin > 0:
            done += 1
            continue
        if margin < 0:
            return Proof(False, done, box, refuted=True)
        widest = max(range(len(box)), key=lambda n: _width(box[n]))
        low, high = box[widest]
        middle = (low + high) / 2
        if _width(box[widest]) < NARROWEST_SIDE:
            return Proof(False, done, box)
        open_boxes += [(*box[:widest], half, *box[widest + 1 :]) for half in ((low, middle), (middle, high))]
    return Proof(True, done)


def _width(side: Side) -> float:
    """The width of a side relative to its position, so that small numbers are divided as finely as large ones."""
    low, high = side
    return (high - low) / (0.05 + abs(high))


# The paper's theorems on boxes: for epsilon from 1/1000 to 50 and all orders, rho is the divergence of order 1.
#
# With h = epsilon/2 and y = epsilon (s + 1/2), s = alpha - 1, each cumulant is log f(y) up to a constant. If log f is
# concave in y^2, the cumulant is below its tangent at order 1, which is the claim. Beyond order epsilon/rho the claim
# follows from D(alpha) <= epsilon. Theorem: docs/theorems/boxes.md.

LEAST_EPSILON, MOST_EPSILON = 2.0**-12, 50.0
"""The range of epsilon of the cover. One bit of RAPPOR at epsilon = 1/1000 has epsilon = 1/2000, which is inside."""
LAST_Y = 80.0
"""Beyond this y all orders exceed epsilon/rho; the last boxes of the cover, at y = LAST_Y, verify that."""
SERIES_UP_TO_Y = 4.0
"""Below this y power series with positive terms are used; above it bounded functions such as tanh."""
UNKNOWN = arb(0, 1)
"""A margin of unknown sign: the proof stops there."""
Jet = tuple[arb, arb, arb]
"""The first three Taylor coefficients of a function of w = y^2."""


@dataclass(frozen=True)
class ProofOf:
    """A claim of one theorem, for all epsilon from 1/1000 to 50 and all orders above 1, and its proof."""

    theorem: str
    statement: str
    run: Callable[[], Proof]


def _at(side: Side | tuple[arb, arb], function: Callable[[arb], arb]) -> arb:
    """A ball that contains the range of a monotone function on a side."""
    return function(arb(side[0])).union(function(arb(side[1])))


def _squares(y: Side, shrunk: Side = (1.0, 1.0)) -> Side:
    """A side that contains (y t)^2 for all t of `shrunk`, rounded outward."""
    return (y[0] * shrunk[0]) ** 2 * (1 - 2.0**-50), (y[1] * shrunk[1]) ** 2 * (1 + 2.0**-50)


@lru_cache(20_000)
def _series(twice: int, w: Side) -> arb:
    """A ball that contains the range of 0F1(twice/2; w/4), which increases in w: its coefficients are positive."""
    return _at(w, lambda x: (x / 4).hypgeom_0f1(arb(twice) / 2))


def _sinhc(w: Side) -> Jet:
    """Taylor coefficients of sinh(y)/y as a function of w = y^2; each increases in w."""
    return _series(3, w), _series(5, w) / 6, _series(7, w) / 120


def _cosh(w: Side) -> Jet:
    """Taylor coefficients of cosh(y) as a function of w = y^2, whose derivative is sinh(y)/(2 y)."""
    first, second, _ = _sinhc(w)
    return _series(1, w), first / 2, second / 4


def _times(a: Jet, b: Jet) -> Jet:
    """Taylor coefficients of a product."""
    return a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[1] * b[1] + a[2] * b[0]


def _over(a: Jet, b: Jet) -> Jet:
    """Taylor coefficients of a quotient."""
    first = a[0] / b[0]
    second = (a[1] - first * b[1]) / b[0]
    return first, second, (a[2] - first * b[2] - second * b[1]) / b[0]


def _concave(f: Jet) -> arb:
    """1 - f f''/f'^2, which is positive where log f is concave."""
    return 1 - 2 * f[0] * f[2] / f[1] ** 2


def _orders(box: Box, rho: Callable[[arb], arb]) -> bool:
    """Whether the box may have a point between order 1, where y = h, and order epsilon/rho, where the claim is void."""
    (low, high), (first, last) = box[:2]
    if last < low:
        return False
    least, most = 2 * arb(low), 2 * arb(high)
    return not arb(first) > most**2 / rho(least) - least / 2  # rho increases with epsilon


def additive(box: Box) -> arb | None:
    """The claim for discrete Laplace noise of sensitivity Delta = 1/t, and for Laplace noise at t = 0.

    f = cosh y + tanh(h t) coth(y t) sinh y; the margin is positive where log f is concave in y^2.
    """
    half, y, t = box
    share = interval(t)
    if not _orders(box, lambda epsilon: epsilon + (-epsilon).expm1()):  # rho of Laplace noise; discrete noise has more
        return None
    if y[0] >= LAST_Y:
        return UNKNOWN
    h = interval(half)
    weight = h * _at((arb(half[0]) * t[0], arb(half[1]) * t[1]), _tanhc)  # tanh(h t)/t
    if y[1] <= SERIES_UP_TO_Y:
        inner = _squares(y, t)
        cosh, sinhc = _cosh(inner), _sinhc(inner)
        square = share**2
        ratio = _over(
            (cosh[0], cosh[1] * square, cosh[2] * square**2), (sinhc[0], sinhc[1] * square, sinhc[2] * square**2)
        )
        outer, times = _cosh(_squares(y)), _times(_sinhc(_squares(y)), ratio)
        return _concave(tuple(a + weight * b for a, b in zip(outer, times, strict=True)))  # type: ignore[arg-type]
    at, tanh = interval(y), _at(y, arb.tanh)
    sech2 = _at(y, lambda x: x.sech() ** 2)
    within = (arb(y[0]) * t[0], arb(y[1]) * t[1])
    coth, csch2 = _at(within, _xcothx), _at(within, lambda x: 1 / _sinhc_at(x) ** 2)
    c, c1, c2 = coth / at, -csch2 / at**2, 2 * csch2 * coth / at**3  # t coth(t y) and its derivatives in y
    r = weight * tanh * c
    r1 = weight * (sech2 * c + tanh * c1)
    r2 = weight * (-2 * tanh * sech2 * c + 2 * sech2 * c1 + tanh * c2)
    slope, bend = tanh + r1 / (1 + r), sech2 + r2 / (1 + r) - (r1 / (1 + r)) ** 2
    return slope - at * bend


def _tanhc(x: arb) -> arb:
    return x.tanh() / x if x > 0 else arb(1)


def _sinhc_at(x: arb) -> arb:
    return x.sinh() / x if x > 0 else arb(1)


def _xcothx(x: arb) -> arb:
    return x * x.coth() if x > 0 else arb(1)


def three_point(box: Box, k: int) -> arb | None:
    """The claim for randomized response of k values; pure DP is k = 2.

    f = cosh y + B, B = (k-2) e^-h/2; log f is concave in y^2 where sinh(y) (cosh(y) + B) > y (1 + B cosh(y)).
    """
    half, y = box
    if not _orders(box, lambda epsilon: epsilon * epsilon.expm1() / (epsilon.expm1() + k)):
        return None
    if y[0] >= LAST_Y:
        return UNKNOWN
    rest = _at(half, lambda h: (-h).exp()) * (k - 2) / 2
    if y[1] <= SERIES_UP_TO_Y:  # the difference over y^3: two power series in y^2 whose terms are all positive
        w = _squares(y)
        right = _series(5, w) / 3
        return 4 * _at((4 * w[0], 4 * w[1]), _third) - rest * right
    tanh, sech = _at(y, arb.tanh), _at(y, arb.sech)
    return tanh * (1 + rest * sech) - interval(y) * (sech**2 + rest * sech)


def _third(w: arb) -> arb:
    """(sinh(x) - x)/x^3, which is the sum of w^m/(2m+3)!, for w = x^2 up to 64."""
    term, total = arb(1) / 6, arb(0)
    for m in range(40):
        total += term
        term = term * w / ((2 * m + 4) * (2 * m + 5))
    return total + term * arb(1, 1)  # the remainder is at most twice its first term


def bounded_range(box: Box) -> arb | None:
    """The claim for mechanisms of bounded range eta, h = eta/2.

    The cumulant is (P phi(P) - M phi(M))/h up to a constant, P, M = (y +- h)/2, phi(x) = log(sinh(x)/x). A condition
    on the functions m and q of the theorem is tried first; where it fails, the margin itself is enclosed.
    """
    half, y = box
    if not _orders(box, lambda eta: eta / eta.expm1() + (eta.expm1() / eta).log() - 1):
        return None
    if y[0] >= LAST_Y:
        return UNKNOWN
    far = ((arb(y[0]) + arb(half[0])) / 2, (arb(y[1]) + arb(half[1])) / 2)
    near = ((arb(y[0]) - arb(half[1])) / 2, (arb(y[1]) - arb(half[0])) / 2)
    near = (near[0] if near[0] > 0 else arb(0), near[1])
    spread = (_bend(far[1])[2] * (arb(y[0]) ** 2 + arb(half[0]) ** 2 / 3), _bend(near[0])[2] * arb(half[1]) ** 2 / 3)
    if spread[0] > spread[1]:
        return spread[0] - spread[1]
    (low, high), (first, last) = ([_bend(x) for x in ends] for ends in (far, near))
    slope = low[0].union(high[0]) - first[0].union(last[0])
    bend = (far[0] * high[1]).union(far[1] * low[1]) - (near[0] * last[1]).union(near[1] * first[1])
    return 2 * slope - interval(y) * bend


def _bend(x: arb) -> Jet:
    """For psi(x) = x phi(x) at a point: psi', q = psi''/x and m = -dq/d(x^2); q and m are positive and decrease."""
    w = x * x
    s0, s1, s2, s3 = ((w / 4).hypgeom_0f1(arb(n)) / d for n, d in ((1.5, 1), (2.5, 6), (3.5, 120), (4.5, 5040)))
    f1 = s1 / s0
    f2 = s2 / s0 - f1**2 / 2
    f3 = s3 / s0 - f1 * s2 / s0 + f1**3 / 3
    return s0.log() + 2 * w * f1, 6 * f1 + 8 * w * f2, -(20 * f2 + 24 * w * f3)


def cover() -> Iterator[Box]:
    """Boxes (h, y) that cover h from 2^-13 to 25 and y from 0 to LAST_Y, beyond which the claim is void."""
    h = LEAST_EPSILON / 2
    while h < MOST_EPSILON / 2:
        end = min(2 * h, MOST_EPSILON / 2)
        yield from (((h, end), (float(y), float(y + 1))) for y in range(int(LAST_Y)))
        yield (h, end), (LAST_Y, LAST_Y)
        h = end


def _noise_cover(shares: tuple[Side, ...]) -> Iterator[Box]:
    """Boxes (h, y, t), with t = 1/Delta in each of `shares`."""
    for box in cover():
        for share in shares:
            yield (*box, share)


def _rr(k: int) -> Proof:
    """The proof for randomized response of k values."""
    return prove(partial(three_point, k=k), cover())


_ALL = "for epsilon from 1/1000 to 50 and all orders above 1"
PROOFS = (
    ProofOf("pure-dp", f"pure DP: rho = epsilon tanh(epsilon/2) is the divergence of order 1, {_ALL}", partial(_rr, 2)),
    ProofOf(
        "rappor",
        f"RAPPOR: rho = epsilon tanh(epsilon/4), two binary responses of half of epsilon, {_ALL}",
        partial(_rr, 2),
    ),
    *(
        ProofOf("three-point", f"{k}-randomized response: rho is the divergence of order 1, {_ALL}", partial(_rr, k))
        for k in (3, 4, 5, 6)
    ),
    ProofOf(
        "laplace",
        f"Laplace: rho = epsilon + e^-epsilon - 1, {_ALL}",
        lambda: prove(additive, _noise_cover(((0.0, 0.0),))),
    ),
    ProofOf(
        "discrete-laplace",
        f"discrete Laplace: rho is the divergence of order 1, for every sensitivity from 2, {_ALL}",
        lambda: prove(additive, _noise_cover(((0.0, 0.25), (0.25, 0.5)))),
    ),
    ProofOf(
        "bounded-range",
        f"bounded range: rho = eta/(e^eta - 1) + log((e^eta - 1)/eta) - 1, {_ALL}",
        lambda: prove(bounded_range, cover()),
    ),
)
