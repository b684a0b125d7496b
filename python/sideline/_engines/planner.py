"""Makes a plan from the service's lists, with the same discovery as a sync of an archive, but strict."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .._client import TableName, check_range, core_of, options_of, several
from .._core import _epoch_ms, _ids, _logger
from ..archive import COMPLETE, GAME_OPERATIONS, Discovery, Event, team_numbers, units_within, unlisted_games
from ..errors import IncompleteError
from .plan import OPTIONS, Plan, PlanUnit, ids, operation_of

if TYPE_CHECKING:
    from datetime import datetime

    from .._client import BaseClient, Client, Duration, Time, Timeout

_MAX_WINDOW_MS = 30 * 60_000
"""The longest range of locations that the service accepts, in milliseconds."""

_MAX_NAMED = 5
"""Number of holes named in an error."""


class Selection:
    """The arguments of a plan, checked before any request."""

    def __init__(
        self,
        table: TableName,
        *,
        team_ids: Any = None,
        game_ids: Any = None,
        session_ids: Any = None,
        start: "Time | None" = None,
        end: "Time | None" = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.table, self.operation = table, operation_of(table)
        self.columns = None if columns is None else _columns(table, columns)
        self.team_ids = None if team_ids is None else _teams(team_ids)
        self.game_ids = None if game_ids is None else ids("game_ids", game_ids)
        self.session_ids = None if session_ids is None else ids("session_ids", session_ids)
        self.start, self.end = start, end
        self._check()

    def _check(self) -> None:
        has_range = self.start is not None or self.end is not None
        is_ranged = self.operation == "locations" and self.session_ids is not None
        ways = [self.game_ids is not None, self.session_ids is not None, has_range and not is_ranged]
        if sum(ways) != 1:
            raise ValueError(
                "give one of start= (and end= unless it is now), game_ids= and session_ids=; for some sessions of "
                "a range use client.plan(...).only(session_ids=...)"
            )
        if self.team_ids is not None and not has_range:
            raise ValueError("team_ids need a range: pass start= too")
        if has_range and self.start is None:
            raise ValueError("end needs a start: pass start= too")
        if self.session_ids is not None and self.operation in GAME_OPERATIONS:
            raise ValueError(f"{self.table} is requested by game: pass game_ids= or start=")
        if is_ranged and (self.start is None or self.end is None):
            raise ValueError("locations of session_ids need start= and end=; with game_ids= the times are known")
        if self.start is not None and self.end is not None:
            check_range(self.start, self.end, None)


def make_plan(client: "Client", selection: Selection, timeout: "Timeout | Duration | None" = None) -> Plan:
    """Request the lists and make the plan. Raises `IncompleteError` if a list is missing or incomplete."""
    if selection.columns is not None:
        _columns(selection.table, selection.columns, core_of(client).sport)
    if selection.session_ids is not None:
        units = [PlanUnit(session_id, None, False, (), None, None) for session_id in selection.session_ids]
        if selection.operation == "locations":
            span = _milliseconds(selection.start), _milliseconds(selection.end)
            units = [window for unit in units for window in _windows(unit._replace(start=span[0], end=span[1]))]
        return _plan_of(client, selection, units)
    core_of(client).check_credentials()
    lists = Discovery(client, None, timeout=timeout)
    if selection.game_ids is not None:
        lists.read_games(selection.game_ids)
    else:
        _read_range(lists, selection)
    _raise_holes(client, selection.table, lists)
    return _plan_of(client, selection, _units(lists.events.values(), selection.operation, lists.clock))


def _read_range(lists: Discovery, selection: Selection) -> None:
    start, end = selection.start, selection.end
    if end is None:
        end = lists.service_time()
        check_range(start, None, end)
    lists.read_lists(selection.team_ids, start, end, with_teams=False)
    lists.read_games(unlisted_games(lists.games.values(), lists.events, lists.clock))
    # A game in the schedule that responds with 404 was not tracked.
    untracked_games = [game for game in lists.missing_games if game.is_absence]
    for game in untracked_games:
        lists.missing_games.remove(game)
        _logger().warning("the plan of %s leaves out game %s: %s", selection.table, game.unit.id, game.error)


def _raise_holes(client: "Client", table: str, lists: Discovery) -> None:
    holes = [outcome for outcome in lists.outcomes if outcome.status not in COMPLETE]
    holes += [*lists.problems, *lists.missing_games]
    if not holes:
        return
    core = core_of(client)
    shown_holes = "; ".join(f"{core.mask_id(hole.unit.name)}: {hole.error}" for hole in holes[:_MAX_NAMED])
    more = f"; and {len(holes) - _MAX_NAMED} more" if len(holes) > _MAX_NAMED else ""
    raise IncompleteError(
        f"the plan of {table} would lack sessions, because {len(holes)} lists or entries could not be read: "
        f"{shown_holes}{more}. Plan again, or pass team_ids=, game_ids= or session_ids= without them"
    ) from holes[0].cause


def _units(events: Iterable[Event], operation: str, clock: "datetime") -> list[PlanUnit]:
    units: list[PlanUnit] = []
    problems: list[str] = []
    planned_ids: set[str] = set()
    for event in sorted(events, key=lambda event: (str(event.starts_at or ""), event.id)):
        spans = {session.id: (session.start, session.end) for session in event.sessions}
        for unit in units_within(event, {operation}, clock):
            if unit.name in planned_ids:
                continue
            planned_ids.add(unit.name)
            if unit.problem is not None:
                problems.append(f"{unit.name}: {unit.problem}")
                continue
            start, end = spans.get(unit.session_id or "", (event.starts_at, event.over_at))
            teams = event.teams if len(event.teams) == (2 if event.is_game else 1) else ()
            span = _milliseconds(start), _milliseconds(end)
            plan_unit = PlanUnit(unit.session_id, event.id, event.is_game, teams, *span, unit.is_linked)
            units += _windows(plan_unit) if operation == "locations" else [plan_unit]
    if problems:
        more = f"; and {len(problems) - _MAX_NAMED} more" if len(problems) > _MAX_NAMED else ""
        raise IncompleteError(
            f"{len(problems)} sessions cannot be planned: {'; '.join(problems[:_MAX_NAMED])}{more}. "
            "Pass game_ids= or session_ids= without them"
        )
    return units


def _windows(unit: PlanUnit) -> Iterator[PlanUnit]:
    """Split into adjacent windows: whether a range includes its last millisecond is not documented."""
    assert unit.start is not None
    assert unit.end is not None
    cuts = [*range(unit.start, unit.end, _MAX_WINDOW_MS), unit.end]
    for first, last in pairwise(cuts):
        yield unit._replace(start=first, end=last, has_next=last < unit.end)


def _plan_of(client: "Client", selection: Selection, units: Iterable[PlanUnit]) -> Plan:
    return Plan(selection.table, selection.operation, selection.columns, service_options(client), tuple(units))


def service_options(client: "BaseClient") -> dict[str, Any]:
    """Return a client's addresses and username, resolved, so that no worker's environment redirects a part."""
    core = core_of(client)
    settings = {name: value for name, value, _ in core.settings()}
    options = {name: value for name, value in options_of(client).items() if name in OPTIONS and value is not None}
    for name in ("environment", "sport", "base_url", "websocket_url", "broadcast_base_url", "username"):
        if settings.get(name) is not None:
            options[name] = settings[name]
    if "timeout" in options:
        options["timeout"] = list(options["timeout"])
    return options


def _milliseconds(time: "Time | datetime | None") -> int | None:
    return None if time is None else _epoch_ms("time", time)


def _teams(values: object) -> list[int]:
    resolved_ids = several("team_ids", values)
    return team_numbers(_ids("team_ids", [values]) if resolved_ids is None else resolved_ids)


def _columns(table: str, columns: Sequence[str], sport: Any = "basketball") -> tuple[str, ...]:
    from .._rows import SCHEMAS, did_you_mean

    selection = (columns,) if isinstance(columns, str) else tuple(columns)
    names = SCHEMAS.of_sport(sport)[table].names
    if unknown_names := [name for name in selection if name not in names]:
        hint = did_you_mean(unknown_names[0], names)
        raise ValueError(f"{table} has no column {unknown_names[0]!r}; it has {', '.join(names)}{hint}")
    if not selection:
        raise ValueError("columns names no column; leave it out for all of them")
    if duplicate_names := [name for name in selection if selection.count(name) > 1]:
        raise ValueError(f'columns has "{duplicate_names[0]}" twice: write each name once')
    return selection
