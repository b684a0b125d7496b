"""Findings about the simulated game and what is shown of games: the desired behaviour, which today's code lacks."""

from __future__ import annotations

import http.client
import inspect
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_fakes import Connection, fake, take, updates
from needs import library

import sideline
from sideline import metrics

pl = library("polars")

NOW = "2027-03-01T12:00:00Z"
FOOT = 304.8
"""Millimetres."""

pytestmark = pytest.mark.timeout(60)


@dataclass
class Shot:
    """A shot beside the positions at its time."""

    is_make: bool
    named_ids: list[int]
    """The defenders that the service names."""
    nearest: int
    distance: float
    """Of the nearest opponent, in feet."""
    named_distance: float | None
    distance_before: float | None
    """Of the nearest opponent one second before."""
    opponents_in_half: int


@dataclass
class Play:
    """What positions and events say of four games."""

    shots: list[Shot] = field(default_factory=list)
    speeds: list[np.ndarray[Any, Any]] = field(default_factory=list)
    """In metres a second, of each player and step while the clock runs."""
    ball_is_with_owner: list[np.ndarray[Any, Any]] = field(default_factory=list)
    """Whether the player nearest to the ball is of the team that has it."""


@pytest.fixture(scope="module")
def play() -> Play:
    play = Play()
    with sideline.Simulator(seed=7, teams=4, games=24, now=NOW) as service, service.client() as client:
        for game in [game["event_id"] for game in service.games[:4]]:
            body = client.game(game)
            shots = client.game_shots(game).table().to_polars()
            windows = body.table("location_windows").to_polars().sort("start")
            for session in body.table("sessions")["session_id"]:
                own_windows = windows.filter(pl.col("session_id") == session)
                rows = client.locations(session, own_windows["start"][0], own_windows["end"][-1]).table().to_polars()
                possessions = client.possessions(session).table("possessions").to_polars()
                add_session(play, rows, shots.filter(pl.col("session_id") == session), possessions)
    return play


def add_session(play: Play, rows: pl.DataFrame, shots: pl.DataFrame, possessions: pl.DataFrame) -> None:
    rows = rows.filter(pl.col("x").is_not_null()).with_columns(pl.col("t").dt.epoch("ms")).sort("t", "player_id")
    players = rows.filter(pl.col("type") == "PLAYER")
    positions = players.select("team_id", "player_id", "x", "y").to_numpy()
    times, starts = np.unique(players["t"].to_numpy(), return_index=True)
    ends = np.append(starts[1:], len(positions))

    def frame(at: float) -> np.ndarray[Any, Any] | None:
        index = int(np.abs(times - at).argmin())
        return positions[starts[index] : ends[index]] if abs(times[index] - at) <= 500 else None

    def distances(frame: np.ndarray[Any, Any], x: float, y: float) -> np.ndarray[Any, Any]:
        return np.asarray(np.hypot(frame[:, 2] - x, frame[:, 3] - y) / FOOT)

    for shot in shots.to_dicts():
        at = shot["occurred_at"].timestamp() * 1000
        now, before = frame(at), frame(at - 1000)
        if now is None:
            continue
        opponents = now[now[:, 0] != shot["team_id"]]
        away = distances(opponents, shot["player_x"], shot["player_y"])
        named_ids = shot["defender_ids"] or []
        at_named = [distance for player, distance in zip(opponents[:, 1], away, strict=True) if player in named_ids]
        shooter = None if before is None else before[before[:, 1] == shot["player_id"]]
        if before is not None and shooter is not None and len(shooter):
            earlier: float | None = distances(before[before[:, 0] != shot["team_id"]], shooter[0, 2], shooter[0, 3]).min()
        else:
            earlier = None
        in_half = int((np.sign(opponents[:, 3]) == np.sign(shot["hoop_y"])).sum())
        nearest = int(opponents[away.argmin(), 1])
        play.shots.append(Shot(shot["is_make"], named_ids, nearest, away.min(), min(at_named, default=None), earlier, in_half))
    step = players.sort("player_id", "t").with_columns(
        step=pl.col("t").diff().over("player_id"),
        clock=pl.col("game_clock_s").diff().over("player_id"),
        moved=(pl.col("x").diff() ** 2 + pl.col("y").diff() ** 2).sqrt().over("player_id"),
    )
    moving = step.filter((pl.col("step") > 0) & (pl.col("step") <= 500) & (pl.col("clock") < 0))
    play.speeds.append((moving["moved"] / moving["step"]).to_numpy())
    owners = possessions.select("team_id", pl.col("start_timestamp").dt.epoch("ms"), pl.col("end_timestamp").dt.epoch("ms")).to_numpy()
    balls = rows.filter(pl.col("type") == "BALL").unique("t", keep="first", maintain_order=True)
    near = players.join(balls.select("t", bx="x", by="y"), on="t").with_columns(away=(pl.col("x") - pl.col("bx")) ** 2 + (pl.col("y") - pl.col("by")) ** 2)
    near = near.sort("t", "away").unique("t", keep="first", maintain_order=True)
    at, team = near["t"].to_numpy(), near["team_id"].to_numpy()
    for owner, start, end in owners:
        play.ball_is_with_owner.append(team[(at > start) & (at < end)] == owner)


# 1. Named defenders.


def test_every_shot_names_a_defender(play: Play) -> None:
    assert np.mean([bool(shot.named_ids) for shot in play.shots]) == 1


def test_a_named_defender_is_the_nearest_opponent(play: Play) -> None:
    shots = [shot for shot in play.shots if shot.named_ids]
    assert np.mean([shot.nearest in shot.named_ids for shot in shots]) > 0.95


def test_a_named_defender_stood_near_the_shot(play: Play) -> None:
    assert np.median([shot.named_distance for shot in play.shots if shot.named_distance is not None]) < 6


def test_a_rule_of_the_audit_compares_named_defenders_with_positions() -> None:
    assert "named_defender_is_near" in [rule.rule for rule in sideline.audit.rules()]


# 2. Nearest opponents.


def test_the_nearest_opponent_of_a_shot_is_as_near_as_in_real_games(play: Play) -> None:
    """Real: a median of 3.7 ft, and 18 % of shots with nobody within 6 ft."""
    distances = np.array([shot.distance for shot in play.shots])
    assert 2.7 < np.median(distances) < 4.7
    assert np.mean(distances > 6) < 0.26


def test_positions_a_second_before_a_shot_do_not_tell_its_outcome(play: Play) -> None:
    makes, misses = (
        np.median([shot.distance_before for shot in play.shots if shot.is_make == is_make and shot.distance_before is not None]) for is_make in (True, False)
    )
    assert abs(makes - misses) < 1.5


def test_defenders_do_not_leave_before_a_made_shot(play: Play) -> None:
    makes, misses = (np.median([shot.distance for shot in play.shots if shot.is_make == is_make]) for is_make in (True, False))
    assert abs(makes - misses) < 2


def test_the_defenders_are_in_the_attacked_half_at_a_shot(play: Play) -> None:
    assert np.mean([shot.opponents_in_half == 5 for shot in play.shots]) > 0.88


# 3. Speeds and box scores.


def test_players_move_as_fast_as_in_real_games(play: Play) -> None:
    """Real: 30 % of live time below 1 m/s, and a median of 1.6 m/s."""
    speeds = np.concatenate(play.speeds)
    assert 0.2 < np.mean(speeds < 1) < 0.42
    assert 1.2 < np.median(speeds) < 2


def test_nobody_runs_faster_than_9_metres_a_second(play: Play) -> None:
    assert np.concatenate(play.speeds).max() < 9


def test_the_player_nearest_to_the_ball_is_of_the_team_that_has_it(play: Play) -> None:
    assert np.concatenate(play.ball_is_with_owner).mean() > 0.8


@pytest.fixture(scope="module")
def team_games() -> pl.DataFrame:
    """Fouls, free throws, the minutes of the most used player and the number of players, of each team in about forty games."""
    with sideline.Simulator(seed=7, teams=8, games=40, now=NOW) as service, service.client() as client:
        games = client.game([game["event_id"] for game in service.games], on_error="keep", progress=False)
        sessions = games.table("sessions").to_polars()
        ids, game_of = sessions["session_id"].to_list(), dict(zip(sessions["session_id"], sessions["game_id"], strict=True))
        box = client.stats(ids, on_error="keep", progress=False).table("box_score").to_polars()
        possessions = client.possessions(ids, on_error="keep", progress=False).table("possessions").to_polars()
    by_game = pl.col("session_id").replace_strict(game_of).alias("game_id")
    totals = box.filter(pl.col("is_team_total")).group_by(by_game, "team_id").agg(pl.col("FL", "FTA").sum())
    minutes = metrics.minutes(possessions.with_columns(by_game), by=["game_id"]).filter(pl.col("player_id").is_not_null())
    of_team = minutes.group_by("game_id", "team_id").agg(most=pl.col("minutes").max(), used=pl.len(), all=pl.col("minutes").sum())
    # A game that is being played has no complete rotation yet.
    complete_games = totals.join(of_team, on=["game_id", "team_id"]).filter(pl.col("all") > 180)
    assert complete_games.height > 60
    return complete_games


FIGURES = {
    "fouls of a team": ("FL", (16.5, 21.5), (0, 9)),
    "free throws of a team": ("FTA", (18.0, 24.5), (4, 11)),
    "minutes of the most used player": ("most", (33.0, 38.0), (2.3, 5.5)),
    "players used": ("used", (8.8, 10.7), (1.1, 2.7)),
}
"""Column, and bounds of the mean and the standard deviation, around those of real college games: 19, 21.1 ± 7.6, 35.4 ± 3.8, 9.7 ± 1.9."""


@pytest.mark.parametrize("figure", FIGURES)
def test_the_box_score_has_the_figures_of_real_games(figure: str, team_games: pl.DataFrame) -> None:
    column, (low, high), (least, highest) = FIGURES[figure]
    values = team_games[column].cast(pl.Float64).to_numpy()
    assert low < values.mean() < high
    assert least < values.std() < highest


# 5. Answers from positions.


@pytest.mark.parametrize("name", ["defenders", "opponents", "frames", "loads"])
def test_positions_answer_who_was_near_how_fast_and_how_far(name: str) -> None:
    assert callable(getattr(getattr(sideline, "Tracking", None), name, None))


# 6. What is shown and asked of a game.

SNAPSHOT = {
    "home_team_id": 1,
    "away_team_id": 2,
    "home_score": 12,
    "away_score": 9,
    "period": "H1",
    "game_clock": "12:30.0",
    "teams": [
        {"id": 1, "name": "Home", "player_stats": [{"id": 0, "stats": {"PTS": 12}}, {"id": 7, "stats": {"PTS": 12}}]},
        {"id": 2, "name": "Away", "player_stats": [{"id": 0, "stats": {"PTS": 9}}, {"id": 8, "stats": {"PTS": 9}}]},
    ],
}
EXPECTED: dict[str, Any] = {"home.points": 12, "away.points": 9, "home.name": "Home", "away.team_id": 2, "period": "H1", "clock": "12:30.0", "clock_s": 750.0}


def one_snapshot(connection: Connection) -> None:
    connection.begin_events()
    connection.event(SNAPSHOT)
    connection.hold()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_live_box_score_has_score_period_and_clock(name: str) -> None:
    score: Any = sideline.LiveBoxScore()
    with fake(one_snapshot) as service, service.client() as client:
        items = take(client.live_stats("g1"), 5, lambda item: isinstance(item, sideline.Update))
    assert len(updates(items)) == 1
    score.feed_all(items)
    value = score
    for part in name.split("."):
        value = getattr(value, part, None)
    assert value == EXPECTED[name]


@pytest.mark.parametrize("path", ["/feed.json", "/feed.csv", "/feed.xml", "/score.json", "/healthz", "/overlay"])
def test_the_live_page_serves_a_feed(path: str) -> None:
    # The option comes with the feed.
    options: dict[str, Any] = {"feed": True} if "feed" in inspect.signature(sideline.LiveStream.serve).parameters else {}
    with fake(one_snapshot) as service, service.client() as client, client.live_stats("g1") as live, live.serve(**options) as page:
        port = int(page.url.rstrip("/").rpartition(":")[2])
        while live.stats.updates == 0:
            page.wait(0.02)
        status, deadline = 0, time.monotonic() + 5
        # The page is unhealthy until the start of the stream is over.
        while status != 200 and time.monotonic() < deadline:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
                connection.request("GET", path)
                status = connection.getresponse().status
            page.wait(0.1)
    assert status == 200


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sideline.Archive]:
    with sideline.Simulator(seed=7, teams=4, games=12, now=NOW) as service, service.client() as client:
        archive = sideline.Archive(tmp_path_factory.mktemp("season") / "season", client)
        archive.sync(game_ids=[service.games[0]["event_id"]], tables=("box_score",), progress=False)
        yield archive


QUERIES = {
    "copy": "copy (select 1 as x) to '{file}'",
    "attach": "attach '{file}' as other",
    "a file": "select * from read_csv('/etc/hostname', header=false)",
    "an export": "export database '{file}'",
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_an_archive_touches_no_file(query: str, archive: sideline.Archive, tmp_path: Path) -> None:
    file = tmp_path / "out"
    error: Exception | None = None
    try:
        result = archive.sql(QUERIES[query].format(file=file))
        # A relation of DuckDB runs only when its rows are wanted.
        if hasattr(result, "fetchall"):
            result.fetchall()
    except Exception as problem:  # noqa: BLE001 - of duckdb today
        error = problem
    # `QueryError` is a `ValueError`.
    assert (isinstance(error, ValueError), file.exists()) == (True, False)
