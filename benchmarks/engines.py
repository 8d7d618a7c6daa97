"""Each engine of this checkout against another one's, or against itself without the check of laws, in CPU seconds.

Run with `python benchmarks/engines.py OTHER`, OTHER being the `src` directory of another checkout, or with
`python benchmarks/engines.py --check` for what `LossLaw.check` and `Claim.check` cost; names of questions may follow.
Each question is asked of fresh plans in several processes, in turns of the two, and the least time of each counts. With
`--check` it is asked in two ways: again and again, where laws that were seen are remembered, and with all remembered
laws forgotten before each question.
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

TURNS = 8

ASK = """
import json, sys, time
from zcdp import Plan
text, what, at, times, checked, forget = json.loads(sys.stdin.read())
caches = []
if not checked or forget:
    import zcdp.privacy.loss as loss
    from zcdp.privacy.loss.law import LossLaw
    if not checked:
        LossLaw.check = lambda *_: None
        if hasattr(loss, "Claim"):
            loss.Claim.check = lambda *_: None
    if forget:
        caches = [one.cache_clear for one in vars(loss).values() if hasattr(one, "cache_clear")]
def ask(plan):
    for clear in caches:
        clear()
    start = time.process_time()
    if what == "rho":
        plan.rho
    elif what == "delta":
        plan.delta_bounds(epsilon=at)
    else:
        plan.epsilon_bounds(delta=at)
    return time.process_time() - start
plans = [Plan.parse(text) for _ in range(times + 1)]  # Reading a text empties the processor's caches: not in between.
ask(plans.pop())
print(min(map(ask, plans)))
"""


def seconds(source: Path, question: tuple[str, str, str, int], *, checked: bool = True, forget: bool = False) -> float:
    """The least of several times for one question, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command, asked = [sys.executable, "-c", ASK], json.dumps((*question, checked, forget))
    done = subprocess.run(command, input=asked, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main(other: str, *names: str) -> None:
    here = Path(__file__).parent.parent / "src"
    if other == "--check":
        ways = {"": False, ", forgotten": True}
        title, before = "unchecked", lambda question, forget: seconds(here, question, checked=False, forget=forget)
    else:
        ways, title, before = {"": False}, "other", lambda question, _: seconds(Path(other), question)
    print(f"{'engine':28} {title:>10} {'this':>10}  ratio")
    for name, question in QUESTIONS.items():
        if names and name not in names:
            continue
        for way, forget in ways.items():
            times = []
            for turn in range(TURNS):  # Each of the two goes first in half of the turns.
                first = before(question, forget) if turn % 2 else None
                this = seconds(here, question, forget=forget)
                times.append((before(question, forget) if first is None else first, this))
            old, new = (min(column) for column in zip(*times, strict=True))
            print(f"{name + way:28} {old * 1e3:8.3f}ms {new * 1e3:8.3f}ms  {new / old:.3f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
