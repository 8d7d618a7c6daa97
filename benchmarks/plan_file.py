"""A plan file of 10 000 queries: seconds to read and account for, by how many different mechanisms it has.

Run: python benchmarks/plan_file.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

KINDS = (
    "Laplace(epsilon={})",
    "DiscreteLaplace(epsilon={}, sensitivity=2)",
    "RandomizedResponse(epsilon={}, k=1000)",
    "RAPPOR(epsilon={})",
    "ExponentialMechanism(epsilon={})",
)


def plan(queries: int, different: int) -> str:
    epsilons = [f"{0.001 + 0.01 * (n // len(KINDS) + 1) / different:.9f}" for n in range(different)]
    texts = [KINDS[n % len(KINDS)].format(epsilon) for n, epsilon in enumerate(epsilons)]
    return "\n".join(f'[[query]]\nname = "query {n}"\nmechanism = "{texts[n % different]}"\n' for n in range(queries))


def seconds(*arguments: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-m", "zcdp", *arguments], check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start


def main() -> None:
    start = min(seconds("rho", "RandomizedResponse(epsilon=1, k=2925)") for _ in range(5))
    print(f"zcdp rho, from start to end: {1000 * start:.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        for different in (5, 50, 1000, 10_000):
            file = Path(folder) / f"{different}.toml"
            file.write_text(plan(10_000, different))
            text, data = seconds("account", str(file)), seconds("account", str(file), "--json")
            print(f"10 000 queries, {different:6} different mechanisms: {text:5.2f} s, with the curve {data:5.2f} s")


if __name__ == "__main__":
    main()
