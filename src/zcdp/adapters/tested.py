"""Which versions of another system a bridge was tested with, and what it says when it meets another."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version

from zcdp.errors import MissingExtra

__all__ = ["UntestedVersion", "installed", "warn_unless"]


class UntestedVersion(UserWarning):
    """The other system may draw from other laws than those that were proven to be covered."""


def installed(package: str, extra: str) -> str:
    """The version of the package that is installed; an error with the command to get it where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        raise MissingExtra(f"this needs {package}, which is not installed", extra=extra, name=package) from None


def warn_unless(package: str, extra: str, tested: tuple[str, ...]) -> None:
    """Say so, loudly, where the installed version is none of the tested ones."""
    found = installed(package, extra)
    if found not in tested:
        warnings.warn(
            f"{package} {found} is installed, and zcdp's bridge was tested with {', '.join(tested)}: "
            "what it says is proven for the laws that those draw from",
            UntestedVersion,
            stacklevel=3,
        )
