"""One row per mechanism instance: a new row buys every law in tests/laws."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zcdp import (
    L2,
    RAPPOR,
    BinaryRandomizedResponse,
    BoundedRange,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    ExponentialMechanism,
    Gaussian,
    HadamardResponse,
    L0LInf,
    L1LInf,
    Laplace,
    LinearHashing,
    LocalHashing,
    Logistic,
    LossPair,
    Mechanism,
    MemoizedRAPPOR,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    PureDP,
    PureGroup,
    RandomizedResponse,
    ReportNoisyMax,
    SparseVector,
    Staircase,
    Subsampled,
    SubsetSelection,
    TopK,
    TruncatedGeometric,
    UnaryEncoding,
)


@dataclass(frozen=True)
class Kind:
    """A mechanism with a budget, the parameters beside it, and how the independent reference names it."""

    mechanism: type[Mechanism]
    fixed: tuple[dict[str, Any], ...] = ({},)
    reference: str = ""

    def at(self, budget: Any, **fixed: Any) -> Mechanism:
        return self.mechanism(**{self.mechanism.budget: budget}, **fixed)

    def truth(self, budget: Fraction, **fixed: Any) -> dict[str, Any]:
        """Parameters of the reference."""
        name = "eta" if self.reference == "bounded_range" else "epsilon"
        return {name: budget, **fixed}


KINDS = (
    Kind(PureDP, ({},), "pure_dp"),
    Kind(PureDP, ({"total_variation": "0.001"}, {"total_variation": 1})),
    Kind(PureGroup, ({}, {"size": 3})),
    Kind(Laplace, ({},), "laplace"),
    Kind(Laplace, ({"sensitivity": L0LInf(20, 1)}, {"sensitivity": L1LInf(7, "2.5")})),
    Kind(DiscreteLaplace, tuple({"sensitivity": d} for d in (1, 2, 7, 1000, 10**18)), "discrete_laplace"),
    Kind(DiscreteLaplace, ({"sensitivity": L0LInf(20, 1)}, {"sensitivity": L1LInf(7, 3)})),
    Kind(Logistic, ({}, {"sensitivity": L0LInf(20, 1)}, {"sensitivity": L1LInf(7, "2.5")})),
    Kind(Staircase, ({}, *({"gamma": gamma} for gamma in (0, "0.2", "1/2", "0.9", 1)))),
    Kind(DiscreteStaircase, tuple({"sensitivity": d, "r": r} for d, r in ((1, 1), (5, 2), (6, 4), (10**6, 3)))),
    Kind(
        RandomizedResponse,
        tuple({"k": k} for k in (2, 3, 6, 7, 9, 50, 2925, 10**9, 2**63)),
        "randomized_response",
    ),
    Kind(RAPPOR, ({},), "rappor"),
    Kind(OptimizedUnaryEncoding),
    Kind(SubsetSelection, tuple({"k": k, "size": w} for k, w in ((2, 1), (100, 27), (10**6, 10**6 - 1)))),
    Kind(HadamardResponse, ({}, {"blocks": 2}, {"blocks": 1000})),
    Kind(LocalHashing, ({"g": 2}, {"g": 1000}, {"g": 4, "random_hash": True})),
    Kind(LinearHashing, ({"g": 2, "k": 2}, {"g": 47, "k": 100_000})),
    Kind(BoundedRange, ({},), "bounded_range"),
    Kind(ExponentialMechanism, ({},), "bounded_range"),
    Kind(PermuteAndFlip),
    Kind(TopK, ({"k": 1}, {"k": 7}, {"k": 3, "noise": "exponential", "monotone": True})),
    Kind(ReportNoisyMax, tuple({"noise": noise} for noise in ("gumbel", "exponential", "laplace"))),
)

EPSILONS = (5e-324, 1e-300, 2.0**-126, 1e-9, Fraction(1, 3), 1, 3.5, 40, 1e4, 1.7976931348623157e308)
EVERYDAY = (1e-6, 1e-3, "0.1", Fraction(1, 3), 1, 3.5, 10, 40)

# mechanisms whose parameters have no one budget among them
OTHERS: tuple[Mechanism, ...] = (
    UnaryEncoding("3/4", "1/4"),
    UnaryEncoding("0.999", "1e-9"),
    MemoizedRAPPOR(f="1/2", p="1/2", q="3/4", collections=4),
    MemoizedRAPPOR(f="0.01", p="0.001", q="0.9", collections=2),
    BinaryRandomizedResponse("1/2", "1/4"),
    BinaryRandomizedResponse("0.6678", "0.0138"),
    BinaryRandomizedResponse("0.5000001", "0.5"),
    BinaryRandomizedResponse(1 - 2**-40, 2**-30),
    Gaussian(sigma=10),
    Gaussian(rho=3, sensitivity=7),
    DiscreteGaussian(sigma="1/2"),
    DiscreteGaussian(sigma=2, sensitivity=3),
    DiscreteGaussian(rho="1e-20"),
    Laplace(scale=3, sensitivity=L2(2)),
    DiscreteLaplace(scale=3, sensitivity=L2("2.5")),
    TruncatedGeometric(epsilon=1, n=5),
    TruncatedGeometric(epsilon="0.1", n=6, sensitivity=2),
    SparseVector(epsilon_threshold="1/2", epsilon_queries="1/2"),
    SparseVector(epsilon_threshold=1, epsilon_queries=4, positives=20),
    Channel([[0.75, 0.25], [0.4, 0.6]]),
    Channel([["1/2", "1/3", "1/6"], ["1/6", "1/2", "1/3"], ["1/3", "1/6", "1/2"]]),
    LossPair(["1/1000", "999/1000"], ["1/1000000", "999999/1000000"]),
    Subsampled(Gaussian(sigma=1), rate="0.5"),
    Subsampled(DiscreteLaplace(epsilon=1), rate="0.3"),
    Subsampled(RandomizedResponse(epsilon="1/2", k=4), rate="0.9"),
)

ROWS: tuple[Mechanism, ...] = (
    *(kind.at(epsilon, **fixed) for kind in KINDS for fixed in kind.fixed for epsilon in EPSILONS),
    *OTHERS,
)
EVERYDAY_ROWS: tuple[Mechanism, ...] = (
    *(kind.at(epsilon, **fixed) for kind in KINDS for fixed in kind.fixed for epsilon in EVERYDAY),
    *OTHERS,
)
