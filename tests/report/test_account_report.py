"""The page says what the account says, is whole, and lets nothing in."""

from __future__ import annotations

import re
from decimal import Decimal
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report import sample
from report.sample import account
from report.sample import page as render
from text.test_numbers import read

import zcdp as library
from zcdp.accounting.plan_account import account as account_of
from zcdp.cli import main
from zcdp.plans.plan_file import read_plan
from zcdp.report.account_report import render as render_account
from zcdp.report.account_report import statement

ROOT = Path(__file__).parents[2]
VOID = {"meta", "link", "br"}


class Outline(HTMLParser):
    """All tags with their attributes, and whether they nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def numbers(value: Any) -> set[float]:
    """Every number anywhere in the account."""
    if isinstance(value, dict):
        return set().union(*(numbers(one) for one in value.values()))
    if isinstance(value, list):
        return set().union(*(numbers(one) for one in value))
    return (
        {float(value)} if value == "inf" or (isinstance(value, int | float) and not isinstance(value, bool)) else set()
    )


def tagged(page: str) -> list[tuple[str, str]]:
    return re.findall(r'<data value="([^"]+)">([^<]+)</data>', page)


def test_every_number_is_one_of_the_accounts_to_the_digits_shown() -> None:
    given = account()
    found = tagged(render(given))
    assert {float(full) for full, _ in found} <= numbers(given)
    for full, shown in found:
        if shown.endswith("%"):
            assert abs(Decimal(shown[:-1]) - 100 * Decimal(full)) <= Decimal("0.1")
        elif full != "inf" and Decimal(full):
            assert abs(read(shown) / Decimal(full) - 1) <= Decimal("0.00001")


def test_the_numbers_that_matter_are_there_and_rounded_up() -> None:
    given = account()
    shown = dict(tagged(render(given)))
    total = given["total"]
    guarantees = [
        total["rho"],
        total["epsilon"],
        *total["routes"].values(),
        *(query["rho"] for query in given["queries"]),
    ]
    guarantees += [query["rho_one"] for query in given["queries"]] + [point["delta"] for point in given["curve"]]
    for value in guarantees:
        assert read(shown[repr(value)]) >= Decimal(repr(value))


def test_nothing_comes_from_outside_and_nothing_runs() -> None:
    page = render(account())
    outline = Outline(page)
    assert not {"script", "img", "iframe", "object", "embed", "form", "base"} & {tag for tag, _ in outline.tags}
    for _, attributes in outline.tags:
        assert not any(name.startswith("on") or name in ("src", "srcset") for name in attributes)
    assert [link["href"] for link in outline.named("link")] == ["data:,"]
    assert not re.search(r"https?:|url\(|@import", page)


def test_links_stay_within_the_page_and_theorems_are_stated_in_it() -> None:
    page = render(account())
    outline = Outline(page)
    ids = [attributes["id"] for attributes in (one for _, one in outline.tags) if "id" in attributes]
    links = [str(link["href"]) for link in outline.named("a")]
    assert len(links) == 4
    assert all(link.startswith("#") and ids.count(link[1:]) == 1 for link in links)
    stated = [one["id"] for one in outline.named("details") if "id" in one]
    assert stated == [f"theorem-{theorem['id']}" for theorem in account()["theorems"]]
    assert "not part of this installation" not in page
    assert "rho = epsilon tanh(epsilon/4)" in page.split('id="theorem-rappor"')[1].split("</details>")[0]


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "theorems").glob("*.md")), ids=lambda page: page.stem)
def test_every_statement_is_whole_and_without_markup_of_its_own(page: Path) -> None:
    text = statement(page.stem)
    assert text
    assert len(text) > 60
    assert not re.search(r"\]\(|\*\*|^#|\\_|<(?!/?(p|pre|ul|li|strong|em|code)>)", text, re.MULTILINE)
    assert not re.search(r"(?<!\w)\*\w[^*<]*\w\*(?!\w)", text)


def test_it_says_when_by_whom_about_what_and_what_was_spent_before_what_was_saved() -> None:
    page = render(account())
    top = page.split("</header>")[0]
    for text in (
        "2026-03-04",
        "Office of Surveys",
        "Household survey, wave 7",
        "household",
        "one household replaced by another",
    ):
        assert text in top
    sections = re.findall(r'<section id="(\w+)"', page)
    assert sections == ["queries", "certainty", "curve", "routes", "savings", "theorems", "recompute"]
    facts = account() | {"author": None, "dataset": None, "unit": None}
    assert render(facts).split("</header>")[0].count("not stated") == 3


def test_accuracy_stands_beside_cost() -> None:
    facts = library.account("3 * Laplace(scale=10) + RAPPOR(epsilon=1)", curve=False).to_dict()
    page = render(facts)
    assert "<code>Laplace(scale=10)</code>" in page
    sd, half = facts["queries"][0]["accuracy"]["standard_deviation"], facts["queries"][0]["accuracy"]["half_width"]
    assert f'<data value="{sd!r}">14.15</data>' in page
    assert f'<data value="{half!r}">29.96</data>' in page


def test_the_table_of_points_is_behind_a_fold() -> None:
    curve = render(account()).split('<section id="curve">')[1].split("</section>")[0]
    assert curve.index("<details>") < curve.index("<table") < curve.index("</details>")


def test_charts_have_text_equivalents() -> None:
    page = render(account())
    outline = Outline(page)
    charts = outline.named("svg")
    assert len(charts) == 2
    ids = {attributes.get("id") for _, attributes in outline.tags}
    for chart in charts:
        assert chart["role"] == "img"
        assert set(str(chart["aria-labelledby"]).split()) <= ids
    assert all(len(text) > 20 for text in re.findall(r"<(?:title|desc) id[^>]*>([^<]*)<", page))
    assert page.count("<circle") == 20 + 1  # the points of the curve, and the ring
    assert page.count("<rect") == 6  # four routes and two usual bounds


EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;</pre></style>"


def test_no_text_becomes_markup() -> None:
    given, evil = account(), account()
    for field in ("title", "description", "source", "inputs", "zcdp", "python", "python_flint"):
        given[field], evil[field] = "plain", EVIL
    for one, other in zip(given["queries"], evil["queries"], strict=True):
        for field in ("name", "mechanism", "note"):
            one[field], other[field] = "plain", EVIL
        one["is_tight"] = other["is_tight"] = False
    for one, other in zip(given["theorems"], evil["theorems"], strict=True):
        one["title"], other["title"], one["path"], other["path"] = "plain", EVIL, "no path!", EVIL
        one["id"], other["id"] = "plain", EVIL
    for each, text in ((given, "plain"), (evil, EVIL)):
        each["total"]["routes"][text] = 99.0
        each["total"]["usual"][text] = {"rho": 5.0, "epsilon": 50.0}
    page = render(evil)
    assert [tag for tag, _ in Outline(page).tags] == [tag for tag, _ in Outline(render(given)).tags]
    assert unescape(page).count(EVIL) > 25


@pytest.mark.parametrize("path", ["javascript:alert(1)", "//example.org/x.md", "https://example.org", "/etc/passwd"])
def test_a_path_that_is_no_page_is_not_linked(path: str) -> None:
    given = account()
    given["theorems"] = [{"id": "x", "title": "X", "path": path}]
    assert Outline(render(given)).named("a") == []


def test_the_verdict() -> None:
    given = account()
    assert "Within budget: " in render(given)
    given["budget"] = {"rho": None, "epsilon": 2.0, "delta": 1e-6, "spent": 1.80501, "left": -1.6, "exceeded": True}
    page = render(given)
    assert 'class="verdict bad">Over budget: ' in page
    assert ">180.6%<" in page
    given["budget"] = None
    assert "No budget was given" in render(given)


def test_shares_on_page_and_terminal_are_the_same_and_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    """Once the page said 1.2% and the terminal 1.1%."""
    plan = ROOT / "examples" / "census.toml"
    facts = library.account(plan, curve=False)
    main(["account", str(plan)])
    out = capsys.readouterr().out
    rows = render(facts.to_dict()).split('<section id="queries">')[1].split("</section>")[0]
    shown = re.findall(r'data-label="Share"><span><data value="[^"]*">([\d.]+%)', rows)
    assert sum(Decimal(share.rstrip("%")) for share in shown) == 100
    for query, share in zip(facts.queries, shown, strict=True):
        [line] = [line for line in out.splitlines() if line.startswith(query.name[:20])]
        assert share in line.split()


def test_savings_in_words() -> None:
    page = render(account())
    given = account()["total"]
    saved = 100 * (1 - given["rho"] / given["usual"]["epsilon^2/2"]["rho"])
    assert f"The certified ρ is {int(saved * 10) / 10}% smaller" in page  # noqa: RUF001 - the Greek letter


def test_unbounded_loss_has_no_pure_epsilon_and_no_usual_bound() -> None:
    page = render(account({"sums": (10, "Gaussian(sigma=5)", None)}))
    assert "Pure epsilon" not in page  # an infinite one is no headline
    assert "nothing to compare with" in page
    Outline(page)


def test_a_release_that_gives_everything_away_costs_infinity() -> None:
    given = account()
    total, query = given["total"], given["queries"][0]
    for field in ("rho", "epsilon", "pure_epsilon"):
        total[field] = "inf"
    total.update(rho_bounds=["inf", "inf"], epsilon_bounds=["inf", "inf"])
    total["routes"] = dict.fromkeys(total["routes"], "inf")
    query.update(rho="inf", rho_one="inf", pure_epsilon_one="inf", usual={"epsilon^2/2": "inf"}, share=None, saved=None)
    total["usual"] = {"epsilon^2/2": {"rho": "inf", "epsilon": "inf"}}
    given["budget"].update(spent="inf", exceeded=True)
    page = render(given)
    assert 'Over budget: <data value="inf">∞</data>' in page
    assert "The certified cost is as much." in page
    assert 'id="routes"' not in page
    Outline(page)


def test_an_upper_bound_is_called_so() -> None:
    given = account()
    given["queries"][0]["is_tight"] = False
    page = render(given)
    assert "a proven upper bound, and the exact value may be smaller: age by sex." in page
    assert page.count("(upper bound)") == 1


def test_the_inputs_and_the_command_are_there() -> None:
    given = account()
    page = render(given)
    assert f"<pre>{given['inputs'].replace(chr(39), '&#x27;')}</pre>" in page
    assert "zcdp account survey.toml --delta 1e-06 --json" in page
    assert "Save the inputs below" in page
    given["source"] = given["inputs"] = "2 * Laplace(epsilon='1/3')"
    assert "Save the inputs below" not in render(given)
    assert r"zcdp account '2 * Laplace(epsilon='\''1/3'\'')' --delta 1e-06 --json" in unescape(render(given))


def test_few_or_no_points_draw_no_curve() -> None:
    given = account()
    given["curve"] = [{"epsilon": 0.0, "delta": 0.0}]
    assert 'id="curve"' not in render(given)


def test_an_account_that_lacks_a_part_is_refused() -> None:
    given = account()
    del given["queries"]
    with pytest.raises(ValueError, match="the account has no 'queries'"):
        render(given)


def test_a_whole_below_the_sum_of_its_parts_is_explained() -> None:
    less = "the whole costs less than the sum of its parts"
    assert less in render(account())  # k-RR at k = 100 is worst beyond order 1, the others at 1
    assert less not in render(account({"a": (3, "Laplace(epsilon=1)", None), "b": (1, "RAPPOR(epsilon=1)", None)}))


def test_upper_ends_are_the_guarantees_and_rounded_up() -> None:
    """Ends that are far apart, with more digits than are shown: nowhere may the lower stand for the upper."""
    facts = account()
    facts["total"] |= {"epsilon": 5.0000012345678, "epsilon_bounds": [3.0000098765432, 5.0000012345678]}
    facts["total"] |= {"rho": 0.70000012345678, "rho_bounds": [0.50000098765432, 0.70000012345678]}
    page = render(facts)
    for section in ("curve", "routes"):
        text = page.split(f'<section id="{section}">')[1].split("</section>")[0]
        assert "3.0000" not in text
    facts_row = page.split('<dl class="facts">')[1].split("</dl>")[0]
    assert '<data value="5.0000012345678">5.00001</data>' in facts_row
    assert '<data value="0.70000012345678">0.700001</data>' in facts_row
    assert "3.0000" not in facts_row
    certain = page.split('<section id="certainty">')[1].split("</section>")[0]
    assert '<data value="5.0000012345678">5.000001235</data>' in certain
    assert '<data value="3.0000098765432">3.000009876</data>' in certain
    assert "\u03b5 = 5.00001" in page.split('<section id="curve">')[1].split("</svg>")[0]


def test_a_curve_down_to_the_least_float_is_drawn(tmp_path: Path) -> None:
    """Its axis goes below what floats can say."""
    assert main(["account", "DiscreteGaussian(sigma=0.01, sensitivity=100)", "--html", str(tmp_path / "a.html")]) == 0
    assert "<svg" in (tmp_path / "a.html").read_text(encoding="utf-8")


# The sections of a report put each number into its own place, and say no more than it allows.


SURVEY = {
    "age by sex": (20, "RAPPOR(epsilon='0.1')", None),
    "daily survey": (30, "RAPPOR(epsilon='0.1')", None),
    "reports": (1, "RAPPOR(epsilon='0.1')", None),
    "best region": (2, "RAPPOR(epsilon='0.1')", None),
}


def an_account() -> dict[str, Any]:
    return sample.account(SURVEY)


def plain(html: str) -> str:
    """What a person reads, cell by cell."""
    words = re.sub(r"</?(data|strong)\b[^>]*>", "", html)
    return unescape(re.sub(r"(\s*\|\s*)+", "|", re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "|", words))))


def part(page: str, name: str) -> str:
    return page.split(f'<section id="{name}">')[1].split("</section>", maxsplit=1)[0]


def test_each_query_has_its_own_row_of_numbers() -> None:
    facts = an_account()
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


def test_the_top_counts_uses_and_queries() -> None:
    facts = an_account()
    assert f">{20 + 30 + 1 + 2}<small>in 4 queries</small>" in render(facts)
    facts["queries"] = facts["queries"][:1]
    assert ">20<small>of one query</small>" in render(facts)
    cards = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)<data value=\"([^\"]*)\"", render(an_account()))
    total = an_account()["total"]
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
    facts = an_account()
    facts["budget"] = {**budget, "spent": 0.61803, "left": 0.1, "exceeded": exceeded}
    text = plain(render(facts))
    assert f"{'Over' if exceeded else 'Within'} budget: 61.9% of the budget {said} is spent." in text
    assert ("Over budget" in text) == exceeded


def saved(**total: Any) -> str:
    facts = an_account()
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
    facts = an_account()
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
    facts = an_account()
    one = facts["queries"][0] | {"is_tight": False}
    assert "Every query has its exact cost" in render(facts)
    facts["queries"] = [one | {"name": f"q{n}"} for n in range(20)]
    assert "may be smaller: " + ", ".join(f"q{n}" for n in range(20)) + ".</p>" in render(facts)
    facts["queries"] = [one | {"name": f"q{n}"} for n in range(23)]
    assert "q18, q19 and 3 more.</p>" in render(facts)


def test_where_nothing_can_be_compared_it_says_so() -> None:
    assert "nothing to compare with" in saved(usual={}, elsewhere=[])
    assert "nothing to compare with" not in saved(usual={}, elsewhere=[{"name": "rdp", "epsilon": 9.0}])


def test_derived_columns_are_told_in_words() -> None:
    text = '[data]\nunit = "row"\n[derive]\nhourly = { quotient = ["wage", "<b>"] }\n[[query]]\nname = "a"\n'
    text += 'measure = "count"\nwhere = [["hourly", ">", 9]]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
    page = render(library.account(read_plan("plan.toml", text), curve=False).to_dict())
    assert "<dt>hourly</dt><dd>wage / &lt;b&gt;</dd>" in page


def test_what_an_attacker_gains_in_words() -> None:
    """Four answers with noise of mu = 1/2 each are mu = 1: 1.83% are found at 1 false alarm in 1,000."""
    page = render_account(library.account("4 * Gaussian(sigma=2)", curve=False, risk=True))
    section = unescape(re.sub(r"<[^>]+>", " ", page.split('<section id="risk">')[1].split("</section>")[0]))
    told = " ".join(section.split())
    assert "guesses whether a person is in the data" in told
    for words in ("1 in 1,000 1.83%", "1 in 10 39%", "1 in 2 50% 70%", "by at most 38.3% (the advantage)", "= 1"):
        assert words in told
    assert 'id="risk"' not in render_account(library.account("Laplace(epsilon=1)", curve=False))


TABLES = """
[data]
unit = "id"
[domain]
pay = { from = 0, to = 100, step = 5 }
region = ["a", "b", "c", "d", "e", "f"]
[[query]]
name = "deciles of <pay>"
measure = "quantiles"
of = "pay"
per = "person"
quantiles = [0.1, 0.5, 0.9]
mechanism = "DiscreteGaussian(sigma=20)"
[[query]]
name = "largest"
measure = "top"
of = "region"
k = 4
mechanism = "ExponentialMechanism(epsilon=0.05)"
"""


def test_what_is_expected_of_tables_stands_in_the_page() -> None:
    facts = account_of(read_plan("plan.toml", TABLES), curve=False)
    made = render_account(facts)
    Outline(made)
    assert "What to expect before any data is read" in made
    assert made.count("deciles of &lt;pay&gt;</th>") == 3  # for three guesses
    for query in facts.queries:
        for one in query.predicted:
            number = 100 * one.half_width if one.what == "rank" else one.half_width
            assert any(shown in made for shown in (f"{number:.3g}", f"{number:.4g}", "100%"))
    assert "tell the largest as well or better" in made
    assert "What to expect" not in render_account(facts, published="<p>tables</p>")
    assert "What to expect" not in render(account())
