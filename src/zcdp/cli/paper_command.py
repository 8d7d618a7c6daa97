"""`zcdp table` and `zcdp figure`: the paper's Table 1 and its figure, computed, and further figures of this library."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from zcdp.cli.arguments import BadUsage, extra
from zcdp.cli.output import Progress, check_writable, line, print_json, write_all, write_whole

__all__ = ["run_figure", "run_table"]


def run_table(options: Namespace) -> int:
    """Print the table, or write it to a file."""
    if options.out:
        check_writable(options.out)
    text: str = extra("zcdp.paper", "table")(format=options.format)
    if options.out:
        write_whole(options.out, text.rstrip("\n") + "\n")
    if options.json:
        print_json({"format": options.format, "out": options.out, "table": text})
    elif not options.out:
        line(text.rstrip("\n"))
    return 0


# Figures are written as PDF, SVG or PNG, by the ending of the file name.

ENDINGS = (".pdf", ".svg", ".png")


def run_figure(options: Namespace) -> int:
    """Draw one figure to a file, or all of them, each to a file of its own."""
    if Path(options.out).suffix.lower() not in ENDINGS:
        raise BadUsage(f"{options.out}: the name must end in {', '.join(ENDINGS)}")
    check_writable(options.out)
    figure = extra("zcdp.plots", "figure")
    with Progress() as progress:
        progress(0, "drawing")
        written = write_all(options.out, lambda temporary: figure(options.name, str(temporary)))
    if options.json:
        print_json({"figure": options.name, "out": written})
    else:
        about = extra("zcdp.plots", "ABOUT")
        names = list(about) if options.name == "all" else [options.name]
        for name, file in zip(names, _by_figure(written, names), strict=True):
            line(f"{file}: {about.get(name, name)}")
    return 0


def _by_figure(written: list[str], names: list[str]) -> list[str]:
    """The written files, sorted like `names`: the stem of each file ends in the name of its figure."""
    if len(names) == 1:
        return written
    return [next(file for file in written if Path(file).stem.endswith(f"-{name}")) for name in names]
