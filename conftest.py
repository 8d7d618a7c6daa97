"""A bridge into another system, its page and its tests are collected where that system is: `make adapters`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

NEEDS = {"dp_accounting": "dp_accounting", "opendp": "opendp", "opacus": "opacus", "tumult": "tmlt"}
HOMES = ("src/zcdp/adapters", "docs/drop-in", "tests/adapters")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Whether it needs a system that is not there."""
    if not any(collection_path.parent.as_posix().endswith(home) for home in HOMES):
        return None
    name = collection_path.stem.removeprefix("test_").replace("-", "_")
    return True if name in NEEDS and find_spec(NEEDS[name]) is None else None
