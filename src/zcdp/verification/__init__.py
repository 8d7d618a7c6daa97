"""Checks that anyone can repeat: each theorem against a computation that does not use it, on this machine."""

from zcdp.verification.checks import Check, Result, checks, run

__all__ = ["Check", "Result", "checks", "run"]
