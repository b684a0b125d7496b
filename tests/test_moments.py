"""Positions around a play: equal to a search by hand, for every source of locations."""

from __future__ import annotations

import gc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from needs import library, require
from service import Features, Service

import sideline

require("polars")
pl = library("polars")

KEY = ("row", "t_offset_s", "team_id", "player_id", "x", "y", "z")


def moments(rows: pl.DataFrame, locations: object, **options: Any) -> sideline.Table:
    """A frame of polars would return one."""
    table = sideline.Table.from_arrow(rows)
    return sideline.moments(table, locations, **options)  # type: ignore[arg-type]


def by_hand(rows: list[dict[str, Any]], positions: list[dict[str, Any]], before: float, after: float, time: str = "occurred_at") -> list[tuple[Any, ...]]:
    matches = []
    for number, row in enumerate(rows):
        for position in positions:
            offset = (position["t"] - row[time]).total_seconds()
            if position["session_id"] == row["session_id"] and -before <= offset <= after:
                matches.append((number, offset, position["team_id"], position["player_id"], position["x"], position["y"], position["z"]))
    return sorted(matches, key=str)


def keys(table: sideline.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in KEY) for row in table.to_dicts()), key=str)


@pytest.fixture(scope="module")
def positions(client: sideline.Client, game: dict[str, Any], session_id: str) -> sideline.Payload:
    start = game["results"][0]["started_at"]
    return client.locations(session_id, start, start + 8 * 60 * 1000)


def near(client: sideline.Client, session_id: str, positions: sideline.Payload) -> pl.DataFrame:
    """Shots in the time that the locations have, and two beyond it."""
    last = positions.to_polars()["t"].max()
    shots = client.shots(session_id).to_polars().sort("occurred_at")
    return pl.concat([shots.filter(pl.col("occurred_at") <= last), shots.tail(2)])


def test_frames_are_those_that_a_search_by_hand_finds(client: sideline.Client, session_id: str, positions: sideline.Payload) -> None:
    shots = near(client, session_id, positions)
    rows, all_of_them = shots.to_dicts(), positions.table().to_dicts()
    expected = by_hand(rows, all_of_them, 3, 3)
    frame = positions.to_polars()
    wide = frame.with_columns(pl.col(pl.Int64).cast(pl.Int128), sensor=pl.lit(2**100, pl.Int128))
    for source in (positions, positions.table(), frame, frame.lazy(), [positions], frame.to_arrow(), wide):
        assert keys(moments(shots, source)) == expected
    assert len(expected) > 100
    assert keys(moments(shots, positions, before=0, after=0.6)) == by_hand(rows, all_of_them, 0, 0.6)
    result = moments(shots, positions)
    assert result.column_names == ["row", "session_id", "at", "t_offset_s", "type", "team_id", "player_id", "x", "y", "z"]
    assert [row["row"] for row in result.to_dicts()] == sorted(row["row"] for row in result.to_dicts())
    assert all(row["at"] == rows[row["row"]]["occurred_at"] for row in result.to_dicts())


def test_frames_at_both_ends_of_the_window_are_in_it() -> None:
    """A frame every second around second 10, from two seconds before it to two after."""
    start = datetime(2027, 2, 1, tzinfo=UTC)
    seconds = pl.datetime_range(start, start + timedelta(seconds=20), "1s", time_unit="ms", eager=True)
    positions = pl.DataFrame({"session_id": "s", "t": seconds, "player_id": 1, "x": 0.0, "y": 0.0})
    shots = pl.DataFrame({"session_id": "s", "occurred_at": [start + timedelta(seconds=10)]}, schema_overrides={"occurred_at": pl.Datetime("ms", "UTC")})
    for source in (positions, positions.lazy()):
        result = moments(shots, source, before=2, after=2).to_polars()
        assert result["t_offset_s"].to_list() == [-2.0, -1.0, 0.0, 1.0, 2.0]
        assert moments(shots, source, before=0, after=0).to_polars()["t_offset_s"].to_list() == [0.0]


def test_a_large_result_is_the_same_as_its_parts_and_outlives_its_file() -> None:
    """Above 4 MiB it is in a temporary file. Order of frames, and of positions in a frame, is that of the locations."""
    start = datetime(2027, 2, 1, tzinfo=UTC)
    times = pl.DataFrame({"t": pl.datetime_range(start, start + timedelta(minutes=10), "100ms", time_unit="ms", eager=True)})
    people = pl.DataFrame({"player_id": [3, 1, 2]})
    positions = pl.concat(
        [
            times.join(people, how="cross").with_columns(session_id=pl.lit(name), x=pl.lit(1.0), y=pl.int_range(pl.len()).cast(pl.Float64))
            for name in ("a", "b", "c", "d")
        ]
    )
    shots = pl.DataFrame(
        {"session_id": ["b", "a", "d", "c"], "occurred_at": start + timedelta(minutes=5)}, schema_overrides={"occurred_at": pl.Datetime("ms", "UTC")}
    )
    for source in (positions, positions.lazy()):
        table = moments(shots, source, before=300, after=300)
        gc.collect()
        frame = table.to_polars()
        assert frame.height == positions.height and frame.estimated_size() > 2**22
        for row, name in enumerate(shots["session_id"]):
            expected = positions.filter(pl.col("session_id") == name).select("player_id", "y")
            assert frame.filter(pl.col("row") == row).select("player_id", "y").equals(expected)
            part = moments(shots[row : row + 1], source, before=1, after=1).to_polars()
            assert frame.filter(pl.col("row") == row, pl.col("t_offset_s").abs() <= 1).drop("row").equals(part.drop("row"))


def test_the_shooter_is_where_the_shot_says(client: sideline.Client, session_id: str, positions: sideline.Payload) -> None:
    """At most one frame off: at two frames in a second, nobody is further away than half a second's run."""
    shots = near(client, session_id, positions)
    shooters = moments(shots, positions).to_polars().join(shots.with_row_index("row").cast({"row": pl.Int32}), on=["row", "player_id"])
    closest = shooters.sort(pl.col("t_offset_s").abs()).unique("row", keep="first")
    assert closest.height == shots.height - 2
    away = ((closest["x"] - closest["player_x"]) ** 2 + (closest["y"] - closest["player_y"]) ** 2).sqrt()
    assert closest["t_offset_s"].abs().max() <= 0.5
    assert away.max() < 9000 * 0.5


def test_normalised_everyone_attacks_the_same_hoop(client: sideline.Client, session_id: str, positions: sideline.Payload) -> None:
    shots = near(client, session_id, positions)
    assert {hoop > 0 for hoop in shots["hoop_y"]} == {True, False}, "both hoops are attacked"
    plain_frame, normalized_frame = (moments(shots, positions, normalize=way).to_polars() for way in (False, True))
    hoops = shots.with_row_index("row").select(pl.col("row").cast(pl.Int32), sign=pl.col("hoop_y").sign())
    expected = plain_frame.join(hoops, on="row", maintain_order="left").select(x=pl.col("x") * pl.col("sign"), y=pl.col("y") * pl.col("sign"))
    assert normalized_frame.select("x", "y").equals(expected)
    with pytest.raises(ValueError, match="rows has no column hoop_y: it says which hoop is attacked"):
        moments(shots.drop("hoop_y"), positions, normalize=True)


def test_rows_without_a_frame_have_none(positions: sideline.Payload, client: sideline.Client, session_id: str) -> None:
    shots = near(client, session_id, positions)
    for rows in (shots.clear(), shots.with_columns(session_id=pl.lit("another")), shots.with_columns(occurred_at=pl.lit(None, shots.schema["occurred_at"]))):
        result = moments(rows, positions)
        assert result.num_rows == 0 and result.schema.names == moments(shots, positions).schema.names
    with pytest.raises(ValueError, match="locations has no column t and x"):
        moments(shots, positions.to_polars().drop("t", "x"))
    with pytest.raises(ValueError, match="rows has no column session_id"):
        moments(shots.drop("session_id"), positions)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_times_are_the_same_instants_in_every_zone(zone: str, positions: sideline.Payload, client: sideline.Client, session_id: str) -> None:
    rows = near(client, session_id, positions)
    expected, frame = keys(moments(rows, positions)), positions.to_polars()
    frame = frame.with_columns(pl.col("t").dt.convert_time_zone(zone))
    assert expected
    for locations in (frame, frame.lazy(), frame.cast({"t": pl.Datetime("us", zone)}).lazy()):
        assert keys(moments(rows, locations)) == expected


def test_times_without_a_zone_are_refused(positions: sideline.Payload, client: sideline.Client, session_id: str) -> None:
    """pyspark's toPandas() has local times without a zone: taken for UTC, they would be those of other frames, or of none."""
    rows, frame = near(client, session_id, positions), positions.to_polars()
    for locations in (frame.with_columns(pl.col("t").dt.replace_time_zone(None)), frame.lazy().with_columns(pl.col("t").dt.replace_time_zone(None))):
        with pytest.raises(ValueError, match=r"locations: the column t has times without a zone: write .*replace_time_zone\('UTC'\)"):
            moments(rows, locations)
    with pytest.raises(ValueError, match="rows: the column occurred_at has times without a zone"):
        moments(rows.with_columns(pl.col("occurred_at").dt.replace_time_zone(None)), positions)


def test_times_and_durations_that_are_no_times_are_refused(positions: sideline.Payload, client: sideline.Client, session_id: str) -> None:
    rows, frame = near(client, session_id, positions), positions.to_polars().with_columns(pl.col("t").dt.epoch("ms"))
    for locations in (frame, frame.lazy()):
        with pytest.raises(ValueError, match="locations: the column t is of type Int64"):
            moments(rows, locations)
    for name in ("before", "after"):
        for duration in (float("inf"), float("nan"), -1):
            with pytest.raises(ValueError, match="at least 0 seconds"):
                moments(rows, positions, **{name: duration})


@pytest.mark.parametrize("name", ["x", "y", "z"])
def test_positions_as_text_are_refused(name: str, positions: sideline.Payload, client: sideline.Client, session_id: str) -> None:
    frame = positions.to_polars().with_columns(pl.lit("3 m").alias(name))
    for locations in (frame, frame.lazy()):
        with pytest.raises(ValueError, match=f"locations: the column {name} is of type String; it must have numbers"):
            moments(near(client, session_id, positions), locations)


@pytest.mark.parametrize("kind", [pl.Int32, pl.Int64, pl.UInt64, pl.Float64])
def test_session_ids_that_are_no_texts_are_refused(kind: Any, positions: sideline.Payload, client: sideline.Client, session_id: str) -> None:
    shots, frames = near(client, session_id, positions), positions.to_polars()
    numbered_shots, numbered_frames = (frame.with_columns(session_id=pl.lit(7, kind)) for frame in (shots, frames))
    for locations in (frames, numbered_frames, numbered_frames.lazy()):
        with pytest.raises(ValueError, match=f"rows: the column session_id is of type {kind}; it must have texts"):
            moments(numbered_shots, locations)
    for locations in (numbered_frames, numbered_frames.lazy()):
        with pytest.raises(ValueError, match=f"locations: the column session_id is of type {kind}; it must have texts"):
            moments(shots, locations)
    expected = moments(shots, frames)
    assert expected.num_rows
    for texts in (pl.Categorical, pl.Enum([session_id])):
        categories = (frame.with_columns(pl.col("session_id").cast(texts)) for frame in (shots, frames))
        assert keys(moments(*categories)) == keys(expected)


def test_of_an_archive_only_the_windows_are_read(tmp_path: Path) -> None:
    """Against the second service: all plays of all sessions, by way of a lazy scan, equal a search of its truth."""
    with Service(seed=4, teams=2, games=2, sessions=(1, 2), features=Features()) as service:
        client = sideline.Client(**service.client_options())
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(game_ids=[event.id for event in service.season.events if event.is_game], tables=["locations", "shots"], on_error="keep", progress=False)
        truth = service.truth()
        shots = archive.scan("shots").collect()
        frames = moments(shots, archive.scan("locations"), before=2, after=1)
        assert keys(frames) == by_hand(shots.to_dicts(), truth["locations"], 2, 1)
        events = archive.scan("shots").collect().rename({"occurred_at": "timestamp"}).with_columns(pl.col("timestamp") + timedelta(seconds=1))
        assert keys(moments(events, archive.scan("locations"))) == by_hand(events.to_dicts(), truth["locations"], 3, 3, "timestamp")
        client.close()
