"""`zcdp completion`: the scripts know every command and option."""

from __future__ import annotations

import pytest
from cli.program import zcdp


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell: str) -> None:
    script = zcdp("completion", shell).stdout
    for word in ("account", "calibrate", "verify", "deep", "json", "latex"):
        assert word in script
