"""Plans as JSON: a list of parts, each with count, mechanism and parameters."""

from __future__ import annotations

import json
from typing import Any

from zcdp.mechanisms import MECHANISMS, Mechanism
from zcdp.privacy.plan import Plan

__all__ = ["dump", "load"]


def dump(plan: Plan) -> str:
    """The plan as JSON: a float stays a JSON number, an exact rational or logarithm is a string.

    >>> from zcdp import Laplace
    >>> dump(100 * Laplace(epsilon="0.1"))
    '[{"count": 100, "mechanism": "Laplace", "parameters": {"epsilon": "0.1"}}]'
    """
    parts = []
    for part, count in plan.parts:
        if not isinstance(part, Mechanism):
            raise TypeError(f"{part!r} is not one of the library's mechanisms: it has no JSON form")
        parts.append({"count": count, "mechanism": type(part).__name__, "parameters": part.parameters})
    return json.dumps(parts)


def load(text: str) -> Plan:
    """The inverse of `dump`.

    >>> load('[{"count": 2, "mechanism": "Laplace", "parameters": {"epsilon": 1}}]')
    2 * Laplace(epsilon=1)
    """
    names = {mechanism.__name__: mechanism for mechanism in MECHANISMS}
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply to be a plan") from None
    if not isinstance(data, list) or not data:
        raise ValueError("a plan in JSON is a list of parts, and not empty")
    return Plan.sum_of(*(_part(names, n, part) for n, part in enumerate(data)))


def _part(names: dict[str, type[Mechanism]], n: int, part: Any) -> Plan:
    if not isinstance(part, dict) or set(part) != {"count", "mechanism", "parameters"}:
        raise ValueError(f"part {n} must have exactly count, mechanism and parameters")
    name, parameters = part["mechanism"], part["parameters"]
    if not isinstance(name, str) or name not in names:
        raise ValueError(f"part {n}: there is no mechanism {name!r} (there are {', '.join(names)})")
    if not isinstance(parameters, dict):
        raise ValueError(f"part {n}: parameters must be an object")
    try:
        return Plan.repeated(names[name](**parameters), part["count"])
    except (ValueError, TypeError) as error:
        raise ValueError(f"part {n}: {error}") from None
