"""Hypothesis without deadlines, as a busy machine is no reason to fail; and what laws counted, at the end of a run.

Its examples are the same in each run of `make test`, and drawn anew by `make deep`: see conftest.py of the whole tree.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None, derandomize=os.environ.get("ZCDP_TESTS_DRAW") != "fresh")
settings.load_profile("patient")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Numbers that tests recorded as properties, added up by their names."""
    counts: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                counts.update({name: count for name, count in report.user_properties if isinstance(count, int)})
    if counts:
        terminalreporter.write_line(", ".join(f"{count} {name}" for name, count in counts.items()))
