"""The text of a plan file: ends of lines of every system, limits to the last character, and where each field stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from zcdp.plans import plan_file as plan_text
from zcdp.plans.plan_file import TextError, check_structure, load, places, read_plan

PLAN = 'title = "T"\n\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\ncount = 3\n'


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_any_system(end: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_bytes(PLAN.replace("\n", end).encode())
    assert load(file) == PLAN
    assert read_plan(file).entries == read_plan("plan.toml", PLAN).entries


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (".".join("a" * 8) + " = 1", None),
        (".".join("a" * 9) + " = 1", "line 1: a key has at most 8 parts"),
        ("x = 1\n[" + ".".join("a" * 9) + "]", "line 2: a key has at most 8 parts"),
        ("a.a.a.a = 1\nb.b.b.b.b = 1", None),
        ("x = " + "[" * 20 + "]" * 20, None),
        ("x = " + "[" * 21 + "]" * 21, "line 1: more than 20 brackets inside one another"),
        ("x = 1\n\ny = " + "{a = [" * 11, "line 3: more than 20 brackets inside one another"),
        ("x = [[], [], []]\n" * 30, None),
        ('x = "' + "[." * 50 + '"', None),
        ("x = '" + "[." * 50 + "'", None),
        ('x = """\n' + "[.\n" * 50 + '"""', None),
        ("# " + "[." * 50, None),
        ("x = '''a'''\ny = " + "[" * 21, "line 2: more than 20 brackets inside one another"),
        ('x = "a\\"b"\ny = ' + "[" * 21, "line 2: more than 20 brackets inside one another"),
    ],
)
def test_structure_is_limited_outside_of_texts_and_comments(text: str, wrong: str | None) -> None:
    if wrong is None:
        check_structure(text)
    else:
        with pytest.raises(TextError, match=f"^{wrong}$"):
            check_structure(text)


def test_a_file_has_at_most_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "plan.toml"
    monkeypatch.setattr(plan_text, "LARGEST_PLAN", 100)
    file.write_text("#" * 100)
    assert len(load(file)) == 100
    check_structure("#" * 100)
    file.write_text("#" * 101)
    with pytest.raises(TextError, match="at most 10 MB"):
        load(file)
    with pytest.raises(TextError, match="at most 10 MB"):
        check_structure("#" * 101)


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("é".encode("latin-1"))
    for name, said in (
        ("latin.toml", "not a text file in UTF-8"),
        ("none.toml", "no such file"),
        (".", "Is a directory"),
    ):
        with pytest.raises(TextError, match=said):
            load(tmp_path / name)


def test_fields_are_told_by_their_lines() -> None:
    text = 'a = """\nb = 1\n"""\n[budget]\nrho = 1\n[[query]]\nname = "x"\n[[query]]\n\n"name" = "y"\nnote.z = 1\n'
    assert dict(places(text)) == {
        ("", 0, "a"): 1,
        ("budget", 0, ""): 4,
        ("budget", 0, "rho"): 5,
        ("query", 0, ""): 6,
        ("query", 0, "name"): 7,
        ("query", 1, ""): 8,
        ("query", 1, "name"): 10,
        ("query", 1, "note"): 11,
    }
