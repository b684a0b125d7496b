"""The life of a unit: its states, what can be observed of it, and what follows. Pure.

The tables at the end of the page Trust of the documentation are generated from here.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

RESERVED_SEQUENCE = 0
"""The sequence of a new unit until its first body is stored."""


class State(Enum):
    """What is known of a unit. The value is its status in `coverage`, and what tells it from others with that status.

    A hole may have rows of an earlier body ("stored"), or be of a unit that was withdrawn before.
    """

    EXPECTED = "expected"
    FETCHED = "fetched"
    FETCHED_FINAL = "fetched, final"
    EMPTY = "empty"
    EMPTY_FINAL = "empty, final"
    UNAVAILABLE = "unavailable"
    UNAVAILABLE_FINAL = "unavailable, final"
    MISSING = "missing"
    MISSING_STORED = "missing, stored"
    FORBIDDEN = "forbidden"
    FORBIDDEN_STORED = "forbidden, stored"
    FORBIDDEN_WITHDRAWN = "forbidden, withdrawn before"
    FAILED = "failed"
    FAILED_STORED = "failed, stored"
    FAILED_WITHDRAWN = "failed, withdrawn before"
    WITHDRAWN = "withdrawn"

    @property
    def status(self) -> str:
        """The status in `coverage`."""
        return self.value.partition(",")[0]

    @property
    def is_final(self) -> bool:
        """Whether it is not requested again. A withdrawn unit is requested only if it is listed again."""
        return self in _FINAL_STATES.values()

    @property
    def is_hole(self) -> bool:
        """Whether the archive lacks data that it should have."""
        return is_lacking(self.status)

    @property
    def has_rows(self) -> bool:
        """Whether the tables have rows of it, or its body has none."""
        return self.status in COMPLETE or self.value.endswith(", stored")

    @property
    def was_withdrawn(self) -> bool:
        """Whether the last that is stored of it is that it no longer exists."""
        return self.value.endswith(("withdrawn", "withdrawn before"))


class Observation(Enum):
    """What a sync can learn about a unit."""

    LISTING = "listed"
    FIRST_LINK = "linked for the first time"
    LIST_WITHOUT_IT = "not listed by a parent with other entries"
    EMPTY_LIST = "its parent lists nothing"
    PARENT_WITHDRAWN = "its parent is withdrawn"
    BODY = "body"
    BODY_WITHOUT_ROWS = "body without rows"
    ERROR_DOCUMENT = "error document or unreadable body"
    SILENCE = "no response"
    UNREADABLE_PARENT = "one parent lacks it, another cannot be read"
    REFUSAL = "403"
    NOT_FOUND = "404, never linked"
    NOT_FOUND_LINKED = "404, linked"
    NEW_DATE = "new date or game"
    LAST_LOOK = "last look was after the window"


class Phase(Enum):
    """How far a game is, as verdicts see it."""

    OPEN = "not over"
    WAITING = "over, within the usual delay"
    DUE = "later"


COMPLETE = ("fetched", "empty")
"""Statuses of a unit whose data is stored."""

SETTLED_STATUSES = (*COMPLETE, "unavailable", "withdrawn")
"""Statuses of a unit that is not a hole."""

SEVERITY = ("forbidden", "missing", "late", "degraded", "withdrawn", "pending", "provisional", "available")
"""The verdicts, the worst first: a table has the worst of its units. A verdict is not the status of a unit."""

PROBLEMS = frozenset(("forbidden", "missing", "late", "degraded"))
"""Verdicts that need attention."""

_FINAL_STATES: Mapping[State, State] = MappingProxyType(
    {
        State.FETCHED: State.FETCHED_FINAL,
        State.EMPTY: State.EMPTY_FINAL,
        State.UNAVAILABLE: State.UNAVAILABLE_FINAL,
    }
)

_OPEN_STATES: Mapping[State, State] = MappingProxyType({final: state for state, final in _FINAL_STATES.items()})


def is_lacking(status: str) -> bool:
    """Return whether a unit with this status in `coverage` is a hole."""
    return status not in SETTLED_STATUSES


def state_of(row: Mapping[str, Any] | None) -> State:
    """Return the state of a row of `coverage`, as it was at its last request; `None` is a unit without a row."""
    if row is None:
        return State.EXPECTED
    status = row["status"]
    if status in SETTLED_STATUSES:
        return State(status)
    if row["body_id"] is not None or row["sequence"] == RESERVED_SEQUENCE:
        return State(f"{status}, stored")
    # No second sync can miss what no longer exists.
    return State(f"{status}, withdrawn before" if row["sequence"] and status != "missing" else status)


def after(state: State, observation: Observation) -> State:
    """Return the state of a unit after an observation."""
    match observation:
        case Observation.LISTING:
            return state
        case Observation.FIRST_LINK:
            return State.UNAVAILABLE if state is State.UNAVAILABLE_FINAL else state
        case Observation.NEW_DATE:
            return _OPEN_STATES.get(state, state)
        case Observation.LAST_LOOK:
            return _FINAL_STATES.get(state, state)
        case Observation.LIST_WITHOUT_IT | Observation.PARENT_WITHDRAWN:
            return State.WITHDRAWN
        case Observation.BODY:
            return State.FETCHED
        case Observation.BODY_WITHOUT_ROWS:
            return State.EMPTY
        case Observation.ERROR_DOCUMENT | Observation.SILENCE | Observation.UNREADABLE_PARENT:
            return _hole(state, State.FAILED)
        case Observation.REFUSAL:
            return _hole(state, State.FORBIDDEN)
        case Observation.NOT_FOUND | Observation.NOT_FOUND_LINKED | Observation.EMPTY_LIST:
            return _after_absence(state, observation)


def _hole(state: State, hole: State) -> State:
    """Return the hole that keeps what is stored."""
    if state.has_rows:
        return State(f"{hole.value}, stored")
    return State(f"{hole.value}, withdrawn before") if state.was_withdrawn else hole


def _after_absence(state: State, observation: Observation) -> State:
    """Return the state after an absence: the second in a row withdraws what is stored."""
    if state is State.MISSING_STORED or state.was_withdrawn:
        return State.WITHDRAWN
    if state.has_rows:
        return State.MISSING_STORED
    if observation is Observation.NOT_FOUND and state is not State.MISSING:
        return State.UNAVAILABLE
    return State.MISSING


def verdict(state: State, phase: Phase) -> str:
    """Return the verdict on a unit of a game. Rules of the tables may make it worse."""
    match state:
        case State.WITHDRAWN:
            return "withdrawn"
        case State.FORBIDDEN | State.FORBIDDEN_STORED | State.FORBIDDEN_WITHDRAWN:
            return "forbidden"
        case State.MISSING_STORED | State.FAILED_STORED:
            return "degraded"
        case State.FAILED | State.FAILED_WITHDRAWN:
            return "missing"
        case State.MISSING:
            return "missing" if phase is Phase.DUE else "pending"
        case State.EXPECTED | State.UNAVAILABLE | State.UNAVAILABLE_FINAL:
            return "late" if phase is Phase.DUE else "pending"
        case State.FETCHED | State.EMPTY:
            return "pending" if phase is Phase.OPEN else "provisional"
        case State.FETCHED_FINAL | State.EMPTY_FINAL:
            return "pending" if phase is Phase.OPEN else "available"
