"""What a person changes on the page, as a change of the plan's text; the library says what is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zcdp.accounting.alternatives import alternatives, mechanism_of, with_accuracy
from zcdp.errors import BadValue
from zcdp.explore.frame import tidy
from zcdp.mechanisms.noise.additive import AddedNoise
from zcdp.plans.plan_edit import add_query, query_at, remove_query, set_budget, set_line, set_query_field, set_top_field
from zcdp.plans.plan_file import Entry, PlanFile, PlanFileError, places, read_plan
from zcdp.plans.plan_text import PlanError

__all__ = ["EDITS", "Noise", "apply", "labelled", "noise_of", "plain", "raw_text"]

_NOISE = re.compile(r"""\b(scale|sigma|rho|epsilon|eta)(\s*=\s*)('[^']*'|"[^"]*"|\?|[^\s,()]+)""")
_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
RISING = ("scale", "sigma")
"""Parameters with which the noise rises; it falls with the others."""
NEW = "DiscreteGaussian(sigma=10)"


@dataclass(frozen=True)
class Noise:
    """The one parameter of a mechanism's text that sets the amount of noise: its name and value, as written."""

    name: str
    value: str

    @property
    def rises(self) -> bool:
        """Whether noise rises with the parameter."""
        return self.name in RISING


def noise_of(text: str) -> Noise | None:
    """The parameter that sets the noise; None if there is none, or several.

    >>> noise_of("Laplace(epsilon='1/3', sensitivity=2)"), noise_of("Laplace(epsilon=1) + Laplace(epsilon=2)")
    (Noise(name='epsilon', value='1/3'), None)
    """
    found = _NOISE.findall(text)
    return Noise(found[0][0], found[0][2].strip("'\"")) if len(found) == 1 else None


def with_noise(text: str, value: str) -> str:
    """The text of a mechanism with another amount of noise, written as a number, or in quotes, as 1/3 and log(3) are.

    >>> with_noise("Laplace(epsilon=1)", "1/3"), with_noise("Laplace(epsilon=1)", "?")
    ("Laplace(epsilon='1/3')", 'Laplace(epsilon=?)')
    """
    if not value.strip():
        raise BadValue("a number is needed here, or ? for one to be found")
    if set(value) & set("'\"\\\n"):
        raise BadValue(f"{value!r} is not a number")
    value = value.strip()
    number = value if value == "?" or _PLAIN_NUMBER.fullmatch(value) else f"'{value}'"
    return _NOISE.sub(lambda found: f"{found[1]}{found[2]}{number}", text, count=1)


def raw_text(plan: PlanFile, entry: Entry) -> str:
    """The text of an entry's mechanism as the file has it; that of a table lacks the derived sensitivity."""
    if entry.statistic is None:
        return entry.text
    n = query_at(plan.text, entry.line)
    if n is None:
        return entry.text
    found = tomllib.loads(plan.text)["query"][n].get(entry.field)
    return found if isinstance(found, str) else entry.text


def plain(error: Exception, source: str) -> str:
    """The words of an error for the field that it is about: without file, line and character."""
    said = error.reason if isinstance(error, PlanError) else str(error).split("\n", maxsplit=1)[0]
    said = re.sub(rf"^{re.escape(source)}(?::\d+)?: ", "", said)
    return re.sub(r" \(character \d+\)$", "", re.sub(r"^(?:mechanism|count|rho|epsilon|delta): ", "", said))


LABELS = {"uses": ("count", "Uses"), "sd": ("sd", "Std dev"), "half": ("half_width", "95% within")}
"""How the page calls a parameter of the library."""


def labelled(what: str, said: str) -> str:
    """The words of an error with the label of the field in the place of the parameter.

    >>> labelled("uses", "count (0) must be at least 1"), labelled("noise", "Laplace: scale (-1) must be positive")
    ('Uses (0) must be at least 1', 'Noise scale (-1) must be positive')
    """
    if what == "noise":
        return re.sub(r"^(?:\w+: )?(scale|sigma|rho|epsilon|eta) \(", r"Noise \1 (", said)
    name, label = LABELS.get(what, ("", ""))
    return label + said.removeprefix(name) if name and said.startswith(f"{name} (") else said


# One function for each change, from the plan, the entry (or None) and the value to the new text.


def _write(plan: PlanFile, entry: Entry, text: str) -> str:
    return set_line(plan.text, entry.line, entry.field, text)


def _noise(plan: PlanFile, entry: Entry, value: str) -> str:
    return _write(plan, entry, with_noise(raw_text(plan, entry), value))


def _uses(plan: PlanFile, entry: Entry, value: str) -> str:
    if entry.statistic is not None:
        raise BadValue("how often a table is touched follows from its bounds")
    if not re.fullmatch(r"\s*\d{1,15}\s*", value):
        raise BadValue(f"count ({value!r}) must be a whole number from 1 on")
    return set_query_field(plan.text, _query(plan, entry), "count", int(value))


def _sd(plan: PlanFile, entry: Entry, value: str) -> str:
    return _write(plan, entry, with_accuracy(entry, sd=value))


def _half_width(plan: PlanFile, entry: Entry, value: str) -> str:
    return _write(plan, entry, with_accuracy(entry, half_width=value))


def _mechanism(plan: PlanFile, entry: Entry, value: str) -> str:
    """Another kind of mechanism, of equal accuracy."""
    k = plan.collection.k if plan.collection else None
    for one in alternatives(entry, k):
        if type(one.mechanism).__name__ == value:
            return _write(plan, entry, one.text)
    raise BadValue(f"there is no {value} of equal accuracy for this query")


def _text(plan: PlanFile, entry: Entry, value: str) -> str:
    return _write(plan, entry, value.strip())


def _name(plan: PlanFile, entry: Entry, value: str) -> str:
    return set_query_field(plan.text, _query(plan, entry), "name", value.strip())


def _title(plan: PlanFile, _: Entry | None, value: str) -> str:
    """The title of the plan."""
    return set_top_field(plan.text, "title", value.strip())


def _note(plan: PlanFile, entry: Entry, value: str) -> str:
    return set_query_field(plan.text, _query(plan, entry), "note", value.strip())


def _remove(plan: PlanFile, entry: Entry, _: str) -> str:
    if len(plan.entries) < 2:
        raise BadValue("a plan needs queries: this is its last")
    return remove_query(plan.text, _query(plan, entry))


def _add(plan: PlanFile, _: Entry | None, name: str) -> str:
    if plan.tables is not None:
        raise BadValue("a query of tables says what it measures: it is added in the file")
    taken = {entry.name for entry in plan.entries}
    base = name.strip() or "new query"
    fresh = next(one for n in range(1, len(taken) + 2) if (one := base if n == 1 else f"{base} {n}") not in taken)
    return add_query(plan.text, {"name": fresh, "mechanism": _alike(plan)})


def _alike(plan: PlanFile) -> str:
    """What a new query begins with: noise as that of the last query that adds some, else the last mechanism."""
    known = [entry for entry in plan.entries if noise_of(entry.text) is not None]
    kinds = [entry.open[0] if entry.open else type(mechanism_of(entry)) for entry in known]
    adding = [entry for entry, kind in zip(known, kinds, strict=True) if issubclass(kind, AddedNoise)]
    return next((entry.text for entry in reversed(adding or known)), NEW)


def _budget(plan: PlanFile, _: Entry | None, value: str) -> str:
    """A budget as `rho` or `epsilon`, with the plan's delta: "rho=1" or "epsilon=2"."""
    kind, number = value.partition("=")[::2]
    if kind not in ("rho", "epsilon"):
        raise BadValue("a budget is rho, or epsilon and delta")
    if not number.strip():
        raise BadValue(f"{kind} is needed here: a number")
    if kind == "rho":
        return set_budget(plan.text, rho=number.strip())
    own = plan.budget.delta if plan.budget and plan.budget.delta is not None else plan.delta
    return set_budget(plan.text, epsilon=number.strip(), delta=tidy(str(own if own is not None else "1e-6")))


def _delta(plan: PlanFile, _: Entry | None, value: str) -> str:
    """The delta of the plan, and of its budget."""
    text = plan.text
    if not value.strip():
        raise BadValue("delta is needed here: a number such as 1e-6")
    if plan.budget is not None and plan.budget.delta is not None:
        text = set_budget(text, epsilon=str(plan.budget.epsilon), delta=value.strip())
        if ("", 0, "delta") not in dict(places(text)):
            return text
    return set_top_field(text, "delta", value.strip())


def _query(plan: PlanFile, entry: Entry) -> int:
    n = query_at(plan.text, entry.line)
    if n is None:
        raise BadValue("this is not a query of its own: change it in the file")
    return n


EDITS: dict[str, Any] = {
    "noise": _noise,
    "uses": _uses,
    "sd": _sd,
    "half": _half_width,
    "kind": _mechanism,
    "text": _text,
    "name": _name,
    "note": _note,
    "remove": _remove,
    "add": _add,
    "budget": _budget,
    "delta": _delta,
    "title": _title,
}
STRUCTURAL = ("kind", "text", "name", "remove", "add", "title")
"""Changes after which the rows look different, and not only their numbers."""


def apply(
    plan: PlanFile, what: str, row: int | None, value: str, read: Callable[[str, str], PlanFile] = read_plan
) -> PlanFile:
    """The plan after one change; what is wrong with it raises an error of the library, and nothing has changed."""
    if what not in EDITS:
        raise BadValue(f"there is no change called {what!r}")
    if not isinstance(value, str) or len(value) > 10_000:
        raise BadValue("a value is a short text")
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair, as JSON can write it: no file could hold it
        raise BadValue("half of a character is no text: type it again") from None
    entry = None
    if what not in ("add", "budget", "delta", "title"):
        if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < len(plan.entries):
            raise BadValue("there is no such query")
        entry = plan.entries[row]
    text = EDITS[what](plan, entry, value)
    try:
        return read(plan.source, text)
    except PlanFileError as error:
        raise BadValue(plain(error, plan.source)) from None
