"""Plans as JSON: a list of parts, each with a count and the mechanism as text."""

from __future__ import annotations

from typing import Any

from zcdp.accounting.parser import parse
from zcdp.privacy.plan import Plan

__all__ = ["dump", "load"]


def dump(plan: Plan) -> str:
    """The plan as JSON, with nothing rounded.

    >>> from zcdp import Laplace
    >>> dump(100 * Laplace(epsilon="0.1"))
    '[{"count": 100, "mechanism": "Laplace(epsilon=\\'0.1\\')"}]'
    """
    import json

    return json.dumps([{"count": count, "mechanism": repr(part)} for part, count in plan.parts])


def load(text: str) -> Plan:
    """The inverse of `dump`.

    >>> load('[{"count": 2, "mechanism": "Laplace(epsilon=1)"}]')
    2 * Laplace(epsilon=1)
    """
    import json

    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply to be a plan") from None
    if not isinstance(data, list) or not data:
        raise ValueError("a plan in JSON is a list of parts, and not empty")
    return Plan.sum_of(*(_part(n, part) for n, part in enumerate(data)))


def _part(n: int, part: Any) -> Plan:
    if not isinstance(part, dict) or set(part) != {"count", "mechanism"}:
        raise ValueError(f"part {n} must have exactly count and mechanism")
    try:
        return Plan.repeated(parse(part["mechanism"]), part["count"])
    except (ValueError, TypeError) as error:
        raise ValueError(f"part {n}: {error}") from None
