"""One root for all that zcdp refuses: whoever catches `ZcdpError` catches no bug."""

from __future__ import annotations

import re

__all__ = ["BadType", "BadValue", "MissingExtra", "SensitivityWarning", "ZcdpError"]


class ZcdpError(Exception):
    """Whatever zcdp refuses, and says why; each is also of the built-in kind that one would expect.

    >>> from zcdp import Laplace, ZcdpError
    >>> try:
    ...     Laplace(epsilon=-1)
    ... except ZcdpError as error:
    ...     print(error, isinstance(error, ValueError))
    epsilon (-1) must be positive True
    """


class BadValue(ZcdpError, ValueError):
    """An argument, or something in a file, is of the right type and outside its domain."""


class BadType(ZcdpError, TypeError):
    """An argument is missing, one too many, or of the wrong type."""


class MissingExtra(ZcdpError, ModuleNotFoundError):
    """An optional part of zcdp needs packages that are not installed; the message ends with the command to get them.

    The command names the packages of the extra, so that it works wherever zcdp itself came from, a clone too.

    >>> print(MissingExtra("figures need matplotlib", extra="plots"))
    figures need matplotlib: pip install 'matplotlib>=3.8' (the extra plots)
    """

    def __init__(self, what: str, *, extra: str, name: str | None = None) -> None:
        super().__init__(f"{what}: pip install {_packages(extra)} (the extra {extra})", name=name)


class SensitivityWarning(UserWarning):
    """A sensitivity that was not stated is taken to be 1, where most who write it so mean something else."""


def _packages(extra: str) -> str:
    """What an extra brings, as the metadata of the installation say; where there are none, the extra of the clone."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("zcdp") or []
    except PackageNotFoundError:
        lines = []
    parts = (line.partition(";") for line in lines)
    found = [what.strip() for what, _, when in parts if re.search(f"extra *== *['\"]{extra}['\"]", when)]
    return " ".join(f"'{what}'" for what in found) or f"'.[{extra}]'"
