"""Profiles in doubles on a free and on a busy machine: products that stay on one core against the library's threads.

Run with `python benchmarks/busy_cores.py`. Each question is asked of fresh plans, in turns of the two, by the clock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import zcdp
from zcdp.numeric.doubles import product
from zcdp.privacy.loss import sampled_density_law as density_decay
from zcdp.privacy.loss import sampled_gaussian_law as sampled_decay
from zcdp.privacy.profile import float_contour
from zcdp.privacy.profile import float_contour as float_waves

PLANS = (
    "10 * Subsampled(Laplace(epsilon=2), rate=0.1)",
    "20 * Laplace(epsilon='0.3') + 7 * RandomizedResponse(epsilon='0.11', k=7) + 5 * PermuteAndFlip(epsilon='0.17')",
)
TURNS = 5
OTHERS = "import numpy\nsome = numpy.ones((300, 300))\nwhile True: some @ some"


def seconds(text: str, multiply: Callable[[Any, Any], Any]) -> float:
    """What epsilon of the plan takes with such products."""
    for module in (density_decay, sampled_decay, float_contour, float_waves):
        module.product = multiply
    plan = zcdp.Plan.parse(text)
    begun = time.perf_counter()
    plan.epsilon_bounds(delta="1e-3")
    return time.perf_counter() - begun


def compare(load: str) -> None:
    """The least and the longest of some turns."""
    for text in PLANS:
        seconds(text, product)
        pairs = [(seconds(text, product), seconds(text, lambda left, right: left @ right)) for _ in range(TURNS)]
        one, threads = zip(*pairs, strict=True)
        print(
            f"{load}: {min(one):.2f} to {max(one):.2f} s on one core, {min(threads):.2f} to {max(threads):.2f} s "
            f"with threads: {text}"
        )


def main() -> None:
    """First alone, then beside as many programs as there are cores, that multiply matrices too."""
    compare("free")
    busy = [subprocess.Popen([sys.executable, "-c", OTHERS]) for _ in range(os.cpu_count() or 1)]
    try:
        compare("busy")
    finally:
        for one in busy:
            one.kill()


if __name__ == "__main__":
    main()
