"""Exact, certified zCDP accounting for the mechanisms of differential privacy."""

from zcdp.accounting import BudgetExceeded, Filter, Odometer, Plan, PlanError, Query, allocate, calibrate
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
    "BudgetExceeded",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Filter",
    "Laplace",
    "Log",
    "Mechanism",
    "NotCertified",
    "Odometer",
    "Plan",
    "PlanError",
    "PureDP",
    "Query",
    "RandomizedResponse",
    "__version__",
    "allocate",
    "calibrate",
]
