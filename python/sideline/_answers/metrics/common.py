"""Arguments and sums that several metrics share."""

from collections.abc import Iterable, Sequence

from ..._lazy import pl
from ..._rows import did_you_mean, is_number, tables_of
from ...errors import SidelineError
from ..frames import of_other_units

ROW_KEY = ("team_id", "player_id", "is_team_total")
BOX_COLUMNS = {"player_stats": (*ROW_KEY, "stat", "value"), "box_score": ROW_KEY, "game_box_score": ROW_KEY}
SUM_COLUMNS = ("possessions", "opponent_possessions", "points", "opponent_points", "seconds")
_UNIT_COLUMNS = ("session_id", "game_id", "period")
_ADDED_COLUMNS = """
possessions opponent_possessions points opponent_points seconds minutes pace plus_minus reason lineup
offensive_rating defensive_rating net_rating net_rating_difference player_name player_names
effective_field_goal true_shooting turnover_rate offensive_rebound_rate free_throw_rate
usage assist_share rebound_share own other opponent teams one none ids five n fifth is_listed
"""
"""Columns of results and of their computation."""

_ADDED_PREFIXES = ("on_", "off_", "opponent_", "team_", "other_")


class MissingStat(SidelineError, ValueError):
    """A metric needs a stat code that no row has, so its value would be a guess.

    `stats` has the missing codes.

    >>> box = client.stats(session_id).to_polars("box_score").drop("FG3")
    >>> try:
    ...     metrics.shooting(box)
    ... except metrics.MissingStat as error:
    ...     error.stats
    ('FG3',)
    """

    stats: tuple[str, ...]

    def __init__(self, measure: str, stats: Iterable[str]) -> None:
        self.stats = tuple(stats)
        self.measure = measure
        codes = ", ".join(self.stats)
        super().__init__(
            f"{measure} needs {codes}, and no row has {'it' if len(self.stats) == 1 else 'them'}: if that means 0, "
            "add the column with 0 first"
        )

    def __reduce__(self) -> tuple[type["MissingStat"], tuple[str, tuple[str, ...]]]:
        return type(self), (self.measure, self.stats)


def box_scores(source: object, measure: str, codes: Sequence[str], by: Sequence[str]) -> "pl.DataFrame":
    """Return box scores with a column for each code."""
    frames = tables_of("box_score", source, BOX_COLUMNS)
    _check_periods(source)
    if {"box_score", "game_box_score"} <= frames.keys():
        raise ValueError("box_score has rows of sessions and of whole games: pass one of the two")
    rows, lines = frames.get("box_score", frames.get("game_box_score")), frames.get("player_stats")
    parts = [] if rows is None else [rows]
    if rows is not None and lines is not None:
        # A response of a session has both tables.
        lines = of_other_units(lines, rows)
    if lines is not None and (rows is None or not lines.is_empty()):
        keys = [name for name in lines.columns if name not in ("stat", "value")]
        parts.append(check_once(lines, (*ROW_KEY, "stat")).pivot("stat", index=keys, values="value"))
    boxes = check_once(pl.concat(parts, how="diagonal_relaxed"), ROW_KEY)
    check_columns(boxes, "box_score", by, codes)
    missing = [code for code in codes if code not in boxes.columns or boxes[code].is_null().all()]
    if missing and not boxes.is_empty():
        raise MissingStat(measure, missing)
    boxes = boxes.with_columns(pl.lit(None, pl.Float64).alias(code) for code in missing)
    # Player 0 is the team; a row of another is the player's unless it says otherwise.
    is_total = pl.col("is_team_total").fill_null(False) | (pl.col("player_id") == 0).fill_null(False)
    return boxes.with_columns(is_team_total=is_total)


def check_once(rows: "pl.DataFrame", keys: Sequence[str]) -> "pl.DataFrame":
    """Return the rows; raises if those of a session or game occur twice, which would be added up."""
    has_session = pl.col("session_id").is_not_null() if "session_id" in rows.columns else pl.lit(False)
    parts = {"session_id": rows.filter(has_session), "game_id": rows.filter(~has_session)}
    for unit in [name for name in parts if name in rows.columns]:
        known_rows = parts[unit].filter(pl.col(unit).is_not_null())
        lines = known_rows.select(unit, *keys, *{"period"}.intersection(rows.columns))
        for value in known_rows.filter(lines.is_duplicated())[unit]:
            kind = unit.removesuffix("_id")
            raise ValueError(f"box_score has {kind} {value} twice: pass each {kind} once")
    if parts.keys() <= set(rows.columns):
        for value in parts["game_id"].join(parts["session_id"], on=["game_id", "team_id"], how="semi")["game_id"]:
            raise ValueError(f"box_score has game {value} twice, whole and by session: pass one of the two")
    return rows


def _check_periods(source: object) -> None:
    """Raise if one table of a list has a whole game, and another the periods of the same game."""
    whole_games: set[str] = set()
    games_by_period: set[str] = set()
    for part in source if isinstance(source, list | tuple) else ():
        for frame in tables_of("box_score", part, BOX_COLUMNS).values():
            if "game_id" in frame.columns and "session_id" not in frame.columns:
                (games_by_period if "period" in frame.columns else whole_games).update(frame["game_id"].drop_nulls())
    for value in sorted(whole_games & games_by_period):
        raise ValueError(f"box_score has game {value} twice, whole and by period: pass one of the two")


def check_weight(free_throw_weight: object) -> None:
    """Raise `ValueError` for what is no share of free throws."""
    if not (is_number(free_throw_weight) and 0 <= free_throw_weight <= 1):
        raise ValueError(f"free_throw_weight is {free_throw_weight!r}; it must be a number from 0 to 1, such as 0.44")


def unit_of(boxes: "pl.DataFrame") -> str:
    """Return the column with what the rows are of: sessions, or whole games."""
    has_sessions = "session_id" in boxes.columns and not boxes["session_id"].is_null().all()
    return "session_id" if has_sessions else "game_id"


def line_keys(by: Sequence[str]) -> list[str]:
    """Return the columns that identify a line of a box score in each group of `by`."""
    return [*(name for name in by if name != "player_id"), "team_id", "player_id"]


def check_columns(frame: "pl.DataFrame", argument: str, by: Sequence[str], codes: Sequence[str] = ()) -> None:
    added_columns = {*_ADDED_COLUMNS.split(), *codes}
    for column in by:
        names = {column.removesuffix("_whole"), *(column.removeprefix(prefix) for prefix in _ADDED_PREFIXES)}
        if column in frame.columns and names & added_columns:
            raise ValueError(
                f"{argument} cannot be grouped by {column}: metrics have a column of this name; give yours another"
            )
        if column not in frame.columns or frame[column].null_count():
            hint = "" if column in frame.columns else did_you_mean(column, frame.columns)
            raise ValueError(f"{argument} cannot be grouped by {column}: it is missing, or null in some rows{hint}")


def without_partial_totals(boxes: "pl.DataFrame", by: Sequence[str], codes: Sequence[str]) -> "pl.DataFrame":
    """Leave out the totals of a team of which a session or game lacks one: the sum of the others is not the team's."""
    team = [*(name for name in by if name != "player_id"), "team_id"]
    units = [*dict.fromkeys((*team, *(name for name in _UNIT_COLUMNS if name in boxes.columns)))]
    lines = boxes.filter(pl.any_horizontal(pl.col(codes).is_not_null())).select(units)
    partial = lines.join(boxes.filter("is_team_total"), on=units, how="anti", nulls_equal=True)
    totals = boxes.filter("is_team_total").join(partial, on=team, how="anti", nulls_equal=True)
    return pl.concat([boxes.filter(~pl.col("is_team_total")), totals])


def sum_by(frame: "pl.DataFrame", keys: Sequence[str], columns: Sequence[str]) -> "pl.DataFrame":
    for name in columns:
        kind = frame.schema[name]
        if not (kind.is_numeric() or kind == pl.Null):
            raise ValueError(f"the column {name} is of type {kind}; numbers are needed")
    return frame.group_by(keys).agg(pl.col(columns).sum()).sort(keys)


def sums_of_play() -> "list[pl.Expr]":
    """Return the sums of possessions; the `seconds` are null if those of one possession are unknown."""
    # Whole microseconds have the same sum in any order, and polars adds in that of its threads.
    microseconds = (pl.col("seconds") * 1e6).round()
    seconds = pl.when(pl.col("seconds").is_not_null().all()).then(microseconds.sum() / 1e6)
    return [pl.col(SUM_COLUMNS[:-1]).sum(), seconds.alias("seconds")]


def reason(*seconds: "pl.Expr", players: str | None = None) -> "pl.Expr":
    """Return the last column: why a value is null, "clock_unknown", or "lineup_unknown" where the players are."""
    is_unknown = pl.any_horizontal(column.is_null() for column in seconds or (pl.col("seconds"),))
    text: pl.Expr = pl.when(is_unknown).then(pl.lit("clock_unknown"))
    if players is not None:
        text = pl.when(pl.col(players).is_null()).then(pl.lit("lineup_unknown")).otherwise(text)
    return text.alias("reason")


def stat(code: str) -> "pl.Expr":
    """Return the column of a code, with 0 for rows without it."""
    return pl.col(code).fill_null(0)


def share(part: "pl.Expr", total: "pl.Expr") -> "pl.Expr":
    return pl.when(total > 0).then(part / total)


def rating_columns() -> "list[pl.Expr]":
    offence = 100 * share(pl.col("points"), pl.col("possessions"))
    defence = 100 * share(pl.col("opponent_points"), pl.col("opponent_possessions"))
    return [
        offence.alias("offensive_rating"),
        defence.alias("defensive_rating"),
        (offence - defence).alias("net_rating"),
    ]


def plus_minus_column() -> "pl.Expr":
    return (pl.col("points") - pl.col("opponent_points")).alias("plus_minus")
