"""Metrics of box scores: shooting and the four factors."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

from ..._core import Table
from ..._lazy import pl
from ..._rows import tables_of
from ..kinds import Frame, Source, grouping, keeps_kind, of_kind
from .common import box_scores, check_weight, line_keys, share, stat, sum_by, without_partial_totals
from .names import with_player_names
from .sides import POSSESSION_KEY, check_unique


@overload
def effective_field_goal() -> "pl.Expr": ...
@overload
def effective_field_goal(box_score: Frame, *, by: str | Sequence[str] = ()) -> Frame: ...  # type: ignore[overload-overlap]
@overload
def effective_field_goal(box_score: "pl.LazyFrame", *, by: str | Sequence[str] = ()) -> "pl.DataFrame": ...  # type: ignore[overload-overlap]
@overload
def effective_field_goal(box_score: Source, *, by: str | Sequence[str] = ()) -> Table: ...
def effective_field_goal(box_score: Source | None = None, *, by: str | Sequence[str] = ()) -> Any:
    """Return effective field goal percentage, (FG + 0.5 FG3) / FGA, of each player and each team (player 0).

    Columns: `team_id`, `player_id`, `player_name`, `effective_field_goal`; rows as `shooting`.

    Parameters:
        box_score: as in `shooting`; without it, the result is an expression over columns of `box_score`, which cannot
            see whether a code is missing.

    >>> metrics.effective_field_goal(client.stats(session_id)).column_names[-1]
    'effective_field_goal'
    >>> box = client.stats(session_id).to_polars("box_score")
    >>> box.select(metrics.effective_field_goal().is_between(0, 1.5).all()).item()
    True
    """
    value = share(stat("FG") + 0.5 * stat("FG3"), stat("FGA"))
    return value if box_score is None else _of_lines(box_score, value, "effective_field_goal", ("FG", "FG3", "FGA"), by)


@overload
def true_shooting(*, free_throw_weight: float = 0.44) -> "pl.Expr": ...
@overload
def true_shooting(box_score: Frame, *, by: str | Sequence[str] = (), free_throw_weight: float = 0.44) -> Frame: ...  # type: ignore[overload-overlap]
@overload
def true_shooting(  # type: ignore[overload-overlap]
    box_score: "pl.LazyFrame", *, by: str | Sequence[str] = (), free_throw_weight: float = 0.44
) -> "pl.DataFrame": ...
@overload
def true_shooting(box_score: Source, *, by: str | Sequence[str] = (), free_throw_weight: float = 0.44) -> Table: ...
def true_shooting(
    box_score: Source | None = None, *, by: str | Sequence[str] = (), free_throw_weight: float = 0.44
) -> Any:
    """Return true shooting percentage, PTS / (2 (FGA + 0.44 FTA)), of each player and each team (player 0).

    Columns: `team_id`, `player_id`, `player_name`, `true_shooting`; rows as `shooting`.

    Parameters:
        box_score: as in `effective_field_goal`.
        free_throw_weight: the share of free throws that end a chance to score; stat lines do not have it.

    >>> metrics.true_shooting(client.stats(session_id)).column_names[-1]
    'true_shooting'
    >>> box = client.stats(session_id).to_polars("box_score")
    >>> box.select(metrics.true_shooting().is_between(0, 2).all()).item()
    True
    """
    check_weight(free_throw_weight)
    value = share(stat("PTS"), 2 * (stat("FGA") + free_throw_weight * stat("FTA")))
    return value if box_score is None else _of_lines(box_score, value, "true_shooting", ("PTS", "FGA", "FTA"), by)


def _of_lines(box_score: Source, value: "pl.Expr", name: str, codes: Sequence[str], by: str | Sequence[str]) -> Any:
    by = grouping(by)
    boxes = without_partial_totals(box_scores(box_score, name, codes, by), by, codes)
    sums = sum_by(boxes, line_keys(by), codes)
    return of_kind(box_score, name, with_player_names(sums.with_columns(value.alias(name)).drop(codes), box_score))


@keeps_kind
def shooting(box_score: Source, *, by: str | Sequence[str] = (), free_throw_weight: float = 0.44) -> "pl.DataFrame":
    """Return shots, points, `effective_field_goal` and `true_shooting` of each player and each team (player 0).

    Columns: `team_id`, `player_id`, `player_name`, FG, FGA, FG3, FTA, PTS, and the two metrics. A team has no row if a
    session or game with its players lacks its total.

    Parameters:
        box_score: `client.stats`, `client.team_game_stats` or `client.box_score`, or a table `box_score`,
            `player_stats` or `game_box_score`.

    Raises `ValueError` for a session or game that occurs twice.

    >>> metrics.shooting(client.stats(session_id)).column_names[-2:]
    ['effective_field_goal', 'true_shooting']
    """
    codes = ("FG", "FGA", "FG3", "FTA", "PTS")
    boxes = without_partial_totals(box_scores(box_score, "shooting", codes, by), by, codes)
    sums = sum_by(boxes, line_keys(by), codes)
    shares = sums.with_columns(
        effective_field_goal=effective_field_goal(), true_shooting=true_shooting(free_throw_weight=free_throw_weight)
    )
    return with_player_names(shares, box_score)


@keeps_kind
def four_factors(box_score: Source, possessions: Source, *, by: str | Sequence[str] = ()) -> "pl.DataFrame":
    """Return the four factors of each team and its opponents (`opponent_…`).

    - `effective_field_goal`: (FG + 0.5 FG3) / FGA;
    - `turnover_rate`: TO per counted possession;
    - `offensive_rebound_rate`: OFFENSIVE_REB / (OFFENSIVE_REB + the opponents' DEFENSIVE_REB);
    - `free_throw_rate`: FT / FGA.

    Parameters:
        box_score: sessions of both teams: `client.stats`, or a table `box_score` or `player_stats`. Only the teams' own
            rows (player 0) are read: they include stats without a player.
        possessions: `client.possessions` of the same sessions, or their table `possessions`.
        by: columns of the box score.

    Raises `ValueError` for a session without two teams that have a row of their own.

    >>> metrics.four_factors(client.stats(session_id), client.possessions(session_id)).column_names[:3]
    ['team_id', 'effective_field_goal', 'turnover_rate']
    """
    codes = ("FG", "FG3", "FGA", "TO", "OFFENSIVE_REB", "DEFENSIVE_REB", "FT")
    boxes = box_scores(box_score, "the four factors", codes, by)
    if "session_id" not in boxes.columns or boxes["session_id"].null_count():
        raise ValueError("box_score has rows without a session_id, which possessions need: use client.stats")
    possession_rows = tables_of("possessions", possessions, {"possessions": POSSESSION_KEY})["possessions"]
    counts = check_unique(possession_rows).group_by("session_id", "team_id").agg(n=pl.len())
    lines = sum_by(boxes.filter("is_team_total"), [*dict.fromkeys((*by, "session_id", "team_id"))], codes)
    lines = lines.join(counts, on=["session_id", "team_id"], how="left")
    others = lines.select("session_id", other="team_id", **{f"opponent_{code}": code for code in (*codes, "n")})
    pairs = lines.join(others, on="session_id").filter(pl.col("team_id") != pl.col("other"))
    single_teams = boxes.join(pairs, on=["session_id", "team_id"], how="anti")["session_id"]
    crowded_sessions = pairs.filter(pl.struct("session_id", "team_id").is_duplicated())["session_id"]
    for session in (*single_teams, *crowded_sessions):
        raise ValueError(f"box_score does not have the totals (player 0) of two teams in session {session}")
    for session in lines.filter(pl.col("n").is_null())["session_id"]:
        raise ValueError(f"possessions has no row of one of the teams of box_score in session {session}")
    sums = sum_by(pairs, [*by, "team_id"], [prefix + code for prefix in ("", "opponent_") for code in (*codes, "n")])

    def factors(own_prefix: str, other: str) -> "Iterator[pl.Expr]":
        own_columns = {code: pl.col(own_prefix + code) for code in (*codes, "n")}
        rebounds = own_columns["OFFENSIVE_REB"] + pl.col(f"{other}DEFENSIVE_REB")
        yield share(own_columns["FG"] + 0.5 * own_columns["FG3"], own_columns["FGA"]).alias(
            f"{own_prefix}effective_field_goal"
        )
        yield share(own_columns["TO"], own_columns["n"]).alias(f"{own_prefix}turnover_rate")
        yield share(own_columns["OFFENSIVE_REB"], rebounds).alias(f"{own_prefix}offensive_rebound_rate")
        yield share(own_columns["FT"], own_columns["FGA"]).alias(f"{own_prefix}free_throw_rate")

    return sums.select(*by, "team_id", *factors("", "opponent_"), *factors("opponent_", ""))
