"""Arrow arrays of Python values, made without pandas, and rows of the archive's own tables, read without a dataset."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from archives import Store, internal_schemas, small_season, store_of
from needs import library

from sideline.archive import _arrow
from sideline.archive._storage_types import _MAX_TIME, _MIN_TIME, _PER_SECOND, check_times

deltalake = library("deltalake")
pa = library("pyarrow")
pq = library("pyarrow.parquet")

SYNC_SCRIPT = """
import json, sys
from datetime import UTC, datetime, timedelta
from sideline import Archive, Client
with Client() as client:
    for day in (9, 10):
        archive = Archive({folder!r}, client, clock=lambda: datetime(2026, 11, day, tzinfo=UTC))
        report = archive.sync(start="2026-11-01", end="2026-11-09", progress=False)
print(json.dumps([report.complete, "pyarrow" in sys.modules, "pandas" in sys.modules]))
"""


def test_a_sync_does_not_load_pandas(tmp_path: Path) -> None:
    """It would be a fifth of a nightly sync's time, and an eighth of its memory."""
    code = SYNC_SCRIPT.format(folder=str(tmp_path / "archive"))
    with small_season() as service:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={**os.environ, **service.environ})
    assert (done.stderr, done.stdout) == ("", "[true, true, false]\n")
    assert {path.name for path in (tmp_path / "archive").iterdir()} >= {"box_score", "coverage", "players"}


SCHEMA = pa.schema(
    {
        "text": pa.string(),
        "bytes": pa.binary(),
        "small": pa.int32(),
        "large": pa.int64(),
        "flag": pa.bool_(),
        "micros": pa.timestamp("us", "UTC"),
        "millis": pa.timestamp("ms", "UTC"),
        "numbers": pa.list_(pa.int64()),
        "word": pa.dictionary(pa.int32(), pa.string()),
    }
)


def test_tables_are_those_of_pyarrow() -> None:
    when = datetime(2027, 1, 1, 12, 30, 15, 123456, UTC)
    rows: list[dict[str, Any]] = [
        {"text": "Žalgiris", "bytes": b"\0\xff", "small": -1, "large": 2**40, "flag": False, "micros": when, "millis": when, "numbers": [1, 2]},
        dict.fromkeys(SCHEMA.names),
        {},
        {"text": "", "bytes": b"", "flag": True, "numbers": [], "word": "a"},
        {"micros": when.astimezone(timezone(timedelta(hours=5, minutes=30))), "numbers": [3], "word": "b"},
        {"micros": datetime(1, 1, 1, tzinfo=UTC), "millis": datetime.max.replace(tzinfo=UTC), "word": "a"},
    ]
    for sample in (rows, rows[:1], []):
        table = _arrow.table(sample, SCHEMA)
        table.validate(full=True)
        assert table.equals(pa.Table.from_pylist(sample, SCHEMA))
    assert _arrow.empty(SCHEMA).equals(SCHEMA.empty_table())
    assert _arrow.repeat("2026-11", 3).equals(pa.array(["2026-11"] * 3))
    assert _arrow.repeat("2026-11", 0).equals(pa.array([], pa.string()))


@pytest.mark.parametrize("value", ["\ud800", 2**70, object()])
def test_a_value_that_is_not_of_the_type_is_an_error(value: object) -> None:
    kind = pa.string() if isinstance(value, str) else pa.int64()
    with pytest.raises((TypeError, ValueError, OverflowError)):
        _arrow.array([value], kind)


def place(unit: str, month: str, sequence: int = 1) -> dict[str, Any]:
    return {"entry": f"{unit}#{sequence}", "unit": unit, "sequence": sequence, "month": month, "body": b"{}"}


@pytest.fixture
def raw(tmp_path: Path) -> tuple[Store, deltalake.DeltaTable]:
    """Three files: two of a month, one of them with two row groups, and one of another month."""
    schema = internal_schemas()["raw"]
    store = store_of(tmp_path)
    table = store.open_or_create("raw", schema)
    first = [place(f"stats/{number:03}", "2026-11") for number in range(100)]
    for rows in (first, [place("stats/200", "2026-11"), place("stats/201", "2026-11")], [place("stats/050", "2026-12", 2)]):
        deltalake.write_deltalake(table, pa.Table.from_pylist(rows, schema), mode="append", writer_properties=store.writer_properties("raw"))
    files = table.file_uris()
    assert sorted(pq.ParquetFile(file).num_row_groups for file in files) == [1, 1, 2]
    return store, table


def rows_of(raw: tuple[Store, deltalake.DeltaTable], *arguments: Any, **options: Any) -> list[tuple[Any, ...]]:
    store, table = raw
    columns = options.pop("columns", ["entry", "month"])
    return sorted(tuple(row[name] for name in columns) for batch in store.select(table, columns, *arguments, **options) for row in batch.to_pylist())


def test_rows_are_found_by_texts_and_months(raw: tuple[Store, deltalake.DeltaTable]) -> None:
    november, december = ("stats/050#1", "2026-11"), ("stats/050#2", "2026-12")
    assert len(rows_of(raw, None)) == 103
    assert rows_of(raw, ("unit", ["stats/050"])) == [november, december]
    assert rows_of(raw, ("unit", ["stats/050"]), months={"2026-12"}) == [december]
    assert rows_of(raw, ("entry", ["stats/050#2"]), columns=["unit", "month", "served_at"]) == [("stats/050", "2026-12", None)]
    assert rows_of(raw, ("unit", ["stats/099", "stats/200", "none"])) == [("stats/099#1", "2026-11"), ("stats/200#1", "2026-11")]
    assert rows_of(raw, ("unit", [])) == rows_of(raw, None, months=()) == []


def test_bodies_that_are_not_wanted_are_not_read(raw: tuple[Store, deltalake.DeltaTable], monkeypatch: pytest.MonkeyPatch) -> None:
    opened_files: list[str] = []
    groups: list[list[int]] = []

    class Watched(pq.ParquetFile):  # type: ignore[misc] # pyarrow has no types
        def __init__(self, file: Any) -> None:
            super().__init__(file)
            opened_files.append("")

        def iter_batches(self, size: int, row_groups: list[int], *rest: Any, **options: Any) -> Any:
            groups.append(row_groups)
            return super().iter_batches(size, row_groups, *rest, **options)

    monkeypatch.setattr(pq, "ParquetFile", Watched)
    assert len(rows_of(raw, ("unit", ["stats/099"]), months={"2026-11"})) == 1
    assert (len(opened_files), groups) == (1, [[1]]), "the other file of November begins at stats/200"
    rows_of(raw, ("unit", ["stats/201"]))
    assert len(opened_files) == 2, "only one file has it"


def test_a_column_that_a_file_lacks_is_null(tmp_path: Path) -> None:
    """It may have been written before the column was there."""
    schema = internal_schemas()["raw"]
    old = pa.schema([field for field in schema if field.name != "session_id"])
    store = store_of(tmp_path)
    table = store.open_or_create("raw", schema)
    deltalake.write_deltalake(table, pa.Table.from_pylist([place("stats/1", "2026-11")], old), mode="append", schema_mode="merge")
    assert rows_of((store, table), None, columns=["session_id", "unit"]) == [(None, "stats/1")]


def test_times_of_years_that_cannot_be_read_again_are_refused() -> None:
    for unit, last in _PER_SECOND.items():
        if unit == "ns":  # ends before the year 9999
            continue
        for seconds, is_fine in ((_MAX_TIME, True), (_MAX_TIME + 1, False), (_MIN_TIME, True), (_MIN_TIME - 1, False)):
            table = pa.table({"at": pa.array([None, seconds * last], pa.int64()).cast(pa.timestamp(unit, "UTC"))})
            if is_fine:
                check_times(table)
            else:
                with pytest.raises(ValueError, match="at has a time outside"):
                    check_times(table)
    check_times(pa.table({"at": pa.array([None], pa.timestamp("ms", "UTC"))}))
