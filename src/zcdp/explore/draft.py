"""The plan as it is being changed: its text, what it was before, and the one file that it may be saved to."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from zcdp.errors import BadValue
from zcdp.plans.plan_file import LARGEST_PLAN, load

__all__ = ["BLANK", "Conflict", "Draft"]

MOST_STEPS = 500
"""Changes that can be undone."""
MOST_TEXT = 50 * LARGEST_PLAN // 10
"""Characters that the earlier texts may have together."""
BLANK = """title = "A new plan"
delta = 1e-6

[budget]
epsilon = 1
delta = 1e-6

[[query]]
name = "first table"
mechanism = "DiscreteGaussian(sigma=10)"
"""
"""What a page without a plan file begins with."""


class Conflict(BadValue):
    """The file was changed by another program since it was read: saving would undo that."""


def _digest(path: Path) -> str | None:
    """A digest of the file's bytes, of a plan or a little more; None if there is nothing of that name, or no file.

    It is asked again while a plan is saved: what has taken the file's place meanwhile may be endless, or a pipe.
    """
    try:
        if not path.is_file():
            return "none" if path.exists() else None
        with path.open("rb") as file:
            return sha256(file.read(LARGEST_PLAN + 1)).hexdigest()
    except FileNotFoundError:
        return None


class Draft:
    """One plan: `text` is what the page shows, `path` where it may be saved, None until a new plan has a name."""

    def __init__(self, path: Path | None, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.revision, self._gesture = 0, ""
        self._undo: list[str] = []
        self._redo: list[str] = []
        self.text = self.saved = ""
        self._read()

    def _read(self) -> None:
        """Take the text of the file."""
        self._known = _digest(self.path) if self.path is not None else None
        if self.path is None or self._known is None:
            self.text, self.saved, self._crlf = BLANK, "", False
            return
        raw = load(self.path, as_it_is=True)
        pairs, returns, ends = raw.count("\r\n"), raw.count("\r"), raw.count("\n")
        mixed = 0 < pairs == returns < ends  # some lines end in \r\n, others in \n: each keeps its own
        self._crlf = pairs > 0 and not mixed
        self.text = self.saved = raw if mixed else raw.replace("\r\n", "\n").replace("\r", "\n")

    @property
    def name(self) -> str:
        """The name of the file, or what stands for it while there is none."""
        return "plan.toml" if self.path is None else self.path.name

    @property
    def changed(self) -> bool:
        """Whether there is something to save."""
        return self.text != self.saved

    @property
    def steps(self) -> tuple[bool, bool]:
        """Whether there is something to undo, and to redo."""
        return bool(self._undo), bool(self._redo)

    def change(self, text: str, gesture: str = "") -> None:
        """Another text; changes of one gesture, as of one slider that is drawn along, are undone together."""
        if text == self.text:
            return
        if not gesture or gesture != self._gesture:
            self._undo.append(self.text)
            while len(self._undo) > 1 and (
                len(self._undo) > MOST_STEPS or sum(len(one) for one in self._undo) > MOST_TEXT
            ):
                del self._undo[0]
        self._gesture, self.text = gesture, text
        self._redo.clear()
        self.revision += 1

    def undo(self, *, again: bool = False) -> None:
        """Go one step back, or forth `again`."""
        source, target = (self._redo, self._undo) if again else (self._undo, self._redo)
        if source:
            target.append(self.text)
            self.text, self._gesture = source.pop(), ""
            self.revision += 1

    def reload(self) -> None:
        """Take the file's text as it is now, as one step that can be undone; if it is gone, `save` may make it anew."""
        if self.path is not None and _digest(self.path) is None:
            self._known, self.saved = None, ""
            return
        before = self.text
        self._read()
        fresh, self.text = self.text, before
        self.change(fresh)

    def save(self, name: str = "") -> Path:
        """Write the text to the file; `name` is that of a new file, beside where the page was started.

        A file that has changed meanwhile, or a new name that is taken, is left alone: `Conflict`.
        """
        path = self.path or self._new(name)
        self._compare(path)
        if path.exists() and not os.access(path, os.W_OK):  # else it would be replaced, as its folder may be written
            raise BadValue(f"{path.name} is protected against writing: nothing was written")
        data = (self.text.replace("\n", "\r\n") if self._crlf else self.text).encode()
        number, temporary = tempfile.mkstemp(dir=path.parent, prefix=".zcdp-")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _as_before(path, temporary)
            self._compare(path)  # writing to a disk takes its time: looked at again, at the last moment
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self.path, self.saved, self._known = path, self.text, sha256(data).hexdigest()
        return path

    def _compare(self, path: Path) -> None:
        """Refuse a file that is not as it was read, or that is there where none was."""
        if _digest(path) != self._known:
            said = "was changed by another program since it was read"
            if self._known is None:
                said = "is there already"
            elif _digest(path) is None:
                said = "is not there any more"
            raise Conflict(f"{path.name} {said}: nothing was written")

    def _new(self, name: str) -> Path:
        """The path of a new plan: a plain name, in the folder of the page."""
        if not re.fullmatch(r"[\w][\w .-]{0,80}\.toml", name) or name != os.path.basename(name) or ".." in name:
            raise BadValue("the name of a new plan file is letters, digits, spaces, - and _, and ends in .toml")
        return self.folder / name


def _as_before(path: Path, temporary: str) -> None:
    """Give a file that is to take the place of another its group, as that of an office, and who may read and write."""
    try:
        known = path.stat()
    except FileNotFoundError:
        os.chmod(temporary, 0o666 & ~_mask())
        return
    with suppress(OSError, AttributeError):  # a group that is not one's own, or Windows, which has none
        os.chown(temporary, -1, known.st_gid)
    os.chmod(temporary, known.st_mode & 0o777)


def _mask() -> int:
    """The umask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
