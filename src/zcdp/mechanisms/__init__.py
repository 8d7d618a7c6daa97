"""The mechanisms, one file each; `MECHANISMS` is the list of them all."""

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.bounded_range import BoundedRange, ExponentialMechanism
from zcdp.mechanisms.discrete_laplace import DiscreteLaplace
from zcdp.mechanisms.laplace import Laplace
from zcdp.mechanisms.pure_dp import PureDP
from zcdp.mechanisms.randomized_response import RandomizedResponse
from zcdp.mechanisms.rappor import RAPPOR

__all__ = [
    "MECHANISMS",
    "RAPPOR",
    "BoundedRange",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Laplace",
    "Mechanism",
    "PureDP",
    "RandomizedResponse",
]

MECHANISMS: tuple[type[Mechanism], ...] = (
    PureDP,
    Laplace,
    DiscreteLaplace,
    RandomizedResponse,
    RAPPOR,
    BoundedRange,
    ExponentialMechanism,
)
