"""`zcdp account --ledger`: whether a plan would fit what remains of an account; nothing is spent."""

from __future__ import annotations

from typing import Any

from zcdp.cli.arguments import BadUsage
from zcdp.cli.terminal import green, line, red
from zcdp.display.plain import cost, lower

__all__ = ["fits", "print_fit"]


def fits(where: str, name: str | None, plan: str) -> dict[str, Any]:
    """The cost of the plan in the currency of the account, and what remains there."""
    from zcdp.accounting.printable import spelled
    from zcdp.cli.ledger import plan_from
    from zcdp.ledger import Ledger, LedgerError
    from zcdp.ledger.statement import exact

    try:
        with Ledger(where) as ledger:
            accounts = ledger.accounts()
            if name is None and len(accounts) != 1:
                known = ", ".join(spelled(one.name) for one in accounts)
                raise BadUsage(f"the ledger has {len(accounts)} accounts: name one by --account ({known})")
            account = ledger.account(name if name is not None else accounts[0].name)
    except LedgerError as error:
        raise BadUsage(spelled(str(error))) from None
    asked = account.terms.cost(plan_from(plan))
    return {
        "account": spelled(account.name),
        "currency": account.currency,
        "cost": exact(asked),
        "remaining": exact(account.remaining),
        "fits": asked <= account.remaining,
    }


def print_fit(fit: dict[str, Any]) -> None:
    """One line, green or red."""
    price, rest = cost(fit["cost"]["value"]), lower(fit["remaining"]["value"])
    if fit["fits"]:
        line(green(f"Fits account {fit['account']}: {price} of the {rest} that remain ({fit['currency']})."))
    else:
        line(red(f"DOES NOT FIT account {fit['account']}: {price}, and {rest} remain ({fit['currency']})."))
