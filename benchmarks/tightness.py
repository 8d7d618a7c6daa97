"""Is epsilon at delta ever above a valid answer of dp-accounting's PLD? Seeded compositions, both asked, in one run.

Run with `python benchmarks/tightness.py [how many of each group] [seed]`; the peer lives in an environment of its own.
The peer connects the dots throughout, the tighter of its two ways to discretize: by default it does so for Laplace and
Gaussian noise only. Its answer is invalid where it is below our certified lower end, which is 0 where we have none.
Exit status 1: ours is worse than a valid answer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from math import inf
from random import Random
from statistics import median
from typing import Any, NamedTuple

from peers import peer_python, run_peer

from zcdp import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, NotCertified, Plan, RandomizedResponse
from zcdp.privacy.routes import Routes

TOLERANCE = 1e-9  # the peer takes a scale where we take epsilon, as floats: that alone is 1e-16 to 1e-13
MOST_SPENT = 40  # about the largest epsilon in question: arrays of the peer grow with it
FINE = 12  # and the largest at which the peer is asked with its interval of 1e-5 also

PEER = """
import json, math, sys, time, warnings
warnings.simplefilter("ignore")
from dp_accounting.pld import pld_pmf, privacy_loss_distribution as pld
def response(epsilon, k, interval):
    # from_randomized_response (replace one) rounds each of its three losses up; here the same law, dots connected
    other = 1 / (math.exp(epsilon) + k - 1)
    truth = math.exp(epsilon) * other
    law = (truth, other), ((k - 2) * other, (k - 2) * other), (other, truth)
    steps = epsilon / interval
    grid = sorted({0, *(f(sign * steps) for sign in (-1, 1) for f in (math.floor, math.ceil))})
    deltas = [sum(max(p - math.exp(n * interval) * q, 0) for p, q in law) for n in grid]
    return pld.PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(interval, grid, deltas))
def one(kind, noise, size, interval):
    noise = float(noise)
    dots = dict(value_discretization_interval=interval, use_connect_dots=True)
    if kind == "Laplace":
        return pld.from_laplace_mechanism(1 / noise, **dots)
    if kind == "DiscreteLaplace":
        return pld.from_discrete_laplace_mechanism(noise / size, size, **dots)
    if kind == "Gaussian":
        return pld.from_gaussian_mechanism(noise, size, **dots)
    if kind == "DiscreteGaussian":
        return pld.from_discrete_gaussian_mechanism(noise, size, **dots)
    return response(noise, size, interval)
def epsilon(parts, delta, interval):
    total = None
    for kind, noise, size, count in parts:
        many = one(kind, noise, size, interval)
        many = many.self_compose(count) if count > 1 else many
        total = many if total is None else total.compose(many)
    return total.get_epsilon_for_delta(delta)
answers = []
for question in json.loads(sys.argv[1]):
    start = time.process_time()
    try:
        value = float(epsilon(*question))
    except Exception:
        value = math.nan
    answers.append([value, time.process_time() - start])
print(json.dumps(answers))
"""


class Part(NamedTuple):
    """A mechanism as both sides are told of it: epsilon (or sigma), sensitivity (or k), how often it runs."""

    kind: str
    noise: float | str
    size: int
    count: int

    def ours(self) -> Plan:
        kinds: dict[str, Callable[[], Any]] = {
            "Laplace": lambda: Laplace(epsilon=self.noise),
            "DiscreteLaplace": lambda: DiscreteLaplace(epsilon=self.noise, sensitivity=self.size),
            "Gaussian": lambda: Gaussian(sigma=self.noise, sensitivity=self.size),
            "DiscreteGaussian": lambda: DiscreteGaussian(sigma=self.noise, sensitivity=self.size),
            "RandomizedResponse": lambda: RandomizedResponse(epsilon=self.noise, k=self.size),
        }
        return Plan.repeated(kinds[self.kind](), self.count)

    def reach(self) -> float:
        """About how large its losses get, all runs together."""
        noise = float(self.noise)
        if "Gaussian" in self.kind:
            mean = (self.size / noise) ** 2 / 2 * self.count
            return mean + 8 * (2 * mean) ** 0.5
        return min(self.count * noise, self.count * noise**2 / 2 + 8 * self.count**0.5 * noise)


class Answer(NamedTuple):
    """One question and what became of it."""

    group: str
    plan: Plan
    delta: float
    bounds: tuple[float, float]
    seconds: float
    interval: float
    peer: float
    peer_seconds: float

    @property
    def valid(self) -> bool:
        return self.peer >= self.bounds[0] * (1 - TOLERANCE)

    @property
    def worse(self) -> float:
        """By how much ours is above the peer's, as a part of it."""
        least = max(self.peer, self.bounds[0])
        return self.bounds[1] / least - 1 if least else inf if self.bounds[1] else 0.0


class Family(NamedTuple):
    """Mechanisms of one kind: where their noise and their size are drawn from."""

    kind: str
    low: float
    high: float
    sizes: tuple[int, ...]
    digits: int = 17

    def part(self, rng: Random, most: int) -> Part:
        """One of them; where it alone would spend a lot, with a lower count or less of it."""
        noise, size = log_uniform(rng, self.low, self.high), rng.choice(self.sizes)
        text = f"{noise:.{self.digits}g}"
        count = round(log_uniform(rng, min(2, most), most))
        while (part := Part(self.kind, noise if self.digits == 17 else text, size, count)).reach() > MOST_SPENT:
            if count == 1:
                return self.part(rng, most)
            count = (count + 1) // 2
        return part


FAMILIES = {
    "Laplace, floats": (Family("Laplace", 1e-3, 5, (1,)),),
    "Laplace, decimals": (Family("Laplace", 1e-3, 5, (1,), digits=1),),
    "discrete Laplace": (Family("DiscreteLaplace", 1e-3, 5, (1, 2, 3, 7, 20, 100)),),
    "discrete Laplace, decimals": (Family("DiscreteLaplace", 1e-3, 5, (1, 2, 5), digits=1),),
    "discrete Laplace, far": (Family("DiscreteLaplace", 1e-3, 5, (101, 200, 300)),),
    "Gaussian": (Family("Gaussian", 0.5, 300, (1, 2, 3)),),
    "discrete Gaussian": (Family("DiscreteGaussian", 0.5, 20, (1, 2, 3)),),
    "discrete Gaussian, wide": (Family("DiscreteGaussian", 21, 300, (1, 2, 3)),),
    "k-RR": (Family("RandomizedResponse", 1e-2, 5, (2, 3, 4, 10, 100)),),
    "k-RR, decimals": (Family("RandomizedResponse", 1e-2, 5, (2, 3, 4, 10, 100), digits=1),),
}
FAMILIES["mixture"] = tuple(family for [family] in FAMILIES.values())


def log_uniform(rng: Random, low: float, high: float) -> float:
    return float(low * (high / low) ** rng.random())


def composition(rng: Random, shape: str, families: tuple[Family, ...]) -> list[Part]:
    """One mechanism; 2 to 30 different ones, once each; 1 to 5 of them with counts of 2 to 1000."""
    size = {"one": 1, "once": rng.randint(2, 30), "counts": rng.randint(1, 5)}[shape]
    parts = []
    while len(parts) < size and sum(part.reach() for part in parts) < MOST_SPENT:
        parts.append(rng.choice(families).part(rng, 1000 if shape == "counts" else 1))
    return parts


def answers(each: int, seed: int) -> list[Answer]:
    asked: list[tuple[str, Plan, float, tuple[float, float], float]] = []
    questions: list[tuple[list[Part], float, float]] = []
    for shape in ("one", "once", "counts"):
        for name, families in FAMILIES.items():
            rng = Random(f"{seed} {shape} {name}")
            for _ in range(each):
                parts, delta = composition(rng, shape, families), float(f"{log_uniform(rng, 1e-11, 1e-3):.1e}")
                plan = Plan.sum_of(*(part.ours() for part in parts))
                start = time.process_time()
                bounds = plan.epsilon_bounds(delta=delta)
                seconds = time.process_time() - start
                for interval in (1e-4, 1e-5) if sum(part.reach() for part in parts) < FINE else (1e-4,):
                    asked.append((f"{shape:6} {name}", plan, delta, bounds, seconds))
                    questions.append((parts, delta, interval))
    replies = run_peer(peer_python("dp-accounting", "dp-accounting==0.6.0"), PEER, *questions)
    return [
        Answer(*ours, interval, *reply) for ours, (_, _, interval), reply in zip(asked, questions, replies, strict=True)
    ]


def method(plan: Plan, delta: float) -> str:
    """The route that gave ours, and what the profile tried last."""
    routes = Routes(plan)
    epsilons = routes.epsilons(delta)
    best = min(epsilons, key=lambda route: epsilons[route])
    if routes.profile is None:
        return f"{best} (no pair)"
    try:
        return f"{best} ({routes.profile.epsilon(Fraction(delta)).method})"
    except NotCertified:
        return f"{best} (nothing certified)"


def report(found: list[Answer]) -> None:
    print("ours/PLD - 1 at delta from 1e-11 to 1e-3, of valid answers; invalid: below our certified lower end, or none")
    print(f"{'':33} {'PLD':>5} {'asked':>5} {'invalid':>7} {'worst':>9} {'median':>9} {'ours':>8} {'PLD':>8}")
    for key in dict.fromkeys((one.group, one.interval) for one in found):
        group = [one for one in found if (one.group, one.interval) == key]
        worse = [one.worse for one in group if one.valid]
        worst, middle = (f"{f(worse):9.1e}" if worse else " " * 9 for f in (max, median))
        seconds = f"{sum(one.seconds for one in group):7.2f}s {sum(one.peer_seconds for one in group):7.2f}s"
        print(f"{key[0]:33} {key[1]:5.0e} {len(group):5} {len(group) - len(worse):7} {worst} {middle} {seconds}")


def main() -> int:
    each, seed = (int(text) for text in (sys.argv[1:] + ["5", "1"][len(sys.argv) - 1 :]))
    found = answers(each, seed)
    report(found)
    lost = [one for one in found if one.valid and one.worse > TOLERANCE]
    worst: dict[str, Answer] = {}
    for one in lost:
        worst[one.group] = max(one, worst.get(one.group, one), key=lambda one: one.worse)
    for one in sorted(worst.values(), key=lambda one: -one.worse):
        print(f"{one.group}: worse by {one.worse:.1e} than PLD {one.interval:.0e}, by {method(one.plan, one.delta)}:")
        print(f"    ({one.plan!r}).epsilon_bounds(delta={one.delta})  # {one.bounds}, PLD {one.peer}")
    print(f"ours is worse than a valid answer in {len(lost)} of {len(found)}")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
