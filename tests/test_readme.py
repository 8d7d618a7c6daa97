"""The picture of the README and the table of savings are what the library computes."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest

from zcdp import RAPPOR, DiscreteLaplace, ExponentialMechanism, Laplace, Mechanism, PureDP, RandomizedResponse

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
FIGURES = (ROOT / "docs" / "explanation" / "figures.md").read_text()
ROWS = {
    "any epsilon-DP": (PureDP(epsilon=1), "0.5"),
    "Laplace": (Laplace(epsilon=1), "0.5"),
    "discrete Laplace, sensitivity 5": (DiscreteLaplace(epsilon=1, sensitivity=5), "0.5"),
    "4-randomized response": (RandomizedResponse(epsilon=1, k=4), "0.5"),
    "2925-randomized response": (RandomizedResponse(epsilon=1, k=2925), "0.5"),
    "RAPPOR": (RAPPOR(epsilon=1), "0.5"),
    "exponential mechanism": (ExponentialMechanism(epsilon=1), "0.125"),
}
TABLE = re.findall(r"^\| ([^:|]+?)(?::[^|]*)? \| (0\.\d{6}) \| (0\.\d+) \| ([\d.]+)% \|$", FIGURES, re.MULTILINE)


def test_the_table_is_complete() -> None:
    assert [row[0] for row in TABLE] == list(ROWS)


@pytest.mark.parametrize(("name", "rho", "usual", "saved"), TABLE)
def test_a_row_is_true(name: str, rho: str, usual: str, saved: str) -> None:
    m: Mechanism
    m, charged = ROWS[name]
    assert usual == charged
    assert Fraction(rho) == Fraction(ceil(Fraction(m.rho) * 10**6), 10**6)  # rounded up, like every guarantee
    assert float(saved) == pytest.approx(100 * (1 - m.rho / float(usual)), abs=0.0501)


def test_the_picture_is_the_one_that_make_demo_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import demo

    rows = demo.facts()
    assert (ROOT / "docs" / "assets" / "saved.svg").read_text() == demo.picture(rows)
    for _, _, usual, ours in rows:
        assert f"{int(1000 * (1 - ours / usual)) / 10:.1f}% less" in README


def test_the_readme_is_one_screen_and_says_its_three_jobs_first() -> None:
    first = README.split("## ")[0]
    assert [word for word in ("**Account**", "**Release**", "**Train**") if word in first] == [
        "**Account**",
        "**Release**",
        "**Train**",
    ]
    assert first.count("```python") == 3
    assert len(README.splitlines()) < 90
    for target in re.findall(r"\]\(([^)#]+)", README):
        assert (ROOT / target).exists(), target
