"""Possessions as each of the two teams saw them, and their sums by the players on court."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ..._lazy import pl
from ..._rows import tables_of
from .common import SUM_COLUMNS, MissingStat, check_columns, sums_of_play, unit_of

POSSESSION_KEY = ("session_id", "team_id", "possession")
LINEUP_COLUMNS = ("player_ids", "opposing_player_ids", "start_game_clock_s", "end_game_clock_s")
POSSESSION_COLUMNS = {"possessions": (*POSSESSION_KEY, *LINEUP_COLUMNS)}
EVENT_KEY = (*POSSESSION_KEY, "position")
EVENT_COLUMNS = {"possession_events": (*POSSESSION_KEY, "player_id", "possession_type", "details")}


def check_unique(
    rows: "pl.DataFrame", argument: str = "possessions", keys: Sequence[str] = POSSESSION_KEY
) -> "pl.DataFrame":
    for name in POSSESSION_KEY:
        if rows[name].null_count():
            raise ValueError(f"{argument} has rows without {name}")
    for session in rows.filter(rows.select(keys).is_duplicated())["session_id"]:
        raise ValueError(f"{argument} has session {session} twice: pass each session once")
    return rows


def _check_events(events: "pl.DataFrame") -> "pl.DataFrame":
    if "position" in events.columns:
        return check_unique(events, "possession_events", EVENT_KEY)
    for session in events.filter(events.is_duplicated())["session_id"]:
        raise ValueError(
            f"possession_events has equal rows of session {session}: pass the column position, which tells them apart"
        )
    return events


def check_same_sessions(boxes: "pl.DataFrame", possessions: "pl.DataFrame") -> None:
    """Raise if a session or game has only box scores, or only possessions of players who have a box score elsewhere."""
    unit = unit_of(boxes)
    if any(unit not in rows.columns or rows[unit].null_count() for rows in (boxes, possessions)):
        return
    kind = unit.removesuffix("_id")
    for value in boxes.join(possessions, on=unit, how="anti")[unit].unique().sort():
        raise ValueError(f"{kind} {value} of box_score is not in possessions: pass the same {kind}s")
    on_court = pl.concat_list(pl.col("player_ids", "opposing_player_ids").fill_null([])).alias("player_id")
    others = possessions.join(boxes, on=unit, how="anti").select(unit, on_court).explode("player_id")
    for value in others.join(boxes, on="player_id", how="semi")[unit].unique().sort():
        raise ValueError(f"{kind} {value} of possessions is not in box_score: pass the same {kind}s")


def sides_with_points(measure: str, source: object, event_source: object, by: Sequence[str]) -> "pl.DataFrame":
    """Return each possession twice, from the side of either team."""
    return from_both_sides(possessions_with_points(measure, source, event_source, by), by)


def sides_of_play(source: object, by: Sequence[str]) -> "pl.DataFrame":
    """Return each possession twice, without points (null)."""
    possessions = tables_of("possessions", source, POSSESSION_COLUMNS)["possessions"]
    check_columns(possessions, "possessions", by)
    points = {name: pl.lit(None, pl.Int64) for name in ("own", "other")}
    return from_both_sides(with_opponent(check_unique(possessions).with_columns(**points)), by)


def possessions_with_points(measure: str, source: object, event_source: object, by: Sequence[str]) -> "pl.DataFrame":
    """Return each possession with its points, `own` and `other`."""
    requested_columns: dict[str, tuple[str, ...]] = {
        **POSSESSION_COLUMNS,
        **({} if event_source is not None else EVENT_COLUMNS),
    }
    frames = tables_of("possessions", source, requested_columns)
    if event_source is not None:
        frames |= tables_of("possession_events", event_source, EVENT_COLUMNS)
    if len(frames) < 2:
        raise ValueError("possessions and possession_events are both needed: pass the payload, or both tables")
    check_columns(frames["possessions"], "possessions", by)
    possessions = check_unique(frames["possessions"])
    events = scoring_events(_check_events(frames["possession_events"]), measure)
    for session in events.join(possessions, on=POSSESSION_KEY, how="anti")["session_id"]:
        raise ValueError(f"possession_events has a possession of session {session} that is not in possessions")
    fives = possessions.select(*POSSESSION_KEY, "player_ids", "opposing_player_ids")
    own_players, other = (pl.col(ids).list.contains(pl.col("player_id")).fill_null(False) for ids in LINEUP_COLUMNS[:2])
    against = other & ~own_players
    points = events.join(fives, on=POSSESSION_KEY).group_by(POSSESSION_KEY)
    points_scored = points.agg(own=pl.col("worth").filter(~against).sum(), other=pl.col("worth").filter(against).sum())
    possession_rows = possessions.join(points_scored, on=POSSESSION_KEY, how="left")
    return with_opponent(possession_rows.with_columns(pl.col("own", "other").fill_null(0)))


def with_opponent(possessions: "pl.DataFrame") -> "pl.DataFrame":
    """Add the `opponent` of each possession; raises for sessions without two teams."""
    teams = possessions.group_by("session_id").agg(pl.col("team_id").unique().alias("teams"))
    for session in teams.filter(pl.col("teams").list.len() != 2)["session_id"]:
        raise ValueError(f"session {session} does not have possessions of two teams")
    opponent = pl.col("teams").list.sum() - pl.col("team_id")
    joined_rows = possessions.join(teams, on="session_id", maintain_order="left")
    return joined_rows.with_columns(opponent=opponent)


def from_both_sides(possession_rows: "pl.DataFrame", by: Sequence[str]) -> "pl.DataFrame":
    begins, ends = pl.col("start_game_clock_s"), pl.col("end_game_clock_s")
    possession_rows = possession_rows.with_columns(
        # A clock that rises, is below 0 or infinite, tells no time.
        seconds=pl.when((begins >= ends) & (ends >= 0) & begins.is_finite()).then(begins - ends),
        player_ids=pl.col("player_ids").list.drop_nulls(),
        opposing_player_ids=pl.col("opposing_player_ids").list.drop_nulls(),
        one=pl.lit(1, pl.Int64),
        none=pl.lit(0, pl.Int64),
    )
    views = [("team_id", "player_ids", "one", "none", "own", "other")]
    views.append(("opponent", "opposing_player_ids", "none", "one", "other", "own"))
    names = ("team_id", "ids", *SUM_COLUMNS[:-1])
    return pl.concat(
        [possession_rows.select(*by, **dict(zip(names, view, strict=True)), seconds="seconds") for view in views]
    )


def scoring_events(events: "pl.DataFrame", measure: str) -> "pl.DataFrame":
    """Return the events that scored, with their `worth`."""
    codes = pl.concat_list(pl.col("possession_type").cast(pl.String), pl.col("details").fill_null([]))
    events = events.with_columns(codes=codes)
    sent_codes = set(events["codes"].explode().drop_nulls())
    unknown_codes = []
    if "PTS" not in sent_codes:
        unknown_codes += ["FG"] if "FGA" in sent_codes and not sent_codes & {"FG", "FG2", "FG3"} else []
        unknown_codes += ["FT"] if "FTA" in sent_codes and "FT" not in sent_codes else []
    if unknown_codes:
        raise MissingStat(measure, unknown_codes)

    def has(*codes: str) -> Any:
        return pl.any_horizontal(pl.col("codes").list.contains(code) for code in codes)

    beyond = pl.col("is_3point").fill_null(False) if "is_3point" in events.columns else pl.lit(False)
    worth = pl.when(has("FT", "FTA")).then(1).when(has("FG3", "FGA3") | beyond).then(3).otherwise(2)
    return events.filter(has("PTS", "FG", "FG2", "FG3", "FT")).with_columns(worth=worth.cast(pl.Int64))


def sums_by_players(sides: "pl.DataFrame", keys: list[str], size: int) -> "pl.DataFrame":
    """Return the sums for each `size` players on court together: by `lineup`, or by `player_id` for one player.

    Each listed player is on court, however many are listed. Possessions with fewer players than `size`, and lineups of
    more than five, are summed with null as their players.
    """
    five = pl.col("ids").list.unique().list.sort().cast(pl.List(pl.String)).list.join(" ").fill_null("")
    fives = sides.with_columns(five=five).group_by(*keys, "five").agg(sums_of_play())
    parts: list[tuple[str, str | None]] = []
    for ids in fives["five"].unique():
        players = ids.split()
        is_known = size <= len(players) and (size == 1 or len(players) <= 5)
        parts.extend((ids, "-".join(part)) for part in combinations(players, size) if is_known)
        if not is_known:
            parts.append((ids, None))
    name, kind = ("player_id", pl.Int64) if size == 1 else ("lineup", pl.String)
    split = pl.DataFrame(parts, schema={"five": pl.String, name: pl.String}, orient="row")
    split = split.with_columns(pl.col(name).cast(kind))
    return fives.join(split, on="five").group_by(*keys, name).agg(sums_of_play())
