"""One table, in Python's own objects and in frames of other libraries."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from needs import library, needs

import sideline

pd = library("pandas")
pl = library("polars")
pa = library("pyarrow")

BODY = b"""{"games": [
  {"event_id": "g-1", "tipoff_at": 1793563200250, "status": "ACTIVE", "home_team_id": 46, "fan_engagement_enabled": true},
  {"event_id": "g-2", "tipoff_at": null, "status": "ACTIVE", "home_team_id": null},
  {"event_id": "g-3", "tipoff_at": -1, "status": null, "home_team_id": 47, "fan_engagement_enabled": false}
]}"""
COLUMNS = ["game_id", "tipoff_at", "status", "home_team_id", "fan_engagement_enabled"]
ROWS = [
    ("g-1", datetime(2026, 11, 1, 20, 0, 0, 250_000, tzinfo=UTC), "ACTIVE", 46, True),
    ("g-2", None, "ACTIVE", None, None),
    ("g-3", datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), None, 47, False),
]


@pytest.fixture
def table() -> sideline.Table:
    return sideline.Payload.from_bytes("schedule", BODY).table("games", columns=COLUMNS)


def test_rows_as_dicts(table: sideline.Table) -> None:
    assert [tuple(row.values()) for row in table.to_dicts()] == ROWS
    assert [list(row) for row in table.to_dicts()] == [COLUMNS] * 3


def test_list_columns_become_lists() -> None:
    body = b'{"teams": [{"id": 1, "possessions": [{"player_ids": [3, 1, 2]}, {"player_ids": null}, {"player_ids": []}]}]}'
    table = sideline.Payload.from_bytes("possessions", body, session_id="s").table(columns=["player_ids", "lineup_id"])
    assert [row["player_ids"] for row in table.to_dicts()] == [[3, 1, 2], None, []]
    assert [row["lineup_id"] for row in table.to_dicts()][:2] == ["1-2-3", None]


@needs("polars")
def test_map_columns_become_dicts() -> None:
    body = b'{"details": [{"eventId": "a", "stats": {"TO": 1, "LBTO": null, "TO": 2}}, {"eventId": "b", "stats": null}, {"eventId": "c", "stats": {}}]}'
    table = sideline.Payload.from_bytes("play_by_play", body).table(columns=["stats"])
    expected: list[Any] = [{"TO": 2.0, "LBTO": None}, None, {}]
    assert [row["stats"] for row in table.to_dicts()] == expected
    assert table.to_pandas()["stats"].tolist() == expected
    assert table.to_arrow()["stats"].to_pylist(maps_as_pydicts="strict") == expected
    assert table.to_polars().height == 3


def test_a_time_beyond_datetimes_is_text() -> None:
    body = b'{"games": [{"event_id": "g", "tipoff_at": 999999999999999999}]}'
    table = sideline.Payload.from_bytes("schedule", body).table()
    assert table.to_dicts()[0]["tipoff_at"] == "<out of range>"
    assert table.to_arrow().column("tipoff_at").cast(pa.int64()).to_pylist() == [999999999999999999]


def test_its_shape(table: sideline.Table) -> None:
    assert (table.name, table.num_rows, len(table), table.column_names) == ("games", 3, 3, COLUMNS)
    assert table.head(2).num_rows == 2
    assert table.head(99).num_rows == 3
    assert repr(table) == f"<sideline.Table games: 3 rows, 5 columns: {', '.join(COLUMNS)}>"


@needs("polars")
def test_an_empty_table_is_true() -> None:
    table = sideline.Payload.from_bytes("schedule", b'{"games": []}').table()
    assert table
    assert len(table) == 0
    assert table.to_dicts() == []
    assert table.to_pandas().empty
    assert table.to_polars().is_empty()


def test_arrow_takes_it_as_it_is(table: sideline.Table) -> None:
    arrow = pa.table(table)
    assert arrow.equals(table.to_arrow())
    assert [tuple(row.values()) for row in arrow.to_pylist()] == ROWS
    assert arrow.schema == pa.schema(table)
    assert arrow.schema.field("tipoff_at").type == pa.timestamp("ms", "UTC")
    assert pa.types.is_dictionary(arrow.schema.field("status").type)


def test_arrow_may_request_another_type(table: sideline.Table) -> None:
    requested_schema = pa.schema([field.with_type(pa.string()) if field.name == "status" else field for field in pa.schema(table)])
    assert pa.table(table, schema=requested_schema).schema.field("status").type == pa.string()
    assert pa.RecordBatchReader.from_stream(table, schema=requested_schema).read_all().schema == requested_schema
    other = pa.schema([("no_such_column", pa.int64())])
    assert pa.RecordBatchReader.from_stream(table, schema=other).read_all() == pa.table(table)


def test_arrow_holds_the_memory_when_the_table_is_gone() -> None:
    arrow = sideline.Payload.from_bytes("schedule", BODY).to_arrow()
    assert arrow.column("game_id").to_pylist() == ["g-1", "g-2", "g-3"]


def test_polars_takes_it_as_it_is(table: sideline.Table) -> None:
    frame = pl.DataFrame(table)
    assert frame.equals(table.to_polars())
    assert frame.rows() == ROWS
    assert frame.schema["status"] == pl.Categorical
    assert frame.schema["tipoff_at"] == pl.Datetime("ms", "UTC")


def test_pandas_has_types_that_do_not_depend_on_the_data(table: sideline.Table) -> None:
    frame = table.to_pandas()
    empty = sideline.Payload.from_bytes("schedule", b'{"games": []}').table(columns=COLUMNS).to_pandas()
    kinds = {name: str(kind) for name, kind in frame.dtypes.items() if name != "game_id"}
    assert kinds == {
        "tipoff_at": "datetime64[ms, UTC]",
        "status": "category",
        "home_team_id": "Int64",
        "fan_engagement_enabled": "boolean",
    }
    assert {name: str(kind) for name, kind in empty.dtypes.items() if name != "game_id"} == kinds
    assert frame["tipoff_at"][0] == pd.Timestamp("2026-11-01T20:00:00.250Z")
    assert frame["home_team_id"].isna().tolist() == [False, True, False]


def test_a_column_of_nulls_is_in_pandas_what_it_is_with_texts() -> None:
    def kinds(name: bytes) -> dict[str, str]:
        frame = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 46, "name": %s}]}' % name).to_pandas()
        return {column: str(kind) for column, kind in frame.dtypes.items()}

    assert kinds(b"null") == kinds(b'"Mariners"')


def test_frames_of_pandas_joined_with_an_empty_one_have_the_types_of_those_without() -> None:
    men, women, empty, nulls = (
        sideline.Payload.from_bytes("teams", body).to_pandas()
        for body in (b'{"teams": [{"id": 46, "gender": "MEN"}]}', b'{"teams": [{"id": 47, "gender": "WOMEN"}]}', b'{"teams": []}', b'{"teams": [{"id": 48}]}')
    )
    kinds = pd.concat([men, women])["gender"].dtype
    for frames in ([men, empty], [empty, men], [men, nulls], [nulls, men], [empty, men, nulls, women]):
        assert pd.concat(frames)["gender"].dtype == kinds


def test_a_table_is_copied_and_travels_by_pickle(table: sideline.Table) -> None:
    assert copy.copy(table) is copy.deepcopy(table) is table
    roundtrip = pickle.loads(pickle.dumps(table))
    assert (roundtrip.name, roundtrip.to_dicts(), roundtrip.schema) == (table.name, table.to_dicts(), table.schema)
    assert roundtrip.to_arrow().schema.equals(table.to_arrow().schema, check_metadata=True)


def test_schemas_travel_by_pickle(client: sideline.Client, session_id: str) -> None:
    subset = client.stats(session_id).table("box_score", columns=["player_id", "PTS"]).schema
    assert subset != sideline.SCHEMAS["box_score"]
    for schema in (*sideline.SCHEMAS.values(), subset):
        roundtrip = pickle.loads(pickle.dumps(schema))
        assert roundtrip == schema and roundtrip.name == schema.name and repr(roundtrip) == repr(schema)
        assert copy.deepcopy(schema) == schema
    with pytest.raises(ValueError, match='no table "shot"'):
        sideline.Schema._restore("shot", None)  # type: ignore[attr-defined]


def test_schemas_of_the_package_travel_without_pyarrow() -> None:
    program = """
import sys
sys.modules["pyarrow"] = None
import pickle, sideline
assert pickle.loads(pickle.dumps(sideline.SCHEMAS["shots"])) == sideline.SCHEMAS["shots"]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_columns_without_nulls_are_plain_in_pandas() -> None:
    frame = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 46}]}').to_pandas()
    assert str(frame.dtypes["team_id"]) == "int64"


def test_a_table_without_columns_has_its_rows_in_pandas_too() -> None:
    empty = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 46}, {"id": 47}]}').table(columns=[])
    assert len(empty.to_pandas()) == len(empty.to_polars()) == len(empty) == 2


def test_the_schema_says_type_unit_and_meaning() -> None:
    schema = sideline.SCHEMAS["shots"]
    assert schema.names == [field.name for field in schema] == list(pa.schema(schema).names)
    assert schema.to_arrow() == pa.schema(schema)
    field = schema["distance_cm"]
    assert (field.name, field.type, field.nullable, field.unit) == ("distance_cm", "double", True, "cm")
    assert "distance" in field.description
    assert schema[0] == schema[schema.names[0]]
    assert schema[-1] == schema.fields[-1]
    assert len(schema) == len(schema.fields)
    assert "distance_cm" in schema
    assert "distance" not in schema
    assert "distance_cm: double? [cm]" in repr(schema)
    with pytest.raises(KeyError):
        schema["distance"]
    with pytest.raises(IndexError):
        schema[len(schema)]


def test_type_names_are_arrows() -> None:
    for schema in sideline.SCHEMAS.values():
        for field in schema:
            arrow = str(pa.schema(schema).field(field.name).type)
            assert field.type == arrow.replace("list<item: ", "list<").replace(", ordered=0", ""), field.name


def test_schemas_are_known_without_a_request_and_cannot_be_changed(table: sideline.Table) -> None:
    assert sideline.SCHEMAS["games"] == sideline.Payload.from_bytes("schedule", BODY).table().schema
    assert sideline.SCHEMAS["games"] != table.schema
    with pytest.raises(TypeError):
        sideline.SCHEMAS["games"] = None  # type: ignore[index]


@pytest.mark.parametrize(
    ("method", "missing", "extra"),
    [("to_arrow", "pyarrow", "arrow"), ("to_polars", "polars", "polars"), ("to_pandas", "pandas", "pandas"),
     ("to_pandas", "pyarrow", "pandas")],
)  # fmt: skip
def test_a_library_that_is_missing_is_named_with_what_to_install(method: str, missing: str, extra: str) -> None:
    program = f"""
import sys
sys.modules[{missing!r}] = None  # as if it were not installed
import sideline
try:
    sideline.Payload.from_bytes("teams", b'{{"teams": []}}').{method}()
except ModuleNotFoundError as error:
    print(error.name, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    expected = f'{missing} {missing} is not installed; install it with: pip install "sideline[{extra}]"\n'
    assert (done.stdout, done.stderr) == (expected, "")


@needs("polars")
def test_polars_needs_no_pyarrow() -> None:
    program = """
import sys
sys.modules["pyarrow"] = None
import sideline
print(sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 46, "gender": "MEN"}]}').to_polars().height)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_notebook_sees_the_first_rows(table: sideline.Table) -> None:
    html = table._repr_html_()
    assert html.count("<tr>") == 1 + 3
    assert "2026-11-01 20:00:00" in html
    body: dict[str, Any] = {"teams": [{"id": number} for number in range(500)]}
    import json

    html = sideline.Payload.from_bytes("teams", json.dumps(body).encode()).table()._repr_html_()
    assert html.count("<tr>") == 1 + 10
    assert "500 rows" in html


def test_print_shows_the_first_rows_and_what_does_not_fit(client: sideline.Client, session_id: str, table: sideline.Table) -> None:
    assert str(table).splitlines() == [
        "games: 3 rows, 5 columns",
        "game_id  tipoff_at            status  home_team_id  fan_engagement_enabled",
        "g-1      2026-11-01 20:00:00  ACTIVE            46  True",
        "g-2                           ACTIVE",
        "g-3      1969-12-31 23:59:59                    47  False",
    ]
    wide = client.stats(session_id).table("box_score")
    first, *lines = str(wide).splitlines()
    assert first == f"box_score: {wide.num_rows} rows, {len(wide.column_names)} columns"
    assert all(len(line) <= 120 for line in lines)
    assert len(lines) == 1 + 10 + 2
    visible_columns = lines[0].split()
    *hidden_columns, _ = lines[-1].removeprefix("… columns not shown: ").split(", ")
    assert set(visible_columns) | set(hidden_columns) <= set(wide.column_names)
    assert not set(visible_columns) & set(hidden_columns)


def test_a_table_without_rows_says_so() -> None:
    empty = sideline.Payload.from_bytes("teams", b'{"teams": []}').table()
    assert str(empty).startswith("teams: 0 rows, 7 columns\nname  team_id")
    assert "0 rows" in empty._repr_html_()


def test_small_and_large_numbers_are_shown_as_what_they_are() -> None:
    values = [0.0042, -0.0042, 0.0, -0.0, 0.25, 1234.5, 1.5e300, -2.5e-9, float("nan")]
    table = sideline.Table.from_arrow(pl.DataFrame({"share": values}))
    assert str(table).split()[-9:] == ["0.0042", "-0.0042", "0", "0", "0.25", "1234.5", "1.5e+300", "-2.5e-09", "nan"]


def test_a_wide_table_is_cut_and_says_so(client: sideline.Client, session_id: str) -> None:
    possessions = client.possessions(session_id).table("possessions")
    html = possessions._repr_html_()
    assert f"{len(possessions.column_names)} columns; the first 10 rows and the 16 main columns shown" in html
    assert html.count("<th") - 1 == 16  # <thead> is one more
    assert len(html) < 20_000


def test_numbers_stand_at_the_right_and_texts_at_the_left(table: sideline.Table) -> None:
    html = table._repr_html_()
    assert "<td>46</td>" in html
    assert '<td style="text-align:left">ACTIVE</td>' in html


# Schemas that another library requests.


def stream_as(table: sideline.Table, schema: pa.Schema) -> pa.Table:
    """The table as a consumer gets it that requests a schema."""
    capsule = table.__arrow_c_stream__(schema.__arrow_c_schema__())

    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return capsule

    return pa.table(Stream())


def test_a_requested_schema_is_honoured_without_pyarrow() -> None:
    ids = sideline.Table.from_arrow(pa.table({"id": [1, 2, None], "name": ["a", "b", None]}))
    requested_schema = pa.schema({"id": pa.int16(), "name": pa.large_string()}, metadata={"of": "me"})
    actual = stream_as(ids, requested_schema)
    assert actual.schema.equals(requested_schema, check_metadata=True)
    assert actual.to_pydict() == {"id": [1, 2, None], "name": ["a", "b", None]}


DAY = datetime(2026, 11, 1, 20, 0, 0, 250_000, tzinfo=UTC)
DAY_MS = 86_400_000
TEXTS = (pa.string(), pa.large_string(), pa.string_view())
WORDS = ["made", None, "", "zażółć"]


@pytest.mark.parametrize(
    ("column", "requested_type"),
    [
        (pa.array([-128, None, 127]), pa.int8()),
        (pa.array([0, None, 255]), pa.uint8()),
        (pa.array([2**32 - 1, None], pa.uint32()), pa.int64()),
        (pa.array([2**63 - 1, None], pa.uint64()), pa.int64()),
        (pa.array([-5, None, 2**53, -(2**53)]), pa.float64()),
        *((pa.array([-DAY_MS, None, DAY_MS], pa.timestamp("ms", "UTC")), pa.timestamp(unit, "UTC")) for unit in ("us", "ns")),
        *((pa.array([-DAY_MS, None, DAY_MS], pa.timestamp("ms")), pa.timestamp(unit)) for unit in ("s", "us", "ns")),
        (pa.array([DAY_MS], pa.timestamp("ms", "UTC")), pa.timestamp("ms", "Europe/Oslo")),
        *((pa.array(WORDS, text), other) for text in TEXTS for other in TEXTS if text != other),
        *((pa.array(WORDS).dictionary_encode(), text) for text in TEXTS),
        (pa.array([7, None, 7]).dictionary_encode(), pa.int16()),
        (pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.uint8()), pa.array(["made", None])), pa.string()),
        (pa.array([[1, None], None, [], [-3]]), pa.list_(pa.int8())),
        (pa.array([[WORDS], None], pa.list_(pa.list_(pa.string()))), pa.list_(pa.list_(pa.large_string()))),
        (pa.array([[("a", 1), ("b", None)], None], pa.map_(pa.string(), pa.int64())), pa.map_(pa.large_string(), pa.float64())),
        (pa.array([{"a": 1, "b": "x"}, None]), pa.struct({"a": pa.int32(), "b": pa.string_view()})),
        (pa.array(WORDS), pa.string()),
    ],
    ids=str,
)
def test_a_requested_type_is_honoured_if_every_value_stays_the_same(column: pa.Array, requested_type: pa.DataType) -> None:
    padded_column = pa.concat_arrays([column[:1], column, column[:1]])
    for array in (column, padded_column.slice(1, len(column)), column[:0]):
        actual = stream_as(sideline.Table.from_arrow(pa.table({"x": array})), pa.schema({"x": requested_type}))["x"]
        assert actual.type == requested_type
        actual.validate(full=True)
        assert actual.to_pylist() == array.to_pylist()


@pytest.mark.parametrize(
    ("column", "requested_schema"),
    [
        (pa.array([1, 70_000]), pa.schema({"x": pa.int16()})),
        (pa.array([-1]), pa.schema({"x": pa.uint64()})),
        (pa.array([2**63], pa.uint64()), pa.schema({"x": pa.int64()})),
        (pa.array([2**53 + 1]), pa.schema({"x": pa.float64()})),
        (pa.array([2**63 - 1]), pa.schema({"x": pa.float64()})),
        (pa.array([[1, 70_000]]), pa.schema({"x": pa.list_(pa.int16())})),
        (pa.array([[1, None]]), pa.schema({"x": pa.list_(pa.field("item", pa.int16(), nullable=False))})),
        (pa.array([{"a": 1}]), pa.schema({"x": pa.struct({"b": pa.int32()})})),
        (pa.array([{"a": 1}]), pa.schema({"x": pa.struct({"a": pa.int32(), "b": pa.int32()})})),
        (pa.array([2**60], pa.timestamp("ms", "UTC")), pa.schema({"x": pa.timestamp("ns", "UTC")})),
        (pa.array([DAY_MS], pa.timestamp("ms")), pa.schema({"x": pa.timestamp("ms", "Europe/Oslo")})),
        (pa.array(["x"]).dictionary_encode(), pa.schema({"x": pa.int64()})),
        (pa.array([1, 70_000]), pa.schema({"x": pa.binary()})),
        (pa.array([1, 70_000]), pa.schema({"y": pa.int64()})),
        (pa.array([1, 70_000]), pa.schema({"x": pa.int64(), "y": pa.int64()})),
        (pa.array([1, 70_000]), pa.schema({"x": pa.struct({"y": pa.int64()})})),
        (pa.array([1, None]), pa.schema([pa.field("x", pa.int32(), nullable=False)])),
        (pa.array([1.5]), pa.schema({"x": pa.int64()})),
        (pa.array([0.1]), pa.schema({"x": pa.float32()})),
        (pa.array(["x"]), pa.schema({"x": pa.int64()})),
        (pa.array([DAY], pa.timestamp("ms", "UTC")), pa.schema({"x": pa.timestamp("s", "UTC")})),
    ],
    ids=str,
)
def test_a_requested_schema_is_ignored_if_a_value_would_change(column: pa.Array, requested_schema: pa.Schema) -> None:
    actual = stream_as(sideline.Table.from_arrow(pa.table({"x": column})), requested_schema)
    assert actual["x"].combine_chunks() == column
