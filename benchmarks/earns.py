"""What each engine of the profile earns: plans that it might exist for, with all engines and without it, in one run.

Run with `python benchmarks/earns.py`. An engine earns its place where some everyday plan is wider by 1e-9 without it,
or takes twice as long. Times are processor seconds, the least of three; a plan that fails without it says so.
"""

from __future__ import annotations

from time import process_time

from zcdp import NotCertified, Plan
from zcdp.privacy.profile import engines
from zcdp.privacy.profile.engine_base import Engine

OFF_LATTICE = " + ".join(f"Laplace(epsilon={0.1 + 0.0137 * n**1.3})" for n in range(30))
ASYMMETRIC = "BinaryRandomizedResponse(p='0.75', q='0.4')"
PLANS = {
    "one Gaussian": "Gaussian(sigma=1)",
    "one Laplace": "Laplace(epsilon=1)",
    "5 Laplace + 2 randomized response": "5 * Laplace(epsilon='0.3') + 2 * RandomizedResponse(epsilon=1, k=5)",
    "39 logistic": "39 * Logistic(epsilon=1.5)",
    "50 asymmetric 2x2": f"50 * {ASYMMETRIC}",
    "400 asymmetric 2x2": f"400 * {ASYMMETRIC}",
    "50 of one 2-row pair": "50 * LossPair(p=['3/4', '1/4'], q=['2/5', '3/5'], ordered=True)",
    "1000 of one 2-row pair": "1000 * LossPair(p=['11/20', '9/20'], q=['1/2', '1/2'], ordered=True)",
    "1000 Laplace": "1000 * Laplace(epsilon=0.1)",
    "300 pure + 30 Laplace": "300 * PureDP(epsilon='0.1') + 30 * Laplace(epsilon='0.3')",
    "40 discrete Laplace": "40 * DiscreteLaplace(epsilon=1, sensitivity=60)",
    "100 discrete Gaussian": "100 * DiscreteGaussian(sigma=3)",
    "60 randomized response": "60 * RandomizedResponse(epsilon='0.3', k=7)",
    "30 Laplace on no lattice": OFF_LATTICE,
    "DP-SGD, 1000 steps": "1000 * Subsampled(Gaussian(sigma=1), rate='0.01')",
    "2 steps at a tiny rate": "2 * Subsampled(Gaussian(sigma=3), rate='1e-4')",
    "5 exponential mechanisms": "5 * ExponentialMechanism(epsilon='0.5')",
}


def asked(text: str) -> tuple[float, tuple[float, float]]:
    """Seconds, and the ends of epsilon at delta = 1e-6."""
    best, ends = float("inf"), (0.0, float("inf"))
    for _ in range(3):
        plan = Plan.parse(text)
        start = process_time()
        ends = plan.epsilon_bounds(delta="1e-6")
        best = min(best, process_time() - start)
    return best, ends


def main() -> None:
    every = list(engines.ENGINES)
    second = engines._second
    known = {name: asked(text) for name, text in PLANS.items()}
    print(f"{'engine':16} {'plan':36} {'time':>7} {'upper end':>12} {'width':>10}")
    kinds: list[type[Engine]] = [engine for row in every for engine in row]
    for kind in kinds:
        engines.ENGINES[:] = [tuple(one for one in row if one is not kind) for row in every]
        engines._second = second if kind is not engines.Grid else lambda *_: None
        earned = 0
        for name, text in PLANS.items():
            seconds, (low, high) = known[name]
            try:
                slower, (lower, upper) = asked(text)
            except NotCertified:
                print(f"{kind.__name__:16} {name:36} no answer without it", flush=True)
                earned += 1
                continue
            wider, ratio = upper / high - 1 if high else upper - high, slower / seconds
            gap = (upper - lower) - (high - low)
            if wider > 1e-9 or gap > 1e-9 * high or ratio > 2:
                earned += 1
                print(f"{kind.__name__:16} {name:36} {ratio:6.2f}x {wider:+12.1e} {gap:+10.1e}", flush=True)
        if not earned:
            print(f"{kind.__name__:16} nothing in these plans")
    engines.ENGINES[:], engines._second = every, second


if __name__ == "__main__":
    main()
