"""The mechanisms, one file each; `MECHANISMS` is the list of them all."""

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.binary_randomized_response import BinaryRandomizedResponse
from zcdp.mechanisms.bounded_range import BoundedRange, ExponentialMechanism
from zcdp.mechanisms.channel import Channel, LossPair
from zcdp.mechanisms.discrete_laplace import DiscreteLaplace
from zcdp.mechanisms.gaussian import DiscreteGaussian, Gaussian
from zcdp.mechanisms.hadamard_response import HadamardResponse
from zcdp.mechanisms.laplace import Laplace
from zcdp.mechanisms.linear_hashing import LinearHashing
from zcdp.mechanisms.local_hashing import LocalHashing
from zcdp.mechanisms.logistic import Logistic
from zcdp.mechanisms.memoized_rappor import MemoizedRAPPOR
from zcdp.mechanisms.permute_and_flip import PermuteAndFlip
from zcdp.mechanisms.pure_dp import PureDP
from zcdp.mechanisms.pure_group import PureGroup
from zcdp.mechanisms.randomized_response import RandomizedResponse
from zcdp.mechanisms.rappor import RAPPOR
from zcdp.mechanisms.report_noisy_max import ReportNoisyMax
from zcdp.mechanisms.sensitivity import L1, L2, L0LInf, L1LInf, Sensitivity
from zcdp.mechanisms.shuffled import Shuffled
from zcdp.mechanisms.sparse_vector import SparseVector
from zcdp.mechanisms.staircase import DiscreteStaircase, Staircase
from zcdp.mechanisms.subsampled import Subsampled
from zcdp.mechanisms.subset_selection import SubsetSelection
from zcdp.mechanisms.top_k import TopK
from zcdp.mechanisms.truncated_geometric import TruncatedGeometric
from zcdp.mechanisms.unary_encoding import OptimizedUnaryEncoding, UnaryEncoding

__all__ = [
    "L1",
    "L2",
    "MECHANISMS",
    "RAPPOR",
    "WRAPPERS",
    "BinaryRandomizedResponse",
    "BoundedRange",
    "Channel",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteStaircase",
    "ExponentialMechanism",
    "Gaussian",
    "HadamardResponse",
    "L0LInf",
    "L1LInf",
    "Laplace",
    "LinearHashing",
    "LocalHashing",
    "Logistic",
    "LossPair",
    "Mechanism",
    "MemoizedRAPPOR",
    "OptimizedUnaryEncoding",
    "PermuteAndFlip",
    "PureDP",
    "PureGroup",
    "RandomizedResponse",
    "ReportNoisyMax",
    "Sensitivity",
    "Shuffled",
    "SparseVector",
    "Staircase",
    "Subsampled",
    "SubsetSelection",
    "TopK",
    "TruncatedGeometric",
    "UnaryEncoding",
]

MECHANISMS: tuple[type[Mechanism], ...] = (
    PureDP,
    PureGroup,
    Laplace,
    DiscreteLaplace,
    Logistic,
    Gaussian,
    DiscreteGaussian,
    Staircase,
    DiscreteStaircase,
    TruncatedGeometric,
    RandomizedResponse,
    BinaryRandomizedResponse,
    RAPPOR,
    UnaryEncoding,
    OptimizedUnaryEncoding,
    SubsetSelection,
    HadamardResponse,
    LocalHashing,
    LinearHashing,
    MemoizedRAPPOR,
    BoundedRange,
    ExponentialMechanism,
    PermuteAndFlip,
    ReportNoisyMax,
    TopK,
    SparseVector,
    Channel,
    LossPair,
)

WRAPPERS: tuple[type[Mechanism], ...] = (Subsampled, Shuffled)
"""Mechanisms that run another one."""
