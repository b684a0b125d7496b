"""Bodies written by hand from the specification (2.1-2.8, facts 2.x and 10), and their expected rows, also written by hand.

The bodies deliberately contain everything on which specification and documentation disagree: ids as strings, integers as floats, nulls for
objects and arrays, links single and in arrays, clocks in every shape, missing keys.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from contract import CODES, rows_of

import sideline

GOLDEN = Path(__file__).parent / "golden"
BASE = "https://api.shottracker.com"


def at(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def payload(name: str, **context: str) -> sideline.Payload:
    return sideline.Payload.from_bytes(name, (GOLDEN / f"{name}.json").read_bytes(), **context)


def rows(name: str, table: str | None = None, **context: str) -> list[dict[str, Any]]:
    return rows_of(payload(name, **context).table(table))


def select(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in rows]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda p: p.stem)
def test_the_dict_is_the_body(path: Path) -> None:
    raw = path.read_bytes()
    golden = sideline.Payload.from_bytes(path.stem, raw, session_id="s-1")
    assert golden.to_dict() == json.loads(raw)
    assert golden.raw == raw


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda p: p.stem)
def test_every_field_of_the_specification_is_known(path: Path) -> None:
    golden = sideline.Payload.from_bytes(path.stem, path.read_bytes(), session_id="s-1")
    # One shot has the result "BLOCKED", which the specification does not list.
    expected = {"game_shots": ["shots[].st (neither MAKE nor MISS)"]}
    assert golden.unknown_fields() == expected.get(path.stem, [])


def test_teams() -> None:
    assert rows("teams") == [
        {"team_id": 46, "name": "Kansas Wheat", "gender": "MEN", "conference_name": "Plains", "league_name": "College",
         "sport": "BASKETBALL", "reference_id": "ks-46"},
        {"team_id": 47, "name": "Ozark Pines", "gender": "WOMEN", "conference_name": None, "league_name": "College",
         "sport": "BASKETBALL", "reference_id": None},
    ]  # fmt: skip


def test_players_of_a_roster() -> None:
    images = {
        "image_light": "il", "image_dark": "id", "image_light_transparent": "ilt", "image_dark_transparent": "idt",
        "headshot_light": "hl", "headshot_dark": "hd", "headshot_transparent": "ht", "image_profile": "ip",
    }  # fmt: skip
    assert rows("roster") == [
        {"team_id": 46, "player_id": 461, "first_name": "Ada", "last_name": "Bell", "display_name": "A. Bell", "jersey_number": 0,
         "jersey_number_str": "00", "position": "center", "is_active": True, "is_starter": True, "is_scout": False,
         "reference_id": "p-461", "sensor": 100630, "profile_image_link": "https://img/461",
         **{name: f"https://img/461/{end}" for name, end in images.items()}},
        {"team_id": 46, "player_id": 462, "first_name": "Zoë", "last_name": 'O\'Neil "Z"', "display_name": "Z. O'Neil",
         "jersey_number": 12, "jersey_number_str": "12", "position": "G", "is_active": False, "is_starter": False,
         "is_scout": False, "reference_id": "p-462", "sensor": None, "profile_image_link": None, **dict.fromkeys(images)},
    ]  # fmt: skip


def test_special_services_of_a_roster() -> None:
    assert rows("roster", "special_services") == [
        {"team_id": 46, "player_id": 461, "type": "MIC", "value": "mic6"},
        {"team_id": 46, "player_id": 461, "type": "VIDEO", "value": "cam 2"},
    ]


def test_team_of_a_roster() -> None:
    assert rows("roster", "team") == [
        {"team_id": 46, "name": "Kansas Wheat", "gender": "MEN", "conference_name": "Plains", "league_name": "College",
         "sport": "BASKETBALL", "reference_id": "ks-46", "logo_image_link": "https://img/46.png",
         "logo_small_light": "https://img/46/sl", "logo_small_dark": "https://img/46/sd",
         "logo_small_light_transparent": "https://img/46/slt", "logo_small_dark_transparent": "https://img/46/sdt",
         "logo_light": "https://img/46/l", "logo_dark": "https://img/46/d", "logo_light_transparent": "https://img/46/lt",
         "logo_dark_transparent": "https://img/46/dt"},
    ]  # fmt: skip


def test_games_of_a_schedule() -> None:
    assert rows("schedule") == [
        {"game_id": "0b6dfd45-7b0c-4c0e-9d0a-000000000001", "tipoff_at": at(1700000000000), "status": "ACTIVE", "type": "BASKETBALL",
         "gender": "MEN", "home_team_id": 46, "home_team_name": "Kansas Wheat", "away_team_id": 47, "away_team_name": "Ozark Pines",
         "home_team_reference_id": "ks-46", "away_team_reference_id": "oz-47", "officials_team_id": 0, "facility_name": "Field House",
         "court_name": "Main", "location_id": "court-1@facility-9", "court_id": "court-1", "facility_id": "facility-9",
         "tournament": None, "reference_id": "ref-1", "fan_engagement_enabled": False, "source": "SHOTTRACKER",
         "results_link": f"{BASE}/v1/data/games/0b6dfd45-7b0c-4c0e-9d0a-000000000001"},
        {"game_id": "0b6dfd45-7b0c-4c0e-9d0a-000000000002", "tipoff_at": at(1700003600000), "status": "ACTIVE", "type": None,
         "gender": "MEN", "home_team_id": 48, "home_team_name": "Dakota Winds", "away_team_id": 46, "away_team_name": "Kansas Wheat",
         "home_team_reference_id": None, "away_team_reference_id": None, "officials_team_id": 7, "facility_name": "Dome",
         "court_name": "A", "location_id": "/court-2/facility-8", "court_id": None, "facility_id": None,
         "tournament": "Holiday Classic", "reference_id": "ref-2", "fan_engagement_enabled": True, "source": None,
         "results_link": f"{BASE}/v1/data/games/another-id"},
    ]  # fmt: skip


def session_links(session: str, possessions: bool) -> dict[str, str | None]:
    link = f"{BASE}/v1/data/stats/{session}"
    return {
        "stats_link": f"{link}/stats",
        "stats_details_link": f"{link}/stats/details",
        "shots_link": f"{link}/shots",
        "possessions_link": f"{link}/possessions" if possessions else None,
    }


SESSIONS = [
    {"team_id": 46, "event_id": "game-1", "game_id": "game-1", "session_id": "s-1", "position": 0, "name": None, "type": "GAME_ROUND",
     "started_at": at(1700000000000), "ended_at": at(1700003000000), **session_links("s-1", True)},
    {"team_id": 46, "event_id": "game-1", "game_id": "game-1", "session_id": "s-2", "position": 1, "name": "H2", "type": "GAME_ROUND",
     "started_at": at(1700003000000), "ended_at": at(1700003003000), **session_links("s-2", False)},
]  # fmt: skip
EVENTS = [
    {"team_id": 46, "event_id": "game-1", "game_id": "game-1", "name": "Wheat at Pines", "source": "SHOTTRACKER",
     "is_practice_event": False, "is_game_event": True, "started_at": at(1700000000000), "ended_at": at(1700003003000),
     "game_type": "HALF", "home_team_id": 47, "home_team_name": "Ozark Pines", "away_team_id": 46,
     "away_team_name": "Kansas Wheat", "self_link": f"{BASE}/v1/data/games/game-1",
     "stats_details_link": f"{BASE}/v1/data/stats/games/game-1/stats/details"},
    {"team_id": 46, "event_id": "practice-1", "game_id": None, "name": "Practice", "source": "SHOTTRACKER",
     "is_practice_event": True, "is_game_event": False, "started_at": at(1700100000000), "ended_at": at(1700107200000),
     "game_type": None, "home_team_id": None, "home_team_name": None, "away_team_id": None, "away_team_name": None,
     "self_link": f"{BASE}/v1/data/teams/46/practices/practice-1", "stats_details_link": None},
]  # fmt: skip
WINDOWS = [
    {"event_id": "game-1", "game_id": "game-1", "session_id": session, "start": at(start), "end": at(end),
     "link": f"{BASE}/v1/data/sensors/locations?id={session}&from={start}&to={end}"}
    for session, start, end in [
        ("s-1", 1700000000000, 1700001800000), ("s-1", 1700001800000, 1700003000000), ("s-2", 1700003000000, 1700003003000)]
]  # fmt: skip
EVENT_TABLES = [("sessions", SESSIONS), ("events", EVENTS), ("location_windows", WINDOWS)]


@pytest.mark.parametrize(("table", "expected"), EVENT_TABLES)
def test_team_events(table: str, expected: list[dict[str, Any]]) -> None:
    assert rows("team_events", table, team_id="46") == expected


@pytest.mark.parametrize(("table", "expected"), EVENT_TABLES)
def test_team_events_as_a_bare_array(table: str, expected: list[dict[str, Any]]) -> None:
    array = json.dumps(payload("team_events").to_dict()["events"]).encode()
    assert rows_of(sideline.Payload.from_bytes("team_events", array, team_id="46").table(table)) == expected


@pytest.mark.parametrize(("table", "expected"), EVENT_TABLES)
def test_team_events_as_a_single_event(table: str, expected: list[dict[str, Any]]) -> None:
    single = json.dumps(payload("team_events").to_dict()["events"][0]).encode()
    of_the_game = [row for row in expected if row["event_id"] == "game-1"]
    assert rows_of(sideline.Payload.from_bytes("team_events", single, team_id="46").table(table)) == of_the_game


def test_a_game_without_the_fields_that_the_documentation_does_not_show() -> None:
    # Facts 2.7: the documented tail of a game body is unknown; the request says that it is a game.
    row = {"team_id": None, "event_id": "game-9", "game_id": "game-9", "session_id": "s-9", "position": 0, "name": None,
           "type": "GAME_ROUND", "started_at": at(1), "ended_at": at(2), **session_links("s-9", True)}  # fmt: skip
    assert rows("game", game_id="game-9") == [row]
    assert select(rows("game", "events", game_id="game-9"), "event_id", "game_id", "is_game_event") == [("game-9", "game-9", None)]


ADA = {"team_id": 46, "team_name": "Kansas Wheat", "player_id": 461, "first_name": "Ada", "last_name": "Bell", "is_team_total": False}
TOTAL = {"team_id": 46, "team_name": "Kansas Wheat", "player_id": 0, "first_name": None, "last_name": None, "is_team_total": True}


def test_team_game_stats() -> None:
    request = {"session_id": None, "game_id": "game-1"}
    ada = request | ADA | {"version": 12, "games_played": 3}
    total = request | TOTAL | {"version": 13, "games_played": 3}
    assert rows("team_game_stats", game_id="game-1") == [
        ada | {"stat": "FG", "value": 8.0},
        ada | {"stat": "FGA", "value": 15.0},
        ada | {"stat": "PTS", "value": 17.0},
        total | {"stat": "PTS", "value": 80.0},
        total | {"stat": "FG", "value": 30.0},
        total | {"stat": "FGA", "value": 61.0},
        total | {"stat": "PAINT_PTS", "value": 22.5},
    ]
    none = dict.fromkeys(CODES)
    box = rows("team_game_stats", "box_score", game_id="game-1")
    assert box == [
        ada | none | {"FG": 8.0, "FGA": 15.0, "PTS": 17.0, "PAINT_PTS": None},
        total | none | {"FG": 30.0, "FGA": 61.0, "PTS": 80.0, "PAINT_PTS": 22.5},
    ]
    assert list(box[0]) == [*ada, *CODES, "PAINT_PTS"]


def test_session_stats() -> None:
    request = {"session_id": "s-1", "game_id": None}
    pines = {"team_id": 47, "team_name": "Ozark Pines"}
    ada = request | ADA | {"version": 1941, "games_played": None}
    total = request | TOTAL | {"version": 1942, "games_played": None}
    cy = request | pines | {"player_id": 471, "first_name": "Cy", "last_name": "Dee", "is_team_total": False, "version": 7, "games_played": None}
    idle = cy | {"player_id": 472, "first_name": None, "last_name": None, "version": 8}
    assert rows("stats", session_id="s-1") == [
        ada | {"stat": "FGA", "value": 3.0},
        ada | {"stat": "FG", "value": 2.0},
        ada | {"stat": "PTS", "value": 5.0},
        ada | {"stat": "DIST", "value": 254321.5},
        ada | {"stat": "AST", "value": None},
        total | {"stat": "FGA", "value": 3.0},
        total | {"stat": "FG", "value": 2.0},
        total | {"stat": "PTS", "value": 5.0},
        cy | {"stat": "LBTO", "value": 1.0},
        cy | {"stat": "FT", "value": 2.0},
    ]
    none = dict.fromkeys([*CODES, "LBTO"])
    assert rows("stats", "box_score", session_id="s-1") == [
        ada | none | {"FGA": 3.0, "FG": 2.0, "PTS": 5.0, "DIST": 254321.5},
        total | none | {"FGA": 3.0, "FG": 2.0, "PTS": 5.0},
        cy | none | {"FT": 2.0, "LBTO": 1.0},
        idle | none,
    ]


def test_stat_events() -> None:
    ada = {"session_id": "s-1", "game_id": None} | ADA | {"version": 5}
    total = {"session_id": "s-1", "game_id": None} | TOTAL | {"version": 6}
    assert rows("stats_details", session_id="s-1") == [
        ada | {"stat": "FGA", "occurred_at": at(1700000010000), "value": 1.0, "game_clock": "12:30.0", "game_clock_s": 750.0,
               "shot_clock": "4.5", "shot_clock_s": 4.5, "period": "Q1", "x": -2516.0, "y": -2511.5, "z": 1100.0,
               "hoop_to_event_x": -2562.0, "hoop_to_event_y": 10055.0},
        ada | {"stat": "FGA", "occurred_at": at(1700000050000), "value": 1.0, "game_clock": "1:2.3", "game_clock_s": 62.3,
               "shot_clock": "02.00", "shot_clock_s": 2.0, "period": "Q1", "x": 0.0, "y": 12000.0, "z": None,
               "hoop_to_event_x": 100.0, "hoop_to_event_y": -72.5},
        ada | {"stat": "PTS", "occurred_at": at(1700000050000), "value": 2.0, "game_clock": "00:15:00", "game_clock_s": 900.0,
               "shot_clock": None, "shot_clock_s": None, "period": "Q1", "x": None, "y": None, "z": None,
               "hoop_to_event_x": None, "hoop_to_event_y": None},
        total | {"stat": "FGA", "occurred_at": at(1700000010000), "value": 1.0, "game_clock": "soon", "game_clock_s": None,
                 "shot_clock": "", "shot_clock_s": None, "period": "OT1", "x": 1.0, "y": 2.0, "z": 3.0,
                 "hoop_to_event_x": 4.0, "hoop_to_event_y": 5.0},
    ]  # fmt: skip


ATTRIBUTES = {
    "turnover": 0, "passes": 4, "half_court": True, "paint_touch": False, "ball_reversals": 1, "ball_screens": 2,
    "ball_screens_left_wing": 1, "ball_screens_middle_wing": 1, "ball_screens_right_wing": 0, "ball_screens_pick_n_pop": 1,
    "ball_screens_pick_n_roll": 1, "ball_screens_pick_n_short_roll": 0, "ball_screens_screened_shot": 0, "ball_screens_handoff": 0,
    "ball_screens_drag": 0, "ball_screens_pop": 1, "ball_screens_roll": 1, "ball_screens_slip": 0, "ball_screens_short_roll": 0,
    "ball_screens_reject": 0, "ball_screens_re_screen": 0, "ball_screens_stay": 0, "ball_screens_step_up": 0,
    "ball_screens_snake": 0, "ball_screens_split": 0, "ball_screens_other": 0,
}  # fmt: skip


def test_possessions() -> None:
    team = {"session_id": "s-1", "game_id": None, "team_id": 46, "team_name": "Kansas Wheat"}
    window = f"{BASE}/v1/data/sensors/locations?id=s-1&from="
    assert rows("possessions", session_id="s-1") == [
        team | {"possession": 0, "start_timestamp": at(1700000000000), "end_timestamp": at(1700000020000),
                "start_game_clock": "20:00.0", "start_game_clock_s": 1200.0, "end_game_clock": "19:40.5",
                "end_game_clock_s": 1180.5, "period": "H1", "player_ids": [465, 461, 1002, 464, 463],
                "opposing_player_ids": [471, 472, 473, 474, 475], "lineup_id": "461-463-464-465-1002",
                "opposing_lineup_id": "471-472-473-474-475", **ATTRIBUTES,
                "locations_link": window + "1700000000000&to=1700000020000"},
        team | {"possession": 1, "start_timestamp": at(1700000020000), "end_timestamp": at(1700000030000),
                "start_game_clock": None, "start_game_clock_s": None, "end_game_clock": "19:30.0", "end_game_clock_s": 1170.0,
                "period": "H1", "player_ids": None, "opposing_player_ids": [], "lineup_id": None, "opposing_lineup_id": "",
                **dict.fromkeys(ATTRIBUTES), "locations_link": window + "1700000020000&to=1700000030000"},
    ]  # fmt: skip


def test_possession_events() -> None:
    keys = {"session_id": "s-1", "game_id": "game-1", "team_id": 46, "possession": 0}
    assert rows("possessions", "possession_events", session_id="s-1", game_id="game-1") == [
        keys | {"position": 0, "timestamp": at(1700000015000), "possession_type": "FGA",
                "details": ["FGA3", "FGA_OTD", "FGA3_OTD"], "player_id": 461, "game_clock": "19:45.2", "game_clock_s": 1185.2,
                "shot_clock": "15.2", "shot_clock_s": 15.2, "shot_distance_cm": 688.4, "x": 1200.0, "y": 6100.5, "z": 2000.0,
                "zone": 8, "advanced_zone": 17, "is_3point": True},
        keys | {"position": 1, "timestamp": at(1700000017000), "possession_type": "DEFENSIVE_REB", "details": ["REB"],
                "player_id": 471, "game_clock": None, "game_clock_s": None, "shot_clock": None, "shot_clock_s": None,
                "shot_distance_cm": None, "x": None, "y": None, "z": None, "zone": None, "advanced_zone": None, "is_3point": None},
    ]  # fmt: skip


def test_possession_players() -> None:
    assert rows("possessions", "possession_players", session_id="s-1", game_id="game-1") == [
        {"session_id": "s-1", "game_id": "game-1", "team_id": 46, "player_id": 461, "first_name": "Ada", "last_name": "Bell", "profile_image_link": "https://img/461"},
        {"session_id": "s-1", "game_id": "game-1", "team_id": 46, "player_id": 462, "first_name": "Zoë", "last_name": None, "profile_image_link": None},
    ]  # fmt: skip


def test_shots() -> None:
    shots = rows("shots", session_id="s-1")
    assert shots[0] == {
        "session_id": "s-1", "game_id": None, "team_id": 46, "player_id": 461, "occurred_at": at(1700000000000), "is_make": True,
        "is_3point": False, "points": 2, "zone": 3, "advanced_zone": 7, "player_x": 3117.0, "player_y": 7899.0, "player_z": 1100.0,
        "hoop_x": -44.0, "hoop_y": 12783.0, "hoop_z": 3048.0, "hoop_player_x": -3161.0, "hoop_player_y": 4884.0,
        "distance_cm": pytest.approx(581.7678, abs=1e-4), "status": "RECORDED", "game_clock": "9:58.7", "game_clock_s": 598.7,
        "shot_clock": "12.0", "shot_clock_s": 12.0, "period": "Q1", "attributes": ["OTD", "GUARDED"], "defender_ids": None,
    }  # fmt: skip
    assert select(shots, "is_make", "points", "distance_cm", "attributes")[1:] == [(False, 0, 772.5, []), (True, 3, None, None)]


def test_locations() -> None:
    assert rows("locations", session_id="s-other", game_id="game-1") == [
        {"session_id": "s-other", "game_id": "game-1", "t": at(1700000000000), "type": "PLAYER", "team_id": 46, "player_id": 461, "tag": "65001", "x": 10.0,
         "y": 20.0, "z": 40.0, "speed": 0.238894, "game_clock": "12:30.00", "game_clock_s": 750.0, "shot_clock": "02.00", "shot_clock_s": 2.0},
        {"session_id": "s-other", "game_id": "game-1", "t": at(1700000000000), "type": "BALL", "team_id": None, "player_id": None, "tag": "99001", "x": -10.5,
         "y": 25.0, "z": 2000.0, "speed": 7.5, "game_clock": None, "game_clock_s": None, "shot_clock": None, "shot_clock_s": None},
        {"session_id": "s-other", "game_id": "game-1", "t": at(1700000000500), "type": "PLAYER", "team_id": 46, "player_id": 461, "tag": "65001", "x": 12.0,
         "y": 22.0, "z": 41.0, "speed": 0.5, "game_clock": "12:29.50", "game_clock_s": 749.5, "shot_clock": "01.50", "shot_clock_s": 1.5},
    ]  # fmt: skip


def test_games_of_a_matchup() -> None:
    # Facts 2.3: a matchup has neither type nor source, and writes its place in another way.
    assert rows("matchup") == [
        {"game_id": "0b6dfd45-7b0c-4c0e-9d0a-000000000003", "tipoff_at": at(1700000000000), "status": "ACTIVE", "type": None,
         "gender": "WOMEN", "home_team_id": 46, "home_team_name": "Kansas Wheat", "away_team_id": 47, "away_team_name": "Ozark Pines",
         "home_team_reference_id": "ks-46", "away_team_reference_id": "oz-47", "officials_team_id": 0, "facility_name": "Field House",
         "court_name": "Main", "location_id": "/court-1/facility-9", "court_id": None, "facility_id": None, "tournament": None,
         "reference_id": "ref-3", "fan_engagement_enabled": False, "source": None, "results_link": f"{BASE}/v1/data/games/another-id"},
        {"game_id": "0b6dfd45-7b0c-4c0e-9d0a-000000000004", "tipoff_at": None, "status": "ACTIVE", "type": None, "gender": None,
         "home_team_id": 47, "home_team_name": None, "away_team_id": None, "away_team_name": None, "home_team_reference_id": None,
         "away_team_reference_id": None, "officials_team_id": None, "facility_name": None, "court_name": None,
         "location_id": "court-2@facility-8", "court_id": "court-2", "facility_id": "facility-8", "tournament": None,
         "reference_id": None, "fan_engagement_enabled": None, "source": None, "results_link": None},
    ]  # fmt: skip


MADE_SHOT = {
    "session_id": "s-1", "game_id": "game-of-the-request", "team_id": 46, "player_id": 461, "is_make": True, "is_3point": False, "points": 2,
    "zone": 3, "advanced_zone": 7, "player_x": 3117.0, "player_y": 7899.0, "player_z": 1100.0, "hoop_x": -44.0, "hoop_y": 12783.0,
    "hoop_z": 3048.0, "hoop_player_y": 4884.0, "status": "RECORDED", "period": "H1",
}  # fmt: skip
NOWHERE = dict.fromkeys(["zone", "advanced_zone", "player_x", "player_y", "player_z", "hoop_x", "hoop_y", "hoop_z", "hoop_player_x", "hoop_player_y"])
NO_CLOCKS = dict.fromkeys(["game_clock", "game_clock_s", "shot_clock", "shot_clock_s"])


def test_shots_of_a_game() -> None:
    assert rows("game_shots", game_id="game-of-the-request", session_id="s-of-the-request") == [
        MADE_SHOT | {"occurred_at": at(1700000000000), "hoop_player_x": -3160.0, "distance_cm": 581.7677973, "game_clock": "9:58.7",
                "game_clock_s": 598.7, "shot_clock": "12.0", "shot_clock_s": 12.0, "attributes": ["CAS", "GUARDED"],
                "defender_ids": [471, 472]},
        NO_CLOCKS | {
            "session_id": "s-1", "game_id": "game-of-the-request", "team_id": 47, "player_id": 471, "occurred_at": at(1700000030000), "is_make": False,
            "is_3point": True, "points": 0, "zone": 9, "advanced_zone": 20, "player_x": 0.0, "player_y": -5000.0, "player_z": None,
            "hoop_x": 0.0, "hoop_y": -12725.0, "hoop_z": 2990.0, "hoop_player_x": 0.0, "hoop_player_y": 7725.0, "distance_cm": 772.5,
            "status": "RECORDED", "period": "H1", "attributes": [], "defender_ids": []},
        NOWHERE | {
            "session_id": "s-of-the-request", "game_id": "game-of-the-request", "team_id": 46, "player_id": 462,
            "occurred_at": at(1700000060000), "is_make": True, "is_3point": True, "points": 3, "player_x": 3000.5, "player_y": 8725.0,
            "hoop_x": 0.5, "hoop_y": 12725.0, "distance_cm": 500.0, "status": None, "game_clock": "1:2.3", "game_clock_s": 62.3,
            "shot_clock": "02.00", "shot_clock_s": 2.0, "period": None, "attributes": None, "defender_ids": None},
        NOWHERE | NO_CLOCKS | {
            "session_id": "s-2", "game_id": "game-of-the-request", "team_id": 47, "player_id": None, "occurred_at": at(1700000090000), "is_make": None,
            "is_3point": False, "points": 0, "distance_cm": None, "status": None, "period": "H2", "attributes": None, "defender_ids": None},
    ]  # fmt: skip


PLAY = {
    "game_id": "game-of-the-request", "session_id": "s-1", "type": "ACTUAL", "session_type": "GAME_ROUND", "facility_id": "f-1", "court_id": "c-1",
    "act": "PLAYER",
}  # fmt: skip
NO_DRILL = {"practice_id": None, "practice_definition_id": None, "drill_definition_id": None}


def test_play_by_play() -> None:
    plays = rows("play_by_play", game_id="game-of-the-request")
    assert plays[:2] == [
        PLAY | NO_DRILL | NO_CLOCKS | {
            "event_id": "e-1", "timestamp": at(1700000001000), "team_id": 46, "stats": {"TO": 1.0, "LBTO": 1.0}, "corrected": False,
            "period": "Q1", "player_x": -2516.0, "player_y": -2511.0, "player_z": 300.0, "hoop_to_event_x": -2562.0,
            "hoop_to_event_y": 10055.0, "clip_id": None, "classification": "LIVE_BALL_TURNOVER",
            "description": "Ada Bell live ball turnover", "base_stats": "TO", "actual_stats": "LBTO", "player_id": 461},
        PLAY | {
            "event_id": "e-2", "timestamp": at(1700000009000), "team_id": 47, "practice_id": "p-1", "practice_definition_id": "pd-1",
            "drill_definition_id": "dd-1", "stats": {"FG": -1.0, "PTS": -2.0, "AST": None}, "corrected": True, "game_clock": "00:15:00",
            "game_clock_s": 900.0, "shot_clock": "4.5", "shot_clock_s": 4.5, "period": "Q1", "player_x": 100.5, "player_y": 12000.0,
            "player_z": 0.0, "hoop_to_event_x": -144.5, "hoop_to_event_y": 783.0, "clip_id": "clip-7",
            "classification": "UPDATED_TWO_POINT_MAKE_TO_MISS", "description": "Cy Dee missed", "base_stats": "FG", "actual_stats": "FG",
            "player_id": 471},
    ]  # fmt: skip
    nulls = dict.fromkeys(plays[0]) | {"game_id": "game-of-the-request"}
    assert plays[2:] == [nulls | {"event_id": "e-3", "stats": {}, "team_id": 46}, nulls | {"event_id": "e-4"}]


def test_ball_screens() -> None:
    keys = {"game_id": "game-of-the-request", "session_id": "s-1", "type": "BALL_SCREEN", "session_type": "GAME_ROUND", "period": "H1", "source": "VERIZON"}
    screens = rows("ball_screens", game_id="game-of-the-request")
    nulls = dict.fromkeys(screens[0])
    assert screens == [
        keys | {
            "event_id": "b-1", "timestamp": at(1700000001000), "end_timestamp": at(1700000003000), "team_possession_id": "tp-1",
            "corrected": False, "ball_handler_player_id": 461, "ball_handler_defender_player_id": 471, "screener_player_ids": [462, 463],
            "screener_defender_player_ids": [472], "offensive_actions": {"POP": 0.5, "ROLL": 0.25}, "defensive_actions": {"SWITCH": 1.0},
            "team_id": 46, "defender_team_id": 47, "screener_x": -1.0, "screener_y": 7000.5, "wing": 1, "video_time_mark_start": "00:10",
            "start_game_clock": "07:00.0", "start_game_clock_s": 420.0, "end_game_clock": "06:58.0", "end_game_clock_s": 418.0,
            "start_shot_clock": "05.0", "start_shot_clock_s": 5.0, "end_shot_clock": "03.0", "end_shot_clock_s": 3.0},
        nulls | keys | {
            "event_id": "b-2", "timestamp": at(1700000009000), "corrected": True, "ball_handler_player_id": 471,
            "screener_player_ids": [472], "screener_defender_player_ids": [], "offensive_actions": {}, "team_id": 47,
            "defender_team_id": 46, "wing": 2},
        nulls | {"event_id": "b-3", "game_id": "game-of-the-request"},
    ]  # fmt: skip


def test_videos() -> None:
    videos = rows("videos", game_id="game-of-the-request")
    nulls = dict.fromkeys(videos[0]) | {"game_id": "game-of-the-request"}
    assert videos == [
        nulls | {
            "session_id": "s-1", "hls_file": "https://videos.example/1.m3u8", "hls_video_start_timestamp": at(1700000000000), "hls_start_offset": 12.5,
            "hls_video_delay_ms": 1500.0, "hls_duration": 20.0, "period": "H1", "event_start_timestamp": at(1700000011000),
            "event_end_timestamp": at(1700000031000), "start_game_clock_ms": 1190000.0, "end_game_clock_ms": 1170000.0, "source": "POSSESSION",
            "team_id": 46, "player_id": 461, "facility_id": "f-1"},
        nulls,
        nulls,
    ]  # fmt: skip


def test_stats_of_a_catch_up() -> None:
    line = {"session_id": None, "game_id": "game-1", "team_name": None, "first_name": None, "last_name": None, "version": None, "games_played": None}
    ada = line | {"team_id": 46, "player_id": 461, "is_team_total": False}
    total = line | {"team_id": 46, "player_id": 0, "is_team_total": True}
    cy = line | {"team_id": 47, "player_id": 471, "is_team_total": False}
    assert rows("catch_up", "player_stats", game_id="game-1") == [
        ada | {"stat": "PTS", "value": 5.0},
        ada | {"stat": "FG", "value": 2.0},
        ada | {"stat": "FGA", "value": 3.0},
        ada | {"stat": "LBTO", "value": 1.0},
        total | {"stat": "PTS", "value": 5.0},
        total | {"stat": "DIST", "value": 254321.5},
        cy | {"stat": "AST", "value": None},
    ]
    none = dict.fromkeys([*CODES, "LBTO"])
    assert rows("catch_up", "box_score", game_id="game-1") == [
        ada | none | {"PTS": 5.0, "FG": 2.0, "FGA": 3.0, "LBTO": 1.0},
        total | none | {"PTS": 5.0, "DIST": 254321.5},
        cy | none,
        cy | none | {"player_id": 472},
    ]


def test_details_and_shots_of_a_catch_up() -> None:
    clocks = {"game_clock": "12:30.0", "game_clock_s": 750.0, "shot_clock": "02.00", "shot_clock_s": 2.0}
    assert rows("catch_up", "play_by_play", game_id="game-of-the-request") == [
        PLAY | NO_DRILL | clocks | {
            "event_id": "e-1", "timestamp": at(1700000001000), "team_id": 46, "stats": {"FG": 1.0, "PTS": 2.0}, "corrected": False,
            "period": "H1", "player_x": 3117.0, "player_y": 7899.0, "player_z": 1100.0, "hoop_to_event_x": -3161.0,
            "hoop_to_event_y": 4884.0, "clip_id": None, "classification": "TWO_POINT_MAKE", "description": "Ada Bell made",
            "base_stats": "FG", "actual_stats": "FG2", "player_id": 461}]  # fmt: skip
    assert rows("catch_up", "shots", game_id="game-of-the-request") == [
        MADE_SHOT | clocks | {"occurred_at": at(1700000001000), "hoop_player_x": -3161.0, "distance_cm": pytest.approx(581.7678, abs=1e-4),
                         "attributes": ["OTD"], "defender_ids": [471]},
        NOWHERE | NO_CLOCKS | {
            "session_id": "s-2", "game_id": "game-of-the-request", "team_id": 47, "player_id": 471, "occurred_at": at(1700000900000),
            "is_make": False, "is_3point": True, "points": 0, "distance_cm": 700.0, "status": None, "period": "H2", "attributes": None,
            "defender_ids": None}]  # fmt: skip


def test_possessions_of_a_catch_up_are_of_the_session_in_their_link() -> None:
    team = {"game_id": "game-1", "team_id": 46, "team_name": "Kansas Wheat"}
    locations = f"{BASE}/v1/data/sensors/locations?"
    assert rows("catch_up", "possessions", game_id="game-1") == [
        team | dict.fromkeys(ATTRIBUTES) | {
            "session_id": "s-1", "possession": 0, "start_timestamp": at(1700000000000), "end_timestamp": at(1700000020000),
            "start_game_clock": "20:00.0", "start_game_clock_s": 1200.0, "end_game_clock": "19:40.0", "end_game_clock_s": 1180.0,
            "period": "H1", "player_ids": [463, 461], "opposing_player_ids": None, "lineup_id": "461-463", "opposing_lineup_id": None,
            "passes": 3, "half_court": True, "locations_link": locations + "id=s-1&from=1700000000000&to=1700000020000"},
        team | dict.fromkeys(ATTRIBUTES) | {
            "session_id": "s-2", "possession": 1, "start_timestamp": at(1700000900000), "end_timestamp": at(1700000910000),
            "start_game_clock": None, "start_game_clock_s": None, "end_game_clock": None, "end_game_clock_s": None, "period": "H2",
            "player_ids": [461], "opposing_player_ids": [471], "lineup_id": "461", "opposing_lineup_id": "471",
            "locations_link": locations + "from=1700000900000&to=1700000910000&id=s-2"},
    ]  # fmt: skip
    shot = {"shot_distance_cm": 581.8, "x": 3117.0, "y": 7899.0, "z": 1100.0, "zone": 3, "advanced_zone": 7, "is_3point": False}
    assert rows("catch_up", "possession_events", game_id="game-1") == [
        shot | {"session_id": "s-1", "game_id": "game-1", "team_id": 46, "possession": 0, "position": 0, "timestamp": at(1700000001000),
                "possession_type": "FG", "details": ["FG2"], "player_id": 461, "game_clock": "12:30.0", "game_clock_s": 750.0,
                "shot_clock": "02.00", "shot_clock_s": 2.0},
        dict.fromkeys(shot) | NO_CLOCKS | {
            "session_id": "s-2", "game_id": "game-1", "team_id": 46, "possession": 1, "position": 0, "timestamp": at(1700000905000), "possession_type": "TO",
            "details": [], "player_id": 461},
    ]  # fmt: skip
    assert rows("catch_up", "possession_players", game_id="game-1") == [
        {
            "session_id": None,
            "game_id": "game-1",
            "team_id": 46,
            "player_id": 461,
            "first_name": "Ada",
            "last_name": "Bell",
            "profile_image_link": "https://img/461",
        }
    ]


def test_a_possession_of_a_game_that_no_link_puts_into_a_session_is_an_error_of_its_table_alone() -> None:
    body = b'{"shots": [{"t": 1}], "possessions": [{"id": 46, "possessions": [{"period": "H1"}]}]}'
    catch_up = sideline.Payload.from_bytes("catch_up", body, game_id="game-1")
    with pytest.raises(sideline.DecodeError, match="session_id of possessions"):
        catch_up.table("possessions")
    assert catch_up.table("shots").num_rows == 1


def test_players_of_a_broadcast_roster() -> None:
    images = ["image_light", "image_dark", "image_light_transparent", "image_dark_transparent", "headshot_light", "headshot_dark",
              "headshot_transparent", "image_profile"]  # fmt: skip
    nulls = dict.fromkeys([*images, "display_name", "is_starter", "is_scout", "reference_id", "profile_image_link"])
    assert rows("broadcast_roster") == [
        nulls | {"team_id": 46, "player_id": 461, "first_name": "Ada", "last_name": "Bell", "jersey_number": 0,
                   "jersey_number_str": "00", "position": "C", "is_active": None, "sensor": 100630},
        nulls | {"team_id": 46, "player_id": 462, "first_name": "Zoë", "last_name": None, "jersey_number": 12,
                   "jersey_number_str": "12", "position": None, "is_active": False, "sensor": None},
    ]  # fmt: skip
    assert rows("broadcast_roster", "special_services") == [
        {"team_id": 46, "player_id": 461, "type": "MIC", "value": "mic6"},
        {"team_id": 46, "player_id": 461, "type": "VIDEO", "value": None},
    ]
    team = rows("broadcast_roster", "team")
    assert team == [dict.fromkeys(team[0]) | {"team_id": 46, "name": "Kansas Wheat"}]
