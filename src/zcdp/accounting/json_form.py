"""Plans as JSON: a list of parts, each with a count and the mechanism as text."""

from __future__ import annotations

from typing import Any

from zcdp.accounting.parser import parse
from zcdp.accounting.tokens import LONGEST
from zcdp.display.things import thing
from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import MOST_DIGITS
from zcdp.privacy.plan import Plan

__all__ = ["dump", "load"]

LARGEST = 10 * LONGEST


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

    if not isinstance(text, str):
        raise BadType(f"a plan in JSON must be text, not {thing(text)}")
    if len(text) > LARGEST:
        raise BadValue(f"a plan in JSON has at most {LARGEST} characters, not {len(text)}")
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
    """The object, unless a key stands in it twice: readers differ on which of the two counts."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BadValue(f"a plan in JSON must have each key once, and has {key[:40]!r} twice")
        found[key] = value
    return found


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise BadValue(f"a plan in JSON has numbers of at most {MOST_DIGITS} digits, not {len(digits)}")
    return int(digits)


def _part(n: int, part: Any) -> Plan:
    if not isinstance(part, dict) or set(part) != {"count", "mechanism"}:
        raise BadValue(f"part {n} must have exactly count and mechanism")
    try:
        return Plan.repeated(parse(part["mechanism"]), part["count"])
    except (ValueError, TypeError) as error:
        raise BadValue(f"part {n}: {error}") from None
