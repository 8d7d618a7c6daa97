"""`zcdp heavy`: frequent strings that nobody listed, from a design through reports to what was found."""

from __future__ import annotations

import csv
import json
from argparse import Namespace
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import Progress, bold, check_writable, line, print_json, table_lines, write_whole
from zcdp.collection.heavy_hitters import HeavyHitters
from zcdp.collection.parquet import each_once, read_reports
from zcdp.collection.randomize import randomize_strings, receipt_of
from zcdp.errors import BadValue
from zcdp.text.numbers import cost

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Make a design, draw reports once, or find the frequent strings."""
    actions = {"design": _design, "randomize": _randomize, "find": _find}
    return actions[options.action](options)


def _characters(text: str) -> str:
    """An alphabet as it is written on the command line: a-z0-9 has ranges, and a - at an end is itself."""
    found: list[str] = []
    n = 0
    while n < len(text):
        if text[n + 1 : n + 2] == "-" and n + 2 < len(text):
            first, last = ord(text[n]), ord(text[n + 2])
            if first > last:
                raise BadUsage(f"--alphabet: {text[n : n + 3]} goes backwards")
            found += map(chr, range(first, last + 1))
            n += 3
        else:
            found.append(text[n])
            n += 1
    return "".join(dict.fromkeys(found))


def _design(options: Namespace) -> int:
    if options.out:
        check_writable(options.out)
    made = HeavyHitters(epsilon=options.epsilon, alphabet=_characters(options.alphabet), length=options.length)
    spent = {"rho": made.plan.rho, "epsilon": made.plan.epsilon_at(delta=options.delta)}
    if options.out:
        write_whole(options.out, json.dumps(made.design(), indent=2, ensure_ascii=False) + "\n")
    if options.json:
        print_json({"design": made.design(), **spent, "delta": options.delta})
        return 0
    line(f"{bold(repr(made.mechanism))}, once for each client")
    line(
        f"  costs rho = {cost(spent['rho'])}, epsilon = {cost(spent['epsilon'])} at delta = {options.delta}, certified"
    )
    line(f"  strings of up to {made.length} of {len(made.alphabet)} characters in {made.levels[-1]} digits of {made.g}")
    total = sum(made.weights)
    groups = ", ".join(f"{100 * w / total:.3g}% of {n}" for n, w in zip(made.levels[:-1], made.weights, strict=False))
    line(f"  clients report the first digits: {groups}; {100 * made.weights[-1] / total:.3g}% judge what is found")
    line(f"  a report has {made.report_bytes} bytes")
    if options.out:
        line(f"Design written to {options.out}")
    return 0


def _read(path: str) -> HeavyHitters:
    return HeavyHitters.read(Path(path).read_text(encoding="utf-8"), path)


def _randomize(options: Namespace) -> int:
    check_writable(options.out)
    design, values = _read(options.design), Path(options.values)
    written = randomize_strings(design, values, Path(options.out), column=options.column)
    if options.json:
        print_json({"reports": written, "design": repr(design), "out": options.out})
        return 0
    line(f"{written} reports written to {options.out}")
    line(f"{receipt_of(values)} says so: these values are not randomized again")
    return 0


def _reports(paths: list[str], design: HeavyHitters) -> Iterator[Any]:
    for path in each_once(map(Path, paths)):
        yield from read_reports(path, design, design.length)


def _find(options: Namespace) -> int:
    if options.csv:
        check_writable(options.csv)
    design = _read(options.design)
    with Progress() as progress:
        progress(0.1, "reading")
        rows = [*_reports(options.reports, design)]
        if not rows:
            raise BadValue("there are no reports: nothing can be found")
        progress(0.3, "searching")
        found = design.find(np.concatenate(rows), top=options.top, level=options.level)
    sure, shown = found.heavy(), found.top(int(options.top))
    table = [{**row, "surely_held": row["lower"] > 0} for row in shown.rows()]
    if options.csv:
        write_whole(options.csv, _table(table))
    if options.json:
        facts = {"design": repr(design), "reports": found.reports, "judges": found.judges, "level": found.level}
        print_json(facts | {"rho": design.plan.rho, "candidates": len(found), "strings": table})
        return 0
    line(bold(f"The {len(shown)} most frequent strings"))
    line(
        f"  {found.reports} reports at rho = {cost(design.plan.rho)}; {found.judges} of them judge, and did not search"
    )
    line()
    cells = [["string", "frequency", "std error", "lower", "upper", ""]]
    for row in table:
        numbers = (row[name] for name in ("frequency", "standard_error", "lower", "upper"))
        cells.append([row["string"], *(f"{one:.6f}" for one in numbers), "*" if row["surely_held"] else ""])
    for text in table_lines(cells, "<>>>><"):
        line(text)
    line()
    line(f"* held by someone: of all {len(sure)} such strings none is false, at level {options.level}.")
    line(f"The intervals of all {len(found)} candidates hold together at that level, for the population.")
    if options.csv:
        line(f"Written to {options.csv}")
    return 0


def _table(rows: list[dict[str, Any]]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["string"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
