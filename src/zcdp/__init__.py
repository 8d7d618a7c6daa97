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
    AsymmetricLaplace,
    BinaryRandomizedResponse,
    BoundedRange,
    Cauchy,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    ExponentialMechanism,
    Gaussian,
    GeneralizedGaussian,
    HadamardResponse,
    HybridResponse,
    IntegerNoise,
    L0LInf,
    L1LInf,
    Laplace,
    LinearHashing,
    LocalHashing,
    Logistic,
    LossPair,
    Mechanism,
    MemoizedRAPPOR,
    Mixture,
    MixtureOfGaussians,
    Noise,
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
    SquareWave,
    Staircase,
    StudentT,
    Subsampled,
    SubsetSelection,
    TopK,
    Truncated,
    TruncatedGeometric,
    TruncatedSample,
    UnaryEncoding,
)
from zcdp.mechanisms.noise.additive import Accuracy
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import Log
from zcdp.plans.plan_text import WORDS
from zcdp.privacy.curve import Curve
from zcdp.text.notebook import drawn_by

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
    from zcdp.collection.choose_number import choose_number
    from zcdp.collection.heavy_hitters import FoundStrings, HeavyHitters
    from zcdp.estimation.frequency_estimates import Counts, Histogram
    from zcdp.estimation.number_estimates import NumberEstimate
    from zcdp.ledger import KeyConflict, Ledger, LedgerBusy, LedgerError
    from zcdp.privacy.convert import zcdp_to_delta, zcdp_to_epsilon
    from zcdp.training import Training
    from zcdp.training_audit import TrainingAudit, audit_training

__version__ = "0.2.0"

__all__ = [
    "L1",
    "L2",
    "MECHANISMS",
    "RAPPOR",
    "Account",
    "Accuracy",
    "Allocation",
    "AsymmetricLaplace",
    "Audit",
    "BinaryRandomizedResponse",
    "BoundedRange",
    "BudgetExceeded",
    "Cauchy",
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
    "FoundStrings",
    "Gaussian",
    "GeneralizedGaussian",
    "HadamardResponse",
    "HeavyHitters",
    "Histogram",
    "HybridResponse",
    "IntegerNoise",
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
    "Mixture",
    "MixtureOfGaussians",
    "Noise",
    "NotCertified",
    "NumberEstimate",
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
    "SquareWave",
    "Staircase",
    "StudentT",
    "Subsampled",
    "SubsetSelection",
    "TargetsDoNotFit",
    "TopK",
    "Training",
    "TrainingAudit",
    "Truncated",
    "TruncatedGeometric",
    "TruncatedSample",
    "UnaryEncoding",
    "ZcdpError",
    "__version__",
    "account",
    "allocate",
    "audit",
    "audit_training",
    "calibrate",
    "choose",
    "choose_number",
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
    "FoundStrings": "zcdp.collection.heavy_hitters",
    "HeavyHitters": "zcdp.collection.heavy_hitters",
    "Histogram": "zcdp.estimation.frequency_estimates",
    "NumberEstimate": "zcdp.estimation.number_estimates",
    "Training": "zcdp.training",
    "audit": "zcdp.auditing",
    "audit_training": "zcdp.training_audit",
    "TrainingAudit": "zcdp.training_audit",
    "choose": "zcdp.collection.choose",
    "choose_number": "zcdp.collection.choose_number",
    "zcdp_to_delta": "zcdp.privacy.convert",
    "zcdp_to_epsilon": "zcdp.privacy.convert",
} | dict.fromkeys(_ACCOUNTING, "zcdp.accounting")
_LEDGER = ("KeyConflict", "Ledger", "LedgerBusy", "LedgerError")
_HOMES |= dict.fromkeys(_LEDGER, "zcdp.ledger")


def _training() -> Any:
    """The word `Training` of plans, loaded where one is written."""
    from zcdp.training import word

    return word()


WORDS["Training"] = _training  # plan text is read below the packages whose words it may hold


# What a notebook shows is drawn by the report, above all that is shown: imported when something is.
drawn_by(lambda value: str(import_module("zcdp.report.notebook").html(value)))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from zcdp.text.suggestions import absent

        raise AttributeError(absent(name, __all__))
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
