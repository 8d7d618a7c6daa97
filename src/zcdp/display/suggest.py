"""Unknown names: what was probably meant, or what covers it instead."""

from __future__ import annotations

from collections.abc import Iterable

from zcdp.display.field_words import covered

__all__ = ["absent", "nearest", "unknown"]

MOST = 12
"""So many names a person reads."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, if any is.

    >>> nearest("l0linf", ["L1", "L0LInf"]), nearest("xyz", ["L1"])
    ('L0LInf', None)
    """
    from difflib import get_close_matches

    names = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return names[near[0]] if near else None


def absent(name: str, public: Iterable[str]) -> str:
    """What to say of `zcdp.name` where there is no such name.

    >>> absent("L0Linf", ["L0LInf"]), absent("SUE", ["L0LInf"])
    ("zcdp has no 'L0Linf': did you mean 'L0LInf'?", "zcdp has no 'SUE': it is RAPPOR(epsilon=...)")
    """
    if name.startswith("_"):
        return f"module 'zcdp' has no attribute {name!r}"
    near = nearest(name, public)
    hint = covered(name) or (f"did you mean {near!r}?" if near else "dir(zcdp) lists its names")
    return f"zcdp has no {name!r}: {hint}"


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """A message that says what covers a word of the field, or suggests the nearest known name, or lists some.

    >>> unknown("mechanism", "laplce", ["Laplace", "RAPPOR"])
    "there is no mechanism 'laplce': did you mean 'Laplace'?"
    >>> unknown("mechanism", "OUE", ["Laplace", "RAPPOR"])
    "there is no mechanism 'OUE': it is OptimizedUnaryEncoding(epsilon=...)"
    """
    known = list(known)
    said = f"there is no {kind} {name!r}"
    if kind == "mechanism" and (instead := covered(name)):
        return f"{said}: {instead}"
    if near := nearest(name, known):
        return f"{said}: did you mean {near!r}?"
    more = f" and {len(known) - MOST} more" if len(known) > MOST + 1 else ""
    return f"{said} (there are {', '.join(known[:MOST] if more else known)}{more})"
