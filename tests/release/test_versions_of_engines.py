"""Releases run on the versions that their bounds are tested with, and say so where one is older."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from versions import ENGINES, REACH, minima

from zcdp.errors import MissingExtra
from zcdp.plans.plan_file import read_plan
from zcdp.release import frame_engines as engines
from zcdp.release import release

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLAN = '[data]\nunit = "row"\n[[query]]\nname = "a"\nmeasure = "count"\nmechanism = "DiscreteGaussian(sigma=2)"\n'


def test_what_is_declared_is_what_is_refused_below() -> None:
    extras = PROJECT["optional-dependencies"]
    for extra in ("dev", "release"):
        for name, version in re.findall(r"([\w-]+)>=([\d.]+)", " ".join(extras[extra])):
            if name in engines.OLDEST:
                assert (name, version) == (name, engines.OLDEST[name])
    assert [one.split("==")[0] for one in minima()][-len(ENGINES) :] == list(ENGINES)
    assert set(ENGINES) == set(engines.OLDEST) - {"pyspark"}
    assert "tests/release/test_remove_each_person.py" in REACH


@pytest.mark.parametrize("name", ["narwhals", "polars"])
@pytest.mark.parametrize("version", ["0.9", "1.31.9", "1.99999"])
def test_an_older_version_is_refused_before_anything_is_spent(
    name: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = engines.import_module

    def old(module: str) -> Any:
        found = right(module)
        if module != name:
            return found
        return SimpleNamespace(**{**vars(found), "__version__": version})

    monkeypatch.setattr(engines, "import_module", old)
    if name == "polars" and version == "1.99999":
        assert release(read_plan("plan.toml", PLAN), pl.DataFrame({"x": [1]}), ledger=None)
        return
    with pytest.raises(MissingExtra, match=rf"a release needs {name} [\d.]+ or newer: with {version}"):
        release(read_plan("plan.toml", PLAN), pl.DataFrame({"x": [1]}), ledger=None)
