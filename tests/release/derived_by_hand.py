"""A plan with every kind of derived column, tables of odd values, and what each row must give, in plain Python.

Nothing here comes from the source of zcdp: numbers are doubles of Python, days are those of `datetime`.
"""

from __future__ import annotations

import hashlib
import random
import unicodedata
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from math import floor, inf, isnan, nan
from pathlib import Path
from typing import Any

import polars as pl

LOOKUP = "code,region,weight,since,urban\nM1,R1,0.1,2024-02-29,true\nM2,R2,,1999-12-31,false\n"
LOOKUP += "m1,,7,,\n\u00e9,R1,-3e2,0001-01-01,1\n"
PLAN = """
[data]
unit = "who"
[lookup.geo]
file = "geo.csv"
sha256 = "{digest}"
on = "town"
key = "code"
add = {{ region = "region", weight = "weight", since = "since", urban = "urban" }}
[lookup.codes]
file = "codes.csv"
sha256 = "{codes}"
on = "hours"
kind = "integer"
add = ["level"]
[derive]
hourly = {{ quotient = ["wage", "hours"] }}
tenth = {{ quotient = ["hours", 10] }}
net = {{ difference = ["wage", "tax"] }}
both = {{ sum = ["wage", "tax", 1.5] }}
area = {{ product = ["wage", "hours", "tax"] }}
year = {{ part = "year", of = "born" }}
quarter = {{ part = "quarter", of = "born" }}
month = {{ part = "month", of = "born" }}
day = {{ part = "day", of = "born" }}
weekday = {{ part = "weekday", of = "born" }}
age = {{ years_between = ["born", 2026-02-28] }}
since_town = {{ years_between = ["since", "born"] }}
working = {{ any = [["hours", ">", 0], ["status", "==", "leave"]] }}
sure = {{ all = [["ok", "==", true], {{ not = ["hours", "<=", 5] }}] }}
never = {{ not = ["status", "in", ["leave", "A"]] }}
group = {{ first = [
    [["age", "<", 18], "child"],
    [{{ all = [["age", "<", 65], ["ok", "!=", false]] }}, "adult"],
    [["age", ">=", 65], "old"],
] }}
rank = {{ first = [[["hourly", ">", 1], 3], [true, 7]] }}
entry = {{ first = [[["ok", "==", true], 2024-02-29], [["hours", ">", 0], 1970-01-01]] }}
two = {{ prefix = 2, of = "status" }}
name = {{ fold = ["trim", "case", "nfc"], of = "status" }}
small = {{ fold = "case", of = "status" }}
filled = {{ value = "wage", missing = 0 }}
named = {{ value = "status", missing = "none" }}
dated = {{ value = "born", missing = 2000-01-31 }}
said = {{ value = "ok", missing = false }}
rows = {{ per = "person", count = true }}
jobs = {{ per = "person", count = ["hours", ">", 0] }}
paid = {{ per = "person", total = "wage", grid = 0.5 }}
most = {{ per = "person", largest = "hourly" }}
least = {{ per = "person", smallest = "wage" }}
share = {{ quotient = ["wage", "paid"] }}
[[query]]
name = "a"
measure = "count"
where = [{where}]
mechanism = "DiscreteGaussian(sigma=2)"
"""
ASKED: dict[str, str] = {
    **dict.fromkeys(("hourly", "tenth", "net", "both", "area", "filled", "paid", "most", "least", "share"), "number"),
    **dict.fromkeys(("year", "quarter", "month", "day", "weekday", "age", "since_town", "rank", "rows"), "number"),
    **dict.fromkeys(("jobs", "weight", "level"), "number"),
    **dict.fromkeys(("working", "sure", "never", "said", "urban"), "boolean"),
    **dict.fromkeys(("group", "two", "name", "small", "named", "region"), "text"),
    **dict.fromkeys(("entry", "dated", "since"), "date"),
}
LITERALS = {"number": "123.5", "boolean": "true", "text": '"x"', "date": "1999-01-01"}
CODES = "hours,level\n5,1\n-1,2\n9007199254740991,3\n0,\n"
SCHEMA = {
    "n": pl.Int64,
    "who": pl.String,
    "wage": pl.Float64,
    "tax": pl.Float64,
    "hours": pl.Int64,
    "status": pl.String,
    "born": pl.Date,
    "town": pl.String,
    "ok": pl.Boolean,
}
BIG = 2**53
WHO = (None, "", "a", "b", "A", "\u00e9")
WAGES = (None, nan, inf, -inf, -0.0, 0.0, 1.5, -7.25, 1e308, -1e308, 5e-324, 2.0**53, 2.0**53 - 1, 0.1, 0.25, 3.0)
HOURS = (None, 0, 1, -1, 5, 40, 2**53, 2**53 - 1, 2**53 + 1, 2**63 - 1, -(2**63))
STATUS = (
    None,
    "",
    "leave",
    "A",
    " Leave\t",
    "\u00c9COLE",
    "e\u0301cole",
    "\u0391\u03a3 \u03a3",
    "\u0130x",
    "\u00a0 z\u3000",
    "\U0001f600b",
)
BORN = (
    None,
    *map(date.fromisoformat, ("0001-01-01", "2000-02-29", "2000-03-01", "1900-02-28", "2026-02-28", "9999-12-31")),
)
BORN += tuple(
    map(date.fromisoformat, ("2008-02-28", "2008-02-29", "1961-03-01", "2024-12-31", "1999-12-31", "2100-02-28"))
)
TOWNS = (None, "M1", "M2", "m1", "M1 ", "", "\u00e9", "e\u0301", "M3")


def plan(folder: Path) -> str:
    (folder / "geo.csv").write_text(LOOKUP, encoding="utf-8")
    (folder / "codes.csv").write_text(CODES, encoding="utf-8")
    where = ", ".join(f'["{name}", "!=", {LITERALS[kind]}]' for name, kind in ASKED.items())
    digest, codes = (hashlib.sha256(one.encode()).hexdigest() for one in (LOOKUP, CODES))
    return PLAN.format(digest=digest, codes=codes, where=f'["n", ">=", 0], {where}')


def people(seed: int, size: int) -> pl.DataFrame:
    """Rows of odd values, and of ordinary ones, numbered by the column `n`."""
    rng = random.Random(seed)
    rows = [
        {
            "n": n,
            "who": rng.choice(WHO),
            "wage": rng.choice((rng.choice(WAGES), rng.uniform(-50, 50))),
            "tax": rng.choice((rng.choice(WAGES), float(rng.randrange(-5, 9)))),
            "hours": rng.choice((rng.choice(HOURS), rng.randrange(1, 60))),
            "status": rng.choice(STATUS),
            "born": rng.choice((rng.choice(BORN), date.fromordinal(rng.randrange(1, date.max.toordinal())))),
            "town": rng.choice(TOWNS),
            "ok": rng.choice((True, False, None)),
        }
        for n in range(size)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, strict=False)


def number(value: Any) -> float | None:
    return None if value is None or isnan(float(value)) else float(value)


def near(value: float | None) -> float | None:
    return value if value is not None and abs(value) < BIG else None


def arithmetic(operation: str, operands: Sequence[Any]) -> float | None:
    values = [near(number(one)) for one in operands]
    if None in values:
        return None
    total: Any = values[0]
    for other in values[1:]:
        if operation == "/":
            total = None if other == 0 or abs(Fraction(total) / Fraction(other)) >= BIG else total / other
        else:
            total = near({"-": total - other, "+": total + other, "*": total * other}[operation])
        if total is None:
            return None
    return float(total)


def age(born: date | None, at: date | None) -> int | None:
    if born is None or at is None:
        return None
    return at.year - born.year - ((at.month, at.day) < (born.month, born.day))


def fold(one: str | None) -> str | None:
    if one is None:
        return None
    composed = unicodedata.normalize("NFC", one).replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")
    return composed.strip(" \t\n\r\u00a0\u2007\u202f\u3000")


def images(frame: pl.DataFrame) -> dict[int, dict[str, Any]]:
    """What each row gives, by its number: a value for each derived column, None where it is missing."""
    rows = frame.to_dicts()
    made = {one["n"]: _own(one) for one in rows}
    for one in rows:
        mine = [other for other in rows if other["who"] == one["who"]] if one["who"] is not None else None
        found = made[one["n"]]
        found |= dict.fromkeys(("rows", "jobs", "paid", "most", "least", "share"))
        if mine is None:
            continue
        wages = [value for other in mine if (value := near(number(other["wage"]))) is not None]
        rates = [value for other in mine if (value := _own(other)["hourly"]) is not None]
        found["rows"] = len(mine)
        found["jobs"] = sum(other["hours"] is not None and other["hours"] > 0 for other in mine)
        if wages:
            found["least"] = min(wages)
            steps = [min(max(floor(Fraction(one) * 2 + Fraction(1, 2)), 1 - BIG), BIG - 1) for one in wages]
            found["paid"] = near(min(max(sum(steps), 1 - BIG), BIG - 1) / 2)
        if rates:
            found["most"] = max(rates)
        found["share"] = arithmetic("/", [one["wage"], found["paid"]])
    return made


GEO = {
    "M1": ("R1", 0.1, date(2024, 2, 29), True),
    "M2": ("R2", None, date(1999, 12, 31), False),
    "m1": (None, 7.0, None, None),
    "\u00e9": ("R1", -300.0, date(1, 1, 1), True),
}


def _own(one: dict[str, Any]) -> dict[str, Any]:
    wage, tax, hours, status, born, ok = (one[name] for name in ("wage", "tax", "hours", "status", "born", "ok"))
    years, positive = age(born, date(2026, 2, 28)), hours is not None and hours > 0
    group = (
        None
        if years is None
        else "child"
        if years < 18
        else "adult"
        if years < 65 and ok
        else "old"
        if years >= 65
        else None
    )
    hourly = arithmetic("/", [wage, hours])
    region, weight, since, urban = GEO.get(one["town"], (None,) * 4)
    low = None if status is None else status.replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")
    return {
        "hourly": hourly,
        "tenth": arithmetic("/", [hours, 10]),
        "net": arithmetic("-", [wage, tax]),
        "both": arithmetic("+", [wage, tax, 1.5]),
        "area": arithmetic("*", [wage, hours, tax]),
        "year": born and born.year,
        "quarter": born and (born.month + 2) // 3,
        "month": born and born.month,
        "day": born and born.day,
        "weekday": born and born.isoweekday(),
        "age": years,
        "since_town": age(since, born),
        "working": positive or status == "leave",
        "sure": ok is True and not (hours is not None and hours <= 5),
        "never": status not in ("leave", "A"),
        "group": group,
        "rank": 3 if hourly is not None and hourly > 1 else 7,
        "entry": date(2024, 2, 29) if ok else date(1970, 1, 1) if positive else None,
        "two": status and status[:2] if status is not None else None,
        "name": fold(status),
        "small": low,
        "filled": 0.0 if number(wage) is None else number(wage),
        "named": "none" if status is None else status,
        "dated": born or date(2000, 1, 31),
        "said": ok is True,
        "region": region,
        "weight": weight,
        "since": since,
        "urban": urban,
        "level": {5: 1, -1: 2, 9007199254740991: 3}.get(hours),
    }
