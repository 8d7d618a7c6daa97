"""A draft remembers, and saves to its one file, never over a change of another program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zcdp.errors import BadValue
from zcdp.explore.draft import BLANK, MOST_STEPS, Conflict, Draft
from zcdp.explore.edits import apply
from zcdp.plans.plan_file import read_plan

TEXT = '# mine\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(TEXT)
    return path


def test_undo_and_redo(path: Path) -> None:
    draft = Draft(path, path.parent)
    for n in range(3):
        draft.change(f"{TEXT}# {n}")
    draft.undo()
    assert draft.text.endswith("# 1")
    draft.undo(again=True)
    assert draft.text.endswith("# 2")
    for _ in range(9):
        draft.undo()
    assert draft.text == TEXT
    assert draft.steps == (False, True)
    assert not draft.changed
    draft.change(f"{TEXT}# other")
    assert draft.steps == (True, False)


def test_one_gesture_is_one_step(path: Path) -> None:
    draft = Draft(path, path.parent)
    for n in range(1000):
        draft.change(f"{TEXT}# {n}", gesture="a slider")
    draft.change(f"{TEXT}# 0", gesture="another")
    draft.undo()
    assert draft.text.endswith("# 999")
    draft.undo()
    assert draft.text == TEXT


def test_not_all_is_remembered_for_ever(path: Path) -> None:
    draft = Draft(path, path.parent)
    for n in range(2 * MOST_STEPS):
        draft.change(f"{TEXT}# {n}")
    back = 0
    while draft.steps[0]:
        draft.undo()
        back += 1
    assert back == MOST_STEPS


def test_saving_keeps_bytes_and_mode(path: Path) -> None:
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    draft = Draft(path, path.parent)
    draft.change(f"{TEXT}# more\n")
    assert draft.save() == path
    assert path.read_bytes() == f"{TEXT}# more\n".replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert not draft.changed
    assert [one.name for one in path.parent.iterdir()] == ["plan.toml"]


@pytest.mark.parametrize("ends", [("\n", "\r\n"), ("\r\n", "\n"), ("\r\n", "\r\n"), ("\n", "\n")])
def test_each_line_keeps_its_own_end(path: Path, ends: tuple[str, str]) -> None:
    """Also in a file that two editors have written, one of which ends lines in \\r\\n."""
    lines = ["# mine", "[[query]]", 'name = "a"  # one', 'mechanism = "Laplace(epsilon=1)"', "", "# the end", ""]
    raw = "".join(f"{line}{ends[n % 2]}" for n, line in enumerate(lines))
    path.write_bytes(raw.encode())
    draft = Draft(path, path.parent)
    draft.change(apply(read_plan("a.toml", draft.text), "noise", 0, "2").text)
    draft.change(apply(read_plan("a.toml", draft.text), "name", 0, "b").text)
    draft.save()
    assert path.read_bytes() == raw.replace("epsilon=1", "epsilon=2").replace('"a"', '"b"').encode()
    draft.change(apply(read_plan("a.toml", draft.text), "add", None, "").text)
    draft.save()
    assert len(read_plan(path).entries) == 2
    assert path.read_bytes().startswith(raw.replace("epsilon=1", "epsilon=2").replace('"a"', '"b"').rstrip().encode())


def test_saving_keeps_the_group(path: Path) -> None:
    """In the folder of an office others of its group may write the plan, and can after one of them has saved it."""
    own = path.stat().st_gid
    others = [group for group in (os.getgroups() if os.getuid() else [1]) if group != own]
    if not others:
        pytest.skip("this user is in one group alone")
    os.chown(path, -1, others[0])
    path.chmod(0o660)
    draft = Draft(path, path.parent)
    draft.change(f"{TEXT}# more\n")
    draft.save()
    assert (path.stat().st_gid, path.stat().st_mode & 0o777) == (others[0], 0o660)


def test_a_change_made_meanwhile_is_not_written_over(path: Path) -> None:
    draft = Draft(path, path.parent)
    draft.change(f"{TEXT}# mine too\n")
    path.write_text(f"{TEXT}# theirs\n")
    with pytest.raises(Conflict, match="changed by another program"):
        draft.save()
    assert path.read_text() == f"{TEXT}# theirs\n"
    draft.reload()
    assert draft.text.endswith("# theirs\n")
    draft.undo()  # what was typed is not lost
    assert draft.text.endswith("# mine too\n")
    path.unlink()
    with pytest.raises(Conflict, match="not there any more"):
        draft.save()
    assert not path.exists()
    draft.reload()  # who knows that may make it anew
    assert draft.text.endswith("# mine too\n")
    draft.save()
    assert path.read_text().endswith("# mine too\n")


def test_a_new_plan_gets_a_name_once(tmp_path: Path) -> None:
    draft = Draft(None, tmp_path)
    assert draft.text == BLANK
    read_plan("plan.toml", BLANK)
    for name in ("", "../x.toml", "a/b.toml", "/tmp/x.toml", "..toml", "x.txt", ".x.toml", "x\n.toml", "a..b.toml"):
        with pytest.raises(BadValue, match="name of a new plan"):
            draft.save(name)
    (tmp_path / "taken.toml").write_text("x")
    with pytest.raises(Conflict, match="is there already"):
        draft.save("taken.toml")
    assert draft.save("new plan.toml") == tmp_path / "new plan.toml"
    draft.change(TEXT)
    assert draft.save("other.toml") == tmp_path / "new plan.toml"  # it has its file now, and no other
    assert not (tmp_path / "other.toml").exists()


def test_a_file_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "later.toml", tmp_path)
    assert draft.changed
    draft.save()
    assert (tmp_path / "later.toml").read_text() == BLANK


def test_what_cannot_be_written_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = Draft(path, path.parent)
    draft.change(f"{TEXT}# more\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="space"):
        draft.save()
    assert path.read_text() == TEXT
    assert [one.name for one in path.parent.iterdir()] == ["plan.toml"]


def test_a_change_made_while_it_is_written_is_not_written_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = Draft(path, path.parent)
    draft.change(f"{TEXT}# mine too\n")
    monkeypatch.setattr("os.fsync", lambda _: path.write_text(f"{TEXT}# theirs\n"))
    with pytest.raises(Conflict, match="changed by another program"):
        draft.save()
    assert path.read_text() == f"{TEXT}# theirs\n"
    new = Draft(None, path.parent)
    monkeypatch.setattr("os.fsync", lambda _: (path.parent / "new.toml").write_text("# theirs\n"))
    with pytest.raises(Conflict, match="is there already"):
        new.save("new.toml")
    assert (path.parent / "new.toml").read_text() == "# theirs\n"
    assert sorted(one.name for one in path.parent.iterdir()) == ["new.toml", "plan.toml"]


def test_a_link_put_in_the_place_of_the_plan_is_not_followed(path: Path, tmp_path: Path) -> None:
    """Not even where it leads to a file of the same content, or to none: what it leads to stays as it is."""
    other = tmp_path / "other"
    draft = Draft(path, tmp_path)
    other.write_text(TEXT)
    path.unlink()
    path.symlink_to(other)
    draft.change(f"{TEXT}# mine\n")
    draft.save()
    assert other.read_text() == TEXT
    assert not path.is_symlink()
    (tmp_path / "new.toml").symlink_to(tmp_path / "elsewhere")
    Draft(None, tmp_path).save("new.toml")
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "new.toml").is_symlink()


def test_what_is_no_file_is_left_alone_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    for name in ("pipe.toml", "folder.toml"):
        with pytest.raises(Conflict, match="is there already"):
            Draft(None, tmp_path).save(name)
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    with pytest.raises(Conflict, match="is there already"):
        Draft(None, tmp_path).save("endless.toml")


def test_a_file_that_is_protected_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = Draft(path, path.parent)
    draft.change(f"{TEXT}# mine\n")
    monkeypatch.setattr("os.access", lambda *_: False)  # as for a file of mode 444; who runs tests may be allowed all
    with pytest.raises(BadValue, match="protected against writing"):
        draft.save()
    assert path.read_text() == TEXT
