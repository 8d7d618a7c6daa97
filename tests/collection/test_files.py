"""From a file of values to a published estimate by the real program, and what its commands refuse."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.program import called as program
from collection.colours import DESIGN, ask, filled

import zcdp
from zcdp.collection.frames import count_duckdb, count_frame
from zcdp.collection.parquet import count_files, write_reports
from zcdp.collection.randomize import randomize_file

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path)


def run(folder: Path, *arguments: str) -> Any:
    return program(*arguments, cwd=folder)


def test_from_values_to_a_page(folder: Path) -> None:
    done = run(folder, "randomize", "design.toml", "values.parquet", "--out", "reports.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("3000 reports of RandomizedResponse(epsilon=2, k=10) written to reports.parquet")
    written = "estimate", "design.toml", "reports.parquet", "--csv", "e.csv", "--html", "e.html"
    done = run(folder, *written)
    assert (done.returncode, done.stderr) == (0, "")
    assert "All 10 intervals hold together at level 0.95, for these clients." in done.stdout
    with (folder / "e.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["value"] for row in rows] == [str(n) for n in range(10)]
    facts = json.loads(run(folder, *written, "--json").stdout)
    assert facts["rho"] == (2 * zcdp.RandomizedResponse(epsilon=2, k=10)).rho
    m = zcdp.RandomizedResponse(epsilon=2, k=10)
    h = m.estimate(count_files([folder / "reports.parquet"], m, 10))
    assert [row["frequency"] for row in facts["estimates"]] == h.frequencies.tolist()
    low, high = h.interval(0.95)
    assert [float(row["lower"]) for row in rows] == low.tolist()
    assert [float(row["upper"]) for row in rows] == high.tolist()
    page = (folder / "e.html").read_text()
    assert "<script" not in page
    assert page[: page.index("What other designs")].count("<circle") == 2 * 10  # for phones, and wide


def test_the_account_the_report_and_the_estimate_tell_one_story(folder: Path) -> None:
    m = zcdp.RandomizedResponse(epsilon=2, k=10)
    told = json.loads(run(folder, "account", "design.toml", "--json").stdout)
    asked = {name: told["collection"][name] for name in ("k", "clients", "rounds", "answered", "bytes")}
    assert asked == {"k": 10, "clients": 3000, "rounds": 3, "answered": 2, "bytes": 1.0}
    # two of three rounds answered: the variance of a sample of 2000 of 3000, at the frequency 1/10
    own = m.standard_error(clients=2000, frequency="0.1") ** 2
    assert told["collection"]["standard_error"] == pytest.approx((own + 0.09 * (1 / 3) * 3000 / 2999 / 2000) ** 0.5)
    done = run(folder, "account", "design.toml", "--html", "a.html")
    assert "Collection of 10 values; each client answers 2 of 3 rounds" in done.stdout
    assert '<section id="collection">' in (folder / "a.html").read_text()
    run(folder, "randomize", "design.toml", "values.parquet", "--out", "reports.parquet")
    facts = json.loads(run(folder, "estimate", "design.toml", "reports.parquet", "--json").stdout)
    assert facts["design"]["standard_error"] == told["collection"]["standard_error"]
    assert facts["rho"] == told["total"]["rho"]
    assert {one["name"] for one in facts["designs"]} >= {"RandomizedResponse", "SubsetSelection", "textbook"}


def told(mechanism: Any, k: int) -> dict[str, int]:
    """What a release needs to be told."""
    return {} if hasattr(mechanism, "k") else {"k" if hasattr(mechanism, "tally") else "d": k}


CASES = [
    (zcdp.RandomizedResponse(epsilon=1, k=300), 300),
    (zcdp.UnaryEncoding("0.6", "0.2"), 13),
    (zcdp.RAPPOR(epsilon=1), 5),
    (zcdp.SubsetSelection(epsilon=1, k=300, size=3), 300),
    (zcdp.SubsetSelection(epsilon=1, k=6, size=1), 6),
    (zcdp.HadamardResponse(epsilon=1), 20),
    (zcdp.HadamardResponse(epsilon=1, blocks=3), 20),
    (zcdp.LinearHashing(epsilon=1, g=3, k=20), 20),
]


@pytest.mark.parametrize("rows", [False, True], ids=["blocks", "rows"])
@pytest.mark.parametrize(("mechanism", "k"), CASES, ids=repr)
def test_files_hold_the_reports_that_were_written(mechanism: Any, k: int, rows: bool, tmp_path: Path) -> None:
    blocks = [mechanism.release(np.arange(size) % k, **told(mechanism, k)) for size in (1, 700, 299)]
    file = tmp_path / "reports.parquet"
    assert write_reports(file, mechanism, k, iter(blocks), rows=rows) == 1000
    assert count_files([file], mechanism, k) == sum(mechanism.count(block, k=k) for block in blocks)
    assert count_duckdb([file], mechanism, k, memory="200MB") == sum(mechanism.count(block, k=k) for block in blocks)
    more = tmp_path / "more.parquet"
    more.write_bytes(file.read_bytes())
    assert count_files([file, more], mechanism, k).reports == 2000
    again = tmp_path / "again.parquet"
    again.symlink_to(file)
    for count in (count_files, count_duckdb):
        with pytest.raises(ValueError, match=r"again.parquet: is given twice, first as .*reports.parquet"):
            count([file, again], mechanism, k)


def test_every_engine_counts_the_same(tmp_path: Path) -> None:
    duckdb, polars, pandas = map(pytest.importorskip, ("duckdb", "polars", "pandas"))
    pytest.importorskip("narwhals")
    for m in (zcdp.RandomizedResponse(epsilon=2, k=7), zcdp.LinearHashing(epsilon=1, g=3, k=7)):
        reports = m.release(np.arange(5000) % 7)
        file = tmp_path / f"{type(m).__name__}.parquet"
        write_reports(file, m, 7, [reports], rows=True)
        expected = m.count(reports)
        assert count_files([file], m, 7) == expected
        frames = (
            polars.read_parquet(file),
            polars.scan_parquet(file),
            parquet.read_table(file),
            pandas.DataFrame({"report": reports}),
            duckdb.sql(f"select * from '{file}'"),
        )
        for frame in frames:
            assert count_frame(m, frame, "report") == expected
    with pytest.raises(ValueError, match=r"reports must lie in 0 \.\. 6"):
        count_frame(zcdp.RandomizedResponse(epsilon=2, k=7), polars.DataFrame({"report": [0, 7]}), "report")
    with pytest.raises(ValueError, match="are rows, not whole numbers"):
        count_frame(zcdp.RAPPOR(epsilon=2), polars.DataFrame({"report": [0, 7]}), "report", k=8)


def damaged(folder: Path) -> None:
    whole = (folder / "reports.parquet").read_bytes()
    (folder / "reports.parquet").write_bytes(whole[: len(whole) // 2])


def unnamed(folder: Path) -> None:
    parquet.write_table(arrow.table({"report": [1, 2]}), folder / "reports.parquet")


def other_epsilon(folder: Path) -> None:
    (folder / "design.toml").write_text(DESIGN.replace("epsilon=2,", "epsilon=1,"))


def mixed(folder: Path) -> None:
    """A second file, of another epsilon."""
    write_reports(folder / "more.parquet", zcdp.RandomizedResponse(epsilon=1, k=10), 10, [np.arange(10)])


def short_block(folder: Path) -> None:
    table = parquet.read_table(folder / "reports.parquet")
    parquet.write_table(table.set_column(0, "reports", [[2999]]), folder / "reports.parquet")


def wild(folder: Path) -> None:
    """A report that the mechanism does not have."""
    table = parquet.read_table(folder / "reports.parquet")
    block = b"\x4d" + table["block"][0].as_py()[1:]
    parquet.write_table(
        table.set_column(1, "block", arrow.array([block], arrow.large_binary())), folder / "reports.parquet"
    )


def strange_words(folder: Path) -> None:
    """A label that is not ours."""
    table = parquet.read_table(folder / "reports.parquet")
    parquet.write_table(table.set_column(2, "design", [["[1]"]]), folder / "reports.parquet")


def empty(folder: Path) -> None:
    """A file of reports without one."""
    table = parquet.read_table(folder / "reports.parquet")
    parquet.write_table(table.slice(0, 0), folder / "reports.parquet")


REFUSED_ESTIMATES = [
    (wild, "reports.parquet: reports must lie in 0 .. 9: these are of another design"),
    (empty, "there are no reports: nothing can be estimated"),
    (strange_words, "says what its reports are in a way that this version does not read"),
    (damaged, "not a whole Parquet file"),
    (unnamed, "does not say which design its reports are of"),
    (other_epsilon, "has reports of RandomizedResponse(epsilon=2, k=10) on 10 values, not of"),
    (mixed, "more.parquet: has reports of RandomizedResponse(epsilon=1, k=10) on 10 values, not of"),
    (short_block, "a block of 2999 reports has 3000 numbers: the file is damaged"),
]


@pytest.mark.parametrize(("spoil", "error"), REFUSED_ESTIMATES, ids=lambda one: getattr(one, "__name__", ""))
def test_reports_that_are_not_of_the_design_are_refused(folder: Path, spoil: Any, error: str) -> None:
    randomize_file(zcdp.RandomizedResponse(epsilon=2, k=10), 10, folder / "values.parquet", folder / "reports.parquet")
    spoil(folder)
    mechanism = zcdp.RandomizedResponse(epsilon=1 if spoil is other_epsilon else 2, k=10)
    files = sorted(str(one.name) for one in folder.glob("*.parquet") if one.name != "values.parquet")
    done = ask(folder, "estimate", "design.toml", *reversed(files), "--csv", "e.csv")
    assert done.returncode == 2
    assert error in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout
    assert not (folder / "e.csv").exists()
    with pytest.raises(ValueError, match=re.escape(error.removeprefix("more.parquet: ").partition(":")[0])):
        count_duckdb([folder / name for name in reversed(files)], mechanism, 10)


def test_files_that_are_not_there_are_named(folder: Path) -> None:
    for command in (
        ["randomize", "design.toml", "no.parquet", "--out", "r.parquet"],
        ["estimate", "design.toml", "no.parquet"],
    ):
        done = ask(folder, *command)
        assert (done.returncode, done.stderr) == (2, "zcdp: no.parquet: no such file\n")


@pytest.mark.parametrize(
    ("line", "instead", "error"),
    [
        ("k = 10\n", "", "design.toml:6: a collection needs k, the number of values"),
        ("k = 10\n", "k = 10\nvalues = ['a', 'b']\n", "design.toml:8: values: 2 names must be as many as k, 10"),
        ("k = 10\n", "values = ['a', 'a']\n", "design.toml:7: values: must be a list of two or more different names"),
        ("k = 10\n", "k = 11\n", "design.toml:7: k: 11 must be the 10 of the mechanism"),
        ("answered = 2\n", "answered = 4\n", "design.toml:9: answered: 4 must be at most the 3 rounds"),
        ("count = 2\n", "count = 3\n", "design.toml:14: count: 3 must be the 2 rounds that a client answers"),
        ("RandomizedResponse(epsilon=2, k=10)", "Laplace(epsilon=2)", "a collection has one query, with one local"),
        (  # a sample hides a client among others, and here every one reports
            "RandomizedResponse(epsilon=2, k=10)",
            "Subsampled(RandomizedResponse(epsilon=2, k=10), size=2, of=9)",
            "a collection has one query, with one local",
        ),
        (
            "RandomizedResponse(epsilon=2, k=10)",
            "Shuffled(RandomizedResponse(epsilon=2, k=9), clients=99)",
            "10 must be the 9 of the mechanism",
        ),
        ("k = 10", "k = 10\nlow = 0\nhigh = 1", "low and high go with a randomizer of numbers"),
        ("k = 10", "k = 10\nlow = 0", "a range has a low and a higher high"),
        ("clients = 3000\n", "client = 3000\n", "design.toml:10: "),
    ],
)
def test_a_collection_that_makes_no_sense_is_refused(folder: Path, line: str, instead: str, error: str) -> None:
    (folder / "design.toml").write_text(DESIGN.replace(line, instead))
    done = ask(folder, "account", "design.toml")
    assert done.returncode == 2
    assert error in done.stderr
