"""The page of a theorem, from the installation itself: a link of the page leaves neither the machine nor the token."""

from __future__ import annotations

import re
from functools import cache

from zcdp.accounting.theorem_pages import page_text
from zcdp.report.account_report import blocks
from zcdp.report.charts import escape

__all__ = ["theorem_page"]


@cache
def theorem_page(name: str) -> str | None:
    """The theorem as a page; None if there is none of that name, which is letters, digits and - alone.

    >>> theorem_page("laplace")[:15], theorem_page("../laplace"), theorem_page("no-such")
    ('<!DOCTYPE html>', None, None)
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) or (text := page_text(name)) is None:
        return None
    head, _, rest = text.partition("\n")
    title = head.lstrip("# ").strip()
    parts = re.split(r"^## (.+)$", rest, flags=re.MULTILINE)
    body = blocks(parts[0])
    for heading, section in zip(parts[1::2], parts[2::2], strict=True):
        body += f"<h2>{escape(heading)}</h2>\n{blocks(section)}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="../static/explore.css"></head>\n'
        '<body class="explore theorem"><header class="top"><span class="brand">zcdp</span>'
        '<nav aria-label="Areas"><a href="../plan">Plan</a><a href="../understand">Understand</a>'
        '<a href="../train">Train</a></nav></header>'
        f'<main id="main"><h1>{escape(title)}</h1>\n{body}</main></body></html>\n'
    )
