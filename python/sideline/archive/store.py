"""Delta tables in a folder or an object store: opened, made, and the rows of some keys replaced in one transaction."""

import os
import random
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from sideline._core import __version__
from sideline._frames import library
from sideline._schemas import SCHEMAS
from sideline.archive.options import Options
from sideline.archive.trouble import check_files, told
from sideline.errors import DecodeError

if TYPE_CHECKING:
    import pyarrow
    from deltalake import DeltaTable

_ATTEMPTS = 40
"""Another writer's commit makes one of ours fail, and one of them always succeeds."""

MONTH = "month"
"""The column by which tables are partitioned. Readers of `scan` and `to_arrow` do not see it."""

LINEAGE = ("url", "sideline_version")
"""Columns of `coverage` beside the contract's: where a unit's body is from, and which sideline stored it."""

_SCHEMES = {"s3", "s3a", "gs", "az", "adl", "abfs", "abfss"}

_STATS = {
    # Min and max of whole bodies have no use.
    "raw": {"delta.dataSkippingStatsColumns": "entry,unit,operation,id,sequence,status,body_id,stored_at"},
}


_COMMENTS = {
    MONTH: "month in which the game or practice starts",
    "url": "address of the request, without secrets",
    "sideline_version": "version of sideline that stored the unit",
    "body": "the response as it was received",
    "body_id": "digest of the body",
    "listed_from": "when a roster first listed the player",
    "listed_until": "when a roster first listed him no more; null for who is listed now",
    "sequence": "number of the body among those of its unit",
    "stored_at": "when the body was stored, by the clock of the machine that did",
}

_DESCRIPTIONS = {
    "listings": "When each game and practice was last listed.",
    "raw": "The bodies of all responses, each once.",
}

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999, which Python's times can hold, in microseconds of the epoch."""


@cache
def own_schemas() -> "Mapping[str, pyarrow.Schema]":
    """The tables that tell of the archive itself, as they are stored. The first columns are the contract's."""
    pa = library("pyarrow", "archive")
    text, number, when = pa.string(), pa.int64(), pa.timestamp("us", "UTC")
    return {
        "coverage": pa.schema(
            {
                "operation": text,
                "team_id": number,
                "game_id": text,
                "session_id": text,
                "start": when,
                "end": when,
                "status": text,
                "rows": number,
                "request_id": text,
                "error": text,
                "attempts": pa.int32(),
                "fetched_at": when,
                "unit": text,
                "served_at": when,
                "listed_at": when,
                # The archive's own, which readers do not see.
                MONTH: text,
                "url": text,
                "sideline_version": text,
                "body_id": text,
                "sequence": number,
                "stored_at": when,
                "event_id": text,
                "starts_at": when,
                "over_at": when,
                "teams": pa.list_(number),
                "linked": pa.bool_(),
                "final": pa.bool_(),
                "absent_in": text,
                "planned_at": when,
            }
        ),
        "listings": pa.schema({"event_id": text, "listed_at": when}),
        "corrections": pa.schema(
            {
                "table": text,
                "team_id": number,
                "game_id": text,
                "session_id": text,
                "player_id": number,
                "key": text,
                "field": text,
                "old": text,
                "new": text,
                "old_version": number,
                "new_version": number,
                "seen_at": when,
                "change": text,
            }
        ),
        "raw": pa.schema(
            {
                MONTH: text,
                "entry": text,
                "unit": text,
                "sequence": number,
                "status": text,
                "operation": text,
                "id": text,
                "team_id": number,
                "game_id": text,
                "session_id": text,
                "body_id": text,
                "served_at": when,
                "stored_at": when,
                "body": pa.binary(),
            }
        ),
    }


def contract(name: str) -> "pyarrow.Schema":
    """A table's columns as its readers get them: milliseconds, and dictionaries for open sets."""
    pa = library("pyarrow", "archive")
    if name not in SCHEMAS:
        return own_schemas()[name]
    declared = pa.schema(SCHEMAS[name])
    if name != "players":
        return declared
    return pa.schema([*declared, *_history(pa)], declared.metadata)


def _history(pa: Any) -> list[Any]:
    return [pa.field(name, pa.timestamp("ms", "UTC")) for name in ("listed_from", "listed_until")]


def in_month(rows: "pyarrow.Table", month: str) -> "pyarrow.Table":
    """With the column by which the table is partitioned."""
    pa: Any = library("pyarrow", "archive")
    return rows.append_column(MONTH, pa.repeat(pa.scalar(month), rows.num_rows))


def stored(table: "pyarrow.Table") -> "pyarrow.Table":
    """As Delta Lake has it: microseconds, no dictionaries, and anything may be null, so that later columns can be.

    Raises `ValueError` for a time or a column name that cannot be stored and read again.
    """
    pa: Any = library("pyarrow", "archive")
    plain = table.cast(pa.schema([pa.field(field.name, _plain(field.type)) for field in table.schema]))
    if len({name.lower() for name in plain.column_names}) < len(plain.column_names):
        raise ValueError("two columns have the same name but for upper and lower case")
    for field in plain.schema:
        if _CONTROL.search(field.name):
            raise ValueError(f"a column is named {field.name[:80]!r}, with a control character")
        if pa.types.is_timestamp(field.type):
            _check_times(field.name, plain[field.name])
    return plain


def _check_times(name: str, column: Any) -> None:
    pa: Any = library("pyarrow", "archive")
    ends = library("pyarrow.compute", "archive").min_max(column.cast(pa.int64())).as_py()
    if ends["min"] is not None and (ends["min"] < _EARLIEST or ends["max"] > _LATEST):
        raise ValueError(f"{name} has a time outside of the years 1 to 9999")


def _plain(kind: "pyarrow.DataType") -> "pyarrow.DataType":
    pa = library("pyarrow", "archive")
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind


def writing() -> Any:
    """How files are written."""
    return library("deltalake", "archive").WriterProperties(compression="ZSTD")


def _described(name: str, schema: "pyarrow.Schema") -> "pyarrow.Schema":
    """The schema with the meaning and unit of its columns as their comments."""
    pa: Any = library("pyarrow", "archive")
    told = {field.name: _comment(field) for field in contract(name)} | _COMMENTS
    return pa.schema([field.with_metadata({"comment": told.get(field.name) or ""}) for field in schema])


def _comment(field: "pyarrow.Field") -> str:
    metadata = field.metadata or {}
    text, unit = (metadata.get(key, b"").decode() for key in (b"description", b"unit"))
    return f"{text} [{unit}]" if unit else text


def _description(name: str) -> str:
    metadata = contract(name).metadata or {}
    return metadata.get(b"description", b"").decode() or _DESCRIPTIONS[name]


def one_of(column: str, values: Iterable[object]) -> str:
    """A predicate: the column has one of the values. By the bounds, files that have none of them are not opened."""
    listed = [str(value) if isinstance(value, int) else f"'{_quoted(value)}'" for value in sorted(values)]  # type: ignore[type-var]
    if not listed:
        return "false"
    return f"{column} >= {listed[0]} AND {column} <= {listed[-1]} AND {column} IN ({', '.join(listed)})"


def _quoted(value: object) -> str:
    return str(value).replace("'", "''")


def now() -> datetime:
    """This machine's clock."""
    return datetime.now(UTC)


@cache
def _folder_table() -> Any:
    deltalake: Any = library("deltalake", "archive")

    class FolderTable(deltalake.DeltaTable):  # type: ignore[misc] # an optional library
        """A table in a folder. `DeltaTable` percent-encodes the paths of files; readers take them as they are."""

        def file_uris(self, *arguments: Any, **named: Any) -> list[str]:
            return [unquote(path) for path in super().file_uris(*arguments, **named)]

    return FolderTable


class Store:
    """The archive's folder, here or in an object store."""

    def __init__(self, root: str | os.PathLike[str], options: Options) -> None:
        library("deltalake", "archive")
        text = os.fspath(root)
        if not text:
            raise ValueError("an archive is in a folder or a bucket: its path is empty")
        if text.startswith("file://"):
            text = url2pathname(urlsplit(text).path)
        if text.startswith("memory:"):
            raise ValueError("an archive in memory would be gone with each look at it; give a folder or a bucket")
        self.is_local: bool = "://" not in text
        scheme, colon, rest = text.partition(":")
        # A folder of that name would be filled, and be gone with the machine.
        if self.is_local and colon and scheme.lower() in _SCHEMES:
            raise ValueError(
                f'{text} is neither a folder nor an address: write "{scheme.lower()}://{rest.lstrip("/")}"'
            )
        self.root: str = str(Path(text).expanduser().absolute()) if self.is_local else text.rstrip("/")
        self.options = options
        self.fence: int | None = None
        """The number of the last lease of this writer."""
        self.written: set[str] = set()
        """The tables that were written through this object."""

    def open(self, name: str) -> "DeltaTable | None":
        """The table as it stands now; `None` where nothing was stored yet."""
        deltalake: Any = library("deltalake", "archive")
        try:
            kind = _folder_table() if self.is_local else deltalake.DeltaTable
            table: DeltaTable = self.options.open(kind, f"{self.root}/{name}")
        except deltalake.exceptions.TableNotFoundError:
            return None
        except (deltalake.exceptions.DeltaError, OSError) as error:
            raise told(self.root, error) from None
        return table

    def readable(self, name: str) -> "DeltaTable | None":
        """The same, for reading: raises `DecodeError` where one of its files is damaged."""
        table = self.open(name)
        if table is not None and self.is_local:
            check_files(self.root, name, table)
        return table

    def opened(self, name: str, schema: "pyarrow.Schema") -> "DeltaTable":
        """The table, made where it is not there."""
        deltalake: Any = library("deltalake", "archive")
        for attempt in range(_ATTEMPTS):
            if (table := self.open(name)) is not None:
                return table
            try:
                made: DeltaTable = self.options.open(
                    deltalake.DeltaTable.create,
                    f"{self.root}/{name}",
                    _described(name, schema),
                    mode="error",
                    partition_by=[MONTH] if MONTH in schema.names else None,
                    description=_description(name),
                    configuration={"sideline.version": __version__, **_STATS.get(name, {})},
                    raise_if_key_not_exists=False,
                )
            except OSError as error:
                raise told(self.root, error) from None
            except deltalake.exceptions.DeltaError as error:
                # Another writer made it first.
                if attempt == _ATTEMPTS - 1:
                    raise told(self.root, error) from None
                self.wait(attempt)
            else:
                return made
        raise AssertionError

    def replace(self, name: str, rows: "pyarrow.Table", predicate: str) -> None:
        """Put the rows in the place of those that the predicate names, in one transaction, after any other writer's."""
        for attempt in range(_ATTEMPTS):
            if self.replaced(self.opened(name, rows.schema), rows, predicate, last=attempt == _ATTEMPTS - 1):
                return
            self.wait(attempt)

    def replaced(self, table: "DeltaTable", rows: Any, predicate: str | None, *, last: bool = False) -> bool:
        """The same on the table as it was opened: false where another writer changed such rows since."""
        growth = "merge" if predicate else "overwrite"
        return self._wrote(table, rows, last=last, mode="overwrite", predicate=predicate, schema_mode=growth)

    def append(self, name: str, rows: "pyarrow.Table") -> None:
        """Add the rows, in one transaction."""
        for attempt in range(_ATTEMPTS):
            if self._wrote(self.opened(name, rows.schema), rows, last=attempt == _ATTEMPTS - 1, mode="append"):
                return
            self.wait(attempt)

    def _wrote(self, table: "DeltaTable", rows: Any, *, last: bool, **how: Any) -> bool:
        deltalake: Any = library("deltalake", "archive")
        self.written.add(table.table_uri.rstrip("/").rpartition("/")[2])
        try:
            deltalake.write_deltalake(
                table, rows, writer_properties=writing(), commit_properties=self.commit_properties(), **how
            )
        except deltalake.exceptions.CommitFailedError:
            # Rows of another writer that the predicate names; or two made the table at once.
            if last:
                raise
            return False
        except (deltalake.exceptions.DeltaError, OSError) as error:
            raise self.explained(table, error) from None
        return True

    def commit_properties(self) -> Any:
        """What a commit says of its writer."""
        deltalake: Any = library("deltalake", "archive")
        fence = {} if self.fence is None else {"lease": str(self.fence)}
        return deltalake.CommitProperties(custom_metadata={"sideline": __version__, **fence})

    def explained(self, table: "DeltaTable", error: Exception) -> Exception:
        """The error to raise where a table could not be changed."""
        try:
            if self.is_local:
                check_files(self.root, table.table_uri.rstrip("/").rpartition("/")[2], table)
        except DecodeError as damage:
            return damage
        return told(self.root, error)

    @staticmethod
    def wait(attempt: int) -> None:
        """Between two attempts to commit."""
        time.sleep(random.uniform(0.005, 0.02 * 2 ** min(attempt, 5)))
