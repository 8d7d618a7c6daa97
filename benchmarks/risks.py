"""What an attacker gains, beside riskcal and dp-accounting, and how often audits of one training run are right.

    python benchmarks/risks.py [runs]

One run; the peers in an environment of their own, their clock started after their imports. Asked is the largest true
positive rate at a false positive rate; our own width stands beside it. riskcal takes the loss distributions of
dp-accounting, here on their default grid of 1e-4; dp-accounting asks its own accountant, where its release has such a
method. A number below our lower end is below the truth for the worse order of the neighbours. Then `runs` (20,000 by
default) simulated training runs of claims that are true, and of claims that are a tenth too low: how many are refuted.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np
from peers import peer_python, run_peer

from zcdp import Gaussian, Laplace, Subsampled
from zcdp.training_audit import OneRun

RATES = [1e-4, 1e-3, 1e-2, 1e-1]
CASES: dict[str, tuple[str, float, float, int]] = {  # kind, noise, sampling rate, uses
    "Gaussian noise, sigma 1": ("gaussian", 1.0, 1.0, 1),
    "100 x Laplace noise, scale 10": ("laplace", 10.0, 1.0, 100),
    "14063 steps, sigma 1.1, rate 256/60000": ("gaussian", 1.1, 256 / 60000, 14063),
}

PEERS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import dp_accounting as dpa
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as pld
import riskcal.analysis as risk
cases, rates = json.loads(sys.argv[1])
out = {}
def clock(name, run):
    start = time.process_time()
    try:
        value = run()
    except Exception as error:
        value = "no answer" if isinstance(error, AttributeError) else type(error).__name__
    out[name] = [value, time.process_time() - start]
for name, (kind, noise, rate, uses) in cases.items():
    def law(h=1e-4):
        if kind == "laplace":
            one = pld.from_laplace_mechanism(noise, value_discretization_interval=h)
        else:
            one = pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=h)
        return one.self_compose(uses) if uses > 1 else one
    clock(f"riskcal {name}", lambda: [float(1 - b) for b in risk.get_beta_from_pld(law(), np.array(rates))])
    clock(f"riskcal advantage {name}", lambda: float(risk.get_advantage_from_pld(law())))
    def accountant():
        event = dp_event.LaplaceDpEvent(noise) if kind == "laplace" else dp_event.GaussianDpEvent(noise)
        event = event if rate == 1 else dp_event.PoissonSampledDpEvent(rate, event)
        return PLDAccountant().compose(event, uses)
    clock(f"dp-accounting {name}", lambda: [float(x) for x in accountant().get_true_positive_rates(np.array(rates))])
    clock(f"dp-accounting mu {name}", lambda: float(accountant().get_gdp_parameter_estimate()))
print(json.dumps(out))
"""


def ours(kind: str, noise: float, rate: float, uses: int) -> Any:
    """The plan of a case."""
    one = Laplace(scale=noise) if kind == "laplace" else Gaussian(sigma=noise)
    return uses * (one if rate == 1 else Subsampled(one, rate=Fraction(256, 60000)))


def risks() -> None:
    """Print the rates, advantages and mu of all cases."""
    theirs = run_peer(peer_python("risks", "riskcal==1.5.1", "dp-accounting==0.6.0"), PEERS, CASES, RATES)
    for name, case in CASES.items():
        plan = ours(*case)
        start = time.process_time()
        ends = [plan.tpr_bounds(fpr=rate) for rate in RATES]
        spent = time.process_time() - start
        print(f"\n{name}")
        print(f"{'':26}" + "".join(f"{f'at {rate:g}':>14}" for rate in RATES) + f"{'seconds':>10}")
        print(f"{'zcdp, at most':26}" + "".join(f"{high:14.8f}" for _, high in ends) + f"{spent:10.2f}")
        print(f"{'zcdp, at least':26}" + "".join(f"{low:14.8f}" for low, _ in ends))
        for peer in ("riskcal", "dp-accounting"):
            values, seconds = theirs[f"{peer} {name}"]
            shown = "".join(f"{one:14.8f}" for one in values) if isinstance(values, list) else f"{values:>14}"
            below = isinstance(values, list) and any(one < low for one, (low, _) in zip(values, ends, strict=True))
            print(f"{peer:26}{shown}{seconds:10.2f}{'  below the truth' if below else ''}")
        start = time.process_time()
        low, high = plan.gdp_bounds()
        print(f"advantage: zcdp {plan.advantage:.10f}, riskcal {_told(theirs[f'riskcal advantage {name}'])}")
        mu, seconds = theirs[f"dp-accounting mu {name}"], time.process_time() - start
        print(f"mu: zcdp {low:.6f} to {high:.6f} ({seconds:.1f} s); dp-accounting's estimate {_told(mu)}")


def _told(found: list[Any]) -> str:
    return f"{found[0]:.10f}" if isinstance(found[0], float) else str(found[0])


def audits(runs: int) -> None:
    """Print how many simulated training runs refute a claim of epsilon, at 95%: true claims, and ones too low."""
    rng = np.random.default_rng(1)
    print(f"\n{runs} training runs each, 95%: share that refutes the claim (the bound of Steinke et al. in brackets)")
    print(f"{'canaries, guesses, delta':34}{'epsilon':>9}{'true claim':>18}{'a tenth too low':>20}")
    for m, r, delta in ((300, 60, 1e-3), (1000, 1000, 1e-5), (10_000, 10_000, 1e-5)):
        for epsilon in (1.0, 2.0):
            shares = []
            for claimed in (epsilon, epsilon / 1.1):
                odds = np.exp(epsilon)
                right = rng.binomial(r, odds / (1 + odds) * (1 - delta) + delta, size=runs)
                found: list[float] = []
                for bound in (OneRun.p_value, OneRun.steinke):
                    low, high = 1, r + 1  # the least v that refutes
                    while low < high:
                        v = (low + high) // 2
                        refutes = bound(OneRun(m, r, v), Fraction(claimed), Fraction(delta)) <= 0.05
                        low, high = (low, v) if refutes else (v + 1, high)
                    found.append(float((right >= low).mean()))
                shares.append(f"{found[0]:.4f} ({found[1]:.4f})")
            print(f"{f'{m}, {r}, {delta:g}':34}{epsilon:9g}{shares[0]:>18}{shares[1]:>20}")


if __name__ == "__main__":
    audits(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
    risks()
