"""Exact, certified zCDP accounting for the mechanisms of differential privacy."""

from zcdp.mechanisms import (
    MECHANISMS,
    RAPPOR,
    BoundedRange,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    PureDP,
    RandomizedResponse,
)
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.exact import Log

__version__ = "0.1.0"

__all__ = [
    "MECHANISMS",
    "RAPPOR",
    "BoundedRange",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Laplace",
    "Log",
    "Mechanism",
    "NotCertified",
    "PureDP",
    "RandomizedResponse",
    "__version__",
]
