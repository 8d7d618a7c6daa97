"""`zcdp gather` writes the reports of a day, and says what it left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from collection.test_messages import MECHANISM, client_design, message, written

from zcdp.cli import main

pytest.importorskip("pyarrow")


def test_gather_says_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design = tmp_path / "design.json"
    design.write_text(json.dumps(client_design(MECHANISM, 300, rounds=3, answered=1)))
    sent = [message(design, 1, name=1), message(design, 1, name=1, day=1), message(design, 3, name=3, day=3)]
    sent[1]["report"] = sent[0]["report"]
    messages = written(tmp_path / "m.jsonl", [*sent, sent[0] | {"report": "\x1b[31mAA"}])
    assert main(["gather", str(design), str(messages), "--out", str(tmp_path / "r.parquet")]) == 0
    said = capsys.readouterr().out
    assert "1 reports of day 1 written" in said
    assert "1 messages had come before, and count once" in said
    assert "1 messages of other days were left out" in said
    assert "1 messages that no client of this design sends were left out, the first of them:" in said
    assert f"{messages}:4: is no message of a client" in said
