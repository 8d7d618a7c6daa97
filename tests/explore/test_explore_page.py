"""The page in a real browser: a plan is changed, allocated, saved and accounted; every area at every width, by axe too.

Under `make deep`, which installs Playwright, a driver for the installed Chromium, and axe-core below build/.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from explore.asking import page
from report.browser import chromium

from zcdp import Gaussian, Ledger, account
from zcdp.accounting.alternatives import mechanism_of
from zcdp.explore import plan_view
from zcdp.plans.plan_file import read_plan

ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "axe" / "package" / "axe.min.js"
try:
    from playwright.sync_api import sync_playwright
except ModuleNotFoundError:
    sync_playwright = None

browsed = pytest.mark.skipif(
    chromium() is None or sync_playwright is None or not AXE.is_file(),
    reason="NOT CHECKED: the page in a browser needs chromium, Playwright and axe-core (make deep has them)",
)
pytestmark = [pytest.mark.deep, pytest.mark.filterwarnings("default")]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "examples" / "census.toml", tmp_path / "census.toml"))


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    where = str(tmp_path / "budget.db")
    with Ledger(where) as book:
        book.open_account("census", unit="person", neighbours="replace", rho=3)
        book.open_account("scarce", unit="person", neighbours="replace", rho="0.2", under="census")
        book.spend("census", Gaussian(sigma=2), key="first", why="first")
    return where


@contextmanager
def tab(address: str, *, width: int = 1280, dark: bool = False, height: int = 800) -> Iterator[Any]:
    """A tab of the browser that keeps what it complained of and which addresses it asked for."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            permissions=["clipboard-read", "clipboard-write"],
        )
        found = context.new_page()
        found.complaints, found.asked = [], []
        found.on("console", lambda message: found.complaints.append(message.text) if message.type == "error" else None)
        found.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.on("request", lambda request: found.asked.append(request.url))
        found.set_default_timeout(60_000)
        found.goto(address)
        yield found
        browser.close()


def until(shown: Any, condition: str) -> None:
    """Wait for a condition; the driver's own way needs eval, which the policy of the page forbids."""
    end = time.monotonic() + 90
    while not shown.evaluate(f"Boolean({condition})"):
        assert time.monotonic() < end, condition
        shown.wait_for_timeout(20)


def settled(shown: Any) -> float:
    """epsilon of the page, once nothing more is computed."""
    until(shown, "!document.querySelector('.pending') && document.querySelector('#curve svg') && isQuiet()")
    return float(shown.get_attribute("#epsilon data", "value"))


def certified(path: Path) -> float:
    return account(path, curve=False).total.epsilon


@browsed
def test_a_whole_sitting(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address) as shown:
        assert settled(shown) == certified(plan)

        slider = shown.locator("#slide-1")  # drawn along with the mouse
        box = slider.bounding_box()
        shown.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        shown.mouse.down()
        for n in range(12):
            shown.mouse.move(box["x"] + box["width"] * (0.5 + n / 40), box["y"] + box["height"] / 2)
        shown.mouse.up()
        until(shown, "Number(document.getElementById('noise-1').value) > 10")
        moved = shown.input_value("#noise-1")
        shown.locator("#slide-1").press("ArrowRight")  # and with the keyboard
        until(shown, f"Number(document.getElementById('noise-1').value) > {moved}")

        shown.fill("#noise-2", "abc")  # nonsense stands at its field
        shown.wait_for_selector("#noise-2-problem:not([hidden])")
        assert "is not a number" in shown.inner_text("#noise-2-problem")
        assert shown.get_attribute("#noise-2", "aria-invalid") == "true"
        assert shown.get_attribute("#noise-2", "aria-describedby") == "noise-2-problem"
        shown.click("[data-do=save]")  # and is in no file and no number: both say so
        shown.wait_for_selector("#save-problem:not([hidden])")
        assert "Not saved: 1 entry is not valid" in shown.inner_text("#save-problem")
        assert "not counted" in shown.inner_text("#left-out")
        assert shown.evaluate("document.activeElement.id") == "noise-2"
        assert "abc" not in plan.read_text()
        shown.fill("#noise-2", "5")
        shown.wait_for_selector("#noise-2-problem", state="hidden")
        shown.wait_for_selector("#left-out", state="hidden")

        shown.fill("#sd-3", "4")  # a target accuracy
        until(shown, "Math.abs(Number(document.getElementById('noise-3').value) - 2.85) < 0.05")

        shown.click("[data-which='5']")
        shown.wait_for_selector("#which-5 [data-take=DiscreteGaussian]")
        until(shown, "!document.querySelector('#which-5 [role=status]')")
        row = shown.locator("#which-5 tr", has_text="DiscreteGaussian(")
        priced = float(row.locator("data").last.get_attribute("value"))  # rho is the first, as the budget is
        shown.click("#which-5 [data-take=DiscreteGaussian]")
        until(shown, "document.getElementById('kind-5').value === 'DiscreteGaussian'")
        until(shown, "document.activeElement.id === 'kind-5'")  # the button that was pressed is gone
        until(shown, "!document.querySelector('.pending')")
        assert settled(shown) == priced  # what was promised is what it costs

        shown.click("[data-do=add]")
        shown.wait_for_selector("#row-7")
        assert shown.evaluate("document.activeElement.id") == "name-7"  # a new query wants its name first
        shown.click("[data-remove='0']")
        until(shown, "!document.getElementById('row-7')")
        shown.click("[data-do=undo]")
        shown.wait_for_selector("#row-7")
        shown.click("[data-do=redo]")
        until(shown, "!document.getElementById('row-7')")

        before = shown.inner_text("#epsilon")
        shown.fill("#noise-1", "?")
        shown.wait_for_selector("#price-1 .open")
        until(shown, "isQuiet()")
        assert f"Before this change: \u03b5 {before}," in shown.inner_text("#was")
        assert shown.evaluate("document.activeElement.id") == "noise-1"
        shown.click("[data-do=allocate]")
        shown.wait_for_selector("#price-1 .rho")
        assert "Within budget: 100.0%" in shown.inner_text("#verdict")
        assert "Allocate set the noise of 1 query" in shown.inner_text("#allocated")

        shown.click("[data-do=save]")
        until(shown, "document.getElementById('state').textContent === 'saved'")
        assert shown.evaluate("document.activeElement.textContent") == "census.toml saved"  # and not Undo
        assert settled(shown) == certified(plan)  # to the last digit
        shown.reload()
        assert settled(shown) == certified(plan)
        shown.click("[data-copy=command-0]")
        assert shown.evaluate("navigator.clipboard.readText()") == f"zcdp account {plan} --html report.html"
        own = f"http://127.0.0.1:{server.explorer.port}/{server.explorer.token}/"
        assert [url for url in shown.asked if not url.startswith(own) and url != "data:,"] == []
        assert shown.complaints == []
    text = plan.read_text()
    assert text.startswith("# A statistics office releases counts of its census.")


@browsed
def test_a_change_made_meanwhile_is_offered(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address) as shown:
        settled(shown)
        shown.fill("#uses-0", "2")
        shown.press("#uses-0", "Tab")
        shown.wait_for_selector("[data-do=save]:not([disabled])")
        plan.write_text(plan.read_text().replace("scale=6,", "scale=8,"))
        shown.keyboard.press("Control+s")
        shown.wait_for_selector("#save-problem:not([hidden])")
        assert "changed by another program" in shown.inner_text("#save-problem")
        shown.click("#save-problem button")
        until(shown, "document.getElementById('noise-1').value === '8'")
        assert "scale=8," in plan.read_text()


def accounted(shown: Any, server: Any) -> None:
    """What stands in the fields is what the plan says that is accounted, but for what is marked as wrong."""
    until(shown, "isQuiet()")
    draft = server.explorer.draft.text
    held = read_plan("held", draft)
    fields = shown.evaluate(
        """Object.fromEntries([...document.querySelectorAll('[data-edit]:not([aria-invalid])')].map(
        one => [one.id, one.value]))"""
    )
    expected = plan_view.values(held, account(held, curve=False))
    assert {name: value for name, value in fields.items() if name in expected} == {
        name: expected[name] for name in fields if name in expected
    }
    kinds = {f"kind-{n}": type(mechanism_of(entry)).__name__ for n, entry in enumerate(held.entries) if not entry.open}
    assert {name: value for name, value in fields.items() if name in kinds} == {
        name: kinds[name] for name in fields if name in kinds
    }
    assert shown.evaluate("[...document.querySelectorAll('.row h3')].map(one => one.textContent)") == [
        entry.name for entry in held.entries
    ]


@browsed
@pytest.mark.parametrize("delay", [0, 60, 150])
@pytest.mark.parametrize("pasted", [False, True])
def test_what_is_typed_on_at_once_is_kept(plan: Path, delay: int, pasted: bool) -> None:
    """Rows are drawn anew while a person goes on typing: nothing of it is lost, or mixed with what stood there."""
    mechanism = "Laplace(scale=40, sensitivity=7)"
    with page(plan) as server, tab(server.explorer.address) as shown:
        settled(shown)
        shown.click("[data-do=add]")
        until(shown, "document.activeElement.id === 'name-7'")
        shown.keyboard.type("sum", delay=delay)
        shown.keyboard.press("Tab")  # the name is sent, and the rows come back while the next field is typed in
        shown.keyboard.press("Control+a", delay=delay)
        if pasted:
            shown.wait_for_timeout(delay)
            shown.evaluate("text => navigator.clipboard.writeText(text)", mechanism)
            shown.keyboard.press("Control+v")
        else:
            shown.keyboard.type(mechanism, delay=delay)
        assert shown.input_value("#text-7") == mechanism
        shown.keyboard.press("Tab")
        shown.keyboard.type("of all incomes", delay=delay)
        shown.keyboard.press("Enter")
        shown.focus("#noise-3")
        until(shown, "isQuiet()")
        assert not shown.is_visible("#left-out")
        accounted(shown, server)
        last = read_plan("held", server.explorer.draft.text).entries[-1]
        assert (last.name, last.text, last.note) == ("sum", mechanism, "of all incomes")
        assert "one person moves it by 7" in shown.inner_text("#row-7")
        assert shown.complaints == []


@browsed
def test_a_query_removed_does_not_take_what_is_typed_below_it(plan: Path) -> None:
    """Rows below get other numbers: what is typed before they are drawn is still of its own query."""
    with page(plan) as server, tab(server.explorer.address) as shown:
        settled(shown)
        names = [entry.name for entry in read_plan("held", server.explorer.draft.text).entries]
        shown.evaluate(
            """() => {
              const type = (id, text) => {
                const field = document.getElementById(id);
                field.focus();
                field.value = text;
                field.dispatchEvent(new Event('input', { bubbles: true }));
              };
              type('noise-6', '21');
              document.querySelector("[data-remove='0']").click();
              document.querySelector("[data-remove='2']").click();
              type('noise-4', '17');
            }"""
        )
        shown.keyboard.press("End")
        shown.keyboard.type("5")
        until(shown, "document.querySelectorAll('.row').length === 5 && isQuiet()")
        assert shown.evaluate("document.activeElement.id") == "noise-2"
        found = {entry.name: entry.text for entry in read_plan("held", server.explorer.draft.text).entries}
        assert list(found) == [name for n, name in enumerate(names) if n not in (0, 2)]
        assert "175" in found[names[4]]
        assert "21" in found[names[6]]
        assert f"{names[2]} was removed" in shown.inner_text("#removed")
        accounted(shown, server)


@browsed
def test_whatever_is_done_in_whatever_haste_the_fields_say_what_is_accounted(plan: Path) -> None:
    """A person in haste: random edits with random pauses, by the keyboard; at rest fields and plan agree."""
    chance = Random(7)
    with page(plan) as server, tab(server.explorer.address) as shown:
        settled(shown)
        shown.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        for _ in range(6):
            for _ in range(8):
                rows = shown.evaluate("document.querySelectorAll('.row').length")
                row = chance.randrange(rows)
                what = chance.choice(["noise", "noise", "sd", "uses", "name", "text", "add", "undo", "redo", "remove"])
                if what == "remove" and rows > 3:
                    shown.evaluate(f"document.querySelector(\"[data-remove='{row}']\")?.click()")
                elif what in ("add", "undo", "redo"):
                    shown.evaluate(f"document.querySelector('[data-do={what}]').click()")
                elif shown.evaluate(f"Boolean(document.getElementById('{what}-{row}'))"):
                    value = {
                        "noise": str(chance.randrange(2, 40)),
                        "sd": str(chance.randrange(2, 40)),
                        "uses": str(chance.randrange(1, 9)),
                        "name": f"query {chance.randrange(10**6)}",
                        "text": f"Laplace(scale={chance.randrange(2, 40)}, sensitivity=2)",
                    }[what]
                    shown.evaluate(f"document.getElementById('{what}-{row}')?.focus()")
                    shown.keyboard.press("Control+a")
                    shown.keyboard.type(value, delay=chance.choice([0, 0, 5]))
                    if chance.random() < 0.7:
                        shown.keyboard.press(chance.choice(["Tab", "Enter"]))
                shown.wait_for_timeout(chance.choice([0, 0, 20, 60, 120]))
            shown.focus("#objective")
            accounted(shown, server)
        assert shown.complaints == []


@browsed
def test_undo_first_puts_back_what_is_not_valid(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address) as shown:
        settled(shown)
        shown.focus("#noise-1")
        for value in ("4", "5", "6"):  # each, with Enter, is a step of its own
            shown.keyboard.press("Control+a")
            shown.keyboard.type(value)
            shown.keyboard.press("Enter")
            until(shown, "isQuiet()")
        shown.keyboard.press("Control+a")
        shown.keyboard.type("x")
        shown.wait_for_selector("#noise-1-problem:not([hidden])")
        for value in ("6", "5", "4"):
            shown.click("[data-do=undo]")
            until(shown, f"document.getElementById('noise-1').value === '{value}' && isQuiet()")
            accounted(shown, server)
        assert not shown.is_visible("#left-out")
        shown.fill("#noise-2", "?")
        until(shown, "isQuiet()")
        shown.click("[data-do=allocate]")
        shown.wait_for_selector("#allocated p")
        found = server.explorer.draft.text
        shown.select_option("#budget-kind", "epsilon")  # and no limit is typed
        shown.click("[data-do=undo]")
        until(shown, "document.getElementById('budget-kind').value === 'rho' && isQuiet()")
        assert server.explorer.draft.text == found
        accounted(shown, server)
        shown.select_option("#budget-kind", "epsilon")
        shown.keyboard.press("Tab")  # a limit that is left out is missing
        shown.wait_for_selector("#budget-limit-problem:not([hidden])")
        shown.click("[data-do=allocate]")
        assert "Not allocated: 1 entry is not valid" in shown.inner_text("#allocate-problem")
        shown.click("[data-do=undo]")
        until(shown, "isQuiet()")
        assert server.explorer.draft.text == found
        accounted(shown, server)


@browsed
def test_a_limit_on_rho_is_not_taken_for_one_on_epsilon(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address) as shown:
        settled(shown)
        shown.select_option("#budget-kind", "epsilon")
        assert shown.evaluate("document.activeElement.id") == "budget-limit"
        assert shown.input_value("#budget-limit") == ""
        assert shown.get_attribute("#budget-limit", "placeholder") == "now \u03c1 1.2"
        shown.keyboard.type("7")
        until(shown, "document.getElementById('verdict').textContent.includes('of \u03b5 = 7 at')")
        shown.click("[data-do=undo]")
        until(shown, "document.getElementById('verdict').textContent.includes('of \u03c1 = 1.2')")
        assert shown.input_value("#budget-limit") == "1.2"
        assert shown.evaluate("document.activeElement.textContent") == "Redo"  # Undo can do no more


AREAS = ("plan", "understand", "train", "budget", "theorem/laplace")
READY = {
    "plan": "document.querySelector('#curve svg')",
    "understand": "document.querySelectorAll('figure svg').length === 5",
    "train": "document.querySelectorAll('figure svg').length === 3",
    "budget": "document.querySelector('#ledger article')",
    "theorem/laplace": "true",
}
WIDEST = """Math.max(...[...document.querySelectorAll('body *:not(.hidden):not(.skip)')].map(
  one => one.getBoundingClientRect().right))"""


def states(shown: Any, area: str) -> Iterator[str]:
    """One after the other the states of an area that look different."""
    yield "as it opens"
    if area == "plan":
        shown.fill("#noise-2", "abc")
        shown.wait_for_selector("#noise-2-problem:not([hidden])")
        shown.click("[data-which='0']")
        shown.wait_for_selector("#which-0 table")
        yield "with an error and mechanisms to choose from"
        shown.fill("#noise-2", "?")
        shown.wait_for_selector("#price-2 .open")
        shown.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        yield "with open noise, and all unfolded"
        shown.click("[data-do=allocate]")
        shown.wait_for_selector("#allocated p")
        shown.fill("#budget-limit", "0.1")
        shown.wait_for_selector(".budget.bad")
        shown.fill("#delta", "7")
        shown.wait_for_selector("#delta-problem:not([hidden])")
        yield "allocated, over budget, with an error beside it"
    elif area == "understand":
        shown.click("[data-example='RAPPOR(epsilon=1)']")
        yield "with columns"
        shown.fill("#mechanism", "Lapl(epsilon=1)")
        shown.wait_for_selector("#mechanism-problem:not([hidden])")
        yield "with an error"
    elif area == "train":
        shown.fill("#target", "no")
        shown.wait_for_selector("#target-problem:not([hidden])")
        yield "with an error"


@browsed
@pytest.mark.parametrize(
    ("width", "dark"), [(360, False), (360, True), (768, False), (768, True), (1280, False), (1280, True)]
)
def test_every_area_fits_and_is_accessible(plan: Path, ledger: str, width: int, dark: bool) -> None:
    with page(plan, ledger=ledger) as server, tab(server.explorer.address, width=width, dark=dark) as shown:
        for area in AREAS:
            shown.goto(server.explorer.address.replace("/plan", f"/{area}"))
            until(shown, READY[area])
            shown.evaluate(AXE.read_text())  # run by the driver: the policy of the page lets no other script in
            for state in states(shown, area):
                # half-faded text has no contrast, and what is replaced under axe's eyes has no style at all
                until(shown, "(!globalThis.isQuiet || isQuiet()) && document.getAnimations().length === 0")
                assert shown.evaluate("document.documentElement.scrollWidth") <= width, (area, state)
                assert shown.evaluate(WIDEST) <= width + 1, (area, state)
                found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")
                told = [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found["violations"]]
                assert told == [], (area, state)
        assert shown.complaints == []


@browsed
def test_two_windows_do_not_undo_each_other(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address) as one:
        settled(one)
        other = one.context.new_page()
        other.goto(server.explorer.address)
        settled(other)
        other.fill("#noise-2", "5")
        until(other, "isQuiet() && document.getElementById('state').textContent === 'not saved yet'")
        one.fill("#noise-1", "7")
        until(one, "isQuiet()")
        assert "changed in another window" in one.inner_text("#page-problem")
        assert one.input_value("#noise-2") == "5"  # it is shown as it is now
        one.fill("#noise-1", "7.5")  # and may be changed now
        until(one, "isQuiet() && document.getElementById('page-problem').hidden")
        other.click("[data-do=save]")
        until(other, "!document.getElementById('page-problem').hidden")
        assert "scale=7.5," not in plan.read_text()
        assert other.input_value("#noise-1") == "7.5"
        other.click("[data-do=save]")
        until(other, "document.getElementById('state').textContent === 'saved'")
        assert {"scale=7.5,", "scale=5,"} <= set(plan.read_text().replace("(", " ").split())


@browsed
def test_what_one_looked_at_is_there_again_after_a_theorem(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address.replace("/plan", "/understand")) as shown:
        shown.fill("#mechanism", "Gaussian(sigma=3)")
        until(shown, "document.getElementById('facts').textContent.includes('0.0555556') && isQuiet()")
        shown.click("#outputs a")
        assert shown.inner_text("h1").startswith("Gaussian")
        shown.go_back()
        until(shown, "document.getElementById('facts').textContent.includes('0.0555556') && isQuiet()")
        assert shown.input_value("#mechanism") == "Gaussian(sigma=3)"
        assert shown.input_value("#noise") == "3"
        shown.goto(server.explorer.address.replace("/plan", "/train"))
        until(shown, "document.querySelector('#commands code')")
        shown.click("[data-copy=command-0]")
        assert shown.evaluate("navigator.clipboard.readText()").startswith("zcdp sgd --examples 60000 --batch 256")


@browsed
def test_train_keeps_what_was_chosen_and_shows_no_old_run_as_a_new_one(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address.replace("/plan", "/train")) as shown:
        until(shown, f"{READY['train']} && isQuiet()")
        assert shown.input_value("#sigma") == "1.1"
        shown.fill("#target", "3")
        shown.click("nav a:has-text('Plan')")  # at once
        settled(shown)
        shown.click("nav a:has-text('Train')")
        assert shown.input_value("#target") == "3"
        until(shown, f"{READY['train']} && isQuiet()")
        assert shown.input_value("#sigma") == "0.968428"
        shown.click("#epochs-figure .foot a")
        assert "zcdp" in shown.inner_text("header")
        shown.click("nav a:has-text('Train')")
        assert shown.input_value("#target") == "3"
        shown.select_option("#drawn", "allocation")
        until(shown, "document.getElementById('sigma').value === ''")  # not the noise of other batches
        shown.wait_for_selector("#progress", state="visible")
        assert not shown.is_visible("#facts")
        until(shown, "document.getElementById('facts').textContent.includes('a sharper number follows')")
        assert shown.is_visible("#facts")
        assert re.fullmatch(r"[01]\.\d+", shown.input_value("#sigma"))
        shown.fill("#target", "")  # the noise that was found stays when no target is wanted any more
        shown.select_option("#drawn", "poisson")
        until(shown, "isQuiet()")
        assert re.fullmatch(r"[01]\.\d+", shown.input_value("#sigma"))
        assert shown.complaints == []


@browsed
def test_what_takes_long_shows_how_far_it_is_until_something_else_is_asked(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address.replace("/plan", "/understand")) as shown:
        until(shown, READY["understand"])
        assert not shown.is_visible("#progress")
        shown.fill("#uses", "100000")
        shown.fill("#mechanism", "1000 * Subsampled(Gaussian(sigma=0.7), size=100, of=10000)")
        shown.wait_for_selector("#progress", state="visible")
        until(shown, "/drawing|composing/.test(document.querySelector('#progress p').textContent)")
        assert shown.evaluate("document.querySelector('#progress span').style.width").endswith("%")
        other = shown.context.new_page()  # which asks too, and is answered at once
        other.goto(shown.url)
        until(other, f"{READY['understand']} && isQuiet()")
        until(shown, "document.getElementById('page-problem').textContent.includes('Another window has asked')")
        shown.wait_for_selector("#progress", state="hidden")
        shown.fill("#uses", "100001")
        shown.wait_for_selector("#progress", state="visible")
        shown.fill("#uses", "3")
        shown.fill("#mechanism", "Laplace(epsilon=1)")
        until(shown, "document.getElementById('facts').textContent.includes('0.367880') && isQuiet()")
        shown.wait_for_selector("#progress", state="hidden")
        assert not shown.is_visible("#page-problem")


@browsed
def test_no_figures_of_another_run_stand_beside_an_error(plan: Path) -> None:
    """An error that is typed while a run is drawn: what is not drawn yet is of the run before, and goes."""
    with page(plan) as server, tab(server.explorer.address.replace("/plan", "/train")) as shown:
        until(shown, f"{READY['train']} && isQuiet()")
        before = shown.inner_text("#facts")
        shown.evaluate(  # in the moment in which the first numbers of a run come
            """() => document.addEventListener('numbers', ({ detail }) => {
              if (!detail.html || !detail.html.facts) return;
              const batch = document.getElementById('batch');
              batch.value = '70000';
              batch.form.requestSubmit();
            }, { once: true })"""
        )
        shown.fill("#sigma", "2")
        shown.wait_for_selector("#batch-problem:not([hidden])")
        until(shown, "isQuiet()")
        assert shown.inner_text("#facts") != before
        assert "from before" in shown.inner_text("#left-out")
        told = {words for one in shown.query_selector_all("figure") if (words := one.inner_text().strip())}
        assert not told


@browsed
def test_it_can_be_used_by_the_keyboard_alone(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address) as shown:
        settled(shown)
        shown.keyboard.press("Tab")
        assert shown.evaluate("document.activeElement.className") == "skip"
        order = []
        for _ in range(16):
            shown.keyboard.press("Tab")
            order.append(shown.evaluate("document.activeElement.id || document.activeElement.textContent"))
            assert shown.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert [one for one in order if re.fullmatch(r"(kind|slide|noise|uses|sd|half)-0", one)] == [
            "kind-0",
            "slide-0",
            "noise-0",
            "uses-0",
            "sd-0",
            "half-0",
        ]
        shown.evaluate("document.querySelectorAll('#row-6 details').forEach(one => { one.open = true; })")
        shown.focus("#note-6")
        assert shown.evaluate("document.getElementById('gone-6').getBoundingClientRect().top") < 10 + shown.evaluate(
            "document.getElementById('asks-6').getBoundingClientRect().top"
        )
        shown.keyboard.press("Shift+Tab")
        shown.keyboard.press("Shift+Tab")
        shown.keyboard.press("Shift+Tab")
        shown.keyboard.press("Shift+Tab")
        assert shown.evaluate("document.activeElement.id") == "gone-6"  # which stands above the fields
        shown.focus("#note-6")
        shown.keyboard.press("Tab")
        assert shown.evaluate("document.activeElement.dataset.do") == "add"  # and below them adds, not removes
        shown.focus("#slide-0")
        shown.keyboard.press("ArrowRight")
        until(shown, "document.getElementById('slide-0').getAttribute('aria-valuetext').startsWith('scale 10.')")
        assert shown.evaluate("document.activeElement.id") == "slide-0"
        until(shown, "document.getElementById('said').textContent.includes('within budget')")
        shown.keyboard.press("Control+z")
        until(shown, "document.getElementById('noise-0').value === '10'")


@browsed
def test_another_page_cannot_reach_it(plan: Path, tmp_path: Path) -> None:
    """A page of another origin that knows even the address gets nothing, and changes nothing."""
    other = tmp_path / "evil.html"
    with page(plan) as server:
        target = server.explorer.address.replace("/plan", "")
        other.write_text(f"<script>window.told = []; const t = '{target}';</script>")
        with tab(other.as_uri()) as shown:
            for kind in ("application/json", "text/plain"):
                told = shown.evaluate(
                    """kind => fetch(t + '/ask/save', {method: 'POST', body: '{}', headers: {'Content-Type': kind}})
                    .then(r => r.status, e => 'no')""",
                    kind,
                )
                assert told == "no"
            assert shown.evaluate("fetch(t + '/plan', {mode: 'no-cors'}).then(r => r.type, () => 'no')") in (
                "opaque",
                "no",
            )
            shown.evaluate("document.body.append(Object.assign(document.createElement('iframe'), {src: t + '/plan'}))")
            shown.wait_for_timeout(500)
            assert all("Census" not in (frame.content() or "") for frame in shown.frames[1:])


@browsed
def test_it_prints(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address) as shown:
        settled(shown)
        sheet = shown.pdf(print_background=True)
        assert sheet.startswith(b"%PDF")
        shown.emulate_media(media="print")
        assert not shown.is_visible("[data-do=save]")
        assert shown.is_visible("#epsilon")


@browsed
def test_a_picture_is_saved_as_svg(plan: Path) -> None:
    with page(plan) as server, tab(server.explorer.address.replace("/plan", "/understand")) as shown:
        shown.wait_for_selector("#profile svg")
        with shown.expect_download() as download:
            shown.click("[data-svg=profile]")
        text = Path(download.value.path()).read_text()
    assert text.startswith("<svg")
    assert "stroke:rgb(0, 114, 178)" in text
    assert "var(--" not in text


# Without a browser, with the real processes.


def test_a_thousand_quick_changes_end_at_the_last(plan: Path) -> None:
    with page(plan) as server:

        def change(n: int) -> int:
            edits = [{"what": "noise", "row": 1, "value": str(5 + n / 500), "field": "noise-1"}]
            return server.post("ask/edit", {"window": "me", "revision": 0, "edits": edits, "gesture": "g"})[0]

        with ThreadPoolExecutor(4) as pool:
            codes = list(pool.map(change, range(1000)))
        assert set(codes) <= {200, 409}
        last = server.edit("noise", 1, "9")
        assert last["values"]["noise-1"] == "9"
        [event, _] = server.ask("sharpen")
        assert "summary" in event["html"]
        [undone] = server.ask("undo")
        assert undone["state"]["redo"]
        assert threading.active_count() < 60


def test_ten_megabytes_of_plan(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    block = '[[query]]\nname = "q{n}"\nmechanism = "Gaussian(sigma={sigma})"\nnote = "' + "x" * 60 + '"\n\n'
    text = "delta = 1e-6\n"
    n = 0
    while len(text) < 9_900_000:
        text += "".join(block.format(n=n + k, sigma=1000 + (n + k) % 50) for k in range(1000))
        n += 1000
    path.write_text(text[:9_990_000].rsplit("[[query]]", 1)[0])
    with page(path) as server:
        [event] = server.ask("show")
        assert f"and {path.read_text().count('[[query]]') - 200:,} more queries" in event["html"]["rows"]
        changed = server.edit("noise", 3, "999")
        assert changed["values"]["noise-3"] == "999"
        [saved] = server.ask("save")
        assert not saved["state"]["changed"]
    assert 'mechanism = "Gaussian(sigma=999)"' in path.read_text()


def test_more_than_ten_megabytes_are_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "larger.toml"
    path.write_text('[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=1)"\n' + "#" * 10_000_000)
    from zcdp.plans.plan_file import TextError

    with pytest.raises(TextError, match="at most 10 MB"), page(path):
        pass
