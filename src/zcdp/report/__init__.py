"""HTML reports on accounts, releases, collections and ledgers: single files without scripts or network access."""

from zcdp.report.account_report import render

__all__ = ["render"]
