"""Sensor locations: several windows as one table, at their real size."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from independent import Answer, Asked, as_json, server
from needs import library, needs

import sideline

duckdb = library("duckdb")
pd = library("pandas")
pl = library("polars")
pa = library("pyarrow")
ipc = library("pyarrow.ipc")


# The bodies here are no more than the subject needs.
pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")

START = 1_700_000_000_000
HALF_HOUR = 30 * 60_000


def loc(t: int, tag: str, kind: str | None, **more: Any) -> dict[str, Any]:
    return {"t": t, "tag": tag, "pid": int(tag), "type": kind, "x": t / 7, "sid": "s-1", "gc": "12:30.00"} | more


def batch(t: int, *kinds: str | None) -> dict[str, Any]:
    return {"locations": [loc(t, str(number), kind) for number, kind in enumerate(kinds)]}


BORDER = START + HALF_HOUR
FIRST = [batch(START, "PLAYER", "BALL"), batch(BORDER, "PLAYER", "BALL", None)]
# The kinds come in another order, one is new, one is missing: a dictionary of its own.
SECOND = [batch(BORDER, "PLAYER", "BALL", None), batch(BORDER + 1, "REFEREE", "BALL", None, "BALL")]
ROWS = [row for entry in (*FIRST, SECOND[1]) for row in entry["locations"]]


@pytest.fixture(scope="module")
def payload() -> Iterator[sideline.Payload]:
    """Two windows, as the service returns them: both contain the instant between them."""

    def respond(request: Asked) -> Answer:
        late = parse_qs(request.target.split("?")[1])["from"] == [str(BORDER)]
        return as_json([{**entry, "new": 1} for entry in SECOND] if late else FIRST)

    with server(respond) as seen, sideline.Client(username="a", secret="b", base_url=seen.base_url) as client:
        yield client.locations("s-1", START, BORDER + 1)


@pytest.fixture
def table(payload: sideline.Payload) -> sideline.Table:
    return payload.table()


def as_tuples(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["player_id"], row["tag"], row["type"], row["x"]) for row in rows]


EXPECTED = [(row["pid"], row["tag"], row["type"], row["x"]) for row in ROWS]


def test_windows_are_one_table_without_a_double(table: sideline.Table) -> None:
    assert (table.num_rows, len(table)) == (len(ROWS), len(ROWS))
    assert as_tuples(table.to_dicts()) == EXPECTED
    assert table.schema == sideline.SCHEMAS["locations"]
    assert repr(table).startswith(f"<sideline.Table locations: {len(ROWS)} rows, 15 columns: session_id, game_id,")
    assert table._repr_html_().count("<tr>") == 1 + len(ROWS)


@pytest.mark.parametrize("rows", [0, 1, 5, 6, 99])
def test_the_first_rows_reach_over_the_border(table: sideline.Table, rows: int) -> None:
    head = table.head(rows)
    assert as_tuples(head.to_dicts()) == EXPECTED[:rows]
    assert head.to_arrow().schema == table.to_arrow().schema


def test_arrow_gets_each_window_as_a_batch(table: sideline.Table, tmp_path: Path) -> None:
    arrow = pa.table(table)
    arrow.validate(full=True)
    assert [len(chunk) for chunk in arrow.column("t").chunks] == [5, 4]
    assert as_tuples(arrow.to_pylist()) == EXPECTED
    assert arrow.equals(table.to_arrow())
    # A file of Arrow's own format takes one dictionary for all its batches.
    with ipc.new_file(tmp_path / "locations.arrow", arrow.schema) as writer:
        writer.write_table(arrow)
    assert ipc.open_file(tmp_path / "locations.arrow").read_all().equals(arrow)
    assert pa.RecordBatchReader.from_stream(table).read_all().equals(arrow)


def test_polars_reads_all_windows(table: sideline.Table) -> None:
    frame = pl.DataFrame(table)
    assert frame.equals(table.to_polars())
    assert as_tuples(frame.to_dicts()) == EXPECTED
    assert frame.schema["type"] == pl.Categorical
    assert dict(frame.group_by("type").len().iter_rows()) == {"PLAYER": 2, "BALL": 4, None: 2, "REFEREE": 1}


def test_pandas_reads_all_windows(table: sideline.Table) -> None:
    frame = table.to_pandas()
    assert isinstance(frame["type"].dtype, pd.CategoricalDtype)
    assert [None if pd.isna(kind) else kind for kind in frame["type"]] == [row["type"] for row in ROWS]
    assert frame["player_id"].tolist() == [row["pid"] for row in ROWS]


def test_duckdb_reads_all_windows(table: sideline.Table) -> None:
    with duckdb.connect() as connection:
        connection.register("locations", table)
        assert connection.sql("select player_id, tag, type, x from locations").fetchall() == EXPECTED


@pytest.mark.parametrize("columns", [["x"], ["type", "tag"], ["player_id", "t", "tag", "x"]])
def test_some_columns_have_the_rows_of_all(payload: sideline.Payload, columns: list[str]) -> None:
    selection = payload.table(columns=columns)
    assert selection.column_names == columns
    assert selection.to_arrow().equals(payload.table().to_arrow().select(columns))


def test_the_json_is_merged_on_first_access(payload: sideline.Payload) -> None:
    assert [row for entry in payload.to_dict() for row in entry["locations"]] == ROWS
    assert json.loads(payload.raw) == payload.to_dict() == list(payload)
    assert len(payload) == 3
    assert [part.to_dict() for part in payload.parts] == [FIRST, [{**entry, "new": 1} for entry in SECOND]]
    assert payload.unknown_fields() == ["[].new"]
    size = sum(len(part.raw) for part in payload.parts)
    assert f"; {size} bytes; 2 answers joined; tables: locations>" in repr(payload)
    assert f">{size:,}</td>" in payload._repr_html_()


def test_windows_travel_by_pickle(payload: sideline.Payload) -> None:
    copy = pickle.loads(pickle.dumps(payload))
    assert copy.to_dict() == payload.to_dict()
    assert [part.raw for part in copy.parts] == [part.raw for part in payload.parts]
    assert copy.table().to_arrow().equals(payload.table().to_arrow())
    assert len(pickle.dumps(payload)) < 1.5 * sum(len(part.raw) for part in payload.parts) + 2000


def fetch(*bodies: Any) -> sideline.Payload:
    """Windows of these bodies, in their order."""

    def respond(request: Asked) -> Answer:
        start = int(parse_qs(request.target.split("?")[1])["from"][0])
        return as_json(bodies[(start - START) // HALF_HOUR])

    with server(respond) as seen, sideline.Client(username="a", secret="b", base_url=seen.base_url) as client:
        return client.locations("s-1", START, START + len(bodies) * HALF_HOUR)


@needs("polars")
def test_windows_without_a_row_are_no_batches() -> None:
    assert fetch([], [], FIRST, []).to_arrow().column("t").num_chunks == 1
    empty_table = fetch([], []).table()
    assert (empty_table.num_rows, empty_table.to_dicts(), empty_table.schema) == (0, [], sideline.SCHEMAS["locations"])
    assert empty_table.to_polars().is_empty()
    assert empty_table.to_pandas().empty


def test_an_invalid_window_raises_when_it_is_read_and_says_where() -> None:
    windows = fetch(FIRST, [{"locations": [loc(BORDER + 1, "1", "PLAYER", x="far")]}])
    assert len(windows.to_dict()) == 3
    with pytest.raises(sideline.DecodeError, match=r"answer 2 of 2: .* at \$\[0\]\.locations\[0\]\.x") as excinfo:
        windows.table()
    assert excinfo.value.path == "$[0].locations[0].x"
    assert windows.table(columns=["t"]).num_rows == len(ROWS) - 3


MINUTES, HZ, TAGS = 40, 20, 11
# In a process of its own: what the tests before left behind would be counted. VmHWM is the peak since it was reset.
WEIGH = """
import json, sys
import sideline

def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))

session, start, minutes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with sideline.Client() as client:
    client.teams().table().to_dicts()
    before = memory("VmRSS")
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    payload = client.locations(session, start, start + minutes * 60_000)
    table = payload.table()
    peak = memory("VmHWM") - before
import pyarrow as pa
arrow = pa.table(table)
arrow.validate(full=True)
keys = arrow.select(["t", "tag", "player_id"])
per_step = keys.group_by("t", use_threads=False).aggregate([("tag", "count_distinct")])
times = per_step.column("t").cast(pa.int64()).to_pylist()
print(json.dumps({
    "peak": peak,
    "bodies": sum(len(part.raw) for part in payload.parts),
    "table": arrow.nbytes,
    "batches": keys.column("t").num_chunks,
    "rows": arrow.num_rows,
    "each once": keys.group_by(["t", "tag", "player_id"]).aggregate([]).num_rows,
    "at a time": sorted(set(per_step.column("tag_count_distinct").to_pylist())),
    "ordered": keys.column("t").cast(pa.int64()).to_pylist() == sorted(keys.column("t").cast(pa.int64()).to_pylist()),
    "steps": sorted({after - before for before, after in zip(times, times[1:])}),
    "times": len(times),
}))
"""


def resettable() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return "VmHWM" in Path("/proc/self/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not resettable(), reason="the peak of memory is read from /proc, which is not here or cannot be reset")
@needs("pyarrow")
def test_forty_minutes_at_twenty_hertz_take_the_memory_of_bodies_and_table() -> None:
    with sideline.Simulator(seed=7, games=4, now="2027-03-01T12:00:00Z", location_rate=HZ) as heavy, heavy.client() as client:
        results = [result for game in heavy.games for result in client.game(game["event_id"])["results"]]
        long = next(result for result in results if result["ended_at"] - result["started_at"] >= MINUTES * 60_000)
        arguments = [long["id"], str(long["started_at"]), str(MINUTES)]
        done = subprocess.run([sys.executable, "-c", WEIGH, *arguments], env={**os.environ, **heavy.environ}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    seen = json.loads(done.stdout)
    steps = MINUTES * 60 * HZ + 1
    assert (seen["rows"], seen["each once"], seen["times"]) == (steps * TAGS, steps * TAGS, steps)
    assert (seen["at a time"], seen["steps"], seen["ordered"], seen["batches"]) == ([TAGS], [1000 // HZ], True, 2)
    assert seen["bodies"] > 90_000_000
    # Measured: 1.03. One more copy of the table would be 1.4, of the bodies 1.6.
    factor = seen["peak"] / (seen["bodies"] + seen["table"])
    assert factor < 1.25, f"{factor:.2f} of {seen}"


@pytest.mark.parametrize("hz", [0, 3, 1000, -2])
def test_a_rate_whose_steps_are_no_whole_milliseconds_is_refused(hz: int) -> None:
    with pytest.raises(ValueError, match="location_rate"):
        sideline.Simulator(games=2, location_rate=hz)
