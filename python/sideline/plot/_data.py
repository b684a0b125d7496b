"""Columns of tables and frames as arrays."""

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow

from .._client import TableName, check_name, is_named, one_id
from .._core import Payload, Table
from .._rows import Found, did_you_mean, is_number, mixed_column, visible, with_plain_types
from ..batch import BaseBatch

if TYPE_CHECKING:
    import polars

Numbers = npt.NDArray[np.float64]


class ArrowStream(Protocol):
    """An object with the Arrow C interface: a `Table`, a frame of polars, pandas or Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Rows = Payload | BaseBatch | ArrowStream | Mapping[str, Sequence[Any]] | Sequence[Payload | ArrowStream]
Names = Mapping[int, str]
One = int | str | Table | Payload | BaseBatch
"""An id, a name, or a table of one team or player, such as that of `find_team`."""
Named = Names | Payload | BaseBatch | ArrowStream
"""Names by id, or their source: a roster, the list of teams, a table of either."""


class Columns:
    """The columns of a table by name; a missing optional column is null."""

    def __init__(self, rows: Rows, table: str, required: Sequence[str]) -> None:
        parts = list(rows) if isinstance(rows, (list, tuple)) else [rows]
        self.parts = [_arrow(part, table) for part in parts] or [pyarrow.table({name: [] for name in required})]
        self.masks: list[npt.NDArray[np.bool_]] | None = None
        # Bodies have names that tables lack. Bodies of locations have none, and are large.
        bodies = parts if table != "locations" else []
        self._bodies = [body for part in bodies for body in (part if isinstance(part, BaseBatch) else [part])]
        self._body_names: Found | None = None
        for part in self.parts:
            missing = [name for name in required if name not in part.column_names]
            if missing:
                present = ", ".join(part.column_names) or "none"
                hint = did_you_mean(missing[0], part.column_names)
                raise ValueError(f"{table} without the column {', '.join(missing)}; there are: {present}{hint}")

    def check_once(self, table: str, keys: Sequence[str]) -> Self:
        """Raise if rows of a session occur twice, which would be counted twice; `keys` distinguish its rows.

        No key distinguishes shots for certain: those of one part, such as a body, stay.
        """
        known_rows: dict[tuple[Any, ...], int] = {}
        counts = [len(part) for part in self.parts] if self.masks is None else [int(mask.sum()) for mask in self.masks]
        numbers = np.repeat(np.arange(len(self.parts)), counts)
        columns = [self.texts(name) for name in ("session_id", *keys)]
        for number, row in zip(numbers.tolist(), zip(*columns, strict=True), strict=True):
            if None not in row and (table != "shots" or known_rows.get(row) != number) and row in known_rows:
                raise ValueError(visible(f"{table} has session {row[0]} twice: pass each session once"))
            known_rows[row] = number
        return self

    def only(self, rows: npt.NDArray[np.bool_]) -> Self:
        """Select rows. Rows before and after them are not read, because strings are slow."""
        selection = copy(self)
        selection.parts, selection.masks = [], []
        for part, mask in zip(self.parts, np.split(rows, np.cumsum(list(map(len, self.parts)))[:-1]), strict=True):
            places = np.flatnonzero(mask)
            start, end = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
            selection.parts.append(part.slice(start, end - start))
            selection.masks.append(mask[start:end])
        return selection

    def numbers(self, name: str) -> Numbers:
        """Return a column of numbers, booleans (1 and 0) or times (epoch milliseconds), with NaN for null."""
        return self._concatenate(name, _numbers, np.nan, np.float64)

    def texts(self, name: str) -> npt.NDArray[np.object_]:
        """Return a column unchanged but for times, as epoch milliseconds, with `None` for null."""
        return self._concatenate(name, _objects, None, np.object_)

    def _concatenate(self, name: str, read: Any, null: object, dtype: Any) -> npt.NDArray[Any]:
        parts = [
            read(name, part.column(name)) if name in part.column_names else np.full(len(part), null, dtype=dtype)
            for part in self.parts
        ]
        if self.masks is not None:
            parts = [column[masks] for column, masks in zip(parts, self.masks, strict=True)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)

    @property
    def _in_bodies(self) -> Found:
        if self._body_names is None:
            self._body_names = Found(body for body in self._bodies if isinstance(body, Payload))
        return self._body_names

    def team_names(self, source: Named | None) -> dict[int, str]:
        """Return names by team id: the given ones, those of the rows, or those of the body."""
        return (
            self._in_bodies.teams
            | self.values_by_id("team_id", ("team_name",))
            | dict(names_of(source, "team", "teams"))
        )

    def player_names(self, source: Named | None, argument: str = "players") -> dict[int, str]:
        """Return names by player id, from the same sources."""
        names = self.values_by_id("player_id", ("first_name", "last_name")) | self.values_by_id(
            "player_id", ("player_name",)
        )
        return self._in_bodies.players | names | dict(names_of(source, "player", argument))

    def values_by_id(self, key: str, columns: tuple[str, ...]) -> dict[int, str]:
        if not any(columns[-1] in part.column_names for part in self.parts):
            return {}
        texts = [self.texts(column) for column in columns]
        rows = zip(self.numbers(key), zip(*texts, strict=True), strict=True)
        names = {key: " ".join(filter(None, parts)) for key, parts in dict(rows).items() if np.isfinite(key)}
        return {int(key): name for key, name in names.items() if name}


def names_of(source: Named | None, kind: str, argument: str) -> Names:
    """Return names by id from a mapping or columns; `kind` is "team" or "player"."""
    if source is None or isinstance(source, Mapping):
        check_by_id(argument, source)
        return source or {}
    if isinstance(source, (Payload, BaseBatch)):
        candidates: tuple[TableName, ...] = ("players", "possession_players") if kind == "player" else ("teams", "team")
        table = next((name for name in candidates if name in source.tables), None)
        if table is None:
            raise ValueError(
                f"{argument} is a mapping of names by id, or a response with names, not one of {source.operation}"
            )
        source = source.table(table)
    columns = Columns(source, argument, [f"{kind}_id"])
    if kind == "player":
        return columns.player_names(None)
    return columns.values_by_id("team_id", ("name",)) | columns.values_by_id("team_id", ("team_name",))


def check_by_id(argument: str, values: object) -> None:
    """Raise `TypeError` for what is no mapping by id. Ids may be floats and null, as in a column with nulls."""
    if values is None:
        return
    if not isinstance(values, Mapping):
        raise TypeError(f"{argument} is a mapping by id, such as {{1001: …}}, not {type(values).__name__}")
    for key in values:
        if key is not None and not is_number(key):
            raise TypeError(f"{argument} is a mapping by id, a whole number; it has the key {key!r}")


def chosen_id(kind: str, option: One | None, present: Numbers, names: Names) -> int | None:
    """Return the id of a team or player given by id, name or table; raises if it is not among them."""
    if option is None:
        return None
    value: Any = one_id(f"{kind}_id", option, argument=kind)
    ids = {int(key) for key in present[np.isfinite(present)]} | {key for key in names if key}
    listed_ids = ", ".join(f"{key} {names[key]}" if key in names else str(key) for key in sorted(ids))
    if isinstance(value, str) and value.strip().isdecimal() and int(value) in ids:
        return int(value)
    if isinstance(value, str):
        check_name(value)
        matches = [key for key in sorted(ids) if is_named(value, names.get(key))]
        if len(matches) == 1:
            return matches[0]
        if matches:
            people = ", ".join(f"{key} {names[key]}" for key in matches)
            reason = f"matches {len(matches)} names, {people}: pass the id, or more of the name"
        elif not names:
            reason = f"matches no name: the rows have only ids; give {kind}s=, a roster or a mapping of names by id"
        else:
            hint = did_you_mean(value, [names[key] for key in sorted(ids) if key in names])
            reason = f"matches no name{hint}" if hint else f"matches no name; there are: {listed_ids or 'none'}"
        raise ValueError(visible(f"{kind} {value!r} {reason}"))
    is_number = isinstance(value, (int, np.integer, float)) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not value.is_integer()):
        type_name = type(value).__name__
        text = f"{kind} is one id, a name, or a table of one {kind}, such as client.find_{kind}(name), not {type_name}"
        raise TypeError(text)
    if len(present) and int(value) not in ids:
        raise ValueError(visible(f"{kind} {value} is not among these: {listed_ids}"))
    return int(value)


def _arrow(rows: object, table: str) -> Any:
    if isinstance(rows, (Payload, BaseBatch)):
        rows = rows.table(cast("TableName", table))
    try:
        return pyarrow.table(rows)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        if not hasattr(rows, "with_columns"):
            raise mixed_column(table, rows) from None
        # A frame of polars has types that Arrow lacks. The error for what has no plain type says what to write.
        frame = with_plain_types(cast("polars.DataFrame", rows))
        return pyarrow.table(Table.from_arrow(frame))
    except TypeError:
        source = type(rows).__name__
        hint = ": write .collect()" if hasattr(rows, "collect") else ""
        message = f"{table} is a Payload, a Batch, a Table or a frame with the Arrow C interface, not {source}{hint}"
        raise TypeError(message) from None


def _without_times(column: Any) -> Any:
    """Return times as epoch milliseconds: Python has no years beyond 9999."""
    if not pyarrow.types.is_timestamp(column.type):
        return column
    return column.cast(pyarrow.timestamp("ms", tz=column.type.tz), safe=False).cast(pyarrow.int64())


def _numbers(name: str, column: Any) -> Numbers:
    column = _without_times(column)
    kinds = pyarrow.types
    if not any(is_it(column.type) for is_it in (kinds.is_floating, kinds.is_integer, kinds.is_boolean, kinds.is_null)):
        raise ValueError(f"the column {name} is of type {column.type}; numbers or times are needed")
    # Ids and times are far below 2**53, so floats hold them exactly; other values only have to be drawn.
    values = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return cast(Numbers, values)


def _objects(_name: str, column: Any) -> npt.NDArray[np.object_]:
    values = np.empty(len(column), dtype=np.object_)
    values[:] = _without_times(column).to_pylist()
    return values


def moment_text(milliseconds: float, timespec: str = "seconds") -> str:
    """Format a time; `<out of range>` beyond the calendar."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OSError, OverflowError, ValueError):
        return "<out of range>"
    return moment.isoformat(" ", timespec).replace("+00:00", " UTC")


def plain(text: object) -> str:
    """Return text to draw, without control characters and mathematics."""
    return visible(str(text)).replace("$", r"\$")


def team_label(team: float, names: Names) -> str:
    if not np.isfinite(team):
        return "no team"
    return plain(names.get(int(team), f"team {int(team)}"))


def teams_of(column: Numbers) -> list[float]:
    """Return the teams by id, so that each has the same colour in every plot of the same teams."""
    return sorted(set(column[np.isfinite(column)].tolist()))
