"""From the phone to the figure: messages of clients become files of reports, each report once."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zcdp
from zcdp.cli import main
from zcdp.collection.client_reports import ClientRandomizer
from zcdp.collection.design_file import client_design
from zcdp.collection.messages import design_id, gather
from zcdp.collection.parquet import count_files, read_reports
from zcdp.errors import BadValue

pytest.importorskip("pyarrow")

MECHANISM = zcdp.RandomizedResponse(epsilon=1000, k=300)  # says the truth: what arrives is what was sent
NODE = shutil.which("node")
CLIENT = Path(__file__).parent.parent.parent / "clients" / "js" / "src" / "index.js"


@pytest.fixture
def design(tmp_path: Path) -> Path:
    path = tmp_path / "design.json"
    path.write_text(json.dumps(client_design(MECHANISM, 300, rounds=3, answered=1)))
    return path


def message(design: Path, value: int, *, day: int = 1, name: int = 0, **more: Any) -> dict[str, Any]:
    report = base64.b64encode(ClientRandomizer(MECHANISM, 300).report(value)).decode()
    return {
        "zcdp": 1,
        "design": design_id(design.read_bytes()),
        "day": day,
        "id": f"{name:032x}",
        "report": report,
    } | more


def written(path: Path, messages: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in messages))
    return path


def test_reports_of_a_day_are_written_once(design: Path, tmp_path: Path) -> None:
    first = message(design, 299, name=1)
    one = written(tmp_path / "one.jsonl", [first, message(design, 7, name=2), message(design, 8, day=2, name=3)])
    other = written(tmp_path / "other.jsonl", [first, message(design, 0, name=4), first])
    found = gather(design, [one, other], tmp_path / "reports.parquet")
    assert (found.reports, found.copies, found.other_days) == (3, 2, 1)
    assert np.concatenate([*read_reports(tmp_path / "reports.parquet", MECHANISM, 300)]).tolist() == [299, 7, 0]
    with pytest.raises(BadValue, match=r"exists already"):
        gather(design, [one], tmp_path / "reports.parquet")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"design": "0" * 40}, "is of the design 0000000000000000, not of"),
        ({"report": "AAAA"}, "the report has 3 bytes, not 2"),
        ({"report": "//8="}, "the report is none that a client of this design sends"),
        ({"report": "not base64"}, "is no message of a client"),
        ({"day": 4}, "its day must be from 1 to 3"),
        ({"day": "1"}, "is no message that this version reads"),
        ({"id": "00"}, "is no message that this version reads"),
        ({"id": f"{1:032x}"}, "has the id of another report"),
        ({"zcdp": 2}, "is no message that this version reads"),
    ],
)
def test_messages_that_are_not_of_the_design_are_left_out_with_their_line(
    design: Path, tmp_path: Path, change: dict[str, Any], error: str
) -> None:
    lines = [message(design, 1, name=1), message(design, 2, name=2) | change, message(design, 3, name=3)]
    found = gather(design, [written(tmp_path / "m.jsonl", [*lines, lines[1]])], tmp_path / "reports.parquet")
    assert (found.reports, found.copies, found.other_days, found.refused) == (2, 0, 0, 2)
    assert f"m.jsonl:2: {error}" in found.why
    assert np.concatenate([*read_reports(tmp_path / "reports.parquet", MECHANISM, 300)]).tolist() == [1, 3]


@pytest.mark.parametrize(
    "line",
    [b"", b"\xff\xfe", b"null", b"[" * 100_000, b'{"a":' * 100_000, b'{"day":' + b"1" * 5000],
    ids=["empty", "no text", "null", "lists in lists", "objects in objects", "a long number"],
)
def test_lines_that_are_no_messages_are_left_out(design: Path, tmp_path: Path, line: bytes) -> None:
    sent = tmp_path / "m.jsonl"
    sent.write_bytes(line + b"\n" + json.dumps(message(design, 5)).encode())
    found = gather(design, [sent], tmp_path / "reports.parquet")
    assert (found.reports, found.refused, found.why) == (1, 1, f"{sent}:1: is no message of a client")


STRANGERS: list[tuple[Any, int, list[list[int]]]] = [
    (zcdp.RandomizedResponse(epsilon=1, k=3), 3, [[3], [255]]),
    (zcdp.RandomizedResponse(epsilon=1, k=300), 300, [[44, 1], [255, 255]]),
    (zcdp.SubsetSelection(epsilon=1, k=10, size=3), 10, [[3, 3, 3], [5, 4, 6], [5, 6, 10]]),
    (zcdp.RAPPOR(epsilon=1), 9, [[255, 255], [0, 1]]),
    (zcdp.LinearHashing(epsilon=1, g=5, k=20), 20, [[125]]),
    (zcdp.HadamardResponse(epsilon=1, blocks=3), 10, [[24]]),
    (zcdp.SquareWave(epsilon=1, steps=8, width=3), 9, [[11]]),
    (zcdp.HybridResponse(epsilon=1, steps=8, width=3, share="1/2"), 9, [[13]]),
    (zcdp.BinaryRandomizedResponse(p="2/3", q="1/3"), 2, [[2]]),
    (zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=2), 3, [[16]]),
]


@pytest.mark.parametrize(("mechanism", "k", "wrong"), STRANGERS, ids=repr)
def test_no_report_that_a_stranger_sends_keeps_others_from_being_counted(
    tmp_path: Path, mechanism: Any, k: int, wrong: list[list[int]]
) -> None:
    design, client = tmp_path / "design.json", ClientRandomizer(mechanism, k)
    number = {"low": "0", "high": "1", "steps": k - 1} if hasattr(mechanism, "steps") else None
    design.write_text(json.dumps(client_design(mechanism, k, number=number)))
    remembers = isinstance(mechanism, zcdp.MemoizedRAPPOR)
    sent = [client.repeat(client.remember(1)) if remembers else client.report(1) for _ in range(20)]
    lines = [
        message(design, 0, name=n, report=base64.b64encode(bytes(one)).decode()) for n, one in enumerate(sent + wrong)
    ]
    found = gather(design, [written(tmp_path / "m.jsonl", lines)], tmp_path / "r.parquet")
    assert (found.reports, found.refused) == (20, len(wrong))
    assert count_files([tmp_path / "r.parquet"], mechanism, k).reports == 20


def test_strings_that_no_client_sends_are_left_out(tmp_path: Path) -> None:
    words = zcdp.HeavyHitters(epsilon=4, alphabet="abc", length=9)
    design = tmp_path / "words.json"
    design.write_text(json.dumps(words.design()))
    first, whole = words.levels[0], words.levels[-1]
    wrong = [
        [len(words.levels), 0, *[0] * whole],
        [0, words.g, *[0] * whole],
        [0, 0, *[words.g] * first, *[0] * (whole - first)],
        [0, 0, *[0] * first, *[1] * (whole - first)],
        [0, 0],
    ]
    sent = [words.report("abc") for _ in range(50)] + [bytes(one) for one in wrong]
    lines = [message(design, 0, name=n, report=base64.b64encode(one).decode()) for n, one in enumerate(sent)]
    found = gather(design, [written(tmp_path / "m.jsonl", lines)], tmp_path / "r.parquet")
    assert (found.reports, found.refused) == (50, len(wrong))


def test_a_day_without_reports_and_files_that_are_no_design_are_refused(design: Path, tmp_path: Path) -> None:
    empty = written(tmp_path / "m.jsonl", [message(design, 1, day=2)])
    with pytest.raises(BadValue, match=r"there is no report of day 1"):
        gather(design, [empty], tmp_path / "reports.parquet")
    other = written(tmp_path / "other.jsonl", [message(design, 1) | {"design": "0" * 16}])
    with pytest.raises(BadValue, match=r"there is no report of day 1: .*other.jsonl:1: is of the design 0"):
        gather(design, [other], tmp_path / "reports.parquet")
    assert not (tmp_path / "reports.parquet").exists()
    with pytest.raises(BadValue, match=r"day .4. must be from 1 to 3"):
        gather(design, [empty], tmp_path / "reports.parquet", day=4)
    with pytest.raises(BadValue, match=r"is no design file of a client"):
        gather(empty, [empty], tmp_path / "reports.parquet")


PHONES = """
import { readFileSync } from "node:fs";
const { Client, MemoryStorage } = await import(process.argv[1]);
const text = readFileSync(process.argv[2], "utf8");
for (const value of JSON.parse(readFileSync(0, "utf8"))) {
  const client = await Client.open(text, { storage: new MemoryStorage(), name: "drinks" });
  for (let day = 1; day <= client.design.of; day += 1) {
    const message = await client.report(day, value);
    if (message) console.log(JSON.stringify(message));
  }
}
"""


def phones(design: Path, values: list[Any], out: Path) -> Path:
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", PHONES, str(CLIENT), str(design)],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out.write_text(done.stdout)
    return out


@pytest.mark.skipif(NODE is None, reason="node is not on the path")
def test_from_the_phone_to_the_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, design, reports = (str(tmp_path / name) for name in ("plan.toml", "design.json", "reports.parquet"))
    budget = ["--epsilon", "6", "--delta", "1e-6", "--clients", "500", "--rounds", "2"]
    assert main(["choose", "--values", "tea,coffee,none", *budget, "--out", plan, "--client", design]) == 0
    sent = phones(Path(design), ["tea"] * 350 + ["none"] * 150, tmp_path / "messages.jsonl")
    assert main(["gather", design, str(sent), "--day", "2", "--out", reports]) == 0
    capsys.readouterr()
    assert main(["estimate", plan, reports, "--json"]) == 0
    found = {row["value"]: row for row in json.loads(capsys.readouterr().out)["estimates"]}
    assert abs(found["tea"]["frequency"] - 0.7) < 0.2
    assert abs(found["coffee"]["frequency"]) < 0.1


@pytest.mark.skipif(NODE is None, reason="node is not on the path")
def test_from_the_phone_to_strings_that_nobody_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design, reports = str(tmp_path / "words.json"), str(tmp_path / "reports.parquet")
    assert main(["heavy", "design", "--epsilon", "6", "--alphabet", "a-e", "--length", "5", "--out", design]) == 0
    sent = phones(Path(design), ["abba"] * 350 + ["dad"] * 250 + ["cab"] * 150, tmp_path / "messages.jsonl")
    assert main(["gather", design, str(sent), "--out", reports]) == 0
    capsys.readouterr()
    assert main(["heavy", "find", design, reports, "--top", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["string"] for row in found["strings"]] == ["abba", "dad", "cab"]
    assert all(row["surely_held"] for row in found["strings"])
