"""A plan's words are shown, never obeyed: none of their control characters reaches a terminal or a page."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from cli.program import on_a_terminal, zcdp

from zcdp import Plan, PlanError
from zcdp.cli import main
from zcdp.text.names import is_hidden, printable

ESCAPES = [
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\x9b2J",
    "\u202e",
    "\u2066",
    "\u200e",
    "\u061c",
    "\u2028",
    "\x7f",
    "\r",
    "\b",
    "\x85",
]
HOSTILE = "".join(f"ab{escape}" for escape in ESCAPES) + "\U000e0041\ufeff"
DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
BAD = "\x1b[1A\x1b[2K\x1b[32mWithin budget\x1b[0m"


def hidden(text: str) -> list[str]:
    """Characters of the text that act: C0 and C1 controls, line separators, and those that change directions."""
    return [f"{ord(one):#x}" for one in text if one not in "\n\t" and (acts(one) or one in "\u2028\u2029\ufeff")]


def acts(one: str) -> bool:
    turns = unicodedata.bidirectional(one) in DIRECTIONS or one in "\u200e\u200f\u061c"
    return turns or ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0 or 0xE0020 <= ord(one) < 0xE0080


def toml(text: str) -> str:
    """The text as TOML writes it, which has no pairs of surrogates."""
    return json.dumps(text).replace("\x7f", "\\u007f").replace("\\udb40\\udc41", "\\U000e0041")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(
        f"title = {toml(HOSTILE + BAD)}\ndescription = {toml(HOSTILE + BAD)}\n[budget]\nrho = 0.1\n"
        f'[[query]]\nname = {toml(HOSTILE)}\nmechanism = "Laplace(epsilon=1)"\nnote = {toml(HOSTILE)}\n'
        f'[[query]]\nname = "two\\nlines"\nmechanism = "Laplace(epsilon=2)"\n'
    )
    return file


def test_which_characters_hide() -> None:
    assert all(
        is_hidden(one)
        for one in "\x00\x1b\x7f\x80\x9f\u061c\u200b\u200e\u200f\u202a\u202e\u2066\u2069\u2028\ufeff\ud800"
    )
    assert not any(is_hidden(one) for one in "aZ \u00e9\u4e2d\u0627\u200c\u200d\U0001f600\u00a0")
    assert printable("a\tb\r\nc") == "a b  c"
    assert all(is_hidden(chr(number)) for number in range(0x110000) if acts(chr(number)))


def test_nothing_hidden_is_printed(plan: Path) -> None:
    done = zcdp("account", str(plan), "--html", str(plan.parent / "report.html"))
    assert done.returncode == 1
    assert hidden(done.stdout) == []
    assert "OVER BUDGET" in done.stdout
    assert "two lines" in done.stdout
    assert hidden((plan.parent / "report.html").read_text()) == []
    done = zcdp("allocate", str(plan), "--rho", "1")
    assert done.returncode == 0, done.stderr
    assert hidden(done.stdout) == []


def test_nothing_but_our_colours_reaches_a_terminal(plan: Path) -> None:
    out, err = on_a_terminal("account", str(plan))
    for ours in ("\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[0m"):
        assert ours in out
        out = out.replace(ours, "")
    assert hidden(out.replace("\r\n", "\n")) == []
    assert "\x1b[32m" not in out + err


def test_json_is_whole_and_hides_nothing(plan: Path) -> None:
    done = zcdp("account", str(plan), "--json")
    assert hidden(done.stdout) == []
    facts = json.loads(done.stdout)
    assert facts["title"] == (HOSTILE + BAD).strip()
    assert facts["queries"][0]["note"] == HOSTILE.strip()
    assert "\\u202e" in done.stdout
    assert "\\udb40\\udc41" in done.stdout


@pytest.mark.parametrize("escape", ESCAPES, ids=ascii)
def test_errors_quote_what_was_written_without_obeying_it(
    escape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = [
        ("rho", f"Lap{escape}lace(epsilon=1)"),
        ("rho", f"Laplace(epsilon='{escape}')"),
        ("account", f"Laplace(epsilon=1) {escape};"),
        ("account", "Laplace(epsilon=1)", "--delta", escape),
        ("account", f"{escape}.toml"),
        ("allocate", f"{escape}.toml"),
        ("calibrate", "Laplace(epsilon=?)", "--rho", escape),
        (f"acc{escape}ount",),
        ("account", "Laplace(epsilon=1)", f"--{escape}"),
        ("figure", escape, "--out", "x.pdf"),
        ("account", "Laplace(epsilon=1)", "--html", f"{escape}/x"),
    ]
    monkeypatch.chdir(tmp_path)
    for command in commands:
        assert main(command) == 2, command
        out, err = capsys.readouterr()
        assert hidden(out + err) == [], command
        assert len(err.splitlines()) == 1, command
    with pytest.raises(PlanError) as caught:
        Plan.parse(f"Laplace(epsilon=1) {escape};")
    assert hidden(str(caught.value)) == []


def test_toml_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'
    for n, text in enumerate(
        (
            f"{toml(HOSTILE)} = 1\n{good}",
            good + f"{toml(HOSTILE)} = 1\n",
            good + good.replace('"a"', toml("a")),
            good.replace('"a"', f"[{toml(HOSTILE)}]"),
            good + f"count = {toml(HOSTILE)}\n",
            good.replace("Laplace", "Lap\\u202elace"),
            good.replace('"a"', '"a\x1b"'),
        )
    ):
        (tmp_path / f"{n}.toml").write_text(text)
        assert main(["account", str(tmp_path / f"{n}.toml")]) == 2, text
        assert hidden(capsys.readouterr().err) == [], text


def test_a_page_of_any_account_hides_nothing() -> None:
    from report.sample import account, page

    facts = account()
    facts["title"] = facts["description"] = facts["inputs"] = facts["source"] = HOSTILE
    facts["queries"][0] |= {"name": HOSTILE, "note": HOSTILE, "mechanism": HOSTILE, "is_tight": False}
    facts["theorems"][0] |= {"title": HOSTILE, "path": HOSTILE}
    facts["zcdp"] = facts["python"] = HOSTILE
    facts["total"]["routes"] = {HOSTILE: 1.0, **facts["total"]["routes"]}
    facts["total"]["usual"] = {HOSTILE: {"rho": 9.0, "epsilon": 9.0}}
    assert hidden(page(facts)) == []
