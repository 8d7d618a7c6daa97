"""No mechanism, no sensitivity and no option that changes a law goes without a row; and the truth is independent."""

from __future__ import annotations

import ast
from inspect import isabstract, signature
from pathlib import Path
from typing import Any

import pytest

import zcdp
from neighbours.laws import seeded
from neighbours.table import ROWS
from zcdp.mechanisms import MECHANISMS, WRAPPERS

HERE = Path(__file__).parent
BESIDE_THE_LIBRARY = {"neighbours/checks.py", "neighbours/laws.py"}
KEYS = {(row.mechanism, row.sensitivity) for row in ROWS}


def _kinds(kind: type[zcdp.Sensitivity] = zcdp.Sensitivity) -> list[type[zcdp.Sensitivity]]:
    found = [] if isabstract(kind) else [kind]
    return found + [one for below in kind.__subclasses__() for one in _kinds(below)]


def _accepted(mechanism: type[zcdp.Mechanism]) -> set[str]:
    """The kinds of sensitivity that this mechanism can be built with, tried one by one."""
    if "sensitivity" not in signature(mechanism).parameters:
        return {"none"}
    example = next(row for row in ROWS if row.mechanism is mechanism).draw(seeded("example"), 1).mechanism
    given: dict[str, Any] = {
        name: getattr(example, name)
        for name, one in signature(mechanism).parameters.items()
        if name != "sensitivity"
        and (name not in {"scale", "sigma"} or one.default is one.empty)  # else they stand for the budget
        and getattr(example, name, None) is not None
    }
    accepted = set()
    for kind in _kinds():
        bound = kind(*["2"] * len(signature(kind).parameters))
        try:
            mechanism(**given, sensitivity=bound)
        except (TypeError, ValueError):
            continue
        accepted.add(kind.__name__)
    mechanism(**given, sensitivity=1)
    return {"scalar", *accepted}


def test_kinds_of_sensitivity_are_found() -> None:
    assert {kind.__name__ for kind in _kinds()} >= {"L1", "L2", "L0LInf", "L1LInf"}


def test_every_mechanism_has_a_row_and_no_row_is_of_another() -> None:
    assert {row.mechanism for row in ROWS} == {*MECHANISMS, *WRAPPERS}
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda kind: kind.__name__)
def test_every_sensitivity_that_a_mechanism_accepts_has_a_row(mechanism: type[zcdp.Mechanism]) -> None:
    assert {sensitivity for kind, sensitivity in KEYS if kind is mechanism} == _accepted(mechanism)


def _options(mechanism: type[zcdp.Mechanism]) -> list[str]:
    """Parameters that have a default, but the sensitivity and what stands for the budget."""
    known = {"sensitivity", "scale", "sigma", "epsilon", "rho"}
    return [
        name
        for name, one in signature(mechanism).parameters.items()
        if one.default is not one.empty and name not in known
    ]


@pytest.mark.parametrize(
    "mechanism", [kind for kind in (*MECHANISMS, *WRAPPERS) if _options(kind)], ids=lambda kind: kind.__name__
)
def test_every_option_that_changes_the_law_has_a_row(mechanism: type[zcdp.Mechanism]) -> None:
    """The default is drawn, and another value."""
    rows = [row for row in ROWS if row.mechanism is mechanism]
    drawn = [row.draw(seeded("options", n), 1).mechanism for row in rows for n in range(4)]
    for name in _options(mechanism):
        values = {repr(getattr(one, name)) for one in drawn}
        assert len(values) >= 2, f"{name} is always {values}"


def test_the_truth_does_not_know_the_library() -> None:
    """Mechanisms are built by `rows.made`, from a name, and by nothing else; `test_independence` imports the files."""
    files = [*HERE.glob("*.py"), *(HERE.parent / "rows").glob("[!_]*.py")]
    assert len(files) > 40
    for path in files:
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
        uses = {"zcdp", "flint", "table", "neighbours.table", "neighbours.checks", "neighbours.laws"}
        name = path.relative_to(HERE.parent).as_posix()
        if name not in BESIDE_THE_LIBRARY and not path.stem.startswith("test_"):
            known = {one for one in names if one.split(".")[0] in uses or one in uses}
            # a row asks for the class of its mechanism, by its name, only when the laws do
            assert not known or (name, known) == ("neighbours/case.py", {"zcdp"}), name
