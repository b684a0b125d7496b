"""A body's rows, as the archive stores them."""

from typing import TYPE_CHECKING, Any

from sideline._core import Payload
from sideline._frames import library
from sideline.archive.plan import RESOURCES, Unit
from sideline.archive.store import contract, stored

if TYPE_CHECKING:
    import pyarrow

NOT_OF_ONE = (ImportError, MemoryError)
"""Errors that concern the machine; any other error of decoding a body is that body's."""


def decoded(unit: Unit, raw: bytes) -> "dict[str, pyarrow.Table]":
    """A body's tables, with the keys that the plan knows.

    Raises what the decoder raises, and `ValueError` for a value or a column name that cannot be stored.
    """
    payload = Payload.from_bytes(unit.operation, raw, **_keys(unit))
    names: Any = RESOURCES[unit.operation].tables
    return {name: _filled(stored(payload.to_arrow(name)), unit) for name in names}


def _filled(rows: "pyarrow.Table", unit: Unit) -> "pyarrow.Table":
    """With the keys that the plan knows where the body has none."""
    pc = library("pyarrow.compute", "archive")
    keys: dict[str, str | None] = {"game_id": unit.game_id}
    if RESOURCES[unit.operation].key != "team_id":
        keys[RESOURCES[unit.operation].key] = unit.id
    for name, value in keys.items():
        if value is not None and name in rows.column_names and rows[name].null_count:
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, rows.schema.field(place), pc.fill_null(rows[name], value))
    return rows


def no_rows(unit: Unit) -> "dict[str, pyarrow.Table]":
    """The unit's tables without a row."""
    return {name: stored(contract(name).empty_table()) for name in RESOURCES[unit.operation].tables}


def _keys(unit: Unit) -> dict[str, Any]:
    if RESOURCES[unit.operation].key == "session_id":
        return {"session_id": unit.id, "game_id": unit.game_id}
    if unit.operation == "team_events":
        return {"team_id": unit.team_id}
    if unit.operation == "roster":
        return {"team_id": unit.id}
    if unit.operation in ("teams", "schedule"):
        return {}
    return {"game_id": unit.id}
