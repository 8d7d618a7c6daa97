"""For services in front of a ledger: each refusal as data with its HTTP status, and all levels for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from zcdp.errors import ZcdpError
from zcdp.ledger.book import Ledger
from zcdp.ledger.ledger_statement import exact
from zcdp.ledger.store import (
    AccountClosed,
    BudgetExceeded,
    KeyConflict,
    LedgerBusy,
    LedgerError,
    NothingReserved,
    UnknownAccount,
)

__all__ = ["metrics", "status_of", "told"]

STATUS: tuple[tuple[type[Exception], int], ...] = (
    (BudgetExceeded, 402),
    (UnknownAccount, 404),
    (KeyConflict, 409),
    (AccountClosed, 409),
    (NothingReserved, 409),
    (LedgerBusy, 503),
    (LedgerError, 500),
    (ValueError, 422),
    (TypeError, 422),
)
"""The first that an error is an instance of decides: kinds of `LedgerError` before it."""


def status_of(error: Exception) -> int:
    """The HTTP status of an error of zcdp; 500 for anything else, which is a bug.

    402: the budget is used up, at the level that the error names. 404: there is no such account. 409: the key was used
    for something else, nothing is reserved under it, or the account is closed. 422: the request makes no sense. 503:
    the ledger is busy, try again with the same key. 500: the ledger cannot be read or written; a spend may have been
    made, and repeating it with the same key is safe.

    >>> status_of(BudgetExceeded("no")), status_of(LedgerBusy("wait")), status_of(KeyError("bug"))
    (402, 503, 500)
    """
    if not isinstance(error, ZcdpError):
        return 500
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def told(error: ZcdpError) -> dict[str, Any]:
    """An error as data: the name of its kind, its HTTP status and its reason.

    Where a level refuses, its name, and what is left there: of the cost, or of delta.

    >>> from fractions import Fraction
    >>> told(BudgetExceeded("no room", account="census", remaining=Fraction(1, 4)))["remaining"]
    {'exact': '1/4', 'value': 0.25}
    """
    kind = next((one for one, _ in STATUS[:-2] if isinstance(error, one)), type(error))
    said = {"code": kind.__name__, "status": status_of(error), "reason": str(error)}
    if isinstance(error, BudgetExceeded | AccountClosed) and error.account is not None:
        said["level"] = error.account
    if isinstance(error, BudgetExceeded) and error.remaining is not None:
        said |= {"what": error.what, "remaining": exact(error.remaining)}
    return said


GAUGES = {
    "budget": "What an account may spend in all, in its period if it renews.",
    "spent": "What was spent of it, with the accounts under it.",
    "reserved": "What is reserved of it.",
    "remaining": "What may still be spent of it; above it there may be less.",
    "delta_remaining": "The delta that spends of approximate zCDP may still have.",
    "closed": "1 if the account is closed.",
}


def metrics(ledger: Ledger, refusals: Mapping[str, int] | None = None) -> str:
    """The accounts of a ledger in the text form of Prometheus, one line for each level.

    `refusals` are those that the service has counted, by the account that refused (`BudgetExceeded.account`): the
    ledger records what was spent, and not what was refused.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.db") as ledger:
    ...     _ = ledger.open_account("census", unit="person", rho=2)
    ...     print(metrics(ledger, {"census": 3}).splitlines()[2])
    zcdp_budget{account="census",under="",currency="rho"} 2
    """
    accounts = ledger.accounts()
    lines = []
    for name, meaning in GAUGES.items():
        lines += [f"# HELP zcdp_{name} {meaning}", f"# TYPE zcdp_{name} gauge"]
        for one in accounts:
            labels = {"account": one.name, "under": one.above[0] if one.above else "", "currency": one.currency}
            lines.append(f"zcdp_{name}{_labels(labels)} {_number(Fraction(getattr(one, name)))}")
    lines += [
        "# HELP zcdp_refusals_total Spends that an account had no room for.",
        "# TYPE zcdp_refusals_total counter",
    ]
    for account, count in sorted((refusals or {}).items()):
        lines.append(f"zcdp_refusals_total{_labels({'account': account})} {count}")
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    def quoted(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{quoted(text)}"' for name, text in labels.items()) + "}"


def _number(value: Fraction) -> str:
    return f"{float(value):.17g}"
