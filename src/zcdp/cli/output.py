"""Machine output: JSON on stdout."""

from __future__ import annotations

from typing import Any

from zcdp.cli.terminal import line

__all__ = ["print_json"]


def print_json(data: Any) -> None:
    """Indented, in the order it was built, with every digit."""
    import json

    line(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
