"""What each engine of the profile earns: the everyday plan it exists for, with all engines and without it, in one run.

Run with `python benchmarks/earns.py`, or with names of engines after it. An engine earns its place if without it the
upper end of that plan is looser by 1e-9, relatively, or its answer takes twice as long (processor seconds, the least of
three). One that earns nothing goes. CONTRIBUTING.md has the table.
"""

from __future__ import annotations

import sys
from time import process_time

from zcdp import NotCertified, Plan
from zcdp.privacy.profile import profile
from zcdp.privacy.profile.engine import Engine

OFF_LATTICE = " + ".join(f"Laplace(epsilon={0.1 + 0.0137 * n**1.3})" for n in range(30))
ROWS: list[tuple[str, str, str, str, str]] = [  # engine, everyday plan, its text, what is asked, at what
    ("ClosedForm", "one step of DP-SGD", "Subsampled(Gaussian(sigma=1), rate='0.01')", "epsilon", "1e-6"),
    (
        "Adaptive",
        "50 asymmetric randomized responses",
        "50 * BinaryRandomizedResponse(p='3/4', q='2/5')",
        "epsilon",
        "1e-6",
    ),
    ("WholeSum", "12 Laplace counts", "12 * Laplace(epsilon='0.5')", "epsilon", "1e-6"),
    (
        "BinomialSum",
        "1000 of one pair of two outcomes",
        "1000 * LossPair(p=['11/20', '9/20'], q=['1/2', '1/2'], ordered=True)",
        "epsilon",
        "1e-6",
    ),
    ("Contour", "1000 Laplace counts", "1000 * Laplace(epsilon='0.1')", "epsilon", "1e-6"),
    ("LatticeContour", "100 discrete Gaussian counts", "100 * DiscreteGaussian(sigma=3)", "epsilon", "1e-6"),
    ("CutSum", "2 truncated geometric counts", "2 * TruncatedGeometric(epsilon=1, n=20)", "delta", "1"),
    ("Smoothed", "30 Laplace counts of different epsilons", OFF_LATTICE, "epsilon", "1e-6"),
    ("Smoothed", "2 steps of DP-SGD", "2 * Subsampled(Gaussian(sigma=1), rate='0.01')", "epsilon", "1e-6"),
    ("TwoUses", "2 rounds of sampled devices", "2 * Subsampled(Gaussian(sigma=1), rate='1e-5')", "epsilon", "1e-6"),
    ("Cells", "3 rounds of sampled devices", "3 * Subsampled(Gaussian(sigma=1), rate='1e-5')", "epsilon", "1e-6"),
    ("Cells", "10 epochs of random allocation", "10 * Allocation(Gaussian(sigma=1), batches=100)", "epsilon", "1e-6"),
]
TIGHTER, FASTER = 1e-9, 2.0


def asked(text: str, what: str, at: str) -> tuple[float, float]:
    """Seconds of the fastest of three answers, and the upper end."""
    best, upper = float("inf"), float("inf")
    for _ in range(3):
        plan = Plan.parse(text)
        start = process_time()
        try:
            bounds = plan.epsilon_bounds(delta=at) if what == "epsilon" else plan.delta_bounds(epsilon=at)
            upper = bounds[1]
        except NotCertified:
            pass
        best = min(best, process_time() - start)
    return best, upper


def main(names: list[str]) -> None:
    """Print the table; an engine without a row that shows what it earns is named at the end."""
    every, second = list(profile.ENGINES), profile._second
    kinds: dict[str, type[Engine]] = {kind.__name__: kind for row in every for kind in row}
    earned: set[str] = set()
    print(f"{'engine':15} {'plan':40} {'with':>10} {'without':>10}  {'faster':>8} {'tighter':>9}")
    for name, plan, text, what, at in ROWS:
        if names and name not in names:
            continue
        seconds, upper = asked(text, what, at)
        profile.ENGINES[:] = [tuple(kind for kind in row if kind is not kinds[name]) for row in every]
        if name == "Cells":
            profile._second = lambda *_: None
        try:
            slower, wider = asked(text, what, at)
        finally:
            profile.ENGINES[:], profile._second = every, second
        faster, tighter = slower / seconds, wider / upper - 1
        if faster >= FASTER or tighter > TIGHTER:
            earned.add(name)
        print(
            f"{name:15} {plan:40} {1e3 * seconds:7.2f} ms {1e3 * slower:7.2f} ms  {faster:7.1f}x {tighter:9.1e}",
            flush=True,
        )
    idle = sorted(set(names or kinds) - earned)
    print("earns nothing: " + ", ".join(idle) if idle else "each of them earns its place")


if __name__ == "__main__":
    main(sys.argv[1:])
