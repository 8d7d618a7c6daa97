"""The mechanisms, one file each: `MECHANISMS` is the list of them, `WRAPPERS` that of those which run another one."""

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.channel import Channel, LossPair
from zcdp.mechanisms.local.binary_randomized_response import BinaryRandomizedResponse
from zcdp.mechanisms.local.hadamard_response import HadamardResponse
from zcdp.mechanisms.local.hybrid_response import HybridResponse
from zcdp.mechanisms.local.local_hashing import LinearHashing, LocalHashing
from zcdp.mechanisms.local.memoized_rappor import MemoizedRAPPOR
from zcdp.mechanisms.local.randomized_response import RandomizedResponse
from zcdp.mechanisms.local.rappor import RAPPOR
from zcdp.mechanisms.local.square_wave import SquareWave
from zcdp.mechanisms.local.subset_selection import SubsetSelection
from zcdp.mechanisms.local.unary_encoding import OptimizedUnaryEncoding, UnaryEncoding
from zcdp.mechanisms.mixture_of_gaussians import MixtureOfGaussians
from zcdp.mechanisms.noise.combined_noise import Mixture, Truncated
from zcdp.mechanisms.noise.discrete_laplace import DiscreteLaplace
from zcdp.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from zcdp.mechanisms.noise.integer_noise import IntegerNoise
from zcdp.mechanisms.noise.laplace import Laplace
from zcdp.mechanisms.noise.logistic import Logistic
from zcdp.mechanisms.noise.noise_families import AsymmetricLaplace, Cauchy, GeneralizedGaussian, StudentT
from zcdp.mechanisms.noise.own_noise import Noise
from zcdp.mechanisms.noise.staircase import DiscreteStaircase, Staircase
from zcdp.mechanisms.noise.truncated_geometric import TruncatedGeometric
from zcdp.mechanisms.pure_dp import PureDP, PureGroup
from zcdp.mechanisms.random_allocation import Allocation
from zcdp.mechanisms.replaced_sample import ReplacedSample
from zcdp.mechanisms.selection.bounded_range import BoundedRange, ExponentialMechanism
from zcdp.mechanisms.selection.permute_and_flip import PermuteAndFlip
from zcdp.mechanisms.selection.report_noisy_max import ReportNoisyMax
from zcdp.mechanisms.selection.sparse_vector import SparseVector
from zcdp.mechanisms.selection.top_k import TopK
from zcdp.mechanisms.sensitivity import L1, L2, L0LInf, L1LInf, Sensitivity
from zcdp.mechanisms.shuffled import Shuffled
from zcdp.mechanisms.subsampled import Subsampled
from zcdp.mechanisms.truncated_sample import TruncatedSample

__all__ = [
    "L1",
    "L2",
    "MECHANISMS",
    "RAPPOR",
    "WRAPPERS",
    "Allocation",
    "AsymmetricLaplace",
    "BinaryRandomizedResponse",
    "BoundedRange",
    "Cauchy",
    "Channel",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteStaircase",
    "ExponentialMechanism",
    "Gaussian",
    "GeneralizedGaussian",
    "HadamardResponse",
    "HybridResponse",
    "IntegerNoise",
    "L0LInf",
    "L1LInf",
    "Laplace",
    "LinearHashing",
    "LocalHashing",
    "Logistic",
    "LossPair",
    "Mechanism",
    "MemoizedRAPPOR",
    "Mixture",
    "MixtureOfGaussians",
    "Noise",
    "OptimizedUnaryEncoding",
    "PermuteAndFlip",
    "PureDP",
    "PureGroup",
    "RandomizedResponse",
    "ReplacedSample",
    "ReportNoisyMax",
    "Sensitivity",
    "Shuffled",
    "SparseVector",
    "SquareWave",
    "Staircase",
    "StudentT",
    "Subsampled",
    "SubsetSelection",
    "TopK",
    "Truncated",
    "TruncatedGeometric",
    "TruncatedSample",
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
    IntegerNoise,
    Mixture,
    Truncated,
    AsymmetricLaplace,
    Cauchy,
    GeneralizedGaussian,
    StudentT,
    Noise,
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
    HybridResponse,
    SquareWave,
    BoundedRange,
    ExponentialMechanism,
    PermuteAndFlip,
    ReportNoisyMax,
    TopK,
    SparseVector,
    Channel,
    LossPair,
    MixtureOfGaussians,
)

WRAPPERS: tuple[type[Mechanism], ...] = (Subsampled, Shuffled, TruncatedSample, ReplacedSample, Allocation)
"""Mechanisms that run another mechanism: on a sample of the records, or on reports that are shuffled."""
