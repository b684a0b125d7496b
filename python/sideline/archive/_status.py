"""Judges whether each table of each game is complete and final, from the archive alone.

`_Judge` decides without reading anything; `status` reads what it needs.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from .._client import table_from_arrow
from .._core import Table
from . import _audits, _baseline, _read
from ._baseline import Baseline
from ._libraries import pa, pl
from ._life import COMPLETE, SEVERITY, Observation, Phase, State, after, state_of, verdict as verdict_of
from ._plan import ANSWERS, LIST_OPERATIONS, MIN_SETTLED_TIME, NO_MONTH, RESOURCES, SOURCES_OF_ANSWERS, TABLES, is_list
from ._schemas import MONTH
from ._store import Store
from ._tracking import signatures, stored_signatures

if TYPE_CHECKING:
    from .._answers import Violations

Row = dict[str, Any]

_FALLBACK_DELAY = timedelta(days=1)
"""The usual delay until the archive has learned its own."""

_FEW_ROWS_DIVISOR = 20
"""A session with fewer than the usual rows divided by this is suspicious."""

_CANCELLATION_STATUSES = {"CANCELED", "CANCELLED"}

_UNREADABLE_PREFIX = "event/"

_GAMES_AT_ONCE = 100
"""Games whose rows of `coverage` are in memory."""

_COLUMNS = (
    *("operation", "team_id", "game_id", "session_id", "start", "end", "status", "rows", "error", "unit", "listed_at"),
    *("body_id", "sequence", "stored_at", "event_id", "starts_at", "over_at", "teams", "final", "planned_at"),
)

_SESSION_COLUMNS = ("game_id", "session_id", "started_at", "ended_at")

_SCHEDULE_COLUMNS = ("game_id", "tipoff_at", "status", "home_team_id", "away_team_id")


@dataclass
class _Game:
    """What the schedule and `coverage` say about a game."""

    id: str
    starts_at: datetime | None = None
    over_at: datetime | None = None
    teams: tuple[int, ...] = ()
    status: str = ""
    units: list[Row] = field(default_factory=list)
    """Its rows of `coverage`."""
    sessions: dict[str, tuple[datetime | None, datetime | None]] = field(default_factory=dict)
    """The sessions that its event lists, with their times."""
    concerns: list[str] = field(default_factory=list)
    """Why its sessions may be incomplete or outdated."""


def _latest(*times: datetime | None) -> datetime | None:
    return max((at for at in times if at is not None), default=None)


def status(
    store: Store,
    team_ids: Collection[int] | None,
    since: datetime | None,
    clock: datetime | None,
    now: datetime,
    window: timedelta,
    violations: "Iterable[Violations] | None" = None,
) -> Table:
    """Return the verdicts on games; `clock` is the archive's own clock, `now` this machine's.

    The rows of `coverage` of some games are in memory at a time. `violations`: those of all finished events, if the
    caller has audited them.
    """
    _read.require(store)
    ledger = _baseline.ledger(store)
    judge = _Judge(
        baseline=_baseline.learn(store, ledger),
        interrupted_units=_audits.units_being_stored(store),
        # The service's clock at the last sync may be ahead of this machine's.
        clock=clock or max(now, cast("datetime | None", ledger["planned_at"].max()) or now),
        window=window,
    )
    rows_of_rules = _audit(store) if violations is None else _by_game(violations)
    signatures_of_rows = stored_signatures(store)
    parts: list[pa.Table] = [_to_arrow([])]
    starts: list[datetime | None] = []
    unknown_teams = set(team_ids or ())
    if unknown_teams:
        unknown_teams -= set(_read.columns_of(store, "coverage", ("team_id",))["team_id"])
    for games, units in _parts(store, ledger):
        unknown_teams.difference_update(*(game.teams for game in games))
        selected_games = [
            game
            for game in sorted(games, key=_order)
            if (team_ids is None or set(team_ids) & set(game.teams))
            and (since is None or game.starts_at is None or game.starts_at >= since)
        ]
        rows = judge.verdicts(selected_games, units, _violations(rows_of_rules(selected_games)))
        rows = _with_answers(rows, units, signatures_of_rows)
        at = {game.id: game.starts_at for game in selected_games}
        starts += [at[row["game_id"]] for row in rows]
        parts.append(_to_arrow(rows))
    if unknown_teams:
        teams = ", ".join(map(str, sorted(unknown_teams)))
        raise ValueError(f"the archive has no game and no list of team {teams}: sideline sync --teams requests them")
    table = pa.concat_tables(parts).append_column("starts_at", pa.array(starts, pa.timestamp("us", "UTC")))
    # Sorting is stable: the tables of a game keep their order, and games without a start are last.
    table = table.sort_by([("starts_at", "ascending"), ("game_id", "ascending")]).drop_columns("starts_at")
    return table_from_arrow("status", table.unify_dictionaries().combine_chunks())


def _order(game: _Game) -> tuple[Any, ...]:
    return (game.starts_at is None, game.starts_at, game.id)


def _audit(store: Store) -> "Callable[[Sequence[_Game]], Iterator[Row]]":
    """Return what audits the finished ones of some games."""
    auditor = _audits.Auditor(store)

    def violations_of(games: Sequence[_Game]) -> Iterator[Row]:
        final_games = [
            game.id for game in games if any(row["operation"] == "game" and row["final"] for row in game.units)
        ]
        return (row for run in auditor.of_events(final_games) for row in run.to_dicts()) if final_games else iter(())

    return violations_of


def _by_game(violations: "Iterable[Violations]") -> "Callable[[Sequence[_Game]], Iterator[Row]]":
    """Return what selects the violations of some games. A violation may have only a session."""
    rows: dict[str | None, list[Row]] = defaultdict(list)
    for row in (row for part in violations for row in part.to_dicts()):
        rows[row["game_id"] or row["session_id"]].append(row)

    def violations_of(games: Sequence[_Game]) -> Iterator[Row]:
        ids = {key for game in games for key in (game.id, *(unit["session_id"] for unit in game.units))} - {None}
        return (row for key in ids for row in rows.get(key, ()))

    return violations_of


def _violations(violations: Iterable[Row]) -> list[Row]:
    """Return violations, each once, with the tables of their rule and those that it needs."""
    rules = {rule.rule: {"needs": rule.tables, "tables": {*rule.tables, *rule.any_of}} for rule in _rules()}
    columns = ("rule", "game_id", "session_id")
    keys = {tuple(row[name] for name in columns) for row in violations}
    return [dict(zip(columns, key, strict=True)) | rules[key[0]] for key in sorted(keys, key=repr)]


def _parts(store: Store, ledger: "pl.DataFrame") -> Iterator[tuple[list[_Game], list[Row]]]:
    """Yield some games at a time, with the rows of `coverage` of their units and of lists."""
    last_times = _read.last_listed(store)
    table = store.open_checked("coverage")

    def units_of(months: Collection[str], games: Collection[str] | None = None) -> Iterator[Row]:
        texts = None if games is None else ("game_id", games)
        for batch in () if table is None else store.select(table, _COLUMNS, texts, months):
            for row in _read.to_dicts(batch):
                row["listed_at"] = _latest(row["listed_at"], _read.listed_at(row, last_times))
                yield row

    is_malformed = pl.col("unit").str.starts_with(_UNREADABLE_PREFIX)
    lists = [row for row in units_of([NO_MONTH]) if is_list(row["unit"]) or _is_malformed(row)]
    names = {row["unit"] for row in lists}
    schedule = _read.scan(store, "games").select(*_SCHEDULE_COLUMNS).collect()
    of_games = ledger.filter(pl.col("game_id").is_not_null() & ~is_malformed)
    sessions = _read.scan(store, "sessions").select(*_SESSION_COLUMNS).drop_nulls("game_id").collect()
    is_practice = (pl.col("operation") == "team_events") & pl.col("body_id").is_not_null()
    practices = ledger.filter(is_practice)["unit"].str.strip_prefix("team_events/")
    existing_ids = {*of_games["game_id"], *schedule["game_id"], *practices}
    months = of_games.group_by("game_id").agg(months=pl.col(MONTH).unique().sort())
    ids = pl.concat([schedule.select("game_id"), months.select("game_id")]).unique(maintain_order=True)
    # Games of one month share its files.
    unordered_games = ids.join(months, on="game_id", how="left", maintain_order="left")
    by_month = unordered_games.sort(pl.col("months").list.join(","), maintain_order=True)
    for part in by_month.iter_slices(_GAMES_AT_ONCE):
        part_months = part["months"].explode().drop_nulls().unique().to_list()
        units = [*lists, *(row for row in units_of(part_months, set(part["game_id"])) if row["unit"] not in names)]
        is_of_part = pl.col("game_id").is_in(part["game_id"].implode())
        rows, listings = (frame.filter(is_of_part).to_dicts() for frame in (schedule, sessions))
        yield _games(units, rows, listings, existing_ids), units


def _with_answers(rows: Sequence[Row], units: Sequence[Row], signatures_of_rows: Mapping[str, str]) -> list[Row]:
    """Add rows of the tables that are computed from others: each has the worst verdict of its sources."""
    sources = {table for operation in SOURCES_OF_ANSWERS for table in RESOURCES[operation].tables[:1]}
    by_game: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_game[row["game_id"]].append(row)
    expected = signatures(units)
    outdated_games = {
        unit["game_id"]
        for unit in units
        if expected.get(unit["session_id"]) != signatures_of_rows.get(unit["session_id"])
    }
    all_rows = []
    for game_id, game_rows in by_game.items():
        all_rows += game_rows
        parts = [row for row in game_rows if row["table"] in sources]
        tables = {row["table"] for row in parts}
        if "locations" not in tables:
            continue
        worst = min(parts, key=lambda row: SEVERITY.index(row["status"]))
        reasons = [
            f"{row['table']}: {reason}"
            for row in parts
            if row["status"] == worst["status"]
            for reason in row["reasons"]
        ]
        verdict = {**worst, "reasons": reasons}
        if game_id in outdated_games and SEVERITY.index("degraded") < SEVERITY.index(worst["status"]):
            verdict |= {"status": "degraded", "reasons": ["it was computed from older bodies: sync again"]}
        # Each defender is that of a shot.
        names = [name for name in ANSWERS if name != "tracking_defenders" or "shots" in tables]
        all_rows += [{**verdict, "table": name} for name in names]
    return all_rows


@dataclass(frozen=True)
class _Judge:
    """Decides on games from their rows of `coverage`, without reading anything."""

    baseline: Baseline
    interrupted_units: Collection[str]
    """Units whose storing was interrupted."""
    clock: datetime
    """Now."""
    window: timedelta
    """How long after its end a game may be corrected."""

    def verdicts(self, games: Iterable[_Game], units: Sequence[Row], violations: Iterable[Row]) -> list[Row]:
        """Return a row of `status` for each game and table.

        Parameters:
            units: the rows of `coverage` of the games.
            violations: violations of the stored tables, with the `tables` of their rule and those that it `needs`.
        """
        rules_of_table = _violated_rules(violations, units)
        # An operation without data for any game is not offered by the service.
        operations = [operation for operation in _JUDGED_OPERATIONS if operation in self.baseline.operations]
        return [
            row
            for game in games
            for operation in operations
            if self._was_requested(game, operation)
            for row in self._rows_of(game, operation, rules_of_table)
        ]

    def _was_requested(self, game: _Game, operation: str) -> bool:
        """Return whether a sync that stored a unit of the game requested the operation, of this game or of another.

        A sync that was killed may have requested what it has not stored.
        """
        syncs = {row["planned_at"] for row in game.units if not _is_malformed(row)}
        requested_by = self.baseline.requested_by
        return not syncs or any(at not in requested_by or operation in requested_by[at] for at in syncs)

    def _rows_of(
        self, game: _Game, operation: str, rules_of_table: Mapping[tuple[str, str], Sequence[str]]
    ) -> list[Row]:
        """Return the rows of an operation's tables."""
        of_table = [row for row in game.units if row["operation"] == operation and not _is_malformed(row)]
        delay = self.baseline.delays.get(operation)
        unit_verdicts = [self._unit_verdict(row, game, delay) for row in of_table]
        if any(verdict != "withdrawn" for verdict, _ in unit_verdicts):
            # Withdrawn sessions leave no row behind.
            unit_verdicts = [unit_verdict for unit_verdict in unit_verdicts if unit_verdict[0] != "withdrawn"]
        verdict, reason = _without_units(game, operation, delay, self.clock)
        if not unit_verdicts:
            unit_verdicts = [(verdict, reason)]
        elif RESOURCES[operation].key == "session_id":
            ids = {row["session_id"] for row in of_table if row["status"] != "withdrawn"}
            # A sync of other tables listed them.
            unit_verdicts += [(verdict, f"{operation}/{key}: {reason}") for key in game.sessions if key not in ids]
        unit_verdicts += [
            ("provisional", f"{name}: its session has other times now") for name in _with_other_times(game, of_table)
        ]
        unit_verdicts += [("degraded", concern) for concern in game.concerns]
        is_checked = _is_checked(operation, game)
        listing_times = [row["listed_at"] for row in of_table if row["status"] != "withdrawn"]
        rows = []
        for table in RESOURCES[operation].tables:
            table_verdicts = unit_verdicts + [
                ("degraded", f"violates {rule}") for rule in rules_of_table.get((game.id, table), ())
            ]
            verdict = min((unit_verdict for unit_verdict, _ in table_verdicts), key=SEVERITY.index)
            rows.append(
                {
                    "game_id": game.id,
                    "table": table,
                    "status": verdict,
                    "checked": is_checked,
                    "reasons": _reasons(table_verdicts, verdict, is_checked=is_checked),
                    "last_changed": max((row["stored_at"] for row in of_table if row["stored_at"]), default=None),
                    "last_listed": min(listing_times) if listing_times and None not in listing_times else None,
                    "usual_delay_s": None if delay is None else delay.total_seconds(),
                }
            )
        return rows

    def _unit_verdict(self, row: Row, game: _Game, delay: timedelta | None) -> tuple[str, str]:
        """Return the verdict on one unit, and its reason."""
        state, name = _state_now(row, game, self.window), row["unit"]
        if name in self.interrupted_units and state is not State.WITHDRAWN:
            reason = "a sync is storing this unit, or was interrupted while it did; if none is running, sync again"
            return "degraded", f"{name}: {reason}"
        phase = _phase(row, game, delay, self.clock)
        verdict = verdict_of(state, phase)
        if state.status in COMPLETE and verdict != "pending":
            usual_count = self.baseline.rows.get(row["operation"], 0)
            is_changed = row["operation"] != "schedule" and row["over_at"] != game.over_at
            if not is_changed and row["rows"] is not None and row["rows"] * _FEW_ROWS_DIVISOR < usual_count:
                if phase is Phase.WAITING:
                    return "pending", _waiting(game, self.clock)
                return "degraded", f"{name}: {row['rows']} rows, usually {usual_count:g}"
        return verdict, _reason(row, game, verdict, self.clock, self.window)


_CHECKED_AGAINST: Mapping[str, str] = {
    **{name: name for name in ("schedule", "game", "stats", "possessions")},
    "stats_details": "stats",
    "shots": "stats_details",
    "play_by_play": "stats_details",
}
"""For each operation, the one whose rows a rule compares with its own to notice that some are missing: its own for the
halves of a game, the sum of a team's players, and possessions of two teams."""

_JUDGED_OPERATIONS = (
    "schedule",
    "game",
    *(
        name
        for name, declaration in RESOURCES.items()
        if declaration.key in ("game_id", "session_id") and name != "schedule"
    ),
)
"""Operations whose tables belong to games. The key of a game's own event is `event_id`."""


def _state_now(row: Row, game: _Game, window: timedelta) -> State:
    """Return the state of a unit after what its game and the time say about it."""
    state = state_of(row)
    if state is State.FAILED_STORED and row["body_id"] is None:
        # It was reserved for a body that was never stored.
        state = State.FAILED
    # An entry of a list is stored again only where it has changed.
    is_entry = row["operation"] in LIST_OPERATIONS
    seen_at = _latest(row.get("planned_at"), row["listed_at"] if is_entry else None)
    if seen_at is not None and game.over_at is not None and seen_at - game.over_at >= window:
        state = after(state, Observation.LAST_LOOK)
    if row["operation"] != "schedule" and row["over_at"] != game.over_at:
        state = after(state, Observation.NEW_DATE)
    return state


def _phase(row: Row, game: _Game, delay: timedelta | None, clock: datetime) -> Phase:
    is_over = game.over_at is not None and game.over_at <= clock - MIN_SETTLED_TIME
    # What was fetched before its game was over says nothing about the whole game.
    is_early = row["status"] in COMPLETE and not row["final"] and row["operation"] != "schedule"
    if game.over_at is None or not is_over or is_early:
        return Phase.OPEN
    return Phase.WAITING if clock - game.over_at < (delay or _FALLBACK_DELAY) else Phase.DUE


def _reason(row: Row, game: _Game, verdict: str, clock: datetime, window: timedelta) -> str:
    name, error = row["unit"], row["error"] or row["status"]
    match verdict:
        case "available":
            return ""
        case "withdrawn":
            return str(error)
        case "pending":
            return _waiting(game, clock)
        case "degraded":
            return f"{name}: the rows are older than the last request, which ended with {error}"
        case "provisional" if row["operation"] != "schedule" and row["over_at"] != game.over_at:
            return f"{name}: its game's end has changed since it was fetched"
        case "provisional" if game.over_at is not None:
            until = f"{game.over_at + window:%Y-%m-%d %H:%M} UTC"
            return f"it may be corrected until {until}, and was not fetched after that"
    return f"{name}: {error}"


def _reasons(verdicts_of_units: Iterable[tuple[str, str]], verdict: str, *, is_checked: bool) -> list[str]:
    reasons = list(
        dict.fromkeys(reason for unit_verdict, reason in verdicts_of_units if unit_verdict == verdict and reason)
    )
    return reasons if is_checked or verdict != "available" else [*reasons, "not checkable"]


def _without_units(game: _Game, operation: str, delay: timedelta | None, clock: datetime) -> tuple[str, str]:
    """Return the verdict on a table without any planned unit for this game."""
    if game.status in _CANCELLATION_STATUSES:
        return "withdrawn", f"the schedule says {game.status}"
    if game.units and all(row["status"] == "withdrawn" for row in game.units):
        return "withdrawn", "no list has it any more"
    end = game.over_at or _assumed_end(game.starts_at)
    is_due = end is not None and clock - end >= max(delay or _FALLBACK_DELAY, MIN_SETTLED_TIME)
    is_entry = operation in ("schedule", "game")
    verdict = verdict_of(State.EXPECTED, Phase.DUE if is_due else Phase.WAITING)
    if not is_due:
        return verdict, _waiting(game, clock)
    if is_entry:
        return verdict, "no list has it"
    has_sessions = bool(game.sessions) or any(row["session_id"] is not None for row in game.units)
    return verdict, "nothing of it is stored: sync again" if has_sessions else "its event lists no session"


def _with_other_times(game: _Game, of_table: Iterable[Row]) -> list[str]:
    """Return the units of positions that were requested for other times than those of their session."""
    return [
        row["unit"]
        for row in of_table
        if row["operation"] == "locations"
        and (row["start"], row["end"]) != game.sessions.get(row["session_id"], (row["start"], row["end"]))
    ]


def _assumed_end(starts_at: datetime | None) -> datetime | None:
    """Return the end of a game that no list has. One at the end of the calendar ends there."""
    if starts_at is None:
        return None
    return starts_at + min(MIN_SETTLED_TIME, datetime.max.replace(tzinfo=UTC) - starts_at)


def _waiting(game: _Game, clock: datetime) -> str:
    if game.starts_at is not None and game.starts_at > clock:
        return f"starts at {game.starts_at:%Y-%m-%d %H:%M} UTC"
    if game.over_at is None or game.over_at > clock - MIN_SETTLED_TIME:
        return "not over as far as known"
    return f"over since {game.over_at:%Y-%m-%d %H:%M} UTC"


def _games(
    units: Sequence[Row], schedule: Iterable[Row], sessions: Iterable[Row], existing_ids: Collection[str]
) -> list[_Game]:
    """Return the games of the schedule and of `coverage`, with their units, sessions and concerns.

    `existing_ids`: the ids of all games and practices of the archive.
    """
    games: dict[str, _Game] = {}
    for row in schedule:
        game = games.setdefault(row["game_id"], _Game(row["game_id"]))
        game.starts_at, game.status = row["tipoff_at"], str(row["status"]).upper()
        game.teams = tuple(team for team in (row["home_team_id"], row["away_team_id"]) if team is not None)
    lists = [row for row in units if is_list(row["unit"])]
    holes = {row["unit"].partition("/")[2]: row for row in units if _is_malformed(row)}
    for row in units:
        if row["game_id"] is None or _is_malformed(row) or is_list(row["unit"]):
            continue
        game = games.setdefault(row["game_id"], _Game(row["game_id"]))
        game.units.append(row)
        if row["operation"] == "game":
            game.over_at = row["over_at"]
            game.starts_at = row["starts_at"] or game.starts_at
            game.teams = tuple(row["teams"] or ()) or game.teams
    for row in sessions:
        if (listing := games.get(row["game_id"])) is not None:
            listing.sessions[row["session_id"]] = (row["started_at"], row["ended_at"])
    for game in games.values():
        if all(row["operation"] != "game" for row in game.units):
            game.over_at = _latest(*(row["over_at"] for row in game.units)) or _assumed_end(game.starts_at)
    # A malformed entry may belong to any game if its id is of no known game or practice.
    new_holes = [row for name, row in holes.items() if name not in existing_ids]
    for game in games.values():
        if (hole := holes.get(game.id)) is not None:
            game.concerns.append(f"its event: {hole['error']}")
        for row in [*lists, *new_holes]:
            if (row["team_id"] is None or row["team_id"] in game.teams or not game.teams) and _holds(row, game):
                game.concerns.append(f"{row['unit']}: {row['error'] or row['status']}")
        if not game.units or all(row["operation"] != "game" for row in game.units):
            continue
        if all(row["status"] == "withdrawn" for row in game.units if row["operation"] == "game"):
            game.concerns.clear()
    return list(games.values())


def _holds(row: Row, game: _Game) -> bool:
    """Return whether the game may be in the range of a list with a hole."""
    if row["start"] is None or row["end"] is None or game.starts_at is None:
        return True
    return bool(row["start"] - MIN_SETTLED_TIME <= game.starts_at <= row["end"] + MIN_SETTLED_TIME)


def _is_malformed(row: Row) -> bool:
    return bool(row["unit"].startswith(_UNREADABLE_PREFIX))


def _violated_rules(violations: Iterable[Row], units: Sequence[Row]) -> dict[tuple[str, str], list[str]]:
    """Return the rules that each game and table violates, except those that only contradict missing rows."""
    holes = {
        (row["game_id"], table)
        for row in units
        if row["status"] not in (*COMPLETE, "withdrawn")
        for table in RESOURCES[row["operation"]].tables
    }
    tables_with_units = {(row["game_id"], table) for row in units for table in RESOURCES[row["operation"]].tables}
    of_games = {table for operation in _JUDGED_OPERATIONS for table in RESOURCES[operation].tables}
    game_of = {row["session_id"]: row["game_id"] for row in units if row["session_id"] is not None}
    rules: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in violations:
        game: Any = row["game_id"] or game_of.get(row["session_id"])
        if any(
            (game, table) in holes or (game, table) not in tables_with_units
            for table in of_games.intersection(row["needs"])
        ):
            continue
        # Without a session, nothing of the game is complete; otherwise all tables of a body are as good as it.
        tables = TABLES if row["rule"] == "games_have_all_sessions" else _with_neighbours(row["tables"])
        for table in tables if game is not None else ():
            if row["rule"] not in rules[game, table]:
                rules[game, table].append(row["rule"])
    return rules


def _with_neighbours(tables: Iterable[str]) -> set[str]:
    """Return the tables, and the others of their bodies."""
    names = set(tables)
    return {table for resource in RESOURCES.values() if names & {*resource.tables} for table in resource.tables}


def _is_checked(operation: str, game: _Game) -> bool:
    """Return whether a rule compared the rows with others that would show a gap.

    Only games that are over are audited.
    """
    fetched = {row["operation"] for row in game.units if row["status"] in COMPLETE}
    is_over = any(row["operation"] == "game" and row["final"] for row in game.units)
    return is_over and {operation, _CHECKED_AGAINST.get(operation)} <= fetched


def _rules() -> Any:
    from .._answers import audit

    return audit.rules()


def _to_arrow(rows: Sequence[Row]) -> "pa.Table":
    when, category = pa.timestamp("ms", "UTC"), pa.dictionary(pa.int32(), pa.string())
    columns = {
        "game_id": pa.string(),
        "table": pa.string(),
        "status": pa.string(),
        "checked": pa.bool_(),
        "reasons": pa.list_(pa.string()),
        "last_changed": pa.timestamp("us", "UTC"),
        "last_listed": pa.timestamp("us", "UTC"),
        "usual_delay_s": pa.float64(),
    }
    target = pa.schema(columns | {"table": category, "status": category, "last_changed": when, "last_listed": when})
    return _read.conform(pa.Table.from_pylist(rows, pa.schema(columns)), target)
