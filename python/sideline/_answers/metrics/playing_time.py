"""Metrics of playing time: possessions, minutes, pace, and stats relative to them."""

from collections.abc import Sequence
from math import inf
from typing import Any

from ..._client import list_of_names
from ..._lazy import pl
from ..._rows import is_number, tables_of
from ..kinds import Source, keeps_kind
from .common import (
    box_scores,
    check_weight,
    line_keys,
    reason,
    share,
    sum_by,
    sums_of_play,
    without_partial_totals,
)
from .names import with_player_names
from .sides import POSSESSION_COLUMNS, check_same_sessions, sides_of_play, sums_by_players

PER_36 = ("PTS", "REB", "AST", "FG", "FGA", "FG3", "FT", "FTA", "TO", "STL", "BLK", "FL")
"""The default codes of `per_36`."""


@keeps_kind
def possession_count(possessions: Source, *, by: str | Sequence[str] = ()) -> "pl.DataFrame":
    """Return `possessions` and `opponent_possessions` of each team, as listed by the service.

    They are counted, not estimated from a box score (like FGA + 0.44 FTA - ORB + TO).

    Parameters:
        possessions: `client.possessions`, or the table `possessions`.
        by: columns of `possessions`.

    Raises `ValueError` for a session without possessions of two teams, or one that occurs twice.

    >>> table = metrics.possession_count(client.possessions(session_id))
    >>> sum(table["possessions"]) == sum(table["opponent_possessions"])
    True
    """
    teams = (
        sides_of_play(possessions, by).group_by(*by, "team_id").agg(pl.col("possessions", "opponent_possessions").sum())
    )
    return teams.sort(*by, "team_id")


@keeps_kind
def minutes(possessions: Source, *, by: str | Sequence[str] = ()) -> "pl.DataFrame":
    """Return the `minutes` of each player on court, by the game clock of the possessions that name the player.

    The time between two possessions does not count. Each listed player is on court, however many are listed. The last
    column is the `reason`: "clock_unknown" where the minutes are null, because a clock is missing, rises or is
    negative, and "lineup_unknown" for the row with null, the sum of the possessions without players. Parameters and
    errors are those of `possession_count`.

    >>> table = metrics.minutes(client.possessions(session_id))
    >>> max(table["minutes"]) <= 20
    True
    """
    return _minutes(possessions, by)


def _minutes(possessions: Source, by: Sequence[str]) -> "pl.DataFrame":
    players = sums_by_players(sides_of_play(possessions, by), [*by, "team_id"], 1).sort(*by, "team_id", "player_id")
    minutes_played = (pl.col("seconds") / 60).alias("minutes")
    player_minutes = players.select(*by, "team_id", "player_id", minutes_played, reason(players="player_id"))
    return with_player_names(player_minutes, possessions)


def _minutes_of(boxes: "pl.DataFrame", possessions: Source, by: Sequence[str]) -> "pl.DataFrame":
    """Return the minutes, without names; raises unless the possessions are of the sessions of the box scores."""
    rows = tables_of("possessions", possessions, POSSESSION_COLUMNS)["possessions"]
    check_same_sessions(boxes, rows)
    return _minutes(rows, by).drop("player_name")


def _with_minutes(lines: "pl.DataFrame", player_minutes: "pl.DataFrame", keys: Sequence[str]) -> "pl.DataFrame":
    """Add `minutes` and their `reason` to lines of box scores: "not_listed" for players whom no possession lists."""
    timed_lines = lines.join(player_minutes.with_columns(is_listed=True), on=keys, how="left")
    text = pl.when(pl.col("is_listed").is_null()).then(pl.lit("not_listed")).otherwise("reason")
    return timed_lines.with_columns(reason=text).drop("is_listed")


@keeps_kind
def pace(possessions: Source, *, by: str | Sequence[str] = (), per: float = 40.0) -> "pl.DataFrame":
    """Return the `pace` of each team: the mean of its own and its opponents' possessions in `per` minutes.

    It follows basketball-reference.com, per (possessions + opponent_possessions) / (2 minutes), with counted
    possessions and their time on the game clock. Where that is unknown, `seconds` and `pace` are null, and the last
    column, `reason`, is "clock_unknown".

    Parameters:
        per: minutes of a game: 40 in college and international games, 48 in professional ones.

    The other parameters and errors are those of `possession_count`.

    >>> metrics.pace(client.possessions(session_id))["pace"]  # both teams played the same game
    [...]
    """
    if not (is_number(per) and 0 < per < inf):
        raise ValueError(f"per is {per}; it must be a number of minutes above 0")
    sums = sides_of_play(possessions, by).group_by(*by, "team_id").agg(sums_of_play()).sort(*by, "team_id")
    teams = sums.drop("points", "opponent_points")
    both_counts = pl.col("possessions") + pl.col("opponent_possessions")
    pace = share(per * 60 * both_counts, 2 * pl.col("seconds")).alias("pace")
    return teams.with_columns(pace, reason())


@keeps_kind
def per_36(
    box_score: Source, possessions: Source, *, stats: str | Sequence[str] = PER_36, by: str | Sequence[str] = ()
) -> "pl.DataFrame":
    """Return the `minutes` of each player, and each stat code per 36 minutes: its sum times 36 / `minutes`.

    The last column is the `reason` for unknown minutes: "clock_unknown", as in `minutes`, or "not_listed" for a player
    whom no possession lists.

    Parameters:
        box_score: `client.stats` or `client.box_score`, or a table of theirs.
        possessions: `client.possessions` of the same sessions, or their table, from which `minutes` are computed.
        stats: the codes. A default code that no row has is null; a code that you name raises `MissingStat`.
        by: columns of both.

    Raises `ValueError` for a session or game that occurs twice, or in one of the two only.

    >>> table = metrics.per_36(client.stats(session_id), client.possessions(session_id), stats=["PTS"])
    >>> table.column_names
    ['team_id', 'player_id', 'player_name', 'minutes', 'PTS', 'reason']
    """
    if stats is not PER_36:
        stats = list_of_names("stats", stats)
    boxes = box_scores(box_score, "per 36", () if stats is PER_36 else stats, by)
    known_codes = [code for code in stats if code in boxes.columns and not boxes[code].is_null().all()]
    keys = line_keys(by)
    lines = sum_by(boxes.filter(~pl.col("is_team_total")), keys, known_codes)
    timed_lines = _with_minutes(lines, _minutes_of(boxes, possessions, by), keys)
    no_value = pl.lit(None, pl.Float64)
    rates = [
        (share(36 * pl.col(code), pl.col("minutes")) if code in known_codes else no_value).alias(code) for code in stats
    ]
    return with_player_names(timed_lines.select(*keys, "minutes", *rates, "reason").sort(keys), box_score, possessions)


@keeps_kind
def usage(
    box_score: Source, possessions: Source, *, by: str | Sequence[str] = (), free_throw_weight: float = 0.44
) -> "pl.DataFrame":
    """Return the `minutes` of each player, and the player's share of the team's play while on court.

    The shares are fractions, as defined by basketball-reference.com. MP is the player's minutes, and T is the sum of
    the minutes of all of the team's players divided by 5 (null where those of one player are unknown):

    - `usage`: (FGA + 0.44 FTA + TO) T / (MP (team FGA + 0.44 team FTA + team TO));
    - `assist_share`: AST / (MP / T team FG - FG), the team mates' field goals that the player assisted;
    - `rebound_share`: REB T / (MP (team REB + opponents' REB)), null unless the rows are of two teams. For several
      games, group by game: `by=["game_id"]`.

    The last column is the `reason` for unknown minutes, as in `per_36`, and "no_team_total" for shares that are null
    because the team has no row of its own, or not in each session or game with its players.

    Parameters:
        box_score: `client.stats` or `client.box_score`, or a table of theirs with the teams' own rows (player 0).
        possessions: `client.possessions` of the same sessions, or their table, from which `minutes` are computed.
        by: columns of both.
        free_throw_weight: the share of free throws that end a possession.

    Raises `ValueError` for a session or game that occurs twice, or in one of the two only.

    >>> table = metrics.usage(client.stats(session_id), client.possessions(session_id))
    >>> table.column_names[-5:]
    ['minutes', 'usage', 'assist_share', 'rebound_share', 'reason']
    """
    check_weight(free_throw_weight)
    codes = ("FG", "FGA", "FTA", "TO", "AST", "REB")
    boxes = box_scores(box_score, "usage", codes, by)
    keys = [*by, "team_id"]
    player_minutes = _minutes_of(boxes, possessions, by)
    player_keys = [*keys, "player_id"]
    lines = sum_by(boxes.filter(~pl.col("is_team_total")), player_keys, codes)
    lines = _with_minutes(lines, player_minutes, player_keys)
    totals = sum_by(without_partial_totals(boxes, by, codes).filter("is_team_total"), keys, codes)
    opponents = pl.col("REB").sum().over(by) - pl.col("REB") if by else pl.col("REB").sum() - pl.col("REB")
    teams = totals.with_columns(other_REB=pl.when(pl.len().over(by or pl.lit(1)) == 2).then(opponents))
    known_players = player_minutes.filter(pl.col("player_id").is_not_null())
    sum_of_minutes = pl.when(pl.col("minutes").is_not_null().all()).then(pl.col("minutes").sum())
    fifth = known_players.group_by(keys).agg(fifth=sum_of_minutes / 5)
    team_sums = teams.join(fifth, on=keys, how="left").rename({code: f"team_{code}" for code in codes})
    joined_lines = lines.join(team_sums, on=keys, how="left")

    def count_ends(prefix: str) -> Any:
        return pl.col(f"{prefix}FGA") + free_throw_weight * pl.col(f"{prefix}FTA") + pl.col(f"{prefix}TO")

    minutes_played, of_team = pl.col("minutes"), pl.col("fifth")
    mates = minutes_played / of_team * pl.col("team_FG") - pl.col("FG")
    rebounds = minutes_played * (pl.col("team_REB") + pl.col("other_REB"))
    shares = joined_lines.select(
        *keys,
        "player_id",
        "minutes",
        usage=share(count_ends("") * of_team, minutes_played * count_ends("team_")),
        # Minutes are sums of fractions, so the difference may miss 0 by their last digits.
        assist_share=share(pl.col("AST"), pl.when(mates > 1e-9).then(mates)),
        rebound_share=share(pl.col("REB") * of_team, rebounds),
        reason=pl.coalesce(
            "reason",
            pl.when(pl.col("team_FGA").is_null()).then(pl.lit("no_team_total")),
            pl.when(of_team.is_null()).then(pl.lit("clock_unknown")),
        ),
    )
    return with_player_names(shares.sort(*keys, "player_id"), box_score, possessions)
