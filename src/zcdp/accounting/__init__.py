"""What is done with plans: account for them, calibrate and allocate noise, keep a budget by a filter or an odometer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zcdp.plans import plan_json as json_form
from zcdp.plans import plan_text as parser
from zcdp.plans.plan_text import PlanError
from zcdp.privacy.curve import Forms, Plan

if TYPE_CHECKING:
    from zcdp.accounting.allocation import Query, TargetsDoNotFit, allocate
    from zcdp.accounting.calibration import calibrate
    from zcdp.accounting.filter import BudgetExceeded, Filter
    from zcdp.accounting.odometer import Odometer
    from zcdp.accounting.plan_account import Account, account
    from zcdp.accounting.plan_queries import load

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

# `Plan` is defined below the mechanisms, as `m + m` makes one; reading it from text needs the names of all mechanisms,
# so that the readers are handed to it here.
Plan.forms = Forms(parser.parse, json_form.load, json_form.dump)

# The module of each name, imported on first use: a program that only asks for rho starts sooner.
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
    "load": "plan_queries",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
