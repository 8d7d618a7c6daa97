"""dp-accounting: conversions between its `DpEvent`s and plans, and a `PrivacyAccountant` with certified numbers."""

from zcdp.adapters.common import installed, warn_unless

TESTED = ("0.6.0",)
installed("dp-accounting", "dp-accounting")

from zcdp.adapters.dp_accounting.accountant import Accountant  # noqa: E402 - after the check that says how to get it
from zcdp.adapters.dp_accounting.events import Refused, event, plan  # noqa: E402

__all__ = ["TESTED", "Accountant", "Refused", "event", "plan"]

warn_unless("dp-accounting", "dp-accounting", TESTED)
