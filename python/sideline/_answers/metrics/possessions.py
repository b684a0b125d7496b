"""Metrics of possessions: ratings of teams, players and lineups."""

from collections.abc import Sequence

from ..._lazy import pl
from ..kinds import Source, keeps_kind
from .common import SUM_COLUMNS, plus_minus_column, rating_columns, reason, sums_of_play
from .names import with_lineup_names, with_player_names
from .sides import sides_with_points, sums_by_players


@keeps_kind
def ratings(
    possessions: Source, possession_events: Source | None = None, *, by: str | Sequence[str] = ()
) -> "pl.DataFrame":
    """Return possessions, points, seconds of play and points per 100 possessions of each team and its opponents.

    Columns: `team_id`, `possessions`, `opponent_possessions`, `points`, `opponent_points`, `seconds`,
    `offensive_rating`, `defensive_rating`, `net_rating`, `reason`. `seconds` is the time of the possessions on the game
    clock; where a clock is missing, rises or is negative, it is null and `reason` is "clock_unknown".

    Parameters:
        possessions: `client.possessions`, or the table `possessions`.
        possession_events: the table `possession_events` of the same sessions, if `possessions` is a table.
        by: columns of `possessions`.

    Points are counted from the events: a make scores 1, 2 or 3 for the side of the player who made it. Raises
    `MissingStat` if no event records makes, and `ValueError` for a session without possessions of two teams (a
    practice), or one that occurs twice.

    >>> table = metrics.ratings(client.possessions(session_id))
    >>> sum(table["points"]) == sum(table["opponent_points"])
    True
    """
    sides = sides_with_points("a rating", possessions, possession_events, by)
    sums = sides.group_by(*by, "team_id").agg(sums_of_play()).sort(*by, "team_id")
    return sums.with_columns(*rating_columns(), reason())


@keeps_kind
def plus_minus(
    possessions: Source, possession_events: Source | None = None, *, by: str | Sequence[str] = ()
) -> "pl.DataFrame":
    """Return the columns of `ratings` and `plus_minus` for each player's time on court.

    `plus_minus` is points minus the opponents' points. Each listed player is on court, however many are listed.
    Possessions without a player are summed in a row with null, whose `reason` is "lineup_unknown". Parameters and
    errors are those of `ratings`.

    >>> table = metrics.plus_minus(client.possessions(session_id))
    >>> sum(table["plus_minus"])  # five players a side have what the other five have not
    0
    """
    players = sums_by_players(sides_with_points("plus-minus", possessions, possession_events, by), [*by, "team_id"], 1)
    sums = players.sort(*by, "team_id", "player_id")
    measured_players = sums.with_columns(*rating_columns(), plus_minus_column(), reason(players="player_id"))
    return with_player_names(measured_players, possessions)


@keeps_kind
def on_off(
    possessions: Source, possession_events: Source | None = None, *, by: str | Sequence[str] = ()
) -> "pl.DataFrame":
    """Return each team's ratings with a player on court (`on_…`) and off court (`off_…`), and the difference.

    Columns: `team_id`, `player_id`; with the prefixes `on_` and `off_` `possessions`, `opponent_possessions`, `points`,
    `opponent_points`, `seconds`, `offensive_rating`, `defensive_rating`, `net_rating`; then `net_rating_difference`, on
    minus off, and `reason`. Off covers the team's other possessions of the given sessions whose lineup is known: those
    that list five players or more. So decide whether to pass games that a player missed. Parameters, errors and
    reasons are those of `ratings`.

    >>> table = metrics.on_off(client.possessions(session_id).to_polars("possessions"), client.possessions(session_id))
    >>> len(set(table["on_points"] + table["off_points"])) <= 2  # on and off are the team's, and there are two
    True
    """
    team, player = [*by, "team_id"], [*by, "team_id", "player_id"]
    sides = sides_with_points("on and off", possessions, possession_events, by)
    known_sides = sides.filter(pl.col("ids").list.n_unique() >= 5)
    team_sums = known_sides.group_by(team).agg(sums_of_play())
    on, known_on = sums_by_players(sides, team, 1), sums_by_players(known_sides, team, 1)
    player_sums = on.select(player).join(known_on, on=player, how="left").join(team_sums, on=team, suffix="_whole")
    # Of a player whom no known lineup has, all of them are off.
    off = player_sums.select(*player, *((pl.col(f"{n}_whole") - pl.col(n).fill_null(0)).alias(n) for n in SUM_COLUMNS))
    halves = [
        half.with_columns(rating_columns()).select(*player, pl.exclude(player).name.prefix(prefix))
        for prefix, half in (("on_", on), ("off_", off))
    ]
    # A possession without players has no off: null joins with nothing.
    joined_halves = halves[0].join(halves[1], on=player).sort(player)
    difference = pl.col("on_net_rating") - pl.col("off_net_rating")
    seconds = pl.col("on_seconds"), pl.col("off_seconds")
    measured_players = joined_halves.with_columns(difference.alias("net_rating_difference"), reason(*seconds))
    return with_player_names(measured_players, possessions)


@keeps_kind
def lineups(
    possessions: Source, possession_events: Source | None = None, *, size: int = 5, by: str | Sequence[str] = ()
) -> "pl.DataFrame":
    """Return ratings for each lineup of `size` players while on court together.

    Columns: those of `ratings`, with `lineup` (the sorted player ids joined by `-`, like `lineup_id`) and
    `player_names` after `team_id`, and `plus_minus`; of each team, most possessions of both sides first. The lineup is
    null for possessions with fewer players, or with more than five; its `reason` is "lineup_unknown". Parameters and
    errors are those of `ratings`, and

        size: number of players: 5, 4, 3 or 2.

    >>> possessions = client.possessions(session_id)
    >>> fives, pairs = metrics.lineups(possessions), metrics.lineups(possessions, size=2)
    >>> sum(pairs["possessions"]) == 10 * sum(fives["possessions"])  # there are ten pairs in a five
    True
    """
    if size not in (2, 3, 4, 5):
        raise ValueError(f"size is {size!r}: a lineup has 5, 4, 3 or 2 players")
    keys = [*by, "team_id"]
    units = sums_by_players(sides_with_points("a lineup", possessions, possession_events, by), keys, int(size))
    most_first = -(pl.col("possessions") + pl.col("opponent_possessions"))
    sums = units.sort(*keys, most_first, "lineup")
    measured_units = sums.with_columns(*rating_columns(), plus_minus_column(), reason(players="lineup"))
    return with_lineup_names(measured_units, possessions)
