"""Tables of other libraries: each type of column has a Python form, or is refused where the table is taken."""

import csv
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import library

import sideline

duckdb, pd, pl = library("duckdb"), library("pandas"), library("polars")
pa, pc, pq = library("pyarrow"), library("pyarrow.compute"), library("pyarrow.parquet")

ARROW: list[Any] = [
    *(pa.array([1, None, 3], kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32())),
    pa.array([2**64 - 1, None], pa.uint64()),
    pa.array([1.5, None], pa.float16()),
    pa.array([1.5, None], pa.float32()),
    *(pa.array(["a", None, "a text of more than twelve bytes"], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *(pa.array([b"a", None, b"more than twelve bytes"], kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    pa.array([b"abcd", None], pa.binary(4)),
    *(pa.array([Decimal("-1.25"), None, Decimal("0.01")], kind(7, 2)) for kind in (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256)),
    pa.array([Decimal("1200"), None], pa.decimal128(5, -2)),
    *(pa.array([date(2026, 11, 1), None, date(1, 1, 1), date(9999, 12, 31)], kind) for kind in (pa.date32(), pa.date64())),
    *(pa.array([time(23, 59, 59), None], kind) for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))),
    *(pa.array([timedelta(days=-2, seconds=3), None], pa.duration(unit)) for unit in ("s", "ms", "us", "ns")),
    *(pa.array([datetime(2026, 11, 1, 20), None], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    *(pa.array([datetime(2026, 11, 1, 20, tzinfo=UTC), None], pa.timestamp("us", zone)) for zone in ("UTC", "Europe/Berlin", "+05:30", "-03:00")),
    *(pa.array([[1, 2], None, []], kind) for kind in (pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_view(pa.int8()), pa.large_list_view(pa.int8()))),
    pa.array([[1, 2], None, [3, None]], pa.list_(pa.float32(), 2)),
    pa.array([{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}]),
    pa.array([[("a", 1.0)], None, []], pa.map_(pa.string(), pa.float64())),
    *(
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 2], kind), ["a", "b", None])
        for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64())
    ),
    pa.DictionaryArray.from_arrays(pa.array([None], pa.int32()), pa.array([], pa.string())),
    pa.nulls(2),
]


@pytest.mark.parametrize("array", ARROW, ids=lambda array: str(array.type))
def test_every_type_of_column_has_a_python_form(array: pa.Array, tmp_path: Path) -> None:
    arrow = pa.table({"x": array})
    for part in (arrow, arrow.slice(1), arrow.slice(1, 1)):
        table = sideline.Table.from_arrow(part)
        expected = [dict(value) if isinstance(array, pa.MapArray) and value is not None else value for value in part["x"].to_pylist()]
        assert table["x"] == expected
        # Where pandas is installed, pyarrow makes its types of nanoseconds.
        assert all(isinstance(other, type(value)) for value, other in zip(table["x"], expected, strict=True))
        assert table.to_dicts() == [{"x": value} for value in expected]
        assert "1 column" in str(table)
        assert "<table" in table._repr_html_()
        table.to_csv(tmp_path / "x.csv")
        assert table.to_arrow().equals(part)


FRAMES: dict[str, Any] = {
    "polars": pl.DataFrame(
        {
            "name": ["a", None],
            "number": pl.Series([1, None], dtype=pl.UInt16),
            "time": [datetime(2026, 11, 1, 20, 0, 0, 250_001), None],
            "day": [date(2026, 11, 1), None],
            "clock": [time(12, 30), None],
            "length": [timedelta(minutes=12), None],
            "amount": pl.Series([Decimal("1.50"), None], dtype=pl.Decimal(10, 2)),
            "kind": pl.Series(["x", None], dtype=pl.Categorical),
            "choice": pl.Series(["x", None], dtype=pl.Enum(["x", "y"])),
            "list": [["a"], None],
            "array": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int8, 2)),
            "struct": [{"a": 1, "b": "x"}, None],
            "raw": [b"a", None],
        }
    ),
    "pandas": pd.DataFrame(
        {
            "name": ["a", None],
            "number": np.array([1, 2], "uint8"),
            "time": pd.to_datetime(["2026-11-01T20:00:00.250001", None]),
            "zoned": pd.to_datetime(["2026-11-01T20:00Z", None]).tz_convert("Europe/Berlin"),
            "length": pd.to_timedelta(["12min", None]),
            "kind": pd.Categorical(["x", None]),
            "nullable": pd.array([1, None], "Int64"),
        }
    ),
    "duckdb": duckdb.sql(
        "select 'a' as name, 1::utinyint as small, 1::hugeint as huge, 1.25::decimal(9, 2) as amount, date '2026-11-01' as day, "
        "time '12:30' as clock, timestamp '2026-11-01 20:00' as time, timestamp_ns '2026-11-01 20:00' as fine, "
        "timestamptz '2026-11-01 20:00+00' as zoned, ['a'] as list, [1, 2]::integer[2] as array, {'a': 1} as struct, "
        "map {'k': 2} as map, 'x'::enum('x', 'y') as choice, 'a'::blob as raw, null as nothing, "
        "'00000000-0000-0000-0000-000000000007'::uuid as id"
    ),
}


@pytest.mark.parametrize("library", FRAMES)
def test_the_frames_of_each_library_are_shown_and_written(library: str, tmp_path: Path) -> None:
    table = sideline.Table.from_arrow(FRAMES[library], "frame")
    expected = pa.table(FRAMES[library]).to_pylist()
    for row in expected:
        row.update({name: dict(value) for name, value in row.items() if name == "map"})
    assert table.to_dicts() == expected
    assert "name" in str(table)
    assert table.head(1).to_dicts() == expected[:1]
    table.to_csv(tmp_path / "frame.csv")
    with (tmp_path / "frame.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(expected)
    assert rows[0]["name"] == "a"
    table.to_parquet(tmp_path / "frame.parquet")
    assert sideline.Table.from_arrow(pq.read_table(tmp_path / "frame.parquet")).to_dicts() == expected
    frame = table.to_pandas()
    assert frame.columns.tolist() == table.column_names
    if "list" in frame:
        assert list(frame["list"][0]) == ["a"]


def test_what_no_python_value_holds_is_a_text() -> None:
    unusual = sideline.Table.from_arrow(
        pa.table(
            {
                "time": pa.array([1_793_563_200_000_000_001, 0], pa.timestamp("ns")),
                "zoned": pa.array([1_793_563_200_000_000_001, 2**62], pa.timestamp("ns", "UTC")),
                "far": pa.array([2**62, -(2**62)], pa.timestamp("s", "Europe/Berlin")),
                "late": pa.array([253_402_300_799, -62_135_596_800], pa.timestamp("s", "Asia/Tokyo")),
                "day": pa.array([2**31 - 1, -719_163], pa.date32()),
                "clock": pa.array([1, 43_200_000_000_000], pa.time64("ns")),
                "length": pa.array([-1, 2**62 + 1], pa.duration("ns")),
                "long": pa.array([2**62, -(2**62)], pa.duration("s")),
                "interval": pa.array([(14, -2, 1_500_000_000), (0, 0, 0)], pa.month_day_nano_interval()),
            }
        )
    )
    assert unusual.to_dicts() == [
        {
            "time": "2026-11-01T20:00:00.000000001",
            "zoned": "2026-11-01T20:00:00.000000001Z",
            "far": "<out of range>",
            "late": "9999-12-31T23:59:59Z",
            "day": "<out of range>",
            "clock": "00:00:00.000000001",
            "length": "-PT0.000000001S",
            "long": "PT4611686018427387904S",
            "interval": "P14M-2DT1.5S",
        },
        {
            "time": datetime(1970, 1, 1),
            "zoned": "2116-02-20T23:53:38.427387904Z",
            "far": "<out of range>",
            "late": datetime(1, 1, 1, tzinfo=UTC),
            "day": "0000-12-31",
            "clock": time(12),
            "length": "PT4611686018.427387905S",
            "long": "-PT4611686018427387904S",
            "interval": "P0M0DT0S",
        },
    ]


UNIONS = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])


@pytest.mark.parametrize(
    ("arrow", "message"),
    [
        (pa.table({"fine": [1, 2], "x": UNIONS}), r"the column \"x\" is of type .*Union.*cast it to another type first"),
        (pa.table({"x": pa.array([{"a": 1}, {"a": 2}]), "y": pa.RunEndEncodedArray.from_arrays([2], [7])}), r"the column \"y\" is of type .*RunEnd"),
        (pa.table({"x": pa.StructArray.from_arrays([UNIONS], ["part"])}), r"the column \"x\" is of type"),
        (pa.table({"x": pa.array([[({"a": 1}, 2)]], pa.map_(pa.struct([("a", pa.int8())]), pa.int8()))}), r"its keys are nested; cast the keys"),
        (pa.table([[1], [2]], names=["a", "a"]), r"two columns are named \"a\": rename one"),
        (pa.table({"x": pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])}), r"two parts of the column \"x\" are named \"a\": rename one"),
        (pa.table({"x": pa.array([0], pa.timestamp("ms", "Mars/Olympus"))}), r"the time zone of the column \"x\" is 'Mars/Olympus'.*America/New_York"),
    ],
)
def test_what_has_no_python_form_is_refused_when_it_is_taken(arrow: pa.Table, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sideline.Table.from_arrow(arrow)
    with pytest.raises((TypeError, ValueError), match=message):
        sideline.Table("x", arrow)


def test_a_csv_has_all_of_each_value(tmp_path: Path) -> None:
    row = {
        "time": datetime(2026, 11, 1, 20, 0, 0, 250_001),
        "zoned": datetime(2026, 11, 1, 20, tzinfo=UTC),
        "length": timedelta(days=-1, microseconds=1),
        "raw": b"\xff\x00",
        "days": [date(2026, 11, 1)],
        "amounts": [Decimal("0.5")],
        "parts": {"amount": Decimal("1.50"), "raw": b"a", "time": datetime(2026, 11, 1, tzinfo=UTC)},
    }
    sideline.Table.from_arrow(pa.Table.from_pylist([row])).to_csv(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        [written] = csv.DictReader(file)
    assert written["time"] == "2026-11-01T20:00:00.250001"
    assert written["zoned"] == "2026-11-01T20:00:00.000Z"
    assert written["length"] == "-PT86399.999999S"
    assert written["raw"] == "/wA="
    assert json.loads(written["amounts"]) == ["0.5"]
    assert json.loads(written["days"]) == ["2026-11-01"]
    assert json.loads(written["parts"]) == {"amount": "1.50", "raw": "YQ==", "time": "2026-11-01T00:00:00.000Z"}


@pytest.mark.parametrize(
    "data",
    [
        pl.DataFrame({"x": [None]}),
        pl.DataFrame({"x": [[None]]}),
        pl.DataFrame({"x": pl.Series([2**100], dtype=pl.Int128)}),
        pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}),
        duckdb.sql("select bignum '1' as x"),
        duckdb.sql("select [bignum '1'] as x"),
    ],
    ids=["null", "nulls", "int128", "object", "opaque", "opaques"],
)
def test_types_of_one_library_alone_are_refused_with_what_to_write(data: Any) -> None:
    with pytest.raises(
        TypeError, match=r"data\.cast\(\{pl\.Null: pl\.String, pl\.Int128|data\.with_columns\(pl\.col\(pl\.Object\)|such as x::varchar in DuckDB"
    ):
        sideline.Table.from_arrow(data)


def test_a_lazy_frame_is_refused_with_collect() -> None:
    with pytest.raises(TypeError, match=r"not LazyFrame: write \.collect\(\)"):
        sideline.Table.from_arrow(pl.LazyFrame({"x": [1]}))  # type: ignore[arg-type]


def test_what_the_error_says_to_write_works() -> None:
    frame = pl.DataFrame({"x": [None], "y": pl.Series([7], dtype=pl.Int128), "z": pl.Series([7], dtype=pl.Object)})
    cast = frame.with_columns(pl.col(pl.Object).map_elements(str, return_dtype=pl.String)).cast({pl.Null: pl.String, pl.Int128: pl.Int64})
    assert sideline.Table.from_arrow(cast).to_dicts() == [{"x": None, "y": 7, "z": "7"}]
    assert sideline.Table.from_arrow(duckdb.sql("select (bignum '1')::varchar as x"))["x"] == ["1"]
    runs = pa.table({"y": pc.run_end_decode(pa.RunEndEncodedArray.from_arrays([2], [7]))})
    assert sideline.Table.from_arrow(runs)["y"] == [7, 7]


def test_a_key_that_a_map_has_twice_is_not_dropped() -> None:
    table = sideline.Table.from_arrow(pa.table({"x": pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))}))
    with pytest.raises(ValueError, match=r"the key 'a' twice, which a dict cannot have: use \.to_arrow\(\)"):
        table.to_dicts()
    assert table.to_arrow()["x"].to_pylist() == [[("a", 1), ("a", 2)]]
