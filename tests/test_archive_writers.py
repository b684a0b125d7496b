"""Another writer commits between two steps of ours: no body is lost, and the newer one counts."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from archives import MONTH, NO_MONTH, Body, Commit, Killed, Outcome, Store, Unit, archive_on, around_commits, internal_schemas, is_in, now, settings, store_of
from needs import ARCHIVE, library, require

import sideline
from object_store import bucket
from sideline.archive import _writer as writer
from sideline.archive._compaction import compact, compact_all, compaction_size
from sideline.archive._fetch import read
from sideline.archive._ledger import mark_listed, update_facts
from sideline.archive._raw import batches_of
from sideline.archive._read import bodies, coverage, coverage_of, last_listed, to_dicts

require(*ARCHIVE, extra="archive")
deltalake = library("deltalake")
pa = library("pyarrow")

CLOCK = datetime(2027, 3, 1, tzinfo=UTC)


def outcome(session: str, points: int, version: int) -> Outcome:
    body = {"teams": [{"id": 1, "player_stats": [{"id": 2, "version": version, "stats": {"PTS": points}}]}]}
    unit = Unit("stats", session, game_id="g", session_id=session)
    return read(unit, json.dumps(body).encode(), now(), served_at=datetime(2027, 1, 1, 12, 0, version, tzinfo=UTC))


def outcome_with(code: str, session: str) -> Outcome:
    """A box score that has another stat code than all others."""
    body = {"teams": [{"id": 1, "player_stats": [{"id": 2, "version": 1, "stats": {"PTS": 1, code: 5}}]}]}
    return read(Unit("stats", session, game_id="g", session_id=session), json.dumps(body).encode(), now())


def outcome_in(month: int, session: str, points: int, version: int) -> Outcome:
    output = outcome(session, points, version)
    when = datetime(2027, month, 2, tzinfo=UTC)
    output.unit = replace(output.unit, starts_at=when, over_at=when)
    return output


def write(store: Store, *outcomes: Outcome) -> None:
    previous_rows = {row["unit"]: row for row in coverage(store)}
    writer.write_outcomes(store, outcomes, writer.Context("sync", CLOCK, previous_rows), now)


def points(store: Store) -> dict[str, float]:
    table = store.open("box_score")
    assert table is not None
    rows = table.to_pyarrow_table().to_pylist()
    assert len(rows) == len({row["session_id"] for row in rows}), rows
    return {row["session_id"]: row["PTS"] for row in rows}


def body_ids(store: Store) -> dict[str, str]:
    return {row["unit"]: row["body_id"] for row in coverage(store)}


@pytest.fixture(params=["folder", "bucket"])
def stores(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """Two writers of one archive."""
    if request.param == "folder":
        yield store_of(tmp_path), store_of(tmp_path)
        return
    with bucket() as fake_bucket:
        first, second = (sideline.Archive("s3://bucket/season", storage_options=fake_bucket.options)._store for _ in range(2))
        yield first, second


@contextmanager
def between(store: Store, name: str, number: int, call: Callable[[], object]) -> Iterator[list[int]]:
    """Call something once when a store is about to commit to a table for the n-th time; 0: never. The list has an item for each commit."""
    commits: list[int] = []

    def call_before_commit(committing_store: Store, table: Any, rows: Any, commit: Commit) -> bool:
        if committing_store is store and table.table_uri.rstrip("/").endswith(name):
            commits.append(1)
            if len(commits) == number:
                call()
        return commit()

    with around_commits(call_before_commit):
        yield commits


@pytest.mark.parametrize(("table", "number"), [("coverage", 1), ("raw", 1), ("box_score", 1), ("coverage", 2)])
def test_a_newer_body_of_another_writer_stays(stores: tuple[Store, Store], table: str, number: int) -> None:
    """It comes before `coverage` reserves the new unit, while ours is stored, or before `coverage` records the outcomes."""
    store, other_store = stores
    write(store, outcome("a", 1, version=1))
    newer = outcome("a", 3, version=30)
    with between(store, table, number, lambda: write(other_store, newer)):
        write(store, outcome("a", 2, version=20), outcome("b", 7, version=20))
    assert points(store) == {"a": 3, "b": 7}
    assert newer.body is not None
    assert body_ids(store)["stats/a"] == newer.body.id
    assert {row["unit"] for row in bodies(store)} == {"stats/a", "stats/b"}


def test_coverage_is_written_twice_and_read_once_where_nobody_else_writes(stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    original = writer.coverage_of
    monkeypatch.setattr(writer, "coverage_of", lambda *arguments, **options: (reads.append(1), original(*arguments, **options))[1])
    with between(stores[0], "coverage", 0, lambda: None) as commits:
        write(stores[0], outcome("a", 1, version=1), outcome("b", 2, version=1))
    assert (len(commits), len(reads)) == (2, 1)


def test_two_writers_of_one_entry_lose_no_body_where_bodies_are_written_in_parts(stores: tuple[Store, Store]) -> None:
    """Another writer stores a body of the second part while the first part is written."""
    store, other_store = stores
    store.settings = other_store.settings = settings(max_part_bytes=1)
    store.open_or_create("raw", internal_schemas()["raw"])
    first, second, other = outcome("a", 1, version=1), outcome("b", 2, version=1), outcome("b", 3, version=2)
    with between(store, "raw", 1, lambda: writer.store_bodies(other_store, [other], {}, now())):
        places = writer.store_bodies(store, [first, second], {}, now())
    stored_bodies = {row["entry"]: row["body"] for row in bodies(store)}
    assert stored_bodies == {entry: output.body.raw for entry, output in (("stats/a#1", first), ("stats/b#1", other), ("stats/b#2", second)) if output.body}
    assert {unit: sequence for unit, (sequence, _) in places.bodies.items()} == {"stats/a": 1, "stats/b": 2}


def test_parts_are_added_however_often_another_writer_commits(stores: tuple[Store, Store]) -> None:
    """Each part counts as progress, so that the number of attempts bounds no archive."""
    store, other_store = stores
    store.settings = other_store.settings = settings(max_part_bytes=1, max_write_attempts=1)
    count = iter(range(1_000))

    def commit_second(committing_store: Store, table: Any, rows: Any, commit: Commit) -> bool:
        if committing_store is store:
            writer.store_bodies(other_store, [outcome(f"other-{next(count)}", 1, version=1)], {}, now())
        return commit()

    store.open_or_create("raw", internal_schemas()["raw"])
    outcomes = [outcome(f"mine-{number}", 1, version=1) for number in range(5)]
    with around_commits(commit_second):
        places = writer.store_bodies(store, outcomes, {}, now())
    stored_units = {row["unit"] for row in bodies(store)}
    assert {output.unit.name for output in outcomes} <= stored_units
    assert len(places.bodies) == 5


def test_rows_of_another_writer_are_seen(stores: tuple[Store, Store]) -> None:
    store, other_store = stores

    def read_ids() -> dict[str, str]:
        table = store.open("coverage")
        assert table is not None
        ids = {row["unit"]: row["body_id"] for row in coverage_of(store, table, body_ids(other_store), prefixes=("stats/",))}
        assert ids == body_ids(other_store)
        rows = [row for batch in store.select(table) for row in to_dicts(batch)]
        assert rows == table.to_pyarrow_dataset().to_table().to_pylist()
        return ids

    write(other_store, outcome("a", 1, version=1), outcome("b", 1, version=1))
    assert set(read_ids()) == set(read_ids()) == {"stats/a", "stats/b"}
    write(other_store, outcome("a", 2, version=2))
    write(other_store, outcome("c", 2, version=2))
    assert set(read_ids()) == {"stats/a", "stats/b", "stats/c"}
    compact_all(other_store, ["coverage", "raw"])
    assert set(read_ids()) == {"stats/a", "stats/b", "stats/c"}
    store.forget_files()
    assert set(read_ids()) == {"stats/a", "stats/b", "stats/c"}


def test_objects_of_a_bucket_are_kept_up_to_a_bound(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    mib = 1024 * 1024
    store.keep_object("large", bytes(mib + 1))
    assert store._objects == {}
    for number in range(5):
        store.keep_object(f"{number}", bytes(mib))
    assert [*store._objects] == ["1", "2", "3", "4"]
    store.settings = settings(max_kept_bytes=10)
    store.keep_object("5", b"a body")
    assert [*store._objects] == ["5"]


def test_the_places_of_bodies_of_another_writer_are_seen(stores: tuple[Store, Store]) -> None:
    store, other_store = stores
    for number in range(1, 4):
        write(store if number % 2 else other_store, outcome("a", number, version=number))
    assert {row["entry"] for row in bodies(store)} == {"stats/a#1", "stats/a#2", "stats/a#3"}


def test_a_table_with_features_that_pyarrow_cannot_read_is_an_error(tmp_path: Path) -> None:
    """Rows that another engine marked as deleted would come back."""
    schema = internal_schemas()["listings"]
    table = deltalake.DeltaTable.create(str(tmp_path / "listings"), schema, configuration={"delta.enableDeletionVectors": "true"})
    deltalake.write_deltalake(table, pa.table({"listed": ["a"], "listed_at": [CLOCK]}, schema), mode="append")
    with pytest.raises(deltalake.exceptions.DeltaProtocolError, match="deletionVectors"):
        list(store_of(tmp_path).select(table))


def test_entries_that_another_writer_lists_meanwhile_stay(stores: tuple[Store, Store]) -> None:
    store, other_store = stores
    early, late = datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
    mark_listed(store, {})
    assert store.open("listings") is None
    mark_listed(store, {"b": early, "m": early, "o'neil": early})
    with between(store, "listings", 1, lambda: mark_listed(other_store, {"a": early, "n": early, "z": early})):
        mark_listed(store, {"m": late})
    assert last_listed(store) == {"a": early, "b": early, "m": late, "n": early, "o'neil": early, "z": early}
    table = store.open("listings")
    assert table is not None
    assert table.to_pyarrow_dataset().count_rows() == 6


def test_times_and_lists_become_the_values_that_pyarrow_makes() -> None:
    before = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    rows = [
        {"unit": "a", "over_at": None, "teams": None, "final": True, "rows": 3},
        {"unit": "b", "over_at": before, "teams": [1, 2], "final": None, "rows": None},
        {"unit": "c", "over_at": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), "teams": [], "final": False, "rows": 0},
    ]
    table = writer.rows_to_arrow(rows, "coverage")
    assert to_dicts(table) == table.to_pylist()
    assert to_dicts(table.slice(0, 0)) == []


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1] * 12, None),
        ([1] * 13, 14),
        ([1] * 12 + [100], 13),
        ([3, 1] * 6 + [1000], 25),
        ([100] + [1] * 12, 113),
        ([5] * 4 + [50] * 10, 21),
        ([10**8] * 13, 128 * 1024 * 1024),
    ],
)
def test_the_newest_files_are_joined_until_an_older_one_outweighs_them(sizes: list[int], expected: int | None) -> None:
    assert compaction_size(sizes, 128 * 1024 * 1024, settings().max_files) == expected


@pytest.mark.parametrize("stores", ["folder", pytest.param("bucket", marks=pytest.mark.extended)], indirect=True)
@pytest.mark.parametrize(("table", "file_count"), [("coverage", 1), ("raw", 3)])
def test_files_of_a_past_month_are_joined_when_a_later_one_is_compacted(stores: tuple[Store, Store], table: str, file_count: int) -> None:
    """Otherwise each commit would read what is known of more files each month. Bodies stay: they are half of the bytes."""
    store, _ = stores
    units: list[str] = []

    def add(month: str, count: int) -> dict[str, int]:
        for _ in range(count):
            units.append(f"stats/{len(units)}")
            row = writer.rows_to_arrow([{"unit": units[-1], "entry": units[-1], "month": month}], table)
            store.replace(table, lambda row=row: row, is_in("unit", units[-1:]))  # type: ignore[misc]
        compact(store, [table])
        delta_table = store.open(table)
        assert delta_table is not None
        assert sorted(delta_table.to_pyarrow_table()["unit"].to_pylist()) == sorted(units)
        return dict(Counter(Path(file).parent.name.removeprefix("month=") for file in delta_table.file_uris()))

    add("2026-11", 3)
    add("undated", 3)
    add("2027-01", 3)
    assert add("2026-12", 12) == {"2026-11": 3, "2026-12": 12, "2027-01": 3, "undated": 3}
    assert add("2026-12", 1) == {"2026-11": file_count, "2026-12": 1, "2027-01": 3, "undated": 3}


def test_a_replaced_table_is_opened_once_and_has_the_rows_of_other_writers(stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """To open a table takes longer each night: all of its log since the last checkpoint is read."""
    store, other_store = stores
    opened_tables: list[str] = []
    open_table = Store.open
    monkeypatch.setattr(Store, "open", lambda self, name: (opened_tables.append(name) if self is store else None, open_table(self, name))[1])
    for number in range(3):
        for writing_store, session in ((store, "a"), (other_store, "b")):
            rows = writer.rows_to_arrow([{"change": f"{session}{number}", "month": "x"}, {"change": session}], "corrections")
            writing_store.replace("corrections", lambda rows=rows: rows, is_in("change", [f"{session}{number}", session]))  # type: ignore[misc]
    compact(store, ["corrections"])
    assert opened_tables == ([] if store.logs else ["corrections"]), "the first time it is not there yet, and is created; a copy of the log says so"
    table = open_table(store, "corrections")
    assert table is not None
    assert sorted(table.to_pyarrow_table()["change"].to_pylist()) == ["a", "a0", "a1", "a2", "b", "b0", "b1", "b2"]


def test_no_two_threads_have_the_same_opened_table(stores: tuple[Store, Store]) -> None:
    """One would wait for the table and the other for Python's lock. The tests of kills have six writers."""
    store, _ = stores
    rows = writer.rows_to_arrow([{"change": "a"}], "corrections")
    store.replace("corrections", lambda: rows, is_in("change", ["a"]))
    first, second = store.reopen("corrections"), store.reopen("corrections")
    assert first is not second
    assert first is not None
    assert second is not None
    assert first.version() == second.version()


def test_a_correction_reads_the_bodies_of_its_month(stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would read every body of the season."""
    store, _ = stores
    months = []
    original = writer.bodies
    monkeypatch.setattr(writer, "bodies", lambda *arguments, **options: (months.append(options.get("months")), original(*arguments, **options))[1])

    write(store, outcome_in(1, "a", 1, version=1), outcome_in(2, "b", 1, version=1))
    months.clear()
    previous_rows = {row["unit"]: row for row in coverage(store)}
    corrections = writer.write_outcomes(store, [outcome_in(2, "b", 3, version=2)], writer.Context("sync", CLOCK, previous_rows), now)
    assert [(row["session_id"], row["old"], row["new"]) for row in corrections] == [("b", "1.0", "3.0")]
    assert months == [{"2027-02"}]
    # Its game moved: the body before is in the month before.
    months.clear()
    previous_rows = {row["unit"]: row for row in coverage(store)}
    corrections = writer.write_outcomes(store, [outcome_in(1, "b", 4, version=3)], writer.Context("sync", CLOCK, previous_rows), now)
    assert [(row["session_id"], row["old"], row["new"]) for row in corrections] == [("b", "3.0", "4.0")]
    assert months == [{"2027-02"}]


def team(version: int) -> list[Outcome]:
    """A team and its roster: the names of other units lie between theirs."""
    served_at = datetime(2027, 1, 1, 12, 0, version, tzinfo=UTC)
    bodies_ = {"roster": {"id": 1, "players": [{"id": 2, "version": version}]}, "teams": {"teams": [{"id": 1, "name": f"v{version}"}]}}
    return [read(Unit(name, "1", team_id=1), json.dumps(body).encode(), now(), served_at=served_at) for name, body in bodies_.items()]


@pytest.fixture
def opened_months(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The table and month of each file of `coverage` and `raw` that a store opens."""
    months: list[tuple[str, str]] = []
    open_file = Store.open_file

    def open_and_note(store: Store, table: Any, file: Any) -> Any:
        if (name := table.table_uri.rstrip("/").rpartition("/")[2]) in ("coverage", "raw"):
            months.append((name, file["partition.month"]))
        return open_file(store, table, file)

    monkeypatch.setattr(Store, "open_file", open_and_note)
    return months


def test_a_writer_reads_the_months_of_what_it_writes(tmp_path: Path, opened_months: list[tuple[str, str]]) -> None:
    """A night would read the names and then the rows of every unit of the season."""
    store = store_of(tmp_path)
    write(store, *team(1), outcome_in(1, "a", 1, version=1), outcome_in(2, "b", 1, version=1))
    previous_rows = {row["unit"]: row for row in coverage(store)}
    opened_months.clear()
    writer.write_outcomes(store, team(2), writer.Context("sync", CLOCK, previous_rows), now)
    assert {*opened_months} == {("coverage", NO_MONTH), ("raw", NO_MONTH)}
    opened_months.clear()
    writer.write_outcomes(store, [outcome_in(2, "b", 2, version=2)], writer.Context("sync", CLOCK, previous_rows), now)
    assert {month for name, month in opened_months if name == "coverage"} == {"2027-02"}
    assert points(store) == {"a": 1.0, "b": 2.0}


def test_a_unit_that_another_writer_moved_is_not_stored_twice(tmp_path: Path) -> None:
    own_store, other_store = (store_of(tmp_path) for _ in range(2))
    write(own_store, outcome_in(1, "a", 1, version=1))
    previous_rows = {row["unit"]: row for row in coverage(own_store)}
    write(other_store, outcome_in(3, "a", 2, version=2))
    writer.write_outcomes(own_store, [outcome_in(2, "a", 3, version=3)], writer.Context("sync", CLOCK, previous_rows), now)
    assert [(row["unit"], row[MONTH], row["sequence"]) for row in coverage(own_store)] == [("stats/a", "2027-02", 3)]
    assert points(own_store) == {"a": 3.0}


def test_a_stat_code_is_stored_also_if_another_writer_creates_the_table_meanwhile(stores: tuple[Store, Store]) -> None:
    store, other_store = stores

    def kill() -> None:
        raise Killed

    def create() -> None:
        with between(other_store, "box_score", 1, kill), pytest.raises(Killed):
            write(other_store, outcome_with("HUSTLE", "b"))

    with between(store, "raw", 1, create):
        write(store, outcome_with("GRIT", "a"))
    write(other_store, outcome_with("HUSTLE", "b"))
    table = store.open("box_score")
    assert table is not None
    rows = table.to_pyarrow_table().to_pylist()
    assert {(row["session_id"], row["GRIT"], row["HUSTLE"]) for row in rows} == {("a", 5, None), ("b", None, 5)}


def test_a_stat_code_in_another_case_than_that_of_another_writer_is_a_clear_error(tmp_path: Path) -> None:
    store, other_store = store_of(tmp_path), store_of(tmp_path)
    with between(store, "raw", 1, lambda: write(other_store, outcome_with("HUSTLE", "b"))), pytest.raises(TimeoutError, match="sync again"):
        write(store, outcome_with("hustle", "a"))
    write(store, outcome_with("hustle", "a"))
    assert [row["status"] for row in coverage(store) if row["unit"] == "stats/a"] == ["failed"]


def test_each_new_file_of_box_scores_has_every_column_of_the_table(tmp_path: Path) -> None:
    """Programs that do not read Delta Lake take the columns of one file for those of all."""
    store = store_of(tmp_path)
    for part in ([outcome_with("HUSTLE", "a"), outcome_in(1, "b", 1, version=1)], [outcome_in(2, "c", 1, version=1)]):
        write(store, *part)
    columns = [library("pyarrow.parquet").ParquetFile(file).schema.names for file in tmp_path.glob("box_score/**/*.parquet")]
    assert len(columns) == 3
    assert "HUSTLE" in columns[0] == columns[1] == columns[2]


def test_the_rosters_of_few_teams_are_in_memory_at_once(tmp_path: Path) -> None:
    rosters = []
    for team in range(64):
        raw = json.dumps({"id": team, "players": [{"id": 7}], "padding": " " * 200_000}).encode()
        rosters.append(read(Unit("roster", str(team), team_id=team), raw, now()))
    assert {roster.status for roster in rosters} == {"fetched"}, rosters[0].error
    store = store_of(tmp_path)
    write(store, outcome("a", 1, version=1))
    tracemalloc.start()
    write(store, *rosters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


def test_a_session_that_has_another_game_in_another_month_is_not_stored_twice(tmp_path: Path) -> None:
    """The sync read only the month of the game that has the session now."""
    store = store_of(tmp_path)
    write(store, outcome_in(1, "a", 1, version=1))
    writer.write_outcomes(store, [outcome_in(2, "a", 2, version=2)], writer.Context("sync", CLOCK, {}), now)
    assert [(row["unit"], row[MONTH], row["sequence"]) for row in coverage(store)] == [("stats/a", "2027-02", 2)]
    assert points(store) == {"a": 2.0}


def test_bodies_are_handed_over_without_a_column_that_grows(tmp_path: Path) -> None:
    rows = [{"entry": f"stats/{number}#1", "sequence": 1, "body": bytes([number]) * 1_000} for number in range(1, 45)] + [{"entry": "stats/0#2", "sequence": 2}]
    waiting = [{**row, MONTH: "2027-02", "body": Body(row["body"]) if "body" in row else None} for row in rows]
    batches = [batch for _, batch in batches_of(store_of(tmp_path), waiting)]
    assert [batch.num_rows for batch in batches] == [16, 16, 13]
    table = pa.Table.from_batches(batches)
    table.validate(full=True)
    large = {**waiting[0], "body": Body(bytes(2_000_000))}
    assert [batch.num_rows for _, batch in batches_of(store_of(tmp_path), [waiting[0], large, waiting[1]])] == [1, 1, 1]
    assert table.equals(writer.rows_to_arrow(rows, "raw").drop_columns([MONTH]))


@pytest.mark.parametrize("stores", ["folder", pytest.param("bucket", marks=pytest.mark.extended)], indirect=True)
def test_a_writer_gives_up_after_forty_others_were_faster(stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "wait", lambda _store, _attempt: None)
    store, other_store = stores
    row = pa.table({"made_at": [CLOCK], "change": [None], "seen_at": [None]}, schema=internal_schemas()["reports"])
    other_store.replace("reports", lambda: row, None)
    attempts = 0

    def commit_second(_store: Store, table: Any, rows: Any, commit: Commit) -> bool:
        nonlocal attempts
        attempts += 1
        deltalake.write_deltalake(other_store.open("reports"), row, mode="overwrite")
        return commit()

    with around_commits(commit_second), pytest.raises(TimeoutError, match="other writers changed reports again and again"):
        store.replace("reports", lambda: row, None)
    assert attempts == 40


@pytest.mark.parametrize("number", [1, 2], ids=["before the rows", "after the rows"])
@pytest.mark.parametrize("is_new", [True, False], ids=["a new session", "a corrected one"])
def test_a_rebuild_keeps_the_rows_that_a_sync_has_not_accounted_for_yet(stores: tuple[Store, Store], *, is_new: bool, number: int) -> None:
    store, other_store = stores
    if not is_new:
        write(store, outcome("a", 1, version=1))
    table, number = ("box_score", 1) if number == 1 else ("coverage", 2 if is_new else 1)
    with between(store, table, number, lambda: archive_on(other_store).rebuild("box_score")) as commits:
        write(store, outcome("a", 2, version=20))
    assert len(commits) >= number
    assert points(other_store) == {"a": 2}


def served_later(output: Outcome, second: int) -> Outcome:
    """The same body in a later response."""
    return replace(output, served_at=datetime(2027, 1, 1, 12, 0, second, tzinfo=UTC))


def test_rows_that_were_restored_too_late_are_replaced_by_a_writer_with_the_same_body(stores: tuple[Store, Store]) -> None:
    """Ours restores the rows of the second body, while the third, which equals ours, is stored and accounted for."""
    store, other_store = stores
    write(store, outcome("a", 1, version=1))
    first = outcome("a", 2, version=20)
    with between(store, "coverage", 1, lambda: write(other_store, outcome("a", 3, version=30))):
        with between(store, "box_score", 2, lambda: write(other_store, served_later(first, 40))) as commits:
            write(store, first)
    assert len(commits) > 2
    assert points(store) == {"a": 2}


def test_a_writer_whose_rows_were_replaced_by_restored_ones_writes_them_again(stores: tuple[Store, Store]) -> None:
    """Ours restores the rows of the second body after those of the third are written, and ends before that is accounted for."""
    store, other_store = stores
    third_store = sideline.Archive(other_store.root)._store if other_store.is_local else pickle.loads(pickle.dumps(other_store))
    third_store.options = other_store.options
    write(store, outcome("a", 1, version=1))
    has_rows, is_restored = Event(), Event()

    def account_later() -> None:
        has_rows.set()
        assert is_restored.wait(60)

    def write_third() -> None:
        with between(third_store, "coverage", 1, account_later):
            write(third_store, outcome("a", 4, version=40))

    thread = Thread(target=write_third)

    def begin_third() -> None:
        thread.start()
        assert has_rows.wait(60)

    with between(store, "coverage", 1, lambda: write(other_store, outcome("a", 3, version=30))), between(store, "box_score", 2, begin_third):
        write(store, outcome("a", 2, version=20))
    assert points(store) == {"a": 3}
    is_restored.set()
    thread.join(60)
    assert points(store) == {"a": 4}
    [row] = coverage(store)
    assert row["sequence"] == max(body["sequence"] for body in bodies(store))


@pytest.mark.parametrize("times", [1, 1000], ids=["once", "again and again"])
def test_a_compaction_comes_after_other_writers(stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    store, other_store = stores
    write(store, outcome("a", 1, version=1))
    write(store, outcome("b", 2, version=1))
    properties = Store.writer_properties
    commits: list[str] = []

    def commit_first(self: Store, name: str) -> Any:
        if self is store and len(commits) < times:
            commits.append(name)
            write(other_store, outcome("a", 2 + len(commits), version=1 + len(commits) % 50))
        return properties(self, name)

    monkeypatch.setattr(Store, "writer_properties", commit_first)
    monkeypatch.setattr(Store, "wait", lambda _store, _attempt: None)
    if times == 1:
        compact_all(store, ["box_score"])
        assert points(store) == {"a": 3, "b": 2}
    else:
        store.settings = settings(max_write_attempts=3)
        with pytest.raises(TimeoutError, match="other writers changed box_score again and again"):
            compact_all(store, ["box_score"])


def test_changes_have_the_rows_of_a_game_whose_new_month_has_no_body_yet(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    write(store, outcome("a", 1, version=1), outcome("b", 2, version=1))
    [unit] = [outcome("a", 1, version=1).unit]
    when = datetime(2027, 2, 2, tzinfo=UTC)
    moved_unit = replace(unit, starts_at=when, over_at=when)
    # Its event has moved, and the session is not requested again yet.
    update_facts(store, {unit.name: moved_unit}, {row["unit"]: row for row in coverage(store)})
    assert {row["unit"]: row[MONTH] for row in coverage(store)}[unit.name] == "2027-02"
    rows = sideline.Archive(tmp_path).changes()["box_score"].table()
    assert sorted(zip(rows["session_id"].to_pylist(), rows["PTS"].to_pylist(), strict=True)) == [("a", 1.0), ("b", 2.0)]
