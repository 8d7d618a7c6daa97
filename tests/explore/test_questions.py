"""The answers of the page: what they draw and say is what the library certifies."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from zcdp import Gaussian, Laplace, Ledger, account
from zcdp.cli import main
from zcdp.explore.pictures import Line, chart
from zcdp.explore.plan_view import MOST_ROWS, short
from zcdp.explore.questions import QUESTIONS
from zcdp.explore.understand_view import PLACES, caught
from zcdp.mechanisms import RandomizedResponse
from zcdp.plans.plan_file import read_plan
from zcdp.plans.plan_text import parse
from zcdp.privacy.curve import Plan
from zcdp.training import Allocation, FixedSize, Poisson, Training

ROOT = Path(__file__).parents[2]
CENSUS = (ROOT / "examples" / "census.toml").read_text()
PLAN = {"text": CENSUS, "source": "census.toml"}


def ask(question: str, **given: Any) -> list[dict[str, Any]]:
    return list(QUESTIONS[question](lambda *_: None, **given))


def data(html: str) -> list[float]:
    return [float(value) for value in re.findall(r'<data value="([^"]+)"', html)]


# Plan.


@pytest.mark.parametrize("name", ["census", "product", "attribution", "persons"])
def test_every_example_is_shown_with_its_own_numbers(name: str) -> None:
    path = ROOT / "examples" / f"{name}.toml"
    plan = {"text": path.read_text(), "source": str(path)}
    [first] = ask("show", **plan)
    exact = ask("sharpen", **plan)[0]
    whole = account(path, curve=False)
    assert data(exact["html"]["summary"])[:2] == [whole.total.epsilon, whole.total.rho]
    assert data(first["html"]["summary"])[0] >= whole.total.epsilon
    for n, query in enumerate(whole.queries):
        assert data(first["html"][f"price-{n}"])[0] == query.rho
    ids = re.findall(r' id="([^"]+)"', first["html"]["rows"])
    assert len(ids) == len(set(ids))
    for target in re.findall(r' for="([^"]+)"', first["html"]["rows"]):
        assert target in ids


def test_an_open_query_is_left_out_and_said_so() -> None:
    text = CENSUS.replace("scale=6,", "scale=?,")
    [event] = ask("show", text=text, source="a.toml")
    assert event["open"] == 1
    assert "1 open, and not counted yet" in event["html"]["summary"]
    assert "open: Allocate finds it" in event["html"]["price-1"]
    rest = account(
        read_plan("a.toml", re.sub(r'\[\[query\]\]\nname = "age x sex by region".*?\n\n', "", CENSUS, flags=re.S))
    )
    assert data(event["html"]["summary"])[1] == rest.total.rho
    [filled] = ask("allocate", text=text, source="a.toml", objective="worst")
    assert "?" not in filled["text"].split("[budget]")[1]
    whole = account(read_plan("a.toml", filled["text"]), curve=False)
    assert whole.budget is not None
    assert not whole.budget.exceeded
    assert whole.budget.spent > 0.999
    every = text.replace("[[query]]", "#").split("#")[0]
    [event] = ask("show", text=every + '[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=?)"\n', source="a.toml")
    assert "Every query is open" in event["html"]["summary"]
    alone = '[budget]\nrho = 1\n[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=?)"\n'
    [event] = ask("show", text=alone, source="a.toml")
    assert "with the whole budget" in event["html"]["allocate-words"]
    [event] = ask("sharpen", text=alone, source="a.toml")
    assert event["html"] == {"curve": "", "routes": "", "points": ""}


def test_noise_that_is_not_one_number_says_where_it_is_changed() -> None:
    text = ""
    for n, mechanism in enumerate(
        (
            "Channel([['3/4','1/4'],['1/4','3/4']])",
            "2 * Laplace(epsilon=1) + Gaussian(sigma=3)",
            "SparseVector(epsilon_threshold='0.1', epsilon_queries='0.1')",
            "Gaussian(sigma=3)",
        )
    ):
        text += f'[[query]]\nname = "q{n}"\nmechanism = "{mechanism}"\n'
    [event] = ask("show", text=text, source="a.toml")
    assert event["html"]["rows"].count("not one number: change it in the text") == 3
    assert event["html"]["rows"].count('data-edit="text"') == 4


def test_a_training_in_a_plan_is_shown() -> None:
    text = "Training(noise_multiplier='1.1', steps=100, sampling=Poisson('256/60000'))"
    [event] = ask("show", text=f'[[query]]\nname = "a"\nmechanism = "{text}"\n', source="a.toml")
    assert "change it in the text" in event["html"]["rows"]
    assert data(event["html"]["summary"])[1] == parse(text).rho


def test_accuracy_after_adjustment_says_so() -> None:
    path = ROOT / "examples" / "persons.toml"
    [event] = ask("show", text=path.read_text(), source=str(path))
    assert event["html"]["rows"].count("as published, after sums are made to agree<") == 2


def test_allocate_says_what_it_would_do_and_what_it_did() -> None:
    [event] = ask("show", **PLAN)
    assert "<q>most common language</q> stays as it is" in event["html"]["allocate-words"]
    [filled] = ask("allocate", **PLAN, objective="worst")
    told = filled["html"]["allocated"]
    costs = [account(read_plan("a.toml", one), curve=False).total.epsilon for one in (CENSUS, filled["text"])]
    said = re.search(r"the noise of 6 queries, \u03b5 from ([\d.]+) to ([\d.]+)\. Undo", told)
    assert said is not None
    assert "The rest of the plan stays" in told
    assert [cost <= float(one) <= cost * 1.001 for cost, one in zip(costs, said.groups(), strict=True)] == [True, True]
    [again] = ask("allocate", text=filled["text"], source="a.toml", objective="worst")
    assert "Allocate changed nothing" in again["html"]["allocated"]
    assert re.search(r"population by region</th>.*?>10</td>.*?>3\.\d+</td>", told)
    assert "most common language" not in told
    [event] = ask("edit", **PLAN, edits=[{"what": "noise", "row": 1, "value": "?", "field": "noise-1"}])
    assert "Finds the noise of the open query" in event["html"]["allocate-words"]
    assert "Without the open queries" in event["html"]["summary"]
    assert "Within budget" not in event["html"]["summary"]
    assert 'id="slide-1"' not in event["html"]["rows"]
    [filled] = ask("allocate", text=event["text"], source="a.toml", objective="worst")
    assert re.search(r"the noise of 1 query, \u03b5 now [\d.]+\. Undo", filled["html"]["allocated"])
    [event] = ask("show", text=CENSUS.replace("[budget]\nrho = 1.2\n", ""), source="a.toml")
    assert "Set a budget first" in event["html"]["allocate-words"]


def test_what_one_person_moves_is_said_in_words() -> None:
    [event] = ask("show", **PLAN)
    assert event["html"]["rows"].count("one person moves 2 cells by 1 each</span>") == 5
    assert "one person moves 4 cells by 1 each" in event["html"]["rows"]
    text = 'unit = "household"\n'
    for n, mechanism in enumerate(
        ("Laplace(scale=1)", "Gaussian(sigma=1, sensitivity=3)", "Gaussian(sigma=1, sensitivity=L2(2))")
    ):
        text += f'[[query]]\nname = "q{n}"\nmechanism = "{mechanism}"\n'
    [event] = ask("show", text=text, source="a.toml")
    assert (
        "one household moves it by 1 (assumed; another is written in the text, as sensitivity=2)"
        in event["html"]["rows"]
    )
    assert "one household moves it by 3<" in event["html"]["rows"]
    assert "one household moves all cells within L2(2)<" in event["html"]["rows"]


def test_errors_call_fields_as_their_labels_do() -> None:
    said = {
        ("noise", "-1"): "Noise scale (-1) must be positive",
        ("uses", "0"): "Uses (0) must be at least 1",
        ("uses", "x"): "Uses ('x') must be a whole number from 1 on",
        ("sd", "-3"): "Std dev ('-3') must be positive",
        ("half", "-3"): "95% within ('-3') must be positive",
    }
    for (what, value), words in said.items():
        [event] = ask("edit", **PLAN, edits=[{"what": what, "row": 2, "value": value, "field": "f"}])
        assert event["problems"] == {"f": words}


def test_the_title_can_be_changed() -> None:
    [event] = ask("edit", **PLAN, edits=[{"what": "title", "row": None, "value": 'A "new" one', "field": "plan-title"}])
    assert read_plan("a.toml", event["text"]).title == 'A "new" one'
    assert "<h1>A &quot;new&quot; one</h1>" in event["html"]["heading"]


def test_allocation_says_why_it_cannot() -> None:
    text = '[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=?)"\n'
    [event] = ask("allocate", text=text, source="a.toml", objective="worst")
    assert "has no [budget]" in event["problems"]["allocate"]
    assert "a.toml" not in event["problems"]["allocate"]


def test_which_mechanism_prices_the_whole_plan() -> None:
    *_, last = ask("which", **PLAN, row=5)
    table = last["html"]["which-5"]
    assert table.count("<tr") == 6
    costs = data(table)
    assert costs[::2] == sorted(costs[::2])  # by rho, as the budget is
    whole = account(read_plan("a.toml", CENSUS), delta=1e-9, curve=False).total
    assert (whole.rho, whole.epsilon) in zip(costs[::2], costs[1::2], strict=True)
    assert "in use" in table
    assert table.count("whole numbers") == 2
    text = CENSUS.replace("rho = 1.2", "epsilon = 7\ndelta = 1e-9")
    *_, last = ask("which", text=text, source="a.toml", row=5)
    costs = data(last["html"]["which-5"])
    assert costs[::2] == sorted(costs[::2])
    assert (whole.epsilon, whole.rho) in zip(costs[::2], costs[1::2], strict=True)
    assert ask("which", **PLAN, row=99) == []


def test_a_plan_over_budget_says_so() -> None:
    [event] = ask("show", text=CENSUS.replace("rho = 1.2", "rho = 0.5"), source="a.toml")
    assert "Over budget: 177.8% of ρ = 0.5" in event["html"]["summary"]  # noqa: RUF001
    assert "over budget" in event["said"]


def test_an_epsilon_in_haste_calls_no_plan_over_budget_that_is_within() -> None:
    """The first number is some millionths above the last, and Allocate leaves less than that."""
    text = "delta = 1e-9\n[budget]\nepsilon = 2\ndelta = 1e-5\n"
    for n, (mechanism, count) in enumerate(
        (
            ("DiscreteGaussian(sigma=23.82695812, sensitivity=2)", 1),
            ("DiscreteLaplace(scale=8.429043028, sensitivity=L0LInf(2, 1))", 10),
        )
    ):
        text += f'[[query]]\nname = "q{n}"\nmechanism = "{mechanism}"\ncount = {count}\n'
    [first] = ask("show", text=text, source="a.toml")
    last, _ = ask("sharpen", text=text, source="a.toml")
    assert "Within budget: 100.0% of \u03b5 = 2" in last["html"]["summary"]
    assert "At most 100.1% of \u03b5 = 2" in first["html"]["summary"]
    assert "over" not in first["said"] + first["html"]["strip"]
    [first] = ask("show", text=text.replace("epsilon = 2", "epsilon = 1.5"), source="a.toml")
    assert "Over budget" in first["html"]["summary"]


def test_of_too_many_kinds_no_sharper_number_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.accounting.plan_account.MOST_KINDS_IN_FULL", 2)
    text = "delta = 1e-6\n[budget]\nepsilon = 2\ndelta = 1e-6\n"
    text += "".join(f'[[query]]\nname = "q{n}"\nmechanism = "Gaussian(sigma={2 + n})"\n' for n in range(3))
    [first] = ask("show", text=text, source="a.toml")
    last, _ = ask("sharpen", text=text, source="a.toml")
    whole = account(read_plan("a.toml", text), curve=False)
    assert "profile" not in whole.total.routes
    assert data(last["html"]["summary"])[0] == whole.total.epsilon
    assert "follows" not in last["html"]["summary"]
    assert "by \u03c1 alone" in last["html"]["summary"]
    assert "Over budget" in last["html"]["summary"]
    assert "over budget" in last["said"]
    assert "over budget" not in first["said"] or data(first["html"]["summary"])[0] <= whole.total.epsilon


def test_of_thousands_of_rows_the_first_are_shown_and_all_counted() -> None:
    text = "".join(f'[[query]]\nname = "q{n}"\nmechanism = "Gaussian(sigma=100)"\n' for n in range(2500))
    [event] = ask("show", text=text, source="a.toml")
    assert event["html"]["rows"].count('<li class="row" id=') == MOST_ROWS
    assert "and 2,300 more queries" in event["html"]["rows"]
    assert data(event["html"]["summary"])[1] == pytest.approx(2500 / 20_000)


def test_numbers_of_fields_are_as_one_types_them() -> None:
    assert [short(one) for one in (14.136244, 0.00012345, 900000.0000000002, 1e300)] == [
        "14.14",
        "0.0001235",
        "900000",
        "1e300",
    ]


# Understand.

GIVEN = {"delta": "1e-6", "uses": "20", "rate": "0.05"}


@pytest.mark.parametrize(
    "text",
    [
        "Laplace(epsilon=1)",
        "Gaussian(sigma=1)",
        "RandomizedResponse(epsilon=1, k=4)",
        "ExponentialMechanism(epsilon=1)",
        "3 * RAPPOR(epsilon=1) + Gaussian(sigma=2)",
        "LossPair(p=['1/2', '1/2', 0], q=['1/2', 0, '1/2'])",
    ],
)
def test_six_pictures_with_a_sentence_each(text: str) -> None:
    first, *events = ask("understand", given={**GIVEN, "mechanism": text}, **PLAN)
    assert first["problems"] == {}
    found = {name: html for event in events for name, html in event["html"].items()}
    assert set(found) == {"facts", *PLACES}
    for name in PLACES:
        assert found[name].count("<figcaption>") == 1
        assert re.search(r'href="theorem/[a-z-]+"', found[name])
    plan = parse(text)
    assert data(found["facts"])[0] == plan.rho
    assert data(found["tradeoff"])[0] >= 1 - plan.tradeoff_bounds("0.05")[1]
    for name in ("renyi", "profile", "composition"):
        assert ("<svg" in found[name]) == (plan.rho < 1e9) or name != "renyi"


def test_this_plan_is_looked_at_as_a_whole() -> None:
    events = ask("understand", given={**GIVEN, "mechanism": "this plan", "uses": "2"}, **PLAN)
    facts = events[1]["html"]["facts"]
    assert data(facts)[0] == account(read_plan("a.toml", CENSUS), curve=False).total.rho
    found = {name: html for event in events[1:] for name, html in event["html"].items()}
    assert "which of two records is yours" in found["tradeoff"]  # its neighbours replace a person
    assert "the sum of theirs: 2" in found["composition"]


def test_words_follow_the_neighbours() -> None:
    given = {**GIVEN, "mechanism": "Subsampled(Gaussian(sigma=1), rate=0.5)", "uses": "1"}
    found = {name: html for event in ask("understand", given=given, **PLAN) for name, html in event["html"].items()}
    assert "whether yours is in the data" in found["tradeoff"]
    assert "One use costs" in found["composition"]


def test_a_slider_sets_the_parameter() -> None:
    first = next(
        QUESTIONS["understand"](
            lambda *_: None, given={**GIVEN, "mechanism": "Gaussian(sigma=1)", "noise": "2"}, **PLAN
        )
    )
    assert first["values"] == {"mechanism": "Gaussian(sigma=2)", "noise": "2"}
    assert "glass" in first["html"]  # the field of epsilon becomes one of sigma


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("mechanism", "Lapl(epsilon=1)", "did you mean 'Laplace'"),
        ("mechanism", "", "expected a mechanism"),
        ("uses", "0", "whole number from 1"),
        ("uses", "1e99", "whole number from 1"),
        ("delta", "7", "strictly between 0 and 1"),
        ("rate", "x", "is not a number"),
    ],
)
def test_errors_of_understand_stand_at_their_fields(field: str, value: str, words: str) -> None:
    [event] = ask("understand", given={**GIVEN, "mechanism": "Laplace(epsilon=1)", field: value}, **PLAN)
    assert list(event["problems"]) == [field]
    assert words in event["problems"][field]


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.05, 0.3, 0.9, 1.0])
def test_what_is_caught_is_at_least_the_truth_and_near_it(rate: float) -> None:
    """Two answers with probabilities 3/4 and 1/4: the best test finds min(3a, (2 + a)/3) of the records."""
    plan = 1 * RandomizedResponse(epsilon="log(3)", k=2)
    points = [(n / 50, plan.delta_at(epsilon=Fraction(n, 50))) for n in range(60)]
    truth = min(3 * rate, (2 + rate) / 3)
    assert truth - 1e-12 <= caught(points, rate) <= truth + 0.03


def test_lines_are_cut_at_the_top_and_empty_ones_left_out() -> None:
    drawn = chart(
        [Line([(0, 0), (1, 100)], "tangent", "steep"), Line([], "line", "none")],
        name="a",
        title="t",
        text="d",
        across="x",
        up="y",
        ends=(0.0, 1.0),
    )
    assert "none" not in drawn
    [points] = re.findall(r'<polyline class="tangent" points="([^"]+)"', drawn)
    assert all(float(pair.split(",")[1]) >= 20 for pair in points.split())
    assert "nothing to draw" in chart([], name="a", title="t", text="d", across="x", up="y")


# Train and Budget.

RUN = {"examples": "1000", "batch": "50", "epochs": "4", "drawn": "poisson", "delta": "1e-5", "sigma": "1.5"}


def events(**given: str) -> Iterator[tuple[str, str]]:
    for event in ask("train", given={**RUN, **given}, **PLAN):
        yield from event.get("html", {}).items()


def test_a_training_run_has_the_librarys_numbers() -> None:
    found = dict(events())
    run = Training(noise_multiplier="1.5", steps=80, sampling=Poisson("50/1000"))
    assert data(found["facts"])[0] == run.epsilon_at(delta="1e-5")
    assert set(found) == {"facts", "commands", "epochs-figure", "peers-figure", "sigma-figure"}
    assert "privacy profile, exact (used here)" in found["peers-figure"]
    assert "never below the truth, and exact" in found["facts"]


def test_what_is_called_used_is_the_number_that_is_used_and_a_bound_is_not_called_exact() -> None:
    """With batches of one size the profile is of a law that lies above the true one, and here the Renyi curve wins."""
    given = {"examples": "60000", "batch": "256", "epochs": "60", "sigma": "1.1", "drawn": "fixed"}
    found: dict[str, str] = {}
    for event in QUESTIONS["train"](lambda *_: None, given={**RUN, **given}, **PLAN):
        found |= event.get("html", {})
        if "peers-figure" in found:
            break
    run = Training(noise_multiplier="1.1", steps=14063, sampling=FixedSize(256, of=60000))
    routes = run.routes(delta="1e-5")
    assert routes["rdp"] < routes["profile"]
    assert data(found["facts"])[0] == pytest.approx(routes["rdp"], rel=1e-6)
    labels = re.findall(r"<text[^>]*>([^<]*(?:profile|curve)[^<]*)</text>", found["peers-figure"])
    assert labels == ["R\u00e9nyi (RDP) curve (used here)", "privacy profile, an upper bound"]
    assert "exact" not in found["facts"] + found["peers-figure"]


@pytest.mark.deep
def test_a_run_that_takes_long_says_a_certified_number_first() -> None:
    events = QUESTIONS["train"](
        lambda *_: None, given={**RUN, "drawn": "allocation", "epochs": "2", "target": "2", "sigma": ""}, **PLAN
    )
    first, *later = [event["html"] for event in events if "html" in event]
    epsilon, noise = data(first["facts"])
    assert "a sharper number follows" in first["facts"]
    run = Training(noise_multiplier=f"{noise:.6g}", steps=40, sampling=Allocation(20))
    low, _ = run.epsilon_bounds(delta="1e-5")
    assert low <= epsilon <= 2
    assert (run.epsilon_at(delta="1e-5"), noise) == (pytest.approx(epsilon, rel=0.05), data(later[-3]["facts"])[1])
    assert low <= data(later[-3]["facts"])[0] <= epsilon
    least = Training.calibrate(epsilon=2, delta="1e-5", steps=40, sampling=Allocation(20)).noise_multiplier
    assert least <= noise <= 1.05 * float(least)
    assert {place for html in later for place in html} == {
        "facts",
        "commands",
        "epochs-figure",
        "peers-figure",
        "sigma-figure",
    }


def test_a_target_finds_the_noise() -> None:
    first = next(iter(QUESTIONS["train"](lambda *_: None, given={**RUN, "target": "2", "sigma": ""}, **PLAN)))
    found = first["html"]["facts"]
    epsilon, noise = data(found)
    assert first["values"] == {"sigma": f"{noise:.6g}"}  # the field says what was found
    assert epsilon <= 2
    assert epsilon == pytest.approx(2, rel=1e-4)
    least = Training.calibrate(epsilon=2, delta="1e-5", steps=80, sampling=Poisson("50/1000")).noise_multiplier
    assert least <= noise <= float(least) * (1 + 1e-5)
    assert f">{noise:.6g}<" in found  # what is shown is the noise itself, so that epsilon holds for whoever types it


@pytest.mark.parametrize(
    "given", [{}, {"drawn": "fixed", "epochs": "1/10"}, {"target": "2", "sigma": ""}, {"epochs": "7/2"}]
)
def test_a_run_is_the_same_on_the_command_line_and_in_a_plan(
    given: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(iter(QUESTIONS["train"](lambda *_: None, given={**RUN, **given}, **PLAN)))["html"]
    command, query = (unescape(one) for one in re.findall(r"<code[^>]*>(.*?)</code>", first["commands"]))
    assert main([*shlex.split(command)[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == data(first["facts"])[0]
    entry = read_plan("a.toml", f'[[query]]\nname = "a"\n{query}\n').entries[0]
    assert entry.plan is not None
    assert entry.plan.epsilon_at(delta="1e-5") == data(first["facts"])[0]


@pytest.mark.deep
@pytest.mark.parametrize("drawn", ["allocation", "fixed"])
def test_a_target_holds_to_the_last_digit_shown(drawn: str) -> None:
    found = dict(events(target="1", sigma="", drawn=drawn, epochs="3"))
    assert data(found["facts"])[0] <= 1
    [shown] = re.findall(r"<dd><data [^>]*>([\d.]+)</data><small>certified", found["facts"])
    assert float(shown) <= 1
    assert f"\u03b5 = {shown}<" in found["epochs-figure"]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("examples", "x", "examples"),
        ("batch", "2000", "must be at most the number of examples"),
        ("epochs", "0", "epochs"),
        ("delta", "1", "delta"),
        ("sigma", "-1", "sigma"),
        ("target", "no", "target"),
    ],
)
def test_errors_of_train_stand_at_their_fields(field: str, value: str, words: str) -> None:
    [event] = ask("train", given={**RUN, field: value}, **PLAN)
    assert list(event["problems"]) == [field]
    assert words in event["problems"][field]


def test_the_budget_is_read_and_not_touched(tmp_path: Path) -> None:
    where = str(tmp_path / "budget.db")
    with Ledger(where) as ledger:
        ledger.open_account("census", unit="person", neighbours="replace", rho=2)
        ledger.spend("census", Gaussian(sigma=2), key="a", why="first")
        head = ledger.head
    takes, told = ask("budget", ledger=where, account=None, **PLAN)
    rho = account(read_plan("a.toml", CENSUS), curve=False).total.rho
    cost, rest = data(takes["html"]["takes"])
    assert cost == pytest.approx(rho, rel=1e-12)
    assert rest == 2 - 1 / 8
    assert "It fits" in takes["html"]["takes"]
    assert "first" in told["html"]["ledger"]
    with Ledger(where) as ledger:
        assert ledger.head == head
    small = CENSUS.replace("scale=1.5", "scale=0.5")
    assert (
        "It does not fit" in ask("budget", ledger=where, account="census", text=small, source="a")[0]["html"]["takes"]
    )
    for text, words in (
        (CENSUS.replace('unit = "person"', 'unit = "household"'), "household"),
        (CENSUS.replace("scale=6,", "scale=?,"), "open"),
    ):
        assert words in ask("budget", ledger=where, account=None, text=text, source="a")[0]["html"]["takes"]


def test_of_several_accounts_each_says_whether_the_plan_fits(tmp_path: Path) -> None:
    where = str(tmp_path / "budget.db")
    with Ledger(where) as ledger:
        ledger.open_account("office", unit="person", neighbours="replace", rho=1)
        ledger.open_account("census", unit="person", neighbours="replace", rho=2, under="office")
        ledger.open_account("large", unit="person", neighbours="replace", rho=9)
        ledger.open_account(
            "order", unit="person", neighbours="replace", epsilon=4, delta="1e-6", workload=Laplace(epsilon=1)
        )
        ledger.open_account("added", unit="person", neighbours="add-remove", rho=9)
        ledger.spend("office", Gaussian(sigma=2), key="a")
        known = {one.name: ledger.remaining(one.name) for one in ledger.accounts()}
        plan = sum_of(CENSUS)
        fits = {name: ledger.would_fit(name, plan) for name in known if name != "added"}
        costs = {name: ledger.cost(name, plan) for name in fits}
    takes, _ = ask("budget", ledger=where, account=None, unsaved=True, **PLAN)
    table = takes["html"]["takes"]
    assert "This plan, with its changes that are not saved yet, would take" in table
    rows = dict(re.findall(r'<tr><th scope="row">(\w+)<span class="soft">[^<]+</span></th>(.*?)</tr>', table))
    assert set(rows) == set(known)
    assert "neighbours" in rows.pop("added")
    for name, row in rows.items():
        cost, rest = data(row)
        assert Fraction(cost) >= costs[name] >= cost * (1 - 1e-12)
        assert Fraction(rest) <= known[name] <= rest * (1 + 1e-12)
        assert ("It does not fit" in row) is not fits[name]
    assert fits["large"] is True
    assert fits["office"] is fits["census"] is False
    assert "in office, above it" in rows["census"]


def sum_of(text: str) -> Plan:
    """The releases of a plan file together."""
    entries = read_plan("a.toml", text).entries
    return Plan.sum_of(*(Plan.repeated(entry.plan, entry.count) for entry in entries if entry.plan is not None))
