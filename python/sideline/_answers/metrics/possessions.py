"""Metrics of possessions: ratings of teams, players and lineups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._lazy import LazyModule
from ..._rows import library
from ..kinds import Source, keeps_kind
from .common import SUM_COLUMNS, plus_minus_column, rating_columns
from .names import with_lineup_names, with_player_names
from .sides import sides_with_points, sums_by_players

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")


@keeps_kind
def ratings(
    possessions: Source, possession_events: Source | None = None, *, by: str | Sequence[str] = ()
) -> "polars.DataFrame":
    """Return possessions, points, seconds of play and points per 100 possessions of each team and its opponents.

    Columns: `team_id`, `possessions`, `opponent_possessions`, `points`, `opponent_points`, `seconds`,
    `offensive_rating`, `defensive_rating`, `net_rating`. `seconds` is the time of the possessions on the game clock.

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
    pl = library("polars", "polars")
    sides = sides_with_points("a rating", possessions, possession_events, by)
    return (
        sides.group_by(*by, "team_id")
        .agg(pl.col(SUM_COLUMNS).sum())
        .sort(*by, "team_id")
        .with_columns(rating_columns())
    )


@keeps_kind
def plus_minus(
    possessions: Source, possession_events: Source | None = None, *, by: str | Sequence[str] = ()
) -> "polars.DataFrame":
    """Return the columns of `ratings` and `plus_minus` for each player's time on court.

    `plus_minus` is points minus the opponents' points. Possessions without a player are summed in a row with null.
    Parameters and errors are those of `ratings`.

    >>> table = metrics.plus_minus(client.possessions(session_id))
    >>> sum(table["plus_minus"])  # five players a side have what the other five have not
    0
    """
    players = sums_by_players(sides_with_points("plus-minus", possessions, possession_events, by), [*by, "team_id"], 1)
    measured_players = players.sort(*by, "team_id", "player_id").with_columns(*rating_columns(), plus_minus_column())
    return with_player_names(measured_players, possessions)


@keeps_kind
def on_off(
    possessions: Source, possession_events: Source | None = None, *, by: str | Sequence[str] = ()
) -> "polars.DataFrame":
    """Return each team's ratings with a player on court (`on_…`) and off court (`off_…`), and the difference.

    Columns: `team_id`, `player_id`; with the prefixes `on_` and `off_` `possessions`, `opponent_possessions`, `points`,
    `opponent_points`, `seconds`, `offensive_rating`, `defensive_rating`, `net_rating`; then `net_rating_difference`, on
    minus off. Off covers everything else that the team played in the given sessions, so decide whether to pass games
    that a player missed. Parameters and errors are those of `ratings`.

    >>> table = metrics.on_off(client.possessions(session_id).to_polars("possessions"), client.possessions(session_id))
    >>> len(set(table["on_points"] + table["off_points"])) <= 2  # on and off are the team's, and there are two
    True
    """
    pl = library("polars", "polars")
    team, player = [*by, "team_id"], [*by, "team_id", "player_id"]
    sides = sides_with_points("on and off", possessions, possession_events, by)
    team_sums = sides.group_by(team).agg(pl.col(SUM_COLUMNS).sum())
    on = sums_by_players(sides, team, 1)
    off = on.join(team_sums, on=team, suffix="_whole").select(
        *player, *(pl.col(f"{n}_whole") - pl.col(n) for n in SUM_COLUMNS)
    )
    off = off.rename({f"{name}_whole": name for name in SUM_COLUMNS})
    halves = [
        half.with_columns(rating_columns()).select(*player, pl.exclude(player).name.prefix(prefix))
        for prefix, half in (("on_", on), ("off_", off))
    ]
    # A possession without players has no off: null joins with nothing.
    joined_halves = halves[0].join(halves[1], on=player).sort(player)
    difference = pl.col("on_net_rating") - pl.col("off_net_rating")
    return with_player_names(joined_halves.with_columns(net_rating_difference=difference), possessions)


@keeps_kind
def lineups(
    possessions: Source, possession_events: Source | None = None, *, size: int = 5, by: str | Sequence[str] = ()
) -> "polars.DataFrame":
    """Return ratings for each lineup of `size` players while on court together.

    Columns: those of `ratings`, with `lineup` (the sorted player ids joined by `-`, like `lineup_id`) and
    `player_names` after `team_id`, and `plus_minus`; most possessions first. The lineup is null for possessions with
    fewer players, or with more than five. Parameters and errors are those of `ratings`, and

        size: number of players: 5, 4, 3 or 2.

    >>> possessions = client.possessions(session_id)
    >>> fives, pairs = metrics.lineups(possessions), metrics.lineups(possessions, size=2)
    >>> sum(pairs["possessions"]) == 10 * sum(fives["possessions"])  # there are ten pairs in a five
    True
    """
    pl = library("polars", "polars")
    if size not in (2, 3, 4, 5):
        raise ValueError(f"size is {size!r}: a lineup has 5, 4, 3 or 2 players")
    keys = [*by, "team_id"]
    units = sums_by_players(sides_with_points("a lineup", possessions, possession_events, by), keys, size)
    most_first = -(pl.col("possessions") + pl.col("opponent_possessions"))
    measured_units = units.sort(*keys, most_first, "lineup").with_columns(*rating_columns(), plus_minus_column())
    return with_lineup_names(measured_units, possessions)
