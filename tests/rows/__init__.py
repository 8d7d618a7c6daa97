"""What the tests need to know of a mechanism, in one file named as the module that holds it.

A file may say, each for the mechanisms of its module:

* `KINDS`: the budget's companions, by `kind`; they buy the laws of tests/laws. One may name a reference: the pair of
  worst-case outputs, from which tests/independent/reference.py computes the curve to 250 digits.
* `EXAMPLES`: instances of mechanisms that have no single budget, for the same laws.
* `NEIGHBOURS`: rows of tests/neighbours, which draw true neighbours and write down the laws of their outputs.
* `DRAWN`: what tests/samplers/test_what_is_drawn.py draws, and how likely the outcome is.
* `TEXTS`: how tests/fuzz spells random parameters, where the types of the fields do not tell.

All of it is the truth that the library is held against, so none of these files can import zcdp: a mechanism is named,
by `made`, and built by the laws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from random import Random
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Made:
    """A call of something public in zcdp, to be done later: parameters may be such calls themselves."""

    name: str
    given: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]

    def build(self) -> Any:
        import zcdp

        call = reduce(getattr, self.name.split("."), zcdp)
        return call(*map(built, self.given), **{name: built(value) for name, value in self.named})  # type: ignore[operator]


def made(name: str, /, *given: Any, **named: Any) -> Made:
    return Made(name, given, tuple(named.items()))


def built(value: Any) -> Any:
    if isinstance(value, list):
        return [built(one) for one in value]
    return value.build() if isinstance(value, Made) else value


@dataclass(frozen=True)
class Kind:
    """A mechanism with a budget, the parameters beside it, and where it has one its reference."""

    name: str
    fixed: tuple[dict[str, Any], ...]
    reference: Callable[..., Any] | None = None
    """Takes the parameters of the mechanism, and returns what tests/independent/reference.py can answer."""
    others: Callable[[Random], dict[str, Any]] = lambda rng: {}
    """Draws parameters beside the budget, for comparing with the reference."""


def kind(name: str, /, *fixed: dict[str, Any], **more: Any) -> Kind:
    return Kind(name, fixed or ({},), **more)


@cache
def files() -> tuple[ModuleType, ...]:
    """All files, in the sequence of `zcdp.MECHANISMS`."""
    from zcdp.mechanisms import MECHANISMS, WRAPPERS

    stems = dict.fromkeys(one.__module__.rpartition(".")[2] for one in (*MECHANISMS, *WRAPPERS))
    return tuple(import_module(f"rows.{stem}") for stem in stems)


def every(what: str) -> list[Any]:
    """All that the files say under this name."""
    return [one for file in files() for one in getattr(file, what, ())]
