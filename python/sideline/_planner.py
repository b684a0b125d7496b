"""The lists of the service as a plan: the same discovery as an archive's sync, but strict."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sideline._core import _epoch_ms, _ids
from sideline._types import TableName
from sideline.archive import plan as archived
from sideline.archive.discover import Discovery
from sideline.archive.listing import Event
from sideline.batch import many
from sideline.errors import IncompleteError
from sideline.plan import OPTIONS, Plan, PlanUnit, ids, operation_of

if TYPE_CHECKING:
    from datetime import datetime

    from sideline._client import Client
    from sideline._client_base import BaseClient
    from sideline._types import Time

_LOG = logging.getLogger("sideline")

_WINDOW = 30 * 60_000
"""The longest range of locations that the service accepts, in milliseconds."""

_NAMED = 5
"""So many holes are named in an error."""

TeamFilter = Callable[[list[int]], list[int]]
"""Which of some teams are of use."""


class Selection:
    """What a plan is asked for, checked before anything is requested."""

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
                "give one of start= (with end= where it is not now), game_ids= and session_ids=; a plan of some "
                "sessions of a range is client.plan(...).only(session_ids=...)"
            )
        if self.team_ids is not None and not has_range:
            raise ValueError("team_ids go with a range: give start= too")
        if has_range and self.start is None:
            raise ValueError("end goes with start: give start= too")
        if self.session_ids is not None and self.operation in archived.OF_GAME:
            raise ValueError(f"{self.table} is requested by game: give game_ids= or start=")
        if is_ranged and (self.start is None or self.end is None):
            raise ValueError("locations of session_ids take start= and end= too; game_ids= knows the sessions' times")
        if self.start is not None and self.end is not None:
            archived.check_range(self.start, self.end, None)


def make(client: "Client", selection: Selection, keep_teams: TeamFilter | None = None) -> Plan:
    """Request what must be requested. Raises `IncompleteError` where any of the lists did not come, or is not whole."""
    if selection.session_ids is not None:
        units = [PlanUnit(one, None, False, (), None, None) for one in selection.session_ids]
        if selection.operation == "locations":
            span = _milliseconds(selection.start), _milliseconds(selection.end)
            units = [window for unit in units for window in _windows(unit._replace(start=span[0], end=span[1]))]
        return _plan(client, selection, units)
    client._core.check_credentials()
    lists = Discovery(client, None)
    if selection.game_ids is not None:
        lists.read_games(selection.game_ids)
    else:
        _read_range(lists, selection, keep_teams)
    _raise_holes(selection.table, lists)
    return _plan(client, selection, _units(lists.events.values(), selection.operation, lists.clock))


def _read_range(lists: Discovery, selection: Selection, keep_teams: TeamFilter | None) -> None:
    start, end, team_ids = selection.start, selection.end, selection.team_ids
    if end is None:
        end = lists.now_at_service()
        archived.check_range(start, None, end)
    if keep_teams is not None:
        if team_ids is None:
            lists.read_teams()
        team_ids = keep_teams(sorted(lists.teams) if team_ids is None else team_ids)
        if not team_ids:
            return
    lists.read_lists(team_ids, start, end, with_teams=False)
    lists.read_games(archived.unlisted(lists.games.values(), lists.events, lists.clock))
    # A game of the schedule alone that the service says it does not have was not tracked.
    untracked = [game for game in lists.missing_games if game.is_absence]
    for game in untracked:
        lists.missing_games.remove(game)
        _LOG.warning("the plan of %s leaves out game %s: %s", selection.table, game.unit.id, game.error)


def _raise_holes(table: str, lists: Discovery) -> None:
    holes = [outcome for outcome in lists.outcomes if outcome.status not in archived.COMPLETE]
    holes += [*lists.problems, *lists.missing_games]
    if not holes:
        return
    named = "; ".join(f"{hole.unit.name}: {hole.error}" for hole in holes[:_NAMED])
    more = f"; and {len(holes) - _NAMED} more" if len(holes) > _NAMED else ""
    raise IncompleteError(
        f"the plan of {table} would lack sessions, because {len(holes)} of its lists or their entries did not come as "
        f"they should: {named}{more}. Plan again, or give team_ids=, game_ids= or session_ids= that leave them out"
    ) from holes[0].cause


def _units(events: Iterable[Event], operation: str, clock: "datetime") -> list[PlanUnit]:
    units: list[PlanUnit] = []
    problems: list[str] = []
    planned: set[str] = set()
    for event in sorted(events, key=lambda event: (str(event.starts_at or ""), event.id)):
        spans = {session.id: (session.start, session.end) for session in event.sessions}
        for unit in archived.within(event, {operation}, clock):
            if unit.name in planned:
                continue
            planned.add(unit.name)
            if unit.problem is not None:
                problems.append(f"{unit.name}: {unit.problem}")
                continue
            start, end = spans.get(unit.session_id or "", (event.starts_at, event.over_at))
            teams = event.teams if len(event.teams) == (2 if event.is_game else 1) else ()
            span = _milliseconds(start), _milliseconds(end)
            one = PlanUnit(unit.session_id, event.id, event.is_game, teams, *span, unit.is_linked)
            units += _windows(one) if operation == "locations" else [one]
    if problems:
        more = f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        raise IncompleteError(
            f"{len(problems)} sessions cannot be planned: {'; '.join(problems[:_NAMED])}{more}. "
            "Give game_ids= or session_ids= that leave them out"
        )
    return units


def _windows(unit: PlanUnit) -> Iterator[PlanUnit]:
    """Windows that touch: whether the service counts the last millisecond to a range is not documented."""
    assert unit.start is not None
    assert unit.end is not None
    cuts = [*range(unit.start, unit.end, _WINDOW), unit.end]
    for first, last in pairwise(cuts):
        yield unit._replace(start=first, end=last, has_next=last < unit.end)


def _plan(client: "Client", selection: Selection, units: Iterable[PlanUnit]) -> Plan:
    return Plan(selection.table, selection.operation, selection.columns, service_of(client), tuple(units))


def service_of(client: "BaseClient") -> dict[str, Any]:
    """Where a client sends requests, and as whom: resolved here, so that no worker's environment redirects a part."""
    core = client._core
    settings = {name: value for name, value, _ in core.settings()}
    options = {name: value for name, value in client._options.items() if name in OPTIONS and value is not None}
    for name in ("environment", "sport", "base_url", "websocket_url", "broadcast_base_url", "username"):
        if settings.get(name) is not None:
            options[name] = settings[name]
    if "timeout" in options:
        options["timeout"] = list(options["timeout"])
    return options


def _milliseconds(time: "Time | datetime | None") -> int | None:
    return None if time is None else _epoch_ms("time", time)


def _teams(given: object) -> list[int]:
    found = many("team_ids", given)
    teams = _ids("team_ids", [given]) if found is None else found
    if not all(str(team).isascii() and str(team).isdigit() for team in teams):
        raise ValueError(f"team_ids are numbers, not {teams}")
    return list(dict.fromkeys(map(int, teams)))


def _columns(table: str, columns: Sequence[str]) -> tuple[str, ...]:
    from sideline._schemas import SCHEMAS

    if isinstance(columns, str):
        raise TypeError(f"columns is a list of names: write [{columns!r}]")
    found = tuple(columns)
    if unknown := [name for name in found if name not in SCHEMAS[table].names]:
        raise ValueError(f"{table} has no column {unknown[0]!r}; it has {', '.join(SCHEMAS[table].names)}")
    if not found:
        raise ValueError("columns names no column; leave it out for all of them")
    return found
