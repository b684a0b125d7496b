"""Rules that compare sums: box scores, stat events, possessions and shots count the same things."""

from ..._lazy import pl
from .tables import ROUNDING_TOLERANCE, Row, Rows, Tables, number, owner, violation

UNSUMMED_CODES = ("DIST", "TEAM_SCORE", "OPPOSING_TEAM_SCORE")
"""Codes that do not add up: a distance is measured separately from events, and a score is a level."""

_POSSESSION_CODES = ("FGA", "FGA3", "REB", "DEFENSIVE_REB", "FGA_OTD", "FGA3_OTD")
"""Codes that are documented among the events of possessions."""


def box_score_is_sum_of_events(tables: Tables) -> Rows:
    stats, events = tables.common(tables.lines, tables["stat_events"])
    keys = ["team_id", "player_id", "stat"]
    for row in _differences(_sums(events, keys), _sums(stats, keys), ["scope"]):
        yield _difference(
            row,
            "{who}: {stat} is {found} in the box score, its stat events sum to {expected}",
            "stat events",
            "a box score",
        )


def team_is_sum_of_players(tables: Tables) -> Rows:
    keys = ["team_id", "stat"]
    stats = tables.add_scope(tables.lines)
    total = pl.col("is_team_total")
    players, own_lines = _sums(stats.filter(~total), keys), _sums(stats.filter(total), keys)
    for row in _differences(players, own_lines, ["scope", "team_id"]):
        message = "{who}: {stat} is {found} in its own line, its players sum to {expected}"
        yield _difference(row, message, "players", "a line of its own")


def points_from_makes(tables: Tables) -> Rows:
    stats = tables.lines
    sent_codes = set(stats["stat"].unique())
    if not {"PTS", "FG3"} <= sent_codes or not sent_codes & {"FG", "FG2"}:
        return
    has_code = {code: pl.col("stat") == code for code in ("PTS", "FG", "FG2", "FG3", "FT")}
    codes = {code: _known_or_nan().filter(rows).sum() for code, rows in has_code.items()}
    lines = tables.add_scope(stats).group_by("scope", "team_id", "player_id", maintain_order=True).agg(**codes)
    twos = pl.col("FG2") if "FG2" in sent_codes else pl.col("FG") - pl.col("FG3")
    lines = lines.with_columns(twos=twos).with_columns(points=2 * pl.col("twos") + 3 * pl.col("FG3") + pl.col("FT"))
    difference = (pl.col("points") - pl.col("PTS")).abs()
    for row in lines.filter(difference.is_not_nan(), difference > ROUNDING_TOLERANCE).iter_rows(named=True):
        makes = f"{number(row['twos'])} twos, {number(row['FG3'])} threes and {number(row['FT'])} free throws"
        message = f"{owner(row)}: PTS is {number(row['PTS'])}, but {makes} make {number(row['points'])}"
        yield violation(row, message, row["points"], row["PTS"])


def possessions_match_events(tables: Tables) -> Rows:
    possession_events, events = tables.common(tables["possession_events"], tables["stat_events"])
    codes = pl.concat_list(pl.col("possession_type").cast(pl.String), pl.col("details").fill_null([]))
    # Once, should a possession name its type among the details too.
    possession_events = (
        possession_events.drop_nulls("player_id").with_columns(stat=codes.list.unique(), value=1.0).explode("stat")
    )
    compared_codes = {*_POSSESSION_CODES, *possession_events["stat"].drop_nulls()} - {"PTS"}
    events = events.filter(~pl.col("is_team_total"), pl.col("stat").is_in(list(compared_codes)))
    keys = ["player_id", "stat"]
    counts = _sums(possession_events.filter(pl.col("stat").is_in(list(compared_codes))), keys)
    for row in _differences(_sums(events, keys), counts, ["scope"], _teams(events)):
        message = "{who}: {stat} is {found} in the possessions, {expected} in the stat events"
        yield _difference(row, message, "stat events", "events of possessions")


def shots_match_events(tables: Tables) -> Rows:
    shots, events = tables.common(tables["shots"], tables["stat_events"])
    # A shot without a player may be that of any player of its team.
    anonymous_shots = shots.filter(pl.col("player_id").is_null())
    shots, events = (rows.join(anonymous_shots, on=["scope", "team_id"], how="anti") for rows in (shots, events))
    is_make, three = pl.col("is_make"), pl.col("is_3point")
    counts = {"FGA": pl.lit(True), "FG": is_make, "FGA3": three, "FG3": is_make & three}
    events_of_shots = pl.concat(
        [
            shots.with_columns(stat=pl.lit(code), value=is_counted.cast(pl.Float64))
            for code, is_counted in counts.items()
        ],
    )
    events = events.filter(~pl.col("is_team_total"), pl.col("stat").is_in(list(counts)))
    keys = ["player_id", "stat"]
    for row in _differences(_sums(events, keys), _sums(events_of_shots, keys), ["scope"], _teams(events)):
        message = "{who}: {stat} is {found} by the shots, {expected} in the stat events"
        yield _difference(row, message, "stat events", "shots")


def plays_match_events(tables: Tables) -> Rows:
    plays, events = tables["play_by_play"], tables["stat_events"]
    key = "session_id" if not plays["session_id"].null_count() else "game_id"
    plays, events = plays.join(events, on=key, how="semi"), events.join(plays, on=key, how="semi")
    # A map of newer versions of polars is this list in older ones.
    entries = pl.List(pl.Struct({"key": pl.String, "value": pl.Float64}))
    plays = (
        plays.with_columns(pl.col("stats").cast(entries))
        .explode("stats")
        .unnest("stats")
        .rename({"key": "stat"})
        .filter(pl.col("player_id") > 0)
    )
    codes = plays["stat"].drop_nulls().unique().to_list()
    events = events.filter(~pl.col("is_team_total"), pl.col("stat").is_in(codes))
    keys = ["player_id", "stat"]
    plays, events = tables.common(plays, events)
    for row in _differences(_sums(events, keys), _sums(plays, keys), ["scope"], _teams(events)):
        message = "{who}: {stat} is {found} by the plays, {expected} in the stat events"
        yield _difference(row, message, "stat events", "plays")


def turnovers_match_events(tables: Tables) -> Rows:
    keys = ["session_id", "team_id", "possession"]
    codes = pl.concat_list(pl.col("possession_type").cast(pl.String), pl.col("details").fill_null([]))
    events = tables["possession_events"].with_columns(is_turnover=codes.list.contains("TO"))
    turnover_counts = events.group_by(keys).agg(counted=pl.col("is_turnover").sum().cast(pl.Int64))
    possessions = (
        tables["possessions"].join(turnover_counts, on=keys, how="left").with_columns(pl.col("counted").fill_null(0))
    )
    # A team's turnover has no player: possessions may omit it, and the stat events have it in the team's row.
    possessions = possessions.with_columns(others=_turnovers_nearby(tables, possessions))
    # The attribute may be a count or a flag.
    turnovers, expected = pl.col("turnover"), pl.max_horizontal("counted", "others")
    agrees = (turnovers == pl.col("counted")) | ((turnovers >= 1) & (turnovers <= expected))
    # Without any turnover among the events of a session, the service may not list them there.
    has_any = (pl.col("counted").sum().over("session_id") > 0) | (pl.col("others").sum().over("session_id") > 0)
    for row in tables.add_scope(possessions.filter(~agrees, has_any)).iter_rows(named=True):
        message = f"{owner(row)}: possession {row['possession']} has turnover {row['turnover']}"
        message += f", its events have {row['counted']}"
        yield violation(row, message, row["counted"], row["turnover"])


def _turnovers_nearby(tables: Tables, possessions: "pl.DataFrame") -> "pl.Series":
    """Return each possession's team turnovers among the stat events in its time, with a tolerance."""
    if "stat_events" not in tables:
        return pl.zeros(possessions.height, pl.Int64, eager=True)
    events = tables["stat_events"].filter(pl.col("stat") == "TO", pl.col("is_team_total"), pl.col("value") > 0)
    events = events.select("session_id", "team_id", "occurred_at").drop_nulls()
    slack = pl.duration(seconds=5)
    inside = pl.col("occurred_at").is_between(pl.col("start_timestamp") - slack, pl.col("end_timestamp") + slack)
    keys = ["session_id", "team_id", "start_timestamp", "end_timestamp"]
    pairs = possessions.select(keys).unique().join(events, on=["session_id", "team_id"], how="inner")
    counts = pairs.filter(inside).group_by(keys).agg(others=pl.len().cast(pl.Int64))
    joined_rows = possessions.select(keys).join(counts, on=keys, how="left", maintain_order="left")
    return joined_rows["others"].fill_null(0)


def _sums(frame: "pl.DataFrame", keys: list[str]) -> "pl.DataFrame":
    counted_stats = frame.filter(~pl.col("stat").is_in(UNSUMMED_CODES))
    sums = counted_stats.group_by("scope", *keys).agg(value=_known_or_nan().sum())
    return sums.filter(pl.col("value").abs() > ROUNDING_TOLERANCE)


def _known_or_nan() -> "pl.Expr":
    """Return the values, NaN where unknown: then a sum is NaN too, which is compared with nothing."""
    return pl.col("value").cast(pl.Float64).fill_null(float("nan"))


def _teams(events: "pl.DataFrame") -> "pl.DataFrame":
    return events.select("scope", "player_id", "team_id").unique(["scope", "player_id"])


def _differences(
    expected: "pl.DataFrame",
    found_sums: "pl.DataFrame",
    complete_keys: list[str],
    teams: "pl.DataFrame | None" = None,
) -> Rows:
    """Return where two known sums differ. If one side lacks a whole session, that is one row without `stat`."""
    keys = [name for name in expected.columns if name != "value"]
    for own_sums, other, lacks in ((expected, found_sums, "found"), (found_sums, expected, "expected")):
        known_sums = own_sums.filter(pl.col("value").is_not_nan())
        lonely = known_sums.join(other, on=complete_keys, how="anti").select(complete_keys).unique().sort(complete_keys)
        for row in lonely.iter_rows(named=True):
            yield {**row, "stat": None, "lacks": lacks}
    shared = expected.select(complete_keys).unique().join(found_sums.select(complete_keys).unique(), on=complete_keys)
    expected, found_sums = expected.rename({"value": "expected"}), found_sums.rename({"value": "found"})
    both_sums = expected.join(found_sums, on=keys, how="full", coalesce=True)
    both_sums = both_sums.join(shared, on=complete_keys, how="semi").with_columns(
        pl.col("expected", "found").fill_null(0.0)
    )
    if teams is not None:
        both_sums = both_sums.join(teams, on=["scope", "player_id"], how="left")
    difference = (pl.col("expected") - pl.col("found")).abs()
    different = both_sums.filter(difference.is_not_nan(), difference > ROUNDING_TOLERANCE)
    yield from different.sort(keys).iter_rows(named=True)


def _difference(row: Row, message: str, first: str, second: str) -> Row:
    """Return the row of a difference; if one side lacks the whole session, it names the sides."""
    if row.get("lacks") == "found":
        return violation(row, f"{owner(row)} has {first} but not {second}", first, None)
    if row.get("lacks") == "expected":
        return violation(row, f"{owner(row)} has {second} but no {first}", "none", second)
    # Not `format`: a code is any text of the service, including braces.
    texts = {"who": owner(row), "stat": row["stat"], "expected": row["expected"], "found": row["found"]}
    for name, text in texts.items():
        message = message.replace(f"{{{name}}}", str(number(text)))
    return violation(row, message, row["expected"], row["found"])
