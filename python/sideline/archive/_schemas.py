"""The schemas of an archive's tables: the stored ones, and those that readers see."""

from collections.abc import Mapping
from functools import cache

from .._rows import SCHEMAS
from . import _arrow
from ._libraries import pa

MONTH = "month"
"""The partition column of the tables. `scan` and `to_arrow` do not show it."""

CHANGE = "_change"
"""The column that the tables of `Changes` have in addition."""

LINEAGE = ("url", "sideline_version")
"""Internal columns of `coverage`: the address of a unit's body, and the version of sideline that stored it."""

_COLUMNS = {
    "coverage": {
        "operation": "text",
        "team_id": "number",
        "game_id": "text",
        "session_id": "text",
        "start": "when",
        "end": "when",
        "status": "text",
        "rows": "number",
        "request_id": "text",
        "error": "text",
        "attempts": "small_number",
        "fetched_at": "when",
        "unit": "text",
        "served_at": "when",
        "listed_at": "when",
        # Internal columns, which readers do not see.
        MONTH: "text",
        "url": "text",
        "sideline_version": "text",
        "body_id": "text",
        "sequence": "number",
        "stored_at": "when",
        "event_id": "text",
        "starts_at": "when",
        "over_at": "when",
        "teams": "numbers",
        # Whether anything ever linked to it.
        "linked": "flag",
        # Whether its event was over when it was stored: a later change is a correction.
        "final": "flag",
        # The first sync that missed it; the next one that does withdraws it.
        "absent_in": "text",
        # The clock of the sync that stored it.
        "planned_at": "when",
        # A new value each time that a writer put the rows of this body in the place of its own.
        "restored_in": "text",
    },
    "listings": {"listed": "text", "listed_at": "when"},
    "reports": {"made_at": "when", "change": "text", "seen_at": "when"},
    "tracking_sources": {"session_id": "text", "signature": "text", "computed_at": "when"},
    "corrections": {
        "table": "text",
        "team_id": "number",
        "game_id": "text",
        "session_id": "text",
        "player_id": "number",
        "key": "text",
        "field": "text",
        "old": "text",
        "new": "text",
        "old_version": "number",
        "new_version": "number",
        "seen_at": "when",
        "change": "text",
    },
    "raw": {
        MONTH: "text",
        "entry": "text",
        "unit": "text",
        "sequence": "number",
        "status": "text",
        "operation": "text",
        "id": "text",
        "team_id": "number",
        "game_id": "text",
        "session_id": "text",
        "body_id": "text",
        "served_at": "when",
        "stored_at": "when",
        "body": "bytes",
    },
}
"""The columns of the archive's own tables. Public columns come first."""

_COMMENTS = {
    MONTH: "Month in which the game or practice starts",
    "url": "URL of the request, without secrets",
    "sideline_version": "Version of sideline that stored the unit",
    "body": "Body of the response as received",
    "body_id": "Digest of the body",
    "signature": "Bodies that the session's answers come from, and the version of the formulas",
    "computed_at": "Time of the computation, by the clock of the computing machine",
    "made_at": "Time of the report, by the clock of the machine that made it",
    "listed_from": "Time of the first roster that lists the player",
    "listed_until": "Time of the first later roster without the player; null for players on the current roster",
    "sequence": "Number of the body among the bodies of its unit",
    "stored_at": "Time of storage of the body, by the clock of the storing machine",
}

_DESCRIPTIONS = {
    "listings": "A row for each game, practice and old entry of a list, by each list that had it: when that was.",
    "raw": "One row for each distinct body of a response.",
    "reports": "The time of the last report, and a row for each change of a body with corrections that it could read.",
    "tracking_sources": "One row for each session with rows in tracking_loads and tracking_defenders.",
}


@cache
def internal_schemas() -> "Mapping[str, pa.Schema]":
    """Return the schemas of the archive's own tables."""
    types = {
        "text": pa.string(),
        "number": pa.int64(),
        "small_number": pa.int32(),
        "numbers": pa.list_(pa.int64()),
        "when": pa.timestamp("us", "UTC"),
        "flag": pa.bool_(),
        "bytes": pa.binary(),
    }
    return {
        name: pa.schema([pa.field(column, types[kind]) for column, kind in columns.items()])
        for name, columns in _COLUMNS.items()
    }


def public_schema(name: str) -> "pa.Schema":
    """Return a table's schema for readers, with milliseconds, and dictionaries for open sets."""
    if name not in SCHEMAS:
        return internal_schemas()[name]
    schema = pa.schema(SCHEMAS[name])
    if name != "players":
        return schema
    times = [pa.field(column, pa.timestamp("ms", "UTC")) for column in ("listed_from", "listed_until")]
    return pa.schema([*schema, *times], schema.metadata)


def in_month(rows: "pa.Table", month: str) -> "pa.Table":
    """Add the partition column."""
    return rows.append_column(MONTH, _arrow.repeat(month, rows.num_rows))


def with_comments(name: str, schema: "pa.Schema") -> "pa.Schema":
    """Add the meaning and unit of each column as its comment."""
    comments = comments_of(name)[1] | _COMMENTS
    return pa.schema([field.with_metadata({"comment": comments.get(field.name) or ""}) for field in schema])


def comments_of(name: str) -> tuple[str, dict[str, str]]:
    """Return the meaning of a table, and the meaning and unit of each of its columns."""
    return _description(name), {field.name: _comment(field) for field in public_schema(name)}


def _comment(field: "pa.Field") -> str:
    metadata = field.metadata or {}
    text, unit = (metadata.get(key, b"").decode() for key in (b"description", b"unit"))
    return f"{text} [{unit}]" if unit else text


def _description(name: str) -> str:
    metadata = public_schema(name).metadata or {}
    return metadata.get(b"description", b"").decode() or _DESCRIPTIONS[name]
