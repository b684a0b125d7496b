"""Plans: reads that are planned once, split into parts, and read by any process.

    plan.py          Plan, Part and their units, and their serialisation: pure
    planner.py       makes a plan from the lists of the service
    parts.py         requests and decodes the units of a part
    lazy_frame.py    a plan as a polars LazyFrame
    spark_source.py  the data source of Spark

The examples run against the simulator. They assume `client`, `team_id`, `game_id` and `session_id`.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from .._client import TableName, check_count, expected_bytes, planned_units, several, table_from_arrow
from .._core import Schema, Table
from .._lazy import LazyModule, pa
from .._rows import count_text

if TYPE_CHECKING:
    import pyarrow

    from .. import _client
else:
    _client = LazyModule("sideline._client")
    pyarrow = LazyModule("pyarrow")

_VERSION = 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

OPTIONS = frozenset(
    (
        "username",
        "environment",
        "sport",
        "base_url",
        "websocket_url",
        "broadcast_base_url",
        "timeout",
        "max_retries",
        "max_concurrency",
        "requests_per_second",
        "proxy",
        "ca_bundle",
        "user_agent",
        "allow_http",
        "strict",
        "max_response_bytes",
        "max_memory",
    )
)
"""Options of a client that a plan carries. None of them is secret."""


class PlanUnit(NamedTuple):
    """One planned request: a session, one window of a session's locations, or a game."""

    session_id: str | None
    """`None` for a request by game."""
    event_id: str | None
    """The game or practice; `None` if only the session is known."""
    is_game: bool
    team_ids: tuple[int, ...]
    """The teams that play; empty if unknown."""
    start: int | None
    """The start of the session, window or game, in epoch milliseconds."""
    end: int | None
    is_linked: bool = True
    """Whether its event links to it: a resource that was never linked may not exist."""
    has_next: bool = False
    """Whether another window of the session follows."""

    @property
    def game_id(self) -> str | None:
        """The game; `None` for a practice."""
        return self.event_id if self.is_game else None

    @property
    def id(self) -> str:
        """The requested id."""
        return self.session_id or self.event_id or ""

    @property
    def name(self) -> str:
        """The name in error messages."""
        of_game = f" of game {self.game_id}" if self.session_id and self.game_id else ""
        return f"session {self.session_id}{of_game}" if self.session_id else f"game {self.event_id}"


class Estimate(NamedTuple):
    """What reading a plan costs; see `Plan.estimate`."""

    requests: int
    """Number of requests, without retries."""
    bytes: int
    """Bytes of the bodies before compression."""
    seconds: float | None
    """Time at the client's rate; `None` without `requests_per_second`."""
    source: Literal["declared"] = "declared"
    """Where the sizes of bodies are from."""

    def __str__(self) -> str:
        if self.seconds is None:
            time_needed = "no time is known without requests_per_second"
        else:
            minutes, seconds = divmod(round(self.seconds), 60)
            time_needed = f"at least {minutes}:{seconds:02}"
        return f"{self.requests:,} requests, about {self.bytes / 1e6:,.1f} MB, {time_needed}"


@dataclass(frozen=True)
class Plan:
    """All requests that a table needs, by session or game, planned before the first of them is sent.

    A client's `plan` returns it. It has the resolved addresses, environment, sport and username, but no secret: each
    reader signs with the `SIDELINE_SECRET` of its own environment.

    >>> plan = client.plan("stat_events", start="2026-10-20", end="2026-10-27")
    >>> plan.units.num_rows == len(plan)
    True
    >>> [len(part) for part in plan.only(session_ids=[session_id]).split(8)]
    [1]
    """

    table: TableName
    """The name of the table."""
    operation: str
    """The operation of the requests."""
    columns: tuple[str, ...] | None
    """The columns to read; `None`: all."""
    service: Mapping[str, Any] = field(repr=False)
    """Options of the client that reads the plan."""
    _units: tuple[PlanUnit, ...] = field(repr=False)

    @property
    def schema(self) -> Schema:
        """The schema of the rows, known without a request.

        >>> client.plan("shots", session_ids=[session_id], columns=["session_id", "points"]).schema.names
        ['session_id', 'points']
        """
        return schema(self.table, self.columns, self.service.get("sport") or "basketball")

    @property
    def units(self) -> Table:
        """A row for each unit: `operation`, `session_id`, `game_id`, `event_id`, `team_ids`, `start`, `end`, `linked`.

        `start` and `end` are those of the session, window or game. Requires pyarrow.

        >>> client.plan("shots", session_ids=[session_id]).units.to_dicts()[0]["session_id"] == session_id
        True
        """
        when = pa.timestamp("ms", "UTC")
        columns = {
            "operation": ([self.operation] * len(self), pa.string()),
            "session_id": ([unit.session_id for unit in self._units], pa.string()),
            "game_id": ([unit.game_id for unit in self._units], pa.string()),
            "event_id": ([unit.event_id for unit in self._units], pa.string()),
            "team_ids": ([list(unit.team_ids) for unit in self._units], pa.list_(pa.int64())),
            "start": ([unit.start for unit in self._units], when),
            "end": ([unit.end for unit in self._units], when),
            "linked": ([unit.is_linked for unit in self._units], pa.bool_()),
        }
        arrays = {name: pa.array(values, kind) for name, (values, kind) in columns.items()}
        return table_from_arrow("units", pa.table(arrays))

    def estimate(self) -> Estimate:
        """Return what reading the plan costs, before any body is requested.

        The bytes are those of average bodies of a simulated season (`source` is "declared"): a body of the service may
        have several times as many, or few. The seconds are at the `requests_per_second` of the client that planned;
        without that option they are `None`.

        >>> cost = client.plan("shots", game_ids=[game_id]).estimate()
        >>> cost.requests, cost.seconds
        (2, None)
        >>> print(cost)
        2 requests, about 0.1 MB, no time is known without requests_per_second
        """
        rate = self.service.get("requests_per_second")
        sizes = (expected_bytes(self.operation, unit.start, unit.end) for unit in self._units)
        return Estimate(len(self), round(sum(sizes)), None if rate is None else len(self) / rate)

    def split(self, parts: int, *, tasks: int | None = None) -> "list[Part]":
        """Split into at most `parts` parts of neighbouring sessions, with about as many units each.

        `tasks` is the number of parts that are read at once, each in a process of its own; default: all of them. It
        divides `requests_per_second`, so that together they keep the rate of the planning client. A plan without units
        has no parts.

        Raises `ValueError` for less than one part or task.

        >>> plan = client.plan("shots", game_ids=[game_id])
        >>> sum(len(part) for part in plan.split(3)) == len(plan)
        True
        """
        for name, value in (("parts", parts), ("tasks", 1 if tasks is None else tasks)):
            check_count(name, value)
        count = min(parts, len(self))
        if not count:
            return []
        at_once = count if tasks is None else min(count, tasks)
        rate = self.service.get("requests_per_second")
        service = self.service if rate is None else {**self.service, "requests_per_second": rate / at_once}
        cuts = [number * len(self) // count for number in range(count + 1)]
        return [
            Part(number, replace(self, service=service, _units=self._units[first:last]))
            for number, (first, last) in enumerate(pairwise(cuts))
        ]

    def only(
        self,
        *,
        session_ids: Iterable[Any] | str | None = None,
        game_ids: Iterable[Any] | str | None = None,
    ) -> Self:
        """Return the plan restricted to some sessions or games. An id that is not in the plan adds nothing.

        >>> plan = client.plan("shots", game_ids=[game_id])
        >>> len(plan.only(session_ids=session_id)), len(plan.only(game_ids=["another"]))
        (1, 0)
        """
        units = self._units
        if session_ids is not None:
            sessions = set(ids("session_ids", session_ids))
            units = tuple(unit for unit in units if unit.session_id in sessions)
        if game_ids is not None:
            games = set(ids("game_ids", game_ids))
            units = tuple(unit for unit in units if unit.game_id in games)
        return replace(self, _units=units)

    def to_json(self) -> str:
        """Return the plan as text, for a file or another machine. It contains no secret.

        >>> from sideline import Plan
        >>> plan = client.plan("shots", session_ids=[session_id])
        >>> Plan.from_json(plan.to_json()) == plan
        True
        """
        events: dict[tuple[Any, ...], int] = {}
        units = []
        for unit in self._units:
            event = None
            if unit.event_id is not None:
                event = events.setdefault((unit.event_id, unit.is_game, unit.team_ids), len(events))
            units.append([unit.session_id, event, unit.start, unit.end, unit.is_linked, unit.has_next])
        document = {
            "version": _VERSION,
            "table": self.table,
            "operation": self.operation,
            "columns": self.columns,
            "service": dict(self.service),
            "events": list(events),
            "units": units,
        }
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a plan that `to_json` wrote. Raises `ValueError` for any other text."""
        try:
            content = json.loads(text)
            version = content["version"]
            if version != _VERSION:
                raise ValueError(f"its version is {version!r}, but this sideline reads version {_VERSION}: plan again")
            if unknown_options := sorted(set(content["service"]) - OPTIONS):
                raise ValueError(f"its service has the unknown option {unknown_options[0]!r}")
            unknown_event: tuple[str | None, bool, tuple[int, ...]] = (None, False, ())
            events = [(event, bool(is_game), tuple(teams)) for event, is_game, teams in content["events"]]
            units = tuple(
                PlanUnit(session, *(unknown_event if event is None else events[event]), *rest)
                for session, event, *rest in content["units"]
            )
            columns = content["columns"]
            operation = operation_of(content["table"])
            if operation != content["operation"]:
                raise ValueError(f"{content['table']} is a table of {operation}, not of {content['operation']}")
            return cls(content["table"], operation, columns and tuple(columns), content["service"], units)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"the text is not a sideline plan: {error}. Write it with plan.to_json()") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled_plan, (zlib.compress(self.to_json().encode()),)

    def __len__(self) -> int:
        return len(self._units)

    def __bool__(self) -> bool:
        return True

    def __hash__(self) -> int:
        return hash((self.table, self._units))

    def __repr__(self) -> str:
        return f"<sideline.Plan {describe(self)}>"


class Part:
    """Some units of a plan that any process can read. It pickles small, without a secret or a socket.

    Its methods take a `Client` to read with. Without one, a client is created from the plan's addresses and
    `SIDELINE_SECRET`; parts of the same service share it within a process.

    >>> part = client.plan("shots", game_ids=[game_id]).split(1)[0]
    >>> part
    <sideline.Part 0: shots, 2 units of 1 game, 2026-10-23 to 2026-10-23>
    >>> part.read(client).to_arrow().equals(client.shots(client.game(game_id)).to_arrow())
    True
    """

    def __init__(self, number: int, plan: Plan) -> None:
        self.number = number
        """The position of the part in the plan."""
        self.plan = plan
        """The plan of the part's units."""

    @property
    def table(self) -> TableName:
        """The name of the table."""
        return self.plan.table

    def read(self, client: "_client.Client | None" = None) -> Table:
        """Return all rows of the part as a `Table`, in the plan's order.

        Raises `IncompleteError` if a unit is missing: it never returns fewer rows.

        >>> plan = client.plan("stat_events", game_ids=[game_id])
        >>> sum(part.read(client).num_rows for part in plan.split(2)) == plan.split(1)[0].read(client).num_rows
        True
        """
        from .parts import read

        return read(self.plan, client)

    def batches(self, client: "_client.Client | None" = None) -> "Iterator[pyarrow.RecordBatch]":
        """Yield the rows of the part as `pyarrow.RecordBatch`es, each once it is available, in the plan's order.

        Raises `IncompleteError` at the first missing unit, and `ValueError` for `box_score`, whose columns depend on
        the data: read `player_stats`.

        >>> part = client.plan("shots", game_ids=[game_id]).split(1)[0]
        >>> sum(batch.num_rows for batch in part.batches(client)) == part.read(client).num_rows
        True
        """
        from .parts import batches

        return batches(self.plan, client)

    def bodies(self, client: "_client.Client | None" = None) -> Table:
        """Return a row for each unit: the columns of `coverage`, `has_next` and the response's `body`.

        A missing unit is a row with its status and error. `has_next` is true for a window of locations whose rows from
        `end` on belong to the next window. Requires pyarrow.

        >>> bodies = client.plan("shots", session_ids=[session_id, "none"]).split(1)[0].bodies(client)
        >>> [row["status"] for row in bodies.to_dicts()]
        ['fetched', 'missing']
        """
        from .parts import bodies

        return bodies(self.plan, client)

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, (self.number, self.plan)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and (self.number, self.plan) == (other.number, other.plan)

    def __hash__(self) -> int:
        return hash((self.number, self.plan))

    def __len__(self) -> int:
        return len(self.plan)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<sideline.Part {self.number}: {describe(self.plan)}>"


def _unpickled_plan(compressed_text: bytes) -> Plan:
    return Plan.from_json(zlib.decompress(compressed_text).decode())


def describe(plan: Plan) -> str:
    """Describe a plan in one line."""
    games = len({unit.event_id for unit in planned_units(plan) if unit.is_game})
    practices = len({unit.event_id for unit in planned_units(plan) if unit.event_id and not unit.is_game})
    starts = [unit.start for unit in planned_units(plan) if unit.start is not None]
    ends = [unit.end for unit in planned_units(plan) if unit.end is not None]
    events = " and ".join(
        count_text(count, name) for count, name in ((games, "game"), (practices, "practice")) if count
    )
    span = f", {_day(min(starts))} to {_day(max(ends))}" if starts and ends else ""
    return f"{plan.table}, {count_text(len(plan), 'unit')}{f' of {events}' if events else ''}{span}"


def _day(milliseconds: int) -> str:
    try:
        return f"{_EPOCH + timedelta(milliseconds=milliseconds):%Y-%m-%d}"
    except OverflowError:
        return "?"


def operation_of(table: str) -> str:
    """Return the operation whose responses have the table. Raises `ValueError` for a table that no plan reads."""
    from ..archive import GAME_OPERATIONS, RESOURCES, SESSION_OPERATIONS

    table_operations = {
        name: operation for operation in (*SESSION_OPERATIONS, *GAME_OPERATIONS) for name in RESOURCES[operation].tables
    }
    if table in [*table_operations]:
        return table_operations[table]
    instead = {
        "teams": "client.teams()",
        **dict.fromkeys(("players", "special_services", "team"), "client.roster(team_ids)"),
        "games": "client.schedule(start, end)",
        **dict.fromkeys(("events", "sessions", "location_windows"), "client.team_events(team_ids, start, end)"),
    }
    if table in [*instead]:
        raise ValueError(f"{table} is not a table of sessions or games: {instead[table]}.table({table!r}) has it")
    from .._rows import did_you_mean

    hint = did_you_mean(table, table_operations)
    raise ValueError(f"no plan reads a table {table!r}; there are {', '.join(table_operations)}{hint}")


def schema(table: str, columns: Sequence[str] | None, sport: Any = "basketball") -> Schema:
    """Return the schema of a table, or of some of its columns in their order."""
    from .._rows import SCHEMAS

    table_schema = SCHEMAS.of_sport(sport)[table]
    if columns is None:
        return table_schema
    arrow = table_schema.to_arrow()
    selection = pa.schema([arrow.field(name) for name in columns], arrow.metadata)
    return table_from_arrow(table, selection.empty_table()).schema


def ids(name: str, values: object) -> list[str]:
    """Return one id or many as the text that tables have, without duplicates."""
    resolved_ids = several(name, values)
    texts = list(dict.fromkeys(map(str, [values] if resolved_ids is None else resolved_ids)))
    if not all(map(str.strip, texts)):
        raise ValueError(f"{name} has an empty id: write the id")
    return texts
