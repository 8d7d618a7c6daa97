"""`zcdp verify`: spot checks of every theorem on this machine; with --prove, computer proofs on boxes of parameters."""

from __future__ import annotations

from argparse import Namespace
from textwrap import wrap
from time import perf_counter
from typing import TYPE_CHECKING

from zcdp.cli.output import Progress, bold, dim, green, line, print_json, red, table_lines, width
from zcdp.verification import Result, checks
from zcdp.verification import run as run_checks

if TYPE_CHECKING:
    from zcdp.verification.proofs import Proof, ProofOf

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Run the checks, or with --prove the proofs; exit code 1 if any fails."""
    if options.prove:
        return _prove(json=options.json)
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
        "kind": "spot checks",
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
    rows = [["theorem", "spot checks", "seconds", ""]]
    for theorem, own in sorted(by_theorem.items()):
        verdict = "holds" if all(result.passed for result in own) else "FAILED"
        rows.append([theorem, str(len(own)), f"{sum(result.seconds for result in own):.2f}", verdict])
    for text in table_lines(rows, "<>><"):
        line(text)
    line()
    for result in failed:
        line(red(f"FAILED  {result.check.theorem}: {result.check.statement} {result.error or ''}".rstrip()))
    if failed:
        line(red(f"{len(failed)} of {len(results)} checks failed."))
    else:
        line(green(bold(f"All {len(results)} spot checks of {len(by_theorem)} theorems hold.")))
        line(
            dim("Each is a computation at chosen points that does not use the theorem. zcdp verify --prove proves the")
        )
        line(dim("paper's theorems on whole ranges of parameters; the pages under docs/theorems prove all of them."))


def _prove(*, json: bool) -> int:
    from zcdp.verification.proofs import PROOFS

    found: list[tuple[ProofOf, Proof, float]] = []
    with Progress() as progress:
        for n, one in enumerate(PROOFS):
            progress(n / len(PROOFS), one.theorem)
            start = perf_counter()
            found.append((one, one.run(), perf_counter() - start))
    proved = all(proof.proved for _, proof, _ in found)
    if json:
        print_json(
            {
                "passed": proved,
                "kind": "proofs by subdivision",
                "proofs": [
                    {
                        "theorem": one.theorem,
                        "statement": one.statement,
                        "proved": proof.proved,
                        "boxes": proof.boxes,
                        "where": proof.where and [list(side) for side in proof.where],
                        "seconds": round(seconds, 4),
                    }
                    for one, proof, seconds in found
                ],
            }
        )
        return 0 if proved else 1
    rows = [["theorem", "boxes", "seconds", ""]]
    for one, proof, seconds in found:
        rows.append([one.theorem, f"{proof.boxes:,}", f"{seconds:.1f}", "proved" if proof.proved else "NOT PROVED"])
    head, *body = table_lines(rows, "<>><")
    line(head)
    for text, (one, _, _) in zip(body, found, strict=True):
        line(text)
        for part in wrap(one.statement, width() - 2):
            line(dim(f"  {part}"))
    line()
    boxes = sum(proof.boxes for _, proof, _ in found)
    if proved:
        line(green(bold(f"All {len(found)} claims are proved, on {boxes:,} boxes, in ball arithmetic.")))
    else:
        line(red(f"{sum(not proof.proved for _, proof, _ in found)} of {len(found)} claims could not be proved."))
    return 0 if proved else 1
