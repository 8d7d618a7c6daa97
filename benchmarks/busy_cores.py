"""Products of doubles on a busy machine: in pieces that stay on one core, against the library's own threads.

python benchmarks/busy_cores.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from zcdp.numeric.one_core import product

SHAPES = ((16, 12, 1024), (16, 40, 1024), (16, 400, 1024))  # of a contour in doubles: rows of nodes, terms, and a row
REPEATS = 200


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """The mean of some runs, after a first one, and the longest."""
    work()
    taken = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return sum(taken) / REPEATS, max(taken)


def compare(load: str) -> None:
    random = np.random.default_rng(1)
    for rows, inner, columns in SHAPES:
        left = random.normal(size=(rows, inner)) + 1j * random.normal(size=(rows, inner))
        right = random.normal(size=(inner, columns)) + 1j * random.normal(size=(inner, columns))
        pieces, longest = seconds(lambda: product(left, right))  # noqa: B023 - it runs at once
        whole, whole_longest = seconds(lambda: left @ right)  # noqa: B023
        print(
            f"{load}: {rows} x {inner} x {columns}: {1e3 * pieces:.2f} ms in pieces, longest {1e3 * longest:.1f} ms; "
            f"as one {whole / pieces:.1f}x, longest {whole_longest / longest:.1f}x"
        )


def main() -> None:
    compare("free machine")
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        compare("busy machine")
    finally:
        for one in busy:
            one.kill()


if __name__ == "__main__":
    main()
