"""`zcdp verify`: every theorem is checked again, on this machine."""

from __future__ import annotations

from argparse import Namespace

from zcdp.cli.columns import columns
from zcdp.cli.output import print_json
from zcdp.cli.terminal import Progress, bold, dim, green, line, red, width
from zcdp.verification import Result, checks
from zcdp.verification import run as run_checks

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Run the checks; 1 if any fails."""
    which = checks(deep=options.deep)
    results: list[Result] = []
    with Progress() as progress:
        progress(0.0, which[0].theorem)
        for done, result in enumerate(run_checks(which), 1):
            results.append(result)
            progress(done / len(which), which[min(done, len(which) - 1)].theorem)
    failed = [result for result in results if not result.passed]
    if options.json:
        print_json(_data(results))
    else:
        _print(results, failed)
    return 1 if failed else 0


def _data(results: list[Result]) -> dict[str, object]:
    return {
        "passed": all(result.passed for result in results),
        "checks": [
            {
                "theorem": result.check.theorem,
                "statement": result.check.statement,
                "passed": result.passed,
                "seconds": round(result.seconds, 4),
                "error": result.error,
            }
            for result in results
        ],
    }


def _print(results: list[Result], failed: list[Result]) -> None:
    by_theorem: dict[str, list[Result]] = {}
    for result in results:
        by_theorem.setdefault(result.check.theorem, []).append(result)
    rows = [["theorem", "checks", "seconds", ""]]
    for theorem, own in sorted(by_theorem.items()):
        verdict = "holds" if all(result.passed for result in own) else "FAILED"
        rows.append([theorem, str(len(own)), f"{sum(result.seconds for result in own):.2f}", verdict])
    head, *body = columns(rows, "<>><", width=width())
    line(dim(head))
    for text in body:
        line(text)
    line()
    for result in failed:
        line(red(f"FAILED  {result.check.theorem}: {result.check.statement} {result.error or ''}".rstrip()))
    if failed:
        line(red(f"{len(failed)} of {len(results)} checks failed."))
    else:
        line(green(bold(f"All {len(results)} checks of {len(by_theorem)} theorems hold.")))
