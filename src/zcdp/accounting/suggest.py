"""Unknown names: what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["unknown"]


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """A message that suggests the nearest known name, or lists them all.

    >>> unknown("mechanism", "laplce", ["Laplace", "RAPPOR"])
    "there is no mechanism 'laplce': did you mean 'Laplace'?"
    """
    from difflib import get_close_matches

    names = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    if near:
        return f"there is no {kind} {name!r}: did you mean {names[near[0]]!r}?"
    return f"there is no {kind} {name!r} (there are {', '.join(names.values())})"
