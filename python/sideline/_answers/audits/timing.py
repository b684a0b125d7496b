"""Rules about times and clocks: sessions, possessions and events are in order, and inside each other."""

from ..._lazy import pl
from .tables import REGULAR_SESSIONS, ROUNDING_TOLERANCE, Rows, Tables, at, moment, number, owner, violation

SESSION_TOLERANCE_S = 300
"""How far outside its session something may happen, because sessions are started and stopped by hand."""

POSSESSION_TOLERANCE_S = 5
"""How far outside its possession an event may happen."""

SHOT_CLOCK_LIMIT_S = 36.0
"""The longest shot clock in use is 35 s; 1 s more for rounding."""

ADJACENT_TOLERANCE_S = 0.15
"""The largest change of the game clock between adjacent possessions: tenths, rounded."""

PERIOD_END_TOLERANCE_S = 0.05
"""If possessions are adjacent, the last one of a period ends at 0:00, which needs no rounding."""

MAX_LAST_POSSESSION_S = 36.0
"""At most one possession is missing at the end of a period, and the shot clock limits its length."""


def sessions_end_after_start(tables: Tables) -> Rows:
    for row in tables.sessions.filter(pl.col("ended_at") < pl.col("started_at")).iter_rows(named=True):
        start, end = moment(row["started_at"]), moment(row["ended_at"])
        message = f"the session starts at {start} and ends before, at {end}"
        yield violation(row, message, f"at {start} or later", end)


_MOMENTS = (
    ("stat_events", "occurred_at", "a stat event is"),
    ("shots", "occurred_at", "a shot is"),
    ("possessions", "start_timestamp", "a possession starts"),
    ("possessions", "end_timestamp", "a possession ends"),
)


def happens_inside_session(tables: Tables) -> Rows:
    for name, column, event_name in _MOMENTS:
        if name in tables:
            frame = tables.add_scope(tables.with_span(tables[name]))
            for row in frame.filter(~_is_inside_session(column)).iter_rows(named=True):
                span, when = f"{moment(row['started_at'])} to {moment(row['ended_at'])}", moment(row[column])
                message = f"{owner(row)}: {event_name} at {when}, the session is from {span}"
                yield violation(row, message, span, when)


def _is_inside_session(column: str) -> "pl.Expr":
    slack = pl.duration(seconds=SESSION_TOLERANCE_S)
    after = pl.col(column) >= pl.col("started_at") - slack
    before = pl.col(column) <= pl.col("ended_at") + slack
    return after.fill_null(True) & before.fill_null(True)


def events_inside_possession(tables: Tables) -> Rows:
    outside = _with_possession(tables).filter(~_is_inside_possession())
    for row in tables.add_scope(outside).iter_rows(named=True):
        span = f"{moment(row['start_timestamp'])} to {moment(row['end_timestamp'])}"
        when = moment(row["timestamp"])
        message = (
            f"{owner(row)}: {row['possession_type']} at {when} is not in possession {row['possession']}, from {span}"
        )
        yield violation(row, message, span, when)


def _with_possession(tables: Tables) -> "pl.DataFrame":
    """Return the events of possessions, with `start_timestamp`, `end_timestamp` and `period` of their possession."""
    keys = ["session_id", "team_id", "possession"]
    spans = tables["possessions"].select(*keys, "start_timestamp", "end_timestamp", "period").unique(keys)
    return tables["possession_events"].join(spans, on=keys, how="left")


def _is_inside_possession() -> "pl.Expr":
    slack = pl.duration(seconds=POSSESSION_TOLERANCE_S)
    after = pl.col("timestamp") >= pl.col("start_timestamp") - slack
    before = pl.col("timestamp") <= pl.col("end_timestamp") + slack
    is_ordered = pl.col("start_timestamp") <= pl.col("end_timestamp")
    return (after.fill_null(True) & before.fill_null(True)) | ~is_ordered.fill_null(True)


def possessions_follow_each_other(tables: Tables) -> Rows:
    start, end = pl.col("start_game_clock_s"), pl.col("end_game_clock_s")
    # A possession without a time has an unknown place, so it could fill any hole of its session.
    has_times = pl.all_horizontal(pl.col("start_timestamp", "end_timestamp").is_not_null()).all().over("session_id")
    clocked_possessions = tables["possessions"].drop_nulls("session_id").filter(has_times)
    plausible = (start <= tables.clock_limit) & (end <= tables.clock_limit) & (end <= start + ROUNDING_TOLERANCE)
    # Without a valid clock nothing is known about the possessions on either side.
    clocked_possessions = clocked_possessions.with_columns(is_known=plausible.fill_null(False)).sort(
        "session_id", "start_timestamp", "end_timestamp"
    )
    within = "session_id"
    end_before = end.shift(1).over(within)
    are_known = pl.col("is_known") & pl.col("is_known").shift(1).over(within)
    pairs = clocked_possessions.with_columns(gap=end_before - start, before=end_before).filter(are_known)
    tiled_periods = pairs.group_by(within).agg(
        share=(pl.col("gap").abs() <= ADJACENT_TOLERANCE_S).mean(), count=pl.len()
    )
    tiled_periods = tiled_periods.filter(pl.col("share") >= 0.9, pl.col("count") >= 9)
    holes = pairs.join(tiled_periods, on=within, how="semi").filter(pl.col("gap") > ADJACENT_TOLERANCE_S)
    for row in holes.iter_rows(named=True):
        before, after = number(row["before"]), number(row["start_game_clock_s"])
        message = (
            f"the possession before ends at {before} s on the game clock, the next starts at {after} s: one is missing"
        )
        yield violation(row, message, f"{before} s", f"{after} s")
    # A finished period has been played to the end of its clock.
    ends = clocked_possessions.filter(pl.col("end_timestamp") == pl.col("end_timestamp").max().over(within))
    last = ends.group_by(within, maintain_order=True).last().filter(pl.col("is_known"))
    last = last.join(tiled_periods, on=within, how="semi").filter(
        end > PERIOD_END_TOLERANCE_S, end <= MAX_LAST_POSSESSION_S
    )
    ended_sessions = tables.sessions.filter(tables.is_over(pl.col("ended_at")))
    for row in last.join(ended_sessions, on=within, how="semi").iter_rows(named=True):
        left = number(row["end_game_clock_s"])
        message = f"the last possession ends with {left} s on the game clock: the one after it is missing"
        row = row | {"team_id": None}
        yield violation(row, message, "0 s", f"{left} s")


def clocks_never_rise(tables: Tables) -> Rows:
    """Yield rises of the game clock, without clocks out of range and moments outside their session or possession."""
    moments: dict[str, list[pl.DataFrame]] = {}
    for label, name, columns in (
        ("stat events", "stat_events", (("occurred_at", "game_clock_s"),)),
        ("shots", "shots", (("occurred_at", "game_clock_s"),)),
        (
            "possessions",
            "possessions",
            (("start_timestamp", "start_game_clock_s"), ("end_timestamp", "end_game_clock_s")),
        ),
    ):
        if name in tables:
            frame = tables.with_span(tables[name])
            moments[label] = [
                frame.filter(_is_inside_session(when)).with_columns(at=when, clock=clock) for when, clock in columns
            ]
    if "possessions" in tables and "possession_events" in tables:
        events = _with_possession(tables).filter(_is_inside_possession())
        moments["events of possessions"] = [events.with_columns(at="timestamp", clock="game_clock_s")]
    for label, parts in moments.items():
        columns_read = ["scope", "session_id", "period", "at", "clock"]
        frames = [tables.add_scope(part).select(columns_read) for part in parts]
        yield from _rises(
            label, pl.concat(frames, how="vertical_relaxed").filter(pl.col("clock") <= tables.clock_limit)
        )


def _rises(label: str, moments: "pl.DataFrame") -> Rows:
    keys = ["scope", "period"]
    # Rows at one moment have one clock, or no order in which it could rise.
    by_moment = moments.drop_nulls(["at", "clock"]).group_by(*keys, "at")
    ordered_moments = by_moment.agg(low=pl.min("clock"), high=pl.max("clock")).sort(*keys, "at")
    ordered_moments = ordered_moments.with_columns(before=pl.col("low").shift(1).over(keys))
    for row in ordered_moments.filter(pl.col("high") > pl.col("before") + ROUNDING_TOLERANCE).iter_rows(named=True):
        high, before = number(row["high"]), number(row["before"])
        label_at = f"{label}: at {moment(row['at'])} the game clock of {row['period'] or 'a period'}"
        message = f"{label_at} rises from {before} s to {high} s"
        yield violation(row, message, f"at most {before} s", f"{high} s")


_CLOCKS = (
    ("stat_events", "game_clock_s", "occurred_at"),
    ("shots", "game_clock_s", "occurred_at"),
    ("possessions", "start_game_clock_s", "start_timestamp"),
    ("possessions", "end_game_clock_s", "end_timestamp"),
    ("possession_events", "game_clock_s", "timestamp"),
)


def game_clock_in_range(tables: Tables) -> Rows:
    for name, column, when in _CLOCKS:
        if name in tables:
            frame = tables.add_scope(tables[name]).with_columns(limit=tables.clock_limit)
            for row in frame.filter((pl.col(column) > pl.col("limit")) | (pl.col(column) < 0)).iter_rows(named=True):
                limit, clock = f"0 to {number(row['limit'])} s", f"{number(row[column])} s"
                message = f"{owner(row)}: the game clock of {name} {at(row[when])} is {clock}, outside {limit}"
                yield violation(row, message, limit, clock)


def shot_clock_in_range(tables: Tables) -> Rows:
    for name, when in (("stat_events", "occurred_at"), ("shots", "occurred_at"), ("possession_events", "timestamp")):
        if name in tables:
            frame = tables.add_scope(tables[name]).filter(~tables.is_football, ~tables.is_practice)
            clock = pl.col("shot_clock_s")
            for row in frame.filter((clock > SHOT_CLOCK_LIMIT_S) | (clock < 0)).iter_rows(named=True):
                limit, found_text = f"0 to {number(SHOT_CLOCK_LIMIT_S)} s", f"{number(row['shot_clock_s'])} s"
                message = f"{owner(row)}: the shot clock of {name} {at(row[when])} is {found_text}, outside {limit}"
                yield violation(row, message, limit, found_text)


def periods_in_order(tables: Tables) -> Rows:
    """Compare only H1, H2 and Q1 to Q4, and only sessions of regular time: overtime has its own labels."""
    labels = _labels(tables)
    if labels is None:
        return
    games = tables.sessions.filter(tables.is_game).drop_nulls(["event_id", "started_at"])
    games = games.with_columns(place=pl.col("started_at").rank("ordinal").over("event_id") - 1)
    labels = labels.join(
        games.select("session_id", "event_id", "game_id", "game_type", "started_at", "place"), on="session_id"
    )
    family, index = pl.col("label").str.slice(0, 1), pl.col("label").str.slice(1).cast(pl.Int32)
    labels = labels.filter(pl.col("label").str.contains("^(H[12]|Q[1-4])$")).with_columns(family=family, index=index)
    regular = pl.col("game_type").replace_strict(REGULAR_SESSIONS, default=0, return_dtype=pl.UInt32)
    labels = labels.filter(pl.col("place") < regular)
    # The label of most rows of a session is the session's; other labels are errors of their rows.
    main = labels.sort("rows", "label", descending=[True, False]).unique(
        ["session_id", "family"], keep="first", maintain_order=True
    )
    others = labels.join(main.select("session_id", "family", usual="label"), on=["session_id", "family"])
    for row in others.filter(pl.col("label") != pl.col("usual")).sort("started_at").iter_rows(named=True):
        message = f"{row['rows']} rows of the session have the period {row['label']}, the others {row['usual']}"
        yield violation(row, message, row["usual"], row["label"])
    ordered_scores = main.sort("event_id", "family", "place").with_columns(
        before=pl.col("index").cum_max().shift(1).over("event_id", "family")
    )
    for row in ordered_scores.filter(pl.col("index") < pl.col("before")).iter_rows(named=True):
        earlier = f"{row['family']}{row['before']}"
        message = f"the session has the period {row['label']} and comes after one that has {earlier}"
        yield violation(row, message, f"{earlier} or later", row["label"])


def _labels(tables: Tables) -> "pl.DataFrame | None":
    """Return the labels of each session with their number of rows; the name of a session counts as one row."""
    parts = [tables.sessions.select("session_id", label="name")]
    parts += [
        tables[name].select("session_id", label=pl.col("period").cast(pl.String))
        for name in ("stat_events", "possessions", "shots")
        if name in tables
    ]
    labels = pl.concat(parts, how="vertical_relaxed").drop_nulls()
    return labels.group_by("session_id", "label").agg(rows=pl.len()) if labels.height else None


def windows_touch(tables: Tables) -> Rows:
    ordered_windows = _distinct_windows(tables).sort("session_id", "start", "end")
    after = ordered_windows.with_columns(before=pl.col("end").shift(1).over("session_id"))
    for row in after.filter(pl.col("start") != pl.col("before")).iter_rows(named=True):
        start, before = moment(row["start"]), moment(row["before"])
        problem = "a hole" if row["start"] > row["before"] else "an overlap"
        message = f"{problem}: a window of locations starts at {start}, the one before it ends at {before}"
        yield violation(row, message, before, start)


def _distinct_windows(tables: Tables) -> "pl.DataFrame":
    """Return the windows of each session once: the lists of both teams repeat them."""
    windows = tables["location_windows"]
    if "sessions" not in tables:
        return windows
    listed_counts = tables["sessions"].group_by("session_id").agg(listed=pl.len())
    place = pl.int_range(pl.len()).over("session_id", "start", "end")
    counted_windows = windows.join(listed_counts, on="session_id", how="left").with_columns(place=place)
    return counted_windows.filter(pl.col("place") % pl.col("listed").fill_null(1) == 0)


def windows_cover(tables: Tables) -> Rows:
    reach = tables["location_windows"].group_by("session_id").agg(start=pl.min("start"), end=pl.max("end"))
    sessions = tables.sessions.drop_nulls(["started_at", "ended_at"]).filter(pl.col("started_at") < pl.col("ended_at"))
    sessions = sessions.join(reach, on="session_id", how="left")
    is_covered = (pl.col("start") <= pl.col("started_at")) & (pl.col("end") >= pl.col("ended_at"))
    for row in tables.add_scope(sessions.filter(~is_covered.fill_null(False))).iter_rows(named=True):
        expected = f"{moment(row['started_at'])} to {moment(row['ended_at'])}"
        span = f"{moment(row['start'])} to {moment(row['end'])}" if row["start"] else None
        message = f"the session is from {expected}, its windows of locations {'from ' + span if span else 'none'}"
        yield violation(row, message, expected, span)
