"""What the bridges share, and what can be said of them where the other systems are not installed."""

from __future__ import annotations

import importlib
import re
import tomllib
from fractions import Fraction
from importlib.util import find_spec
from math import inf, nextafter
from pathlib import Path
from random import Random

import adapters as tool
import pytest

import zcdp
from zcdp import Gaussian, PureDP
from zcdp.adapters import common as tested
from zcdp.adapters.common import RhoAlone, above, below
from zcdp.numeric.balls import at_precision

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


# A guarantee of which only its curve is known: xi + rho alpha at every order, and at least what any such law needs.


CURVES = [("0.1", "0"), ("0.1", "0.05"), ("0", "1"), ("1/3", "1/7"), ("2", "0.5")]


@pytest.mark.parametrize(("rho", "xi"), CURVES)
def test_the_curve_is_the_line_at_every_order(rho: str, xi: str) -> None:
    bound, slope, start = RhoAlone(rho=rho, xi=xi), Fraction(rho), Fraction(xi)
    for order in ("1", "1.01", "3/2", "2", "10", "1000"):
        line = start + slope * Fraction(order)
        assert line <= Fraction(bound.rdp(order)) <= line * (1 + Fraction(1, 10**15))
    assert bound.rho_fraction == start + slope  # the largest D(alpha)/alpha is at order 1
    assert start + slope <= Fraction(bound.rho) <= (start + slope) * (1 + Fraction(1, 10**15))
    for ball in at_precision(100, lambda: (bound.kl(), bound.peak().rho)):
        assert float(ball.mid()) == pytest.approx(float(start + slope), rel=1e-14)
    assert bound.peak().order == 1
    assert bound.rho_bounds[0] == 0
    assert (bound.pure_epsilon, bound.largest_loss, bound.is_tight) == (inf, None, False)


@pytest.mark.parametrize("epsilon", ["0.2", "0.5", "0.9"])
def test_it_covers_every_law_below_the_line(epsilon: str) -> None:
    """Pure DP of epsilon 1 stays below xi = 1, Gaussian noise of rho below rho alpha."""
    assert RhoAlone(rho=0, xi=1).delta_at(epsilon=epsilon) >= PureDP(epsilon=1).delta_at(epsilon=epsilon)
    assert RhoAlone(rho="0.02").delta_at(epsilon=epsilon) >= Gaussian(sigma=5).delta_at(epsilon=epsilon)
    many, noise = 10 * RhoAlone(rho="0.002"), Gaussian(sigma=5)
    assert many.delta_at(epsilon=epsilon) >= noise.delta_at(epsilon=epsilon)
    assert "profile" not in {name for name, value in many.routes(delta="1e-6").items() if value < inf}


def test_it_is_written_as_it_was_given_and_refuses_what_is_no_curve() -> None:
    assert repr(RhoAlone(rho="0.1")) == "RhoAlone(rho='0.1')"
    assert repr(RhoAlone(rho="0.1", xi=2)) == "RhoAlone(rho='0.1', xi=2)"
    assert RhoAlone(rho="0.1") == RhoAlone(rho="1/10", xi=0) != RhoAlone(rho="0.1", xi="0.1")
    for given, words in (
        ({"rho": "-0.1"}, r"rho \(-1/10\) must not be negative"),
        ({"rho": 1, "xi": "-0.5"}, r"xi \(-1/2\) must not be negative"),
        ({"rho": 0}, "both 0"),
    ):
        with pytest.raises(ValueError, match=words):
            RhoAlone(**given)  # type: ignore[arg-type]


# Outward rounding: the nearest float on the side where more is spent, and none nearer.


CHANCE = Random(2)


NUMBERS = [Fraction(CHANCE.randrange(1, 10**12), CHANCE.randrange(1, 10**12)) for _ in range(40)]


NUMBERS += [
    Fraction(1, 10),
    Fraction(1, 3),
    Fraction(3, 4),
    Fraction(0),
    Fraction(2) ** -1070,
    Fraction(2) ** -1080 / 3,
]


NUMBERS += [Fraction(2) ** 1023, Fraction(0.1), Fraction(10) ** 308]


@pytest.mark.parametrize("sign", [1, -1])
def test_both_sides_are_the_nearest_floats(sign: int) -> None:
    for number in NUMBERS:
        n = sign * number
        up, down = above(n), below(n)
        assert Fraction(nextafter(up, -inf)) < n <= Fraction(up)
        assert Fraction(down) <= n < Fraction(nextafter(down, inf))
        assert (up == down) == (Fraction(float(n)) == n)


def test_beyond_all_floats() -> None:
    largest, huge = nextafter(inf, 0), Fraction(10) ** 400
    assert (above(huge), below(huge)) == (inf, largest)
    assert (above(-huge), below(-huge)) == (-largest, -inf)
