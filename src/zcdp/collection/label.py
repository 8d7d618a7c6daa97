"""The label that travels with reports on every engine: which mechanism made them, on how many values, in which form."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadValue, MissingExtra

__all__ = ["LABEL", "Label", "package"]

LABEL = "design"
"""The column that holds it: the same in every row, and so of no size. Footers of files do not reach a data frame."""

FORMAT = 2
TYPES = ("|u1", "<u2", "<u4", "<u8")


def package(module: str, needs: str, extra: str) -> Any:
    """A module of an extra, or an error that names the command to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = module.split(".", maxsplit=1)[0]
        if error.name is None or error.name.split(".", maxsplit=1)[0] != name:
            raise
        raise MissingExtra(f"{needs} {name}", extra=extra, name=name) from None


@dataclass(frozen=True)
class Label:
    """Of a block, or of a row.

    >>> Label.read("a file", Label("m", 3, rows=True, type="|u1", width=None).text).k
    3
    """

    mechanism: str
    k: int
    rows: bool
    type: str
    """Of the numbers that a report is made of."""
    width: int | None
    """How many of them; None if a report is one number."""

    @classmethod
    def of(cls, mechanism: Any, k: int, block: NDArray[Any], *, rows: bool) -> Label:
        """For these reports and all others of the mechanism: the smallest unsigned type that holds every one."""
        kind = np.dtype(np.uint8)
        if block.dtype != np.uint8:
            most = mechanism._outputs(k) if block.ndim == 1 else k
            kind = np.min_scalar_type(most - 1).newbyteorder("<")
        return cls(repr(mechanism), k, rows, kind.str, block.shape[1] if block.ndim == 2 else None)

    @classmethod
    def read(cls, where: object, text: Any) -> Label:
        """As found; `where` is what to call the place."""
        try:
            said = json.loads(text)
            known = said.pop("format") == FORMAT and said["type"] in TYPES and type(said["rows"]) is bool
            known = known and type(said["k"]) is int and (said["width"] is None or int(said["width"]) > 0)
            found = cls(**said)
        except (ValueError, TypeError, KeyError, AttributeError):
            known = False
        if not known:
            raise BadValue(f"{where}: says what its reports are in a way that this version does not read")
        return found

    @classmethod
    def common(cls, where: object, texts: list[Any], mechanism: Any, k: int) -> Label:
        """The one label of all, checked to be that of this mechanism on k values."""
        labels = [cls.read(where, text) for text in texts]
        for one in labels:
            if (one.mechanism, one.k) != (repr(mechanism), k):
                has = f"has reports of {one.mechanism} on {one.k} values"
                raise BadValue(f"{where}: {has}, not of {mechanism!r} on {k}")
        if len(set(labels)) != 1:
            raise BadValue(f"{where}: mixes reports of different forms")
        return labels[0]

    @property
    def text(self) -> str:
        """As it is written."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @property
    def numbers(self) -> np.dtype[Any]:
        """The type of the numbers that a report is made of."""
        return np.dtype(self.type)
