"""A mechanism and an engine from outside the package, each written by its recipe alone (CONTRIBUTING.md)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf, log
from typing import ClassVar

import pytest
from flint import arb

from zcdp import Laplace, Mechanism, PureDP, RandomizedResponse
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, positive
from zcdp.numeric.functions import Number, sinhc
from zcdp.numeric.functions import log as log_of
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw, logistic_pair
from zcdp.privacy.profile import engines
from zcdp.privacy.profile.engine_base import Engine, Offer
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.profile.question import Question


@dataclass(frozen=True, init=False, repr=False)
class Sech(Mechanism):
    """Noise of density sech^2, as the logistic mechanism has it, written anew from its closed forms."""

    theorem: ClassVar[str] = "logistic"
    epsilon: Exact

    def __init__(self, *, epsilon: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"))

    def cumulant(self, s: Number) -> Number:
        epsilon = lift(self.epsilon)
        return log_of(sinhc(epsilon * (2 * s + 1) / 2)) - log_of(sinhc(epsilon / 2))

    def peak(self) -> Peak:
        half = lift(self.epsilon) / 2
        return Peak(2 * (half * half.coth() - 1), arb(1))

    def pair(self) -> LossLaw:
        return logistic_pair(self.epsilon, exact=True)  # its own pair, not only one that dominates


def test_a_mechanism_of_ones_own_has_all_that_is_derived() -> None:
    m = Sech(epsilon=1)
    assert repr(m) == "Sech(epsilon=1)"
    assert m.rho == pytest.approx(0.163953413738652, rel=1e-14)
    assert m.search_rho()[1] == pytest.approx(m.rho, rel=1e-9)
    lower, upper = (30 * m + Laplace(epsilon="0.1")).epsilon_bounds(delta="1e-6")
    assert 0 < lower <= upper <= lower * (1 + 1e-12)
    assert m.calibrate(rho="0.1").rho <= 0.1


class Enumerated(Engine):
    """delta(epsilon) = sum over all outcomes of p (1 - e^{epsilon - L})_+, each by itself; for few atoms."""

    name = "all outcomes"

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        expansions = [(law.expansion(), count) for law, count in question.parts]
        outcomes = 1
        for expansion, count in expansions:
            if expansion is None or expansion.width:
                return None
            outcomes *= len(expansion.rows) ** count
        return Offer(1000 * outcomes, lambda: cls(question)) if outcomes <= 5000 else None

    def __init__(self, question: Question) -> None:
        atoms = []
        for law, count in question.parts:
            expansion = law.expansion()
            assert expansion is not None
            exponents = [expansion.exponent(k) for k in range(len(expansion.rows))]
            one = [(a, row[0] * (a / 2).exp()) for a, row in zip(exponents, expansion.rows, strict=True)]
            atoms.extend([one] * count)
        self.outcomes = []
        for outcome in product(*atoms):
            loss, mass = arb(0), arb(1)
            for a, p in outcome:
                loss, mass = loss + a, mass * p
            self.outcomes.append((loss, mass))

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        point = lift(epsilon)
        value = sum((mass * (1 - (point - loss).exp()).max(arb(0)) for loss, mass in self.outcomes), arb(0))
        return value, value

    def estimate(self, epsilon: float) -> float:
        value = float(self.delta(Fraction(epsilon))[0].mid())
        return log(value) if value > 0 else -inf


def test_an_engine_of_ones_own_takes_its_place_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = 3 * RandomizedResponse(epsilon="0.7", k=5) + 2 * PureDP(epsilon="0.3")
    parts = tuple((law, count) for part, count in plan.parts if (law := part.pair()) is not None)
    before, usual = Profile(parts).delta(Fraction(1, 2)), Profile(parts).epsilon(Fraction(1, 100))
    monkeypatch.setattr(engines, "ENGINES", [(Enumerated,), *engines.ENGINES])
    after, found = Profile(parts).delta(Fraction(1, 2)), Profile(parts).epsilon(Fraction(1, 100))
    assert before.method != after.method == found.method == "all outcomes"
    assert after[:2] == pytest.approx(before[:2], rel=1e-15)
    assert found[:2] == pytest.approx(usual[:2], rel=1e-14)
    laplace = Laplace(epsilon=1).pair()
    assert laplace is not None
    assert Profile(((laplace, 1),)).delta(Fraction(1, 2)).method == "finite sum"  # it has nothing to offer there
