"""Writes the reference from the docstrings: fills what stands between markers in docs/reference/*.md.

`<!-- api: A B -->` is followed by an entry for each name, `<!-- members: A -->` by a table of what A offers, up to
`<!-- end -->`. Run by `make docs`; a test compares the pages with what it would write.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zcdp
from zcdp.accounting import plan_account as accounts
from zcdp.privacy.curve import AUTHORS_ONLY

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reference"
MARKED = re.compile(r"(<!-- (api|members|fields): ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
MECHANISMS = {one.__name__ for one in (*zcdp.MECHANISMS, zcdp.Subsampled, zcdp.Shuffled)}
CHOICES = ("epsilon", "scale", "sigma", "rho", "rate", "size", "of")
"""Parameters of which one is given, or one pair."""
MEANING = {
    "epsilon": "the largest privacy loss",
    "epsilon_threshold": "budget of the noise on the threshold",
    "epsilon_queries": "budget of the noise on the queries",
    "eta": "the range of the privacy loss",
    "scale": "scale of the noise: sensitivity/epsilon",
    "sigma": "standard deviation (parameter) of the noise",
    "rho": "the zCDP parameter itself",
    "sensitivity": "how far an answer can move between neighbours: a number, or a norm such as `L0LInf(2, 1)`",
    "total_variation": "a bound on the total variation distance of two neighbours' outputs",
    "k": "the number of values; of a selection how many are selected",
    "p": "probability (of a true bit; of each outcome under the first input)",
    "q": "probability (of a false bit; of each outcome under the second input)",
    "f": "share of permanent noise",
    "collections": "how often a client reports",
    "g": "the number of buckets",
    "n": "the largest answer",
    "r": "how many steps of the stair are wide",
    "gamma": "where the stair steps, as a share of the sensitivity; the best one if left out",
    "size": "how many (values in a report, records in a sample, people in a group)",
    "of": "how many records there are",
    "rate": "the probability that a record is drawn",
    "mechanism": "what runs on the sample, or what each client runs",
    "clients": "how many clients reported",
    "noise": "`'laplace'`, `'exponential'` or `'gumbel'`",
    "rows": "the matrix of probabilities: one row for each input",
    "blocks": "how many blocks of the Hadamard matrix are used",
    "ordered": "whether the first input is the larger one, for neighbours by addition",
    "monotone": "whether all scores or queries move the same way when a person comes or goes (add_remove neighbours): "
    "half the noise",
    "neighbours": "those of one step: `'add_remove'`, `'replace'`, or `'either'`",
    "positives": "how many answers above the threshold end the stream",
    "random_hash": "whether the hash is drawn anew for each report",
}
RUN = ("release", "sample", "run", "falls_behind")


def first_sentence(thing: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split())


def signature(name: str, thing: Any) -> str:
    """The call as one writes it, without types."""
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    return f"{name}{inspect.Signature(parameters)}"


def theorems(thing: Any) -> list[str]:
    """The theorem pages that a name rests on."""
    named = re.findall(r"docs/theorems/([\w-]+)\.md", inspect.getdoc(thing) or "")
    return list(dict.fromkeys([*filter(None, [getattr(thing, "theorem", None)]), *named]))


def entry(name: str) -> Iterator[str]:
    """Heading, call, meaning, theorems, and whether it can be run."""
    thing = getattr(zcdp, name)
    yield f"### `{name}`" if "_" in name else f"### {name}"
    if not callable(thing):
        yield {"MECHANISMS": "All mechanisms, as a tuple of classes.", "__version__": "The version, as text."}[name]
        return
    if not (isinstance(thing, type) and (issubclass(thing, Exception) or inspect.isabstract(thing) or name == "Plan")):
        yield f"`{signature(name, thing)}`"
    yield re.sub(r" ?Theorems?: docs/.*", "", first_sentence(thing))
    if name in MECHANISMS:
        yield "\n".join(parameters(thing))
    if shown := example(thing):
        yield f"```pycon\n{shown}\n\n```"
    links = ", ".join(f"[{page}](../theorems/{page}.md)" for page in theorems(thing))
    if links:
        yield f"Proof: {links}."
    runs = [f"`{signature(method, getattr(thing, method))}`" for method in RUN if hasattr(thing, method)]
    if runs:
        yield f"Runs: {', '.join(runs)}."


def parameters(thing: Any) -> Iterator[str]:
    """A table of the parameters: what each means, and its default."""
    yield "| parameter | meaning | default |"
    yield "|---|---|---|"
    for parameter in inspect.signature(thing).parameters.values():
        default = "needed" if parameter.default is parameter.empty else f"`{parameter.default!r}`"
        default = "one of these" if parameter.default is None and parameter.name in CHOICES else default
        yield f"| `{parameter.name}` | {MEANING[parameter.name]} | {default} |"


def example(thing: Any) -> str | None:
    """The first example of the docstring, as a page shows it: complete in itself."""
    found = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    name = getattr(thing, "__name__", "")
    if not found or name not in MECHANISMS:
        return None
    own = found[0]
    source = ">>> " + re.sub(r" {3,}#", "  #", own.source).rstrip("\n").replace("\n", "\n... ")
    names = [one for one in zcdp.__all__ if re.search(rf"\b{re.escape(one)}\b", own.source)]
    return f">>> from zcdp import {', '.join(names)}\n{source}\n{own.want.rstrip()}"


def fields_of(name: str) -> Iterator[str]:
    """A table of the fields of a value of an account, with what stands below each in the source."""
    source = Path(inspect.getfile(zcdp.Account)).read_text()
    body = next(one for one in ast.parse(source).body if isinstance(one, ast.ClassDef) and one.name == name).body
    yield f"`{name}`: {first_sentence(getattr(accounts, name))}"
    yield ""
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for one, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            kind = ast.unparse(one.annotation).replace("|", "or")
            yield f"| `{one.target.id}` | `{kind}` | {' '.join(str(said).split())} |"


def members(name: str) -> Iterator[str]:
    """A table of the public members that a class and its bases in this library document."""
    cls = getattr(zcdp, name)
    yield "| member | meaning |"
    yield "|---|---|"
    bases = [base for base in cls.__mro__ if base.__module__.startswith("zcdp")]
    if name != "Mechanism":
        bases = [base for base in bases if base.__name__ == name]
    hidden = AUTHORS_ONLY if issubclass(cls, zcdp.Curve) else set()
    seen = {member: base.__dict__[member] for base in reversed(bases) for member in base.__dict__}
    for member in sorted(seen):
        raw = inspect.unwrap(getattr(seen[member], "__func__", seen[member]))
        value = getattr(raw, "func", getattr(raw, "fget", raw))  # what a property wraps
        if member.startswith("_") or member in hidden or not inspect.isfunction(value) or not inspect.getdoc(value):
            continue
        shown = signature(member, raw) if inspect.isfunction(raw) else member
        yield f"| `{shown}` | {first_sentence(value)} |"


def fill(text: str) -> str:
    """The page with its generated parts up to date."""

    def body(match: re.Match[str]) -> str:
        kind, names = match[2], match[3].split()
        if kind == "api":
            made = "\n\n".join(line for name in names for line in entry(name))
        elif kind == "fields":
            made = "\n\n".join("\n".join(fields_of(name)) for name in names)
        else:
            made = "\n".join(line for name in names for line in members(name))
        return f"{match[1]}\n{made}\n\n{match[4]}"

    return MARKED.sub(body, text)


if __name__ == "__main__":
    for page in sorted(PAGES.glob("*.md")):
        before = page.read_text()
        if (after := fill(before)) != before:
            page.write_text(after)
