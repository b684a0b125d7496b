"""`sideline.audit`: reads its arguments, checks the rules whose tables were passed, and reports violations."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from ..._lazy import pl
from ..._rows import SCHEMAS, did_you_mean, has_tables, is_number, tables_of
from ..frames import check_zone
from ..kinds import Source
from .catalogue import CHECKS, Rule
from .positions import THRESHOLDS
from .tables import COLUMNS, Tables
from .violations import RuleRun, Violations, table_of


class Audit:
    """Checks whether the tables of the same sessions agree with each other: `sideline.audit(...)`.

    `sideline.audit.rules()` lists the rules.

    >>> sideline.audit(player_stats=client.stats(session_id), stat_events=client.stats_details(session_id)).num_rows
    0
    >>> len(sideline.audit.rules())
    34
    """

    def __call__(
        self,
        *,
        player_stats: Source | None = None,
        stat_events: Source | None = None,
        possessions: Source | None = None,
        shots: Source | None = None,
        play_by_play: Source | None = None,
        sessions: Source | None = None,
        players: Source | None = None,
        coverage: Source | None = None,
        locations: Source | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> Violations:
        """Return the table `violations`: one row for each place where a rule does not hold.

        Each argument is a payload, a batch, a `Table`, a polars frame (also lazy), any other Arrow table, or a list of
        them. Several sessions are audited at once, each by itself. A rule runs if its tables were passed; `rules`
        of the result says which rules ran, on which tables, and which tables the others lack. The arguments are assumed
        to be complete: a session that one of two tables lacks is itself a violation.

        Parameters:
            player_stats: box scores: `client.stats`, or a table `player_stats` or `box_score`.
            stat_events: `client.stats_details`, or a table `stat_events`.
            possessions: `client.possessions`, or its tables `possessions` and `possession_events` in a list.
            shots: `client.shots` or `client.game_shots`, or a table `shots`.
            play_by_play: `client.play_by_play`, or a table `play_by_play`.
            sessions: `client.game` or `client.team_events`, or its tables `events`, `sessions` and
                `location_windows` in a list.
            players: `client.roster(team_id, game_id=...)` of each game and team, or a table `players`, and
                `team` beside it, which has the sport.
            coverage: `batch.coverage`, or the table `coverage` of an archive.
            locations: `client.locations`, or a table `locations`: its rules compare shots with positions.
            thresholds: other limits by rule, for the rules of positions: metres, and the number of teleports.

        Requires polars. Raises `ValueError` for a table that lacks columns, for a threshold of a rule that has none, or
        if one table is of games and the other of sessions. If the service has corrected stats and details but not yet
        possessions and shots, the audit reports the difference.

        >>> violations = sideline.audit(
        ...     player_stats=client.stats(session_id),
        ...     stat_events=client.stats_details(session_id),
        ...     possessions=client.possessions(session_id),
        ...     shots=client.shots(session_id),
        ...     sessions=client.game(game_id),
        ... )
        >>> violations.num_rows, sum(run.is_run for run in violations.rules)
        (0, 27)
        """
        arguments = {
            "player_stats": player_stats,
            "stat_events": stat_events,
            "possessions": possessions,
            "shots": shots,
            "play_by_play": play_by_play,
            "sessions": sessions,
            "players": players,
            "coverage": coverage,
            "locations": locations,
        }
        sources = {name: source for name, source in arguments.items() if source is not None}
        frames: dict[str, pl.DataFrame] = {}
        for argument, source in sources.items():
            read = _rosters(source) if argument == "players" else tables_of(argument, source, COLUMNS[argument])
            _check_zones(argument, read)
            frames |= read
        if not frames:
            raise ValueError(f"nothing to audit: pass at least one of {', '.join(arguments)}")
        served_at = max(filter(None, map(_served_at, _items(sources.values()))), default=None)
        is_one_session = _is_one_session(sources, frames)
        return check_rules(frames, served_at=served_at, is_one_session=is_one_session, thresholds=thresholds)

    def rules(self) -> list[Rule]:
        """Return the rules: name, meaning, tables, and tolerance with its unit.

        >>> {rule.unit for rule in sideline.audit.rules() if rule.rule == "events_inside_possession"}
        {'s'}
        """
        return list(CHECKS)

    def __repr__(self) -> str:
        return f"<sideline.audit: {len(CHECKS)} rules>"


audit: Audit = Audit()
"""`sideline.audit(...)` and `sideline.audit.rules()`; see `Audit`."""


def check_rules(
    frames: "Mapping[str, pl.DataFrame]",
    *,
    served_at: datetime | None = None,
    is_one_session: bool = False,
    rules: Collection[str] | None = None,
    thresholds: Mapping[str, float] | None = None,
) -> Violations:
    """Return the violations of complete tables; `rules` names the rules to check, by default all."""
    tables = Tables(
        frames, served_at=served_at, is_one_session=is_one_session, thresholds=_checked_thresholds(thresholds or {})
    )
    violations: list[dict[str, Any]] = []
    runs = []
    for rule, check in CHECKS.items():
        if rules is not None and rule.rule not in rules:
            continue
        names = [name for name in (*rule.tables, *rule.any_of) if _key(name) in tables]
        missing = [name for name in rule.tables if _key(name) not in tables]
        if rule.any_of and not any(_key(name) in tables for name in rule.any_of):
            missing.append(" or ".join(rule.any_of))
        rows = [] if missing else [{"rule": rule.rule, **row} for row in check(tables)]
        count = 0 if missing else sum(tables[_key(name)].height for name in names)
        runs.append(RuleRun(rule.rule, not missing, tuple(names), tuple(missing), count, len(rows)))
        violations += rows
    return Violations(table_of(violations), runs)


def _check_zones(argument: str, frames: "Mapping[str, pl.DataFrame]") -> None:
    """Raise `ValueError` for times of the service without a zone, which no other times can be compared with."""
    for table, frame in frames.items():
        for name in SCHEMAS[table].names:
            check_zone(argument, name, frame.schema.get(name))


def _checked_thresholds(thresholds: Mapping[str, float]) -> Mapping[str, float]:
    """Return the threshold of each rule that has one; raises for another rule, and for a value that is no limit."""
    for rule, value in thresholds.items():
        if rule not in THRESHOLDS:
            hint = did_you_mean(rule, THRESHOLDS)
            raise ValueError(f"thresholds has {rule!r}; it must be one of {', '.join(THRESHOLDS)}{hint}")
        if not (is_number(value) and 0 <= value < float("inf")):
            raise ValueError(f"the threshold of {rule} is {value!r}; it must be a number of at least 0")
    return {**THRESHOLDS, **thresholds}


def _key(name: str) -> str:
    return "stats" if name == "player_stats" else name


def _items(sources: Iterable[object]) -> Iterable[object]:
    for source in sources:
        if isinstance(source, list | tuple):
            yield from _items(source)
        else:
            yield source


def _served_at(source: object) -> datetime | None:
    """Return when the service sent a response, by its own clock, or `None` for anything else."""
    headers = getattr(source, "headers", None)
    date = headers.get("date") if isinstance(headers, Mapping) else None
    try:
        return parsedate_to_datetime(date) if date else None
    except ValueError:
        return None


def _is_one_session(sources: Mapping[str, object], frames: "Mapping[str, pl.DataFrame]") -> bool:
    """Return whether single responses or tables of one session were passed, not a list or batch of responses."""
    for argument in ("player_stats", "stat_events", "possessions", "shots"):
        source = sources.get(argument)
        if isinstance(source, list | tuple) and any(map(has_tables, source)):
            return False
    names = {"player_stats", "box_score", "stat_events", "possessions", "shots"} & frames.keys()
    ids = {
        session_id
        for name in names
        if "session_id" in frames[name].columns
        for session_id in frames[name]["session_id"].unique()
    }
    return len(ids) <= 1


def _rosters(source: object) -> "dict[str, pl.DataFrame]":
    """Return rosters, with `listed_from` for those requested without a game, which lack players who left before."""
    if not isinstance(source, list | tuple):
        source = [source]
    if not source:
        raise ValueError("players is an empty list")
    read: dict[str, list[pl.DataFrame]] = {}
    for roster in _items(source):
        frames = tables_of("players", roster, COLUMNS["players"])
        url = getattr(roster, "url", None)
        if "players" in frames and isinstance(url, str) and "game_event_id=" not in url:
            since = _served_at(roster) or getattr(roster, "fetched_at", None)
            frames["players"] = frames["players"].with_columns(listed_from=pl.lit(since, pl.Datetime("ms", "UTC")))
        for name, frame in frames.items():
            read.setdefault(name, []).append(frame)
    return {name: pl.concat(parts, how="diagonal_relaxed") for name, parts in read.items()}
