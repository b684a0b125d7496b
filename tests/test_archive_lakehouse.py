"""The archive for other engines: partitions, files, changes between states, comments and lineage, against the second service."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from archives import TABLES, TRUE, archive_with, contents, different_tables, set_quantities
from needs import library
from service import Service
from trust import Memory, describe, untrue

import sideline
from sideline.archive import KEYS
from sideline.archive._changes import difference

duckdb = library("duckdb")
pl = library("polars")
pa = library("pyarrow")
parquet = library("pyarrow.parquet")

NOW = datetime(2027, 3, 5, 12, tzinfo=UTC)
SPAN: dict[str, Any] = {"start": "2027-01-01", "end": "2027-06-01", "correction_window": None, "on_error": "keep", "progress": False}
SIZE: dict[str, Any] = {"teams": 3, "players": 6, "games": 4, "sessions": (1, 2), "possessions": 3, "practices": 1, "upcoming": 1, "days": 8}

Row = dict[str, Any]

pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")


REQUESTED_TABLES = ("events", "games", "players", "possessions", "stat_events", "shots")
"""The tables of tests that are about none in particular: the sync of each takes time."""
STORED_TABLES = ("events", "sessions", "location_windows", "games", "players", "possessions", "possession_events", "possession_players", "stat_events", "shots")
"""The tables that a sync of these stores."""


@pytest.fixture
def league() -> Iterator[Service]:
    with Service(seed=5, now=NOW, **SIZE) as league:
        yield league


@pytest.fixture
def client(league: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**league.client_options(), max_retries=0) as client:
        yield client


@pytest.fixture
def archive(tmp_path: Path, client: sideline.Client) -> sideline.Archive:
    return sideline.Archive(tmp_path / "season", client)


def months(archive: sideline.Archive, table: str) -> dict[str, set[str]]:
    """By month, the sessions or games whose rows it has."""
    rows = archive.delta(table).to_pyarrow_table()
    key = "event_id" if table in ("events", "sessions") else "session_id"
    ids_by_month: dict[str, set[str]] = {}
    for month, id_ in zip(rows["month"].to_pylist(), rows[key].to_pylist(), strict=True):
        ids_by_month.setdefault(month, set()).add(id_)
    return ids_by_month


def snapshot(archive: sideline.Archive, names: Iterable[str]) -> dict[str, list[Row]]:
    return {name: archive.to_arrow(name).to_pylist() for name in names}


def apply_changes(name: str, rows: list[Row], changes: list[Row]) -> Counter[str]:
    """The rows after the changes, as a reader of `Archive.changes` would apply them."""
    after = list(rows)
    for change in changes:
        kind = change.pop("_change")
        if kind == "delete":
            after.remove(next(row for row in after if without_nulls(row) == without_nulls(change)))
        elif kind == "insert":
            after.append(change)
        else:
            [place] = [index for index, row in enumerate(after) if all(row[key] == change[key] for key in KEYS[name])]
            after[place] = change
    return count_rows(after)


def without_nulls(row: Row) -> Row:
    # A box score's columns grow.
    return {name: value for name, value in row.items() if value is not None}


def count_rows(rows: list[Row]) -> Counter[str]:
    return Counter(repr(sorted(without_nulls(row).items())) for row in rows)


@pytest.mark.parametrize(
    "moves",
    [
        pytest.param([timedelta(days=-40), timedelta(days=30)], id="few"),
        pytest.param([timedelta(days=days) for days in (-40, 20, -1, 10)], id="more", marks=pytest.mark.extended),
    ],
)
def test_rows_lie_in_the_month_of_their_game_and_follow_it(league: Service, archive: sideline.Archive, moves: list[timedelta]) -> None:
    archive.sync(**SPAN, tables=REQUESTED_TABLES)
    for table in ("sessions", "stat_events", "possessions"):
        for month, ids in months(archive, table).items():
            starts = {
                f"{datetime.fromtimestamp(event.start / 1000, UTC):%Y-%m}"
                for event in league.season.events
                for id_ in ids
                if id_ in {event.id, *(session.id for session in event.sessions)}
            }
            assert starts == {month}
    game = next(event for event in league.season.played if event.is_game)
    sessions = {session.id for session in game.sessions}
    for by in moves:
        league.change.move_game(game.id, by)
        archive.sync(**SPAN, tables=REQUESTED_TABLES)
        month = f"{datetime.fromtimestamp(game.start / 1000, UTC):%Y-%m}"
        assert {stored_month for stored_month, ids in months(archive, "stat_events").items() if ids & sessions} == {month}
        assert {stored_month for stored_month, ids in months(archive, "sessions").items() if game.id in ids} == {month}
        assert not untrue(archive, league, STORED_TABLES)
    before = contents(archive, STORED_TABLES)
    for name in ("stat_events", "sessions", "players"):
        archive.rebuild(name)
    assert different_tables(before, contents(archive, STORED_TABLES)) == []


def test_a_correction_rewrites_one_month(league: Service, archive: sideline.Archive) -> None:
    archive.sync(**SPAN, tables=["stat_events"])
    before = set(archive.files("stat_events"))
    assert len({Path(file).parent.name for file in before}) == 2
    game = next(event for event in league.season.played if event.is_game)
    league.change.correct_stat(game.sessions[0].id)
    archive.sync(**SPAN, tables=["stat_events"])
    changed_files = before ^ set(archive.files("stat_events"))
    month = f"{datetime.fromtimestamp(game.start / 1000, UTC):%Y-%m}"
    assert {Path(file).parent.name for file in changed_files} == {f"month={month}"}


def test_nights_write_a_few_times_the_tables_and_leave_few_files(league: Service, archive: sideline.Archive) -> None:
    set_quantities(archive, max_files=5)
    for night in range(7):
        league.season.add_game(league.time - timedelta(hours=10), sessions=1)
        league.change.correct_stat(league.season.played[-1].sessions[0].id)
        archive.sync(**{**SPAN, "correction_window": timedelta(days=2), "tables": ["shots", "games", "events"]})
        league.advance(timedelta(days=1))
        for table in ("shots", "raw", "coverage", "games"):
            folders = Counter(Path(file).parent for file in archive.files(table))
            assert max(folders.values()) <= 5, (night, table)
    history = archive.delta("shots").history()
    assert any(commit["operation"] == "OPTIMIZE" for commit in history)
    assert {commit["sideline"] for commit in history if commit["operation"] in ("WRITE", "OPTIMIZE")} == {sideline.__version__}
    assert not untrue(archive, league, ["shots", "games", "events", "sessions"])


def test_a_vacuum_frees_space_and_keeps_the_past(league: Service, archive: sideline.Archive, tmp_path: Path) -> None:
    archive.sync(**SPAN, tables=REQUESTED_TABLES)
    first = archive.changes()
    noted_at, shots = datetime.now(UTC), archive.to_arrow("shots")
    league.change.correct_stat(league.season.played[-1].sessions[0].id)
    archive.sync(**SPAN, tables=REQUESTED_TABLES)
    between = archive.changes(since=first.version)
    shots_between = between["shots"].table().to_pylist()
    assert shots_between
    files = set(tmp_path.rglob("*.parquet"))
    assert archive.vacuum() == 0, "nothing is older than a week"
    assert set(tmp_path.rglob("*.parquet")) == files
    assert archive.vacuum(retain=timedelta(0)) > 0
    assert set(tmp_path.rglob("*.parquet")) < files
    assert archive.as_of(noted_at).to_arrow("shots").sort_by("occurred_at").to_pylist() == shots.sort_by("occurred_at").to_pylist()
    assert archive.changes(since=noted_at)["shots"].table().to_pylist() == shots_between
    with pytest.raises(ValueError, match=f"version {first.version} was vacuumed: pass the time"):
        archive.changes(since=first.version)
    assert not untrue(archive, league, STORED_TABLES)


@pytest.mark.parametrize("retention", ["7", timedelta(days=-1)])
def test_an_invalid_retention_is_refused(archive: sideline.Archive, retention: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"write timedelta\(days=7\)"):
        archive.vacuum(retain=retention)


@pytest.mark.parametrize(("rounds", "tables"), [(2, STORED_TABLES), pytest.param(5, TABLES, marks=pytest.mark.extended)], ids=["few", "all"])
def test_changes_applied_to_the_old_state_give_the_new(league: Service, archive: sideline.Archive, rounds: int, tables: tuple[str, ...]) -> None:
    requested_tables = REQUESTED_TABLES if tables is STORED_TABLES else TABLES
    dice = random.Random(1)
    memory = Memory()
    memory.note(league.season)
    archive.sync(**SPAN, tables=requested_tables)
    first_changes = {name: rows.table() for name, rows in archive.changes().items()}
    version = archive.changes().version
    assert {
        name: count_rows([{k: v for k, v in row.items() if k != "_change"} for row in rows.to_pylist()])
        for name, rows in first_changes.items()
        if name in tables
    } == {name: count_rows(rows) for name, rows in snapshot(archive, tables).items()}
    assert {change for rows in first_changes.values() for change in rows["_change"].to_pylist()} == {"insert"}
    kinds: Counter[str] = Counter()
    states = [(version, datetime.now(UTC), snapshot(archive, tables))]
    for _ in range(rounds):
        done = [league.change.all[name]() for name in dice.sample(sorted(league.change.all), 3)]
        memory.note(league.season)
        archive.sync(**SPAN, tables=requested_tables)
        archive.sync(**SPAN, tables=requested_tables)
        after = snapshot(archive, tables)
        columns = {name: archive.to_arrow(name).schema.names for name in tables}
        version = archive.changes(since=states[-1][0]).version
        for since, at, before in (states[-1], dice.choice(states)):
            for token in (since, at):
                changes = archive.changes(since=token)
                for name in tables:
                    rows = changes[name].table()
                    assert rows.schema.names[: len(columns[name])] == columns[name] or name == "box_score"
                    kinds.update(rows["_change"].to_pylist())
                    assert apply_changes(name, before[name], rows.to_pylist()) == count_rows(after[name]), (name, token, done)
        states.append((version, datetime.now(UTC), after))
    assert set(kinds) == {"insert", "update", "delete"}
    findings = untrue(archive, league, [name for name in tables if name in TRUE])
    assert not findings, describe(findings)


def test_changes_can_be_written_to_a_table_of_ones_own(archive: sideline.Archive, tmp_path: Path) -> None:
    """deltalake reads a stream in its event loop, of which it has one thread here. There it cannot open a table."""
    deltalake = library("deltalake")
    archive.sync(**SPAN, tables=REQUESTED_TABLES)
    write = Thread(target=deltalake.write_deltalake, args=[tmp_path / "mine", archive.changes()["shots"]], daemon=True)
    write.start()
    write.join(60)
    assert not write.is_alive()
    assert deltalake.DeltaTable(tmp_path / "mine").count() == archive.to_arrow("shots").num_rows > 0


def test_rows_that_a_key_does_not_tell_apart_are_deleted_and_inserted() -> None:
    def teams(*names: str) -> pa.Table:
        return pa.Table.from_pylist([{"team_id": 1, "name": name} for name in names], pa.schema(sideline.SCHEMAS["teams"]))

    def compare(old: pa.Table, new: pa.Table) -> list[tuple[str, str]]:
        return [(row["name"], row["_change"]) for row in difference("teams", old, new).to_pylist()]

    assert compare(teams("a"), teams("b")) == [("b", "update")]
    assert compare(teams("a", "b"), teams("a", "c")) == [("b", "delete"), ("c", "insert")]
    assert compare(teams("a", "a"), teams("a")) == [("a", "delete")]
    assert compare(teams("a"), teams()) == [("a", "delete")]


def test_changes_of_a_version_that_never_was_are_refused(archive: sideline.Archive) -> None:
    with pytest.raises(FileNotFoundError, match="holds no archive"):
        archive.changes()
    archive.sync(**SPAN, tables=["shots"])
    with pytest.raises(ValueError, match="has the versions 0 to"):
        archive.changes(since=100_000)
    changes = archive.changes()
    assert repr(changes).startswith("<sideline.Changes up to version ")
    for other in (pickle.loads(pickle.dumps(changes)), copy.deepcopy(changes)):
        assert (other.version, other["shots"].table()) == (changes.version, changes["shots"].table())


def test_five_readers_have_equal_frames(league: Service, archive: sideline.Archive) -> None:
    archive.sync(**SPAN, tables=["shots", "player_stats", "games"])
    for table in ("shots", "player_stats", "games"):
        names = sideline.SCHEMAS[table].names
        texts = {name: pa.string() for name, kind in zip(names, pa.schema(sideline.SCHEMAS[table]).types, strict=True) if pa.types.is_dictionary(kind)}

        def plain(arrow_table: Any, names: list[str] = names, texts: dict[str, Any] = texts) -> list[Row]:
            arrow_table = arrow_table.select(names)
            fields = [
                pa.field(field.name, texts.get(field.name, pa.timestamp("us", "UTC") if pa.types.is_timestamp(field.type) else field.type))
                for field in arrow_table.schema
            ]
            plain = arrow_table.cast(pa.schema(fields))
            return sorted(plain.to_pylist(), key=repr)

        files = archive.files(table)
        expected = plain(archive.to_arrow(table))
        assert len(expected) > 4
        assert plain(archive.scan(table).collect().to_arrow()) == expected
        assert plain(archive.delta(table).to_pyarrow_table()) == expected
        assert plain(pa.concat_tables([parquet.ParquetFile(file).read() for file in files])) == expected
        assert plain(pl.read_parquet(files).to_arrow()) == expected
        connection = duckdb.connect()
        connection.sql("SET TimeZone = 'UTC'")
        assert plain(connection.sql(f"from read_parquet({files!r})").to_arrow_table()) == expected
        assert plain(archive.sql(f"from {table}").to_arrow()) == expected
        pandas = archive.delta(table).to_pandas()
        assert (
            plain(
                pa.Table.from_pandas(
                    pandas, schema=pa.schema([field for field in archive.delta(table).to_pyarrow_table().schema if field.name in names]), preserve_index=False
                )
            )
            == expected
        )


def test_to_open_a_table_reads_ten_commits_at_most(archive: sideline.Archive) -> None:
    for _ in range(20):
        archive.sync(**{**SPAN, "tables": ["shots"]})
    log = Path(archive._store.root) / "coverage" / "_delta_log"
    version = archive.delta("coverage").version()
    assert version > 20, version
    assert version - json.loads((log / "_last_checkpoint").read_text())["version"] <= 10


def test_a_version_that_is_no_longer_kept_is_refused_with_the_oldest_one(tmp_path: Path, client: sideline.Client, league: Service) -> None:
    archive = archive_with(tmp_path / "season", client, kept_versions=8)
    snapshots: dict[int, dict[str, list[Row]]] = {}
    for _ in range(20):
        league.change.correct_stat()
        archive.sync(**{**SPAN, "tables": ["stat_events"]})
        snapshots[archive.delta("coverage").version()] = snapshot(archive, ["stat_events"])
    with pytest.raises(ValueError, match=r"version 1 is no longer kept; the oldest is \d+: pass the time") as error:
        archive.changes(since=1)
    oldest = int(re.search(r"oldest is (\d+)", str(error.value))[1])  # type: ignore[index]
    version = archive.delta("coverage").version()
    assert version - 18 <= oldest <= version - 8, (oldest, version)
    readable = [number for number in snapshots if number >= oldest]
    assert len(readable) > 5
    for number in readable:
        changes = archive.changes(since=number)["stat_events"].table().to_pylist()
        assert apply_changes("stat_events", snapshots[number]["stat_events"], changes) == count_rows(snapshots[version]["stat_events"]), number


def test_versions_are_kept_by_their_number_and_not_by_their_age(archive: sideline.Archive, league: Service) -> None:
    log = Path(archive._store.root) / "coverage" / "_delta_log"
    first = archive.delta("coverage").version() if log.exists() else 0
    long_ago = time.time() - 60 * 86_400
    for _ in range(12):
        league.change.correct_stat()
        archive.sync(**{**SPAN, "tables": ["stat_events"]})
        for entry in log.iterdir():
            os.utime(entry, (long_ago, long_ago))
    assert archive.delta("coverage").version() > first + 12
    assert archive.changes(since=first)["stat_events"].table().num_rows > 0


def test_a_log_has_few_checkpoints_and_each_version_is_read_from_them(archive: sideline.Archive, league: Service) -> None:
    span = {**SPAN, "tables": ["teams"]}
    archive.sync(**span)
    table = archive.delta("teams")
    for number in range(130):
        table.alter.set_table_properties({"delta.deletedFileRetentionDuration": f"interval {number + 1} days"})
    names = {team.name for team in league.season.teams}
    assert league.change.rename_team()
    archive.sync(**span)
    table = archive.delta("teams")
    log = Path(archive._store.root) / "teams" / "_delta_log"
    first, *later = sorted(int(path.name[:20]) for path in log.glob("*.checkpoint.parquet"))
    assert table.version() - 110 <= first <= table.version() - 100
    assert len(later) == 3
    for version in range(first, table.version()):
        table.load_as_version(version)
        assert set(table.to_pyarrow_table()["name"].to_pylist()) == names, version


def test_tables_say_what_their_columns_mean_and_units_where_they_are_from(league: Service, archive: sideline.Archive) -> None:
    archive.sync(**SPAN, tables=REQUESTED_TABLES)
    table = archive.delta("shots")
    comments = {field.name: field.metadata.get("comment") for field in table.schema().fields}
    assert comments["points"] == "Points scored; 0 for a miss [points]"
    assert all(comments.values()), comments
    assert table.metadata().description == "One row for each field-goal attempt."
    assert table.metadata().partition_columns == ["month"]
    assert table.metadata().configuration["sideline.version"] == sideline.__version__
    # Rows that are written later change no comment.
    league.change.correct_stat(league.season.played[-1].sessions[0].id)
    archive.sync(**SPAN, tables=REQUESTED_TABLES)
    assert {field.name: field.metadata.get("comment") for field in archive.delta("shots").schema().fields} == comments
    rows = archive.delta("coverage").to_pyarrow_table().to_pylist()
    units = [(row["unit"], row["url"], row["served_at"] is not None, row["sideline_version"]) for row in rows if row["status"] == "fetched"]
    assert len(units) > 20
    for unit, url, is_served, version in units:
        assert url.startswith(league.base_url), unit
        assert is_served
        assert version == sideline.__version__
    assert league.secret not in repr(units)
    assert archive.scan("coverage").collect_schema().names() == sideline.SCHEMAS["coverage"].names


def test_small_steps_and_chunks_make_the_same_archive(archive: sideline.Archive, client: sideline.Client, tmp_path: Path) -> None:
    archive.sync(**SPAN, tables=REQUESTED_TABLES)
    expected = contents(archive, REQUESTED_TABLES)
    other = archive_with(tmp_path / "small", client, max_step_bytes=20_000, max_chunk_bytes=50_000, max_part_bytes=15_000, max_bytes_decoded=20_000)
    other.sync(**SPAN, tables=REQUESTED_TABLES)
    assert different_tables(expected, contents(other, REQUESTED_TABLES)) == []
