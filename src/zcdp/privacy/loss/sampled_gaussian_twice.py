"""delta(epsilon) of two uses of sampled Gaussian noise, by one integral.

H_2(x) = E_A H_1(x/w), w = 1 - q + q e^l the ratio of the first use and H_1 the function of one use, which is a closed
formula. Theorem: docs/theorems/sampled-gaussian.md, 6.
"""

from __future__ import annotations

from math import log, sqrt

from flint import acb, arb, ctx

from zcdp.numeric.balls import Undecided

__all__ = ["two_uses"]

GAP_BITS = 40  # The integral ends 2^-40 of mu before the place where a logarithm is infinite; the rest is enclosed.
ACCURACY = 52  # The integral's relative accuracy, in bits.


def two_uses(q: arb, mu: arb, x: arb) -> arb:
    """H_2(x), the integral of (A - x Q)_+ for two uses, x > 0: an enclosure.

    In the first use u is standard normal under Q, and w = 1 - q + q e^{mu u - mu^2/2}.
    """
    rest = 1 - q
    if x <= rest * rest:
        return 1 - x
    # From `last` on w >= x/(1-q): whatever the second use says, A exceeds x Q.
    last = (((x / rest - rest) / q).log() + mu * mu / 2) / mu
    total = rest * _beyond(last) + q * _beyond(last - mu) - x * _beyond(last)
    first = -arb(sqrt(2 * ctx.prec * log(2)) + 1)
    end = (last - mu * arb(2) ** -GAP_BITS).mid()
    if not first < end < last:
        raise Undecided

    def value(u: acb, analytic: bool) -> acb:
        """w H_1(x/w), for u before `last`."""
        w = rest + q * (mu * u - mu * mu / 2).exp()
        kappa = (x / w - rest) / q
        d = mu / 2 - kappa.log(analytic) / mu
        return q * w * (_below(d) - kappa * _below(d - mu))

    def density(u: acb, analytic: bool) -> acb:
        return (-u * u / 2).exp() * value(u, analytic)

    whole = acb.integral(density, acb(first), acb(end), rel_tol=arb(2) ** -ACCURACY).real / (2 * arb.pi()).sqrt()
    # Between `end` and `last` w H_1(x/w) rises to q w; before `first` it is at most its value there.
    least = (value(acb(end), False).real / (q * (rest + q * (mu * end - mu * mu / 2).exp()))).union(arb(1))
    near = q * (rest * (_beyond(end) - _beyond(last)) + q * (_beyond(end - mu) - _beyond(last - mu)))
    before = arb(0).union(value(acb(first), False).real * _beyond(-first))
    return total + whole + near * least + before


def _beyond(u: arb) -> arb:
    """The probability that a standard normal variable exceeds u."""
    return (u / arb(2).sqrt()).erfc() / 2


def _below(u: acb) -> acb:
    """The normal distribution function."""
    return (-u / arb(2).sqrt()).erfc() / 2
