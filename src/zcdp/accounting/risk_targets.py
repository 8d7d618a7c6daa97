"""A limit on what an attacker gains, as a budget for `calibrate` and `allocate`: an advantage, or a rate of finds.

The gain of an attack is its true positive rate less its false positive rate. The advantage limits it for every attack;
`tpr` with `fpr` for those with so many false alarms. Theorem: docs/theorems/tradeoff.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import Value, probability, shown
from zcdp.privacy.curve import Curve

__all__ = ["RiskTarget"]


@dataclass(frozen=True)
class RiskTarget:
    """The largest gain of an attack, over all false positive rates or at the rate `fpr`."""

    gain: Fraction
    fpr: Fraction | None = None

    @classmethod
    def given(cls, *, advantage: Value | None, tpr: Value | None, fpr: Value | None) -> RiskTarget | None:
        """The limit as a user gives it, checked; None if none is given.

        >>> RiskTarget.given(advantage=None, tpr="0.01", fpr="0.001")
        RiskTarget(gain=Fraction(9, 1000), fpr=Fraction(1, 1000))
        """
        if advantage is not None:
            if tpr is not None or fpr is not None:
                raise BadValue(f"give advantage ({advantage}), or tpr and fpr, not both")
            return cls(probability(advantage, "advantage"))
        if tpr is None and fpr is None:
            return None
        if tpr is None or fpr is None:
            raise BadType("give tpr and fpr together: so many members found at so many false alarms")
        most, rate = probability(tpr, "tpr"), probability(fpr, "fpr")
        if most <= rate:
            raise BadValue(
                f"tpr ({tpr}) must be above fpr ({fpr}): a coin finds as many members as it has false alarms"
            )
        return cls(most - rate, rate)

    def cost(self, curve: Curve) -> Fraction:
        """The certified gain of the best attack on the curve, rounded up."""
        if self.fpr is None:
            return Fraction(curve.advantage)
        return Fraction(curve.tpr_at(fpr=self.fpr)) - self.fpr

    def rough(self, rho: float) -> float:
        """The gain on Gaussian noise of the same rho, in floats: heuristic, to start from."""
        normal, mu = NormalDist(), sqrt(2 * rho)
        if self.fpr is None:
            return 2 * normal.cdf(mu / 2) - 1
        return normal.cdf(normal.inv_cdf(float(self.fpr)) + mu) - float(self.fpr)

    def said(self, gain: Fraction) -> str:
        """A gain in words.

        >>> RiskTarget(Fraction(9, 1000), Fraction(1, 1000)).said(Fraction(9, 1000))
        'tpr = 0.01 at fpr = 0.001'
        """
        if self.fpr is None:
            return f"advantage = {shown(gain, 6)}"
        return f"tpr = {shown(gain + self.fpr, 6)} at fpr = {shown(self.fpr, 6)}"
