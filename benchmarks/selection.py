"""What is known of sparse vector and of noisy max with Laplace noise, beside the plain bounds, and how fast.

Run with `python benchmarks/selection.py`. Plain: the Laplace bound at the whole epsilon, or threshold and queries
apart. Times are processor time of a new mechanism, the best of five; draws are single runs of ten queries, or
selections from ten scores.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import process_time
from timeit import repeat

from zcdp import Laplace, Mechanism, ReportNoisyMax, SparseVector

PAIRS = (("0.05", "0.05"), ("0.5", "0.5"), ("1", "1"), ("2", "2"), ("4", "4"), ("0.5", "1"), ("1", "0.5"))
DELTA = 1e-6


def best(run: Callable[[], object], number: int = 1) -> float:
    """Milliseconds for one."""
    return min(repeat(run, number=number, repeat=5, timer=process_time)) / number * 1e3


def plain(m: SparseVector) -> float:
    share = Laplace(epsilon=m.epsilon_queries / m.positives).rho
    return min(
        Laplace(epsilon=m.epsilon_threshold).rho + 2 * m.positives * share,
        Laplace(epsilon=m.epsilon_threshold + m.epsilon_queries).rho,
    )


def row(name: str, build: Callable[[], Mechanism], before: float) -> None:
    m = build()
    lower, upper = m.rho_bounds
    print(
        f"{name:34} {lower:12.7g} {upper:12.7g} {upper / lower if lower else float('inf'):6.3f} {before:12.7g}"
        f" {before / upper:6.2f} {best(lambda: build().rho):8.1f}"
    )


def main() -> None:
    print(f"{'':34} {'lower':>12} {'rho':>12} {'ratio':>6} {'plain':>12} {'gain':>6} {'rho, ms':>8}")
    for monotone in (False, True):
        for e1, e2 in PAIRS:
            name = f"sparse vector ({e1}, {e2}){' monotone' if monotone else ''}"

            def build(e1: str = e1, e2: str = e2, monotone: bool = monotone) -> SparseVector:
                return SparseVector(epsilon_threshold=e1, epsilon_queries=e2, monotone=monotone)

            row(name, build, plain(build()))
    for positives in (5, 20):

        def several(positives: int = positives) -> SparseVector:
            return SparseVector(epsilon_threshold="0.5", epsilon_queries="0.5", positives=positives)

        row(f"sparse vector (0.5, 0.5), {positives} positives", several, plain(several()))
    for epsilon in ("0.1", "0.5", "1", "2", "4", "8"):
        row(
            f"noisy max, epsilon {epsilon}",
            lambda epsilon=epsilon: ReportNoisyMax(epsilon=epsilon),
            Laplace(epsilon=epsilon).rho,
        )
    sparse = SparseVector(epsilon_threshold="0.5", epsilon_queries="0.5", positives=20)
    for count in (1, 10, 100):
        routes = (count * sparse).routes(delta=DELTA)
        shown = ", ".join(f"{name} {value:.4f}" for name, value in routes.items())
        print(f"{count} times sparse vector (0.5, 0.5), 20 positives, epsilon at {DELTA}: {shown}")
    noisy = ReportNoisyMax(epsilon=1)
    queries = [Fraction(-50)] * 10
    print(f"one run of ten queries: {best(lambda: list(sparse.run(queries, sensitivity=1)), 20):.3f} ms")
    print(f"one selection from ten scores: {best(lambda: noisy.release([0.0] * 10, sensitivity=1), 200):.4f} ms")


if __name__ == "__main__":
    main()
