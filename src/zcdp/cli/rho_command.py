"""`zcdp rho`: rho of a mechanism or plan, its certified enclosure, the order that attains it, and other bounds."""

from __future__ import annotations

from argparse import Namespace
from math import inf
from textwrap import wrap
from typing import Any

from zcdp.accounting.baselines import usual
from zcdp.accounting.theorem_pages import title
from zcdp.cli.account_command import print_note_on_moves
from zcdp.cli.output import bold, columns, dim, line, print_json, width
from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified
from zcdp.plans.plan_text import parse
from zcdp.privacy.curve import why_infinite
from zcdp.text.numbers import cost, gain

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Print rho of an expression, and what the usual bounds charge for it."""
    facts = _facts(options.expression)
    if options.json:
        print_json(facts)
        return 0
    line(bold(facts["mechanism"]))
    print_note_on_moves(parse(options.expression))
    line()
    lower, upper = facts["rho_bounds"]
    order = facts["rho_order"]
    kind = "the exact value" if facts["is_tight"] else "a proven upper bound"
    rows = [
        ["rho", cost(facts["rho"]), f"{kind}, rounded up"],
        ["enclosure", f"{lower!r}", "certified lower end"],
        ["", f"{upper!r}", "certified upper end"],
        ["order", "-" if order is None else f"{order:.6g}", _order(order, exact=facts["is_tight"])],
        ["pure epsilon", cost(facts["pure_epsilon"]), ""],
    ]
    for text in columns(rows, "<<<", width=width()):
        line("  " + text)
    for one in facts.get("assumptions", ()):
        line(f"  assuming      {one}")
    line(f"  theorem       {title(facts['theorem'])}")
    line(dim(f"                docs/theorems/{facts['theorem']}.md"))
    if facts["about"]:
        for text in wrap(f"Note: {facts['about']}.", width() - 2):
            line(f"  {text}")
    line()
    charges = [
        [name, cost(charge), gain(1 - facts["rho"] / charge)] for name, charge in facts["usual"].items() if charge
    ]
    if charges:
        for text in columns([["charged elsewhere", "rho", "saved here"], *charges], "<>>", width=width()):
            line("  " + text)
    else:
        unbounded = facts["pure_epsilon"] == "inf"
        line(f"  {'Its loss is unbounded' if unbounded else 'Too extreme'}: epsilon^2/2 and its kin do not apply.")
    return 0


def _order(order: float | None, *, exact: bool) -> str:
    if order is None:
        return "the parts attain theirs at different orders"
    if not exact and order > 1:
        return "where the search found most"
    return "attained in the limit, as the order falls to 1" if order == 1 else "the Renyi order that attains it"


def _facts(expression: str) -> dict[str, Any]:
    plan = parse(expression)
    (first, count), *others = plan.parts
    try:
        order = (plan if others else first).rho_order
    except NotCertified:  # the parts attain their rho at different orders, or the order is not known
        order = None
    if plan.rho == inf:
        raise BadValue(why_infinite(plan, repr(plan)))
    charges = usual(plan)
    assumed = [one for part, _ in plan.parts for one in getattr(part, "assumptions", ())]
    charge = next(iter(charges.values()))
    return {
        "mechanism": repr(plan),
        "rho": plan.rho,
        "rho_bounds": list(plan.rho_bounds),
        "rho_order": order,
        "is_tight": plan.is_tight,
        "pure_epsilon": "inf" if plan.pure_epsilon == inf else plan.pure_epsilon,
        "theorem": "composition" if others or count > 1 else getattr(first, "theorems", ("cumulant",))[0],
        **({"assumptions": assumed} if assumed else {}),
        "usual": charges,
        "saved": None if charge is None else 1 - plan.rho / charge,
        "about": "; ".join(dict.fromkeys(filter(None, (getattr(part, "note", "") for part, _ in plan.parts)))),
    }
