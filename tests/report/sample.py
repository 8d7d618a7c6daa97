"""An account built from real plans, in the form that `zcdp account --json` prints."""

from __future__ import annotations

import json
from functools import cache
from math import exp, inf
from pathlib import Path
from typing import Any

from zcdp import Account, Mechanism, Plan
from zcdp.privacy.convert import zcdp_to_epsilon
from zcdp.report import render

PAGES = Path(__file__).parents[2] / "docs" / "theorems"
QUERIES = {
    "age by sex": (20, "DiscreteLaplace(epsilon='0.1', sensitivity=3)", "Published yearly, 20 tables."),
    "daily survey": (30, "RandomizedResponse(epsilon='0.25', k=100)", None),
    "reports": (1, "RAPPOR(epsilon=1)", None),
    "best region": (2, "ExponentialMechanism(epsilon='0.5')", "Two choices."),
}


def _finite(value: float) -> float | str:
    return "inf" if value == inf else value


def _usual(mechanism: Mechanism, count: int) -> dict[str, float | None]:
    loss = mechanism.pure_epsilon
    if loss == inf:
        return {"epsilon^2/2": None, "epsilon tanh(epsilon/2)": None}
    first = "epsilon^2/8" if mechanism.theorem == "bounded-range" else "epsilon^2/2"
    tanh = loss * (exp(loss) - 1) / (exp(loss) + 1)
    return {first: count * loss**2 / (8 if first.endswith("8") else 2), "epsilon tanh(epsilon/2)": count * tanh}


def account(queries: dict[str, tuple[int, str, str | None]] | None = None, delta: float = 1e-6) -> dict[str, Any]:
    """A fresh copy each time, so that a test may change it."""
    given = QUERIES if queries is None else queries
    found: dict[str, Any] = json.loads(_account(tuple(given.items()), delta))
    return found


def page(given: dict[str, Any], **options: str) -> str:
    """The report of an account that was changed by hand."""
    return render(Account.from_dict(given), **options)


@cache
def _account(queries: tuple[tuple[str, tuple[int, str, str | None]], ...], delta: float) -> str:
    parts = {name: Plan.parse(text).parts[0][0] for name, (_, text, _) in queries}
    plan = Plan.sum_of(*(count * parts[name] for name, (count, _, _) in queries))
    together = sum((times * parts[name]).rho for name, (times, _, _) in queries)
    rows = []
    for name, (count, _, note) in queries:
        one = parts[name]
        assert isinstance(one, Mechanism)
        usual, rho = _usual(one, count), (count * one).rho
        first = next(iter(usual.values()))
        rows.append(
            {
                "name": name, "mechanism": repr(one), "count": count, "note": note,
                "rho": rho, "rho_one": one.rho, "rho_bounds_one": one.rho_bounds, "rho_order": one.rho_order,
                "is_tight": one.is_tight, "pure_epsilon_one": _finite(one.pure_epsilon), "theorem": one.theorem,
                "share": rho / together, "usual": usual, "saved": None if first is None else 1 - rho / first,
            }
        )  # fmt: skip
    charges = {
        "epsilon^2/2": [next(iter(row["usual"].values())) for row in rows],
        "epsilon tanh(epsilon/2)": [row["usual"]["epsilon tanh(epsilon/2)"] for row in rows],
    }
    usual_total = {
        bound: {"rho": sum(values), "epsilon": zcdp_to_epsilon(sum(values), delta)}
        for bound, values in charges.items()
        if None not in values
    }
    routes = plan.routes(delta=delta)
    top = 2 * plan.epsilon_at(delta=delta)
    spent = {
        "rho": 1.0,
        "epsilon": None,
        "delta": None,
        "spent": plan.rho,
        "left": 1 - plan.rho,
        "exceeded": plan.rho > 1,
    }
    curve = [{"epsilon": top * n / 20, "delta": plan.delta_at(epsilon=top * n / 20)} for n in range(20)]
    used = dict.fromkeys([*(row["theorem"] for row in rows), "composition", "profile"])
    pages = {page: (PAGES / f"{page}.md").read_text().splitlines()[0].removeprefix("# ") for page in used}
    first_charge = usual_total.get("epsilon^2/2")
    return json.dumps(
        {
            "zcdp": "0.1.0", "python": "3.11.7", "python_flint": "0.9.0", "date": "2026-03-04",
            "title": "Household survey 2026", "description": "Tables and local reports of one year.",
            "author": "Office of Surveys", "dataset": "Household survey, wave 7", "unit": "household",
            "source": "survey.toml", "inputs": "[[query]]\nname = 'age by sex'\n", "delta": delta, "budget": spent,
            "queries": rows,
            "total": {
                "rho": plan.rho, "rho_bounds": plan.rho_bounds, "rho_order": 1.0, "full": True,
                "relation": plan.relation.value,
                "pure_epsilon": _finite(plan.pure_epsilon), "epsilon": plan.epsilon_at(delta=delta),
                "epsilon_bounds": plan.epsilon_bounds(delta=delta), "route": min(routes, key=lambda name: routes[name]),
                "routes": routes, "usual": usual_total,
                "saved_rho": None if first_charge is None else 1 - plan.rho / first_charge["rho"],
                "saved_epsilon": None,
            },
            "curve": curve,
            "theorems": [{"id": page, "title": pages[page], "path": f"docs/theorems/{page}.md"} for page in pages],
        }
    )  # fmt: skip
