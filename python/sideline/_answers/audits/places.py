"""Rules about places and line-ups: shots are on the court, and as far from the hoop as their value says."""

from ..._lazy import pl
from .tables import ROUNDING_TOLERANCE, Rows, Tables, at, number, owner, violation

FRAME_TOLERANCE_MM = 1
"""Both frames are rounded to whole millimetres."""

MAX_OFF_COURT_MM = 5000
"""How far outside the court a shooter may be: sensors drift, and venues are calibrated by hand."""

HOOP_TO_BASELINE_MM = 1600
"""From the hoop's centre to the baseline behind it, on every court in use."""

HALF_WIDTH_MM = 7620
"""Half the width of the widest court in use."""

NEAREST_LINE_MM, FARTHEST_LINE_MM = 6020, 7240
"""The three-point lines in use: in the corners of a high school court, and at the top of a professional one."""

LINE_TOLERANCE_MM = 500
"""How far on the wrong side of the line a shooter may be seen."""


def five_a_side(tables: Tables) -> Rows:
    own_players, other = pl.col("player_ids"), pl.col("opposing_player_ids")
    fives = tables.add_scope(tables["possessions"]).with_columns(
        own_ok=((own_players.list.len() == 5) & (own_players.list.n_unique() == 5)).fill_null(True),
        other_ok=((other.list.len() == 5) & (other.list.n_unique() == 5)).fill_null(True),
        both=own_players.list.set_intersection(other),
    )
    is_separate = (pl.col("both").list.len() == 0).fill_null(True)
    invalid_fives = fives.filter(~pl.col("own_ok") | ~pl.col("other_ok") | ~is_separate)
    for row in invalid_fives.iter_rows(named=True):
        label = f"{owner(row)}: possession {row['possession']} has"
        for ok, ids, side in (
            (row["own_ok"], row["player_ids"], "on its side"),
            (row["other_ok"], row["opposing_player_ids"], "on the other side"),
        ):
            if not ok:
                players = ", ".join(map(str, ids))
                message = f"{label} {players or 'nobody'} {side}, not five different players"
                yield violation(row, message, "five different players", players)
        if row["both"]:
            shared_players = ", ".join(map(str, row["both"]))
            yield violation(row, f"{label} {shared_players} on both sides", "nobody on both sides", shared_players)


def shot_frames_agree(tables: Tables) -> Rows:
    shots = _with_chart(tables.add_scope(tables["shots"]))
    for row in shots.filter(~_frames_agree()).iter_rows(named=True):
        chart = f"({number(row['chart_x'])}, {number(row['chart_y'])})"
        point = f"({number(row['hoop_player_x'])}, {number(row['hoop_player_y'])})"
        message = (
            f"{owner(row)}: the shot {at(row['occurred_at'])} is {chart} mm from the hoop, and {point} by its"
            " hoop_player"
        )
        yield violation(row, message, chart, point)


def _with_chart(shots: "pl.DataFrame") -> "pl.DataFrame":
    """Add `chart_x` and `chart_y`, the shooter's offset from the hoop computed from the positions on the court."""
    side = pl.col("hoop_y").sign()
    return shots.with_columns(
        chart_x=-side * (pl.col("player_x") - pl.col("hoop_x")),
        chart_y=-side * (pl.col("player_y") - pl.col("hoop_y")),
    )


def _frames_agree() -> "pl.Expr":
    off = pl.max_horizontal((pl.col(f"chart_{axis}") - pl.col(f"hoop_player_{axis}")).abs() for axis in "xy")
    return (off <= FRAME_TOLERANCE_MM + ROUNDING_TOLERANCE).fill_null(True)


def _is_on_court() -> "pl.Expr":
    """Return whether a shooter is near the court, whose length the shot's own hoop gives; true if anything is null."""
    hoop = pl.col("hoop_y").abs()
    length, width = hoop + HOOP_TO_BASELINE_MM + MAX_OFF_COURT_MM, HALF_WIDTH_MM + MAX_OFF_COURT_MM
    near = (pl.col("player_y").abs() <= length).fill_null(True) & (pl.col("player_x").abs() <= width).fill_null(True)
    return near | ~_has_hoop()


def _has_hoop() -> "pl.Expr":
    """Return whether the hoop is at a possible place: half a court from the centre, whatever the court's size."""
    return pl.col("hoop_y").abs().is_between(5000, 20_000).fill_null(False)


def shots_on_court(tables: Tables) -> Rows:
    shots = tables.add_scope(tables["shots"]).filter(~tables.is_football, ~_is_on_court())
    for row in shots.iter_rows(named=True):
        length = number(abs(row["hoop_y"]) + HOOP_TO_BASELINE_MM + MAX_OFF_COURT_MM)
        expected = f"|x| up to {HALF_WIDTH_MM + MAX_OFF_COURT_MM} mm, |y| up to {length} mm"
        position = f"({number(row['player_x'])}, {number(row['player_y'])}) mm"
        message = f"{owner(row)}: the shot {at(row['occurred_at'])} is taken at {position}, off the court"
        yield violation(row, message, expected, position)


def shot_values_match_distance(tables: Tables) -> Rows:
    nearest, farthest = NEAREST_LINE_MM - LINE_TOLERANCE_MM, FARTHEST_LINE_MM + LINE_TOLERANCE_MM
    for row in _distances(tables).iter_rows(named=True):
        inside = row["is_3point"]
        shot = f"a {'three' if inside else 'two'} from {number(round(row['distance'] / 1000, 2))} m"
        expected = f"{'at least' if inside else 'at most'} {(nearest if inside else farthest) / 1000:.2f} m"
        message = f"{owner(row)}: {row['table']} {at(row['at'])} is {shot}, expected {expected}"
        yield violation(row, message, expected, shot)


def _distances(tables: Tables) -> "pl.DataFrame":
    """Yield threes from inside every line in use and twos from beyond, by the distances of the service."""
    columns = ["scope", "team_id", "player_id", "is_3point"]
    parts = []
    if "shots" in tables:
        shots = _with_chart(tables.add_scope(tables["shots"]))
        # Other rules report positions off the court, and frames that disagree.
        is_usable = _has_hoop() & _is_on_court() & _frames_agree() & ~tables.is_football
        distance = (pl.col("chart_x") ** 2 + pl.col("chart_y") ** 2).sqrt()
        shots = shots.filter(is_usable)
        parts.append(shots.select(*columns, table=pl.lit("the shot"), at="occurred_at", distance=distance))
    if "possession_events" in tables:
        events = tables.add_scope(tables["possession_events"]).filter(~tables.is_football)
        distance = pl.col("shot_distance_cm") * 10
        parts.append(events.select(*columns, table=pl.lit("the possession's shot"), at="timestamp", distance=distance))
    if "stat_events" in tables:
        attempts = pl.col("stat").is_in(["FGA2", "FGA3"])
        events = tables.add_scope(tables["stat_events"]).filter(attempts, ~pl.col("is_team_total"), ~tables.is_football)
        distance = (pl.col("hoop_to_event_x") ** 2 + pl.col("hoop_to_event_y") ** 2).sqrt()
        events = events.with_columns(is_3point=pl.col("stat") == "FGA3")
        parts.append(events.select(*columns, table=pl.lit("the stat event"), at="occurred_at", distance=distance))
    # A whole court away is off the court, which `shots_on_court` reports.
    distances = pl.concat(parts, how="vertical_relaxed").filter(pl.col("distance") <= 40_000)
    three, distance = pl.col("is_3point"), pl.col("distance")
    inside = three & (distance < NEAREST_LINE_MM - LINE_TOLERANCE_MM)
    return distances.filter(inside | (~three & (distance > FARTHEST_LINE_MM + LINE_TOLERANCE_MM)))
