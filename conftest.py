"""What every test draws is decided by its own name; a bridge into another system is tested where that system is.

A test of samplers that fails once in a thousand runs tells nobody anything: `make test` replaces OpenSSL's generator,
Python's and Hypothesis' by streams whose seed is the name of the test (or of the fixture, where several tests share
one), so that a run repeats the last one. `make deep` sets ZCDP_TESTS_DRAW=fresh and draws anew. Children of a fork and
other processes draw from OpenSSL, and so do tests that are marked `fresh`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FRESH = os.environ.get("ZCDP_TESTS_DRAW") == "fresh"
NEEDS = {"dp_accounting": "dp_accounting", "opendp": "opendp", "opacus": "opacus", "tumult": "tmlt"}
HOMES = ("src/zcdp/adapters", "docs/drop-in", "tests/adapters")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Whether it needs a system that is not there."""
    if not any(collection_path.parent.as_posix().endswith(home) for home in HOMES):
        return None
    name = collection_path.stem.removeprefix("test_").replace("-", "_")
    return True if name in NEEDS and find_spec(NEEDS[name]) is None else None


def _draw_from(fill: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Let samplers draw from `fill`, and return what they drew from."""
    from zcdp.samplers import source

    before, source._fill = source._fill, fill
    return before


def _seeded(name: str) -> Callable[[int], bytes]:
    return random.Random(name).randbytes


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Draw from the test's own stream while it and its fixtures run."""
    if FRESH or item.get_closest_marker("fresh"):
        return (yield)
    random.seed(item.nodeid)
    before = _draw_from(_seeded(item.nodeid))
    try:
        return (yield)
    finally:
        _draw_from(before)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """A fixture that several tests share draws alike whichever of them comes first."""
    if FRESH or fixturedef.scope == "function":
        return (yield)
    before = _draw_from(_seeded(f"{fixturedef.baseid}::{fixturedef.argname}[{request.param_index}]"))
    try:
        return (yield)
    finally:
        _draw_from(before)


if hasattr(os, "register_at_fork"):

    def _draw_apart() -> None:
        from ssl import RAND_bytes

        _draw_from(RAND_bytes)

    os.register_at_fork(after_in_child=_draw_apart)
