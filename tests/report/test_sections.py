"""The sections of a report put each number into its own place, and say no more than it allows."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from report import sample
from report.drawing import Drawing
from report.sample import page as render

from zcdp.accounting.plan_account import Account
from zcdp.report.charts import curve_section, routes_section
from zcdp.report.release_report import render_release

SURVEY = {
    "age by sex": (20, "RAPPOR(epsilon='0.1')", None),
    "daily survey": (30, "RAPPOR(epsilon='0.1')", None),
    "reports": (1, "RAPPOR(epsilon='0.1')", None),
    "best region": (2, "RAPPOR(epsilon='0.1')", None),
}


def account() -> dict[str, Any]:
    return sample.account(SURVEY)


def plain(html: str) -> str:
    """What a person reads, cell by cell."""
    words = re.sub(r"</?(data|strong)\b[^>]*>", "", html)
    return unescape(re.sub(r"(\s*\|\s*)+", "|", re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "|", words))))


def part(page: str, name: str) -> str:
    return page.split(f'<section id="{name}">')[1].split("</section>", maxsplit=1)[0]


def test_each_query_has_its_own_row_of_numbers() -> None:
    facts = account()
    for n, query in enumerate(facts["queries"], 1):
        query |= {"count": 1000 * n, "rho": 0.5000012 * n, "rho_one": 0.2500012 * n, "share": n / 10, "note": None}
        query["accuracy"] = {"level": 0.95, "standard_deviation": 3.00012 * n, "half_width": 7.00012 * n}
    rows = part(render(facts), "queries").split("<tbody>")[1].split("</tbody>")[0].split("</tr>")
    for n, (query, row) in enumerate(zip(facts["queries"], rows, strict=False), 1):
        cells = dict(re.findall(r'data-label="([^"]*)">(?:<data[^>]*>)?([^<]*)<', row))
        assert cells["Times"] == f"{n},000"
        assert 3.00012 * n <= float(cells["Std dev"]) <= 3.01 * n
        assert 7.00012 * n <= float(cells["95% within"]) <= 7.01 * n
        assert 0.2500012 * n <= float(cells["\u03c1 each"]) <= 0.250003 * n
        assert 0.5000012 * n <= float(cells["\u03c1 of all"]) <= 0.500006 * n
        assert query["name"] in row
    assert [plain(row).split("|")[-2] for row in rows[:4]] == ["10.0%", "20.0%", "30.0%", "40.0%"]
    foot = part(render(facts), "queries").split("<tfoot>")[1]
    assert facts["total"]["rho"] <= float(plain(foot).split("|")[2]) <= facts["total"]["rho"] * 1.00001


def test_the_top_counts_releases_and_queries() -> None:
    facts = account()
    assert f">{20 + 30 + 1 + 2}<small>in 4 queries</small>" in render(facts)
    facts["queries"] = facts["queries"][:1]
    assert ">20<small>of one query</small>" in render(facts)
    cards = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)<data value=\"([^\"]*)\"", render(account()))
    total = account()["total"]
    assert [(name, sign, float(value)) for name, sign, value in cards] == [
        ("Privacy spent (zCDP)", "\u03c1 = ", total["rho"]),
        ("Epsilon at \u03b4 = 10\u207b\u2076", "\u03b5 = ", total["epsilon"]),
        ("Pure epsilon (\u03b4 = 0)", "\u03b5 = ", total["pure_epsilon"]),
    ]


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"rho": 0.5, "epsilon": None, "delta": None}, "(\u03c1 = 0.5)"),
        ({"rho": None, "epsilon": 2.0, "delta": 1e-6}, "(\u03b5 = 2 at \u03b4 = 10\u207b\u2076)"),
        ({"rho": None, "epsilon": 2.0, "delta": None}, "(\u03b5 = 2)"),
        ({"rho": 0.5, "epsilon": 2.0, "delta": 1e-6}, "(\u03c1 = 0.5 and \u03b5 = 2 at \u03b4 = 10\u207b\u2076)"),
    ],
)
@pytest.mark.parametrize("exceeded", [False, True])
def test_the_verdict_names_the_budget_it_was_held_against(budget: dict[str, Any], said: str, exceeded: bool) -> None:
    facts = account()
    facts["budget"] = {**budget, "spent": 0.61803, "left": 0.1, "exceeded": exceeded}
    text = plain(render(facts))
    assert f"{'Over' if exceeded else 'Within'} budget: 61.9% of the budget {said} is spent." in text
    assert ("Over budget" in text) == exceeded


def saved(**total: Any) -> str:
    facts = account()
    facts["total"] |= total
    return plain(part(render(facts), "savings"))


def test_savings_are_rounded_down_and_in_the_right_direction() -> None:
    usual = {"epsilon^2/2": {"rho": 0.75009, "epsilon": 6.00001234}}
    text = saved(rho=0.5, epsilon=2.0, usual=usual, elsewhere=[{"name": "rdp", "epsilon": 3.00101}])
    assert "gives \u03b5 = 3.00101 at \u03b4 = 10\u207b\u2076. The certified \u03b5 is 33.3% smaller." in text
    assert "charged \u03c1 = 0.75009, which is \u03b5 = 6.00002 at \u03b4 = 10\u207b\u2076." in text
    assert "The certified \u03c1 is 33.3% smaller: that charge pays for 1.50 times as many such releases." in text


@pytest.mark.parametrize("other", [2.0, 1.5, "inf"])
def test_nothing_is_said_to_be_saved_where_nothing_is(other: float | str) -> None:
    text = saved(epsilon=2.0, elsewhere=[{"name": "rdp", "epsilon": other}], usual={})
    assert "The certified \u03b5 is as large." in text
    assert "% smaller" not in text.split("Query by query")[0]
    same = saved(rho=0.5, usual={"epsilon^2/2": {"rho": 0.5, "epsilon": 3.0}}, elsewhere=[])
    assert "The certified cost is as much." in same
    less = saved(rho=0.5000012, usual={"epsilon^2/2": {"rho": 0.25, "epsilon": 3.0}}, elsewhere=[])
    assert "The certified cost is 0.500002." in less
    assert "% smaller" not in (same + less).replace("Query by query", "|").split("Saved")[0]


def test_query_by_query_the_usual_bound_stands_beside_what_it_costs_here() -> None:
    facts = account()
    for n, query in enumerate(facts["queries"], 1):
        query |= {"usual": {"epsilon^2/2": 0.8000012 * n}, "rho": 0.2000012 * n, "saved": 0.750059}
    facts["queries"][1]["usual"] = {"epsilon^2/2": None}
    table = part(render(facts), "savings").split("<details>")[1]
    rows = [plain(row).strip("|").split("|") for row in table.split("<tbody>")[1].split("</tr>")][:3]
    assert rows == [
        ["age by sex", "0.800002", "0.200002", "75.0%"],
        ["reports", "2.40001", "0.600004", "75.0%"],
        ["best region", "3.20001", "0.800005", "75.0%"],
    ]


def test_loose_queries_are_named_and_many_are_counted() -> None:
    facts = account()
    one = facts["queries"][0] | {"is_tight": False}
    assert "Every query has its exact cost" in render(facts)
    facts["queries"] = [one | {"name": f"q{n}"} for n in range(20)]
    assert "may be smaller: " + ", ".join(f"q{n}" for n in range(20)) + ".</p>" in render(facts)
    facts["queries"] = [one | {"name": f"q{n}"} for n in range(23)]
    assert "q18, q19 and 3 more.</p>" in render(facts)


def test_routes_are_told_from_the_least_and_the_one_used_is_marked() -> None:
    facts = account()
    facts["total"] |= {
        "route": "profile",
        "epsilon": 2.0,
        "routes": {"zcdp": 5.0, "profile": 2.0, "rdp": 3.0, "x": "inf"},
    }
    facts["total"]["usual"] = {"epsilon^2/2": {"rho": 1.0, "epsilon": 4.0}, "none": {"rho": "inf", "epsilon": "inf"}}
    text = routes_section(Account.from_dict(facts))
    rows = [plain(row).strip("|").split("|") for row in text.split("<tbody>")[1].split("</tr>")][:-1]
    assert [row[1] for row in rows] == ["2", "3", "4", "5"]
    assert ["used here" in row[0] for row in rows] == [True, False, False, False]
    assert "per release, by zCDP" in rows[2][0]
    widths = [one.at("width")[0] for one in Drawing(text).of("rect")]
    assert widths == pytest.approx([widths[3] * value / 5 for value in (2, 3, 4, 5)], abs=0.16)
    assert [one.given["class"] for one in Drawing(text).of("rect")] == ["best", "bar", "bar", "bar"]
    facts["total"] |= {"routes": {"x": "inf"}, "usual": {}}
    assert routes_section(Account.from_dict(facts)) == ""


def test_the_curve_marks_the_certified_epsilon_and_lists_every_point() -> None:
    facts = account()
    points = [(0.0, 0.5), (0.5000012, 0.0100000123), (1.0, 1e-4), (2.0, 1e-7), (3.0, 0.0), ("inf", 0.0)]
    facts["curve"] = [{"epsilon": epsilon, "delta": delta} for epsilon, delta in points]
    facts["total"] |= {"epsilon": 1.5, "epsilon_bounds": [1.0, 1.5]}
    text = curve_section(Account.from_dict(facts))
    table = text[text.index("<details>") :]
    pairs = re.findall(
        r'<data value="([^"]*)">([^<]*)</data></td><td class="number"><data value="([^"]*)">([^<]*)<', table
    )
    assert [(float(a), float(b)) for a, _, b, _ in pairs] == [one for one in points if one[0] != "inf"]
    assert [shown for _, shown, _, _ in pairs][:2] == ["0", "0.500002"]
    assert pairs[1][3] == "0.0100001"
    assert "All 5 points as a table" in table
    found = Drawing(text)
    dots = [one.at("cx", "cy") for one in found.of("circle", "dot")]
    assert len(dots) == 4
    ring = found.of("circle", "mark")[0].at("cx", "cy")
    assert ring[0] == pytest.approx((dots[2][0] + dots[3][0]) / 2, abs=0.16)  # 1.5 is between 1 and 2
    assert ring[1] == pytest.approx(
        dots[2][1] + (dots[3][1] - dots[2][1]) * 2 / 3, abs=0.16
    )  # 1e-6: two powers of three
    assert "falls from delta = 0.5 at epsilon = 0 to delta = 10\u207b\u2077 at epsilon = 2." in str(found.said)
    assert "Marked: epsilon = 1.5 at delta = 10\u207b\u2076." in str(found.said)
    facts["total"] |= {"epsilon": "inf", "epsilon_bounds": ["inf", "inf"]}
    assert Drawing(curve_section(Account.from_dict(facts))).of("circle", "mark") == []


TABLE = {
    "name": "ages <1>",
    "about": "counts by age",
    "columns": {"age": [f"a{n}" for n in range(14)], "count": list(range(14)), "mean": [n / 7 for n in range(14)]},
}


def released(unit: str = "row", **changes: Any) -> str:
    facts = {"unit": unit, "neighbours": "add-remove", "protects": "visit"}
    return render_release(Account.from_dict(account()), [TABLE | changes], facts)


def test_published_tables_are_shown_from_their_first_row() -> None:
    text = part(released(), "tables")
    rows = [plain(row).strip("|").split("|") for row in text.split("<tbody>")[1].split("</tr>")][:-1]
    assert rows == [[f"a{n}", str(n), f"{n / 7:.6g}"] for n in range(12)]
    assert "The first 12 of 14 rows." in text
    assert "<h3>ages &lt;1&gt;</h3>\n<p>Counts by age.</p>" in text
    assert [bool(kind) for kind in re.findall(r'<th scope="col"( class="number")?>', text)] == [False, True, True]
    twelve = {name: values[:12] for name, values in TABLE["columns"].items()}  # type: ignore[attr-defined]
    assert "The first" not in part(released(columns=twelve), "tables")
    assert part(released(columns={"age": [], "count": []}), "tables").count("<tr>") == 1
    truth = part(released(columns={"kept": [True]}), "tables")
    assert "<td>True</td>" in truth
    assert '<th scope="col">kept' in truth


def test_a_release_says_whose_rows_are_protected() -> None:
    assert "Neighbours differ in one row, added or removed; that is one visit." in released()
    assert "Neighbours differ in all rows of one who, added or removed" in released("who")


def test_where_nothing_can_be_compared_it_says_so() -> None:
    assert "nothing to compare with" in saved(usual={}, elsewhere=[])
    assert "nothing to compare with" not in saved(usual={}, elsewhere=[{"name": "rdp", "epsilon": 9.0}])
