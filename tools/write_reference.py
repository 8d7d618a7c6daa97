"""Writes the reference from the docstrings: fills what stands between markers in docs/reference/*.md.

`<!-- api: A B -->` is followed by an entry for each name, `<!-- mechanisms: noise -->` by one for each mechanism of
that room which no other marker names, `<!-- members: A -->` by a table of what A offers, up to `<!-- end -->`. In
docs/theorems.md a page that only a mechanism names is listed in the section of that room, and the README's table lists
the mechanism. Run by `make derived` and `make docs`; tests compare the pages with what it would write.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from wrap import wrapped

import zcdp
from zcdp.accounting import plan_account as accounts
from zcdp.mechanisms import WRAPPERS
from zcdp.privacy.curve import AUTHORS_ONLY

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = DOCS / "reference"
MARKED = re.compile(r"(<!-- (api|mechanisms|members|fields): ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
MECHANISMS = {one.__name__: one for one in (*zcdp.MECHANISMS, *WRAPPERS)}
CHOICES = ("epsilon", "scale", "sigma", "rho", "rate", "size", "of")
"""Parameters of which one is given, or one pair."""
MEANING = {
    "epsilon": "the largest privacy loss",
    "scale": "scale of the noise: sensitivity/epsilon",
    "sigma": "standard deviation (parameter) of the noise",
    "rho": "the zCDP parameter itself",
    "sensitivity": "how far an answer can move between neighbours: a number, or a norm such as `L0LInf(2, 1)`",
    "k": "the number of values; of a selection how many are selected",
    "p": "probability (of a true bit; of each outcome under the first input)",
    "q": "probability (of a false bit; of each outcome under the second input)",
    "size": "how many (values in a report, records in a sample, people in a group)",
    "noise": "`'laplace'`, `'exponential'` or `'gumbel'`",
    "ordered": "whether the first input is the larger one, for neighbours by addition",
    "monotone": "whether all scores or queries move the same way when a person comes or goes (add_remove neighbours): "
    "half the noise",
    "mechanism": "what runs on the sample, or what each client runs",
}
"""What several mechanisms call by the same name; any other parameter is explained below its field, in the class."""
ROOMS = {"noise": "Noise on numbers", "local": "Reports from one person", "selection": "Selection"}
"""The sections of docs/theorems.md that pages of mechanisms belong to."""
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
        yield f"| `{parameter.name}` | {meaning(thing, parameter.name)} | {default} |"


def meaning(thing: Any, name: str) -> str:
    """What stands below the parameter's field in the class, or in one that it is derived from; else the common one."""
    for cls in thing.__mro__:
        if cls.__module__.startswith("zcdp."):
            for one, said in documented(inspect.getsource(sys.modules[cls.__module__]), cls.__name__):
                if one.target.id == name and said:
                    return said[0].lower() + said[1:].removesuffix(".")
    if name not in MEANING:
        sys.exit(f"{thing.__name__}.{name}: say in a string below this field what the parameter means")
    return MEANING[name]


@cache
def documented(source: str, name: str) -> list[tuple[Any, str]]:
    """The annotated fields of a class, each with what stands below it in the source."""
    body = next(one for one in ast.parse(source).body if isinstance(one, ast.ClassDef) and one.name == name).body
    found = []
    for one, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            found.append((one, " ".join(str(said).split())))
    return found


def example(thing: Any) -> str | None:
    """The first example of the docstring that shows something, as a page shows it: complete in itself."""
    found = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    name = getattr(thing, "__name__", "")
    if not found or name not in MECHANISMS:
        return None
    told = next((n for n, one in enumerate(found) if one.want), 0)
    lines = [one.source for one in found[: told + 1] if not one.source.startswith("from zcdp import")]
    shown = [">>> " + re.sub(r" {3,}#", "  #", one).rstrip("\n").replace("\n", "\n... ") for one in lines]
    names = [one for one in zcdp.__all__ if re.search(rf"\b{re.escape(one)}\b", "".join(lines))]
    return "\n".join([f">>> from zcdp import {', '.join(names)}", *shown, found[told].want.rstrip()])


def fields_of(name: str) -> Iterator[str]:
    """A table of the fields of a value of an account, with what stands below each in the source."""
    source = Path(inspect.getfile(zcdp.Account)).read_text()
    yield f"`{name}`: {first_sentence(getattr(accounts, name))}"
    yield ""
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for one, said in documented(source, name):
        kind = ast.unparse(one.annotation).replace("|", "or")
        yield f"| `{one.target.id}` | `{kind}` | {said} |"


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


def named(kind: str, what: str, page: str) -> list[str]:
    """The names that a marker stands for."""
    if kind != "mechanisms":
        return what.split()
    elsewhere = {name for _, other, names, _ in MARKED.findall(page) if other == "api" for name in names.split()}
    home = f"zcdp.mechanisms.{what}."
    return [name for name, one in MECHANISMS.items() if one.__module__.startswith(home) and name not in elsewhere]


def listed(text: str) -> str:
    """The list of theorems: pages of mechanisms that it lacks enter their section, lines of lost pages leave."""
    lines = []
    for line in text.split("\n"):
        pages = re.findall(r"\]\((theorems/[\w-]+\.md)\)", line)
        if not pages or any((DOCS / page).exists() for page in pages):
            lines.append(line)
    for mechanism in MECHANISMS.values():
        link, room = f"theorems/{mechanism.theorem}.md", mechanism.__module__.split(".")[2]
        if room in ROOMS and not any(f"({link})" in line for line in lines):
            heading = lines.index(f"## {ROOMS[room]}")
            last = next(n for n in range(heading + 2, len(lines) + 1) if not lines[n : n + 1] or not lines[n])
            title = (DOCS / link).read_text().split("\n", 1)[0].removeprefix("# ")
            lines.insert(last, f"* [{title}]({link})")
    return "\n".join(lines)


def in_table(text: str) -> str:
    """The README with every mechanism of a room in its table: exact, or an upper bound, as its first example is."""
    for row in re.findall(rf"^\| (?:{'|'.join(ROOMS)}) \|.*$", text, re.MULTILINE):
        kept = re.sub(r"(?:, )?`([A-Z]\w*)`", lambda match: match[0] if match[1] in MECHANISMS else "", row)
        text = text.replace(row, kept)
    for name, mechanism in MECHANISMS.items():
        room = mechanism.__module__.split(".")[2]
        if room in ROOMS and f"`{name}`" not in text:
            call = re.compile(rf"\b{name}\([^()]*(?:\([^()]*\)[^()]*)*\)")
            found = (call.search(one.source) for one in doctest.DocTestParser().get_examples(mechanism.__doc__ or ""))
            tight = eval(next(one[0] for one in found if one), vars(zcdp)).is_tight
            [row] = re.findall(rf"^\| {room} \|.*$", text, re.MULTILINE)
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            at = 1 if tight else 2
            cells[at] = f"{cells[at]}, `{name}`" if cells[at] else f"`{name}`"
            text = text.replace(row, "".join(f"| {cell} " if cell else "| " for cell in cells) + "|")
    return text


def fill(text: str) -> str:
    """The page with its generated parts up to date."""

    def body(match: re.Match[str]) -> str:
        kind, names = match[2], named(match[2], match[3], text)
        if kind in {"api", "mechanisms"}:
            made = "\n\n".join(line for name in names for line in entry(name))
        elif kind == "fields":
            made = "\n\n".join("\n".join(fields_of(name)) for name in names)
        else:
            made = "\n".join(line for name in names for line in members(name))
        return f"{match[1]}\n{made}\n\n{match[4]}"

    return wrapped(MARKED.sub(body, text))


def derived() -> dict[Path, str]:
    """All pages as they should be."""
    pages = {page: fill(page.read_text()) for page in sorted(PAGES.glob("*.md"))}
    theorems, readme = DOCS / "theorems.md", DOCS.parent / "README.md"
    return pages | {theorems: listed(theorems.read_text()), readme: in_table(readme.read_text())}


if __name__ == "__main__":
    for page, after in derived().items():
        if page.read_text() != after:
            page.write_text(after)
