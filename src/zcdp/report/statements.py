"""The statements of the theorems, out of their pages and into the report, which has no links to lead elsewhere."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from zcdp.report.escaping import escape

__all__ = ["statement"]

_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_STRESSED = re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])")
_ESCAPED = re.compile(r"\\([_*])")
_CODE = re.compile(r"`([^`]+)`")


@cache
def statement(theorem: str) -> str | None:
    """The section "Statement" of a theorem's page as HTML; None where there is no such page.

    >>> statement("laplace")[:3], statement("no-such-theorem")
    ('<p>', None)
    """
    if not re.fullmatch(r"[a-z-]+", theorem):
        return None
    for folder in (files("zcdp").joinpath("theorems"), Path(__file__).parents[3] / "docs" / "theorems"):
        page = folder.joinpath(f"{theorem}.md")
        if page.is_file():
            text = page.read_text(encoding="utf-8").split("## Statement\n", 1)[-1].split("\n## ", 1)[0]
            return "".join(_block(part) for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip())
    return None


def _block(text: str) -> str:
    if all(line.startswith("    ") for line in text.split("\n") if line):
        return f"<pre>{escape(re.sub('^    ', '', text, flags=re.MULTILINE))}</pre>\n"
    items = re.split(r"^(?:\* |- |\d+\. )", text, flags=re.MULTILINE)
    lead = f"<p>{_inline(items[0])}</p>\n" if items[0].strip() else ""
    listed = "".join(f"<li>{_inline(item)}</li>\n" for item in items[1:])
    return lead + (f"<ul>\n{listed}</ul>\n" if listed else "")


def _inline(text: str) -> str:
    """Without links, which lead nowhere from a report."""
    plain = escape(_LINK.sub(r"\1", " ".join(text.split())))
    strong = _STRESSED.sub(r"<em>\1</em>", _BOLD.sub(r"<strong>\1</strong>", plain))
    return _CODE.sub(r"<code>\1</code>", _ESCAPED.sub(r"\1", strong))
