"""Decodes a body into the rows that the archive stores."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast

from .._client import Operation, TableName
from .._core import Payload, Table, _batch_table, _contents
from ..errors import DecodeError
from . import _arrow
from ._libraries import pa, pc
from ._plan import RESOURCES, Unit
from ._schemas import public_schema
from ._storage_types import check_names, check_times, to_storage_types

MACHINE_ERRORS = (ImportError, MemoryError)
"""Errors that concern the machine. Any other decoding error concerns only its body."""

_OWN_KEYS: Mapping[str, tuple[TableName, bytes]] = {
    "roster": ("team", b"id"),
    "play_by_play": ("play_by_play", b"gameId"),
    "ball_screens": ("ball_screens", b"gameId"),
    "locations": ("locations", b"sid"),
}
"""The operations whose bodies name what they are of: the table with it, and its name in the body."""


def decode_tables(unit: Unit, raw: bytes, names: Sequence[str] = ()) -> "dict[str, pa.Table]":
    """Return a body's tables, or some of them, with the keys known from the plan.

    Raises the decoder's errors, and `ValueError` for a value or a column name that cannot be stored.
    """
    payload = _payload(unit, raw)
    table_names: Any = names or RESOURCES[unit.operation].tables
    tables: Mapping[Any, Table] = {name: payload.table(name) for name in table_names} if names else payload.all_tables()
    return {name: _fill_ids(to_storage_types(tables[name].to_arrow()), unit) for name in table_names}


def count_rows(unit: Unit, raw: bytes) -> tuple[dict[str, int], list[str]]:
    """Return the number of rows of each table of a body, and the names of its extra columns, which are stat codes.

    Raises the errors of `decode_tables`.
    """
    check_key(unit, raw)
    payload = _payload(unit, raw)
    counts: dict[str, int] = {}
    extra_columns: list[str] = []
    for name, count, extra, has_python_times in _contents(payload):
        if name not in RESOURCES[unit.operation].tables:
            continue
        if extra:
            check_names([*stored_schema(name).names, *extra])
        if not has_python_times:
            check_times(payload.table(name).to_arrow())
        counts[name] = count
        extra_columns += extra
    return counts, extra_columns


def check_key(unit: Unit, raw: bytes) -> None:
    """Raise `DecodeError` if a body says that it is of another team, game or session than was requested."""
    if unit.operation not in _OWN_KEYS:
        return
    table, name = _OWN_KEYS[unit.operation]
    # Locations repeat their session in each row: counting takes a fraction of the time of decoding.
    if raw.count(b'"%s"' % name) == sum(
        raw.count(b'"%s":%s"%s"' % (name, gap, unit.id.encode())) for gap in (b"", b" ")
    ):
        return
    key = RESOURCES[unit.operation].key
    # With the keys of the plan, the decoder would return those.
    keys = Payload.from_bytes(cast("Operation", unit.operation), raw).table(table, columns=[key]).to_arrow()[key]
    others = [value for value in keys.unique().to_pylist() if value not in (None, unit.key)]
    if others:
        raise DecodeError(f"{unit.operation}: the body has the {key} {others[0]}, not {unit.key}")


def decode_together(name: str, bodies: Iterable[tuple[Unit, bytes]]) -> "pa.Table":
    """Return the rows of one table of several bodies of an operation, in storage types, as `decode_tables` does."""
    # Of an iterator of large bodies, one is in memory besides its payload.
    pairs = [(unit, _payload(unit, raw)) for unit, raw in bodies]
    payloads = [payload for _, payload in pairs]
    try:
        table = _batch_table(payloads[0], payloads, name, None)
    except DecodeError:
        # Together they have more columns or cells than a table may have; each has been decoded before.
        return _one_by_one(name, pairs)
    if table.column_names == stored_schema(name).names:
        rows = pa.RecordBatchReader.from_stream(table, schema=stored_schema(name)).read_all()
    else:
        rows = to_storage_types(table.to_arrow())
    keys = {"game_id", RESOURCES[pairs[0][0].operation].key} & {*rows.column_names}
    if any(rows[key].null_count for key in keys):
        return _one_by_one(name, pairs)
    del pairs, payloads, table
    # pyarrow's own pool would keep the memory.
    return rows.combine_chunks(pa.system_memory_pool())


def _one_by_one(name: str, pairs: Sequence[tuple[Unit, Payload]]) -> "pa.Table":
    parts = [_fill_ids(to_storage_types(payload.table(name).to_arrow()), unit) for unit, payload in pairs]  # type: ignore[arg-type]
    return pa.concat_tables(parts, promote_options="default").combine_chunks(pa.system_memory_pool())


@cache
def stored_schema(name: str) -> "pa.Schema":
    """Return the stored columns of a table. A box score has those of its stat codes after them."""
    return to_storage_types(_arrow.empty(public_schema(name))).schema


def _fill_ids(rows: "pa.Table", unit: Unit) -> "pa.Table":
    """Fill keys known from the plan that the body lacks."""
    keys: dict[str, str | None] = {"game_id": unit.game_id}
    if RESOURCES[unit.operation].key != "team_id":
        keys[RESOURCES[unit.operation].key] = unit.id
    for name, value in keys.items():
        if value is not None and name in rows.column_names and rows[name].null_count:
            place = rows.schema.get_field_index(name)
            column = pc.fill_null(rows[name], _arrow.array([value], rows[name].type)[0])
            rows = rows.set_column(place, rows.schema.field(place), column)
    return rows


def empty_tables(unit: Unit) -> "dict[str, pa.Table]":
    """Return the unit's tables without rows."""
    return {name: _arrow.empty(stored_schema(name)) for name in RESOURCES[unit.operation].tables}


def _payload(unit: Unit, raw: bytes) -> Payload:
    return Payload.from_bytes(cast("Operation", unit.operation), raw, **_keys(unit))


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
