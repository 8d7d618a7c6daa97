"""What commands print and write: colours, progress, letters that a terminal has, and files whole or not at all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from cli.program import on_a_terminal, zcdp

from zcdp import Plan, PlanError
from zcdp.cli import main
from zcdp.cli.output import write_all
from zcdp.errors import ZcdpError

GOOD = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'


def one_line(stderr: str) -> str:
    [line] = stderr.splitlines()
    assert line.startswith("zcdp: ")
    return line


@pytest.mark.parametrize("target", ["nowhere/out.toml", ".", "closed/out.toml"])
def test_an_unwritable_target_is_refused_before_anything_is_computed(target: str, tmp_path: Path) -> None:
    if target.startswith("closed") and os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    (tmp_path / "closed").mkdir(mode=0o555)
    (tmp_path / "plan.toml").write_text(GOOD)
    done = zcdp("allocate", "plan.toml", "--rho", "1", "--out", target, cwd=tmp_path)
    assert done.returncode == 2
    assert target in one_line(done.stderr)
    assert {file.name for file in tmp_path.iterdir()} == {"closed", "plan.toml"}


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        "[budget]\nrho = 1\n" + GOOD.replace('"Lap', '"""\nLap').replace('1)"', '1)"""')
    )
    (tmp_path / "out.toml").write_text("old")
    done = zcdp("allocate", "plan.toml", "--out", "out.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "on a line of its own" in one_line(done.stderr)
    assert (tmp_path / "out.toml").read_text() == "old"
    assert {file.name for file in tmp_path.iterdir()} == {"out.toml", "plan.toml"}


def test_writing_stops_halfway(tmp_path: Path) -> None:
    from zcdp.cli.output import write_all

    (tmp_path / "out.pdf").write_text("old")

    def broken(temporary: Path) -> None:
        temporary.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_all(str(tmp_path / "out.pdf"), broken)
    assert [file.name for file in tmp_path.iterdir()] == ["out.pdf"]
    assert (tmp_path / "out.pdf").read_text() == "old"


def test_several_files_are_put_in_place_together_or_not_at_all(tmp_path: Path) -> None:
    def write(temporary: Path) -> None:
        for name in ("a.txt", "b.txt"):
            temporary.with_name(name).write_text("new")

    (tmp_path / "b.txt").mkdir()
    with pytest.raises(ZcdpError, match=r"b\.txt: is a directory"):
        write_all(str(tmp_path / "c.txt"), write)
    assert [one.name for one in tmp_path.iterdir()] == ["b.txt"]
    (tmp_path / "b.txt").rmdir()
    (tmp_path / "a.txt").write_text("old")
    assert write_all(str(tmp_path / "c.txt"), write) == [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {"a.txt": "new", "b.txt": "new"}


# An output that ends early, whatever the reason, never makes an overspent plan look like one within its budget.


QUERY = '[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=1)"\ncount = {count}\n'


PROGRAM = f"exec {sys.executable} -m zcdp account plan.toml"


@pytest.fixture(params=[1, 300], ids=["short", "long"])
def plan(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Over its budget; the long one prints more than a pipe holds. Gaussian noise is accounted for at once."""
    rows = "".join(QUERY.format(count=2).replace('"a"', f'"{n} {"x" * 200}"') for n in range(request.param))
    (tmp_path / "plan.toml").write_text("[budget]\nrho = 0.1\n" + rows)
    return tmp_path


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=cwd, timeout=60)


SIZES = {"short": (1, "--all"), "long": (300, "--all"), "json": (300, "--json")}
ENDINGS = [
    "| head -1",
    "| true",
    "| (exec <&-; sleep 0.1)",
    "> /dev/full",
    ">&-",
    "| head -c 10",
    "> /dev/full 2>&1",
    ">&- 2>&-",
]
EARLY = [("long", ending) for ending in ENDINGS] + [(size, one) for size in ("short", "json") for one in ENDINGS[-3:]]


@pytest.mark.parametrize(
    ("plan", "options", "ending"),
    [(*SIZES[size], ending) for size, ending in EARLY],
    indirect=["plan"],
    ids=[f"{size}-{ending}" for size, ending in EARLY],
)
def test_over_budget_stays_one(plan: Path, options: str, ending: str) -> None:
    done = shell(f"set -o pipefail; ({PROGRAM} {options}) {ending}", plan)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_full_disk_is_no_success(tmp_path: Path) -> None:
    plan = tmp_path
    (plan / "plan.toml").write_text(QUERY.format(count=1))
    done = shell(f"({PROGRAM}) > /dev/full", plan)
    assert done.returncode == 2
    assert done.stderr == "zcdp: the output could not be written: No space left on device\n"
    assert shell(f"set -o pipefail; ({PROGRAM}) | true", plan).returncode == 0
    assert shell(f"({PROGRAM}) >&-", plan).returncode == 0
    assert shell(f"{sys.executable} -m zcdp --help > /dev/full", plan).returncode == 2
    assert shell(f"{sys.executable} -m zcdp --version > /dev/full", plan).returncode == 2


@pytest.mark.parametrize("closed", ["2>&-", "2> /dev/full"])
def test_bad_input_stays_two_without_a_place_to_say_so(closed: str, plan: Path) -> None:
    assert shell(f"{sys.executable} -m zcdp account missing.toml {closed}", plan).returncode == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_only_regular_files_are_replaced(plan: Path) -> None:
    os.mkfifo(plan / "pipe")
    done = shell(f"{PROGRAM} --html pipe", plan)
    assert done.returncode == 2
    assert "pipe: is not a regular file" in done.stderr
    assert (plan / "pipe").is_fifo()


def test_colour_only_on_a_terminal_that_wants_it() -> None:
    command = ("account", "2 * Laplace(epsilon=1)")
    assert "\x1b[" not in zcdp(*command).stdout
    assert "\x1b[1m" in on_a_terminal(*command)[0]
    assert "\x1b[" not in on_a_terminal(*command, NO_COLOR="1")[0]
    assert "\x1b[" not in on_a_terminal(*command, TERM="dumb")[0]


# The bar comes after half a second of work, and how long a plan takes is no business of a test.
AT_ONCE = "import sys; from zcdp.cli import main, output; output.Progress.PATIENCE = 0; sys.exit(main())"


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text("\n".join(f'[[query]]\nname = "{n}"\nmechanism = "Laplace(epsilon=1)"\n' for n in range(30)))
    piped = subprocess.run([sys.executable, "-c", AT_ONCE, "account", str(file)], capture_output=True, check=True)
    assert piped.stderr == b""
    out, err = on_a_terminal("account", str(file), program=("-c", AT_ONCE))
    assert re.search(r"\r\[#*\.*\] +\d+% ", err)
    assert err.endswith("\r\x1b[K")
    assert "and 10 more queries" in out


def test_a_terminal_without_the_letters(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('title = "\u00dcberblick"\n[budget]\nrho = 0.1\n' + QUERY.format(count=1))
    done = shell(f"PYTHONIOENCODING=ascii {PROGRAM}", tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("\\xdcberblick\n")


# A plan's words are shown, never obeyed: none of their control characters reaches a terminal or a page.


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
def hostile_plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(
        f"title = {toml(HOSTILE + BAD)}\ndescription = {toml(HOSTILE + BAD)}\n[budget]\nrho = 0.1\n"
        f'[[query]]\nname = {toml(HOSTILE)}\nmechanism = "Laplace(epsilon=1)"\nnote = {toml(HOSTILE)}\n'
        f'[[query]]\nname = "two\\nlines"\nmechanism = "Laplace(epsilon=2)"\n'
    )
    return file


def test_nothing_hidden_is_printed(hostile_plan: Path) -> None:
    done = zcdp("account", str(hostile_plan), "--html", str(hostile_plan.parent / "report.html"))
    assert done.returncode == 1
    assert hidden(done.stdout) == []
    assert "OVER BUDGET" in done.stdout
    assert "two lines" in done.stdout
    assert hidden((hostile_plan.parent / "report.html").read_text()) == []
    done = zcdp("allocate", str(hostile_plan), "--rho", "1")
    assert done.returncode == 0, done.stderr
    assert hidden(done.stdout) == []


def test_nothing_but_our_colours_reaches_a_terminal(hostile_plan: Path) -> None:
    out, err = on_a_terminal("account", str(hostile_plan))
    for ours in ("\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[0m"):
        assert ours in out
        out = out.replace(ours, "")
    assert hidden(out.replace("\r\n", "\n")) == []
    assert "\x1b[32m" not in out + err


def test_json_is_whole_and_hides_nothing(hostile_plan: Path) -> None:
    done = zcdp("account", str(hostile_plan), "--json")
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
