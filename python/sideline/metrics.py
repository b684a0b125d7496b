"""A small, exact set of basketball metrics: frames of pandas or polars for such frames, else a `Table`.

Minutes, per 36, pace, shooting, usage, the four factors, ratings, plus-minus, on and off, lineups and the state of the
game. Possessions are counted, never estimated. Several sessions are summed before any division; `by` names columns
whose values are kept apart, such as `session_id`. Players have a `player_name` if the arguments have names.

Every argument is a payload, a batch, a `Table`, a frame of pandas or polars (also lazy), any other Arrow table, or a
list of them; the result is of the kind of the first. polars and pyarrow are required. A share or a rate is a fraction
(0.5, not 50), a rating is points per 100 possessions, and a division by 0 is null.

A code that the service leaves out of a row counts as 0 if other rows have it. A code that no row has may be 0 or
unknown, and raises `MissingStat`, which names it. If you know that it is 0, add it: `box.with_columns(FT=pl.lit(0.0))`.
"""

from ._answers import (
    PER_36,
    MissingStat,
    effective_field_goal,
    four_factors,
    game_state,
    lineups,
    minutes,
    on_off,
    pace,
    per_36,
    plus_minus,
    possession_count,
    ratings,
    shooting,
    true_shooting,
    usage,
)

__all__ = [
    "PER_36",
    "MissingStat",
    "effective_field_goal",
    "four_factors",
    "game_state",
    "lineups",
    "minutes",
    "on_off",
    "pace",
    "per_36",
    "plus_minus",
    "possession_count",
    "ratings",
    "shooting",
    "true_shooting",
    "usage",
]


def __dir__() -> list[str]:
    return __all__
