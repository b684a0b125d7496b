"""Findings about scans, memory, requests and delivery: the desired behaviour, which today's code lacks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from data_seasons import SPAN, archive_in, client_of, new_service, played, sync
from list_seasons import python_peak_of_a_night, serve_long_season
from service import Service

import sideline
from object_store import Bucket, bucket
from postgres_server import new_database, query

adbc_driver_manager = pytest.importorskip("adbc_driver_manager", reason="needs adbc_driver_manager: pip install 'sideline[export]'")
duckdb = pytest.importorskip("duckdb", reason="needs duckdb: pip install 'sideline[archive]'")
pa = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'sideline[archive]'")
pl = pytest.importorskip("polars", reason="needs polars: pip install 'sideline[archive]'")

if TYPE_CHECKING:
    import polars

pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), pytest.mark.timeout(90)]

SESSION_TABLES = ("player_stats", "possessions", "shots")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def league() -> Iterator[Service]:
    with new_service() as league:
        yield league


@pytest.fixture
def client(league: Service) -> Iterator[sideline.Client]:
    with client_of(league) as client:
        yield client


@pytest.fixture(scope="module")
def stored_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with some tables of the season, to be copied."""
    folder = tmp_path_factory.mktemp("archives") / "stored"
    with new_service() as league, client_of(league) as client:
        assert sync(sideline.Archive(folder, client), ("teams", "players", "games", *SESSION_TABLES)).complete
    return folder


@pytest.fixture
def archive(tmp_path: Path, stored_archive: Path, client: sideline.Client) -> sideline.Archive:
    shutil.copytree(stored_archive, tmp_path / "season")
    return archive_in(tmp_path, client)


# 1. A filter by team.


def test_a_filter_by_team_has_the_rows_that_the_whole_table_has(league: Service, client: sideline.Client) -> None:
    others = sorted({team.id for team in league.season.teams} - set(played(league)[0].team_ids))
    guest = others[0]

    def with_guest(body: Any) -> Any:
        return {**body, "teams": [*body["teams"][:-1], {**body["teams"][-1], "id": guest}]}

    league.faults.add("stats_details", path=f"/{played(league)[0].sessions[0].id}/", change=with_guest)
    frame = client.scan("stat_events", **SPAN)
    expected = frame.collect().filter(team_id=guest)
    assert expected.height > 0
    assert frame.filter(team_id=guest).collect().height == expected.height


# 2. Memory and logs.


def test_a_night_with_nothing_new_needs_no_more_python_objects_for_a_longer_season(tmp_path: Path) -> None:
    peaks = {}
    for games in (150, 320):
        with new_service() as league, client_of(league) as client:
            serve_long_season(league, games)
            assert (
                sideline.Archive(tmp_path / str(games), client)
                .sync(start="2026-09-01", end="2027-03-01", tables=("games", "sessions"), progress=False)
                .complete
            )
            peaks[games] = python_peak_of_a_night(league, tmp_path / str(games))
    bytes_per_game = (peaks[320] - peaks[150]) / 170
    assert bytes_per_game < 1_000, f"{bytes_per_game:.0f} bytes for each game: {peaks}"


def test_changes_are_streams_of_record_batches(archive: sideline.Archive) -> None:
    changes = archive.changes()
    shots: Any = changes["shots"]
    assert not isinstance(shots, pa.Table)
    assert sum(batch.num_rows for batch in shots) == archive.to_arrow("shots").num_rows
    assert archive.changes()["shots"].table().num_rows == archive.to_arrow("shots").num_rows


def test_a_tables_log_keeps_at_most_100_versions(league: Service, archive: sideline.Archive, tmp_path: Path) -> None:
    table = archive.delta("teams")
    for number in range(130):
        table.alter.set_table_properties({"delta.deletedFileRetentionDuration": f"interval {number + 1} days"})
    assert league.change.rename_team()
    sync(archive, ("teams",))
    entries = list((tmp_path / "season" / "teams" / "_delta_log").glob("*.json"))
    assert len(entries) <= 110
    assert archive.scan("teams").collect().height == len(league.season.teams)


# 3. A wrong secret in a worker.

READS: dict[str, Callable[[Any, sideline.Client], Any]] = {
    "bodies": lambda part, client: part.bodies(client),
    "read": lambda part, client: part.read(client),
    "batches": lambda part, client: list(part.batches(client)),
}


@pytest.mark.parametrize("read", READS)
def test_a_wrong_secret_ends_a_part_at_the_first_refused_signature(league: Service, client: sideline.Client, read: str) -> None:
    [part] = client.plan("shots", **SPAN).split(1)
    assert len(part) >= 7
    league.requests.clear()
    options = {**league.client_options(), "secret": "not the secret"}
    with sideline.Client(**options, max_concurrency=2, max_retries=0) as worker, pytest.raises(sideline.AuthenticationError):
        READS[read](part, worker)
    assert len(league.requests.all()) == 1


# 4. Scans that stop, and reads that are reused.


def first_three_by_duckdb(frame: polars.LazyFrame) -> int:
    return len(duckdb.sql("select * from frame where stat = 'PTS' limit 3").fetchall())


def first_three(frame: polars.LazyFrame, engine: Literal["in-memory", "streaming"]) -> int:
    return frame.filter(pl.col("stat") == "PTS").head(3).collect(engine=engine).height


ENGINES: dict[str, Callable[[polars.LazyFrame], int]] = {
    "in-memory": lambda frame: first_three(frame, "in-memory"),
    "streaming": lambda frame: first_three(frame, "streaming"),
    "duckdb": first_three_by_duckdb,
}


@pytest.fixture(scope="module")
def long_league() -> Iterator[Service]:
    with new_service(games=20, possessions=3) as league:
        yield league


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_rows_of_a_filter_cost_what_the_page_on_engines_says(long_league: Service, engine: str) -> None:
    long_league.requests.clear()
    with sideline.Client(**long_league.client_options(), max_concurrency=2) as client:
        assert ENGINES[engine](client.scan("stat_events", **SPAN)) == 3
    sessions, requests = len(long_league.season.sessions()), len(long_league.requests.all("stats_details"))
    assert sessions > 40
    if engine == "streaming":
        assert requests <= sessions // 2
    else:
        # docs/scale.md: "request every session of the plan first".
        assert requests == sessions


def test_a_second_query_of_an_archive_that_refreshes_sends_nothing(league: Service, client: sideline.Client, tmp_path: Path) -> None:
    archive = archive_in(tmp_path, client)
    frame: polars.LazyFrame = archive.scan("shots", refresh=True, **SPAN)  # type: ignore[call-arg]
    assert frame.collect().height == len(league.truth()["shots"])
    league.requests.clear()
    assert frame.join(frame, on="session_id").collect().height > 0
    assert archive.scan("shots", refresh=timedelta(minutes=10), **SPAN).collect().height > 0  # type: ignore[call-arg]
    assert league.requests.counts() == {}


def test_a_self_join_of_a_stored_season_requests_each_session_once(league: Service, client: sideline.Client, tmp_path: Path) -> None:
    season = client.season("2026-27", store=tmp_path / "season")  # type: ignore[call-arg]
    frame = season.scan("shots")
    assert frame.join(frame, on="session_id").collect().height > 0
    assert len(league.requests.all("shots")) == len(league.season.sessions())


# 5. Delivery.


@pytest.fixture(scope="module")
def database(postgres: str, stored_archive: Path) -> str:
    """A database of PostgreSQL that has an export of the archive."""
    address = new_database(postgres)
    sideline.Archive(stored_archive).export(address)
    return address


def test_exported_tables_have_primary_keys(database: str) -> None:
    tables = {name for [name] in query(database, "select table_name from information_schema.table_constraints where constraint_type = 'PRIMARY KEY'")}
    assert {"teams", "games", "player_stats", "possessions", "shots"} <= tables


@pytest.mark.parametrize("column", ["game_id", "player_id", "occurred_at"])
def test_exported_tables_have_indexes(database: str, column: str) -> None:
    definitions = [text for [text] in query(database, "select indexdef from pg_indexes where tablename = 'shots'")]
    assert any(column in text for text in definitions), definitions


def test_exported_columns_have_their_meaning_as_a_comment(database: str) -> None:
    text = "select count(col_description(a.attrelid, a.attnum)) from pg_attribute a where a.attrelid = 'shots'::regclass and a.attnum > 0"
    assert int(query(database, text)[0][0]) >= len(sideline.SCHEMAS["shots"].names)


def test_exported_nested_values_are_jsonb(database: str) -> None:
    text = "select column_name, data_type from information_schema.columns where table_name = 'possessions' and column_name like '%player_ids'"
    assert {kind for _, kind in query(database, text)} == {"jsonb"}


def test_an_export_without_changes_writes_no_row(archive: sideline.Archive, tmp_path: Path) -> None:
    target = f"duckdb://{tmp_path}/target.duckdb"
    assert archive.export(target).units > 0
    report = archive.export(target)
    assert report.units == 0
    assert {name: count for name, count in report.rows.items() if count} == {}


def test_an_export_writes_the_chosen_tables(archive: sideline.Archive, tmp_path: Path) -> None:
    archive.export(f"duckdb://{tmp_path}/target.duckdb", tables=["shots", "games"])
    with duckdb.connect(str(tmp_path / "target.duckdb")) as database:
        names = {name for (name,) in database.sql("show tables").fetchall()}
    assert {"shots", "games"} <= names
    assert not names & {"player_stats", "possessions", "stat_events"}


def test_an_export_takes_an_open_connection(archive: sideline.Archive, tmp_path: Path) -> None:
    from adbc_driver_duckdb import dbapi

    with dbapi.connect(str(tmp_path / "target.duckdb")) as connection:
        assert archive.export(connection).units > 0
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from shots")
            assert cursor.fetchone() == (archive.to_arrow("shots").num_rows,)


def test_a_stat_code_that_no_column_can_have_costs_one_column(league: Service, client: sideline.Client, tmp_path: Path) -> None:
    def with_empty_code(body: Any) -> Any:
        body["teams"][0]["player_stats"][0]["stats"][""] = 1
        return body

    league.faults.add("stats", change=with_empty_code, times=1)
    archive = archive_in(tmp_path, client)
    sync(archive, ("player_stats",))
    assert archive.export(f"duckdb://{tmp_path}/target.duckdb").rows["player_stats"] == archive.to_arrow("player_stats").num_rows


# 6. Requests to a bucket.


BUCKET_TABLES = ("games", "sessions", "stat_events", "shots")


@pytest.fixture(scope="module")
def bucket_requests() -> dict[str, int]:
    """How many requests two nights send to a bucket: one with nothing new, and one with a new game."""
    pytest.importorskip("obstore", reason="needs obstore: pip install 'sideline[bucket]'")
    request_lines: list[str] = []
    original = Bucket.__call__

    def count(self: Bucket, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        request_lines.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        return original(self, environ, start_response)

    def requests_of_a_night() -> int:
        request_lines.clear()
        assert sync(archive, BUCKET_TABLES).complete
        return len(request_lines)

    with pytest.MonkeyPatch.context() as patch, new_service() as league, client_of(league) as client, bucket() as store:
        patch.setattr(Bucket, "__call__", count)
        archive = sideline.Archive("s3://bucket/season", client, storage_options=store.options)
        sync(archive, BUCKET_TABLES)
        idle = requests_of_a_night()
        assert league.change.add_game()
        return {"nothing new": idle, "a new game": requests_of_a_night()}


def test_a_night_with_nothing_new_sends_few_requests_to_a_bucket(bucket_requests: dict[str, int]) -> None:
    assert 0 < bucket_requests["nothing new"] <= 60


def test_a_new_game_sends_few_requests_to_a_bucket(bucket_requests: dict[str, int]) -> None:
    # The body of `sessions` has two more tables.
    assert 0 < bucket_requests["a new game"] - bucket_requests["nothing new"] <= 5 * (len(BUCKET_TABLES) + 2)


# 8. What the page on engines leaves out.


@pytest.mark.source
def test_the_page_on_engines_says_which_python_spark_runs() -> None:
    assert "PYSPARK_PYTHON" in (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


# 9. The cost before, the proof afterwards.


def test_a_plan_estimates_its_cost_before_a_body_is_requested(league: Service, client: sideline.Client) -> None:
    plan = client.plan("shots", **SPAN)
    league.requests.clear()
    cost = plan.estimate()
    assert cost.requests == len(plan)
    assert cost.bytes > 0
    assert cost.seconds is None
    assert league.requests.counts() == {}


def test_a_published_season_can_be_verified(archive: sideline.Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sideline import cli

    release = tmp_path / "release"
    archive.publish(release)
    assert (release / "manifest.json").exists()
    assert cli.main(["verify", str(release)]) == 0
    next((release / "shots").glob("*.parquet")).write_bytes(b"changed")
    assert cli.main(["verify", str(release)]) == 1
    assert "shots" in capsys.readouterr().out
