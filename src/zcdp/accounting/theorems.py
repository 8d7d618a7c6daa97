"""The titles of the theorems that an account cites; the pages themselves are under docs/theorems/."""

from __future__ import annotations

from zcdp.accounting.accounts import Citation

__all__ = ["TITLES", "cited"]

TITLES = {
    "bounded-range": "Bounded range: rho = eta/(e^eta - 1) + log((e^eta - 1)/eta) - 1",
    "composition": "Composition of curves",
    "cumulant": "The cumulant of the privacy loss",
    "discrete-gaussian": "Discrete Gaussian: the same rho, a slightly lower curve",
    "discrete-gaussian-vectors": "Discrete Gaussian noise on vectors: a Gaussian pair that dominates",
    "discrete-laplace": "Discrete Laplace: rho = epsilon (1 - (1 - e^-epsilon) csch(t)/Delta)",
    "gaussian": "Gaussian: rho = Delta^2/(2 sigma^2)",
    "group": "Group privacy of pure DP is discrete Laplace",
    "laplace": "Laplace: rho = epsilon + e^-epsilon - 1",
    "linear-hashing": "Linear hashing: every two values collide with probability 1/g",
    "logistic": "Logistic noise: rho = epsilon coth(epsilon/2) - 2, and it dominates bounded range",
    "logistic-vectors": "Logistic noise on vectors: what the norm of the move does",
    "memoized-rappor": "RAPPOR with memory",
    "permute-and-flip": "Permute-and-flip: exact curve and rho",
    "profile": "The exact privacy profile of a composition",
    "pure-dp": "Pure DP: rho = epsilon tanh(epsilon/2)",
    "rappor": "RAPPOR: rho = epsilon tanh(epsilon/4)",
    "rdp-to-approx": "From a Renyi curve to (epsilon, delta)",
    "report-noisy-max": "Report noisy max",
    "sampling": "Poisson sampling: the pair, its composition, and why rho does not feel it",
    "shuffling": "Shuffled reports: the pair of randomized response, and of every randomizer",
    "sparse-vector": "Sparse vector: a proven upper bound",
    "supremum": "A certified supremum over orders, without a theorem on the mechanism",
    "three-point-maps": "Which mechanisms are three-point, and their kappa",
    "top-k": "Top-k: one selection after another",
    "total-variation": "Pure DP with a bound on the total variation distance",
    "truncated-geometric": "Truncated geometric: all pairs, certified",
    "two-point": "Two outcomes: asymmetric binary randomized response",
    "vector-queries": "Vector queries: what the norm of the move does",
}


def cited(names: set[str]) -> tuple[Citation, ...]:
    """Identifier, title and page of each.

    >>> cited({"rappor"})[0].title
    'RAPPOR: rho = epsilon tanh(epsilon/4)'
    """
    return tuple(Citation(n, TITLES.get(n, n), f"docs/theorems/{n}.md") for n in sorted(names))
