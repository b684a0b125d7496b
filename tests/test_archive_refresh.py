"""Scans that bring the archive up to date first, against the second service."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from service import Season, Service

import sideline

pl = pytest.importorskip("polars", reason="needs polars: pip install 'sideline[archive]'")
pytest.importorskip("deltalake", reason="needs deltalake: pip install 'sideline[archive]'")

if TYPE_CHECKING:
    import polars

pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), pytest.mark.timeout(120)]

EARLY, DAY = datetime(2027, 2, 9, tzinfo=UTC), timedelta(days=1)
"""The day of the first game of a season that ends on 2027-03-01."""

SPAN: dict[str, Any] = {"start": "2026-07-01", "end": "2027-07-01"}


@pytest.fixture(scope="module")
def season_end() -> datetime:
    """When the seasons of `league` and `complete` end. By default a season ends in the minute in which it is made."""
    return datetime.now(UTC)


@pytest.fixture
def league(season_end: datetime) -> Iterator[Service]:
    with Service(Season(7, now=season_end, games=4)) as league:
        yield league


@pytest.fixture
def client(league: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**league.client_options()) as client:
        yield client


@pytest.fixture
def archive(tmp_path: Path, client: sideline.Client) -> sideline.Archive:
    return sideline.Archive(tmp_path / "season", client)


@pytest.fixture(scope="module")
def complete(season_end: datetime, tmp_path_factory: pytest.TempPathFactory) -> sideline.Archive:
    """All shots of what `league` has."""
    with Service(Season(7, now=season_end, games=4)) as league, sideline.Client(**league.client_options()) as client:
        archive = sideline.Archive(tmp_path_factory.mktemp("complete") / "season", client)
        archive.sync(**SPAN, tables="shots", progress=False)
    return archive


@pytest.fixture(scope="module")
def begun_late(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, sideline.Archive]]:
    """A service, and an archive of it without the first five days."""
    with Service(seed=3, now="2027-03-01T12:00:00Z") as service, sideline.Client(**service.client_options()) as client:
        archive = sideline.Archive(tmp_path_factory.mktemp("late") / "season", client)
        archive.sync(start=EARLY + 5 * DAY, end="2027-03-01", progress=False)
        yield service, archive


def games_of(league: Service) -> list[Any]:
    return list({event.id: event for event, _ in league.season.sessions() if event.is_game}.values())


def test_a_second_query_sends_nothing_in_this_process_and_the_next(league: Service, client: sideline.Client, archive: sideline.Archive, tmp_path: Path) -> None:
    rows_before = archive.scan("shots", refresh=True, **SPAN).collect()
    assert rows_before.height == len(league.truth()["shots"])
    league.requests.clear()
    assert archive.scan("shots", refresh=True, **SPAN).filter(pl.col("is_make")).collect().height > 0
    assert sideline.Archive(tmp_path / "season", client).scan("shots", refresh=timedelta(minutes=5), **SPAN).collect().equals(rows_before)
    assert league.requests.counts() == {}


def test_what_is_older_than_allowed_is_requested_again(league: Service, archive: sideline.Archive) -> None:
    archive.scan("shots", refresh=True, **SPAN).collect()
    league.requests.clear()
    archive.scan("shots", refresh=timedelta(0), **SPAN).collect()
    assert league.requests.all("team_events")


def test_a_filter_by_game_of_a_stored_season_requests_that_game_alone(league: Service, archive: sideline.Archive) -> None:
    archive.sync(**SPAN, tables="shots", correction_window=None)
    game = games_of(league)[0]
    league.requests.clear()
    rows = archive.scan("shots", refresh=True).filter(game_id=game.id).collect()
    assert rows.height == sum(row["game_id"] == game.id for row in league.truth()["shots"])
    counts = league.requests.counts()
    assert counts.keys() <= {"game", "shots"}
    assert sum(counts.values()) <= 1 + len(game.sessions)
    league.requests.clear()
    assert archive.scan("shots", refresh=True).filter(pl.col("game_id").is_in([game.id])).collect().height == rows.height
    assert league.requests.counts() == {}


@pytest.mark.parametrize("key", ["game_id", "session_id"])
def test_a_filter_by_a_key_of_an_empty_archive_requests_only_its_bodies(league: Service, archive: sideline.Archive, key: str) -> None:
    event = games_of(league)[0]
    value = event.id if key == "game_id" else event.sessions[0].id
    rows = archive.scan("shots", refresh=True, **SPAN).filter(pl.col(key) == value).collect()
    assert rows.height == sum(row[key] == value for row in league.truth()["shots"]) > 0
    assert len(league.requests.all("shots")) <= len(event.sessions)


@pytest.mark.parametrize("table", ["games", "sessions", "events"])
def test_a_table_that_was_never_stored_is_read_for_a_known_game(
    archive: sideline.Archive, client: sideline.Client, league: Service, tmp_path: Path, table: Any
) -> None:
    archive.sync(**SPAN, tables="shots")
    complete = sideline.Archive(tmp_path / "complete", client)
    complete.sync(**SPAN, tables=table)
    game_id = games_of(league)[0].id
    expected = complete.scan(table).filter(game_id=game_id).collect()
    assert expected.height > 0
    rows = archive.scan(table, refresh=True).filter(game_id=game_id).collect()
    assert rows.height == expected.height


def test_an_unknown_game_has_no_row_and_is_not_requested_twice(league: Service, archive: sideline.Archive) -> None:
    frame = archive.scan("shots", refresh=True, **SPAN).filter(game_id="no-such-game")
    assert frame.collect().height == 0
    assert league.requests.all("shots") == []
    league.requests.clear()
    assert frame.collect().height == 0
    assert league.requests.counts() == {}


FILTERS: dict[str, Callable[[Any, str, str], polars.Expr]] = {
    "not equal": lambda col, first, _: col("game_id") != first,
    "prefix": lambda col, first, _: col("game_id").str.starts_with(first[:3]),
    "or": lambda col, first, other: (col("game_id") == first) | (col("game_id") == other),
    "or another column": lambda col, first, _: (col("game_id") == first) | col("is_make"),
    "and": lambda col, first, _: (col("game_id") == first) & col("is_make") & (col("player_id") > 0),
    "no key": lambda col, *_: col("is_make"),
    "null": lambda col, *_: col("game_id").is_null(),
    "not in": lambda col, first, _: ~col("game_id").is_in([first]),
    "literal first": lambda col, first, _: pl.lit(first) == col("game_id"),
    "equal or null": lambda col, first, _: col("game_id").eq_missing(pl.lit(None, pl.String)) | (col("game_id") == first),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_query_has_the_rows_of_a_complete_archive(archive: sideline.Archive, league: Service, complete: sideline.Archive, name: str) -> None:
    first, other = (event.id for event in games_of(league)[:2])
    predicate = FILTERS[name](pl.col, first, other)
    rows = archive.scan("shots", refresh=True, **SPAN).filter(predicate).collect()
    expected = complete.scan("shots").filter(predicate).collect()
    assert rows.sort(pl.all()).equals(expected.sort(pl.all()))


def test_a_limit_counts_the_rows_after_a_filter(archive: sideline.Archive) -> None:
    frame = archive.scan("shots", refresh=True, **SPAN)
    assert frame.filter(pl.col("is_make")).head(3).select("is_make").collect().to_series().to_list() == [True] * 3
    assert frame.head(3).filter(pl.col("is_make")).collect().height <= 3


def test_the_times_of_a_filter_are_the_range(league: Service, archive: sideline.Archive) -> None:
    earliest = min(row["occurred_at"] for row in league.truth()["shots"])
    at = earliest if isinstance(earliest, datetime) else datetime.fromtimestamp(earliest / 1000, UTC)
    rows = archive.scan("shots", refresh=True).filter(pl.col("occurred_at") >= at, pl.col("occurred_at") < at + timedelta(minutes=5)).collect()
    assert rows.height > 0
    assert len(league.requests.all("schedule")) == 1


@pytest.mark.parametrize(
    "condition",
    [
        lambda at: at.is_between(EARLY, EARLY + DAY),
        lambda at: at.is_between(EARLY, EARLY + DAY, closed="none"),
        lambda at: at.dt.date().is_between(EARLY.date(), EARLY.date()),
        lambda at: at.dt.date() == EARLY.date(),
        lambda at: (at >= EARLY.date()) & (at < (EARLY + DAY).date()),
        lambda at: (at > EARLY) & ~(at > EARLY + DAY),
        lambda at: at.is_between(EARLY, EARLY + DAY) | (at > EARLY + 2 * DAY),
        lambda at: (at == EARLY + timedelta(seconds=40)) | at.is_between(EARLY, EARLY + DAY),
    ],
)
def test_all_times_that_a_filter_allows_are_in_the_range(
    condition: Callable[[polars.Expr], polars.Expr], begun_late: tuple[Service, sideline.Archive], tmp_path: Path
) -> None:
    service, late_archive = begun_late
    matching = condition(pl.col("occurred_at"))
    shots = pl.DataFrame(service.truth()["shots"], schema_overrides={"occurred_at": pl.Datetime("ms", "UTC")})
    with sideline.Client(**service.client_options()) as client:
        archive = sideline.Archive(shutil.copytree(late_archive.info().root, tmp_path / "season"), client)
        rows = archive.scan("shots", refresh=True).filter(matching).collect()
    assert late_archive.scan("shots").filter(matching).collect().height < rows.height == shots.filter(matching).height


@pytest.mark.parametrize(
    "condition",
    [
        lambda at: at.is_between(EARLY, datetime.max.replace(tzinfo=UTC)),
        lambda at: (at >= EARLY) & (at < datetime(2999, 1, 1, tzinfo=UTC)),
        lambda at: (at >= EARLY) & (at >= datetime.min.replace(tzinfo=UTC)),
        lambda at: (at >= datetime(1970, 1, 1, tzinfo=UTC)) & (at < EARLY + DAY),
        lambda at: at == datetime.max.replace(tzinfo=UTC),
        lambda at: at >= datetime(2101, 1, 1, tzinfo=UTC),
        lambda at: at > datetime(2028, 1, 1, tzinfo=UTC),
        lambda at: at < EARLY - 30 * DAY,
        lambda at: (at > EARLY + 9 * DAY) & (at < EARLY - 9 * DAY),
    ],
    ids=["to the end", "without an end", "from the beginning", "from 1970", "at the end", "beyond 2100", "to come", "before", "never"],
)
def test_any_times_of_a_filter_are_a_range(
    condition: Callable[[polars.Expr], polars.Expr], begun_late: tuple[Service, sideline.Archive], tmp_path: Path
) -> None:
    """A filter is no argument: what no range of the service can be is a smaller one, or none of its rows exist."""
    service, late_archive = begun_late
    matching = condition(pl.col("occurred_at"))
    shots = pl.DataFrame(service.truth()["shots"], schema_overrides={"occurred_at": pl.Datetime("ms", "UTC")})
    with sideline.Client(**service.client_options()) as client:
        archive = sideline.Archive(shutil.copytree(late_archive.info().root, tmp_path / "season"), client)
        for _ in range(2):
            service.requests.clear()
            assert archive.scan("shots", refresh=True).filter(matching).collect().height == shots.filter(matching).height
        assert service.requests.counts() == {}


def test_a_hole_raises_and_is_closed_by_the_next_query(league: Service, archive: sideline.Archive) -> None:
    event = games_of(league)[0]
    league.faults.add("shots", path=f"/{event.sessions[0].id}/", status=400, times=1)
    frame = archive.scan("shots", refresh=True, **SPAN)
    with pytest.raises(sideline.IncompleteError, match="shots/"):
        frame.collect()
    assert frame.collect().height == len(league.truth()["shots"])


def test_a_hole_in_another_table_does_not_stop_a_query(league: Service, archive: sideline.Archive) -> None:
    event = games_of(league)[0]
    league.faults.add("possessions", path=f"/{event.sessions[0].id}/", status=400, times=1)
    with pytest.raises(sideline.IncompleteSync, match="possessions/"):
        archive.sync(**SPAN, tables=("possessions",), progress=False)
    assert archive.scan("shots", refresh=True, **SPAN).collect().height == len(league.truth()["shots"])
    # A sync tells of all that its range lacks.
    with pytest.raises(sideline.IncompleteSync, match="possessions/"):
        archive.sync(**SPAN, tables=("shots",), progress=False)


def test_a_hole_elsewhere_does_not_stop_a_query_of_one_game(league: Service, archive: sideline.Archive) -> None:
    first, other = games_of(league)[:2]
    league.faults.add("shots", path=f"/{other.sessions[0].id}/", status=400)
    with pytest.raises(sideline.IncompleteError):
        archive.scan("shots", refresh=True, **SPAN).collect()
    assert archive.scan("shots", refresh=True, **SPAN).filter(game_id=first.id).collect().height > 0


def test_an_empty_archive_needs_a_range(archive: sideline.Archive) -> None:
    with pytest.raises(ValueError, match="start= and end="):
        archive.scan("shots", refresh=True).collect()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("coverage", {"refresh": True}, "without refresh"),
        ("shots", {"start": "2026-07-01"}, "refresh="),
        ("shots", {"refresh": True, "start": "2027-01-02", "end": "2027-01-01"}, "after"),
        ("shot", {"refresh": True}, "shots"),
    ],
)
def test_arguments_that_say_nothing_are_refused(archive: sideline.Archive, name: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        archive.scan(name, **options)


SCRIPT = """
import sys, json, sideline
client = sideline.Client(**json.loads(sys.argv[1]))
print(sideline.Archive(sys.argv[2], client).scan("shots", refresh=True, start="2026-07-01", end="2027-07-01").collect().height)
"""


def test_two_processes_share_the_requests(league: Service, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, json.dumps(league.client_options()), str(tmp_path / "season")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    counts = [process.communicate(timeout=100)[0].strip() for process in running]
    assert counts == [str(len(league.truth()["shots"]))] * 2
    assert len(league.requests.all("shots")) == len(league.season.sessions())


def test_a_query_of_sql_refreshes_the_tables_that_it_names(league: Service, archive: sideline.Archive) -> None:
    query = "select count(*) as shots from shots join sessions using (session_id)"
    sessions = len(league.truth()["sessions"])
    assert archive.sql("select count(*) as sessions from sessions", refresh=True, **SPAN).to_dicts() == [{"sessions": sessions}]
    assert league.requests.all("shots") == []
    assert archive.sql(query, refresh=True, **SPAN)["shots"][0] > 0
    assert len(league.requests.all("shots")) > 0
    assert league.requests.all("stats") == []
    league.requests.clear()
    archive.sql(query, refresh=timedelta(minutes=10), **SPAN)
    assert league.requests.counts() == {}
    league.change.correct_stat()
    archive.sql(query, refresh=timedelta(0), **SPAN)
    assert league.requests.all("shots")


def test_a_query_of_sql_with_a_hole_or_without_a_table_to_refresh_is_refused(league: Service, archive: sideline.Archive) -> None:
    with pytest.raises(ValueError, match="names no table that a sync refreshes"):
        archive.sql("select count(*) from coverage", refresh=True, **SPAN)
    with pytest.raises(sideline.QueryError, match="takes one select, not drop"):
        archive.sql("drop view shots", refresh=True, **SPAN)
    with pytest.raises(sideline.QueryError, match="syntax error"):
        archive.sql("select from from", refresh=True, **SPAN)
    with pytest.raises(ValueError, match="give refresh= too"):
        archive.sql("from shots", **SPAN)
    with pytest.raises(ValueError, match="the archive is empty"):
        archive.sql("from shots", refresh=True)
    assert league.requests.counts() == {}
    league.faults.add("shots", status=404, times=1)
    with pytest.raises(sideline.IncompleteSync):
        archive.sql("from shots", refresh=True, **SPAN)


def test_before_the_first_game_a_query_has_no_row(tmp_path: Path) -> None:
    with Service(games=0, practices=0, upcoming=1) as league, sideline.Client(**league.client_options()) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(**SPAN, tables=["games", "shots"], progress=False)
        assert archive.scan("shots", refresh=True).collect().is_empty()
        league.requests.clear()
        assert archive.scan("shots", refresh=True).collect().is_empty()
        assert league.requests.counts() == {}


SMALL: dict[str, Any] = {"seed": 3, "teams": 2, "games": 4, "sessions": (2, 2), "possessions": 4, "practices": 1, "days": 20}
SMALL_SPAN: dict[str, Any] = {"start": "2027-01-15", "end": "2027-04-01"}
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def small() -> Iterator[Service]:
    """A short season that is read in a second, in the middle of which it is now."""
    with Service(now=NOON.isoformat(), **SMALL) as league:
        yield league


@pytest.fixture
def small_archive(tmp_path: Path, small: Service) -> Iterator[sideline.Archive]:
    with sideline.Client(**small.client_options(), max_retries=0) as client:
        yield sideline.Archive(tmp_path / "small", client)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[timedelta]:
    """How far this machine's clock is ahead: the last value counts."""
    offsets = [timedelta(0)]
    for module in ("_refresh", "_ledger", "_sync"):
        monkeypatch.setattr(f"sideline.archive.{module}.now", lambda: datetime.now(UTC) + offsets[-1])
    return offsets


def rows_of(league: Service, table: str, **keys: str) -> int:
    return sum(all(row[key] == value for key, value in keys.items()) for row in league.truth()[table])


def test_a_game_that_one_range_lacks_is_found_in_another(small: Service, small_archive: sideline.Archive) -> None:
    game = [game for game in small.season.games if game.sessions][-1]
    starts_at = datetime.fromtimestamp(game.start / 1000, UTC)

    def count(days: int) -> int:
        start = starts_at + timedelta(days=days)
        frame = small_archive.scan("shots", refresh=True, start=start, end=start + timedelta(days=9))
        return frame.filter(game_id=game.id).collect().height

    assert count(-20) == 0
    assert count(-3) == rows_of(small, "shots", game_id=game.id) > 0


def test_a_game_that_the_times_of_a_filter_exclude_is_found_by_another(small: Service, small_archive: sideline.Archive) -> None:
    game = [game for game in small.season.games if game.sessions][-1]
    starts_at = datetime.fromtimestamp(game.start / 1000, UTC)
    frame = small_archive.scan("shots", refresh=True).filter(game_id=game.id)
    assert frame.filter(pl.col("occurred_at") >= starts_at + timedelta(days=3)).collect().height == 0
    assert frame.filter(pl.col("occurred_at") >= starts_at - timedelta(days=1)).collect().height == rows_of(small, "shots", game_id=game.id) > 0


@pytest.mark.parametrize("scope", ["range", "game"])
def test_a_hole_that_a_later_sync_found_raises(small: Service, small_archive: sideline.Archive, scope: str) -> None:
    game = next(game for game in small.season.games if game.sessions)
    frame = small_archive.scan("shots", refresh=True, **SMALL_SPAN)
    frame = frame if scope == "range" else frame.filter(session_id=game.sessions[-1].id)
    frame.collect()
    fault = small.faults.add("shots", path=game.sessions[-1].id, status=500)
    assert not small_archive.sync(**SMALL_SPAN, correction_window=None, on_error="keep", progress=False).complete
    with pytest.raises(sideline.IncompleteError, match="shots/"):
        frame.collect()
    small.faults.remove(fault)
    assert frame.collect().height > 0
    small.requests.clear()
    frame.collect()
    assert small.requests.counts() == {}


def test_a_refreshed_table_has_the_columns_that_a_stored_one_has(small: Service, small_archive: sideline.Archive) -> None:
    frame = small_archive.scan("box_score", refresh=True, **SMALL_SPAN)
    with pytest.warns(UserWarning, match="scan it again for FGA3_OTD, FGA_OTD"):
        frame.collect()
    columns = small_archive.scan("box_score").collect_schema().names()
    assert {"FGA_OTD", "FGA3_OTD"} <= {*columns}
    rows = small_archive.scan("box_score", refresh=True, **SMALL_SPAN).collect()
    assert rows.columns == columns
    assert rows["FGA_OTD"].null_count() < rows.height


def test_the_age_of_what_a_slow_sync_read_counts_from_its_start(small: Service, small_archive: sideline.Archive, clock: list[timedelta]) -> None:
    frame = small_archive.scan("shots", refresh=timedelta(minutes=10), **SMALL_SPAN)

    def pass_time(body: Any) -> Any:
        clock.append(timedelta(minutes=8))
        return body

    small.faults.add("shots", times=1, change=pass_time)
    frame.collect()
    small.change.add_game()
    clock.append(timedelta(minutes=11))
    assert frame.collect().height == rows_of(small, "shots")


def test_a_body_is_not_trusted_for_longer_by_a_second_query(small: Service, small_archive: sideline.Archive, clock: list[timedelta]) -> None:
    frame = small_archive.scan("player_stats", refresh=timedelta(minutes=10), **SMALL_SPAN)
    session = next(game for game in small.season.games if game.sessions).sessions[0]
    frame.filter(session_id=session.id).collect()
    clock.append(timedelta(minutes=8))
    frame.collect()
    small.change.correct_stat(session.id)
    clock.append(timedelta(minutes=16))
    small.requests.clear()
    frame.collect()
    assert small.requests.all("stats")


def test_what_a_clock_ahead_read_is_not_trusted(small: Service, small_archive: sideline.Archive, clock: list[timedelta]) -> None:
    frame = small_archive.scan("shots", refresh=True, **SMALL_SPAN)
    frame.collect()
    clock.append(timedelta(days=-20))
    small.change.add_game()
    small.requests.clear()
    assert frame.collect().height == rows_of(small, "shots")
    assert len(small.requests.all("shots")) > len(small.season.games[-1].sessions) > 0


@pytest.mark.parametrize("way", ["scan", "sql"])
def test_games_to_come_are_read_where_a_filter_has_no_end(small: Service, small_archive: sideline.Archive, way: str) -> None:
    small_archive.sync(**SMALL_SPAN, progress=False)
    game = next(game for game in small.season.games if not game.sessions)
    small.change.change_status(game.id, "POSTPONED")
    small.change.schedule_game(NOON + timedelta(days=4))
    if way == "scan":
        rows = small_archive.scan("games", refresh=timedelta(0)).filter(pl.col("tipoff_at") > NOON).collect().to_dicts()
    else:
        rows = small_archive.sql("from games where tipoff_at > timestamp '2027-03-01 12:00:00'", refresh=timedelta(0)).to_dicts()
    assert len(rows) == 2
    assert {str(row["status"]) for row in rows if row["game_id"] == game.id} == {"POSTPONED"}


def test_a_session_that_returns_within_the_age_is_read_again(small: Service, small_archive: sideline.Archive) -> None:
    game = next(game for game in small.season.games if game.sessions)
    session = game.sessions[1]
    small_archive.sync(**SMALL_SPAN, progress=False)
    game.sessions.remove(session)
    small.season.revision += 1
    small_archive.sync(**SMALL_SPAN, progress=False)
    assert small_archive.scan("shots").filter(session_id=session.id).collect().height == 0
    game.sessions.append(session)
    small.season.revision += 1
    rows = small_archive.scan("shots", refresh=True, **SMALL_SPAN).filter(session_id=session.id).collect()
    assert rows.height == rows_of(small, "shots", session_id=session.id) > 0


def test_a_query_that_needs_no_sync_writes_nothing(small: Service, small_archive: sideline.Archive, tmp_path: Path) -> None:
    frame = small_archive.scan("shots", refresh=True, **SMALL_SPAN)
    rows = frame.collect().height
    lock = tmp_path / "small" / "_refresh.lock"
    # A folder stands for one that cannot be written: root could write to any.
    lock.unlink()
    lock.mkdir()
    assert frame.collect().height == rows
    assert small_archive.sql("select count(*) as rows from shots", refresh=True, **SMALL_SPAN).to_dicts() == [{"rows": rows}]


def test_a_session_that_moved_to_another_game_is_found(small: Service, small_archive: sideline.Archive) -> None:
    small_archive.sync(**SMALL_SPAN, progress=False)
    before, after = [game for game in small.season.games if game.sessions][:2]
    session = before.sessions[1]
    before.sessions.remove(session)
    after.sessions.append(session)
    small.season.revision += 1
    rows = small_archive.scan("shots", refresh=timedelta(0)).filter(session_id=session.id).collect()
    assert rows.height == rows_of(small, "shots", session_id=session.id) > 0
    assert set(rows["game_id"]) == {after.id}
