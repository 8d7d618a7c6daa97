"""The table: the rows that tests/rows has for every mechanism."""

from __future__ import annotations

from rows import every

from neighbours.case import Row

ROWS: list[Row] = every("NEIGHBOURS")
