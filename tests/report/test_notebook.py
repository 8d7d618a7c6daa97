"""What a notebook shows of each kind of value: its numbers on the safe side, short, without markup of others."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from zcdp import Audit, Channel, Gaussian, Laplace, Ledger, LossPair, Noise, UnaryEncoding, account, choose
from zcdp.estimation.frequency_estimates import Counts
from zcdp.release.archive import Release
from zcdp.release.table_noise import Table
from zcdp.report.notebook import shortened


def body(value: object) -> str:
    html: str = value._repr_html_()  # type: ignore[attr-defined]
    assert html.startswith('<div class="zcdp-shown"><style>')
    assert html.count("<div") == html.count("</div")
    assert "http" not in html
    return html.partition("</style>")[2]


def test_a_mechanism_and_a_plan_with_their_curve() -> None:
    shown = body(Laplace(epsilon=1))
    assert "<th>ρ (zCDP)</th><td>0.367880</td>" in shown  # noqa: RUF001
    assert "<svg" in shown
    plan = 100 * Laplace(epsilon="0.1")
    [epsilon] = re.findall(r"<th>ε at δ = 10⁻⁶</th><td>([\d.]+)</td>", body(plan))
    assert Fraction(epsilon) >= plan.epsilon_bounds(delta="1e-6")[0]


def test_a_mechanism_that_gives_an_input_away_has_no_curve() -> None:
    shown = body(LossPair(p=["1/2", "1/2", 0], q=["1/2", 0, "1/2"]))
    assert "<td>∞</td>" in shown
    assert "<svg" not in shown


def test_what_takes_long_is_shown_without_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.report.notebook.CURVE_WORK", 1)
    plan, same = (3 * Laplace(epsilon="0.3") + 5 * Gaussian(sigma=3) for _ in range(2))
    assert "<svg" not in body(plan)
    assert plan.epsilon_at(delta="1e-6") == same.epsilon_at(delta="1e-6")  # nothing coarser is kept


def test_a_large_channel_is_shortened() -> None:
    shown = body(Channel(np.full((40, 40), Fraction(1, 40)).tolist()))
    assert len(shown) < 3000
    assert "…" in shown
    assert shortened("<b>" * 99).count("<b>") < 60


def test_an_account_with_its_budget() -> None:
    path = Path(__file__).parents[2] / "examples" / "census.toml"
    shown = body(account(path))
    assert "74.1% of the budget" in shown
    assert "<svg" in shown


def test_what_was_stated_of_a_density_is_shown_as_assumed() -> None:
    noise = Noise("log(2 + x^2)*exp(-abs(x))", tail=["exponential", "1/2", 1, 40])
    for value in (noise, 2 * noise, account(noise, delta="0.01")):
        assert "assumed, not proven" in body(value)
        assert "beyond |x| = 40 the density falls" in body(value)


def test_an_audit() -> None:
    assert "VIOLATED" in body(Audit(1.0, 1.5, "an <event>", 1000, 0.99))
    assert "&lt;event&gt;" in body(Audit(1.0, 0.5, "an <event>", 1000, 0.99))


def test_estimates_and_designs() -> None:
    mechanism = UnaryEncoding("3/4", "1/4")
    shown = body(mechanism.estimate(Counts(repr(mechanism), 100, [70, 30] + [25] * 30)))
    assert "<th>0</th><td>0.900000</td>" in shown
    assert "and 12 more" in shown
    assert "textbook" in body(choose(k=16, clients=1000, rho="0.5"))


def test_an_account_of_a_ledger_shows_no_long_fraction(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("a", unit="person", rho="1/3")
        ledger.spend("a", Gaussian(sigma="10/3"), key="k")
        ledger.spend("a", Laplace(epsilon="1/7"), key="l")
        one = ledger.account("a")
    shown = body(one)
    [remaining] = re.findall(r"<th>remaining</th><td>([\d.]+)</td>", shown)
    [spent] = re.findall(r"<th>spent</th><td>([\d.]+)</td>", shown)
    assert Fraction(remaining) <= one.remaining < Fraction(remaining) + Fraction(1, 10**5)
    assert one.spent <= Fraction(spent)
    assert len(shown) < 800


def test_tables_and_releases() -> None:
    table = Table("<t>", "about", {"region": [f"R{n}" for n in range(30)], "value": list(range(30))})
    shown = body(table)
    assert "&lt;t&gt;" in shown
    assert "and 10 more" in shown
    index = b'{"tables": [{"name": "t", "about": "", "csv": "t.csv", "columns": {"value": "integer"}}]}'
    assert "<th>t</th><td>2</td>" in body(Release({"release.json": index, "t.csv": b"value\n1\n2\n"}))


def test_a_plain_import_suffices_and_loads_no_report() -> None:
    code = (
        "import sys, zcdp; m = zcdp.Laplace(epsilon=1); m.rho; print('zcdp.report' in sys.modules);"
        "print('zcdp-shown' in m._repr_html_())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
