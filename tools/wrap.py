"""Wraps the prose of Markdown pages at 120 columns: `python tools/wrap.py` does it for every page of the repository.

Only a paragraph or an item of a list with a longer line is filled anew. Headings, tables, HTML, code and formulas (in
fences or indented) stay as they are; a code span or a link is never broken, and no line comes to start with what
Markdown takes for the beginning of a heading, a list, a quotation or a table.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 120
ITEM = re.compile(r"( *)([-*+]|\d+[.)]) +")
KEPT = re.compile(r"#|\||<|!!!|\?\?\?|>|\[[^\]]+\]: | {4}")
"""How a line begins that is no prose: a heading, table, HTML, note, quotation, definition of a link, code."""
MARKER = re.compile(r"([-+*#>|=~]+|\d+[.)]|[-=*_]{3,}.*|[<:!?`~]{3}.*|<.*|\|.*|#.*|>.*)$")
ATOM = re.compile(r"(?:`[^`]*`|!?\[[^\[\]]*\]\([^)]*\)|\{[^{}]*\}|\S)+")


def words(text: str) -> list[str]:
    """What may stand on a line of its own: words, with code spans, links and braces whole, and no marker first.

    >>> words("rho <= 1 - x, see [the page](rho.md) or `a b`")
    ['rho <=', '1 -', 'x,', 'see', '[the page](rho.md)', 'or', '`a b`']
    """
    found: list[str] = []
    for word in ATOM.findall(text):
        if found and MARKER.fullmatch(word):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def filled(first: str, later: str, text: str) -> list[str]:
    """The lines of one paragraph, each at most 120 columns, unless one word is longer."""
    lines, line = [], first
    empty = True
    for word in words(text):
        if not empty and len(line) + 1 + len(word) > COLUMNS:
            lines.append(line)
            line, empty = later, True
        line += word if empty else f" {word}"
        empty = False
    return [*lines, line]


def wrapped(text: str) -> str:
    """The page with its long paragraphs filled anew.

    >>> print(wrapped("- " + "word " * 30))
    - word word word word word word word word word word word word word word word word word word word word word word word
      word word word word word word word
    """
    lines, out, at = text.split("\n"), [], 0
    fenced, after_blank = False, True
    while at < len(lines):
        line = lines[at]
        fenced ^= line.lstrip().startswith("```")
        item = ITEM.match(line)
        code = line.startswith("    ") and after_blank
        if fenced or line.lstrip().startswith("```") or not line.strip() or code or (KEPT.match(line) and not item):
            out.append(line)
            after_blank = not line.strip() or code
            at += 1
            continue
        end = at + 1
        while (
            end < len(lines)
            and lines[end].strip()
            and not ITEM.match(lines[end])
            and not re.match(r" *(```|#|\||<!--|>)", lines[end])
        ):
            end += 1
        part = lines[at:end]
        if max(map(len, part)) > COLUMNS and not any(one.endswith("  ") for one in part):
            first = item[0] if item else re.match(" *", line)[0]
            indent = len(item[1]) + min(len(item[2]) + 1, 3) if item else len(first)
            part = filled(first, " " * indent, " ".join([line[len(first) :], *part[1:]]))
        out += part
        after_blank = False
        at = end
    return "\n".join(out)


def pages() -> list[Path]:
    """The Markdown files that git knows."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]


if __name__ == "__main__":
    for page in pages():
        before = page.read_text(encoding="utf-8")
        if (after := wrapped(before)) != before:
            page.write_text(after, encoding="utf-8")
