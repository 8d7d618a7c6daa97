"""The errors of zcdp. All derive from `ZcdpError`, which stands for refused input or missing parts, never for a bug."""

from __future__ import annotations

import re
from typing import ClassVar

__all__ = ["BadType", "BadValue", "MissingExtra", "SensitivityWarning", "ZcdpError"]


class ZcdpError(Exception):
    """Base class of all errors of zcdp; most are also of the built-in kind that one expects, such as ValueError.

    >>> from zcdp import Laplace, ZcdpError
    >>> try:
    ...     Laplace(epsilon=-1)
    ... except ZcdpError as error:
    ...     print(error, isinstance(error, ValueError))
    epsilon (-1) must be positive True
    """

    refused: ClassVar[bool] = False
    """Whether what was asked for makes sense and is not granted, as for want of budget: exit code 1, else 2."""


class BadValue(ZcdpError, ValueError):
    """An argument, or an entry of a file, has the right type and a value that is not allowed."""


class BadType(ZcdpError, TypeError):
    """An argument is missing, superfluous, or of the wrong type."""


class MissingExtra(ZcdpError, ModuleNotFoundError):
    """An optional part of zcdp needs packages that are missing; the message ends with the command that installs them.

    The command names the packages of the extra, so that it works however zcdp was installed, from a clone too.

    >>> print(MissingExtra("figures need matplotlib", extra="plots"))
    figures need matplotlib: pip install 'matplotlib>=3.8' (the extra plots)
    """

    def __init__(self, what: str, *, extra: str, name: str | None = None) -> None:
        super().__init__(f"{what}: pip install {_packages(extra)} (the extra {extra})", name=name)


class SensitivityWarning(UserWarning):
    """A sensitivity was not stated and is taken to be 1, in a form where most users mean something else."""


def _packages(extra: str) -> str:
    """The packages of an extra, quoted for pip, from the metadata of the installation; without metadata `.[extra]`."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("zcdp") or []
    except PackageNotFoundError:
        lines = []
    parts = (line.partition(";") for line in lines)
    found = [what.strip() for what, _, when in parts if re.search(f"extra *== *['\"]{extra}['\"]", when)]
    return " ".join(f"'{what}'" for what in found) or f"'.[{extra}]'"
