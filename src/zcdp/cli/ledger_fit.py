"""`zcdp account --ledger`: whether a plan would fit what remains of an account; nothing is spent."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from zcdp.accounting.plan_file import Budget, PlanFile, read_plan
from zcdp.cli.arguments import BadUsage
from zcdp.cli.terminal import green, line, red
from zcdp.display.plain import cost, lower

__all__ = ["fits", "print_fit", "rho_note"]


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
    whole, stated = plan_from(plan)
    account.terms.agree(**stated)
    asked = account.terms.cost(whole)
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


def rho_note(plan: PlanFile | Path | str, rho: float) -> str:
    """What an account of the plan's own epsilon and delta would say, which counts rho; "" where there is none.

    A plan is accounted by its exact profile, which is sharper, but holds for what was fixed beforehand alone.
    """
    asked = read_plan(plan) if isinstance(plan, Path) else plan
    if not isinstance(asked, PlanFile) or asked.tables is None or asked.budget is None or asked.budget.epsilon is None:
        return ""
    return counted(asked.budget, rho)


def counted(budget: Budget, rho: float) -> str:
    """One sentence on how an account of epsilon and delta counts a plan that costs rho.

    >>> counted(Budget(None, "2", "1e-9"), 0.0495)
    'A ledger account of this epsilon and delta counts rho, and has 0.0561305: the plan fits it.'
    """
    from zcdp.ledger.terms import approx_to_rho

    whole = approx_to_rho(Fraction(str(budget.epsilon)), Fraction(str(budget.delta)))
    has = f"A ledger account of this epsilon and delta counts rho, and has {lower(float(whole))}"
    if Fraction(rho) <= whole:
        return f"{has}: the plan fits it."
    return f"{has}: it would refuse the plan, which takes {cost(rho)}; plan within [budget] rho to spend from one."
