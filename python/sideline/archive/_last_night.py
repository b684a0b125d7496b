"""Scores, leaders, loads and shots of the last night, for the morning report."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from .._client import store_of, table_from_arrow
from ._libraries import pl
from ._life import is_lacking
from ._read import columns_of, conform, scan
from ._schemas import public_schema

if TYPE_CHECKING:
    from .._client import Sport
    from .._core import Table
    from . import Archive

_NIGHT = timedelta(hours=24)
"""Sessions that start within this before the last one belong to the same night."""


_OPENNESS = ("very_tight", "tight", "open", "wide_open")

STATS = ("PTS", "REB", "AST")
"""Each has a leader."""


class Night(NamedTuple):
    """The loads and shots of the last night with positions."""

    loads: list[dict[str, Any]]
    """Of each player, the farthest first, with the share of frames in which the player was seen."""
    shots: list[dict[str, Any]]
    """Of each team by openness, with the share of its shots whose defender is known."""
    starts: list[datetime]
    """When its sessions began."""
    holes: int
    """The number of sessions of that night or later whose positions are holes."""


def loads_and_shots(archive: "Archive") -> Night | None:
    """Return the loads and shots of the last night with positions; `None` for an archive without them."""
    store = store_of(archive)
    tracked_sessions = scan(store, "tracking_sources").select("session_id")
    sessions: Any = scan(store, "sessions").select("session_id", "started_at").drop_nulls().collect()
    starts = sessions.lazy().join(tracked_sessions, on="session_id", how="semi").collect()
    if starts.is_empty():
        return None
    since = sessions.filter(pl.col("started_at") > starts["started_at"].max() - _NIGHT)
    starts = _last(starts)
    of_night = pl.col("session_id").is_in(starts["session_id"].to_list())
    loads = scan(store, "tracking_loads").filter(of_night).collect()
    shots = scan(store, "tracking_defenders").filter(of_night).collect()
    return Night(
        _loads(loads, _names(archive, of_night)),
        _shots(shots),
        sorted(starts["started_at"]),
        len(_holes(archive, "locations", "session_id").intersection(since["session_id"])),
    )


def _holes(archive: "Archive", operation: str, key: str) -> set[str]:
    """Return the ids of the sessions or games without a body that the service should have."""
    units = columns_of(store_of(archive), "coverage", (key, "operation", "status", "body_id"))
    units = units.filter(pl.col("body_id").is_null(), operation=operation).select(key, "status")
    return {unit for unit, status in units.iter_rows() if is_lacking(status)}


def games_of_the_night(archive: "Archive") -> list[dict[str, Any]]:
    """Return the games of the last night: teams, points of each, and the leaders, as far as box scores have them.

    An archive without a box score has none.
    """
    store = store_of(archive)
    names = ("home_team_id", "home_team_name", "away_team_id", "away_team_name")
    starts: Any = scan(store, "sessions").select("session_id", "game_id", "started_at").drop_nulls().collect()
    box_score = scan(store, "box_score")
    if starts.is_empty() or box_score.select("game_id").drop_nulls().head(1).collect().is_empty():
        return []
    of_night = pl.col("game_id").is_in(_last(starts)["game_id"].unique().to_list())
    # A sync by ids stores no schedule.
    schedule = scan(store, "games").select("game_id", "tipoff_at", *names)
    events = scan(store, "events").select("game_id", pl.col("started_at").alias("tipoff_at"), *names)
    games: Any = pl.concat([part.filter(of_night).collect() for part in (schedule, events)])
    games = games.unique("game_id", keep="first", maintain_order=True).sort("tipoff_at", "game_id")
    # The sum of the other sessions is not that of the game.
    holes = _holes(archive, "stats", "game_id")
    return [
        {**game, **_result([] if game["game_id"] in holes else box_score_of(archive, game["game_id"]).to_dicts(), game)}
        for game in games.to_dicts()
    ]


def box_score_of(archive: "Archive", game_id: str, sport: "Sport" = "basketball") -> "Table":
    """Return the table `game_box_score` of a game: the sums of its stored sessions."""
    from .._answers import game_box_score

    rows = scan(store_of(archive), "box_score").filter(game_id=game_id).collect().to_arrow()
    lines = table_from_arrow("box_score", conform(rows, public_schema("box_score")))
    return game_box_score(game_id, [], [], [lines], None, sport)


def _last(starts: Any) -> Any:
    return starts.filter(pl.col("started_at") > starts["started_at"].max() - _NIGHT)


def _result(lines: list[dict[str, Any]], game: dict[str, Any]) -> dict[str, Any]:
    """Return the points of both teams and the leader of each statistic."""
    # A code that no line has may be 0 or unknown.
    is_known = any(line["PTS"] is not None for line in lines)
    points = {line["team_id"]: line["PTS"] or 0.0 for line in lines if line["is_team_total"] and is_known}
    players = [line for line in lines if not line["is_team_total"]]
    leaders = {}
    for stat in STATS:
        best = min(players, key=lambda line: (-(line[stat] or 0), line["player_name"] or ""), default=None)
        if best and best[stat]:
            leaders[stat] = best["player_name"], best[stat]
    return {"points": {side: points.get(game[f"{side}_team_id"]) for side in ("home", "away")}, "leaders": leaders}


def _names(archive: "Archive", of_night: Any) -> "pl.DataFrame":
    """Return the name of each player: that of a roster, or else of a box score of the night."""
    of_player = (pl.col("player_id"), pl.concat_str("first_name", "last_name", separator=" ", ignore_nulls=True))
    rosters = scan(store_of(archive), "players").select(*of_player)
    lines = scan(store_of(archive), "box_score").filter(of_night, ~pl.col("is_team_total")).select(*of_player)
    names = pl.concat([rosters.collect(), lines.collect()]).rename({"first_name": "player"})
    return names.filter(pl.col("player") != "").unique("player_id", keep="first", maintain_order=True)


def _loads(loads: "pl.DataFrame", names: "pl.DataFrame") -> list[dict[str, Any]]:
    # Of the whole night of the player's team: a period without a row of the player is unseen.
    loads = loads.with_columns(period_min=pl.col("tracked_min").max().over("session_id", "period"))
    nights = loads.unique(["session_id", "period", "team_id"]).group_by("team_id").agg(night_min=pl.sum("period_min"))
    groups = (
        loads.join(nights, on="team_id", maintain_order="left")
        .group_by("player_id", maintain_order=True)
        .agg(
            pl.col("distance_m", "tracked_min").sum(),
            pl.col("peak_speed_mps").max(),
            seen_share=(pl.col("seen_share") * pl.col("period_min")).sum() / pl.col("night_min").first(),
        )
    )
    groups = groups.filter(pl.col("tracked_min") > 0).join(names, on="player_id", how="left", maintain_order="left")
    rows: list[dict[str, Any]] = groups.sort("distance_m", descending=True).to_dicts()
    return rows


def _shots(shots: "pl.DataFrame") -> list[dict[str, Any]]:
    value = pl.col("is_make").cast(pl.Float64) * pl.when("is_3point").then(1.5).otherwise(1.0)
    shots = shots.with_columns(pl.col("openness").cast(pl.String), value=value)
    known_share = shots.group_by("team_id").agg(known_share=pl.col("openness").is_not_null().mean())
    groups = (
        shots.drop_nulls("openness").group_by("team_id", "openness").agg(shots=pl.len(), efg=pl.col("value").mean())
    )
    rows: list[dict[str, Any]] = groups.join(known_share, on="team_id").to_dicts()
    return sorted(rows, key=lambda row: (row["team_id"], _OPENNESS.index(row["openness"])))
