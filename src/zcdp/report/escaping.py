"""Text that goes onto the page: no markup, and no character that acts instead of being seen."""

from __future__ import annotations

import html

from zcdp.accounting.printable import printable

__all__ = ["escape"]


def escape(text: str) -> str:
    """The text, to be read as it is; lines and tabs are kept.

    >>> escape("<b>\\x1b[2J\\n")
    '&lt;b&gt;\\ufffd[2J\\n'
    """
    return html.escape(printable(text, keep="\n\t"))
