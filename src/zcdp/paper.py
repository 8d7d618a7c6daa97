"""Table 1 of the paper "Exact zCDP Characterizations for Fundamental Differentially Private Mechanisms", recomputed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from zcdp.errors import BadValue
from zcdp.mechanisms import RAPPOR, BoundedRange, DiscreteLaplace, Laplace, Mechanism, PureDP, RandomizedResponse
from zcdp.numeric.exact import Value
from zcdp.text.numbers import at_most

__all__ = ["EPSILONS", "ROWS", "Row", "table"]

EPSILONS = ("0.1", "1", "4")
"""The epsilons of the computed columns."""
DELTA, K = 5, 4
"""The sensitivity of discrete Laplace, and k of k-randomized response, in the computed columns."""

Format = Literal["text", "markdown", "latex", "csv"]


@dataclass(frozen=True)
class Row:
    """One row of the table: the paper's four columns, as plain text and in LaTeX, and `at`, which makes the mechanism.

    `example` states the parameters of `at` besides epsilon; `limit` is the leading term of `bound` for small epsilon.
    """

    name: str
    bound: str
    limit: str
    reference: str
    latex: tuple[str, str, str, str]
    example: str
    at: Callable[[Value], Mechanism]


ROWS = (
    Row(
        "epsilon-DP",
        "epsilon tanh(epsilon/2)",
        "epsilon^2/2",
        "Steinke 2022; Proposition 8",
        (r"$\eps$-DP", r"$\eps \tanh(\eps/2)$", r"$\eps^2 / 2$", r"\cite{DPorg-pdp-to-zcdp}"),
        "",
        lambda epsilon: PureDP(epsilon=epsilon),
    ),
    Row(
        "epsilon-DP Laplace",
        "epsilon + e^(-epsilon) - 1",
        "epsilon^2/2",
        "Theorem 13",
        (r"$\eps$-DP Laplace", r"$\eps + e^{-\eps} - 1$", r"$\eps^2 / 2$", r"\Cref{thm:zcdp-lap}"),
        "",
        lambda epsilon: Laplace(epsilon=epsilon),
    ),
    Row(
        "epsilon-DP discrete Laplace",
        "epsilon (1 - (1/Delta) (1 - e^(-epsilon)) csch(epsilon/Delta))",
        "epsilon^2/2",
        "Theorem 14",
        (
            r"$\eps$-DP discrete Laplace",
            r"$\eps\left(1 - \frac{1}{\Delta} (1 - e^{-\eps}) \csch(\eps / \Delta)\right)$",
            r"$\eps^2 / 2$",
            r"\Cref{thm:zcdp}",
        ),
        f"Delta = {DELTA}",
        lambda epsilon: DiscreteLaplace(epsilon=epsilon, sensitivity=DELTA),
    ),
    Row(
        "epsilon-DP k-RR",
        "epsilon (e^epsilon - 1)/(e^epsilon - 1 + k) for k <= 6",
        "epsilon^2/k for k <= 6",
        "Theorem 17",
        (
            r"$\eps$-DP $k$-RR",
            r"$ \frac{\eps(e^{\eps} - 1)}{e^{\eps} - 1 + k}$ for $k \le 6$",
            r"$\eps^2 / k$ for $k \le 6$",
            r"\Cref{thm:zcdp-rr-tight}",
        ),
        f"k = {K}",
        lambda epsilon: RandomizedResponse(epsilon=epsilon, k=K),
    ),
    Row(
        "epsilon-DP RAPPOR",
        "epsilon tanh(epsilon/4)",
        "epsilon^2/4",
        "Proposition 23",
        (r"$\eps$-DP RAPPOR", r"$\eps \tanh(\eps / 4)$", r"$\eps^2 / 4$", r"\Cref{prop:zcdp-rappor}"),
        "",
        lambda epsilon: RAPPOR(epsilon=epsilon),
    ),
    Row(
        "epsilon-Bounded Range",
        "epsilon/(e^epsilon - 1) + log((e^epsilon - 1)/epsilon) - 1",
        "epsilon^2/8",
        "Theorem 24",
        (
            r"$\eps$-Bounded Range",
            r"$\frac{\eps}{e^\eps - 1} + \log\left(\frac{e^{\eps }-1}{\eps }\right) - 1$",
            r"$\eps^2 / 8$",
            r"\Cref{thm:br-cdp}",
        ),
        "",
        lambda epsilon: BoundedRange(eta=epsilon),
    ),
)


def table(format: Format = "text") -> str:  # noqa: A002 - the word a user types after --format
    """The table as text: the paper's four columns, then the certified rho at each of `EPSILONS`, rounded up.

    CSV has all digits of rho, the other formats six.

    >>> table("csv").splitlines()[2]
    'epsilon-DP Laplace,epsilon + e^(-epsilon) - 1,epsilon^2/2,Theorem 13,,0.0048374...,0.36787944117144233,3.0183...'
    """
    if format == "text":
        return _text([_head(), *(_plain(row) for row in ROWS)])
    if format == "markdown":
        return _markdown([_head(), *(_plain(row) for row in ROWS)])
    if format == "csv":
        return _csv([_head(), *(_plain(row)[:5] + [repr(rho) for rho in _rhos(row)] for row in ROWS)])
    if format == "latex":
        return _latex()
    raise BadValue(f"format ({format}) must be text, markdown, latex or csv")


def _rhos(row: Row) -> list[float]:
    """The certified rho of the row at each of `EPSILONS`."""
    return [row.at(epsilon).rho for epsilon in EPSILONS]


def _head() -> list[str]:
    return [
        "Mechanism",
        "Tight zCDP bound",
        "epsilon -> 0",
        "Reference",
        "Computed at",
        *(f"rho({epsilon})" for epsilon in EPSILONS),
    ]


def _plain(row: Row) -> list[str]:
    return [row.name, row.bound, row.limit, row.reference, row.example, *(at_most(rho) for rho in _rhos(row))]


def _text(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[n]) for line in lines) for n in range(len(lines[0]))]
    first = len(widths) - len(EPSILONS)  # numbers are aligned to the right

    def padded(line: Sequence[str]) -> str:
        cells = [
            cell.rjust(w) if n >= first else cell.ljust(w) for n, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([padded(lines[0]), "  ".join("-" * width for width in widths), *map(padded, lines[1:])]) + "\n"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * (len(lines[0]) - len(EPSILONS)) + ["---:"] * len(EPSILONS)
    return "".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:]))


def _csv(lines: Sequence[Sequence[str]]) -> str:
    return "".join(",".join(f'"{cell}"' if "," in cell else cell for cell in line) + "\n" for line in lines)


def _latex() -> str:
    heads = [f"$\\rho({epsilon})$" for epsilon in EPSILONS]
    head = ["Mechanism", "Tight zCDP bound", r"$\eps \to 0$", "Reference", *heads]
    lines = [head]
    for row in ROWS:
        example = f" (${row.example.replace('Delta', chr(92) + 'Delta')}$)" if row.example else ""
        lines.append([*row.latex, f"{at_most(_rhos(row)[0])}{example}", *(at_most(rho) for rho in _rhos(row)[1:])])
    body = " \\hline\n".join(f" {' & '.join(line)} \\\\\n" for line in lines)
    note = f"% $\\rho$ certified and rounded up, for $\\Delta = {DELTA}$, $k = {K}$; \\eps and \\csch are the paper's\n"
    return f"{note}\\begin{{tabular}}{{|c|c|c|c|{'r|' * len(EPSILONS)}}}\n \\hline\n{body} \\hline\n\\end{{tabular}}\n"
