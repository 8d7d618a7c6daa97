"""The whole page: its head, its sections in the order a privacy officer asks, and nothing from outside."""

from __future__ import annotations

from importlib.resources import files

from zcdp.accounting.accounts import Account
from zcdp.report.escaping import escape
from zcdp.report.figures import curve_section, routes_section
from zcdp.report.sections import certainty, queries, recompute, savings, theorems
from zcdp.report.summary import heading, summary

__all__ = ["render"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(account: Account, *, sections: str = "") -> str:
    """The account as one HTML file; `sections` goes after the summary.

    >>> from zcdp import account
    >>> render(account("Laplace(epsilon=1)", curve=False)).count("<section")
    6
    """
    style = files("zcdp.report").joinpath("style.css").read_text(encoding="utf-8")
    body = "".join(
        (
            heading(account),
            summary(account),
            queries(account),
            sections,
            certainty(account),
            curve_section(account),
            routes_section(account),
            savings(account),
            theorems(account),
            recompute(account),
        )
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(account.title or 'Privacy account')}</title>\n<style>\n{style}</style></head>\n"
        f"<body>\n{body}</body></html>\n"
    )
