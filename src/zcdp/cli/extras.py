"""Parts of zcdp that may not be installed, asked for by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from zcdp.cli.arguments import BadUsage
from zcdp.errors import MissingExtra

__all__ = ["extra"]


def extra(module: str, name: str) -> Any:
    """The function, or one clear line on what is missing."""
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name == module or module.startswith(f"{error.name}."):
            raise BadUsage(f"{module} is not part of this installation") from None
        if isinstance(error, MissingExtra):
            raise
        raise MissingExtra(f"this needs {error.name}", extra="plots", name=error.name) from None
