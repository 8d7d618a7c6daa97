"""All that zcdp refuses has one root, and the command line takes nothing else for bad input."""

from __future__ import annotations

import ast
import builtins
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import zcdp
from zcdp.cli import main
from zcdp.cli.arguments import BadUsage
from zcdp.errors import BadType, BadValue, MissingExtra, ZcdpError
from zcdp.plans.plan_file import PlanFileError

SOURCE = Path(zcdp.__file__).parent
DECLARED = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
WITHIN = {"Undecided", "TooManyNodes", "OverflowError", "NotImplementedError", "AssertionError", "SystemExit"}
"""What is raised to be caught inside, or says that code is unfinished."""
PROTOCOL = {"AttributeError", "KeyError", "FileNotFoundError"}  # what Python wants where one of these is missing


def test_every_public_error_has_the_root() -> None:
    public = [getattr(zcdp, name) for name in zcdp.__all__]
    raised = [one for one in public if isinstance(one, type) and issubclass(one, BaseException)]
    errors = [one for one in raised if not issubclass(one, Warning)]
    assert len(errors) >= 6
    assert all(issubclass(one, ZcdpError) for one in [*errors, PlanFileError, BadUsage])
    assert issubclass(BadValue, ValueError)
    assert issubclass(BadType, TypeError)
    assert issubclass(MissingExtra, ImportError)


def test_no_file_raises_anything_else() -> None:
    known = {name for name in dir(builtins) if name.endswith("Error")}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):  # it may be raised in another place
                assert node.func.id not in {"ValueError", "TypeError"}, f"{path.relative_to(SOURCE)}:{node.lineno}"
            if isinstance(node, ast.Raise) and node.exc is not None:
                kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                name = kind.id if isinstance(kind, ast.Name) else ""
                assert name not in known - WITHIN - PROTOCOL, f"{path.relative_to(SOURCE)}:{node.lineno}: {name}"


@pytest.mark.parametrize("error", [TypeError, ValueError, ArithmeticError, KeyError])
def test_a_bug_is_not_bad_input(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def bug(*_: object) -> None:
        raise error("a bug")

    monkeypatch.setattr(zcdp.Plan, "pure_epsilon", property(bug))
    with pytest.raises(error, match="a bug"):
        main(["rho", "Laplace(epsilon=1)"])


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rho", "Laplace(epsilon=-1)"]) == 2
    assert capsys.readouterr().err == "zcdp: Laplace: epsilon (-1) must be positive (character 1)\n"


@pytest.mark.parametrize("extra", DECLARED["optional-dependencies"])
def test_the_command_for_a_missing_extra_names_its_packages_wherever_zcdp_came_from(extra: str) -> None:
    declared = DECLARED["optional-dependencies"][extra]
    said = str(MissingExtra("this needs more", extra=extra))
    assert said.startswith("this needs more: pip install '")
    assert said.endswith(f" (the extra {extra})")
    assert sorted(map(plain, re.findall("'([^']+)'", said))) == sorted(map(plain, declared))


def test_without_metadata_the_command_is_that_of_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the source tree itself is on the path: no index has zcdp."""

    def unknown(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", unknown)
    assert str(MissingExtra("this needs more", extra="plots")).endswith("pip install '.[plots]' (the extra plots)")


def plain(requirement: str) -> tuple[str, list[str]]:
    """Name and versions; the installer may write them in another order, and "_" as "-"."""
    found = re.fullmatch(r"([\w.\[\]-]+)(.*)", requirement)
    assert found is not None
    name, versions = found.groups()
    return re.sub(r"[-_.]+", "-", name).lower(), sorted(versions.replace(" ", "").split(","))
