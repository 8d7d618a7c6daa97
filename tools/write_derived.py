"""Writes what follows from the classes of mechanisms, so that nobody has to: `make derived`.

A mechanism is a class that its module below src/zcdp/mechanisms exports, and that is not abstract. From these follow
the exports of `zcdp.mechanisms` and `zcdp`, which type checkers read and are therefore source, and the tuples
`MECHANISMS` and `WRAPPERS`. These keep their sequence: a new mechanism enters after the last one of its room, and one
that is gone is left out. Then `write_reference.py` writes the reference and the list of theorems.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
ROOM = SOURCE / "zcdp" / "mechanisms" / "__init__.py"
TOP = SOURCE / "zcdp" / "__init__.py"
BESIDE = {"zcdp.mechanisms.base": ["Mechanism"], "zcdp.mechanisms.sensitivity": None}
"""Modules that export something else, all or these names of it."""


def spelled(names: Iterable[str]) -> list[str]:
    """Names in the sequence of the linter: constants, classes, functions."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def assigned(text: str, name: str) -> list[str]:
    """The names in a module's tuple or list."""
    for node in ast.parse(text).body:
        target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
        if isinstance(target, ast.Name) and target.id == name and isinstance(node.value, ast.Tuple | ast.List):
            return [one.id if isinstance(one, ast.Name) else one.value for one in node.value.elts]
    raise LookupError(name)


def exported(module: str) -> list[str]:
    """What a module says that it exports, without importing it."""
    path = SOURCE / Path(*module.split(".")).with_suffix(".py")
    return assigned(path.read_text(), "__all__") if path.is_file() else []


def imported(text: str) -> dict[str, list[str]]:
    """What a module imports from where."""
    nodes = (node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom))
    return {str(node.module): [one.name for one in node.names] for node in nodes}


def found() -> tuple[dict[str, str], list[str]]:
    """Where each mechanism is defined, by its name, and which of them run another one."""
    from zcdp.mechanisms.base import Mechanism
    from zcdp.mechanisms.wrapper import Wrapper

    homes: dict[str, str] = {}
    wrappers: list[str] = []
    for path in sorted(ROOM.parent.rglob("[!_]*.py")):
        module = import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts))
        for name in module.__all__:
            one = getattr(module, name)
            if isinstance(one, type) and issubclass(one, Mechanism) and not inspect.isabstract(one):
                homes[name] = module.__name__
                wrappers += [name] * issubclass(one, Wrapper)
    return homes, wrappers


def in_sequence(names: Iterable[str], before: Iterable[str], homes: dict[str, str]) -> list[str]:
    """The names as they stood; new ones after the last one of their room."""
    names = list(names)
    listed = [name for name in before if name in names]
    for name in names:
        if name not in listed:
            room = homes[name].rpartition(".")[0]
            last = max(
                (n for n, one in enumerate(listed) if homes[one].startswith(f"{room}.")), default=len(listed) - 1
            )
            listed.insert(last + 1, name)
    return listed


def importing(module: str, names: list[str]) -> str:
    """The statement as the formatter has it."""
    line = f"from {module} import {', '.join(names)}"
    return line if len(line) <= 120 else f"from {module} import (\n" + "".join(f"    {n},\n" for n in names) + ")"


def listing(names: Iterable[str]) -> str:
    """The lines of `__all__`."""
    return "__all__ = [\n" + "".join(f'    "{name}",\n' for name in spelled(names)) + "]\n"


def room(homes: dict[str, str], wrappers: list[str], before: str) -> str:
    """The text of `zcdp.mechanisms`."""
    names = {module: some or exported(module) for module, some in BESIDE.items()}
    for name, module in homes.items():
        names.setdefault(module, []).append(name)
    lines = [importing(module, spelled(some)) for module, some in sorted(names.items())]
    both = in_sequence(homes, [*assigned(before, "MECHANISMS"), *assigned(before, "WRAPPERS")], homes)
    mechanisms = "".join(f"    {name},\n" for name in both if name not in wrappers)
    return (
        before[: before.index("\nfrom ")]
        + "\n"
        + "\n".join(lines)
        + "\n\n"
        + listing([*(name for some in names.values() for name in some), "MECHANISMS", "WRAPPERS"])
        + f"\nMECHANISMS: tuple[type[Mechanism], ...] = (\n{mechanisms})\n"
        + f"\nWRAPPERS: tuple[type[Mechanism], ...] = ({', '.join(n for n in both if n in wrappers)})\n"
        + before.rpartition(")\n")[2]
    )


def top(exports: list[str], before: str) -> str:
    """The text of `zcdp`: it exports what `zcdp.mechanisms` does, but for the list of wrappers."""
    names = spelled(set(exports) - {"WRAPPERS"})
    old = imported(before)["zcdp.mechanisms"]
    listed = {*assigned(before, "__all__")} - {*old} | {*names}
    text = re.sub(r"from zcdp\.mechanisms import \([^)]*\)", importing("zcdp.mechanisms", names), before, count=1)
    return re.sub(r"__all__ = \[[^\]]*\]\n", listing(listed), text, count=1)


def derived() -> dict[Path, str]:
    """Both files as they should be."""
    text = room(*found(), ROOM.read_text())
    return {ROOM: text, TOP: top(assigned(text, "__all__"), TOP.read_text())}


def forget_what_is_gone() -> None:
    """Leaves out imports of what no file defines any more: else nothing can be imported."""
    text = ROOM.read_text()
    gone = {name for module, names in imported(text).items() for name in names if name not in exported(module)}
    for path in (ROOM, TOP) if gone else ():
        kept = path.read_text()
        for name in gone:
            kept = re.sub(rf'^(    "?{name}"?,|from [\w.]+ import {name})\n', "", kept, flags=re.MULTILINE)
            kept = re.sub(rf"(?m)^(from .*)(?: {name},|, {name}$)", r"\1", kept)
        path.write_text(kept)


def main() -> None:
    """Writes what differs."""
    sys.path.insert(0, str(SOURCE))
    forget_what_is_gone()
    for path, text in derived().items():
        if text != path.read_text():
            path.write_text(text)
    # in another process, which imports what was just written
    subprocess.run([sys.executable, str(Path(__file__).with_name("write_reference.py"))], check=True)


if __name__ == "__main__":
    main()
