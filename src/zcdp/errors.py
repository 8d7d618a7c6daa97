"""One root for all that zcdp refuses: whoever catches `ZcdpError` catches no bug."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BadType", "BadValue", "MissingExtra", "ZcdpError"]


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
    """An optional part of zcdp needs a package that is not installed; the message names the command to get it.

    From a clone that is a command about the clone, as zcdp is in no registry: pip install '/where/it/is[plots]'.
    """

    def __init__(self, message: str, *, name: str | None = None) -> None:
        super().__init__(message.replace("'zcdp[", f"'{_clone() or 'zcdp'}["), name=name)


def _clone() -> Path | None:
    """The directory of the clone that is in use, if it is one."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() else None
