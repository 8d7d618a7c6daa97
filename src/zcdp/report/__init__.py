"""HTML reports on accounts, releases, collections and ledgers: single files without scripts or network access."""

from zcdp.report.page import render

__all__ = ["render"]
