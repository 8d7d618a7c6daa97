"""Plans as JSON: a list of parts, each with a count and the mechanism as text."""

from __future__ import annotations

from typing import Any

from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import MOST_DIGITS
from zcdp.plans.plan_text import LONGEST_PLAN, parse
from zcdp.privacy.curve import Plan
from zcdp.text.suggestions import thing

__all__ = ["dump", "load"]


MOST_CHARACTERS = 10 * LONGEST_PLAN  # of a plan in JSON


def dump(plan: Plan) -> str:
    """The plan as JSON text, with every parameter exact.

    >>> from zcdp import Laplace
    >>> dump(100 * Laplace(epsilon="0.1"))
    '[{"count": 100, "mechanism": "Laplace(epsilon=\\'0.1\\')"}]'
    """
    import json

    return json.dumps([{"count": count, "mechanism": repr(part)} for part, count in plan.parts])


def load(text: str) -> Plan:
    """The plan that the JSON text spells: the inverse of `dump`.

    >>> load('[{"count": 2, "mechanism": "Laplace(epsilon=1)"}]')
    2 * Laplace(epsilon=1)
    """
    import json

    if not isinstance(text, str):
        raise BadType(f"a plan in JSON must be text, not {thing(text)}")
    if len(text) > MOST_CHARACTERS:
        raise BadValue(f"a plan in JSON has at most {MOST_CHARACTERS} characters, not {len(text)}")
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_int=_whole)
    except RecursionError:
        raise BadValue("the JSON is nested too deeply to be a plan") from None
    except json.JSONDecodeError as error:
        raise BadValue(f"a plan in JSON must be valid JSON: {error}") from None
    if not isinstance(data, list) or not data:
        raise BadValue("a plan in JSON is a list of parts, and not empty")
    return Plan.sum_of(*(_part(n, part) for n, part in enumerate(data)))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The JSON object as a dictionary; a repeated key is refused, as JSON readers differ on which one they take."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BadValue(f"a plan in JSON must have each key once, and has {key[:40]!r} twice")
        found[key] = value
    return found


def _whole(digits: str) -> int:
    """The integer; one of too many digits is refused."""
    if len(digits) > MOST_DIGITS:
        raise BadValue(f"a plan in JSON has numbers of at most {MOST_DIGITS} digits, not {len(digits)}")
    return int(digits)


def _part(n: int, part: Any) -> Plan:
    """Part n of the list as a plan."""
    if not isinstance(part, dict) or set(part) != {"count", "mechanism"}:
        raise BadValue(f"part {n} must have exactly count and mechanism")
    try:
        return Plan.repeated(parse(part["mechanism"]), part["count"])
    except (ValueError, TypeError) as error:
        raise BadValue(f"part {n}: {error}") from None
