"""The design file of a client: what a device needs to make reports, as one JSON object that `zcdp choose` writes.

    {
      "format": "zcdp client design 1",
      "mechanism": "RandomizedResponse(epsilon='8.00000108', k=256)",
      "kind": "RandomizedResponse",
      "parameters": {"epsilon": "8.00000108", "k": 256},
      "k": 256,
      "values": ["tea", "coffee", ...],
      "number": null,
      "days": {"of": 30, "answered": 1, "drawn": "uniform subset"},
      "report": {"numbers": 1, "bytes_each": 1, "bytes": 1, "outcomes": 256},
      "randomness": "fresh",
      "shuffled": {"least_reports": 32420},
      "budget": {"epsilon": "8", "delta": "1e-6"}
    }

`mechanism` is the text that files of reports are labelled with, and that a plan file holds; `kind` and `parameters` say
the same in parts. A parameter is a whole number, or the text of an exact number: a decimal, a fraction "a/b", or
"log(a/b)". `values` are the names of the values 0 .. k-1, null where they have none.

`number` is null for a collection of values. For a collection of a bounded number it is {"low", "high", "steps"}: the
number is rounded at random, without bias, to one of the grid points low + (high - low) i/steps, and i, a whole number
from 0 to `steps`, is what is randomized; `k` is steps + 1.

`days`: a client answers `answered` of `of` days, numbered from 1. It draws them itself, once, before it knows any of
its values, from random bits of its own: every set of `answered` days is equally likely. It keeps them, and sends
nothing on other days. Days that depended on values would tell of them.

`report`: a report is `numbers` whole numbers, each below `outcomes`, each written in `bytes_each` bytes, the least
significant first. Packed bits are numbers of one byte, of which the first value is the highest bit of the first byte;
`outcomes` is 256 for them.

`randomness` is "fresh": bits of the system's secure source, for each report anew. The report of a day is drawn once,
kept, and sent again as it is if a connection fails: a second draw costs as much again. It is "remembered" for RAPPOR
with memory: the permanent bits are drawn once for all days, and kept; the noise over them is for each report anew.

`shuffled` is null, or says that the budget holds only if at least `least_reports` reports of a day are mixed by someone
who does not collude, and days with fewer are not passed on. `budget` is for all of a client's reports together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from zcdp.collection.limits import whole_bytes
from zcdp.errors import BadValue
from zcdp.mechanisms import Mechanism, Shuffled
from zcdp.numeric.exact import Log, literal
from zcdp.plans.plan_text import parse
from zcdp.samplers.source import secure

__all__ = ["FORMAT", "client_design", "read_client_design", "report_form"]

FORMAT = "zcdp client design 1"


def client_design(
    released: Mechanism,
    k: int,
    *,
    rounds: int = 1,
    answered: int = 1,
    names: Sequence[str] | None = None,
    budget: Mapping[str, Any] | None = None,
    number: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The design file of what is released, a local randomizer or a shuffled one, as a dictionary.

    >>> from zcdp import RandomizedResponse
    >>> made = client_design(RandomizedResponse(epsilon="1.5", k=300), 300, rounds=90)
    >>> made["parameters"], made["report"]["bytes"], made["days"]["of"]
    ({'epsilon': '1.5', 'k': 300}, 2, 90)
    """
    local: Any = released.mechanism if isinstance(released, Shuffled) else released
    if not hasattr(local, "_drawn"):
        raise BadValue(f"{local!r} is no local randomizer that a client runs for each report")
    if answered > (most := getattr(local, "collections", answered)):
        raise BadValue(f"answered ({answered}) must be at most the {most} collections of the mechanism")
    return {
        "format": FORMAT,
        "mechanism": repr(local),
        "kind": type(local).__name__,
        "parameters": {one.name: _told(getattr(local, one.name)) for one in fields(local)},
        "k": k,
        "values": list(names) if names else None,
        "number": dict(number) if number else None,
        "days": {"of": rounds, "answered": answered, "drawn": "uniform subset"},
        "report": report_form(local, k),
        "randomness": "remembered" if hasattr(local, "remember") else "fresh",
        "shuffled": {"least_reports": released.clients} if isinstance(released, Shuffled) else None,
        "budget": {name: str(value).strip() for name, value in (budget or {}).items()} or None,
    }


def _told(value: Any) -> Any:
    """A parameter as JSON: a whole number as it is, any other exact number as text."""
    if isinstance(value, int):
        return value
    if isinstance(value, Fraction | Log):
        return literal(value).strip("'\"")
    if isinstance(value, tuple):
        return [_told(one) for one in value]
    return value


def report_form(mechanism: Any, k: int) -> dict[str, int]:
    """How a report is written on the wire: how many numbers, the bytes of each, and what each is below."""
    drawn = mechanism._drawn(np.zeros(1, dtype=np.int64), k, secure)
    outcomes = 256 if drawn.dtype == np.uint8 and drawn.ndim == 2 else mechanism._outputs(k) if drawn.ndim == 1 else k
    each, count = whole_bytes(outcomes), drawn.shape[1] if drawn.ndim == 2 else 1
    return {"numbers": count, "bytes_each": each, "bytes": count * each, "outcomes": int(outcomes)}


def read_client_design(text: str, where: object = "the design") -> dict[str, Any]:
    """A design file, checked to say the same in all of its parts; else `BadValue`.

    >>> from zcdp import RandomizedResponse
    >>> made = client_design(RandomizedResponse(epsilon=1, k=3), 3)
    >>> read_client_design(json.dumps(made)) == made
    True
    """
    try:
        said = json.loads(text)
        if said["format"] != FORMAT:
            raise BadValue(f"{where}: is of the format {said['format']!r}, not {FORMAT!r}")
        local: Any = parse(said["mechanism"]).parts[0][0]
        hidden = said["shuffled"]
        whole = local if hidden is None else Shuffled(local, clients=hidden["least_reports"])
        days = said["days"]
        again = client_design(
            whole,
            said["k"],
            rounds=days["of"],
            answered=days["answered"],
            names=said["values"],
            budget=said["budget"],
            number=said["number"],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BadValue):
            raise
        raise BadValue(f"{where}: is no design file of a client: {error}") from None
    for name in again:
        if said.get(name) != again[name]:
            raise BadValue(f"{where}: its {name} does not agree with its mechanism")
    return again
