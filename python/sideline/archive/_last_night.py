"""Scores, leaders, loads and shots of the last night, for the morning report."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .._client import store_of
from .._rows import library
from ._read import scan

if TYPE_CHECKING:
    import polars

    from . import Archive

_NIGHT = timedelta(hours=24)
"""Sessions that start within this before the last one belong to the same night."""


_OPENNESS = ("very_tight", "tight", "open", "wide_open")

STATS = ("PTS", "REB", "AST")
"""Each has a leader."""


def loads_and_shots(archive: "Archive") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the load of each player, the farthest first, and the shots of each team by openness.

    Each load has the share of frames in which the player was seen, and each team the share of its shots whose defender
    is known. Both lists are empty for an archive without positions.
    """
    pl: Any = library("polars", "archive")
    tracked_sessions = scan(store_of(archive), "tracking_sources").select("session_id")
    sessions = scan(store_of(archive), "sessions").select("session_id", "started_at").drop_nulls()
    starts: Any = sessions.join(tracked_sessions, on="session_id", how="semi").collect()
    if starts.is_empty():
        return [], []
    night = _last(pl, starts)["session_id"].to_list()
    of_night = pl.col("session_id").is_in(night)
    loads = scan(store_of(archive), "tracking_loads").filter(of_night).collect()
    shots = scan(store_of(archive), "tracking_defenders").filter(of_night).collect()
    return _loads(pl, loads, _names(archive, pl, of_night)), _shots(pl, shots)


def games_of_the_night(archive: "Archive") -> list[dict[str, Any]]:
    """Return the games of the last night: teams, points of each, and the leaders, as far as box scores have them.

    An archive without a box score has none.
    """
    pl: Any = library("polars", "archive")
    store = store_of(archive)
    columns = ("session_id", "game_id", "team_id", "player_id", "first_name", "last_name", "is_team_total")
    names = ("home_team_id", "home_team_name", "away_team_id", "away_team_name")
    starts: Any = scan(store, "sessions").select("session_id", "game_id", "started_at").drop_nulls().collect()
    box_score = scan(store, "box_score")
    if starts.is_empty() or box_score.select("game_id").drop_nulls().head(1).collect().is_empty():
        return []
    of_night = pl.col("game_id").is_in(_last(pl, starts)["game_id"].unique().to_list())
    lines: Any = box_score.filter(of_night).select(*columns, *STATS, "FG", "FT").collect()
    lines = lines.unique(("session_id", "team_id", "player_id", "is_team_total"))
    # A sync by ids stores no schedule.
    schedule = scan(store, "games").select("game_id", "tipoff_at", *names)
    events = scan(store, "events").select("game_id", pl.col("started_at").alias("tipoff_at"), *names)
    games: Any = pl.concat([part.filter(of_night).collect() for part in (schedule, events)])
    games = games.unique("game_id", keep="first", maintain_order=True).sort("tipoff_at", "game_id")
    return [
        {**game, **_result(pl, lines.filter(pl.col("game_id") == game["game_id"]), game)} for game in games.to_dicts()
    ]


def _last(pl: Any, starts: Any) -> Any:
    return starts.filter(pl.col("started_at") > starts["started_at"].max() - _NIGHT)


def _result(pl: Any, lines: Any, game: dict[str, Any]) -> dict[str, Any]:
    """Return the points of both teams and the leader of each statistic, added up over the sessions of a game."""
    totals = lines.filter(pl.col("is_team_total")).group_by("team_id").agg(pl.col("PTS").sum())
    points = dict(totals.iter_rows())
    # A code that no row has may be 0 or unknown.
    if lines["PTS"].is_null().all() and lines.select(pl.col("FG", "FT").sum()).sum_horizontal().sum():
        points.clear()
    name = pl.concat_str("first_name", "last_name", separator=" ", ignore_nulls=True)
    players = (
        lines.filter(~pl.col("is_team_total"))
        .group_by("player_id")
        .agg(name.first().alias("name"), pl.col(STATS).sum())
    )
    leaders = {
        stat: players.sort(stat, "name", descending=(True, False), nulls_last=True).head(1).to_dicts() for stat in STATS
    }
    return {
        "points": {side: points.get(game[f"{side}_team_id"]) for side in ("home", "away")},
        "leaders": {stat: (best[0]["name"], best[0][stat]) for stat, best in leaders.items() if best and best[0][stat]},
    }


def _names(archive: "Archive", pl: Any, of_night: Any) -> "polars.DataFrame":
    """Return the name of each player: that of a roster, or else of a box score of the night."""
    of_player = (pl.col("player_id"), pl.concat_str("first_name", "last_name", separator=" ", ignore_nulls=True))
    rosters = scan(store_of(archive), "players").select(*of_player)
    lines = scan(store_of(archive), "box_score").filter(of_night, ~pl.col("is_team_total")).select(*of_player)
    names: polars.DataFrame = pl.concat([rosters.collect(), lines.collect()]).rename({"first_name": "player"})
    return names.filter(pl.col("player") != "").unique("player_id", keep="first", maintain_order=True)


def _loads(pl: Any, loads: "polars.DataFrame", names: "polars.DataFrame") -> list[dict[str, Any]]:
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


def _shots(pl: Any, shots: "polars.DataFrame") -> list[dict[str, Any]]:
    value = pl.col("is_make").cast(pl.Float64) * pl.when("is_3point").then(1.5).otherwise(1.0)
    shots = shots.with_columns(pl.col("openness").cast(pl.String), value=value)
    known_share = shots.group_by("team_id").agg(known_share=pl.col("openness").is_not_null().mean())
    groups = (
        shots.drop_nulls("openness").group_by("team_id", "openness").agg(shots=pl.len(), efg=pl.col("value").mean())
    )
    rows: list[dict[str, Any]] = groups.join(known_share, on="team_id").to_dicts()
    return sorted(rows, key=lambda row: (row["team_id"], _OPENNESS.index(row["openness"])))
