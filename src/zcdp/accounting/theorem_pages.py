"""The pages that prove what an account rests on: their text and their titles.

A wheel holds the pages as zcdp/theorems; in a clone they are in docs/theorems. They are read when an account cites
them, never on import.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

__all__ = ["page_text", "title"]


@cache
def page_text(theorem: str) -> str | None:
    """The text of a theorem's page in Markdown; None if there is no such page.

    An account that was read from JSON may name anything: what could lead out of the folder of pages is no page.

    >>> page_text("no-such-theorem"), page_text("../errata")
    (None, None)
    """
    if re.fullmatch(r"[a-z-]+", theorem):
        for folder in (files("zcdp").joinpath("theorems"), Path(__file__).parents[3] / "docs" / "theorems"):
            file = folder.joinpath(f"{theorem}.md")
            if file.is_file():
                return file.read_text(encoding="utf-8")
    return None


def title(theorem: str) -> str:
    """The heading of a theorem's page; the theorem's own name if there is no such page, as for a user's mechanism.

    >>> title("rappor"), title("my-own")
    ('RAPPOR: rho = epsilon tanh(epsilon/4)', 'my-own')
    """
    text = page_text(theorem)
    return theorem if text is None else text.split("\n", 1)[0].removeprefix("# ")
