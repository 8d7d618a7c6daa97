"""The account of a plan as one HTML page that needs nothing else: no network, no scripts."""

from zcdp.report.page import render

__all__ = ["render"]
