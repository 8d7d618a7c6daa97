"""What the server answers, and what it refuses: pages of others, names of others, other files, too much of anything."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from explore.asking import Page, page

from zcdp import account
from zcdp.explore.server import MOST_STRANGERS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "examples" / "census.toml", tmp_path / "census.toml"))


@pytest.fixture
def shown(plan: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    with page(plan, monkeypatch) as found:
        yield found


def epsilon(html: str) -> float:
    found = re.search(r'id="epsilon"><data value="([^"]+)"', html)
    assert found
    return float(found[1])


# What it does.


def test_a_change_is_accounted_undone_and_saved(shown: Page, plan: Path) -> None:
    before = plan.read_text()
    [first] = shown.ask("show")
    assert first["state"] == {
        "revision": 0,
        "undo": False,
        "redo": False,
        "changed": False,
        "file": "census.toml",
        "named": True,
    }
    event = shown.edit("noise", 1, "7.5")
    assert event["state"]["changed"]
    assert event["values"]["noise-1"] == "7.5"
    assert plan.read_text() == before  # nothing is written but on Save
    shown.edit("kind", 5, "DiscreteGaussian")
    shown.ask("undo")
    [again] = shown.ask("redo")
    assert "DiscreteGaussian" in again["html"]["rows"]
    [saved] = shown.ask("save")
    assert not saved["state"]["changed"]
    exact, drawn = shown.ask("sharpen")
    whole = account(plan, curve=False).total
    assert epsilon(exact["html"]["summary"]) == whole.epsilon
    assert whole.rho == float(re.findall(r'id="rho"><data value="([^"]+)"', exact["html"]["summary"])[0])
    assert "<svg" in drawn["html"]["curve"]
    kept = {line for line in before.splitlines() if line.startswith("#") or "note" in line}
    assert kept <= set(plan.read_text().splitlines())


def test_a_slider_is_one_step_back(shown: Page) -> None:
    for n in range(20):
        shown.edit("noise", 1, f"{6 + n / 10}", gesture="drag")
    [event] = shown.ask("undo")
    assert event["values"]["noise-1"] == "6"


def test_nonsense_stands_at_its_field_and_changes_nothing(shown: Page) -> None:
    event = shown.edit("noise", 1, "abc")
    assert event == {"problems": {"f": event["problems"]["f"]}}
    assert "is not a number" in event["problems"]["f"]
    [first] = shown.ask("show")
    assert not first["state"]["changed"]


def test_a_choice_that_is_refused_is_put_back(shown: Page) -> None:
    event = shown.edit("kind", 1, "Nonsense")
    assert "no Nonsense of equal accuracy" in event["problems"]["f"]
    assert event["values"] == {"kind-1": "DiscreteLaplace"}


def test_of_several_changes_the_good_ones_are_made(shown: Page) -> None:
    edits = [
        {"what": "noise", "row": 0, "value": "11", "field": "noise-0"},
        {"what": "noise", "row": 1, "value": "x", "field": "noise-1"},
        {"what": "uses", "row": 2, "value": "2", "field": "uses-2"},
    ]
    [event] = shown.ask("edit", edits=edits)
    assert list(event["problems"]) == ["noise-1"]
    assert (event["values"]["noise-0"], event["values"]["noise-1"], event["values"]["uses-2"]) == ("11", "6", "2")


def test_a_conflict_is_said_and_the_file_left_alone(shown: Page, plan: Path) -> None:
    shown.edit("noise", 1, "7")
    plan.write_text(plan.read_text() + "# theirs\n")
    theirs = plan.read_text()
    [event] = shown.ask("save")
    assert event["conflict"]
    assert plan.read_text() == theirs
    [event] = shown.ask("reload")
    assert event["state"]["undo"]
    assert event["values"]["noise-1"] == "6"


def test_another_window_must_look_first(shown: Page) -> None:
    shown.edit("remove", 0, "")
    status, _, words = shown.post(
        "ask/edit",
        {"window": "other", "revision": 0, "edits": [{"what": "remove", "row": 0, "value": "", "field": "f"}]},
    )
    assert status == 409
    assert b"another window" in words


def test_another_window_does_not_save_what_it_has_not_seen(shown: Page, plan: Path) -> None:
    before = plan.read_text()
    shown.edit("noise", 1, "7")
    assert shown.post("ask/save", {"window": "other", "revision": 0})[0] == 409
    assert plan.read_text() == before
    [event] = shown.ask("save", window="other", revision=1)
    assert not event["state"]["changed"]


def test_an_answer_about_an_older_plan_changes_nothing(
    shown: Page, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Undo is pressed while a change is computed, and its answer is already on its way."""
    shown.edit("noise", 1, "7")
    ask = shown.explorer.quick.ask

    def slowly(question: str, **given: Any) -> Iterator[dict[str, Any]]:
        for event in ask(question, **given):
            shown.explorer.draft.undo()
            yield event

    monkeypatch.setattr(shown.explorer.quick, "ask", slowly)
    assert shown.edit("noise", 2, "9") == {"superseded": True}
    assert shown.explorer.draft.text == plan.read_text()


def test_pages_scripts_and_theorems(shown: Page) -> None:
    for path in ("plan", "understand", "train", "static/explore.css", "static/explore.js", "theorem/laplace"):
        status, headers, body = shown.get(path)
        assert (status, bool(body)) == (200, True)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "no-store"
    understood = shown.get("understand")[2].decode()
    assert 'value="this plan"' in understood
    assert 'name="delta" value="1e-9"' in understood  # the plan's, not a default
    assert shown.get("")[0] == 302
    assert shown.get("budget")[0] == 404  # there is no ledger
    assert b"http" not in shown.get("plan")[2]  # nothing from elsewhere


# What it refuses.


def test_it_listens_on_the_loopback_address_alone(shown: Page) -> None:
    assert shown.explorer.server.server_address[0] == "127.0.0.1"
    own = [one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {str(one) for one in own if not str(one).startswith("127.")}:
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((address, shown.explorer.port), timeout=1).close()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1",
        "127.0.0.1:1",
        "0.0.0.0:{port}",
        "[::1]:{port}",
        "127.1:{port}",
        "2130706433:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost.evil.example:{port}",
        "localhost.:{port}",
        "localhost",
        "localhost:80",
        "localhost:0{port}",
        "localhost:{port}.evil.example",
        "localhost:{port}@evil.example",
        "evil.example@localhost:{port}",
        "",
        None,
    ],
)
def test_a_wrong_host_is_refused(shown: Page, host: str | None) -> None:
    named = None if host is None else host.format(port=shown.explorer.port)
    assert shown.get("plan", Host=named)[0] == 403
    assert shown.post("ask/show", {}, Host=named)[0] == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "null", "", None]
)
def test_a_page_of_another_origin_is_refused(shown: Page, origin: str | None) -> None:
    named = None if origin is None else origin.format(port=shown.explorer.port)
    status, headers, _ = shown.post("ask/save", {}, Origin=named)
    assert status == 403
    assert "Access-Control-Allow-Origin" not in headers
    if origin is not None:
        assert shown.get("plan", Origin=named)[0] == 403


@pytest.mark.parametrize(
    "path", ["/", "/plan", "//plan", "/ask/save", "/{short}/plan", "/{long}/plan", "/{upper}/plan"]
)
def test_without_the_token_there_is_nothing(shown: Page, path: str) -> None:
    token = shown.explorer.token
    asked = path.format(short=token[:-1], long=token + "A", upper=token.swapcase())
    for method in ("GET", "POST"):
        status, _, words = shown.request(method, asked, b"{}" if method == "POST" else None)
        assert status == 403
        assert token.encode() not in words


def test_a_ticket_opens_the_page_once(shown: Page) -> None:
    """What stands on the command line of the browser can be read by all users of the machine."""
    ticket = shown.explorer.ticket()
    assert shown.explorer.token not in ticket
    path = ticket.removeprefix(shown.origin)
    assert shown.request("POST", path, b"{}")[0] == 403
    assert shown.request("GET", path, Host="evil.example")[0] == 403
    status, headers, _ = shown.request("GET", path)
    assert (status, headers["Location"]) == (302, f"/{shown.explorer.token}/plan")
    assert shown.request("GET", path)[0] == 403
    assert shown.request("GET", "/")[0] == 403  # no ticket is not an empty one


def test_connections_that_say_nothing_keep_no_place(shown: Page) -> None:
    waiting = []
    before = threading.active_count()
    for _ in range(3 * MOST_STRANGERS):
        one = socket.create_connection(("127.0.0.1", shown.explorer.port), timeout=30)
        one.sendall(b"GET /")
        waiting.append(one)
    assert shown.get("plan")[0] == 200
    assert waiting[0].recv(1) == b""  # the oldest were closed
    deadline = time.monotonic() + 30
    while threading.active_count() > before + MOST_STRANGERS + 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before + MOST_STRANGERS + 1
    for one in waiting:
        one.close()


def test_commands_name_the_plan_from_where_the_page_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plans of mine").mkdir()
    shutil.copy(ROOT / "examples" / "census.toml", tmp_path / "plans of mine")
    monkeypatch.chdir(tmp_path)
    with page(Path("plans of mine/census.toml"), monkeypatch) as shown:
        assert "zcdp account &#x27;plans of mine/census.toml&#x27; --html" in shown.get("plan")[2].decode()
    monkeypatch.chdir(tmp_path / "plans of mine")
    with page(None, monkeypatch) as shown:
        [event] = shown.ask("save", name="mine.toml")
        assert "zcdp account mine.toml --html" in event["html"]["commands"]


def test_every_start_has_a_token_of_its_own(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with page(plan, monkeypatch) as one, page(plan, monkeypatch) as other:
        assert one.explorer.token != other.explorer.token
        assert len(one.explorer.token) >= 32


@pytest.mark.parametrize(
    "path",
    [
        "../plan",
        "..%2f..%2fetc/passwd",
        "static/../server.py",
        "static/server.py",
        "static/%2e%2e/draft.py",
        "theorem/../laplace",
        "theorem/..%2flaplace",
        "theorem//etc/passwd",
        "census.toml",
        "plan/census.toml",
        "file:///etc/passwd",
    ],
)
def test_no_other_file_is_read(shown: Page, path: str) -> None:
    status, _, words = shown.get(path)
    assert status in (403, 404)
    assert b"root:" not in words
    assert b"import" not in words


def test_saving_writes_no_other_file(shown: Page, plan: Path, tmp_path: Path) -> None:
    shown.edit("noise", 1, "7")
    shown.ask("save", name="../other.toml", path="/tmp/other.toml")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["census.toml"]
    assert not (tmp_path.parent / "other.toml").exists()
    assert "scale=7," in plan.read_text()


def test_a_new_plan_is_saved_under_a_plain_name_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with page(None, monkeypatch) as shown:
        for name in ("../x.toml", "/tmp/x.toml", "x", ""):
            [event] = shown.ask("save", name=name)
            assert "name of a new plan file" in event["problems"]["save"]
        [event] = shown.ask("save", name="mine.toml")
        assert event["state"]["named"]
    assert [one.name for one in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"{}", {"Content_Type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {"Content_Length": None}, 411),
        (b"{}", {"Content_Length": "-1"}, 411),
        (b"{}", {"Content_Length": "99999999999"}, 413),
        (b"{}", {"Content_Length": "9" * 5000}, 411),
        (b"{}", {"Transfer_Encoding": "chunked"}, 411),
        (b"[]", {}, 400),
        (b"{", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b'{"edits": []}', {}, 400),
        (b'{"edits": [1]}', {}, 400),
        (b'{"edits": "x"}', {}, 400),
    ],
)
def test_questions_of_a_wrong_form(shown: Page, body: bytes, headers: dict[str, str | None], status: int) -> None:
    assert shown.request("POST", f"/{shown.explorer.token}/ask/edit", body, **headers)[0] == status
    assert shown.get("plan")[0] == 200


def test_questions_and_methods_that_are_not_there(shown: Page) -> None:
    assert shown.post("ask/shutdown", {})[0] == 404
    assert shown.post("plan", {})[0] == 404
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD"):
        assert shown.request(method, f"/{shown.explorer.token}/plan")[0] == 501


def test_many_quick_changes_at_once(shown: Page, plan: Path) -> None:
    """From four threads; in the end the page is that of some change, whole. A thousand: test_explore_page.py."""

    def change(n: int) -> int:
        edits = [{"what": "uses", "row": 0, "value": str(n % 7 + 1), "field": "uses-0"}]
        given = {"window": "me", "revision": 0, "edits": edits, "gesture": "g"}
        return shown.post("ask/edit", given)[0]

    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(change, range(60)))
    assert set(codes) <= {200, 409}
    [event] = shown.ask("show")
    assert 1 <= int(event["values"]["uses-0"]) <= 7
    assert plan.read_text() == (ROOT / "examples" / "census.toml").read_text()


def test_the_names_of_others_are_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.toml"
    bad = "<script>alert(1)</script>"
    path.write_text(
        f'title = "{bad}"\n[[query]]\nname = "\\"><img src=x onerror=1>"\nnote = "{bad}"\n'
        'mechanism = "Laplace(epsilon=1)"\n'
    )
    with page(path, monkeypatch) as shown:
        [event] = shown.ask("show")
        told = json.dumps(event["html"])
        assert "<script" not in told
        assert "<img" not in told
        assert "&lt;script&gt;" in told
