"""What one does with mechanisms: read plans, account for them, calibrate, allocate, and keep within a budget."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zcdp.plans import plan_json as json_form
from zcdp.plans import plan_text as parser
from zcdp.plans.plan_text import PlanError
from zcdp.privacy.plan import Forms, Plan

if TYPE_CHECKING:
    from zcdp.accounting.allocation import Query, TargetsDoNotFit, allocate
    from zcdp.accounting.calibration import calibrate
    from zcdp.accounting.filter import BudgetExceeded, Filter
    from zcdp.accounting.loaded import load
    from zcdp.accounting.odometer import Odometer
    from zcdp.accounting.plan_account import Account, account

__all__ = [
    "Account",
    "BudgetExceeded",
    "Filter",
    "Odometer",
    "Plan",
    "PlanError",
    "Query",
    "TargetsDoNotFit",
    "account",
    "allocate",
    "calibrate",
    "load",
]

# Plans live below the mechanisms, so that `m + m` is one; their text forms need the mechanisms' names, known only here.
Plan.forms = Forms(parser.parse, json_form.load, json_form.dump)

# imported on first use: a program that only asks for rho starts sooner
_HOMES = {
    "Account": "plan_account",
    "BudgetExceeded": "filter",
    "Filter": "filter",
    "Odometer": "odometer",
    "Query": "allocation",
    "TargetsDoNotFit": "allocation",
    "account": "plan_account",
    "allocate": "allocation",
    "calibrate": "calibration",
    "load": "loaded",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
