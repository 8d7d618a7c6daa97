"""Checks of composition, conversion, calibration and filters, against sums over all outcomes and each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import comb, exp, inf, log, nextafter
from statistics import NormalDist

from zcdp.accounting.allocation import Query, allocate
from zcdp.accounting.calibration import calibrate
from zcdp.accounting.filter import BudgetExceeded, Filter, left_of_delta, renyi_budget
from zcdp.mechanisms import (
    RAPPOR,
    BinaryRandomizedResponse,
    BoundedRange,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Logistic,
    PermuteAndFlip,
    PureDP,
    RandomizedResponse,
)
from zcdp.privacy.curve import Plan
from zcdp.training_audit import audit_training
from zcdp.verification.checks import Check

__all__ = ["checks"]


def checks(*, deep: bool) -> Iterator[Check]:
    """One or more checks for each theorem on plans."""
    for n in (5, 50, 500, 2000) if deep else (5, 50):
        yield Check("profile", f"{n} times 2-RR: delta summed over all outcomes, in rationals", partial(_binomial, n))
    for n in (10, 1000) if deep else (100,):
        yield Check(
            "rdp-to-approx", f"{n} times Laplace: profile <= Renyi curve <= rho alone", partial(_routes_ranked, n)
        )
    yield Check("composition", "the Renyi curves of a sum add up", _adds_up)
    yield Check("directions", "asymmetric answers met in both directions are covered", _directions)
    yield Check("domination", "a larger profile has a larger Renyi curve", _domination)
    yield Check("logistic-pair", "the logistic profile covers bounded range", _logistic)
    yield Check("discrete-laplace-pair", "discrete Laplace lies between two Laplace profiles", _long_lattice)
    yield Check("lipschitz", "the Laplace profile covers permute-and-flip", _lipschitz)
    yield Check("tradeoff", "finds at false alarms: Gaussian noise by its quantiles, 2-RR by its two lines", _tradeoff)
    yield Check("neighbour-graph", "clamped geometric noise: a factor of 2 a step, and all pairs in the end", _graph)
    yield Check("one-run", "an audit in which every guess is right, by its closed form", _one_run)
    yield Check("calibration", "the calibrated float fits, and the next one does not", _calibration)
    yield Check("calibration", "a plan calibrated to (epsilon, delta) fits, and 1e-9 more does not", _plan_calibration)
    yield Check("allocation", "within the budget to a millionth, and of equal relative errors", _allocation)
    yield Check("accuracy", "half-widths of Gaussian and discrete Laplace noise, by hand", _accuracy)
    yield Check("filter", "admits exactly the budget", _filter)
    yield Check("renyi-filter", "Gaussian noise that fills the budget at its order keeps (epsilon, delta)", _renyi)
    yield Check("approximate-filter", "what may tell all, beside Gaussian noise, keeps (epsilon, delta)", _approximate)
    yield Check("budget-levels", "moments of a level whose choices depend on what tells all elsewhere", _levels)


def _tradeoff() -> bool:
    """T(a) = Phi(Phi^-1(a) + mu), and min(3 a, 1 - (1 - a)/3) of odds of 3 to 1."""
    normal, answer = NormalDist(), RandomizedResponse(epsilon="log(3)", k=2)
    for rate in (0.001, 0.1, 0.6):
        low, high = (4 * Gaussian(sigma=2)).tpr_bounds(fpr=rate)
        if not low - 1e-9 <= normal.cdf(normal.inv_cdf(rate) + 1) <= high + 1e-9 or high - low > 1e-9:
            return False
        low, high = answer.tpr_bounds(fpr=rate)
        if not low <= min(3 * rate, 1 - (1 - rate) / 3) + 1e-15 <= high + 2e-15:
            return False
    return True


def _graph() -> bool:
    """Rows of geometric noise of ratio 1/2, clamped to 0 .. 4: neighbours are adjacent, groups are distances."""
    ratio, size = Fraction(1, 2), 5
    rows = [[ratio ** abs(i - j) / 3 for j in range(size)] for i in range(size)]
    for i, row in enumerate(rows):
        row[0], row[-1] = ratio**i * Fraction(2, 3), ratio ** (size - 1 - i) * Fraction(2, 3)
    steps = Channel(rows, neighbours="adjacent")
    losses = all(abs(steps.group(n).pure_epsilon - n * log(2)) < 1e-12 for n in range(1, size))
    return losses and steps.group(size - 1) == Channel(rows) and not steps.local


def _one_run() -> bool:
    """epsilon = log(x/(1 - x)) with x^r = 1 - confidence."""
    x = 0.05 ** (1 / 40)
    found = audit_training(canaries=100, guesses=40, correct=40, confidence="0.95").epsilon_lower
    return abs(found - log(x / (1 - x))) < 1e-8


def _binomial(n: int) -> bool:
    """delta of n binary responses equals the hockey-stick divergence, summed over all outcomes in rationals.

    With odds of 3 to 1, P(j) = C(n, j) 3^j / 4^n, Q(j) = P(n - j), and delta(epsilon) = sum of (P - e^epsilon Q)+.
    """
    steps, plan = n // 3, n * RandomizedResponse(epsilon="log(3)", k=2)
    exact = Fraction(0)
    for j in range(n + 1):
        p, q = Fraction(comb(n, j) * 3**j, 4**n), Fraction(comb(n, j) * 3 ** (n - j), 4**n)
        exact += max(p - 3**steps * q, Fraction(0))
    # epsilon = steps log 3 is not a float: it is between the two used here, and delta falls with epsilon.
    epsilon = (steps * RandomizedResponse(epsilon="log(3)", k=2)).pure_epsilon if steps else 0.0
    low, high = plan.delta_at(epsilon=epsilon), plan.delta_at(epsilon=nextafter(nextafter(epsilon, 0), 0))
    return Fraction(high) >= exact and Fraction(low) <= exact * (1 + Fraction(1, 10**9)) and high - low < 1e-9


def _routes_ranked(n: int) -> bool:
    routes = (n * Laplace(epsilon="0.1")).routes(delta=1e-6)
    return routes["profile"] <= routes["rdp"] <= routes["zcdp"]


def _adds_up() -> bool:
    one, two = Laplace(epsilon=1), RandomizedResponse(epsilon=2, k=99)
    plan = 3 * one + 2 * two
    whole = [(plan.rdp(a), 3 * one.rdp(a) + 2 * two.rdp(a)) for a in (1, 2, 30)]
    return all(abs(a - b) <= 1e-14 * b for a, b in whole) and plan.rho <= 3 * one.rho + 2 * two.rho


def _directions() -> bool:
    """One use in each direction has the hockey-stick divergence .584 at 2.79, two in one direction at most .443."""
    return (2 * BinaryRandomizedResponse("0.6678", "0.0138")).delta_at(epsilon="2.79") >= 0.583


def _domination() -> bool:
    worst, others = PureDP(epsilon=1), (Laplace(epsilon=1), RAPPOR(epsilon=1), RandomizedResponse(epsilon=1, k=5))
    by_profile = all(m.delta_at(epsilon=x) <= worst.delta_at(epsilon=x) for m in others for x in ("0", "0.3", "0.8"))
    return by_profile and all(m.rdp(a) <= worst.rdp(a) for m in others for a in (1, 2, 10))


def _logistic() -> bool:
    """The profile of bounded range is between those of one of its mechanisms and of the logistic pair.

    The mechanism selects from two candidates of symmetric utilities: it is 2-RR at half the range.
    """
    member, cover = RandomizedResponse(epsilon="1/2", k=2), Logistic(epsilon=1)
    class_ = BoundedRange(eta=1)
    points = ("0", "0.1", "0.3", "0.45")
    return all(
        member.delta_at(epsilon=x) <= class_.delta_at(epsilon=x) <= nextafter(cover.delta_at(epsilon=x), inf)
        for x in points
    )


def _long_lattice() -> bool:
    discrete, low, high = DiscreteLaplace(epsilon=1, sensitivity=50), Laplace(epsilon=1), Laplace(epsilon="1.0001")
    return all(
        low.delta_at(epsilon=x) <= discrete.delta_at(epsilon=x) <= high.delta_at(epsilon=x) for x in ("0", "0.4", "0.9")
    )


def _lipschitz() -> bool:
    one, cover = PermuteAndFlip(epsilon=1), Laplace(epsilon=1)
    return all(one.delta_at(epsilon=x) <= nextafter(cover.delta_at(epsilon=x), inf) for x in ("0", "0.4", "0.9"))


def _calibration() -> bool:
    found = Laplace.calibrate(rho="0.1")
    epsilon = float(Fraction(found.epsilon)) if isinstance(found.epsilon, Fraction) else 0.0
    return Fraction(found.rho) <= Fraction(1, 10) < Fraction(Laplace(epsilon=nextafter(epsilon, inf)).rho)


def _plan_calibration() -> bool:
    found = calibrate(lambda e: 100 * Laplace(epsilon=e), epsilon=1, delta=1e-6)
    fits, not_ = 100 * Laplace(epsilon=found), 100 * Laplace(epsilon=found * (1 + 1e-9))
    return fits.delta_at(epsilon=1) <= 1e-6 < not_.delta_at(epsilon=1)


def _allocation() -> bool:
    queries = [Query(Laplace), Query(Laplace, sensitivity=5)]
    found = allocate(queries, epsilon=1, delta=1e-9)
    low, high = sorted(m.relative_error or 0.0 for m in found)
    return 1 - 1e-6 <= Plan.sum_of(*found).epsilon_at(delta=1e-9) <= 1 and high - low <= 1e-8 * high


def _accuracy() -> bool:
    wide = Gaussian(sigma=1000).accuracy().half_width, DiscreteGaussian(sigma=1000).accuracy().half_width
    before, after = (Fraction(2, 3) / 2**h for h in (5, 6))  # P(|x| > h) = 2 q^{h+1}/(1+q) at q = 1/2
    found = DiscreteLaplace(epsilon="log(2)").accuracy(level="0.98").half_width
    return 1959.96398 < wide[0] < 1959.96399 and wide[1] == 1960 and found == 6 and after <= Fraction(1, 50) < before


def _renyi() -> bool:
    """Gaussian noise that fills a Renyi budget B at order alpha, rho = B/alpha, satisfies (epsilon, delta).

    Its exact profile is computed without Renyi orders.
    """
    for epsilon, delta, order in ((10, "1e-6", "3.066"), (1, "1e-6", 30), (4, "1e-8", 9), (2, "0.01", 4)):
        budget = renyi_budget(Fraction(epsilon), Fraction(delta), Fraction(order))
        if Fraction(Gaussian(rho=budget / Fraction(order)).delta_at(epsilon=epsilon)) > Fraction(delta):
            return False
    return True


def _approximate() -> bool:
    """With probability d all is told, else Gaussian noise fills the rest: delta is d + (1 - d) of the noise's."""
    for epsilon, delta, order in ((10, "1e-6", "3.066"), (1, "1e-6", 30), (2, "0.01", 4)):
        mass = Fraction(delta) * Fraction(19, 20)
        budget = renyi_budget(Fraction(epsilon), left_of_delta(Fraction(delta), mass), Fraction(order))
        noise = Fraction(Gaussian(rho=budget / Fraction(order)).delta_at(epsilon=epsilon))
        if mass + (1 - mass) * noise > Fraction(delta):
            return False
    return True


def _levels() -> bool:
    """E e^{sL} of two responses, of which the second has other odds if the first is false; all else is known."""

    def moment(odds: int, after: Callable[[bool], float]) -> float:
        return (odds * exp(s * log(odds)) * after(True) + exp(-s * log(odds)) * after(False)) / (odds + 1)

    rho = {odds: RandomizedResponse(epsilon=f"log({odds})", k=2).rho for odds in (2, 3)}
    for s in (0.01, 0.5, 1.0, 4.0):
        found = moment(3, lambda first: moment(3 if first else 2, lambda _: 1.0))
        if not found <= exp(s * (1 + s) * (rho[3] + max(rho.values()))):
            return False
    return True


def _filter() -> bool:
    budget = Filter(rho="0.3")
    for _ in range(3):
        budget.spend(rho="0.1")
    try:
        budget.spend(rho="1e-100")
    except BudgetExceeded:
        return budget.remaining == 0
    return False
