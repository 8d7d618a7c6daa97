"""What the bridges share, and what can be said of them where the other systems are not installed."""

from __future__ import annotations

import importlib
import re
import tomllib
from fractions import Fraction
from importlib.util import find_spec
from math import inf
from pathlib import Path

import adapters as tool  # tools/adapters.py
import pytest

import zcdp
from zcdp.adapters import common as tested
from zcdp.adapters.common import RhoAlone, above, below

ROOT = Path(__file__).parent.parent.parent
NEEDS = {"dp_accounting": "dp_accounting", "opendp": "opendp", "opacus": "opacus", "tumult": "tmlt"}


def test_every_bridge_has_an_extra_a_page_and_tests() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    homes = {path.stem for path in (ROOT / "src/zcdp/adapters").iterdir() if path.stem in NEEDS}
    assert homes == set(NEEDS) == set(tool.SYSTEMS.values())
    for extra, bridge in tool.SYSTEMS.items():
        assert extra in extras
        assert all((ROOT / path).exists() for path in tool.paths(bridge))


@pytest.mark.parametrize("bridge", NEEDS)
def test_a_missing_system_is_named_with_the_command_to_get_it(bridge: str) -> None:
    if find_spec(NEEDS[bridge]) is not None:
        pytest.skip("it is installed")
    with pytest.raises(
        ModuleNotFoundError, match=r"which is not installed: pip install '.+==.+' \(the extra [a-z-]+\)"
    ):
        importlib.import_module(f"zcdp.adapters.{bridge}")


def test_nothing_else_imports_a_bridge() -> None:
    for source in (ROOT / "src/zcdp").rglob("*.py"):
        if "adapters" not in source.parts:
            assert not re.search(r"zcdp\.adapters|from zcdp import adapters", source.read_text()), source


def test_another_version_is_met_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tested, "version", lambda package: "2.0")
    with pytest.warns(
        tested.UntestedVersion, match=r"opendp 2\.0 is installed, and zcdp's bridge was tested with 1\.0"
    ):
        tested.warn_unless("opendp", "opendp", ("1.0",))
    tested.warn_unless("opendp", "opendp", ("1.0", "2.0"))


def test_rho_alone_counts_by_its_curve_and_never_as_gaussian_noise() -> None:
    alone, gaussian = RhoAlone(rho="0.125"), zcdp.Gaussian(sigma=2)
    assert (alone.rho, alone.rdp(3), alone.pure_epsilon) == (0.125, 0.375, inf)
    assert alone.epsilon_at(delta=1e-6) > gaussian.epsilon_at(delta=1e-6)
    assert (3 * alone).epsilon_at(delta=1e-6) == (3 * alone).routes(delta=1e-6)["rdp"]
    mixed = alone + zcdp.Laplace(epsilon=1)
    assert mixed.epsilon_at(delta=1e-6) >= (gaussian + zcdp.Laplace(epsilon=1)).epsilon_at(delta=1e-6)
    offset = RhoAlone(rho="0.1", xi="0.05")
    assert offset.rdp(2) == pytest.approx(0.25)
    assert offset.rho == pytest.approx(0.15)
    for bad in ({"rho": -1}, {"rho": 0}, {"rho": 1, "xi": -1}):
        with pytest.raises(ValueError, match=r"must not be negative|are both 0"):
            RhoAlone(**bad)


def test_outward_rounding() -> None:
    for number in (Fraction(1, 3), Fraction(-1, 3), Fraction(1, 2), Fraction(2) ** -1080, Fraction(10) ** 400):
        assert below(number) <= number <= above(number)
    assert above(Fraction(1, 4)) == below(Fraction(1, 4)) == 0.25
    assert above(Fraction(10) ** 400) == inf
