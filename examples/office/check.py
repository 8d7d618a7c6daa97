"""What was published of one quarter, beside the made-up register: sums, signs, intervals and quantiles.

python check.py 2026-Q1 reads the folder 2026-Q1 and register-2026-Q1.parquet. No office could do this with real data.
"""

from __future__ import annotations

import csv
import sys
from bisect import bisect_right
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb

LISTED = "CASE WHEN list_contains($towns, municipality) THEN municipality ELSE 'elsewhere' END"
SCHOOLED = "CASE WHEN education = '' THEN 'not stated' ELSE education END"
CERTAIN = 1500
"""Ranks: far more than the noise of the quantiles by education, whatever it is drawn to be."""


def table(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of a published table."""
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def truth(data: Path, lists: Path, what: str) -> list[tuple[Any, ...]]:
    """The answer to a query over the persons of a register, each with town, schooling and income of all jobs."""
    towns = [line.split(",")[0] for line in (lists / "municipalities.csv").read_text(encoding="utf-8").splitlines()]
    persons = (
        f"SELECT any_value({LISTED}) AS town, any_value({SCHOOLED}) AS schooling, sum(income) AS income "
        f"FROM read_parquet('{data}') GROUP BY person_id"
    )
    with duckdb.connect() as connection:
        return connection.execute(f"WITH persons AS ({persons}) {what}", {"towns": towns}).fetchall()


def sums(folder: Path) -> list[str]:
    """Tables that do not add up, and figures below 0."""
    regions: dict[str, int] = defaultdict(int)
    towns = table(folder, "persons-by-municipality")
    for row in towns:
        regions[row["region"]] += int(row["value"])
    published = {row["region"]: int(row["value"]) for row in table(folder, "persons-by-region")}
    wrong = [f"{name}: {value} is not {regions[name]}" for name, value in published.items() if value != regions[name]]
    [whole] = table(folder, "persons")
    if int(whole["value"]) != sum(published.values()):
        wrong.append(f"{whole['value']} persons are not {sum(published.values())}")
    return wrong + [f"{row['municipality']}: {row['value']} is below 0" for row in towns if int(row["value"]) < 0]


def held(folder: Path, data: Path) -> tuple[int, int]:
    """How many intervals of municipalities hold the true number, and how many there are."""
    found = dict(truth(data, folder.parent, "SELECT town, count(*) FROM persons GROUP BY town"))
    rows = table(folder, "persons-by-municipality")
    inside = [int(row["lower"]) <= found.get(row["municipality"], 0) <= int(row["upper"]) for row in rows]
    return sum(inside), len(rows)


def quantiles(folder: Path, data: Path) -> tuple[list[str], int, int]:
    """Quantiles by education in a wrong bin where noise cannot explain it; and how many intervals hold the truth."""
    people: dict[str, list[float]] = defaultdict(list)
    for schooling, income in truth(data, folder.parent, "SELECT schooling, income FROM persons ORDER BY income"):
        people[schooling].append(income)
    wrong, inside = [], 0
    rows = table(folder, "income-quantiles-by-education")
    for row in rows:
        incomes, q = people[row["education"]], float(row["quantile"])
        rank = q * len(incomes)
        value = incomes[min(int(rank), len(incomes) - 1)]
        inside += float(row["lower"]) <= value <= float(row["upper"])
        start = value - value % 1000
        below, above = bisect_right(incomes, start - 0.005), bisect_right(incomes, start + 999.995)
        certain = min(rank - below, above - rank) > CERTAIN or (start == 0 and above - rank > CERTAIN)
        if certain and value < 100_000 and float(row["from"]) != start:
            wrong.append(f"{row['education']}: {q} is published as {row['from']}, and {start} is its bin")
    return wrong, inside, len(rows)


def main(quarter: str) -> int:
    """Print what was found; 1 if something is wrong."""
    folder, data = Path(quarter), Path(f"register-{quarter}.parquet")
    astray, kept, many = quantiles(folder, data)
    wrong = [*sums(folder), *astray]
    towns, all_towns = held(folder, data)
    for line in wrong:
        print(line)
    print(f"{quarter}: every region is the sum of its municipalities, and none is below 0" if not wrong else "WRONG")
    print(f"{towns} of {all_towns} intervals of municipalities hold the true number of persons")
    print(f"{kept} of {many} intervals of incomes by education hold the true quantile")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
