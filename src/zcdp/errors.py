"""One root for all that zcdp refuses: whoever catches `ZcdpError` catches no bug."""

from __future__ import annotations

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
    """An optional part of zcdp needs a package that is not installed; the message names the command to get it."""
