"""The tests that a library publishes with itself, as tests of ours: run with our accountant in the place of theirs.

What is not passed stands in a table on the bridge's page in docs/drop-in, each test with the reason; a test there that
passes is as red as one elsewhere that fails. Nothing of theirs is kept here: their tests come with their package, or
with a copy of it that is first on the path (`python tools/adapters.py dp-accounting=COPY`).
"""

from __future__ import annotations

import importlib
import sys
import unittest
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGES = Path(__file__).parent.parent.parent / "docs" / "drop-in"
HEADING = "## Their own tests"


def exceptions(page: str) -> dict[str, str]:
    """The tests that are not passed, as patterns, each with its reason: rows of the table below the heading."""
    _, _, section = (PAGES / page).read_text(encoding="utf-8").partition(HEADING)
    rows = [line.strip("|\n ").split(" | ") for line in section.split("\n## ")[0].splitlines() if line[:3] == "| `"]
    return {row[0].strip("` "): row[-1].strip() for row in rows}


def collect(*modules: str) -> Iterator[tuple[str, unittest.TestCase]]:
    """Each test of the modules with its name, parameters included; those that are for subclasses alone are left out."""

    def flat(suite: Any) -> Iterator[unittest.TestCase]:
        for one in suite:
            yield from flat(one) if isinstance(one, unittest.TestSuite) else [one]

    for name in modules:
        for test in flat(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name))):
            yield test.id().removeprefix(f"{name}."), test


def cases(page: str, *modules: str) -> list[Any]:
    """The tests as parameters for pytest; an exception of the page must fail."""
    listed = exceptions(page)
    assert listed, f"{page} has no table of their tests"
    found = []
    for name, test in collect(*modules):
        why = next((reason for pattern, reason in listed.items() if matches(pattern, name)), None)
        marks = () if why is None else (pytest.mark.xfail(reason=why, strict=True, raises=AssertionError),)
        found.append(pytest.param(test, id=name, marks=marks))
    return found


def matches(pattern: str, name: str) -> bool:
    """Whether a row's pattern, Class.test or Class.test(how the parameters begin), is that of a test."""
    head, _, parameters = pattern.partition("(")
    test, _, given = name.partition(" ")
    return fnmatchcase(test.rstrip("0123456789"), head) and given.startswith(parameters and f"({parameters[:-1]}")


def run(test: unittest.TestCase) -> None:
    """Run one of their tests; what it reports is an AssertionError."""
    result = unittest.TestResult()
    test.run(result)
    if result.skipped:
        pytest.skip(result.skipped[0][1])
    for _, trace in result.errors + result.failures:
        raise AssertionError(trace)


def check_counts(page: str, found: list[Any], package: ModuleType) -> None:
    """That the page says how many of the published tests pass; of a copy that is first on the path it says nothing."""
    if not (package.__file__ or "").startswith(sys.prefix):
        pytest.skip("a copy that was given, not the published package")
    passed = sum(not one.marks for one in found)
    assert f"{passed} of {len(found)}" in (PAGES / page).read_text(encoding="utf-8")
