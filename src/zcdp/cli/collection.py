"""What `zcdp account` tells of a plan with a [collection]: who is asked, the error bars, and the bytes of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zcdp.accounting.plan_file import read_plan

__all__ = ["collection_facts", "collection_text"]


def collection_facts(source: str | Path) -> dict[str, Any] | None:
    """The collection and its design; None where the plan has none, or the mechanism is still to be found."""
    plan = read_plan(source) if isinstance(source, Path) and source.suffix == ".toml" else None
    if plan is None or plan.collection is None or plan.entries[0].plan is None:
        return None
    from zcdp.cli.choose import design_facts
    from zcdp.collection.compare import design_of

    asked, mechanism = plan.collection, plan.entries[0].plan.parts[0][0]
    where = {"rounds": asked.rounds, "answered": asked.answered}
    found = design_facts(design_of(mechanism, asked.k, clients=asked.clients or 2, **where))
    told = {"k": asked.k, "clients": asked.clients, **where, **found}
    if asked.clients is None:  # the error depends on how many there are
        del told["standard_error"]
    return told


def collection_text(facts: dict[str, Any]) -> str:
    """One sentence."""
    asked = f"{facts['k']} values; each client answers {facts['answered']} of {facts['rounds']} rounds"
    size = f"with {facts['bytes']:.3g} bytes a report"
    if facts["clients"] is None:
        return f"{asked}, {size}."
    error = f"standard error {facts['standard_error']:.3g} of a frequency of {facts['frequency']:.3g} in each round"
    return f"{asked}, {size}; {error}, from {facts['clients']} clients."
