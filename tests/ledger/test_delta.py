"""Spends of approximate zCDP against explicit mechanisms that give their input away with some probability."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from pathlib import Path

import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

from zcdp import Filter, Gaussian, LossPair, Odometer
from zcdp.ledger import BudgetExceeded, Ledger, LedgerError
from zcdp.ledger.ledger_statement import statement

RESPONSE = LossPair(p=["2/3", "1/3"], q=["1/3", "2/3"])
"""One bit, told rightly with probability 2/3: its loss is +-log 2."""


def true_delta_of_bits(epsilon: float, reveal: list[Fraction]) -> Fraction:
    """delta at epsilon of bits told n times, each time given away with its own probability: by counting.

    The loss of k right answers of n is (2k - n) log 2, and infinite where the bit was given away at least once.
    """
    n, kept = len(reveal), Fraction(1)
    for one in reveal:
        kept *= 1 - one
    with mp.workdps(60):
        ratio = exp(mpf(epsilon))
        rest = mpf(0)
        for k in range(n + 1):
            mass = Fraction(comb(n, k) * 2**k, 3**n)
            gain = 1 - ratio * mpf(2) ** (n - 2 * k)
            rest += max(gain, mpf(0)) * mpf(mass.numerator) / mass.denominator
        return 1 - kept + kept * Fraction(str(mp.nstr(rest, 50)))


def true_delta_of_gaussians(epsilon: float, rho: float, reveal: list[Fraction]) -> mpf:
    """The same for Gaussian noise, whose composition is Gaussian with mu = sqrt(2 rho): Balle and Wang 2018."""
    with mp.workdps(60):
        mu, e = sqrt(2 * mpf(rho)), mpf(epsilon)

        def upper(x: mpf) -> mpf:
            return erfc(x / sqrt(2)) / 2

        plain = upper(e / mu - mu / 2) - exp(e) * upper(e / mu + mu / 2)
        kept = mpf(1)
        for one in reveal:
            kept *= 1 - mpf(one.numerator) / one.denominator
        return 1 - kept + kept * plain


@pytest.mark.parametrize("times", [1, 3, 12, 40])
@pytest.mark.parametrize("chance", ["1e-8", "1e-4", "1/300"])
def test_an_account_of_rho_and_delta(ledger: Ledger, times: int, chance: str) -> None:
    mass = Fraction(chance)
    rho = times * RESPONSE.rho_fraction
    ledger.open_account("keys", unit="person", rho=rho, approximate=times * mass)
    for n in range(times):
        ledger.spend("keys", RESPONSE, delta=mass, key=f"{n}")
    account = ledger.account("keys")
    assert (account.remaining, account.delta_remaining) == (0, 0)
    with pytest.raises(BudgetExceeded, match="exceeds what remains"):
        ledger.spend("keys", rho="1e-9", delta=mass, key="more")
    total = float(2 * times * mass)
    [told] = statement(ledger, ["keys"], delta=total)["accounts"]
    given = told["guarantee"]
    assert true_delta_of_bits(given["epsilon"], [mass] * times) <= Fraction(given["delta"])
    assert ledger.verify()


@pytest.mark.parametrize("order", [None, 12])
@pytest.mark.parametrize("chance", ["1e-9", "4e-7"])
def test_an_account_of_epsilon_and_delta_holds_with_what_spends_give_away(
    ledger: Ledger, order: int | None, chance: str
) -> None:
    """Gaussian noise until the account refuses, each draw with a chance to give all away: the promise is kept."""
    ledger.open_account("e", unit="person", epsilon=4, delta="1e-6", approximate="9e-7", order=order)
    noise, given = Gaussian(sigma=7), Fraction(chance)
    spent = 0
    while ledger.would_fit("e", noise, delta=given):
        ledger.spend("e", noise, delta=given, key=f"{spent}")
        spent += 1
        if spent >= 60:
            break
    assert spent >= 2
    assert true_delta_of_gaussians(4, spent / 98, [given] * spent) <= mpf("1e-6")
    with pytest.raises(ValueError, match="must be below delta"):
        ledger.open_account("f", unit="person", epsilon=4, delta="1e-6", approximate="1e-6")


def test_without_a_budget_of_delta_nothing_with_a_delta_is_admitted(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match=r"the delta \(1.*e-09\) exceeds what remains \(0\): nothing was spent"):
        ledger.spend("census", rho="0.1", delta="1e-9", key="a")
    ledger.open_account("cap", unit="person", rho="0.5", approximate="1e-6", under="census")
    with pytest.raises(BudgetExceeded, match=r"of 'census', above 'cap'"):
        ledger.spend("cap", rho="0.1", delta="1e-9", key="a")
    for wrong in (0, 1, -1, "x"):
        with pytest.raises(ValueError, match="delta"):
            ledger.spend("cap", rho="0.1", delta=wrong, key="a")
    assert ledger.account("cap").delta_budget == Fraction(1, 10**6)


@pytest.mark.parametrize("elsewhere", ["1/1000", "1/10", "9/10"])
def test_a_level_answers_for_its_own_delta_alone(ledger: Ledger, elsewhere: str) -> None:
    """A run of two mechanisms, outcome by outcome, the one elsewhere giving itself away as often as it likes.

    What the level's own result adds has the moments of its rho, but for an event of the level's own delta.
    """
    ledger.open_account("all", unit="person", rho=9, approximate="19/20")
    ledger.open_account("health", unit="person", rho=RESPONSE.rho_fraction, approximate="1/100", under="all")
    ledger.open_account("labour", unit="person", rho=9, approximate=elsewhere, under="all")
    ledger.spend("labour", RESPONSE, delta=elsewhere, key="first")
    ledger.spend("health", RESPONSE, delta="1/100", key="second")
    told = {one["name"]: one["guarantee"] for one in statement(ledger, delta="1/50")["accounts"]}["health"]

    def law(bit: int, chance: Fraction) -> dict[object, Fraction]:
        """A bit told rightly with probability 2/3, and beyond doubt with the chance to give it away."""
        said = {bit: Fraction(2, 3), 1 - bit: Fraction(1, 3)}
        return {**{one: (1 - chance) * mass for one, mass in said.items()}, f"it is {bit}": chance}

    def run(bit: int, *, own: Fraction) -> dict[tuple[object, object], Fraction]:
        """All outcomes; the level asks again only where the answer elsewhere was 1, or gave the bit away."""
        whole = {}
        for first, mass in law(bit, Fraction(elsewhere)).items():
            second = {"not asked": Fraction(1)} if first == 0 else law(bit, own)
            whole |= {(first, one): mass * more for one, more in second.items()}
        return whole

    level, rho = Fraction(1, 100), RESPONSE.rho_fraction
    p, p_star = run(1, own=level), run(1, own=Fraction(0))
    assert all(p.get(one, 0) >= (1 - level) * mass for one, mass in p_star.items())
    for s in (1, 2, 5):
        moment = sum(
            mass * (Fraction(1) if second == "not asked" else Fraction(2, 1) ** s if second == 1 else Fraction(1, 2**s))
            for (_, second), mass in p_star.items()
        )
        bound = exp(s * (1 + s) * mpf(rho.numerator) / rho.denominator)
        assert mpf(moment.numerator) / moment.denominator <= bound
    # By itself, its results satisfy what the report states at a delta that all chances of the run would exceed.
    assert true_delta_of_bits(told["epsilon"], [level]) <= Fraction(told["delta"]) < Fraction(1, 10)


def test_a_delta_belongs_to_the_spend(ledger: Ledger, tmp_path: Path) -> None:
    ledger.open_account("keys", unit="person", rho=1, approximate="0.1")
    ledger.spend("keys", Gaussian(sigma=7), delta="0.01", key="a")
    assert ledger.spend("keys", Gaussian(sigma=7), delta="1/100", key="a").repeated
    for other in ({"delta": "0.02"}, {}):
        with pytest.raises(LedgerError, match="was used for something else"):
            ledger.spend("keys", Gaussian(sigma=7), key="a", **other)
    ledger.reserve("keys", rho="0.1", delta="0.09", key="b", expires=1000)
    assert ledger.account("keys").delta_remaining == 0
    ledger.commit("keys", "b")
    with pytest.raises(ValueError, match="have a delta: a plan does not tell it"):
        ledger.plan("keys")
    assert ledger.verify()


def test_a_filter_that_knows_delta() -> None:
    noise, chance = Gaussian(sigma=7), Fraction(1, 10**8)
    f = Filter(epsilon=4, delta="1e-6", approximate="5e-7", workload=noise)
    times = 0
    while f.would_fit(noise, delta=chance):
        f.spend(noise, delta=chance)
        times += 1
    assert f.delta_spent == times * chance
    assert times >= 25
    assert true_delta_of_gaussians(4, times / 98, [chance] * times) <= mpf("1e-6")
    g = Filter(rho=1, approximate="1e-6")
    g.spend(rho="0.1", delta="1e-6")
    assert not g.would_fit(rho="0.1", delta="1e-300")
    with pytest.raises(BudgetExceeded, match=r"delta \(1.*e-09\) exceeds what remains \(0\): nothing was spent"):
        g.spend(rho="0.1", delta="1e-9")
    g.spend(rho="0.9")
    assert g.remaining == 0
    with pytest.raises(BudgetExceeded, match="delta"):
        Filter(rho=1).spend(rho="0.1", delta="1e-9")
    with pytest.raises(ValueError, match="must be below delta"):
        Filter(epsilon=1, delta="1e-6", approximate="1e-6")


def test_an_odometer_that_knows_delta() -> None:
    o = Odometer()
    for _ in range(20):
        o.spend(RESPONSE, delta="1e-4")
    assert o.delta == Fraction(20, 10**4)
    epsilon = o.epsilon_at(delta="0.01")
    truth = true_delta_of_bits(epsilon, [Fraction(1, 10**4)] * 20)
    assert Fraction(99, 10000) < truth <= Fraction(1, 100)  # d added up where chances multiply: little is lost
    assert o.epsilon_at(delta="0.002") == float("inf")
    with pytest.raises(ValueError, match="no bound on their loss holds at all times"):
        o.anytime_epsilon(delta="0.1")
