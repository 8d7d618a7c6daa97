"""Rows of `MemoizedRAPPOR`."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from neighbours import reports
from neighbours.case import Case, Row

from rows import made

EXAMPLES = (
    made("MemoizedRAPPOR", f="1/2", p="1/2", q="3/4", collections=4),
    made("MemoizedRAPPOR", f="0.01", p="0.001", q="0.9", collections=2),
)


def _case(rng: Random, effort: int) -> Case:
    low, high = sorted(rng.sample(range(5, 96), 2))
    f, p, q = Fraction(rng.randint(10, 90), 100), Fraction(low, 100), Fraction(high, 100)
    collections = rng.randint(1, 3)
    call = made("MemoizedRAPPOR", f=f, p=p, q=q, collections=collections)
    return Case(call, reports.every_two(reports.remembered(f, p, q, collections)))


NEIGHBOURS = (Row("MemoizedRAPPOR", _case),)
