"""The best Python routes we know from a body to Arrow, a contender for each library; `benches/README.md` has what was tried.

msgspec → pyarrow: typed structs that the garbage collector does not follow, a list for each column, `pyarrow.array` with the final
types; what a run of rows shares is made once and repeated by `take`; clocks are read once for each distinct text, and remembered
between bodies. Tables of few rows are one struct array of tuples.
polars, DuckDB: the whole body parsed by the library itself, then its own explode, unpivot and unnest. polars has no map, so rows of
`stats` leave it in another order.

Text stays text where ours is dictionary-encoded, which favours the peers. None of them notices an unknown field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

import duckdb
import msgspec
import numpy as np
import orjson
import polars as pl
import pyarrow as pa
from msgspec.structs import astuple

import sideline


def plain(name: str) -> pa.Schema:
    """A table's schema, categories as text."""
    fields = pa.schema(sideline.SCHEMAS[name])
    return pa.schema([f.with_type(pa.string()) if pa.types.is_dictionary(f.type) else f for f in fields])


STAT_EVENTS, PLAYER_STATS, PLAYERS = (plain(name) for name in ("stat_events", "player_stats", "players"))
POSSESSIONS, EVENTS, POSSESSION_PLAYERS = (
    plain(name) for name in ("possessions", "possession_events", "possession_players")
)


PLAYER_STATS_ROW, PLAYERS_ROW = pa.struct(list(PLAYER_STATS)), pa.struct(list(PLAYERS))
PLAY_ROWS = [pa.struct(list(schema)) for schema in (POSSESSIONS, EVENTS, POSSESSION_PLAYERS)]


class _Seconds(dict[str | None, float | None]):
    def __missing__(self, clock: str) -> float:
        total = 0.0
        for part in clock.split(":"):
            total = total * 60 + float(part)
        self[clock] = total
        return total


class _Lineups(dict[tuple[int, ...] | None, str | None]):
    def __missing__(self, ids: tuple[int, ...]) -> str:
        self[ids] = "-".join(map(str, sorted(ids)))
        return self[ids]


SECONDS, LINEUPS = _Seconds({None: None}), _Lineups({None: None})


# -- msgspec → pyarrow


def struct(name: str, fields: Iterable[tuple[str, object]], rename: dict[str, str] | None = None) -> type:
    """All fields optional; what holds no cycle needs no collector."""
    optional = [(field, kind | None, None) for field, kind in fields]
    return msgspec.defstruct(name, optional, gc=False, rename=rename)


def decoder(body: type) -> Callable[[bytes], object]:
    # Not strict: whole numbers may come as decimals.
    return msgspec.json.Decoder(body, strict=False).decode


def rows_of(objects: list[tuple[object, ...]], row: pa.StructType) -> pa.RecordBatch:
    """All columns of a few rows by one call."""
    return pa.RecordBatch.from_struct_array(pa.array(objects, row))


def clocks(texts: list[str | None]) -> tuple[pa.Array, pa.Array]:
    column = pa.array(texts, pa.string())
    distinct = column.dictionary_encode()
    seconds = pa.array([SECONDS[text] for text in distinct.dictionary.to_pylist()], pa.float64())
    return column, seconds.take(distinct.indices)


NUMBERS = ("x", "y", "z", "hoop_to_event_x", "hoop_to_event_y")
Details = struct("Details", [("firstname", str), ("lastname", str)])
Occurrence = struct(
    "Occurrence",
    [("occurred_at", int), ("value", float), ("game_clock", str), ("shot_clock", str), ("period", str),
     *((name, float) for name in NUMBERS)],
)  # fmt: skip


def _lines(name: str, value: object) -> Callable[[bytes], object]:
    """Decodes the body of stats whose `stats` have such values."""
    line = struct(name, [("id", int), ("player_details", Details), ("version", int), ("stats", dict[str, value])])
    team = struct(f"{name}Team", [("id", int), ("name", str), ("player_stats", list[line])])
    return decoder(struct(f"{name}Body", [("teams", list[team])]))


EVENT_LINES, VALUE_LINES = _lines("EventLine", list[Occurrence]), _lines("ValueLine", float)
NOBODY = Details()


SHARED = pa.struct(list(STAT_EVENTS)[:9])


def stat_events(raw: bytes, game_id: str | None = None, session_id: str | None = None) -> pa.Table:
    lines, runs, stats, counts, maps = [], [], [], [], []
    for team in EVENT_LINES(raw).teams:
        for line in team.player_stats:
            who = line.player_details or NOBODY
            lines.append(
                (
                    session_id,
                    game_id,
                    team.id,
                    team.name,
                    line.id,
                    who.firstname,
                    who.lastname,
                    line.id == 0,
                    line.version,
                )
            )
            runs.append(len(line.stats))
            stats += line.stats
            counts += map(len, line.stats.values())
            maps.append(line.stats)
    rows = list(chain.from_iterable(chain.from_iterable(of.values() for of in maps)))
    run_of_row = np.repeat(np.arange(len(stats)), counts)
    line_of_row = np.repeat(np.arange(len(lines)), runs)[run_of_row]
    columns = [
        *rows_of(lines, SHARED).take(pa.array(line_of_row)).columns,
        pa.array(stats, pa.string()).take(pa.array(run_of_row)),
        pa.array([o.occurred_at for o in rows], pa.int64()).view(STAT_EVENTS.field("occurred_at").type),
        pa.array([o.value for o in rows], pa.float64()),
        *clocks([o.game_clock for o in rows]),
        *clocks([o.shot_clock for o in rows]),
        pa.array([o.period for o in rows], pa.string()),
        pa.array([o.x for o in rows], pa.float64()),
        pa.array([o.y for o in rows], pa.float64()),
        pa.array([o.z for o in rows], pa.float64()),
        pa.array([o.hoop_to_event_x for o in rows], pa.float64()),
        pa.array([o.hoop_to_event_y for o in rows], pa.float64()),
    ]
    return pa.Table.from_arrays(columns, schema=STAT_EVENTS)


def player_stats(raw: bytes, session_id: str | None = None) -> pa.RecordBatch:
    rows = []
    for team in VALUE_LINES(raw).teams:
        for line in team.player_stats:
            who = line.player_details or NOBODY
            shared = (
                session_id,
                None,
                team.id,
                team.name,
                line.id,
                who.firstname,
                who.lastname,
                line.id == 0,
                line.version,
                None,
            )
            rows += [(*shared, *stat) for stat in line.stats.items()]
    return rows_of(rows, PLAYER_STATS_ROW)


Images = struct("Images", [(name, str) for name in PLAYERS.names[14:]])
NO_IMAGES = astuple(Images())
_KINDS = {pa.int64(): int, pa.bool_(): bool, pa.string(): str}
RosterPlayer = struct(
    "RosterPlayer",
    [("player_id", int), *((f.name, _KINDS[f.type]) for f in list(PLAYERS)[2:14]), ("team_player_images", Images)],
    rename={"player_id": "id"},
)
ROSTER = decoder(struct("Roster", [("id", int), ("players", list[RosterPlayer])]))


def players(raw: bytes) -> pa.RecordBatch:
    team = ROSTER(raw)
    rows = []
    for one in team.players:
        *own, images = astuple(one)
        rows.append((team.id, *own, *(astuple(images) if images else NO_IMAGES)))
    return rows_of(rows, PLAYERS_ROW)


COUNTS, SHOT = POSSESSIONS.names[16:-1], EVENTS.names[13:]
Attributes = struct("Attributes", [(name, _KINDS[POSSESSIONS.field(name).type]) for name in COUNTS])
Shot = struct("Shot", [(name, {**_KINDS, pa.float64(): float}[EVENTS.field(name).type]) for name in SHOT])
Stat = struct(
    "Stat",
    [("timestamp", int), ("possession_type", str), ("details", list[str]), ("player_id", int), ("game_clock", str),
     ("shot_clock", str), ("shot_attributes", Shot)],
)  # fmt: skip
Possession = struct(
    "Possession",
    [("locations_link", str), ("start_timestamp", int), ("end_timestamp", int), ("start_game_clock", str),
     ("end_game_clock", str), ("period", str), ("player_ids", tuple[int, ...]), ("opposing_player_ids", tuple[int, ...]),
     ("stats", list[Stat]), ("possession_attributes", Attributes)],
    rename={"locations_link": "_locations"},
)  # fmt: skip
Player = struct("Player", [("id", int), ("first_name", str), ("last_name", str), ("profile_image_link", str)])
_Plays = struct(
    "Plays",
    [("id", int), ("name", str), ("team_player_details", list[Player]), ("possessions", list[Possession])],
)
TIME = POSSESSIONS.field("start_timestamp").type
PLAYS = decoder(struct("PossessionsBody", [("teams", list[_Plays])]))
NO_SHOT, NO_COUNTS = astuple(Shot()), astuple(Attributes())


def possessions(raw: bytes, session_id: str) -> list[pa.RecordBatch]:
    rows, events, who = [], [], []
    for team in PLAYS(raw).teams:
        for number, p in enumerate(team.possessions):
            rows.append((
                session_id, None, team.id, team.name, number, p.start_timestamp, p.end_timestamp,
                p.start_game_clock, SECONDS[p.start_game_clock], p.end_game_clock, SECONDS[p.end_game_clock], p.period,
                p.player_ids, p.opposing_player_ids, LINEUPS[p.player_ids], LINEUPS[p.opposing_player_ids],
                *(astuple(p.possession_attributes) if p.possession_attributes else NO_COUNTS), p.locations_link,
            ))  # fmt: skip
            events += [
                (session_id, None, team.id, number, position, s.timestamp, s.possession_type, s.details, s.player_id,
                 s.game_clock, SECONDS[s.game_clock], s.shot_clock, SECONDS[s.shot_clock],
                 *(astuple(s.shot_attributes) if s.shot_attributes else NO_SHOT))
                for position, s in enumerate(p.stats)
            ]  # fmt: skip
        who += [(session_id, None, team.id, *astuple(one)) for one in team.team_player_details]
    return list(map(rows_of, (rows, events, who), PLAY_ROWS))


# -- polars.read_json, explode and unnest


def _polars_type(kind: pa.DataType) -> pl.DataType:
    return pl.Series(pa.array([], kind)).dtype


EVENT_LIST = pl.List(pl.Struct({f.name: pl.Int64 if f.name == "occurred_at" else _polars_type(f.type)
                                for f in STAT_EVENTS if f.name in Occurrence.__struct_fields__}))  # fmt: skip


def _seconds(name: str) -> pl.Expr:
    parts = pl.col(name).str.split(":").list
    minutes = parts.get(-2, null_on_oob=True).cast(pl.Float64).fill_null(0.0)
    return (minutes * 60 + parts.get(-1).cast(pl.Float64)).alias(f"{name}_s")


def _polars_lines(raw: bytes, value: pl.DataType, ids: dict[str, str]) -> pl.DataFrame:
    """A row for each stat of a player; its value in `at`."""
    line = pl.col("player_stats").struct
    who = line.field("player_details").struct
    lines = (
        pl.read_json(raw)
        .explode("teams")
        .unnest("teams")
        .explode("player_stats")
        .select(
            pl.lit(ids.get("session_id"), pl.String).alias("session_id"),
            pl.lit(ids.get("game_id"), pl.String).alias("game_id"),
            pl.col("id").cast(pl.Int64).alias("team_id"),
            pl.col("name").alias("team_name"),
            line.field("id").cast(pl.Int64).alias("player_id"),
            who.field("firstname").alias("first_name"),
            who.field("lastname").alias("last_name"),
            (line.field("id") == 0).alias("is_team_total"),
            line.field("version").cast(pl.Int64),
            line.field("stats"),
        )
    )
    shared = lines.columns[:-1]
    wide = lines.unnest("stats").with_columns(pl.exclude(shared).cast(value))
    return wide.unpivot(index=shared, variable_name="stat", value_name="at").drop_nulls("at")


def polars_stat_events(raw: bytes, **ids: str) -> pl.DataFrame:
    rows = _polars_lines(raw, EVENT_LIST, ids).explode("at").unnest("at")
    time = pl.col("occurred_at").cast(pl.Datetime("ms", "UTC"))
    return rows.with_columns(time, _seconds("game_clock"), _seconds("shot_clock")).select(STAT_EVENTS.names)


def polars_player_stats(raw: bytes, **ids: str) -> pl.DataFrame:
    rows = _polars_lines(raw, pl.Float64, ids).rename({"at": "value"})
    return rows.with_columns(pl.lit(None, pl.Int64).alias("games_played")).select(PLAYER_STATS.names)


def polars_possessions(raw: bytes, session_id: str) -> list[pl.DataFrame]:
    session, game = pl.lit(session_id).alias("session_id"), pl.lit(None, pl.String).alias("game_id")
    teams = pl.read_json(raw).explode("teams").unnest("teams").with_row_index("of")
    teams = teams.select(
        "of",
        session,
        game,
        team_id=pl.col("id").cast(pl.Int64),
        team_name="name",
        who="team_player_details",
        p="possessions",
    )
    plays = (
        teams.explode("p").with_columns(possession=pl.int_range(pl.len(), dtype=pl.Int32).over("of")).drop("who", "of")
    )
    plays = plays.unnest("p").rename({"_locations": "locations_link"}).with_row_index("of")
    lineup = [
        pl.col(name).list.sort().cast(pl.List(pl.String)).list.join("-").alias(column)
        for name, column in (("player_ids", "lineup_id"), ("opposing_player_ids", "opposing_lineup_id"))
    ]
    stats = plays.select("of", "session_id", "game_id", "team_id", "possession", "stats").filter(
        pl.col("stats").list.len() > 0
    )
    stats = stats.explode("stats").with_columns(position=pl.int_range(pl.len(), dtype=pl.Int32).over("of"))
    who = teams.explode("who").unnest("who").rename({"id": "player_id"})
    clocks = (
        [_seconds("start_game_clock"), _seconds("end_game_clock")],
        [_seconds("game_clock"), _seconds("shot_clock")],
    )
    return [
        _as(plays.unnest("possession_attributes").with_columns(*lineup, *clocks[0]), POSSESSIONS),
        _as(stats.unnest("stats").unnest("shot_attributes").with_columns(*clocks[1]), EVENTS),
        _as(who, POSSESSION_PLAYERS),
    ]


def _as(frame: pl.DataFrame, schema: pa.Schema) -> pl.DataFrame:
    return frame.select(pl.col(f.name).cast(_polars_type(f.type)) for f in schema)


# -- DuckDB: from_json and unnest

DUCKDB = duckdb.connect()
"""With as many threads as the machine."""
SQL_TYPES = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN", pa.string(): "VARCHAR", TIME: "BIGINT",
             pa.list_(pa.int64()): ["BIGINT"], pa.list_(pa.string()): ["VARCHAR"]}  # fmt: skip


def _structure(kind: type, schema: pa.Schema, **others: object) -> dict[str, object]:
    """What `from_json` reads of an object."""
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return {wire: others.get(wire) or SQL_TYPES[schema.field(name).type] for name, wire in names}


def _sql_seconds(name: str) -> str:
    minutes = f"CASE WHEN contains({name}, ':') THEN split_part({name}, ':', 1)::DOUBLE * 60 ELSE 0 END"
    return f"{minutes} + split_part({name}, ':', -1)::DOUBLE AS {name}_s"


_OCCURRENCES = orjson.dumps([_structure(Occurrence, STAT_EVENTS)]).decode()
_LINE = {
    "id": "BIGINT",
    "version": "BIGINT",
    "player_details": {"firstname": "VARCHAR", "lastname": "VARCHAR"},
    "stats": "MAP(VARCHAR, JSON)",
}
_LINES = orjson.dumps({"teams": [{"id": "BIGINT", "name": "VARCHAR", "player_stats": [_LINE]}]}).decode()
STAT_EVENTS_SQL = f"""
WITH team AS (SELECT unnest(from_json($raw, '{_LINES}').teams) t),
line AS (SELECT t.id AS team_id, t.name AS team_name, unnest(t.player_stats) l FROM team),
stat AS (SELECT team_id, team_name, l, unnest(map_entries(l.stats)) s FROM line),
event AS (SELECT * EXCLUDE s, s.key AS stat, unnest(from_json(s.value, '{_OCCURRENCES}')) o FROM stat)
SELECT $session_id::VARCHAR AS session_id, $game_id::VARCHAR AS game_id, team_id, team_name, l.id AS player_id,
    l.player_details.firstname AS first_name, l.player_details.lastname AS last_name, l.id = 0 AS is_team_total,
    l.version AS version, stat, unnest(o), {_sql_seconds("o.game_clock").replace("AS o.", "AS ")}, {_sql_seconds("o.shot_clock").replace("AS o.", "AS ")}
FROM event"""


def duckdb_stat_events(raw: bytes, game_id: str | None = None, session_id: str | None = None) -> pa.Table:
    given = {"raw": raw.decode(), "game_id": game_id, "session_id": session_id}
    return DUCKDB.sql(STAT_EVENTS_SQL, params=given).to_arrow_table().select(STAT_EVENTS.names).cast(STAT_EVENTS)


_STAT = _structure(Stat, EVENTS, details=["VARCHAR"], shot_attributes=_structure(Shot, EVENTS))
_PLAY = _structure(Possession, POSSESSIONS, stats=[_STAT], possession_attributes=_structure(Attributes, POSSESSIONS))
_WHO = {"id": "BIGINT", "first_name": "VARCHAR", "last_name": "VARCHAR", "profile_image_link": "VARCHAR"}
_TEAM = {"id": "BIGINT", "name": "VARCHAR", "team_player_details": [_WHO], "possessions": [_PLAY]}
PLAYS_SQL = f"""
CREATE OR REPLACE TEMP TABLE plays AS
WITH team AS (SELECT unnest(from_json($raw, '{orjson.dumps({"teams": [_TEAM]}).decode()}').teams) t)
SELECT $session_id AS session_id, NULL::VARCHAR AS game_id, t.id AS team_id, t.name AS team_name, t.team_player_details AS who,
    t.possessions AS p FROM team"""
POSSESSIONS_SQL = f"""
WITH play AS (SELECT * EXCLUDE p, unnest(p) p, generate_subscripts(p, 1) - 1 AS possession FROM plays),
flat AS (SELECT * EXCLUDE (p, who), unnest(p) FROM play)
SELECT *, unnest(possession_attributes), _locations AS locations_link, {_sql_seconds("start_game_clock")}, {_sql_seconds("end_game_clock")},
    list_aggregate(list_sort(player_ids), 'string_agg', '-') AS lineup_id,
    list_aggregate(list_sort(opposing_player_ids), 'string_agg', '-') AS opposing_lineup_id
FROM flat"""
EVENTS_SQL = f"""
WITH play AS (SELECT * EXCLUDE p, unnest(p).stats AS stats, generate_subscripts(p, 1) - 1 AS possession FROM plays),
stat AS (SELECT * EXCLUDE stats, unnest(stats) s, generate_subscripts(stats, 1) - 1 AS position FROM play),
flat AS (SELECT * EXCLUDE s, unnest(s) FROM stat)
SELECT *, unnest(shot_attributes), {_sql_seconds("game_clock")}, {_sql_seconds("shot_clock")} FROM flat"""
WHO_SQL = (
    "WITH one AS (SELECT * EXCLUDE (who, p), unnest(who) w FROM plays) SELECT *, w.id AS player_id, unnest(w) FROM one"
)


def duckdb_possessions(raw: bytes, session_id: str) -> list[pa.Table]:
    DUCKDB.execute(PLAYS_SQL, {"raw": raw.decode(), "session_id": session_id})
    tables = ((POSSESSIONS_SQL, POSSESSIONS), (EVENTS_SQL, EVENTS), (WHO_SQL, POSSESSION_PLAYERS))
    return [DUCKDB.sql(query).to_arrow_table().select(schema.names).cast(schema) for query, schema in tables]


# -- who is compared

MSGSPEC = "msgspec → pyarrow"
_OF_STATS = {MSGSPEC: stat_events, "polars.read_json": polars_stat_events, "DuckDB": duckdb_stat_events}
PEERS: dict[str, dict[str, Callable[..., object]]] = {
    "game": _OF_STATS,
    "period": _OF_STATS,
    "possessions": {MSGSPEC: possessions, "polars.read_json": polars_possessions, "DuckDB": duckdb_possessions},
    "session stats": {MSGSPEC: player_stats, "polars.read_json": polars_player_stats},
    "roster": {MSGSPEC: players},
}
"""Of each kind of body, the ways to its tables; of small bodies the ways to its first table."""
