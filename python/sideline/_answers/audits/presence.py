"""Rules about what exists: sessions, rows and players that one table has and another lacks."""

from ..._lazy import pl
from .tables import REGULAR_SESSIONS, SESSION_TABLES, Rows, Tables, at, moment, owner, violation

MIN_SESSION_WITH_ROWS_S = 300
"""Short sessions may be empty; a longer session of a game has rows."""

MIN_POSSESSIONS = 10
"""A session with fewer possessions may have those of one team alone."""

MAX_UNCOVERED_S = 600
"""The largest part of a game's time outside its sessions; beyond it a session is missing."""

_OPERATIONS = {"stats": "stats", "stat_events": "stats_details", "possessions": "possessions", "shots": "shots"}
_EXPLAINED_STATUSES = ("forbidden", "unavailable", "failed", "withdrawn")


def _of_sessions(tables: Tables) -> "pl.DataFrame":
    """Return the sessions with rows, with the names of their tables and the earliest time in them."""
    times = {"stat_events": "occurred_at", "possessions": "start_timestamp", "shots": "occurred_at"}
    kind = pl.Datetime("ms", "UTC")
    parts = []
    for name in SESSION_TABLES:
        if name in tables:
            when = pl.col(times[name]).min() if name in times else pl.lit(None)
            rows = tables[name].drop_nulls("session_id").group_by("session_id", maintain_order=True)
            parts.append(
                rows.agg(game_id=pl.col("game_id").first(), at=when.cast(kind)).with_columns(table=pl.lit(name))
            )
    return pl.concat(parts, how="vertical_relaxed")


def sessions_are_listed(tables: Tables) -> Rows:
    for row in _unlisted_sessions(tables).iter_rows(named=True):
        table_names = ", ".join(row["tables"])
        yield violation(
            row,
            f"the session has rows in {table_names}, and no event lists it",
            "a session of an event",
            table_names,
        )


def _unlisted_sessions(tables: Tables) -> "pl.DataFrame":
    rows = _of_sessions(tables).join(tables.sessions.select("session_id"), on="session_id", how="anti")
    withdrawn = _withdrawn(tables)
    if withdrawn is not None:
        rows = rows.join(withdrawn, on=["session_id", "table"], how="anti")
    return rows.group_by("session_id", maintain_order=True).agg(
        tables=pl.col("table"), game_id=pl.col("game_id").drop_nulls().first(), at=pl.col("at").min()
    )


def sessions_have_rows(tables: Tables) -> Rows:
    present = _of_sessions(tables)
    length = pl.col("ended_at") - pl.col("started_at")
    expected = tables.sessions.filter(tables.is_game, tables.is_over(pl.col("ended_at")))
    expected = expected.filter(length > pl.duration(seconds=MIN_SESSION_WITH_ROWS_S))
    missing = expected.join(present, on="session_id", how="anti")
    if "coverage" in tables:
        missing = missing.join(_explained_sessions(tables), on="session_id", how="anti")
    elif tables.is_one_session:
        # Responses of one session, passed with its whole game, say nothing about the game's other sessions.
        return
    names = [name for name in SESSION_TABLES if name in tables]
    for row in missing.sort("started_at").iter_rows(named=True):
        span = f"{moment(row['started_at'])} to {moment(row['ended_at'])}"
        message = f"the session, from {span}, has no rows in {', '.join(names)}"
        yield violation(row, message, f"rows in {' or '.join(names)}", None)


def _explained_sessions(tables: Tables) -> "pl.DataFrame":
    """Return sessions whose coverage explains why there are no rows, and those without a requested unit."""
    units = tables["coverage"].filter(pl.col("operation").is_in(list(_OPERATIONS.values())))
    explained_sessions = units.filter(pl.col("status").is_in(_EXPLAINED_STATUSES)).select("session_id")
    never = tables.sessions.join(units, on="session_id", how="anti")
    requested_events = tables.sessions.join(units, on="session_id", how="semi").select("event_id").unique()
    never = never.join(requested_events, on="event_id", how="anti").select("session_id")
    return pl.concat([explained_sessions, never]).unique()


def games_have_all_sessions(tables: Tables) -> Rows:
    unlisted_rows = [] if not any(name in tables for name in SESSION_TABLES) else _unlisted_sessions(tables).to_dicts()
    events = tables.events.filter(tables.is_over(pl.col("event_end")), pl.col("event_start") < pl.col("event_end"))
    # A session without times, or with reversed ones, leaves the game's time unknown.
    is_known = (pl.col("started_at") <= pl.col("ended_at")).fill_null(False).all()
    by_event = tables.sessions.drop_nulls("event_id").sort("started_at").group_by("event_id", maintain_order=True)
    spans = by_event.agg(
        *("started_at", "ended_at"), game_id=pl.col("game_id").drop_nulls().first(), count=pl.len(), is_known=is_known
    ).filter("is_known")
    regular = pl.col("game_type").replace_strict(REGULAR_SESSIONS, default=0, return_dtype=pl.Int64)
    games = events.join(spans, on="event_id", how="inner", maintain_order="left").with_columns(regular=regular)
    if "coverage" in tables:
        # A withdrawn session is no longer expected, though the game's end may still include it.
        withdrawn_games = tables["coverage"].filter(pl.col("status") == "withdrawn").select("game_id").drop_nulls()
        games = games.join(withdrawn_games, on="game_id", how="anti")
    for row in games.filter(pl.col("count") < pl.col("regular")).iter_rows(named=True):
        ends = [row["event_start"], *row["ended_at"]]
        holes = list(zip(ends, [*row["started_at"], row["event_end"]], strict=True))
        start, end = max(holes, key=lambda hole: hole[1] - hole[0])
        rows_have_it = any(
            row["event_start"] <= other["at"] <= row["event_end"] for other in unlisted_rows if other["at"]
        )
        if (end - start).total_seconds() > MAX_UNCOVERED_S and not rows_have_it:
            sessions = f"{row['count']} sessions, none from {moment(start)} to {moment(end)}"
            message = f"the game of type {row['game_type']} has {sessions}"
            yield violation(row, message, f"{row['regular']} sessions", sessions)


def both_teams_have_possessions(tables: Tables) -> Rows:
    possessions = tables["possessions"].filter(tables.is_game | pl.col("game_id").is_not_null())
    by_session = possessions.group_by("session_id", "game_id", maintain_order=True)
    teams = by_session.agg(pl.col("team_id").drop_nulls().unique().sort(), count=pl.len())
    is_suspicious = (pl.col("team_id").list.len() != 2) & (pl.col("count") >= MIN_POSSESSIONS)
    for row in teams.filter(is_suspicious).iter_rows(named=True):
        teams_text = ", ".join(map(str, row.pop("team_id"))) or "no team"
        message = f"the session has possessions of {teams_text}, not of two teams"
        yield violation(row, message, "two teams", teams_text)


def rows_occur_once(tables: Tables) -> Rows:
    keys = {
        "stats": ("player_id", "stat"),
        "possessions": ("start_timestamp", "end_timestamp"),
        "shots": ("player_id", "occurred_at", "player_x", "player_y", "is_make"),
    }
    for name, key in keys.items():
        if name not in tables:
            continue
        rows = tables.add_scope(tables[name]).drop_nulls(key)
        counts = rows.group_by("scope", "team_id", *key, maintain_order=True).agg(count=pl.len())
        counts = counts.filter(pl.col("count") > 1)
        if name == "stats":
            counts = counts.unique(["scope", "team_id", "player_id"], maintain_order=True, keep="first")
        for row in counts.iter_rows(named=True):
            moments = [at(row[column]) for column in ("start_timestamp", "occurred_at") if column in row]
            subject = " ".join([{"stats": "line"}.get(name, name.removesuffix("s")), *moments])
            yield violation(row, f"{owner(row)}: the {subject} is there {row['count']} times", 1, row["count"])


def players_are_on_a_roster(tables: Tables) -> Rows:
    rosters = tables["players"].drop_nulls(["team_id", "player_id"])
    since = pl.col("listed_from") if "listed_from" in rosters.columns else pl.lit(None, pl.Datetime("ms", "UTC"))
    # The roster of a game lists everyone who was there; any other only players since it was requested.
    teams = rosters.group_by("team_id").agg(since=pl.when(since.is_null().any()).then(None).otherwise(since.min()))
    seen = _players(tables, pl.col("player_ids"))
    unknown_players = seen.join(rosters, on="player_id", how="anti").join(teams, on="team_id", how="inner")
    starts = tables.sessions.select("session_id", "started_at")
    unknown_players = unknown_players.join(starts, on="session_id", how="left", maintain_order="left")
    is_judged = pl.col("since").is_null() | (pl.col("started_at") >= pl.col("since")).fill_null(False)
    for row in unknown_players.filter(is_judged).iter_rows(named=True):
        table_names = ", ".join(row["table"])
        message = f"player {row['player_id']} of team {row['team_id']} has rows in {table_names} and is on no roster"
        yield violation(row, message, "a player of a roster", row["player_id"])


def players_have_one_team(tables: Tables) -> Rows:
    # One on both sides of a possession is covered by another rule.
    own_players = pl.col("player_ids").list.set_difference(pl.col("opposing_player_ids").fill_null([]))
    seen = _players(tables, own_players).filter(~tables.is_practice).drop_nulls("team_id")
    teams = seen.explode("table").group_by("scope", "session_id", "player_id", maintain_order=True)
    by_player = teams.agg(names=pl.format("{} in {}", "team_id", "table"), count=pl.col("team_id").n_unique())
    for row in by_player.filter(pl.col("count") > 1).iter_rows(named=True):
        names = ", ".join(row["names"])
        yield violation(row, f"player {row['player_id']} has rows of several teams: {names}", "one team", names)


def teams_of_a_game_play(tables: Tables) -> Rows:
    named_teams = tables["events"].unique("event_id", maintain_order=True, keep="first")
    named_teams = named_teams.select("event_id", team_id=pl.concat_list("home_team_id", "away_team_id"))
    games = tables.sessions.filter(tables.is_game).select("session_id", "game_id", "event_id")
    games = games.join(named_teams, on="event_id").explode("team_id").drop_nulls("team_id")
    by_session = _players(tables, pl.col("player_ids")).drop_nulls("team_id").group_by("session_id")
    present = by_session.agg(present=pl.col("team_id").unique().sort()).filter(pl.col("present").list.len() > 1)
    absent = games.join(present, on="session_id").filter(~pl.col("present").list.contains(pl.col("team_id")))
    for row in absent.iter_rows(named=True):
        names = ", ".join(map(str, row["present"]))
        message = f"team {row['team_id']} of the game has no player in the session, which has those of {names}"
        yield violation(row, message, row["team_id"], names)


def _players(tables: Tables, on_court: "pl.Expr") -> "pl.DataFrame":
    """Return the players with rows, by session and team, with the names of the tables; `on_court` of a possession."""
    keys = ["scope", "session_id", "team_id", "player_id"]
    parts = []
    for name in (name for name in SESSION_TABLES if name in tables):
        rows = tables.add_scope(tables[name]).with_columns(table=pl.lit(name))
        if name == "possessions":
            rows = rows.with_columns(player_id=on_court).explode("player_id")
        parts.append(rows.select(*keys, "table"))
    seen = pl.concat(parts, how="vertical_relaxed").filter(pl.col("player_id") > 0)
    return seen.group_by(keys, maintain_order=True).agg(pl.col("table").unique(maintain_order=True))


def withdrawn_sessions_have_no_rows(tables: Tables) -> Rows:
    withdrawn = _withdrawn(tables)
    if withdrawn is None:
        return
    rows = _of_sessions(tables).join(withdrawn, on=["session_id", "table"], how="semi")
    by_session = rows.group_by("session_id", maintain_order=True)
    for row in by_session.agg(tables=pl.col("table"), game_id=pl.col("game_id").drop_nulls().first()).iter_rows(
        named=True
    ):
        table_names = ", ".join(row["tables"])
        message = f"the session was withdrawn, and still has rows in {table_names}"
        yield violation(row, message, "no rows", table_names)


def _withdrawn(tables: Tables) -> "pl.DataFrame | None":
    """Return the tables of sessions that the service has withdrawn."""
    if "coverage" not in tables:
        return None
    withdrawn_rows = tables["coverage"].filter(pl.col("status") == "withdrawn", pl.col("session_id").is_not_null())
    names = {operation: name for name, operation in _OPERATIONS.items()}
    table = pl.col("operation").replace_strict(names, default=None, return_dtype=pl.String)
    return withdrawn_rows.select("session_id", table=table).drop_nulls().unique()
