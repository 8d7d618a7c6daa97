"""A CSV is read record by record: whatever a line holds, all others count as they do without it.

Types come from the plan: nothing is guessed from what a column begins with.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

PLAN = """
[data]
unit = "who"
[domain]
code = { values = ["01", "1", "two\\nlines", "a\\rb", "2024-01-01"], other = "else" }
[[query]]
name = "code"
measure = "count"
by = ["code"]
max_cells = 6
max_rows = 1000000
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "pay"
measure = "sum"
of = "pay"
clip = [0, 100000]
grid = 1
mechanism = "DiscreteGaussian(sigma=2)"
"""
FINE = [b"p1,01,5", b"p2,1,6", b"p3,01,7"]
LINES: dict[str, tuple[bytes, list[int], int]] = {
    "a quoted new line": (b'p4,"two\nlines",8', [0, 0, 1, 0, 0, 0], 8),
    "a quoted new line in a column that is not used": (b'p4,1,8,"a\nb"', [0, 1, 0, 0, 0, 0], 8),
    "a quoted return": (b'p4,"a\rb",8', [0, 0, 0, 1, 0, 0], 8),
    "a new line that looks like records": (b'p4,"x\np1,01,5\np9,01,9",8', [0, 0, 0, 0, 0, 1], 8),
    "a short line": (b"p4", [0, 0, 0, 0, 0, 1], 0),
    "a long line": (b"p4,1,8,9,9,9", [0, 1, 0, 0, 0, 0], 8),
    "an empty line": (b"", [0] * 6, 0),
    "nothing but commas": (b",,", [0] * 6, 0),
    "bytes that are no text": (b"p4,\xff\xfe,8", [0, 0, 0, 0, 0, 1], 8),
    "a quote within": (b'p4,R"1,8', [0, 0, 0, 0, 0, 1], 8),
    "letters after a quote": (b'p4,"01"x,8', [0, 0, 0, 0, 0, 1], 8),
    "quoted quotes": (b'p4,"a""b",8', [0, 0, 0, 0, 0, 1], 8),
    "a zero byte": (b"p4,1\x00,8", [0, 0, 0, 0, 0, 1], 8),
    "a very long value": (b"p4," + b"x" * 3_000_000 + b",8", [0, 0, 0, 0, 0, 1], 8),
    "a number that is none": (b"p4,1,eight", [0, 1, 0, 0, 0, 0], 0),
    "a number that is not a number": (b"p4,1,NaN", [0, 1, 0, 0, 0, 0], 0),
    "a text like a date": (b"p4,2024-01-01,8", [0, 0, 0, 0, 1, 0], 8),
}


def tables_of(path: Path) -> tuple[list[int], int]:
    tables = read_plan("plan.toml", PLAN).tables
    assert tables is not None
    with source_of(path, tables) as source:
        code, pay = (exact_table(source, tables, query, 5) for query in tables.queries)
    return code.counts, pay.amounts[0]


@pytest.mark.parametrize("name", LINES)
def test_a_line_is_read_by_itself(name: str, tmp_path: Path) -> None:
    line, code, pay = LINES[name]
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n".join([b"who,code,pay,more", *FINE[:2], line, FINE[2]]) + b"\n")
    assert tables_of(path) == ([a + b for a, b in zip([2, 1, 0, 0, 0, 0], code, strict=True)], 18 + pay)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_may_end_in_any_way_in_one_file(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfwho,code,pay\n" + end.join([*FINE, b"p4,1,9"]) + b"\r\np5,1,1"))
    assert tables_of(path) == ([2, 3, 0, 0, 0, 0], 28)


def test_no_type_is_guessed_from_the_first_lines(tmp_path: Path) -> None:
    """Thirty thousand codes that look like integers, and then texts."""
    path = tmp_path / "a.csv"
    lines = [b"who,code,pay", *(b"%d,01,1" % n for n in range(30_000)), b"x,1,1", b'y,"two\nlines",1.5', b"z,,nan"]
    path.write_bytes(b"\n".join(lines))
    assert tables_of(path) == ([30_000, 1, 1, 0, 0, 1], 30_003)


def test_a_column_of_one_missing_value_is_a_record(tmp_path: Path) -> None:
    text = '[data]\nunit = "row"\n[domain]\na = { values = ["x"], other = "y" }\n[[query]]\nname = "q"\n'
    text += 'measure = "count"\nby = ["a"]\nmechanism = "DiscreteGaussian(sigma=2)"'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    (tmp_path / "a.csv").write_text('a\nx\n""\n')
    with source_of(tmp_path / "a.csv", tables) as source:
        assert exact_table(source, tables, tables.queries[0], 5).counts == [1, 1]
