"""High-precision reference values of Renyi divergences and of their suprema D(alpha) / alpha.

Every number here comes from the definitions alone: for an explicit pair of output distributions (P, Q)

    D(alpha) = log(sum P^alpha Q^(1 - alpha)) / (alpha - 1),        D(1) = sum P log(P / Q),

where the sums (integrals for densities) are split into finitely many pieces on which log P and log Q are
affine.  No published closed form of a privacy curve is used.  Results carry at least 250 correct
significant digits for every positive parameter: each is evaluated at a precision p estimated beforehand
and again at 2p, 4p, ... until two successive values agree to 260 digits.

Exponents are exact fractions, taken relative to the largest one, so no e^(large) is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from mpmath import mp, mpf
from mpmath.libmp import from_rational

__all__ = ["BoundedRange", "Pair", "Piece", "atom", "check_rho", "rdp", "response_interior", "rho"]

AGREE_BITS = 866  # two successive evaluations must agree to 260 digits
START_BITS = 960  # working precision before any allowance for cancellation
MAX_BITS = 1 << 18
VANISH = 10**7  # e^-VANISH < 2^-(10 MAX_BITS): zero beside 1, whatever its number of repetitions
ROOT_BITS = 470  # a stationary point known to 140 digits gives its value to 280

Rational = Fraction | int


class Unresolved(ArithmeticError):
    """The working precision does not suffice to locate a zero."""


class Piece(NamedTuple):
    """Points u = 0, ..., n-1 (or the interval [0, n]) with log P = p0 + p1 u and log Q = q0 + q1 u."""

    p0: Rational
    p1: Rational
    q0: Rational
    q1: Rational
    n: int | None  # None: infinitely many points; the slopes are then negative


class Pair(NamedTuple):
    """Two distributions with a common normalising constant, as pieces of their unnormalised logarithms."""

    pieces: list[Piece]
    continuous: bool = False
    interior: Callable[[], tuple[mpf, mpf] | None] = lambda: None
    """The maximum of D(alpha) / alpha over alpha > 1 and its alpha; None if it is proved that alpha = 1 is better."""


# ------------------------------------------------------------------------------ explicit distributions


def atom(log_p: Rational, log_q: Rational, count: int = 1) -> Piece:
    """Return `count` outcomes of equal unnormalised log-probabilities."""
    return Piece(log_p, 0, log_q, 0, count)


Reference = Callable[..., "Pair | BoundedRange"]
"""Takes the parameters of a mechanism: one stands beside its other rows, in tests/rows."""


class BoundedRange(NamedTuple):
    """The worst of all pairs whose losses lie in an interval of length eta, which differs from order to order."""

    eta: Rational


# ------------------------------------------------------------------------------------ numerical tools


def _real(x: Rational) -> mpf:
    """Round an exact rational to the working precision."""
    return mp.make_mpf(from_rational(x.numerator, x.denominator, mp.prec))


def _exp(x: mpf) -> mpf:
    """Return e^x, and 0 where that is beyond every working precision."""
    return mp.exp(x) if x > -VANISH else mpf(0)


def _expm1(x: mpf) -> mpf:
    """Return e^x - 1 to full relative precision."""
    with mp.workprec(mp.prec + max(0, -int(mp.mag(x))) + 8):
        return _exp(x) - 1


def _below_one(x: Rational) -> int:
    """Return about log2(1 / x), or 0 for x >= 1."""
    return max(0, x.denominator.bit_length() - x.numerator.bit_length() + 1)


def _agree(x: mpf, y: mpf) -> bool:
    """Whether two nonzero numbers agree to AGREE_BITS bits."""
    return bool(x and y) and abs(x - y) <= mp.ldexp(abs(y), -AGREE_BITS)


def _converge(evaluate: Callable[[], tuple[mpf, ...]], prec: int) -> tuple[mpf, ...]:
    """Evaluate at doubling precision until two successive results agree."""
    last: tuple[mpf, ...] = ()
    while prec <= MAX_BITS:
        with mp.workprec(prec):
            try:
                new = evaluate()
            except Unresolved:
                new = ()
            if last and new and all(map(_agree, last, new)):
                mp.prec = START_BITS
                return tuple(+x for x in new)
        last, prec = new, 2 * prec
    raise ArithmeticError("no agreement up to the largest working precision")


def _root(f: Callable[[mpf], mpf], a: mpf, fa: mpf, b: mpf, fb: mpf, bits: int) -> mpf:
    """Bracket the sign change of f between a and b to `bits` bits (Anderson-Bjorck with bisection)."""
    if (fa > 0) == (fb > 0):
        raise Unresolved
    slow, target = 0, abs(b - a) / 2
    for _ in range(400):
        if slow < 4:
            x = (a * fb - b * fa) / (fb - fa)
        else:  # no halving of the bracket in four steps
            slow, x = 0, (a + b) / 2
        fx = f(x)
        if not fx:
            return x
        if (fx > 0) == (fb > 0):
            shrink = 1 - fx / fb
            fa *= shrink if shrink > 0 else mpf(0.5)
        else:
            a, fa = b, fb
        b, fb = x, fx
        width = abs(b - a)
        if width <= mp.ldexp(abs(b), -bits):
            return b
        slow, target = (0, width / 2) if width <= target else (slow + 1, target)
    raise Unresolved


# --------------------------------------------------------------------- sums over the explicit outcomes


def _moments(slope: Rational, n: int | None, continuous: bool) -> tuple[mpf, mpf]:
    """Return the sums (integrals) of e^(slope u) and of u e^(slope u) over a piece; slope <= 0."""
    if slope == 0 and n is not None:
        return mpf(n), mpf(n) * (n if continuous else n - 1) / 2
    s = _real(slope)
    gap = -s if continuous else -_expm1(s)  # geometric series with ratio 1 - gap
    step = 1 if continuous else 1 - gap
    tail = mpf(1) if n is None else -_expm1(_real(slope * n))  # 1 - e^(slope n)
    rest = 0 if n is None else n * (1 - tail)
    return tail / gap, (step * tail / gap - rest) / gap


def _expand(pair: Pair, alpha: Rational) -> list[tuple[Rational, mpf, mpf]]:
    """Return per piece a triple (t, m, r): sum P^a Q^(1-a) = e^t m and sum P^a Q^(1-a) log(P/Q) = e^t r."""
    terms = []
    for p0, p1, q0, q1, n in pair.pieces:
        top, slope = alpha * (p0 - q0) + q0, alpha * (p1 - q1) + q1
        ratio, ratio_slope = p0 - q0, p1 - q1
        if slope > 0:  # count from the other end, where the summand is largest
            assert n is not None
            last = n if pair.continuous else n - 1
            top, slope = top + slope * last, -slope
            ratio, ratio_slope = ratio + ratio_slope * last, -ratio_slope
        zeroth, first = _moments(slope, n, pair.continuous)
        terms.append((top, zeroth, _real(ratio) * zeroth + _real(ratio_slope) * first))
    return terms


def _log_sum(pair: Pair, alpha: Rational) -> tuple[Rational, mpf]:
    """Return (t, s) with sum P^alpha Q^(1-alpha) = e^(t + s), unnormalised."""
    terms = _expand(pair, alpha)
    top = max(t for t, _, _ in terms)
    return top, mp.log(mp.fsum(_exp(_real(t - top)) * m for t, m, _ in terms))


def _pair_rdp(pair: Pair, alpha: Rational) -> mpf:
    """Renyi divergence of the pair, alpha > 1, at the working precision."""
    top, log_sum = _log_sum(pair, alpha)
    top_one, log_one = _log_sum(pair, 1)
    return (_real(top - top_one) + (log_sum - log_one)) / _real(alpha - 1)


def _pair_kl(pair: Pair) -> mpf:
    """Kullback-Leibler divergence of the pair at the working precision."""
    terms = _expand(pair, 1)
    top = max(t for t, _, _ in terms)
    weights = [_exp(_real(t - top)) for t, _, _ in terms]
    total = mp.fsum(w * m for w, (_, m, _) in zip(weights, terms, strict=True))
    return mp.fsum(w * r for w, (_, _, r) in zip(weights, terms, strict=True)) / total


# -------------------------------------------------------------------------------------- bounded range


def _best_shift(slope: Callable[[mpf], mpf], eta: Rational, alpha: Rational) -> mpf:
    """Find the zero t in (0, eta) of a function positive to its left and negative to its right."""
    with mp.workprec(mp.prec - AGREE_BITS + ROOT_BITS):
        high = int(mp.mag(_real(eta)))
        low = min(high, -int(mp.mag(_real(alpha)))) - 4
        while high - low > 1:  # the binade of the zero
            middle = (low + high) // 2
            low, high = (middle, high) if slope(mp.ldexp(1, middle)) > 0 else (low, middle)
        a, b = mp.ldexp(1, low), mp.ldexp(1, high)
        return _root(slope, a, slope(a), b, slope(b), ROOT_BITS)


def _bounded_range_kl(eta: Rational) -> mpf:
    """Supremum over t of P(high) (eta - t) - P(low) t, where P(high) = (1 - e^-t) / (1 - e^-eta)."""
    scale = _real(eta) / -_expm1(_real(-eta))
    t = _best_shift(lambda t: scale * _exp(-t) - 1, eta, 1)
    return scale * -_expm1(-t) - t


def _bounded_range_rdp(eta: Rational, alpha: Rational) -> mpf:
    """Supremum over t of D(alpha), alpha > 1, with (e^eta - 1) Q = (e^t - 1, e^eta - e^t)."""
    # S(t) = (e^t - 1) e^(alpha (eta - t)) + (e^eta - e^t) e^(-alpha t), over e^eta - 1
    a, c, width = _real(alpha), _exp(_real((1 - alpha) * eta)), -_expm1(_real(-eta))
    rise = -_expm1(_real(-alpha * eta))

    def slope(t: mpf) -> mpf:
        """S'(t) e^(alpha (t - eta) - t)."""
        y = -_expm1(-t)
        return rise - a * y - a * c * (width - y)

    t = _best_shift(slope, eta, alpha)
    low = c * (1 - _exp(t - _real(eta)))  # second term of S over e^(alpha (eta - t)); the first is e^t - 1
    log_sum = _real((alpha - 1) * eta) - a * t + mp.log(_expm1(t) + low)
    return (log_sum - mp.log(width)) / _real(alpha - 1)


def _bounded_range(eta: Rational, alpha: Rational) -> mpf:
    """Renyi divergence of the worst bounded-range pair at the working precision."""
    return _bounded_range_kl(eta) if alpha == 1 else _bounded_range_rdp(eta, alpha)


# ----------------------------------------------------------------- maximiser for randomised response


def _rr_slope_at_one(eps: Rational, k: int) -> mpf:
    """Return the derivative of D(alpha) / alpha at alpha = 1: half the variance less the mean of log(P/Q)."""

    def evaluate() -> tuple[mpf]:
        e, small = _real(eps), _exp(_real(-eps))
        total = 1 + (k - 1) * small
        mean = e * (1 - small) / total
        return ((e * e * (1 + small) / total - mean**2) / 2 - mean,)

    return _converge(evaluate, START_BITS + 5 * _below_one(eps) + 2 * k.bit_length())[0]


def _rr_curve(eps: Rational, k: int) -> Callable[[mpf], tuple[mpf, mpf]]:
    """Return u -> (K, K') at alpha = 1 + u, K = log sum P^alpha Q^(1-alpha), at the working precision."""
    e, small = _real(eps), _exp(_real(-eps))
    log_total = mp.log(1 + (k - 1) * small)

    def curve(u: mpf) -> tuple[mpf, mpf]:
        tilt = _exp(-u * e)
        other = small * tilt * tilt
        total = 1 + other + (k - 2) * small * tilt  # sum of P^alpha Q^(1-alpha), over its first term
        return u * e + mp.log(total) - log_total, e * (1 - other) / total

    return curve


def _rr_scan(eps: Rational, k: int, points: int = 64) -> tuple[list[Fraction], int]:
    """Return a log grid of (alpha - 1) eps and the index of the largest D(alpha) / alpha on it."""
    with mp.workprec(256 + 2 * k.bit_length() + _below_one(1 / Fraction(eps))):
        curve, e, top = _rr_curve(eps, k), _real(eps), 3 * mp.log(k) + 60
        ratio = mp.nthroot(top * 1000, points - 1)
        grid = [ratio**i / 1000 for i in range(points)]
        values = [curve(v / e)[0] / (v * (v + e)) for v in grid]
        best = max(range(points), key=values.__getitem__)
    return [Fraction(int(mp.ldexp(v, 64)), 1 << 64) for v in grid], best


def response_interior(eps: Rational, k: int) -> tuple[mpf, mpf] | None:
    """Return the interior maximum of D(alpha) / alpha and its alpha, or None if alpha = 1 is better."""
    grid, best = _rr_scan(eps, k)
    at_one = _rr_slope_at_one(eps, k) if best == 0 else mpf(0)
    if best == 0 and at_one < 0:
        return None

    def evaluate() -> tuple[mpf, mpf]:
        curve, e = _rr_curve(eps, k), _real(eps)

        def slope(u: mpf) -> mpf:
            """Derivative of K / (u (1 + u)), times (1 + u)^2."""
            value, derivative = curve(u)
            return (derivative * u * (1 + u) - value * (1 + 2 * u)) / (u * u)

        high = _real(grid[best + 1]) / e
        low = _real(grid[best - 1]) / e if best else mpf(0)
        u = _root(slope, low, slope(low) if best else at_one, high, slope(high), AGREE_BITS + 10)
        return curve(u)[0] / (u * (1 + u)), 1 + u

    value, alpha = _converge(evaluate, START_BITS + 2 * k.bit_length())
    return value, alpha


# ------------------------------------------------------------------------------------------ public API


def _precision(alpha: Rational, params: dict[str, Rational]) -> int:
    """Return a working precision that covers the cancellation at these parameters."""
    prec = START_BITS + (_below_one(alpha - 1) if alpha > 1 else 0)
    prec += 3 * _below_one(params.get("epsilon", params.get("eta", 1)))
    return prec + int(params.get("k", 1)).bit_length() + 2 * int(params.get("sensitivity", 1)).bit_length()


def _made(reference: Reference, params: dict[str, Rational]) -> Pair | BoundedRange:
    """The pair of these parameters, which are positive."""
    if not all(isinstance(x, (int, Fraction)) and x > 0 for x in params.values()):
        raise ValueError("parameters must be positive exact rationals")
    return reference(**params)


def rdp(reference: Reference, alpha: Rational, **params: Rational) -> mpf:
    """Return the Renyi divergence of order alpha >= 1 (Kullback-Leibler at 1) of the worst-case pair."""
    pair = _made(reference, params)
    if alpha < 1:
        raise ValueError("alpha must be at least 1")
    prec = _precision(alpha, params)
    if isinstance(pair, BoundedRange):
        return _converge(lambda: (_bounded_range(pair.eta, alpha),), prec)[0]
    return _converge(lambda: (_pair_kl(pair) if alpha == 1 else _pair_rdp(pair, alpha),), prec)[0]


def rho(reference: Reference, **params: Rational) -> tuple[mpf, mpf]:
    """Return (sup over alpha >= 1 of D(alpha) / alpha, the attaining alpha).

    Except for randomised response it is a theorem that the supremum is the limit alpha -> 1, so that is
    the Kullback-Leibler divergence and 1; `check_rho` tests this on a grid of orders.
    """
    kl, pair = rdp(reference, 1, **params), _made(reference, params)
    interior = None if isinstance(pair, BoundedRange) else pair.interior()
    if interior is not None and (interior[0] > kl or _agree(interior[0], kl)):
        return interior
    return kl, mpf(1)


def check_rho(reference: Reference, **params: Rational) -> mpf:
    """Return the largest D(alpha) / alpha over a log grid of 60 orders divided by rho, to 250 digits."""
    scale = Fraction(params.get("epsilon", params.get("eta", 1)))
    offsets = [Fraction(10.0 ** (i / 1.5)) for i in range(-12, 13)]  # alpha - 1 from 1e-8 to 1e8
    offsets += [Fraction(10.0 ** (i / 4)) / scale for i in range(-16, 19)]  # and around 1 / scale
    supremum = rho(reference, **params)[0]
    with mp.workprec(START_BITS):
        quotient = max(rdp(reference, 1 + u, **params) / _real(1 + u) for u in offsets) / supremum
        mp.prec = 832
        return +quotient
