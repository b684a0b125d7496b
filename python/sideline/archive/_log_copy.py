"""Copies the logs of the tables in a bucket, so that each entry is requested once.

An entry of a Delta log never changes. deltalake requests those of a table twice each time it opens the table, and for
each commit lists the log three times and reads the commit again. Here a table is opened from a copy in a temporary
folder, which one list of its log brings up to date, and a commit is one conditional put. An object of the bucket has
the copies of all logs for the next process; what the list does not confirm is not used.
"""

import io
import json
import os
import re
import threading
import time
import weakref
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any

from .._core import __version__
from ._libraries import deltalake, obstore

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"

_ENTRY = re.compile(rf"(\w+)/{LOG}/(\d{{20}})\.(json|checkpoint\.parquet)")
_OBJECT = "_logs.zip"

CHECKPOINT_INTERVAL = 10
"""Commits between two checkpoints: to open a table reads every commit since the last one."""

_PROTOCOL = (1, 2)
"""The versions of the protocol, for readers and writers, that the tables are made with. Any other is left to
deltalake."""


class UnusualLog(Exception):
    """The log is not one that sideline writes, for instance with a checkpoint in several files."""


class LogCopy:
    """The copies of the logs of one bucket."""

    def __init__(self, bucket: Any) -> None:
        self._bucket = bucket
        self._folder = Path(mkdtemp(prefix="sideline-"))
        weakref.finalize(self, _remove, self._folder, os.getpid())
        self._tags: dict[str, str] = {}
        """For each entry in the folder, the tag that it has in the bucket."""
        self._sources: dict[str, list[str]] = {}
        """For each table, the entries that its newest version is read from."""
        self._oldest: dict[str, int] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._is_loaded = self._is_changed = False

    def has(self, table: "DeltaTable") -> bool:
        """Return whether the table was opened from a copy."""
        return self._folder.name in table.table_uri

    def open(self, name: str, previous: "DeltaTable | None" = None) -> "DeltaTable | None":
        """Return the current table, or `None` if it does not exist; `previous` is the same table at an earlier version.

        Raises `UnusualLog`, and errors of obstore.
        """
        with self._locks[""]:
            self._load()
        with self._locks[name]:
            update = self._update(name)
            if update is None:
                self._forget(name)
                return None
            version, is_same = update
            if previous is not None and is_same:
                with suppress(deltalake.exceptions.DeltaError, OSError):
                    previous.update_incremental()
                if previous.version() == version:
                    return previous
            try:
                table: DeltaTable = deltalake.DeltaTable(self._folder / name)
            except (deltalake.exceptions.DeltaError, OSError) as error:
                raise UnusualLog(name) from error
            protocol = table.protocol()
            if (protocol.min_reader_version, protocol.min_writer_version) != _PROTOCOL or table.version() != version:
                raise UnusualLog(name)
            return table

    def oldest(self, name: str) -> int:
        """Return the version of the oldest entry of a table's log when it was last listed."""
        return self._oldest.get(name, 0)

    def _update(self, name: str) -> tuple[int, bool] | None:
        """Request what the copy lacks. Returns the newest version and whether the copy was of the same table, or
        `None` if the table does not exist."""
        tags = {item["path"]: _tag(item) for item in obstore.list(self._bucket, f"{name}/{LOG}").collect()}
        entries = {path: match for path in tags if (match := _ENTRY.fullmatch(path))}
        checkpoints = {int(match[2]): path for path, match in entries.items() if match[3] != "json"}
        base = max(checkpoints, default=-1)
        commits = {int(match[2]): path for path, match in entries.items() if match[3] == "json"}
        later = sorted(version for version in commits if version > base)
        if not tags:
            return None
        if later != list(range(base + 1, base + 1 + len(later))) or not entries:
            raise UnusualLog(name)
        sources = [*([checkpoints[base]] if base >= 0 else []), *(commits[version] for version in later)]
        remaining = {path for path in self._sources.get(name, ()) if path in tags}
        is_same = all(tags[path] and self._tags[path] == tags[path] for path in remaining)
        if not is_same:
            # The table was deleted and made again.
            self._forget(name)
        for path in sources:
            if path not in self._tags:
                self._write(path, bytes(obstore.get(self._bucket, path).bytes()), tags[path])
        self._sources[name] = sources
        self._oldest[name] = min(int(match[2]) for match in entries.values())
        return (later[-1] if later else base), is_same

    def _forget(self, name: str) -> None:
        rmtree(self._folder / name, ignore_errors=True)
        self._sources.pop(name, None)
        self._tags = {path: tag for path, tag in self._tags.items() if not path.startswith(f"{name}/")}

    def commit(self, table: "DeltaTable", name: str, text: bytes) -> bool:
        """Commit the next version of an opened table. Returns false if another writer has committed that one."""
        version = table.version() + 1
        if not self.create(name, version, text):
            return False
        with self._locks[name]:
            table.update_incremental()
            if (version + 1) % CHECKPOINT_INTERVAL == 0 and table.version() == version:
                # The commit is done, and a later one makes a checkpoint too.
                with suppress(obstore.exceptions.BaseError):
                    self._add_checkpoint(table, name)
        return True

    def create(self, name: str, version: int, text: bytes) -> bool:
        """Add a commit to a log. Returns false if there is one of that version."""
        path = f"{name}/{LOG}/{version:020}.json"
        try:
            output = obstore.put(self._bucket, path, text, mode="create", use_multipart=False)
        except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
            return False
        with self._locks[name]:
            self._write(path, text, _tag(output))
            self._sources.setdefault(name, []).append(path)
        return True

    def _add_checkpoint(self, table: "DeltaTable", name: str) -> None:
        table.create_checkpoint()
        path = f"{name}/{LOG}/{table.version():020}.checkpoint.parquet"
        output = obstore.put(self._bucket, path, (self._folder / path).read_bytes(), use_multipart=False)
        self._tags[path] = _tag(output)
        self._sources[name] = [path]
        last = f"{name}/{LOG}/_last_checkpoint"
        obstore.put(self._bucket, last, (self._folder / last).read_bytes(), use_multipart=False)

    def _load(self) -> None:
        """Take the copies that another process kept, once."""
        if self._is_loaded:
            return
        self._is_loaded = True
        # A cache: without it each entry is requested.
        with suppress(FileNotFoundError, zipfile.BadZipFile):
            data = bytes(obstore.get(self._bucket, _OBJECT).bytes())
            with zipfile.ZipFile(io.BytesIO(data)) as copies:
                for entry in copies.infolist():
                    if match := _ENTRY.fullmatch(entry.filename):
                        self._write(entry.filename, copies.read(entry), entry.comment.decode())
                        self._sources.setdefault(match[1], []).append(entry.filename)
        self._is_changed = False

    def save(self) -> None:
        """Keep the copies for the next process, if they have changed."""
        if not self._is_changed:
            return
        self._is_changed = False
        # Everything is stored, and the next process can request the entries.
        with suppress(obstore.exceptions.BaseError, OSError):
            self._save()

    def _save(self) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as copies:
            for path in [path for name in sorted(self._sources) for path in self._sources[name]]:
                entry = zipfile.ZipInfo(path)
                entry.comment = self._tags[path].encode()
                copies.writestr(entry, (self._folder / path).read_bytes(), zipfile.ZIP_DEFLATED)
        obstore.put(self._bucket, _OBJECT, buffer.getvalue(), use_multipart=False)

    def _write(self, path: str, data: bytes, tag: str) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_bytes(data)
        part.replace(file)
        self._tags[path] = tag
        self._is_changed = True


def _remove(folder: Path, process: int) -> None:
    # The folder of a forked process is its parent's.
    if os.getpid() == process:
        rmtree(folder, ignore_errors=True)


def _tag(item: Mapping[str, Any]) -> str:
    """Return the tag of an object. Without tags nothing is taken from another process."""
    return (item["e_tag"] or "").strip('"')


def text_of_commit(metadata: Mapping[str, str], actions: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the entry of a log for one commit."""
    info = {"timestamp": time.time_ns() // 1_000_000, "operation": "WRITE", "operationParameters": {"mode": "Append"}}
    info |= {"engineInfo": f"sideline:{__version__}", **metadata}
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in ({"commitInfo": info}, *actions)).encode()


def text_of_creation(root: str, name: str, create: Callable[[str], Any]) -> bytes:
    """Return the first entry of the log of a table that `create` makes in the folder that it is called with."""
    with TemporaryDirectory(prefix="sideline-") as folder:
        create(f"{folder}/{name}")
        lines = Path(folder, name, LOG, f"{0:020}.json").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    first["commitInfo"]["operationParameters"]["location"] = f"{root}/{name}"
    return "\n".join((json.dumps(first, separators=(",", ":")), *lines[1:])).encode()
