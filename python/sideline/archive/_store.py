"""Opens and creates Delta tables in a folder or an object store, and replaces rows in one transaction."""

import json
import os
import random
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from .._core import __version__
from .._lazy import library
from ..errors import DecodeError
from . import _arrow
from ._file_bounds import configuration
from ._libraries import deltalake, obstore, pa, parquet, pc
from ._log_copy import CHECKPOINT_INTERVAL, LogCopy, UnusualLog, text_of_creation
from ._memory import load_deltalake, trim
from ._plan import TABLES
from ._schemas import MONTH, comments_of, internal_schemas, with_comments
from ._settings import Settings
from ._storage_options import Options, has_conditional_puts, open_bucket
from ._store_errors import (
    VERSIONS,
    check_files,
    check_last_commits,
    check_log,
    error_of_log,
    newest_version,
    recorded_versions,
    translate_error,
)

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MAX_ATTEMPTS = 40
"""A commit fails when another writer commits first, so one of them always succeeds."""

MONTH_OF_FILE = f"partition.{MONTH}"
"""Its column in the list of a table's files."""

_BUCKET_SCHEMES = {"s3", "s3a", "gs", "az", "adl", "abfs", "abfss"}

_UNUSABLE_PATTERN = re.compile(r"[\x00-\x1f\x7f\[\]\\^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")
"""What deltalake refuses in the path of a folder, ends the process for, or takes for another path. Bytes that are no
text in the locale are surrogates."""

_MAX_WHOLE_OBJECT = 1024 * 1024
"""Bytes of an object of a bucket that is read at once. Of a larger one its footer and columns are requested."""

MAX_ROW_GROUP = 65_536
"""Rows of a row group of a table without bodies. A reader of one session's locations decodes whole ones."""


def is_in(column: str, values: Iterable[object]) -> str:
    """Return a predicate: the column has one of the values. The bounds let readers skip files without them."""
    texts = sorted(values)  # type: ignore[type-var]
    if not texts:
        return "false"
    return f"{is_between(column, texts[0], texts[-1])} AND {column} IN ({', '.join(map(_literal, texts))})"


def is_between(column: str, first: object, last: object) -> str:
    """Return a predicate: the column has one of the bounds, or a value between them."""
    return f"{column} >= {_literal(first)} AND {column} <= {_literal(last)}"


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else "'{}'".format(str(value).replace("'", "''"))


def name_of(table: "DeltaTable") -> str:
    return table.table_uri.rstrip("/").rpartition("/")[2]


def listed_files(table: "DeltaTable", column: str | None = None) -> list[dict[str, Any]]:
    """Return the path and month of each file, and the bounds of a column where the log has them."""
    actions = _arrow.import_table(table.get_add_actions(flatten=True))
    bounds = () if column is None else (f"min.{column}", f"max.{column}")
    columns = ["path", "size_bytes", MONTH_OF_FILE, *bounds]
    # Not all: to turn times into Python values imports pandas.
    present_columns = [name for name in columns if name in actions.column_names]
    files: list[dict[str, Any]] = actions.select(present_columns).to_pylist()
    return files


def is_outside(file: Mapping[str, Any], column: str, bounds: tuple[str, str]) -> bool:
    """Return whether none of a file's texts in a column lies between the bounds."""
    lower, upper = file.get(f"min.{column}"), file.get(f"max.{column}")
    return lower is not None and upper is not None and (bounds[1] < lower or upper < bounds[0])


def _may_have(group: Any, column: str, bounds: tuple[str, str]) -> bool:
    """Return whether a column of a row group may have a text between the bounds, by its statistics."""
    columns = (group.column(place) for place in range(group.num_columns))
    values = next((chunk.statistics for chunk in columns if chunk.path_in_schema == column), None)
    return values is None or not values.has_min_max or not (bounds[1] < values.min or values.max < bounds[0])


def has_one(column: Any, texts: Collection[str]) -> Any:
    """Return for each text of the column whether it is one of these."""
    return pc.is_in(column, _arrow.array(texts, column.type))


def with_columns(
    rows: "pa.RecordBatch", names: Sequence[str], schema: "pa.Schema", month: str | None
) -> "pa.RecordBatch":
    """Return rows of a file with these columns: `month` is in its path, and it may lack new columns."""
    present = set(rows.schema.names)
    lacks = {name: pa.nulls(rows.num_rows, schema.field(name).type) for name in names if name not in present}
    if MONTH in lacks and month is not None:
        lacks[MONTH] = _arrow.repeat(month, rows.num_rows)
    # deltalake's own update writes views of strings.
    columns = [lacks[name] if name in lacks else rows[name].cast(schema.field(name).type) for name in names]
    return pa.RecordBatch.from_arrays(columns, list(names))


def now() -> datetime:
    """Return the time by this machine's clock."""
    return datetime.now(UTC)


@cache
def _folder_table() -> Any:

    class FolderTable(deltalake.DeltaTable):  # type: ignore[misc] # an optional library
        """A table in a folder. `DeltaTable` percent-encodes paths of files, which readers do not decode."""

        def file_uris(self, *arguments: Any, **options: Any) -> list[str]:
            return [unquote(path) for path in super().file_uris(*arguments, **options)]

    return FolderTable


class Store:
    """The archive's location: a folder or an object store."""

    def __init__(self, root: str | os.PathLike[str], options: Options) -> None:
        load_deltalake()
        text = os.fspath(root) if isinstance(root, (str, os.PathLike)) else None
        if not isinstance(text, str) or not text:
            error = ValueError if text == "" else TypeError
            raise error(f"root is {root!r}: pass a folder or an address such as s3://bucket/name")
        if text.startswith("file://"):
            text = url2pathname(urlsplit(text).path)
        self.is_local: bool = "://" not in text
        scheme, colon, rest = text.partition(":")
        # A mistyped scheme would create a local folder of that name.
        if self.is_local and colon and scheme.lower() in _BUCKET_SCHEMES:
            raise ValueError(
                f'{text} is neither a folder nor an address: write "{scheme.lower()}://{rest.lstrip("/")}"'
            )
        if not self.is_local and scheme not in _BUCKET_SCHEMES:
            advice = "pass a folder or an address such as s3://bucket/name"
            raise ValueError(f"an archive cannot be in {scheme}://: {advice}")
        if not self.is_local and not rest.strip("/"):
            raise ValueError(f"{text} names no bucket: pass a folder or an address such as s3://bucket/name")
        self.root: str = str(Path(text).expanduser().absolute()) if self.is_local else text.rstrip("/")
        if self.is_local and (unusable := _UNUSABLE_PATTERN.search(self.root.replace(os.sep, "/"))):
            raise ValueError(
                f"an archive cannot be in {self.root!r}, because Delta Lake cannot write to a path with "
                f"{unusable[0]!r}: choose another folder"
            )
        self.options = options
        self.settings: Settings = Settings()
        """Only tests replace it, before a sync."""
        self.fence: int | None = None
        """The number of this writer's last lease, which its commits record; it refuses nothing."""
        self.written: set[str] = set()
        """The names of the tables that this object has written since they were last compacted."""
        self.rebuilt: set[str] = set()
        """The names of the tables that this object has rebuilt, whose logs may be new."""
        self._tables: dict[str, DeltaTable] = {}
        """Opened tables that no thread uses now."""
        self._objects: dict[str, bytes] = {}
        """The last small objects of the bucket that were read or written, by their paths."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the bucket, which has the options, the copies of its logs, and what was read."""
        members = {name: value for name, value in vars(self).items() if name not in ("bucket", "logs")}
        return {**members, "_tables": {}, "_objects": {}}

    def open(self, name: str) -> "DeltaTable | None":
        """Return the current table, or `None` if nothing is stored yet."""
        if self.is_local and not check_log(self.root, name):
            # deltalake takes a millisecond to find that out.
            return None
        try:
            kind = _folder_table() if self.is_local else deltalake.DeltaTable
            table: DeltaTable = self.options.open(kind, f"{self.root}/{name}")
        except deltalake.exceptions.TableNotFoundError:
            return None
        except (deltalake.exceptions.DeltaError, OSError) as error:
            raise self._error_of_open(name, error) from None
        return table

    def _error_of_open(self, name: str, error: Exception) -> Exception:
        translated_error = translate_error(self.root, error)
        # No writer leaves a commit that deltalake cannot read.
        is_damage = translated_error is error and self.is_local and not isinstance(error, OSError)
        return error_of_log(self.root, name, error) if is_damage else translated_error

    def has(self, name: str) -> bool:
        """Return whether something is stored in a table."""
        return newest_version(self.root, name) >= 0 if self.is_local else self.open(name) is not None

    def keep(self, table: "DeltaTable | None") -> None:
        """Take back an opened table, if there is one, that the caller no longer uses, until `forget_files`."""
        if table is not None:
            self._tables[name_of(table)] = table

    def reopen(self, name: str) -> "DeltaTable | None":
        """Return the current table. Of one that was kept, only what is new in its log is read.

        It is the caller's alone: in two threads, one would wait for the table and the other for Python's lock.
        """
        table = self._tables.pop(name, None)
        if self.logs is not None:
            try:
                return self.logs.open(name, table if table is not None and self.logs.has(table) else None)
            except (UnusualLog, obstore.exceptions.BaseError):
                # deltalake reads any log, and may have credentials that obstore does not find.
                return self.open(name)
        if table is None:
            return self.open(name)
        try:
            table.update_incremental()
        except (deltalake.exceptions.DeltaError, OSError) as error:
            raise self._error_of_open(name, error) from None
        return table

    def take(self, name: str) -> "DeltaTable | None":
        """Return the table as it was when it was kept, or else the current one."""
        return self._tables.pop(name, None) or self.reopen(name)

    def in_place(self, table: "DeltaTable") -> "DeltaTable":
        """Return an opened table for deltalake to write or read: if it is of a copied log, the one in the bucket."""
        if self.logs is None or not self.logs.has(table):
            return table
        address = f"{self.root}/{name_of(table)}"
        delta_table: DeltaTable = self.options.open(deltalake.DeltaTable, address, version=table.version())
        return delta_table

    def open_checked(self, name: str) -> "DeltaTable | None":
        """Return the table for reading; raises `DecodeError` if one of its files is damaged, or its log was cut."""
        if self.is_local:
            check_last_commits(self.root, name)
        table = self.reopen(name)
        if table is not None and self.is_local:
            check_files(self.root, name, table)
        return table

    def open_or_create(self, name: str, schema: "pa.Schema") -> "DeltaTable":
        """Return the table; create it if it does not exist."""
        for attempt in range(_MAX_ATTEMPTS):
            if (table := self.reopen(name)) is not None:
                return table
            create = partial(
                deltalake.DeltaTable.create,
                schema=with_comments(name, schema),
                mode="error",
                partition_by=[MONTH] if MONTH in schema.names else None,
                description=comments_of(name)[0],
                configuration={
                    "sideline.version": __version__,
                    "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
                    # By their number instead: see `compact`.
                    "delta.enableExpiredLogCleanup": "false",
                    **configuration(schema),
                },
                raise_if_key_not_exists=False,
            )
            try:
                if self.logs is not None:
                    self.logs.create(name, 0, text_of_creation(self.root, name, create))
                    continue
                delta_table: DeltaTable = self.options.open(create, f"{self.root}/{name}")
            except OSError as error:
                raise translate_error(self.root, error) from None
            except deltalake.exceptions.DeltaError as error:
                # Another writer created it first.
                if attempt == _MAX_ATTEMPTS - 1:
                    raise translate_error(self.root, error) from None
                self.wait(attempt)
            else:
                return delta_table
        raise AssertionError

    def select(
        self,
        table: "DeltaTable",
        columns: Sequence[str] | None = None,
        texts: tuple[str, Collection[str]] | None = None,
        months: Collection[str] | None = None,
        *,
        size: int = 8192,
        schema: "pa.Schema | None" = None,
    ) -> "Iterator[pa.RecordBatch]":
        """Yield rows of an opened table, `size` in memory at a time: those of months, with one of the texts in a
        column. What cannot have them is not read: files of other months, files and row groups.

        `schema`: of a table that is not the archive's own.
        """
        schema = schema or internal_schemas()[name_of(table)]
        names = schema.names if columns is None else columns
        column, values = texts or (None, ())
        if column is not None and not values:
            return
        bounds = (min(values, default=""), max(values, default=""))
        for file in listed_files(table, column):
            month = file.get(MONTH_OF_FILE)
            is_other_month = months is not None and month not in months
            if is_other_month or (column is not None and is_outside(file, column, bounds)):
                continue
            with self.open_file(table, file) as stream:
                file_rows = parquet.ParquetFile(stream)
                # pyarrow converts the whole schema for each use.
                present_names = list({*names, column} & {*file_rows.schema_arrow.names})
                groups = list(range(file_rows.num_row_groups))
                if column is not None:
                    groups = [
                        group for group in groups if _may_have(file_rows.metadata.row_group(group), column, bounds)
                    ]
                    keys = ((group, file_rows.read_row_group(group, [column])[column]) for group in groups)
                    groups = [group for group, key in keys if True in has_one(key, values).to_pylist()]
                for batch in file_rows.iter_batches(size, groups, present_names, use_threads=False):
                    rows = batch if column is None else batch.filter(has_one(batch[column], values))
                    yield with_columns(rows, names, schema, month)

    def forget_files(self) -> None:
        """Drop the objects that were read, and opened tables."""
        self._objects.clear()
        self._tables.clear()

    @property
    def can_add_files(self) -> bool:
        """Whether it writes files itself. For a bucket that takes obstore."""
        return self.is_local or find_spec("obstore") is not None

    @cached_property
    def bucket(self) -> Any:
        """The bucket for obstore."""
        return self.options.open(open_bucket, self.root)

    @cached_property
    def logs(self) -> LogCopy | None:
        """The copies of the logs of a bucket, if it can be written by conditional puts."""
        if self.is_local or not self.can_add_files or not self.options.has(has_conditional_puts):
            return None
        try:
            return LogCopy(self.bucket)
        except Exception:  # noqa: BLE001 - obstore knows fewer options than deltalake, which can do without it
            return None

    def open_file(self, table: "DeltaTable", file: Mapping[str, Any]) -> Any:
        """Open a file of an opened table for reading. A small object of a bucket is read at once, and kept."""
        if self.logs is None or file["size_bytes"] > _MAX_WHOLE_OBJECT:
            return self._filesystem(table).open_input_file(unquote(file["path"]))
        path = f"{name_of(table)}/{unquote(file['path'])}"
        body = self._objects.get(path)
        if body is None:
            body = bytes(obstore.get(self.bucket, path).bytes())
            self.keep_object(path, body)
        return pa.BufferReader(body)

    def keep_object(self, path: str, data: bytes) -> None:
        """Keep what a small object of the bucket holds until `forget_files`; the oldest ones make room."""
        if len(data) > _MAX_WHOLE_OBJECT:
            return
        objects = {**self._objects, path: data}
        while sum(map(len, objects.values())) > self.settings.max_kept_bytes:
            del objects[next(iter(objects))]
        # A new dict: another thread may change the one before.
        self._objects = objects

    def rows_of_file(self, table: "DeltaTable", file: Mapping[str, Any], columns: Sequence[str]) -> "pa.Table":
        """Return those of the columns that the file has."""
        with self.open_file(table, file) as stream:
            return parquet.ParquetFile(stream, pre_buffer=True).read(columns, use_threads=False)

    def dataset(self, table: "DeltaTable") -> Any:
        """Return the rows of a table as a dataset of Arrow, which in a folder reads files without Python.

        A thread of Arrow may free a buffer of Python after the interpreter has ended, and would abort the process.
        """
        return table.to_pyarrow_dataset(filesystem=self._local_filesystem(table))

    def _filesystem(self, table: "DeltaTable") -> Any:
        """Return the file system of the table's folder."""
        return self._local_filesystem(table) or self.in_place(table).to_pyarrow_dataset().filesystem

    def _local_filesystem(self, table: "DeltaTable") -> Any:
        """Return Arrow's own file system of the table's folder, or `None` if deltalake must read it."""
        # Only deltalake knows the options of a bucket, and which features of later protocols it cannot read.
        if not self.is_local or table.protocol().min_reader_version > 1:
            return None
        fs: Any = library("pyarrow.fs", "archive")
        return fs.SubTreeFileSystem(f"{self.root}/{name_of(table)}", fs.LocalFileSystem())

    def replace(self, name: str, rows: "Callable[[], pa.Table | pa.RecordBatchReader]", predicate: str | None) -> None:
        """Replace the rows that match the predicate, or all, in one transaction, after those of other writers.

        `rows` is called again for each attempt, because a reader can be read once.
        """
        for attempt in range(_MAX_ATTEMPTS):
            new_rows = rows()
            table = self.open_or_create(name, new_rows.schema)
            if self.try_replace(table, new_rows, predicate):
                self.keep(table)
                return
            self.wait(attempt)
        raise self.error_of_contention(name)

    def try_replace(self, table: "DeltaTable", rows: Any, predicate: str | None) -> bool:
        """Replace rows of an opened table. Returns false if another writer has changed such rows since."""
        name = name_of(table)
        self.written.add(name)
        try:
            target = self.in_place(table)
            deltalake.write_deltalake(
                target,
                rows,
                mode="overwrite",
                predicate=predicate,
                schema_mode="merge" if predicate else "overwrite",
                writer_properties=self.writer_properties(name),
                commit_properties=self.commit_properties(name),
            )
        except deltalake.exceptions.CommitFailedError:
            # Another writer changed rows that the predicate matches, or created the table.
            return False
        except (deltalake.exceptions.DeltaError, OSError) as error:
            raise self.error_of_write(table, error) from None
        if target is not table and self.logs is not None:
            self.logs.open(name, table)
        trim()
        return True

    def writer_properties(self, name: str) -> Any:
        """Return the options for writing files of the table."""
        if name != "raw":
            return deltalake.WriterProperties(compression="ZSTD", max_row_group_size=MAX_ROW_GROUP)
        # Statistics would hold two whole bodies of each row group.
        body = deltalake.ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")
        return deltalake.WriterProperties(
            compression="ZSTD",
            max_row_group_size=self.settings.max_row_group_bodies,
            column_properties={"body": body},
        )

    def commit_properties(self, name: str, **options: Any) -> Any:
        """Return the metadata of a commit of a table as deltalake takes it."""
        return deltalake.CommitProperties(custom_metadata=self.commit_metadata(name), **options)

    def commit_metadata(self, name: str) -> dict[str, str]:
        """Return what a commit of a table records: the version of sideline and the number of the last lease.

        A commit of `coverage` in a folder also records the versions of the other tables' logs.
        """
        metadata = {"sideline": __version__, **({} if self.fence is None else {"lease": str(self.fence)})}
        if self.is_local and name == "coverage":
            versions = recorded_versions(self.root)
            for table in (*TABLES, "corrections"):
                newest = newest_version(self.root, table)
                versions[table] = newest if table in self.rebuilt else max(newest, versions.get(table, -1))
            metadata[VERSIONS] = json.dumps({table: version for table, version in versions.items() if version >= 0})
        return metadata

    def error_of_write(self, table: "DeltaTable", error: Exception) -> Exception:
        """Return the error to raise when a table could not be changed."""
        try:
            if self.is_local:
                check_files(self.root, name_of(table), table)
        except DecodeError as damage:
            return damage
        return translate_error(self.root, error)

    def error_of_contention(self, name: str) -> Exception:
        """Return the error to raise when other writers were always faster."""
        return TimeoutError(f"{self.root}: other writers changed {name} again and again; sync again when they are done")

    @staticmethod
    def wait(attempt: int) -> None:
        """Wait between two attempts to commit."""
        time.sleep(random.uniform(0.005, 0.02 * 2 ** min(attempt, 5)))
