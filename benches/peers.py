"""The best plain-Python routes we know from a body to a table.

To Arrow: typed msgspec structs, one pass that fills a list for each column (parents repeated, clocks parsed once for each distinct
text), `pyarrow.array` with the final types. Text stays text, where ours is dictionary-encoded: that favours the peer.
To frames: orjson, a dict for each row, the frame's constructor.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
import orjson
import pandas
import polars
import pyarrow as pa

import sideline


def plain(name: str) -> pa.Schema:
    """A table's schema, categories as text."""
    fields = pa.schema(sideline.SCHEMAS[name])
    return pa.schema([f.with_type(pa.string()) if pa.types.is_dictionary(f.type) else f for f in fields])


@lru_cache(maxsize=100_000)
def seconds(clock: str | None) -> float | None:
    if clock is None:
        return None
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total


def table(columns: dict[str, list[object]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays([pa.array(columns[f.name], f.type) for f in schema], schema=schema)


class Occurrence(msgspec.Struct):
    occurred_at: int
    value: float
    period: str
    game_clock: str | None = None
    shot_clock: str | None = None
    x: float | None = None
    y: float | None = None
    z: float | None = None
    hoop_to_event_x: float | None = None
    hoop_to_event_y: float | None = None


class Details(msgspec.Struct):
    firstname: str
    lastname: str


class Line(msgspec.Struct):
    id: int
    version: int
    stats: dict[str, list[Occurrence]]
    player_details: Details | None = None


class Team(msgspec.Struct):
    id: int
    name: str
    player_stats: list[Line]


class Body(msgspec.Struct):
    teams: list[Team]


DETAILS = msgspec.json.Decoder(Body)
STAT_EVENTS = plain("stat_events")


def stat_events(raw: bytes, game_id: str | None = None, session_id: str | None = None) -> pa.Table:
    c: dict[str, list[object]] = {name: [] for name in STAT_EVENTS.names}
    for team in DETAILS.decode(raw).teams:
        for line in team.player_stats:
            who = line.player_details
            for stat, occurrences in line.stats.items():
                n = len(occurrences)
                for name, value in (
                    ("session_id", session_id), ("game_id", game_id), ("team_id", team.id), ("team_name", team.name),
                    ("player_id", line.id), ("first_name", who and who.firstname), ("last_name", who and who.lastname),
                    ("is_team_total", line.id == 0), ("version", line.version), ("stat", stat),
                ):  # fmt: skip
                    c[name] += [value] * n
                c["occurred_at"] += [o.occurred_at for o in occurrences]
                c["value"] += [o.value for o in occurrences]
                c["game_clock"] += [o.game_clock for o in occurrences]
                c["game_clock_s"] += [seconds(o.game_clock) for o in occurrences]
                c["shot_clock"] += [o.shot_clock for o in occurrences]
                c["shot_clock_s"] += [seconds(o.shot_clock) for o in occurrences]
                c["period"] += [o.period for o in occurrences]
                c["x"] += [o.x for o in occurrences]
                c["y"] += [o.y for o in occurrences]
                c["z"] += [o.z for o in occurrences]
                c["hoop_to_event_x"] += [o.hoop_to_event_x for o in occurrences]
                c["hoop_to_event_y"] += [o.hoop_to_event_y for o in occurrences]
    return table(c, STAT_EVENTS)


POSSESSIONS, EVENTS, PLAYERS = (plain(name) for name in ("possessions", "possession_events", "possession_players"))
COUNTS = POSSESSIONS.names[15:-1]
SHOT = ("shot_distance_cm", "x", "y", "z", "zone", "advanced_zone", "is_3point")

Attributes = msgspec.defstruct(
    "Attributes",
    [(name, (bool if name in ("half_court", "paint_touch") else int) | None, None) for name in COUNTS],
)


class Shot(msgspec.Struct):
    shot_distance_cm: float | None = None
    x: float | None = None
    y: float | None = None
    z: float | None = None
    zone: int | None = None
    advanced_zone: int | None = None
    is_3point: bool | None = None


class Stat(msgspec.Struct):
    timestamp: int
    possession_type: str
    details: list[str]
    player_id: int
    game_clock: str | None = None
    shot_clock: str | None = None
    shot_attributes: Shot | None = None


class Possession(msgspec.Struct):
    start_timestamp: int
    end_timestamp: int
    start_game_clock: str | None
    end_game_clock: str | None
    period: str
    player_ids: list[int]
    opposing_player_ids: list[int]
    stats: list[Stat]
    possession_attributes: Attributes  # type: ignore[valid-type]
    locations_link: str | None = msgspec.field(name="_locations", default=None)


class Player(msgspec.Struct):
    id: int
    first_name: str | None = None
    last_name: str | None = None
    profile_image_link: str | None = None


class PossessionTeam(msgspec.Struct):
    id: int
    name: str
    team_player_details: list[Player]
    possessions: list[Possession]


class PossessionsBody(msgspec.Struct):
    teams: list[PossessionTeam]


PLAYS = msgspec.json.Decoder(PossessionsBody)
NO_SHOT = Shot()


def lineup(ids: list[int]) -> str:
    return "-".join(map(str, sorted(ids)))


def possessions(raw: bytes, session_id: str) -> tuple[pa.Table, pa.Table, pa.Table]:
    p, e, w = ({name: [] for name in schema.names} for schema in (POSSESSIONS, EVENTS, PLAYERS))
    for team in PLAYS.decode(raw).teams:
        them, who = team.possessions, team.team_player_details
        p["team_id"] += [team.id] * len(them)
        p["team_name"] += [team.name] * len(them)
        p["possession"] += range(len(them))
        for name in ("start_timestamp", "end_timestamp", "start_game_clock", "end_game_clock", "period", "player_ids",
                     "opposing_player_ids", "locations_link"):  # fmt: skip
            p[name] += [getattr(one, name) for one in them]
        p["start_game_clock_s"] += [seconds(one.start_game_clock) for one in them]
        p["end_game_clock_s"] += [seconds(one.end_game_clock) for one in them]
        p["lineup_id"] += [lineup(one.player_ids) for one in them]
        p["opposing_lineup_id"] += [lineup(one.opposing_player_ids) for one in them]
        attributes = [one.possession_attributes for one in them]
        for name in COUNTS:
            p[name] += [getattr(one, name) for one in attributes]
        for number, one in enumerate(them):
            stats = one.stats
            e["team_id"] += [team.id] * len(stats)
            e["possession"] += [number] * len(stats)
            e["position"] += range(len(stats))
            for name in ("timestamp", "possession_type", "details", "player_id", "game_clock", "shot_clock"):
                e[name] += [getattr(stat, name) for stat in stats]
            e["game_clock_s"] += [seconds(stat.game_clock) for stat in stats]
            e["shot_clock_s"] += [seconds(stat.shot_clock) for stat in stats]
            shots = [stat.shot_attributes or NO_SHOT for stat in stats]
            for name in SHOT:
                e[name] += [getattr(shot, name) for shot in shots]
        w["team_id"] += [team.id] * len(who)
        w["player_id"] += [one.id for one in who]
        for name in ("first_name", "last_name", "profile_image_link"):
            w[name] += [getattr(one, name) for one in who]
    for columns in (p, e, w):
        columns["session_id"] = [session_id] * len(columns["team_id"])
    return table(p, POSSESSIONS), table(e, EVENTS), table(w, PLAYERS)


def _rows(raw: bytes, game_id: str) -> list[dict[str, object]]:
    return [
        {
            "session_id": None, "game_id": game_id, "team_id": team["id"], "team_name": team["name"], "player_id": line["id"],
            "first_name": who and who["firstname"], "last_name": who and who["lastname"], "is_team_total": line["id"] == 0,
            "version": line["version"], "stat": stat, "occurred_at": o["occurred_at"], "value": o["value"],
            "game_clock": o["game_clock"], "game_clock_s": seconds(o["game_clock"]),
            "shot_clock": o["shot_clock"], "shot_clock_s": seconds(o["shot_clock"]),
            "period": o["period"], "x": o["x"], "y": o["y"], "z": o["z"],
            "hoop_to_event_x": o["hoop_to_event_x"], "hoop_to_event_y": o["hoop_to_event_y"],
        }
        for team in orjson.loads(raw)["teams"]
        for line in team["player_stats"]
        for who in (line["player_details"],)
        for stat, occurrences in line["stats"].items()
        for o in occurrences
    ]  # fmt: skip


_POLARS = {
    f.name: polars.Int64
    if pa.types.is_integer(f.type) or pa.types.is_timestamp(f.type)
    else polars.Float64
    if pa.types.is_floating(f.type)
    else polars.Boolean
    if pa.types.is_boolean(f.type)
    else polars.String
    for f in STAT_EVENTS
}


def to_polars(raw: bytes, game_id: str) -> polars.DataFrame:
    frame = polars.DataFrame(_rows(raw, game_id), schema=_POLARS)
    return frame.with_columns(polars.col("occurred_at").cast(polars.Datetime("ms", "UTC")))


def to_pandas(raw: bytes, game_id: str) -> pandas.DataFrame:
    frame = pandas.DataFrame(_rows(raw, game_id))
    frame["occurred_at"] = pandas.to_datetime(frame["occurred_at"], unit="ms", utc=True)
    return frame
