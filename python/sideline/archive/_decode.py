"""Decodes a body into the rows that the archive stores."""

from typing import TYPE_CHECKING, Any

from sideline._core import Payload, Table
from sideline._frames import library
from sideline.archive._plan import RESOURCES, Unit
from sideline.archive._store import public_schema, to_storage_types

if TYPE_CHECKING:
    import pyarrow

MACHINE_ERRORS = (ImportError, MemoryError)
"""Errors that concern the machine. Any other decoding error concerns only its body."""


def decode_tables(unit: Unit, raw: bytes) -> "dict[str, pyarrow.Table]":
    """Return a body's tables, with the keys known from the plan.

    Raises the decoder's errors, and `ValueError` for a value or a column name that cannot be stored.
    """
    payload = Payload.from_bytes(unit.operation, raw, **_keys(unit))
    tables: dict[Any, Table] = payload.all_tables()
    names = RESOURCES[unit.operation].tables
    return {name: _filled(to_storage_types(tables[name].to_arrow()), unit) for name in names}


def _filled(rows: "pyarrow.Table", unit: Unit) -> "pyarrow.Table":
    """Fill keys known from the plan that the body lacks."""
    pc = library("pyarrow.compute", "archive")
    keys: dict[str, str | None] = {"game_id": unit.game_id}
    if RESOURCES[unit.operation].key != "team_id":
        keys[RESOURCES[unit.operation].key] = unit.id
    for name, value in keys.items():
        if value is not None and name in rows.column_names and rows[name].null_count:
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, rows.schema.field(place), pc.fill_null(rows[name], value))
    return rows


def empty_tables(unit: Unit) -> "dict[str, pyarrow.Table]":
    """Return the unit's tables without rows."""
    return {name: to_storage_types(public_schema(name).empty_table()) for name in RESOURCES[unit.operation].tables}


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
