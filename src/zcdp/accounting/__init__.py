"""What one does with mechanisms: read plans, account for them, calibrate, allocate, and keep within a budget."""

from zcdp.accounting import json_form, parser
from zcdp.accounting.account import account
from zcdp.accounting.allocation import Query, allocate
from zcdp.accounting.calibration import calibrate
from zcdp.accounting.filter import BudgetExceeded, Filter
from zcdp.accounting.odometer import Odometer
from zcdp.accounting.parser import PlanError
from zcdp.privacy.plan import Plan

__all__ = ["BudgetExceeded", "Filter", "Odometer", "Plan", "PlanError", "Query", "account", "allocate", "calibrate"]

# Plans live below the mechanisms, so that `m + m` is one; their text forms need the mechanisms' names, known only here.
Plan.forms = (parser.parse, json_form.load, json_form.dump)
