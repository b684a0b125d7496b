"""Facts 7: a shot chart is the court seen from the hoop, in millimetres; distances are centimetres."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sideline

GOLDEN = Path(__file__).parent / "golden"
SEEDS = [1, 7, 23, 2026]
COURT = ["player_x", "player_y", "hoop_x", "hoop_y"]
CHART = ["hoop_player_x", "hoop_player_y"]
Row = dict[str, Any]
Session = tuple[bytes, list[Row], list[Row]]


@pytest.fixture(scope="module", params=SEEDS)
def sessions(request: pytest.FixtureRequest) -> list[Session]:
    """The shots of some generated sessions, as received and as rows, and the session's stat events."""
    with sideline.Simulator(seed=request.param, teams=6, games=30, now="2026-11-20T20:30:00Z") as service, service.client() as client:
        finished_games = [client.game(game["event_id"])["results"] for game in service.games[:3]]
        result = []
        for session in (half["id"] for results in finished_games for half in results):
            shots, events = client.shots(session), client.stats_details(session)
            result.append((shots.raw, shots.table().to_dicts(), events.table().to_dicts()))
    return result


def golden_shots() -> Iterator[Row]:
    for operation in ("shots", "game_shots", "catch_up"):
        yield from sideline.Payload.from_bytes(operation, (GOLDEN / f"{operation}.json").read_bytes()).table("shots").to_dicts()


def has(row: Row, columns: list[str]) -> bool:
    return all(row[column] is not None for column in columns)


def rotate(row: Row) -> tuple[float, float]:
    """The chart's place of the shooter, by the court's."""
    away = -math.copysign(1, row["hoop_y"])
    return away * (row["player_x"] - row["hoop_x"]), away * (row["player_y"] - row["hoop_y"])


def assert_frame(row: Row) -> None:
    # Both come from values that were not rounded: they may differ by a millimetre.
    assert (row["hoop_player_x"], row["hoop_player_y"]) == pytest.approx(rotate(row), rel=0, abs=1), row
    # A lone 3160 for 3161 of the documentation's own is half a millimetre of distance.
    assert row["distance_cm"] == pytest.approx(math.hypot(*rotate(row)) / 10, rel=0, abs=0.15), row


def test_the_chart_is_the_court_seen_from_the_hoop(sessions: list[Session]) -> None:
    shots = [shot for _, rows, _ in sessions for shot in rows]
    assert len(shots) > 300
    assert {math.copysign(1, shot["hoop_y"]) for shot in shots} == {-1, 1}, "at both ends of the court"
    for shot in shots:
        assert_frame(shot)


def test_the_chart_of_the_golden_bodies_is_the_court_seen_from_the_hoop() -> None:
    shots = [shot for shot in golden_shots() if has(shot, COURT + CHART)]
    assert len(shots) == 5
    for shot in shots:
        assert_frame(shot)


def test_an_event_s_hoop_is_one_of_the_session_s_two(sessions: list[Session]) -> None:
    for _, shots, events in sessions:
        hoops = {(shot["hoop_x"], shot["hoop_y"]) for shot in shots}
        located_events = [event for event in events if has(event, ["x", "y", "hoop_to_event_x", "hoop_to_event_y"])]
        assert len(hoops) == 2
        assert located_events
        for event in located_events:
            ends = {(event["x"] + s * event["hoop_to_event_x"], event["y"] + s * event["hoop_to_event_y"]) for s in (-1, 1)}
            assert any(math.dist(end, hoop) <= math.sqrt(2) for end in ends for hoop in hoops), event


def test_the_hoop_of_the_golden_plays_is_where_hoops_are() -> None:
    plays = [
        play
        for operation in ("play_by_play", "catch_up")
        for play in sideline.Payload.from_bytes(operation, (GOLDEN / f"{operation}.json").read_bytes()).table("play_by_play").to_dicts()
        if has(play, ["player_x", "hoop_to_event_x"])
    ]
    assert len(plays) == 3
    for play in plays:
        ends = [(play["player_x"] + s * play["hoop_to_event_x"], s * (play["player_y"] + s * play["hoop_to_event_y"])) for s in (-1, 1)]
        assert any(math.dist(end, (0, 12725)) < 250 for end in ends), play


def test_a_distance_is_the_same_from_the_chart_and_from_the_court(sessions: list[Session]) -> None:
    for raw, rows, _ in sessions:
        body = json.loads(raw)
        for shot in (shot for team in body["teams"] for player in team["player_shots"] for shot in player["shots"]):
            del shot["hoop_player_x"], shot["hoop_player_y"]
        from_court = sideline.Payload.from_bytes("shots", json.dumps(body).encode()).table("shots").to_dicts()
        assert [shot["distance_cm"] for shot in from_court] == pytest.approx([shot["distance_cm"] for shot in rows], rel=0, abs=0.15)
        assert all(shot["hoop_player_x"] is shot["hoop_player_y"] is None for shot in from_court)


# What the game's shots call the fields of the session's (facts 10).
ABBREVIATIONS = {
    "occurred_at": "t", "is_3point": "is3", "zone": "z", "advanced_zone": "az", "player_x": "px", "player_y": "py", "player_z": "pz",
    "hoop_x": "hx", "hoop_y": "hy", "hoop_z": "hz", "hoop_player_x": "hsx", "hoop_player_y": "hsy", "status": "s", "game_clock": "gc",
    "shot_clock": "sc", "period": "prd", "attributes": "attributes",
}  # fmt: skip


def test_a_shot_is_the_same_row_in_the_words_of_a_session_and_of_a_game(sessions: list[Session]) -> None:
    for raw, rows, _ in sessions:
        shots = [
            {"pid": str(player["id"]), "tid": str(team["id"]), "sid": rows[0]["session_id"], "gid": "g", "shotDefenders": [1],
             "st": "MAKE" if shot["is_make"] else "MISS", "pts": -1 if not shot["is_make"] else 3 if shot["is_3point"] else 2,
             **{short: shot[name] for name, short in ABBREVIATIONS.items()}}
            for team in json.loads(raw)["teams"] for player in team["player_shots"] for shot in player["shots"]
        ]  # fmt: skip
        of_game = sideline.Payload.from_bytes("game_shots", json.dumps({"shots": shots}).encode()).table().to_dicts()
        assert of_game == [row | {"game_id": "g", "defender_ids": [1]} for row in rows]
