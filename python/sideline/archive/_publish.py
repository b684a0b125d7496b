"""A published season: plain Parquet files with a manifest by which anybody can verify them."""

import errno
import glob
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from .._core import __version__
from .._rows import replaced_file
from ._libraries import parquet, pl
from ._life import SEVERITY
from ._plan import ANSWERS, TABLES
from ._pseudonyms import replace_frame
from ._read import require, scan
from ._store import Store
from ._store_errors import disk_full

if TYPE_CHECKING:
    from .._companions import Pseudonyms
    from .._core import Table

MANIFEST = "manifest.json"

_FORMAT = 1
_SUFFIX = ".publishing"
"""The end of the name of a folder that is not complete yet."""
_TABLES = (*TABLES, *ANSWERS, "coverage", "corrections")
_CHUNK_BYTES = 2**20


class UnusableManifest(ValueError):
    """The manifest is not that of a published season which this version reads."""


def publish(
    store: Store, path: str | os.PathLike[str], verdicts: "Table", pseudonyms: "Pseudonyms | None" = None
) -> None:
    """Write the tables and the manifest into a new folder, whole or not at all."""
    require(store)
    target = Path(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is not empty: publish into a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder, lock = _locked_folder(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        tables = {name: _write(store, name, folder, pseudonyms) for name in _TABLES}
        games = _games(verdicts.to_dicts())
        if pseudonyms is not None:
            games = [_without_names(game, pseudonyms) for game in games]
        manifest = {"format": _FORMAT, "sideline": __version__, "tables": tables, "games": games}
        with replaced_file(folder / MANIFEST) as file:
            file.write(json.dumps(manifest, indent=1, ensure_ascii=False))
        folder.chmod(0o755)
        if target.exists():
            target.rmdir()
        folder.replace(target)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if full := disk_full(error):
            raise OSError(errno.ENOSPC, full, str(target)) from None
        if isinstance(error, OSError) and str(error.filename).startswith(str(folder)):
            raise OSError(error.errno, error.strerror, str(target)) from None
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _locked_folder(target: Path) -> tuple[Path, int | None]:
    """Return a new hidden folder, and a descriptor that locks it while this process lives.

    Folders that a killed process left for the same target are removed.
    """
    prefix = f".{target.name[:40]}."
    for remains in target.parent.glob(f"{glob.escape(prefix)}*{_SUFFIX}"):
        lock = _lock(remains)
        if lock is not None:
            shutil.rmtree(remains, ignore_errors=True)
            os.close(lock)
    new_folder = Path(mkdtemp(prefix=prefix, dir=target.parent))
    lock = _lock(new_folder)
    # It gets the suffix once it is locked, so that no other process takes it for such a folder.
    return new_folder.rename(f"{new_folder}{_SUFFIX}"), lock


def _lock(folder: Path) -> int | None:
    """Lock a folder; `None` if it is locked, or where folders cannot be."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # Windows; a folder that no longer exists
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _write(store: Store, name: str, folder: Path, pseudonyms: "Pseudonyms | None") -> dict[str, Any]:
    """Write a table, a few rows in memory at a time, and return its entry in the manifest."""
    file = folder / name / "part-0.parquet"
    file.parent.mkdir()
    frame = scan(store, name)
    try:
        (frame if pseudonyms is None else replace_frame(frame, pseudonyms)).sink_parquet(file)
    except pl.exceptions.ComputeError:
        # Of the last bytes of a file polars does not say why they cannot be written; others cannot be either.
        with file.open("ab") as end:
            end.write(bytes(_CHUNK_BYTES))
        raise
    metadata = parquet.read_metadata(file)
    schema = metadata.schema.to_arrow_schema()
    columns = [f"{field.name}: {field.type}" for field in schema]
    entry = {
        "path": f"{name}/{file.name}",
        "rows": metadata.num_rows,
        "bytes": file.stat().st_size,
        "sha256": _digest(file),
    }
    return {"schema_version": sha256("\n".join(columns).encode()).hexdigest()[:16], "files": [entry]}


def _games(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the verdict of each game, the worst of its tables, with the reasons."""
    games: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        games.setdefault(row["game_id"], []).append(row)
    verdicts = []
    for game_id, of_game in games.items():
        worst = min((row["status"] for row in of_game), key=SEVERITY.index)
        reasons = [
            f"{row['table']}: {reason}" for row in of_game if row["status"] == worst for reason in row["reasons"]
        ]
        verdicts.append({"game_id": game_id, "verdict": worst, "reasons": reasons})
    return verdicts


def _without_names(game: Mapping[str, Any], pseudonyms: "Pseudonyms") -> dict[str, Any]:
    """Return a verdict with the tables of its reasons alone: the reasons quote the service and its ids."""
    tables = dict.fromkeys(reason.partition(":")[0] for reason in game["reasons"])
    return {**game, "game_id": pseudonyms.text(game["game_id"]), "reasons": list(tables)}


def verify(path: str | os.PathLike[str]) -> list[str]:
    """Return a line for each changed, missing or additional file of a published season; none if it is as published.

    Raises `FileNotFoundError` if there is no manifest, `ValueError` if it is not one of a published season.

    >>> import tempfile
    >>> from sideline.archive import verify
    >>> folder = f"{tempfile.mkdtemp()}/release"
    >>> archive.publish(folder)
    >>> verify(folder)
    []
    """
    folder = Path(path)
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise FileNotFoundError(f"{folder} has no {MANIFEST}: it is not a published season")
    entries = dict(_entries(manifest))
    problems = []
    for name, (size, digest) in entries.items():
        file = folder / name
        if file.is_symlink() or not file.is_file():
            problems.append(f"{name}: missing")
        elif file.stat().st_size != size or _digest(file) != digest:
            problems.append(f"{name}: changed")
    present = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()}
    additional = sorted(present - entries.keys() - {MANIFEST})
    return problems + [f"{name}: additional" for name in additional]


def _entries(manifest: Path) -> Iterator[tuple[str, tuple[int, str]]]:
    try:
        document = json.loads(manifest.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            raise UnusableManifest(f"{manifest} has format {document['format']!r}: a newer sideline reads it")
        for table in document["tables"].values():
            for entry in table["files"]:
                name, size, digest = str(entry["path"]), int(entry["bytes"]), str(entry["sha256"])
                if name.startswith("/") or ".." in Path(name).parts:
                    raise UnusableManifest(f"{manifest} names a file outside its folder: {name[:200]!r}")
                yield name, (size, digest)
    except UnusableManifest:
        raise
    except (KeyError, TypeError, AttributeError, OverflowError, RecursionError, ValueError) as error:
        raise UnusableManifest(f"{manifest} is not the manifest of a published season") from error


def _digest(file: Path) -> str:
    digest = sha256()
    with file.open("rb") as content:
        while chunk := content.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
