"""Columns of whatever holds rows, as arrays."""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from typing import Any, Protocol, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow

from sideline._core import Payload
from sideline._text import visible

Numbers = npt.NDArray[np.float64]


class ArrowStream(Protocol):
    """What speaks the Arrow C interface: a `Table`, a frame of polars, pandas or Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Rows = Payload | ArrowStream | Mapping[str, Sequence[Any]] | Sequence[Payload | ArrowStream]
Names = Mapping[int, str]

_ID = re.compile(r"-?[0-9]{1,18}")


class Columns:
    """The columns of a table by name; a column that is not there and not needed is all null."""

    def __init__(self, rows: Rows, table: str, needed: Sequence[str]) -> None:
        parts = list(rows) if isinstance(rows, (list, tuple)) else [rows]
        self._parts = [_arrow(part, table) for part in parts]
        self._chosen: list[npt.NDArray[np.bool_]] | None = None
        # The body of shots has the teams' names, the table has not.
        self._bodies = [part for part in parts if isinstance(part, Payload)] if table == "shots" else []
        for part in self._parts:
            missing = [name for name in needed if name not in part.column_names]
            if missing:
                there = ", ".join(part.column_names) or "none"
                raise ValueError(f"{table} without the column {', '.join(missing)}; there are: {there}")

    def only(self, rows: npt.NDArray[np.bool_]) -> Self:
        """Some of the rows of all. What lies before and after them is not read: texts are slow to read."""
        some = copy(self)
        some._parts, some._chosen = [], []
        for part, mask in zip(self._parts, np.split(rows, np.cumsum(list(map(len, self._parts)))[:-1]), strict=True):
            found = np.flatnonzero(mask)
            start, end = (int(found[0]), int(found[-1]) + 1) if len(found) else (0, 0)
            some._parts.append(part.slice(start, end - start))
            some._chosen.append(mask[start:end])
        return some

    def numbers(self, name: str) -> Numbers:
        """A column of numbers, truths (1 and 0) or times (epoch milliseconds); null is NaN."""
        return self._gathered(name, _numbers, np.nan, np.float64)

    def texts(self, name: str) -> npt.NDArray[np.object_]:
        """A column as it is, null as `None`."""
        return self._gathered(name, _objects, None, np.object_)

    def _gathered(self, name: str, read: Any, null: object, dtype: Any) -> npt.NDArray[Any]:
        found = [
            read(name, part.column(name)) if name in part.column_names else np.full(len(part), null, dtype=dtype)
            for part in self._parts
        ]
        if self._chosen is not None:
            found = [column[chosen] for column, chosen in zip(found, self._chosen, strict=True)]
        return np.concatenate(found) if found else np.empty(0, dtype=dtype)

    def team_names(self, given: Names | None) -> dict[int, str]:
        """Names by team id: those given, else of the rows, else of the body they came in."""
        found: dict[int, str] = {}
        for body in self._bodies:
            content = body.to_dict()
            teams = content.get("teams") if isinstance(content, dict) else None
            found |= _names(teams)
        if any("team_name" in part.column_names for part in self._parts):
            for team, name in zip(self.numbers("team_id"), self.texts("team_name"), strict=True):
                if name is not None and np.isfinite(team):
                    found[int(team)] = str(name)
        return found | dict(given or {})


def _names(teams: object) -> dict[int, str]:
    """Those that a body says in the documented form."""
    listed = [team for team in teams if isinstance(team, dict)] if isinstance(teams, list) else []
    named = [(str(team.get("id")), team.get("name")) for team in listed]
    return {int(team): str(name) for team, name in named if name and _ID.fullmatch(team)}


def _arrow(rows: object, table: str) -> Any:
    if isinstance(rows, Payload):
        rows = rows.table(table)
    try:
        return pyarrow.table(rows)
    except TypeError:
        given = type(rows).__name__
        message = f"{table} is a Payload, a Table or a frame that speaks the Arrow C interface, not {given}"
        raise TypeError(message) from None


def _numbers(name: str, column: Any) -> Numbers:
    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("ms", tz=column.type.tz), safe=False).cast(pyarrow.int64())
    kinds = pyarrow.types
    if not any(is_it(column.type) for is_it in (kinds.is_floating, kinds.is_integer, kinds.is_boolean, kinds.is_null)):
        raise ValueError(f"the column {name} is of type {column.type}; numbers or times are needed")
    # Ids and times are far below 2**53: a float holds them exactly. What is not is absurd, and only has to be drawn.
    values = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return cast(Numbers, values)


def _objects(_name: str, column: Any) -> npt.NDArray[np.object_]:
    values = np.empty(len(column), dtype=np.object_)
    values[:] = column.to_pylist()
    return values


def epoch_ms(time: datetime | str | float) -> float:
    """A moment in epoch milliseconds."""
    if isinstance(time, (int, float)):
        return float(time)
    moment = datetime.fromisoformat(time) if isinstance(time, str) else time
    if moment.tzinfo is None:
        raise ValueError(f"{time!r} has no time zone; write {moment.replace(tzinfo=UTC).isoformat()!r} for UTC")
    return moment.timestamp() * 1000


def moment_text(milliseconds: float, timespec: str = "seconds") -> str:
    """A moment as text; `<out of range>` where the calendar has none."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OSError, OverflowError, ValueError):
        return "<out of range>"
    return moment.isoformat(" ", timespec).replace("+00:00", " UTC")


def plain(text: object) -> str:
    """Text as it is drawn: without control characters, and no mathematics."""
    return visible(str(text)).replace("$", r"\$")


def team_label(team: float, names: Names) -> str:
    if not np.isfinite(team):
        return "no team"
    return plain(names.get(int(team), f"team {int(team)}"))


def teams_of(column: Numbers) -> list[float]:
    """The teams, by id: each has the same colour in each plot of the same teams."""
    return sorted(set(column[np.isfinite(column)].tolist()))
