"""The table is the paper's, column by column, and its formulas are what the library computes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import sympy
from sympy.parsing.sympy_parser import (
    convert_xor,
    implicit_multiplication,
    parse_expr,
    standard_transformations,
)

from zcdp.paper import EPSILONS, ROWS, Row, table

ROOT = Path(__file__).parent.parent
# transcribed from the paper's source, spaces at line ends aside
PAPER = [
    (r"$\eps$-DP", r"$\eps \tanh(\eps/2)$", r"$\eps^2 / 2$", r"\cite{DPorg-pdp-to-zcdp}"),
    (r"$\eps$-DP Laplace", r"$\eps + e^{-\eps} - 1$", r"$\eps^2 / 2$", r"\Cref{thm:zcdp-lap}"),
    (
        r"$\eps$-DP discrete Laplace",
        r"$\eps\left(1 - \frac{1}{\Delta} (1 - e^{-\eps}) \csch(\eps / \Delta)\right)$",
        r"$\eps^2 / 2$",
        r"\Cref{thm:zcdp}",
    ),
    (
        r"$\eps$-DP $k$-RR",
        r"$ \frac{\eps(e^{\eps} - 1)}{e^{\eps} - 1 + k}$ for $k \le 6$",
        r"$\eps^2 / k$ for $k \le 6$",
        r"\Cref{thm:zcdp-rr-tight}",
    ),
    (r"$\eps$-DP RAPPOR", r"$\eps \tanh(\eps / 4)$", r"$\eps^2 / 4$", r"\Cref{prop:zcdp-rappor}"),
    (
        r"$\eps$-Bounded Range",
        r"$\frac{\eps}{e^\eps - 1} + \log\left(\frac{e^{\eps }-1}{\eps }\right) - 1$",
        r"$\eps^2 / 8$",
        r"\Cref{thm:br-cdp}",
    ),
]
PLAIN = [
    ("epsilon-DP", "epsilon^2/2"),
    ("epsilon-DP Laplace", "epsilon^2/2"),
    ("epsilon-DP discrete Laplace", "epsilon^2/2"),
    ("epsilon-DP k-RR", "epsilon^2/k for k <= 6"),
    ("epsilon-DP RAPPOR", "epsilon^2/4"),
    ("epsilon-Bounded Range", "epsilon^2/8"),
]
EPSILON, DELTA, K = sympy.symbols("epsilon Delta k", positive=True)
NAMES = {"epsilon": EPSILON, "Delta": DELTA, "k": K, "e": sympy.E}


def formula(text: str) -> sympy.Expr:
    steps = (*standard_transformations, convert_xor, implicit_multiplication)
    parsed = parse_expr(text.removesuffix(" for k <= 6"), local_dict=NAMES, transformations=steps)
    assert isinstance(parsed, sympy.Expr)
    return parsed


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removesuffix(r"\\").split("&")]


def test_latex_has_the_papers_columns() -> None:
    lines = [cells(line) for line in table("latex").splitlines() if "&" in line]
    assert lines[0][:4] == ["Mechanism", "Tight zCDP bound", r"$\eps \to 0$", "Reference"]
    assert [tuple(line[:4]) for line in lines[1:]] == [tuple(cell.strip() for cell in row) for row in PAPER]


def test_the_other_forms_have_the_same_rows() -> None:
    rows = list(csv.reader(io.StringIO(table("csv"))))
    assert rows[0][:4] == ["Mechanism", "Tight zCDP bound", "epsilon -> 0", "Reference"]
    assert [(row[0], row[2]) for row in rows[1:]] == PLAIN
    marked = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table("markdown").splitlines()]
    assert [row[:5] for row in marked[:1] + marked[2:]] == [row[:5] for row in rows]
    text = [re.split(r" {2,}", line) for line in table("text").splitlines()]
    assert [[cell for cell in row if cell][:4] for row in text[:1] + text[2:]] == [row[:4] for row in rows]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_symbols_are_what_is_computed(row: Row) -> None:
    bound = formula(row.bound).subs({DELTA: 5, K: 4})
    for epsilon in (*EPSILONS, "0.003", "9"):
        truth = bound.subs(EPSILON, sympy.Rational(epsilon)).evalf(40)
        assert abs(row.at(epsilon).rho / truth - 1) < 1e-14


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_limit_is_the_limit(row: Row) -> None:
    ratio = (formula(row.bound) / formula(row.limit)).subs({DELTA: 5, K: 4})
    assert abs(ratio.subs(EPSILON, sympy.Rational(1, 10**9)).evalf(60) - 1) < 1e-8


def test_the_numbers_are_certified_and_rounded_up() -> None:
    full = list(csv.reader(io.StringIO(table("csv"))))[1:]
    shown = [line.strip("|\n").split("|") for line in table("markdown").splitlines()[2:]]
    for row, exact, rounded in zip(ROWS, full, shown, strict=True):
        for epsilon, digits, short in zip(EPSILONS, exact[5:], rounded[5:], strict=True):
            assert float(digits) == row.at(epsilon).rho
            assert Decimal(digits) <= Decimal(short.strip()) <= Decimal(digits) * Decimal("1.00001")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"format \(html\) must be text, markdown, latex or csv"):
        table("html")  # type: ignore[arg-type]


def test_every_numbered_statement_has_a_page_code_and_a_test() -> None:
    """The paper numbers definitions, propositions, lemmas, theorems and its corollary in one sequence, 1 to 26."""
    text = (ROOT / "docs" / "paper.md").read_text()
    rows = re.findall(
        r"^\| (\w+) (\d+) \| (.*?) \| .*? \| \[([\w-]+)\].*? \| `(.*?)` \| `(.*?)` \|$", text, re.MULTILINE
    )
    assert [int(number) for _, number, *_ in rows] == list(range(1, 27))
    kinds = Counter(kind for kind, *_ in rows)
    assert kinds == {"Definition": 6, "Proposition": 7, "Lemma": 6, "Theorem": 6, "Corollary": 1}
    labels = [label for _, _, label, *_ in rows if label]
    assert len(labels) == len(set(labels)) == 22
    for _, _, label, page, code, test in rows:
        proof = (ROOT / "docs" / "theorems" / f"{page}.md").read_text()
        assert (ROOT / code).is_file(), code
        assert (ROOT / test).is_file(), test
        source = (ROOT / code).read_text()
        named = code in proof or f"{page}.md" in source or f'"{page}"' in source or "docs/theorems/" in proof
        assert named, f"{page} and {code} do not know each other ({label})"


def test_latex_has_the_numbers_of_the_other_forms() -> None:
    exact = [row[4:] for row in list(csv.reader(io.StringIO(table("csv"))))[1:]]
    shown = [cells(line)[4:] for line in table("latex").splitlines() if "&" in line]
    assert shown[0] == [rf"$\rho({epsilon})$" for epsilon in EPSILONS]
    for (example, *digits), short in zip(exact, shown[1:], strict=True):
        assert example.replace("Delta", r"\Delta") in short[0]
        assert ("(" in short[0]) == bool(example)
        for full, rounded in zip(digits, (cell.split(" (")[0] for cell in short), strict=True):
            assert Decimal(full) <= Decimal(rounded) <= Decimal(full) * Decimal("1.00001")
    assert {row[0] for row in exact} == {"", "Delta = 5", "k = 4"}
