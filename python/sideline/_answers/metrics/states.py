"""The state of a game at each possession."""

from math import inf

from ..._lazy import pl
from ..._rows import is_number
from ..kinds import Source, keeps_kind
from .sides import possessions_with_points


@keeps_kind
def game_state(
    possessions: Source, possession_events: Source | None = None, *, period_minutes: float | None = None
) -> "pl.DataFrame":
    """Return the state at the start of each possession, for win probability: seconds left and running margin.

    Columns: `game_id`, `session_id`, `team_id`, `possession`, `period`, `seconds_left` (in the game, or in the
    overtime; null without a game clock), `margin` (points minus the opponents' points before it), `points` and
    `opponent_points` (in it), in the order of play.

    Parameters:
        possessions: `client.possessions` of all sessions of a game, or of games whose `game_id` is filled; or the table
            `possessions`.
        possession_events: the table `possession_events` of the same sessions, if `possessions` is a table.
        period_minutes: length of a regular period; default: 20 for halves; for quarters 10, or 12 if a clock of the
            game shows more than 10 minutes.

    Raises the errors of `ratings`, and `ValueError` for a period that is not a half (H1, H2), a quarter (Q1 to Q4) or
    an overtime (OT, OT1), or if two sessions without a `game_id` have the same period.

    >>> states = metrics.game_state(client.possessions(client.game(game_id)))
    >>> states["margin"][0], states["seconds_left"][0] > 2350
    (0, True)
    """
    possession_rows = possessions_with_points("the state of a game", possessions, possession_events, ())
    for name in ("game_id", "period", "start_timestamp"):
        if name not in possession_rows.columns:
            raise ValueError(f"possessions has no column {name}, which the state of a game needs")
    period = pl.col("period").cast(pl.String).str.to_uppercase()
    possession_rows = possession_rows.with_columns(
        kind=period.str.extract(r"^(H[12]|Q[1-4]|OT([1-9]\d?)?)$").str.extract(r"^(\D+)"),
        number=period.str.extract(r"(\d{1,2})$").cast(pl.Int64).fill_null(1),
    )
    for invalid_period in possession_rows.filter(pl.col("kind").is_null())["period"]:
        raise ValueError(f"the period {invalid_period!r} is not a half (H1, H2), quarter (Q1 to Q4) or overtime (OT1)")
    game = pl.col("game_id").fill_null("")
    sessions = possession_rows.select(game.alias("game"), "period", "session_id").unique().filter(pl.col("game") == "")
    if sessions.select("period").is_duplicated().any():
        raise ValueError(
            "two sessions have the same period and no game_id: client.possessions(client.game(id)) fills it"
        )
    clock = pl.col("start_game_clock_s")
    if period_minutes is None:
        is_long = (pl.when(pl.col("kind") == "Q").then(clock).max() > 600).over(game)
        length = pl.when(pl.col("kind") == "H").then(1200.0).when(is_long.fill_null(False)).then(720.0).otherwise(600.0)
    elif is_number(period_minutes) and 0 < period_minutes < inf:
        length = pl.lit(60.0 * period_minutes)
    else:
        raise ValueError(f"period_minutes is {period_minutes}; it must be a number of minutes above 0")
    is_overtime, is_half = pl.col("kind") == "OT", pl.col("kind") == "H"
    later = pl.when(is_overtime).then(0).when(is_half).then(2 - pl.col("number")).otherwise(4 - pl.col("number"))
    # A possession without a clock follows the one that started before it, or else starts its period.
    latest_clock = clock.forward_fill().fill_null(float("inf")).over(game, "order")
    order_clock = pl.when(pl.col("start_timestamp").is_null()).then(clock).otherwise(latest_clock)
    possession_rows = (
        possession_rows.with_columns(
            seconds_left=clock + later * length,
            order=pl.col("number") + pl.when(pl.col("kind") == "OT").then(10).otherwise(0),
        )
        .sort("start_timestamp", nulls_last=True, maintain_order=True)
        .sort(game, "order", -order_clock, "start_timestamp", nulls_last=True, maintain_order=True)
    )
    # From the side of the team with the lower id, negated for the other.
    first = pl.col("team_id").min().over(game) == pl.col("team_id")
    sign = pl.when(first).then(1).otherwise(-1)
    points_gained = (sign * (pl.col("own") - pl.col("other"))).alias("gained")
    possession_rows = possession_rows.with_columns(points_gained, sign=sign).with_columns(
        before=(pl.col("gained").cum_sum() - pl.col("gained")).over(game)
    )
    return possession_rows.select(
        "game_id",
        "session_id",
        "team_id",
        "possession",
        pl.col("period").cast(pl.String),
        "seconds_left",
        margin=pl.col("sign") * pl.col("before"),
        points="own",
        opponent_points="other",
    )
