"""Each engine of this checkout against another one's, side by side in one run, in CPU seconds.

Run with `python benchmarks/engines.py OTHER`, OTHER being the `src` directory of another checkout. Each question is
asked of fresh plans, in turns of the two, and the least time of each counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

QUESTIONS = {
    "finite sum, one": ("Laplace(epsilon=1)", "delta", "0.5", 300),
    "finite sum, many": ("60 * RandomizedResponse(epsilon='0.3', k=7)", "epsilon", "1e-6", 20),
    "finite sum, cut": ("39 * Logistic(epsilon=1.5)", "epsilon", "1e-6", 40),
    "contour": ("1000 * Laplace(epsilon=0.1)", "epsilon", "1e-6", 20),
    "contour, large": ("100000 * Laplace(epsilon=0.01) + 50 * Gaussian(sigma=10)", "epsilon", "1e-6", 10),
    "lattice": ("300 * PureDP(epsilon='0.1') + 30 * Laplace(epsilon='0.3')", "epsilon", "1e-6", 30),
    "lattice, rows": ("40 * DiscreteLaplace(epsilon=1, sensitivity=60)", "epsilon", "1e-6", 8),
    "lattice, theta": ("100 * DiscreteGaussian(sigma=3)", "epsilon", "1e-6", 40),
    "smoothed": (" + ".join(f"Laplace(epsilon={0.1 + 0.0137 * n**1.3})" for n in range(30)), "epsilon", "1e-6", 3),
    "largest loss": ("35315 * PureDP(epsilon=5)", "epsilon", "1e-250", 300),
    "near one": ("80000 * PureDP(epsilon='0.1')", "delta", "100", 150),
    "rho": ("Laplace(epsilon=0.1) + RAPPOR(epsilon=1)", "rho", "", 300),
}

ASK = """
import json, sys, time
from zcdp import Plan
text, what, at, times = json.loads(sys.stdin.read())
def ask():
    plan = Plan.parse(text)
    start = time.process_time()
    if what == "rho":
        plan.rho
    elif what == "delta":
        plan.delta_bounds(epsilon=at)
    else:
        plan.epsilon_bounds(delta=at)
    return time.process_time() - start
ask()
print(min(ask() for _ in range(times)))
"""


def seconds(source: Path, question: tuple[str, str, str, int]) -> float:
    """The least of several."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command, asked = [sys.executable, "-c", ASK], json.dumps(question)
    done = subprocess.run(command, input=asked, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main(other: Path) -> None:
    here = Path(__file__).parent.parent / "src"
    print(f"{'engine':20} {'other':>10} {'this':>10}  ratio")
    for name, question in QUESTIONS.items():
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        times = [(seconds(other, question), seconds(here, question)) for _ in range(3)]
        before, after = (min(column) for column in zip(*times, strict=True))
        print(f"{name:20} {before * 1e3:8.2f}ms {after * 1e3:8.2f}ms  {after / before:.3f}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
