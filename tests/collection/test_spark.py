"""What runs on Spark, without Spark: its tasks on Arrow batches, its checks on a frame that answers as Spark's does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded

import zcdp
from zcdp.collection import spark
from zcdp.collection.keyed import KeyedNoise
from zcdp.collection.parquet import count_files

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

RESPONSE = zcdp.RandomizedResponse(epsilon=8, k=5)
UNARY = zcdp.UnaryEncoding("0.7", "0.2")
NOISE = KeyedNoise(bytes(range(16)))


class Column:
    """Values of which some may be missing: a comparison with one of those is neither true nor false."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def _each(self, test: Callable[[Any], bool]) -> Column:
        return Column([None if one is None else test(one) for one in self.values])

    def __lt__(self, other: int) -> Column:
        return self._each(lambda one: one < other)

    def __ge__(self, other: int) -> Column:
        return self._each(lambda one: one >= other)

    def __or__(self, other: Column) -> Column:
        return Column([bool(a) or bool(b) for a, b in zip(self.values, other.values, strict=True)])

    def isNull(self) -> Column:  # noqa: N802 - Spark's name
        return Column([one is None for one in self.values])


class Frame:
    """Columns and their types; tasks see two rows at a time."""

    def __init__(self, held: dict[str, list[Any]], kinds: dict[str, str] | None = None) -> None:
        self.held, self.kinds = held, kinds or dict.fromkeys(held, "bigint")
        self.sparkSession = self.write = self.read = self
        self.told: list[str] = []

    @property
    def columns(self) -> list[str]:
        return list(self.held)

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        return list(self.kinds.items())

    def __getitem__(self, name: str) -> Column:
        return Column(self.held[name])

    def select(self, *names: str) -> Frame:
        return Frame({name: self.held[name] for name in names}, {name: self.kinds[name] for name in names})

    def where(self, mask: Column | str) -> Frame:
        if isinstance(mask, str):
            assert mask == "count > 1"
            mask = self["count"] >= 2
        kept = [n for n, one in enumerate(mask.values) if one]
        return Frame({name: [values[n] for n in kept] for name, values in self.held.items()}, self.kinds)

    def limit(self, most: int) -> Frame:
        return Frame({name: values[:most] for name, values in self.held.items()}, self.kinds)

    def count(self) -> int:
        return len(next(iter(self.held.values())))

    def groupBy(self, name: str) -> Any:  # noqa: N802 - Spark's name
        different = sorted(set(self.held[name]))
        counted = Frame({name: different, "count": [self.held[name].count(one) for one in different]})
        return type("Grouped", (), {"count": lambda _: counted})()

    def mapInArrow(self, task: Callable[[Iterator[Any]], Iterator[Any]], _: str) -> Frame:  # noqa: N802 - Spark's name
        whole = arrow.table(self.held)
        made = arrow.Table.from_batches(list(task(map(_part, _cut(whole)))))
        return Frame({name: made.column(name).to_pylist() for name in made.schema.names})

    def toLocalIterator(self) -> Iterator[dict[str, Any]]:  # noqa: N802 - Spark's name
        for n in range(self.count()):
            yield {name: values[n] for name, values in self.held.items()}

    def mode(self, name: str) -> Frame:
        self.told.append(name)
        return self

    def parquet(self, out: str) -> Frame:
        if Path(out).exists():
            return Frame(parquet.read_table(out).to_pydict())
        assert self.told == ["errorifexists"]
        parquet.write_table(arrow.table(self.held), out)
        return self


def _cut(whole: Any) -> list[Any]:
    return [whole.slice(start, 2) for start in range(0, len(whole), 2)] + [whole.slice(0, 0)]


def _part(table: Any) -> Any:
    if not len(table):
        return arrow.RecordBatch.from_pydict(
            {name: arrow.array([], table.schema.field(name).type) for name in table.schema.names}
        )
    return table.combine_chunks().to_batches()[0]


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "package", lambda *_: None)
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(3))


def test_each_value_is_drawn_once_and_counted_as_it_was_written(tmp_path: Path) -> None:
    values = [n % 5 for n in range(401)]
    frame = Frame({"value": values, "other": [9] * 401})
    made = spark.randomize_spark(RESPONSE, frame, "value", str(tmp_path / "reports.parquet"), k=5)
    assert sum(made.held["reports"]) == 401
    reports = np.frombuffer(b"".join(made.held["block"]), np.uint8)
    assert 0 <= (reports != np.array(values)).sum() < 8  # at epsilon 8, but for 1 in 746
    counts = spark.count_spark(RESPONSE, made, k=5)
    assert counts == RESPONSE.count(reports) == count_files([tmp_path / "reports.parquet"], RESPONSE, 5)
    assert counts.reports == 401


@pytest.mark.parametrize(("mechanism", "k"), [(RESPONSE, 5), (UNARY, 11), (zcdp.LinearHashing(epsilon=1, g=3, k=7), 7)])
def test_keyed_reports_are_those_of_the_numbers(mechanism: Any, k: int) -> None:
    values, ids = [n % k for n in range(21)], [7 * n + 1 for n in range(21)]
    frame = Frame({"number": ids, "value": values})
    made = spark.keyed_spark(mechanism, frame, "value", "number", NOISE, k=k)
    here = NOISE.release(mechanism, values, ids, k=k)
    assert b"".join(made.held["block"]) == here.astype(np.uint8).tobytes()
    assert spark.count_spark(mechanism, made, k=k) == mechanism.count(here, k=k)


@pytest.mark.parametrize("values", [[0, 5], [0, -1], [1, None]])
def test_values_beyond_or_missing_are_refused(values: list[Any], tmp_path: Path) -> None:
    out = tmp_path / "reports.parquet"
    for run in (
        lambda frame: spark.randomize_spark(RESPONSE, frame, "value", str(out), k=5),
        lambda frame: spark.keyed_spark(RESPONSE, frame, "value", "number", NOISE, k=5),
    ):
        with pytest.raises(ValueError, match=r"values must lie in 0 \.\. 4, and none may be missing"):
            run(Frame({"value": values, "number": [1, 2]}))
    assert not out.exists()


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        ([3, None], "column number must hold an id from 0 on for each value"),
        ([3, -1], "column number must hold an id from 0 on for each value"),
        ([3, 3], "ids must be distinct: two values under one id share their noise"),
    ],
)
def test_numbers_that_are_no_ids_are_refused(ids: list[Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        spark.keyed_spark(RESPONSE, Frame({"value": [0, 1], "number": ids}), "value", "number", NOISE, k=5)


def test_what_is_not_run_on_a_frame_is_refused() -> None:
    memory = zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=9)
    frame = Frame({"value": [0, 1]})
    for wrong in (memory, zcdp.Laplace(epsilon=1)):
        with pytest.raises(ValueError, match="is not run on a frame of values"):
            spark.randomize_spark(wrong, frame, "value", "nowhere", k=5)
    with pytest.raises(ValueError, match=r"k \(6\) must be the 5 of the mechanism"):
        spark.randomize_spark(RESPONSE, frame, "value", "nowhere", k=6)
    for kind in ("double", "string", "boolean", "decimal(3,0)"):
        with pytest.raises(ValueError, match="column value must hold integers, not"):
            spark.randomize_spark(RESPONSE, Frame({"value": [0, 1]}, {"value": kind}), "value", "nowhere", k=5)
    with pytest.raises(ValueError, match="column missing must hold integers, not None"):
        spark.randomize_spark(RESPONSE, frame, "missing", "nowhere", k=5)
    with pytest.raises(ValueError, match="it has no column design"):
        spark.count_spark(RESPONSE, frame, k=5)


def test_reports_of_another_design_are_refused_in_whichever_batch() -> None:
    other = zcdp.RandomizedResponse(epsilon=2, k=5)
    parts = [
        spark.keyed_spark(m, Frame({"value": [0, 1, 2], "number": [1, 2, 3]}), "value", "number", NOISE, k=5)
        for m in (RESPONSE, other)
    ]
    mixed = Frame({name: parts[0].held[name] + parts[1].held[name] for name in parts[0].held})
    assert spark.count_spark(other, parts[1], k=5).reports == 3
    for m in (RESPONSE, other):
        with pytest.raises(ValueError, match="the frame: has reports of"):
            spark.count_spark(m, mixed, k=5)
