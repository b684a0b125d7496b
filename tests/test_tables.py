"""The tables' fixed columns, and that every table equals a second, plain reading of the body."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
import reading
from independent import as_json, server

import sideline

GOLDEN = Path(__file__).parent / "golden"
ID, TEXT, CAT, NUM, FLAG, WHEN = "id", "text", "cat", "num", "flag", "when"
TYPES = {
    "id": pa.int64(),
    "int": pa.int64(),
    "int32": pa.int32(),
    "text": pa.string(),
    "cat": pa.dictionary(pa.int32(), pa.string()),
    "num": pa.float64(),
    "flag": pa.bool_(),
    "when": pa.timestamp("ms", tz="UTC"),
    "ids": pa.list_(pa.int64()),
    "texts": pa.list_(pa.string()),
    "map": pa.map_(pa.string(), pa.float64()),
}
CLOCKS = "game_clock? text, game_clock_s? num, shot_clock? text, shot_clock_s? num"
WHO = "team_id id, team_name? text, player_id id, first_name? text, last_name? text, is_team_total flag, version? int"
TEAM_COLUMNS = "team_id id, name? text, gender? cat, conference_name? text, league_name? text, sport? cat, reference_id? text"
# The contract's table of columns, in its order: name, `?` where it may be null, type.
COLUMNS = {
    "teams": TEAM_COLUMNS,
    "players": "team_id id, player_id id, first_name? text, last_name? text, display_name? text, jersey_number? int,"
    " jersey_number_str? text, position? cat, is_active? flag, is_starter? flag, is_scout? flag, reference_id? text, sensor? int,"
    " profile_image_link? text, image_light? text, image_dark? text, image_light_transparent? text, image_dark_transparent? text,"
    " headshot_light? text, headshot_dark? text, headshot_transparent? text, image_profile? text",
    "special_services": "team_id id, player_id id, type? cat, value? text",
    "team": TEAM_COLUMNS + ", logo_image_link? text, logo_small_light? text, logo_small_dark? text,"
    " logo_small_light_transparent? text, logo_small_dark_transparent? text, logo_light? text, logo_dark? text,"
    " logo_light_transparent? text, logo_dark_transparent? text",
    "games": "game_id text, tipoff_at? when, status? cat, type? cat, gender? cat, home_team_id? id, home_team_name? text,"
    " away_team_id? id, away_team_name? text, home_team_reference_id? text, away_team_reference_id? text, officials_team_id? id,"
    " facility_name? text, court_name? text, location_id? text, court_id? text, facility_id? text, tournament? text,"
    " reference_id? text, fan_engagement_enabled? flag, source? cat, results_link? text",
    "events": "team_id? id, event_id text, game_id? text, name? text, source? cat, is_practice_event? flag, is_game_event? flag,"
    " started_at? when, ended_at? when, game_type? cat, home_team_id? id, home_team_name? text, away_team_id? id,"
    " away_team_name? text, self_link? text, stats_details_link? text",
    "sessions": "team_id? id, event_id text, game_id? text, session_id text, position int32, name? text, type? cat,"
    " started_at? when, ended_at? when, stats_link? text, stats_details_link? text, shots_link? text, possessions_link? text",
    "location_windows": "event_id? text, game_id? text, session_id text, start when, end when, link text",
    "player_stats": f"session_id? text, game_id? text, {WHO}, games_played? int, stat cat, value? num",
    "box_score": f"session_id? text, game_id? text, {WHO}, games_played? int, " + ", ".join(f"{c}? num" for c in reading.CODES),
    "stat_events": f"session_id? text, game_id? text, {WHO}, stat cat, occurred_at? when, value? num, {CLOCKS}, period? cat,"
    " x? num, y? num, z? num, hoop_to_event_x? num, hoop_to_event_y? num",
    "possessions": "session_id text, game_id? text, team_id id, team_name? text, possession int32, start_timestamp? when, end_timestamp? when,"
    " start_game_clock? text, start_game_clock_s? num, end_game_clock? text, end_game_clock_s? num, period? cat, player_ids? ids,"
    " opposing_player_ids? ids, lineup_id? text, opposing_lineup_id? text, "
    + ", ".join(f"{n}? {'flag' if n in ('half_court', 'paint_touch') else 'int'}" for n in reading.ATTRIBUTES)
    + ", locations_link? text",
    "possession_events": "session_id text, game_id? text, team_id id, possession int32, position int32, timestamp? when, possession_type? cat,"
    f" details? texts, player_id? id, {CLOCKS}, shot_distance_cm? num, x? num, y? num, z? num, zone? int, advanced_zone? int,"
    " is_3point? flag",
    "possession_players": "session_id? text, game_id? text, team_id id, player_id id, first_name? text, last_name? text, profile_image_link? text",
    "shots": "session_id? text, game_id? text, team_id? id, player_id? id, occurred_at? when, is_make? flag, is_3point? flag,"
    " points? int, zone? int, advanced_zone? int, player_x? num, player_y? num, player_z? num, hoop_x? num, hoop_y? num,"
    f" hoop_z? num, hoop_player_x? num, hoop_player_y? num, distance_cm? num, status? cat, {CLOCKS}, period? cat,"
    " attributes? texts, defender_ids? ids",
    "live_items": "kind cat, at when, event? cat, id? text, seq? int, source? cat, text? text, start? when, end? when, reason? text,"
    " status? int, attempt? int, retry_at? when, dropped? int",
    "stat_updates": "occurred_at? when, team_id? id, player_id? id, stat cat, value? num, classification? cat, version? int, seq? int, source? cat",
    "play_by_play": "game_id? text, session_id? text, event_id text, type? cat, timestamp? when, team_id? id, session_type? cat,"
    " practice_id? text, practice_definition_id? text, drill_definition_id? text, stats? map, corrected? flag, facility_id? text,"
    f" court_id? text, {CLOCKS}, period? cat, player_x? num, player_y? num, player_z? num, hoop_to_event_x? num,"
    " hoop_to_event_y? num, clip_id? text, classification? cat, description? text, base_stats? cat, actual_stats? cat, act? cat,"
    " player_id? id",
    "ball_screens": "game_id? text, session_id? text, event_id text, timestamp? when, end_timestamp? when, type? cat,"
    " team_possession_id? text, session_type? cat, period? cat, source? cat, corrected? flag, ball_handler_player_id? id,"
    " ball_handler_defender_player_id? id, screener_player_ids? ids, screener_defender_player_ids? ids, offensive_actions? map,"
    " defensive_actions? map, team_id? id, defender_team_id? id, screener_x? num, screener_y? num, wing? int,"
    " video_time_mark_start? text, start_game_clock? text, start_game_clock_s? num, end_game_clock? text, end_game_clock_s? num,"
    " start_shot_clock? text, start_shot_clock_s? num, end_shot_clock? text, end_shot_clock_s? num",
    "videos": "game_id? text, session_id? text, hls_file? text, hls_video_start_timestamp? when, hls_start_offset? num, hls_video_delay_ms? num,"
    " hls_duration? num, period? cat, event_start_timestamp? when, event_end_timestamp? when, start_game_clock_ms? num, end_game_clock_ms? num,"
    " source? cat, team_id? id, player_id? id, facility_id? text",
    "corrections": "table cat, team_id? id, game_id? text, session_id? text, player_id? id, key? text, field text, old? text, new? text,"
    " old_version? int, new_version? int, seen_at when",
    "coverage": "operation cat, team_id? id, game_id? text, session_id? text, start? when, end? when, status cat, rows int, request_id? text,"
    " error? text, attempts int32, fetched_at? when, unit text, served_at? when, listed_at? when",
    "drift": "operation cat, path text, first_seen when, count int, type? cat",
    "violations": "rule cat, team_id? id, game_id? text, session_id? text, player_id? id, expected? text, found? text, message text",
    "locations": f"session_id? text, game_id? text, t when, type? cat, team_id? id, player_id? id, tag? text, x? num, y? num, z? num, speed? num, {CLOCKS}",
}


def columns(table: str) -> list[tuple[str, pa.DataType, bool]]:
    listed = (column.split() for column in COLUMNS[table].split(","))
    return [(name.rstrip("?"), TYPES[kind], name.endswith("?")) for name, kind in listed]


def shape(schema: pa.Schema) -> list[tuple[str, pa.DataType, bool]]:
    return [(field.name, field.type, field.nullable) for field in schema]


@pytest.mark.parametrize("table", COLUMNS)
def test_a_table_has_the_columns_of_the_contract(table: str) -> None:
    schema = pa.schema(sideline.SCHEMAS[table])
    assert shape(schema) == columns(table)
    assert all(field.metadata[b"description"] for field in schema)


def test_the_schemas_are_those_of_the_tables_and_no_others() -> None:
    assert set(sideline.SCHEMAS) == set(COLUMNS)


def test_lengths_have_their_unit_in_the_field() -> None:
    shots = pa.schema(sideline.SCHEMAS["shots"])
    assert shots.field("player_x").metadata[b"unit"] == b"mm"
    assert shots.field("distance_cm").metadata[b"unit"] == b"cm"
    assert shots.field("game_clock_s").metadata[b"unit"] == b"s"


EMPTY = {
    "locations": b"[]",
    "game": b'{"id": "g"}',
    **dict.fromkeys(["roster", "broadcast_roster"], b'{"id": 1, "players": []}'),
    "team_game_stats": b'{"id": 1, "player_stats": []}',
    **dict.fromkeys(["game_shots", "catch_up"], b'{"shots": []}'),
    "play_by_play": b'{"details": []}',
    "ball_screens": b'{"ballscreens": []}',
    "videos": b'{"videos": []}',
}


@pytest.mark.parametrize("operation", reading.READINGS)
def test_columns_and_types_do_not_depend_on_the_data(operation: str) -> None:
    body = EMPTY.get(operation, b'{"teams": [], "games": [], "events": []}')
    payload = sideline.Payload.from_bytes(operation, body, session_id="s-1")
    for name in payload.tables:
        assert shape(pa.table(payload.table(name)).schema) == columns(name), name


def same(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    """Equal rows; a clock in seconds may differ in the last bit of a float."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        if mine != other:
            assert list(mine) == list(other)
            assert mine == {k: pytest.approx(v, abs=1e-6) if isinstance(v, float) else v for k, v in other.items()}


def agree(operation: str, raw: bytes, context: dict[str, str]) -> None:
    """The payload's dict is the body, and each of its tables is the plain reading's."""
    payload = sideline.Payload.from_bytes(operation, raw, **context)
    body = json.loads(raw)
    assert payload.to_dict() == body
    assert payload.tables == list(reading.READINGS[operation])
    for name, read in reading.READINGS[operation].items():
        same(payload.table(name).to_dicts(), list(read(body, context)))


CONTEXT = {"session_id": "s-1"}
OF_A_GAME = ["team_game_stats", "game_shots", "play_by_play", "ball_screens", "videos", "catch_up"]
CONTEXTS = {"team_events": {"team_id": "46"}, "game": {"game_id": "game-9"}, **{name: {"game_id": "game-1"} for name in OF_A_GAME}}


@pytest.mark.parametrize("operation", [path.stem for path in sorted(GOLDEN.glob("*.json"))])
@pytest.mark.parametrize("seed", range(12))
def test_tables_agree_with_the_plain_reading_of_disturbed_golden_bodies(operation: str, seed: int) -> None:
    body = json.loads((GOLDEN / f"{operation}.json").read_bytes())
    rng = random.Random(f"{operation} {seed}")
    disturbed = disturb(body, rng)
    raw = json.dumps(disturbed, indent=rng.choice([None, 1, 4]), ensure_ascii=rng.random() < 0.5).encode()
    agree(operation, raw, CONTEXTS.get(operation, CONTEXT))


# What a column cannot do without, and what is no number although it looks like one.
NEEDED = {"id", "t", "event_id", "eventId"}
IDS = {"id", "player_id", "tid", "pid", "teamId", "home_team_id", "away_team_id", "ballHandlerPlayerId", "ballHandlerDefenderPlayerId", "defenderTeamId"}
# And the roots: without them a body is no answer.
FIXED = {"_locations", "events", "teams", "games", "stats", "_self", "players", "player_stats", "details", "shots", "ballscreens", "possessions"}
# Objects whose keys are data.
OPEN = {"stats", "totalStats", "offensiveActions", "defensiveActions"}


def disturb(value: Any, rng: random.Random, key: str = "", kept: bool = False) -> Any:
    """The same body as another server might send it: keys in another order, unknown fields, nulls, missing fields,
    ids as strings or numbers, integers as floats."""
    if isinstance(value, dict):
        items = list(value.items())
        keep = NEEDED | FIXED | ({"tid", "pid"} if "totalStats" in value else set())
        if key not in OPEN:
            items = [(k, v) for k, v in items if k in keep or rng.random() > 0.1]
            items += [(f"new_{n}", rng.choice([1, None, "x", {"deep": [1, {"id": 2}]}, [[], {}]])) for n in range(rng.choice([0, 0, 1, 2]))]
            rng.shuffle(items)
        return {k: disturb(v, rng, k, k in keep) for k, v in items}
    if isinstance(value, list):
        return [disturb(v, rng) for v in value]
    if key in IDS and str(value).isdigit():
        return rng.choice([int(value), str(value), float(value)])
    if key and not kept and rng.random() < 0.1:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.2:
        return float(value)
    return value


# The tables of each part of a catch-up.
PARTS = {
    "stats": ["player_stats", "box_score"],
    "details": ["play_by_play"],
    "shots": ["shots"],
    "possessions": ["possessions", "possession_events", "possession_players"],
}


@pytest.mark.parametrize("parts", [*itertools.permutations(PARTS, 1), *itertools.permutations(PARTS, 2), tuple(PARTS)], ids=",".join)
def test_a_catch_up_has_the_tables_of_the_requested_parts(parts: tuple[str, ...]) -> None:
    golden = json.loads((GOLDEN / "catch_up.json").read_bytes())
    body = {key: golden[key] for key in (*parts, "gameTotals")}
    with server(lambda _: as_json(body)) as service, sideline.Client(username="u", secret="s", base_url=service.base_url) as client:
        payload = client.catch_up("game-1", parts)
    assert unquote(service.asked[0].target) == f"/v1/data/stats/games/game-1/{','.join(parts)}"
    assert payload.tables == [table for part in parts for table in PARTS[part]]
    assert payload.unknown_fields() == []
    for name in payload.tables:
        expected = list(reading.READINGS["catch_up"][name](body, {"game_id": "game-1"}))
        assert expected
        same(payload.table(name).to_dicts(), expected)


def bodies(client: sideline.Client) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Every kind of body of a generated season, with the request's context."""
    teams = client.teams()
    yield "teams", teams.raw, {}
    team = teams["teams"][0]["id"]
    start, end = "2026-07-01", "2027-03-01"
    schedule = client.schedule(start, end)
    yield "schedule", schedule.raw, {}
    yield "matchup", client.matchup(team, start, end, reference="SHOTTRACKER", gender="MEN").raw, {}
    yield "roster", client.roster(team).raw, {"team_id": str(team)}
    for game in (None, schedule["games"][0]["event_id"]):
        yield "broadcast_roster", client.broadcast_roster(schedule["games"][0]["home_team_id"], game_id=game).raw, {}
    events = client.team_events(team, start, end)
    yield "team_events", events.raw, {"team_id": str(team)}
    played = [e for e in events.to_dict()["events"] if e["results"]]
    games = [e for e in played if e["is_game_event"]]
    practices = [e for e in played if e["is_practice_event"]]
    for event in (*games[:2], games[-1], *practices[:1]):
        if event["is_game_event"]:
            yield "game", client.game(event["id"]).raw, {"game_id": event["id"]}
            yield "team_game_stats", client.team_game_stats(team, game_id=event["id"]).raw, {"team_id": str(team), "game_id": event["id"]}
            for operation in ("game_stats_details", "game_shots", "play_by_play", "ball_screens", "videos", "catch_up"):
                yield operation, getattr(client, operation)(event["id"]).raw, {"game_id": event["id"]}
        for session in event["results"][:1]:
            known = {"session_id": session["id"]}
            for operation in ("stats", "stats_details", "possessions", "shots"):
                yield operation, getattr(client, operation)(session["id"]).raw, known
            yield "locations", client.locations(session["id"], session["started_at"], session["started_at"] + 60_000).raw, known


# Operations that the simulator does not answer yet. One that it learns to answer moves from here into `bodies`.
NOT_SIMULATED: set[str] = set()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tables_agree_with_the_plain_reading_of_a_generated_season(seed: int) -> None:
    seen = set()
    with sideline.Simulator(seed=seed, teams=6, games=30, now="2026-11-20T20:30:00Z") as service, service.client() as client:
        for operation, raw, context in bodies(client):
            agree(operation, raw, context)
            assert sideline.Payload.from_bytes(operation, raw, **context).unknown_fields() == []
            seen.add(operation)
    assert seen == set(reading.READINGS) - NOT_SIMULATED
