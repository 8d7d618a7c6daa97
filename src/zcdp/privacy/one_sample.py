"""The law of a whole plan that runs on one sample: of its product, not of its parts."""

from __future__ import annotations

from fractions import Fraction
from math import inf

from flint import arb

from zcdp.numeric.balls import above, below
from zcdp.numeric.certify import NotCertified, Undecided
from zcdp.privacy.loss import LossLaw, gaussian_pair, profile_law
from zcdp.privacy.loss.gaussian import GaussianLaw
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.plan import Plan
from zcdp.privacy.profile.profile import Profile

__all__ = ["product_law"]


def product_law(plan: Plan) -> LossLaw | None:
    """The law of the product of all parts' symmetric pairs: Gaussian, or known by its profile; None: not known.

    Theorem: docs/theorems/sampling.md.
    """
    parts = [(one.pair(), count * times) for part, count in plan.parts for one, times in part.coordinates]
    laws = [(law, count) for law, count in parts if law is not None and law.symmetric]
    if len(laws) < len(parts):
        return None
    exact = all(law.exact for law, _ in laws)  # A product of laws that only dominate does no more.
    noises = [(law, count) for law, count in laws if isinstance(law, GaussianLaw)]
    if len(noises) == len(laws):
        return gaussian_pair(lambda: sum((law.curvature() * count for law, count in noises), arb(0)), exact=exact)
    profile = Profile(tuple(laws))

    def infinite() -> arb:
        return Transform(tuple(laws)).revealed

    def ends(epsilon: arb) -> tuple[arb, arb]:
        low, high = max(below(epsilon), 0.0), max(above(epsilon), 0.0)
        if not high < inf:
            return (mass := infinite()), mass if low == high else arb(1)
        try:
            answer = profile.delta(Fraction(low))
            lower = answer.lower if low == high else profile.delta(Fraction(high)).lower
        except NotCertified as error:
            raise Undecided from error
        return arb(lower), arb(answer.upper)

    def top() -> arb:
        return sum((law.largest() * count for law, count in laws), arb(0))

    return profile_law(ends, top, infinite, exact_alone=exact)
