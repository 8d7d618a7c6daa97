"""A made-up register for examples/office: one row a person and job, a Parquet file each quarter. No one in it exists.

python register.py 500000 writes register-2026-Q1.parquet to register-2026-Q4.parquet, of about so many rows each; a
second word is the folder that they go to.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

HERE = Path(__file__).parent
QUARTERS = ("2026-Q1", "2026-Q2", "2026-Q3", "2026-Q4")
EDUCATION = ("basic", "vocational", "academic", "")
SECOND_JOBS, NO_INCOME, NO_BIRTH, ABROAD = 0.1, 0.125, 0.02, 0.003
"""Shares of persons: with two jobs, with an income of 0, without a day of birth, without a listed municipality."""


def register(quarter: int, rows: int) -> dict[str, Any]:
    """The columns of one quarter; the persons are the same all year, their incomes and hours are not."""
    with (HERE / "municipalities.csv").open(encoding="utf-8") as file:
        towns = np.array([*(town for town, _ in csv.reader(file)), "elsewhere"])
    persons = int(rows / (1 + SECOND_JOBS))
    rng = np.random.default_rng(2026)
    sizes = rng.permutation(1 / np.arange(4, len(towns) + 3))  # a few large towns, many small ones
    town = rng.choice(len(towns) - 1, persons, p=sizes / sizes.sum())
    town[rng.random(persons) < ABROAD] = len(towns) - 1
    birth = 2025 - np.minimum(rng.gamma(4, 11, persons), 104).astype(int)
    day = np.char.add(np.char.add(birth.astype(str), "-0"), rng.integers(1, 10, persons).astype(str) + "-15")
    day[rng.random(persons) < NO_BIRTH] = ""
    schooling = rng.choice(4, persons, p=[0.3, 0.45, 0.23, 0.02])
    second = rng.random(persons) < SECOND_JOBS
    works = rng.random(persons) >= NO_INCOME
    rng = np.random.default_rng([2026, quarter])
    yearly = np.where(works, np.exp(rng.normal(10.1 + 0.25 * (schooling % 3), 0.5, persons)), 0)
    share = np.where(second, 0.7, 1.0)
    hours = np.where(works, rng.choice([10, 20, 36, 40], persons), 0)
    who = np.arange(persons)
    both = np.concatenate([who, who[second]])
    return {
        "person_id": both,
        "municipality": towns[town][both],
        "born": day[both],
        "education": np.array(EDUCATION)[schooling][both],
        "income": np.concatenate([yearly * share, (yearly * (1 - share))[second]]).round(2),
        "hours": np.concatenate([hours, np.minimum(hours, 8)[second]]),
    }


def write(folder: Path, rows: int) -> None:
    """Write the four files; the same on every machine."""
    for quarter, name in enumerate(QUARTERS):
        data = register(quarter, rows)
        with duckdb.connect() as connection:
            made = "SELECT person_id, municipality, TRY_CAST(born AS DATE) AS born, education, income, hours FROM data"
            connection.register("data", data)
            connection.execute(f"COPY ({made}) TO '{folder / f'register-{name}.parquet'}' (FORMAT parquet)")


if __name__ == "__main__":
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()
    target.mkdir(exist_ok=True)
    write(target, int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
