"""Positions in an archive: a `Tracking` without a request, and the season's tables of loads and defenders."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from needs import library
from service import Service, instant

import sideline

pl = library("polars")
deltalake = library("deltalake")

SOURCES = ["locations", "shots", "possessions", "stat_events", "sessions", "players"]
NOW = "2027-03-01T12:00:00Z"


@pytest.fixture(scope="module")
def service() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=7, teams=4, games=4, now=NOW) as service:
        yield service


@pytest.fixture(scope="module")
def client(service: sideline.Simulator) -> Iterator[sideline.Client]:
    with service.client() as client:
        yield client


@pytest.fixture
def archive(tmp_path: Path, client: sideline.Client, service: sideline.Simulator) -> sideline.Archive:
    archive = sideline.Archive(tmp_path / "season", client)
    archive.sync(game_ids=[game_id(service)], tables=SOURCES).raise_if_incomplete()
    return archive


def game_id(service: sideline.Simulator) -> str:
    event_id: str = service.games[0]["event_id"]
    return event_id


def rows(table: Any) -> list[dict[str, Any]]:
    return sorted(table.to_dicts(), key=lambda row: [str(row[name]) for name in ("session_id", "player_id", "period", *(["row"] if "row" in row else []))])


def test_stored_positions_answer_like_those_of_the_service(archive: sideline.Archive, client: sideline.Client, service: sideline.Simulator) -> None:
    requests = len(service.requests)
    stored_tracking = archive.tracking(game_id(service))
    assert len(service.requests) == requests
    live = client.tracking(game_id(service), progress=False)
    assert rows(stored_tracking.loads()) == rows(live.loads())
    assert rows(stored_tracking.defenders()) == rows(live.defenders())
    assert rows(archive.scan("tracking_loads").collect()) == rows(live.loads())
    columns = [name for name in sideline.SCHEMAS["tracking_defenders"].names if name != "row"]
    season = archive.scan("tracking_defenders").collect().select(columns).sort("occurred_at", "player_id")
    assert season.to_dicts() == live.defenders().to_polars().select(columns).sort("occurred_at", "player_id").to_dicts()


@pytest.mark.extended
def test_positions_of_football_are_those_of_a_field(tmp_path: Path) -> None:
    with sideline.Simulator(seed=7, sport="football", teams=4, games=4, now=NOW) as service, service.client() as client:
        archive = sideline.Archive(tmp_path / "football", client)
        archive.sync(game_ids=[game_id(service)], tables=["tracking_loads"]).raise_if_incomplete()
        live = client.tracking(game_id(service), progress=False)
        locations = client.locations(*client.game(game_id(service)).to_polars("sessions").select("session_id", "started_at", "ended_at").row(0))
        sessions = client.game(game_id(service)).to_polars("sessions")
    stored_tracking = archive.tracking(game_id(service))
    assert stored_tracking.court == "football"
    assert rows(stored_tracking.loads()) == rows(live.loads())
    assert set(stored_tracking.coverage()["frames_off_court"]) == {0}
    # A jump on the field, 40 m from its middle.
    frame = locations.to_polars().filter(pl.col("player_id") == live.loads()["player_id"][0]).sort("t")
    far_frame = frame.with_columns(x=pl.lit(0.0), y=pl.when(pl.int_range(pl.len()) == 50).then(pl.lit(-40_000.0)).otherwise(pl.lit(40_000.0)))
    assert "no_teleport" in set(sideline.audit(sessions=sessions, locations=far_frame)["rule"])


def test_season_tables_are_read_like_any_other(archive: sideline.Archive, tmp_path: Path) -> None:
    scanned_loads = archive.scan("tracking_loads").collect()
    assert scanned_loads.columns == sideline.SCHEMAS["tracking_loads"].names
    [count] = archive.sql("select count(*) as rows from tracking_loads")["rows"]
    assert count == scanned_loads.height > 20
    assert archive.info().rows["tracking_loads"] == count
    done = archive.export(f"duckdb:///{tmp_path}/season.duckdb")
    assert done.rows["tracking_loads"] == count


@pytest.mark.parametrize("table", ["tracking_loads", "tracking_defenders"])
def test_a_lost_season_table_is_an_error_until_a_sync_computes_it_again(
    archive: sideline.Archive, service: sideline.Simulator, tmp_path: Path, table: str
) -> None:
    before = archive.to_arrow(table)
    shutil.rmtree(tmp_path / "season" / table)
    with pytest.raises(FileNotFoundError, match=f"has no {table}, though rows of it were stored: the next sync makes {table} again"):
        archive.scan(table)
    archive.sync(game_ids=[game_id(service)], tables=SOURCES)
    assert rows(pl.from_arrow(archive.to_arrow(table))) == rows(pl.from_arrow(before)) != []


def test_a_second_sync_computes_nothing_again(archive: sideline.Archive, service: sideline.Simulator) -> None:
    before = archive.scan("tracking_sources").collect()
    archive.sync(game_ids=[game_id(service)], tables=SOURCES)
    assert archive.scan("tracking_sources").collect().equals(before)


def test_answers_of_earlier_formulas_are_computed_again(archive: sideline.Archive, service: sideline.Simulator, tmp_path: Path) -> None:
    before = archive.scan("tracking_sources").collect()
    deltalake.DeltaTable(tmp_path / "season" / "tracking_sources").update({"signature": "'2' || substr(signature, 2)"})
    archive.sync(game_ids=[game_id(service)], tables=SOURCES)
    after = archive.scan("tracking_sources").collect()
    assert sorted(after["signature"]) == sorted(before["signature"])
    assert after["computed_at"].min() > before["computed_at"].max()


def test_a_changed_body_is_computed_again(archive: sideline.Archive, client: sideline.Client, service: sideline.Simulator) -> None:
    before = archive.scan("tracking_defenders").collect()
    with service.client() as other:
        session = other.game(game_id(service)).table("sessions")["session_id"][0]
        body = other.shots(session).to_dict()
    for team in body["teams"]:
        for player in team["player_shots"]:
            player["shots"] = player["shots"][:1]
    service.faults.add(path=f"/v1/data/stats/{session}/shots", body=body, status=200)
    archive.sync(game_ids=[game_id(service)], tables=SOURCES, correction_window=None)
    service.faults.clear()
    after = archive.scan("tracking_defenders").collect()
    of_session = pl.col("session_id") == session
    assert after.filter(of_session).height < before.filter(of_session).height
    assert after.filter(~of_session).height == before.filter(~of_session).height


def test_the_verdict_is_that_of_the_sources(archive: sideline.Archive) -> None:
    status = archive.status().to_polars()
    verdicts = dict(zip(status["table"], status["status"], strict=True))
    assert verdicts["tracking_loads"] == verdicts["tracking_defenders"]
    assert verdicts["tracking_loads"] in {verdicts[name] for name in ("locations", "shots", "possessions", "stat_events")}


def test_a_hole_raises_or_is_kept(tmp_path: Path, client: sideline.Client, service: sideline.Simulator) -> None:
    session = client.game(game_id(service)).table("sessions")["session_id"][1]
    service.faults.add(path=f"/v1/data/stats/{session}/shots", status=503)
    archive = sideline.Archive(tmp_path / "holes", client)
    archive.sync(game_ids=[game_id(service)], tables=SOURCES, on_error="keep")
    service.faults.clear()
    with pytest.raises(sideline.IncompleteError, match=f"shots/{session}"):
        archive.tracking(game_id(service))
    partial_tracking = archive.tracking(game_id(service), on_error="keep")
    assert partial_tracking.loads().num_rows > 20
    with pytest.raises(sideline.IncompleteError, match="no locations of game"):
        archive.tracking("another-game")
    with pytest.raises(ValueError, match="on_error"):
        archive.tracking(game_id(service), on_error="ignore")  # type: ignore[arg-type]


def test_a_table_names_what_it_needs(tmp_path: Path, client: sideline.Client, service: sideline.Simulator) -> None:
    archive = sideline.Archive(tmp_path / "named", client)
    archive.sync(game_ids=[game_id(service)], tables=["tracking_loads"])
    assert archive.scan("tracking_loads").collect().height > 20


def test_the_morning_report_has_loads_and_shots_with_their_coverage(archive: sideline.Archive, tmp_path: Path, client: sideline.Client) -> None:
    html = archive.report().html
    assert "Loads and shot quality" in html
    game_loads = archive.tracking(archive.scan("sessions").collect()["game_id"][0]).loads(by="player_id").to_dicts()
    by_distance = sorted(game_loads, key=lambda row: row["distance_m"])
    # In one half a player without a position is a player who was not seen.
    of_one_half = next(row for row in by_distance if row["session_id"] is not None)
    for row in (by_distance[-1], of_one_half):
        text = re.search(rf">{round(row['distance_m']):,}<.*?>(\d+)%<", html, re.DOTALL)
        assert text is not None
        assert int(text[1]) == pytest.approx(100 * row["seen_share"], abs=1)
    assert "with a known defender" in html
    without_positions = sideline.Archive(tmp_path / "plain", client)
    without_positions.sync(game_ids=[client.schedule("2026-10-01", "2027-04-01").table()["game_id"][0]], tables=["shots"])
    assert "Loads and shot quality" not in without_positions.report().html


def test_the_morning_report_says_of_which_sessions_the_loads_are(tmp_path: Path) -> None:
    now = datetime(2027, 3, 5, 12, tzinfo=UTC)
    size = {"teams": 3, "players": 6, "games": 2, "sessions": (2, 2), "possessions": 3, "practices": 0, "upcoming": 0, "days": 8}
    span: dict[str, Any] = {"start": "2027-01-01", "end": "2027-04-01", "tables": SOURCES, "on_error": "keep", "progress": False}
    with Service(seed=5, now=now, **size) as league, sideline.Client(**league.client_options(), max_retries=0) as client:
        first, last = ([session.id for session in game.sessions] for game in league.season.games)

        def with_more_frames(body: Any) -> Any:
            """Ten a second, for two seconds after each."""
            return [{"locations": [{**sample, "t": sample["t"] + 100 * frame} for sample in batch["locations"]]} for batch in body for frame in range(20)]

        def texts(name: str, *holes: str) -> list[str]:
            league.faults.clear()
            for session in holes:
                league.faults.add("locations", path=session, status=503)
            league.faults.add("locations", change=with_more_frames)
            archive = sideline.Archive(tmp_path / name, client)
            archive.sync(**span)
            [section] = re.findall(r"<h2>Loads and shot quality</h2>(.*?)<table", archive.report().html, re.DOTALL)
            return re.findall("<p>(.*?)</p>", section)

        def starts(*sessions: str) -> str:
            times = [f"{instant(league.season.session(session)[1].start):%Y-%m-%d %H:%M} UTC" for session in sessions]  # type: ignore[index]
            return f"Of {len(sessions)} session{'s' * (len(sessions) > 1)} that began from {times[0]} to {times[-1]}."

        missing = "The positions of {} of that night or later are missing: see below."
        assert texts("complete") == [starts(*last)]
        assert texts("start", last[0]) == [starts(last[1]), missing.format("1 session")]
        assert texts("end", last[1]) == [starts(last[0]), missing.format("1 session")]
        assert texts("night", *last) == [starts(*first), missing.format("2 sessions")]


def test_the_morning_report_names_players_without_a_roster_and_has_no_table_without_rows(tmp_path: Path, client: sideline.Client) -> None:
    season = sideline.Archive(tmp_path / "season", client)
    practice = (
        client.team_events(client.teams().table()["team_id"][0], "2026-10-01", "2027-03-01")
        .to_polars("events")
        .filter(is_practice_event=True)
        .row(0, named=True)
    )
    span = {"start": practice["started_at"] - timedelta(minutes=1), "end": practice["started_at"] + timedelta(minutes=1)}
    season.sync(team_ids=[practice["team_id"]], **span, tables=["locations", "shots", "box_score", "sessions"]).raise_if_incomplete()
    [section] = re.findall(r"<h2>Loads and shot quality</h2>.*?</section>", season.report().html, re.DOTALL)
    lines = season.scan("box_score").collect().filter(~pl.col("is_team_total"))
    names = {f"{row['first_name']} {row['last_name']}" for row in lines.to_dicts()}
    assert {*re.findall(r'<th scope="row">(.*?)</th>', section)} <= names
    assert "Shots by openness" not in section


def test_answers_of_a_moved_game_keep_the_positions_that_could_not_be_read_again(tmp_path: Path) -> None:
    """The stored positions are in the month in which the game was."""
    now = datetime(2027, 3, 5, 12, tzinfo=UTC)
    size = {"teams": 3, "players": 6, "games": 2, "sessions": (1, 1), "possessions": 3, "practices": 0, "upcoming": 0, "days": 8}
    with Service(seed=5, now=now, **size) as league, sideline.Client(**league.client_options(), max_retries=0) as client:
        archive = sideline.Archive(tmp_path, client)
        span: dict[str, Any] = {"start": "2027-01-01", "end": "2027-04-01", "tables": SOURCES, "correction_window": None, "progress": False}
        archive.sync(**span)
        [game, _] = league.season.games
        session = game.sessions[0].id
        before = archive.scan("tracking_loads").filter(session_id=session).collect()
        assert before.height == 10
        assert league.change.move_game(game.id, timedelta(days=-35))
        assert league.change.insert_possession(session)
        league.faults.add("locations", status=503)
        report = archive.sync(**span, on_error="keep")
        assert {hole["operation"] for hole in report.holes} == {"locations"}
        assert archive.scan("tracking_loads").filter(session_id=session).collect()["player_id"].sort().to_list() == before["player_id"].sort().to_list()
