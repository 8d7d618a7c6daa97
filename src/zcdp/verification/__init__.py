"""Checks of each theorem against a computation that does not use it, to repeat on any machine by `zcdp verify`."""

from zcdp.verification.checks import Check, Result, checks, run

__all__ = ["Check", "Result", "checks", "run"]
