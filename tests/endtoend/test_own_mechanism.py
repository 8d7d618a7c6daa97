"""The notebook of the page on own mechanisms runs, cell after cell, and holds nothing that was printed earlier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent.parent.parent / "examples" / "own_mechanism.ipynb"


def test_the_notebook_runs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert not any(cell.get("outputs") for cell in cells)
    names: dict[str, Any] = {}
    for source in code:
        exec(compile(source, str(NOTEBOOK), "exec"), names)
    assert names["released"] * 1024 == int(names["released"] * 1024)
