"""The tables' fixed columns, and that every table equals a second, plain reading of the body."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import reading
from contract import CODES, COLUMNS, TYPES, appended_columns, columns
from independent import as_json, server
from needs import library

import sideline

pa = library("pyarrow")

GOLDEN = Path(__file__).parent / "golden"


def shape(schema: pa.Schema) -> list[tuple[str, pa.DataType, bool]]:
    return [(field.name, field.type, field.nullable) for field in schema]


def of_resources() -> set[str]:
    return {name for tables in reading.READINGS.values() for name in tables}


@pytest.mark.parametrize("table", COLUMNS)
def test_a_table_has_the_columns_of_the_contract_first(table: str) -> None:
    schema = pa.schema(sideline.SCHEMAS[table])
    assert shape(schema)[: len(columns(table))] == columns(table)
    assert all(field.metadata[b"description"] for field in schema)


@pytest.mark.parametrize("table", COLUMNS)
def test_only_a_table_of_a_resource_has_more_and_they_may_be_null(table: str) -> None:
    """Older payloads have no value in them."""
    more = [pa.schema(sideline.SCHEMAS[table]).field(name) for name in appended_columns(table)]
    # The box score of a game has the codes of those of its sessions.
    assert not more or table in of_resources() | {"game_box_score"}
    assert all(field.nullable and field.type in TYPES.values() for field in more)
    codes = [field for field in more if field.name.isupper()]
    assert all(field.type == TYPES["num"] for field in codes)
    assert not codes or table in ("box_score", "game_box_score")


def test_every_column_of_a_resource_has_a_value_in_a_golden_body() -> None:
    """All but the stat codes, which have a test of their own."""
    empty = {(table, name) for table in of_resources() for name in sideline.SCHEMAS[table].names if not name.isupper()}
    for path in GOLDEN.glob("*.json"):
        payload = sideline.Payload.from_bytes(path.stem, path.read_bytes(), session_id="s-1", game_id="game-1", team_id="46")
        for table in payload.tables:
            empty -= {(table, name) for row in payload.table(table).to_dicts() for name, value in row.items() if value is not None}
    assert empty == set()


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("stats", '{"teams": [{"id": 46, "player_stats": [{"id": 461, "stats": %s}]}]}'),
        ("team_game_stats", '{"id": 46, "player_stats": [{"id": 461, "stats": %s}]}'),
        ("catch_up", '{"stats": [{"tid": "46", "pid": "461", "totalStats": %s}]}'),
    ],
)
def test_each_stat_code_is_read_from_its_own_key(operation: str, body: str) -> None:
    names = sideline.SCHEMAS["box_score"].names
    codes = [name for name in names if name.isupper()]
    assert codes[: len(CODES)] == CODES
    stats = {code: place + 0.5 for place, code in enumerate(reversed(codes))}
    table = sideline.Payload.from_bytes(operation, (body % json.dumps(stats)).encode()).table("box_score")
    assert table.column_names == names
    [row] = table.to_dicts()
    assert {name: value for name, value in row.items() if name.isupper()} == stats


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
        assert shape(pa.table(payload.table(name)).schema) == shape(pa.schema(sideline.SCHEMAS[name])), name


def assert_rows_are_equal(table: sideline.Table, read: list[reading.Read]) -> None:
    """Equal rows; a clock in seconds may differ in the last bit of a float.

    Of a column that the reading does not name, the value is that of the body's member with its name. A code that the
    schema does not list is a column after the others.
    """
    schema = sideline.SCHEMAS[table.name]
    declared_names = {name for name, _, _ in columns(table.name) if not name.isupper()}
    more = {name for row, _ in read for name in row} - set(schema.names)
    assert all(name.isupper() for name in more)
    names = [*schema.names, *sorted(more)]
    row_dicts = table.to_dicts()
    assert len(row_dicts) == len(read)
    for values, (row, objects) in zip(row_dicts, read, strict=True):
        assert list(values) == names
        assert declared_names <= row.keys()
        for name in names:
            value = row[name] if name in row else reading.member(name, objects)
            if name not in row and isinstance(values[name], datetime):
                value = reading.moment(value)
            if isinstance(value, float):
                value = pytest.approx(value, abs=1e-6)
            assert values[name] == value, name
            assert isinstance(values[name], bool) == isinstance(value, bool), name


def agree(operation: str, raw: bytes, context: dict[str, str]) -> None:
    """The payload's dict is the body, and each of its tables is the plain reading's."""
    payload = sideline.Payload.from_bytes(operation, raw, **context)
    body = json.loads(raw)
    assert payload.to_dict() == body
    assert payload.tables == list(reading.READINGS[operation])
    for name, read in reading.READINGS[operation].items():
        assert_rows_are_equal(payload.table(name), list(read(body, context)))


CONTEXT = {"session_id": "s-1"}
OF_A_GAME = ["team_game_stats", "game_shots", "play_by_play", "ball_screens", "videos", "catch_up"]
CONTEXTS = {"team_events": {"team_id": "46"}, "game": {"game_id": "game-9"}, **{name: {"game_id": "game-1"} for name in OF_A_GAME}}


@pytest.mark.parametrize("operation", [path.stem for path in sorted(GOLDEN.glob("*.json"))])
@pytest.mark.parametrize("seed", range(12))
def test_tables_agree_with_the_plain_reading_of_disturbed_golden_bodies(operation: str, seed: int) -> None:
    body = json.loads((GOLDEN / f"{operation}.json").read_bytes())
    rng = random.Random(f"{operation} {seed}")
    disturbed_body = disturb(body, rng)
    raw = json.dumps(disturbed_body, indent=rng.choice([None, 1, 4]), ensure_ascii=rng.random() < 0.5).encode()
    agree(operation, raw, CONTEXTS.get(operation, CONTEXT))


# Keys that a column needs, and keys whose values look like numbers without being any.
NEEDED_KEYS = {"id", "t", "event_id", "eventId"}
IDS = {"id", "player_id", "tid", "pid", "teamId", "home_team_id", "away_team_id", "ballHandlerPlayerId", "ballHandlerDefenderPlayerId", "defenderTeamId"}
# And the roots: without them a body is no answer.
FIXED = {"_locations", "events", "teams", "games", "stats", "_self", "players", "player_stats", "details", "shots", "ballscreens", "possessions"}
# Objects whose keys are data.
OPEN = {"stats", "totalStats", "offensiveActions", "defensiveActions"}


def disturb(value: Any, rng: random.Random, key: str = "", is_kept: bool = False) -> Any:
    """The same body as another server might send it: keys in another order, unknown fields, nulls, missing fields,
    ids as strings or numbers, integers as floats."""
    if isinstance(value, dict):
        items = list(value.items())
        keep = NEEDED_KEYS | FIXED | ({"tid", "pid"} if "totalStats" in value else set())
        if key not in OPEN:
            items = [(k, v) for k, v in items if k in keep or rng.random() > 0.1]
            items += [(f"new_{n}", rng.choice([1, None, "x", {"deep": [1, {"id": 2}]}, [[], {}]])) for n in range(rng.choice([0, 0, 1, 2]))]
            rng.shuffle(items)
        return {k: disturb(v, rng, k, k in keep) for k, v in items}
    if isinstance(value, list):
        return [disturb(v, rng) for v in value]
    if key in IDS and str(value).isdigit():
        return rng.choice([int(value), str(value), float(value)])
    if key and not is_kept and rng.random() < 0.1:
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
    assert unquote(service.requests[0].target) == f"/v1/data/stats/games/game-1/{','.join(parts)}"
    assert payload.tables == [table for part in parts for table in PARTS[part]]
    assert payload.unknown_fields() == []
    for name in payload.tables:
        expected = list(reading.READINGS["catch_up"][name](body, {"game_id": "game-1"}))
        assert expected
        assert_rows_are_equal(payload.table(name), expected)


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
    played_events = [e for e in events.to_dict()["events"] if e["results"]]
    games = [e for e in played_events if e["is_game_event"]]
    practices = [e for e in played_events if e["is_practice_event"]]
    for event in (*games[:2], games[-1], *practices[:1]):
        if event["is_game_event"]:
            yield "game", client.game(event["id"]).raw, {"game_id": event["id"]}
            yield "team_game_stats", client.team_game_stats(team, game_id=event["id"]).raw, {"team_id": str(team), "game_id": event["id"]}
            for operation in ("game_stats_details", "game_shots", "play_by_play", "ball_screens", "videos", "catch_up"):
                yield operation, getattr(client, operation)(event["id"]).raw, {"game_id": event["id"]}
        for session in event["results"][:1]:
            ids = {"session_id": session["id"]}
            for operation in ("stats", "stats_details", "possessions", "shots"):
                yield operation, getattr(client, operation)(session["id"]).raw, ids
            yield "locations", client.locations(session["id"], session["started_at"], session["started_at"] + 60_000).raw, ids


# Operations that the simulator does not answer yet. One that it learns to answer moves from here into `bodies`.
NOT_SIMULATED: set[str] = set()


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (2, 3))])
def test_tables_agree_with_the_plain_reading_of_a_generated_season(seed: int) -> None:
    seen = set()
    with sideline.Simulator(seed=seed, teams=6, games=30, now="2026-11-20T20:30:00Z") as service, service.client() as client:
        for operation, raw, context in bodies(client):
            agree(operation, raw, context)
            assert sideline.Payload.from_bytes(operation, raw, **context).unknown_fields() == []
            seen.add(operation)
    assert seen == set(reading.READINGS) - NOT_SIMULATED
