"""Loads and shots of the last night with positions, for the morning report."""

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


def loads_and_shots(archive: "Archive") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the load of each player, the farthest first, and the shots of each team by openness.

    Each load has the share of frames in which the player was seen, and each team the share of its shots whose defender
    is known. Both lists are empty for an archive without positions.
    """
    pl: Any = library("polars", "archive")
    tracked_sessions = scan(store_of(archive), "tracking_sources").select("session_id")
    sessions = archive.scan("sessions").select("session_id", "started_at").drop_nulls()
    starts: Any = sessions.join(tracked_sessions, on="session_id", how="semi").collect()
    if starts.is_empty():
        return [], []
    night = starts.filter(pl.col("started_at") > starts["started_at"].max() - _NIGHT)["session_id"].to_list()
    of_night = pl.col("session_id").is_in(night)
    loads = archive.scan("tracking_loads").filter(of_night).collect()
    shots = archive.scan("tracking_defenders").filter(of_night).collect()
    return _loads(pl, loads, _names(archive, pl)), _shots(pl, shots)


def _names(archive: "Archive", pl: Any) -> "polars.DataFrame":
    name = pl.concat_str("first_name", "last_name", separator=" ", ignore_nulls=True)
    names: polars.DataFrame = archive.scan("players").select("player_id", player=name).collect().unique("player_id")
    return names


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
    rows: list[dict[str, Any]] = groups.join(known_share, on="team_id").sort("team_id", "openness").to_dicts()
    return rows
