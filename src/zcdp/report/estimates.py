"""The page of a collection: what was asked, what it cost, and a chart of the estimates with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from zcdp.report.escaping import escape

__all__ = ["render_estimates"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SHOWN, WIDTH, ROW = 40, 360, 18


def render_estimates(facts: Mapping[str, Any]) -> str:
    """What `zcdp estimate --json` prints, as one HTML file that needs nothing from outside.

    >>> row = {"value": 0, "frequency": 0.5, "standard_error": 0.1, "lower": 0.2, "upper": 0.8}
    >>> page = render_estimates({"title": "<b>", "mechanism": "m", "k": 1, "rounds": 1, "answered": 1, "reports": 9,
    ...     "level": "0.95", "of": "clients", "rho": 0.1, "delta": "1e-6", "epsilon": 1.0, "estimates": [row]})
    >>> "&lt;b&gt;" in page, "<b>" in page
    (True, False)
    """
    style = files("zcdp.report").joinpath("style.css").read_text(encoding="utf-8")
    title = escape(str(facts.get("title") or "Collection"))
    rows = sorted(facts["estimates"], key=lambda row: -row["frequency"])[:SHOWN]
    whose = "these clients" if facts["of"] == "clients" else "the population that the clients are drawn from"
    said = [
        ("reports", str(facts["reports"])),
        ("mechanism", str(facts["mechanism"])),
        ("rounds", f"each client answers {facts['answered']} of {facts['rounds']}"),
        ("cost to a client", f"rho = {facts['rho']:.6g}, epsilon = {facts['epsilon']:.6g} at delta = {facts['delta']}"),
    ]
    table = "".join(f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in said)
    listed = "".join(
        f"<tr><td>{row['value']}</td><td>{row['frequency']:.6f}</td><td>{row['lower']:.6f}</td>"
        f"<td>{row['upper']:.6f}</td></tr>"
        for row in rows
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title>\n<style>\n{style}</style></head>\n<body>\n<header><h1>{title}</h1></header>\n<main>\n"
        f"<section><h2>What was asked</h2><table>{table}</table></section>\n"
        f"<section><h2>Estimates</h2><p>The {len(rows)} most frequent of {facts['k']} values. All intervals hold "
        f"together at level {escape(str(facts['level']))}, for {whose}.</p>{_chart(rows)}"
        "<table><thead><tr><th>value</th><th>frequency</th><th>lower</th><th>upper</th></tr></thead>"
        f"<tbody>{listed}</tbody></table></section>\n</main></body></html>\n"
    )


def _chart(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line from end to end of each interval, with a dot at the estimate."""
    left, right, top = 44, 10, 8
    most = max((max(row["upper"], row["frequency"]) for row in rows), default=1.0) or 1.0
    least = min(0.0, *(row["frequency"] for row in rows)) if rows else 0.0

    def across(x: float) -> float:
        return left + (WIDTH - left - right) * (x - least) / (most - least)

    shown = []
    for n, row in enumerate(rows):
        y = top + n * ROW + 6
        shown.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{row["value"]}</text>')
        ends = f'x1="{across(row["lower"]):.1f}" x2="{across(row["upper"]):.1f}"'
        shown.append(f'<line class="guide" {ends} y1="{y}" y2="{y}"/>')
        shown.append(f'<circle class="mark" cx="{across(row["frequency"]):.1f}" cy="{y}" r="3"/>')
    height = top + ROW * len(rows) + 20
    for share in (0.0, most):
        anchor = "start" if share == 0 else "end"
        shown.append(f'<text x="{across(share):.1f}" y="{height - 4}" text-anchor="{anchor}">{share:.3g}</text>')
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH} {height}" aria-labelledby="estimates-title">'
        f'<title id="estimates-title">Estimated frequencies with intervals</title>{"".join(shown)}</svg>'
    )
