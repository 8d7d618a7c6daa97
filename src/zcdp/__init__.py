"""Exact, certified zCDP accounting for the mechanisms of differential privacy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zcdp.accounting import Plan, PlanError
from zcdp.errors import SensitivityWarning, ZcdpError
from zcdp.mechanisms import (
    L1,
    L2,
    MECHANISMS,
    RAPPOR,
    Allocation,
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
    MixtureOfGaussians,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    PureDP,
    PureGroup,
    RandomizedResponse,
    ReplacedSample,
    ReportNoisyMax,
    Sensitivity,
    Shuffled,
    SparseVector,
    Staircase,
    Subsampled,
    SubsetSelection,
    TopK,
    TruncatedGeometric,
    TruncatedSample,
    UnaryEncoding,
)
from zcdp.mechanisms.noise.additive import Accuracy
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import Log
from zcdp.privacy.curve import Curve

if TYPE_CHECKING:
    from zcdp.accounting import (
        Account,
        BudgetExceeded,
        Filter,
        Odometer,
        Query,
        TargetsDoNotFit,
        account,
        allocate,
        calibrate,
        load,
    )
    from zcdp.auditing import Audit, audit
    from zcdp.collection.choose import Choice, Design, choose
    from zcdp.estimation.frequency_estimates import Counts, Histogram
    from zcdp.ledger import KeyConflict, Ledger, LedgerBusy, LedgerError
    from zcdp.privacy.convert import zcdp_to_delta, zcdp_to_epsilon
    from zcdp.training import Training

__version__ = "0.2.0"

__all__ = [
    "L1",
    "L2",
    "MECHANISMS",
    "RAPPOR",
    "Account",
    "Accuracy",
    "Allocation",
    "Audit",
    "BinaryRandomizedResponse",
    "BoundedRange",
    "BudgetExceeded",
    "Channel",
    "Choice",
    "Counts",
    "Curve",
    "Design",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteStaircase",
    "ExponentialMechanism",
    "Filter",
    "Gaussian",
    "HadamardResponse",
    "Histogram",
    "KeyConflict",
    "L0LInf",
    "L1LInf",
    "Laplace",
    "Ledger",
    "LedgerBusy",
    "LedgerError",
    "LinearHashing",
    "LocalHashing",
    "Log",
    "Logistic",
    "LossPair",
    "Mechanism",
    "MemoizedRAPPOR",
    "MixtureOfGaussians",
    "NotCertified",
    "Odometer",
    "OptimizedUnaryEncoding",
    "PermuteAndFlip",
    "Plan",
    "PlanError",
    "PureDP",
    "PureGroup",
    "Query",
    "RandomizedResponse",
    "ReplacedSample",
    "ReportNoisyMax",
    "Sensitivity",
    "SensitivityWarning",
    "Shuffled",
    "SparseVector",
    "Staircase",
    "Subsampled",
    "SubsetSelection",
    "TargetsDoNotFit",
    "TopK",
    "Training",
    "TruncatedGeometric",
    "TruncatedSample",
    "UnaryEncoding",
    "ZcdpError",
    "__version__",
    "account",
    "allocate",
    "audit",
    "calibrate",
    "choose",
    "load",
    "zcdp_to_delta",
    "zcdp_to_epsilon",
]

# Names whose modules are imported on first use: a program that only asks for rho starts sooner.
_ACCOUNTING = (
    "Account",
    "BudgetExceeded",
    "Filter",
    "Odometer",
    "Query",
    "TargetsDoNotFit",
    "account",
    "allocate",
    "calibrate",
    "load",
)
_HOMES = {
    "Audit": "zcdp.auditing",
    "Choice": "zcdp.collection.choose",
    "Counts": "zcdp.estimation.frequency_estimates",
    "Design": "zcdp.collection.choose",
    "Histogram": "zcdp.estimation.frequency_estimates",
    "Training": "zcdp.training",
    "audit": "zcdp.auditing",
    "choose": "zcdp.collection.choose",
    "zcdp_to_delta": "zcdp.privacy.convert",
    "zcdp_to_epsilon": "zcdp.privacy.convert",
} | dict.fromkeys(_ACCOUNTING, "zcdp.accounting")
_LEDGER = ("KeyConflict", "Ledger", "LedgerBusy", "LedgerError")
_HOMES |= dict.fromkeys(_LEDGER, "zcdp.ledger")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from zcdp.text.suggestions import absent

        raise AttributeError(absent(name, __all__))
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
