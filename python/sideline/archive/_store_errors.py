"""Explains missing credentials, damaged files and full disks."""

import errno
import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .._rows import visible
from ..errors import ConfigurationError, DecodeError
from . import _arrow
from ._libraries import parquet
from ._log_copy import LOG
from ._plan import TABLES

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from ._store import Store

_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (and AWS_ENDPOINT_URL if it is not Amazon's)",
    "gs": "GOOGLE_SERVICE_ACCOUNT (the path of a key file)",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_SCHEMES = {"s3a": "s3", "adl": "az", "abfs": "az", "abfss": "az"}

_CREDENTIALS_PATTERN = re.compile(
    r"credential|IMDS|metadata service|token request|instance/service-accounts|Account must be|\b40[13]\b|Forbidden"
    r"|Unauthorized|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|region",
    re.IGNORECASE,
)
_DISK_FULL_PATTERN = re.compile(r"No space left on device|File too large|Disk quota exceeded|os error (?:28|27|122)\b")
_REFUSED_PATTERN = re.compile(r"Could not create local directory.*?\bcode: (\d+)|\bos error (1|13|30)\b", re.DOTALL)
"""A folder cannot be created, or may not be read or written."""
_CODE_PATTERN = re.compile(r"<Code>(\w+)</Code>")
"""The reason in an error document of a bucket."""
_READERS = ("pyarrow", "polars", "deltalake", "_internal", "duckdb", "_duckdb", "pyo3_runtime")
"""The modules of exceptions of libraries that read Parquet."""
_BATCH_SIZE = 1024

VERSIONS = "versions"
"""What a commit of `coverage` in a folder says of the other logs, which may lose their last commits without a trace."""

_COLOUR_PATTERN = re.compile(r"\x1b\[[0-9;]*m")


def translate_error(root: str, error: Exception) -> Exception:
    """Return the error to raise in place of one of deltalake's; the same error if there is no better one."""
    text = _COLOUR_PATTERN.sub("", str(error))
    if full := disk_full(error):
        return OSError(
            errno.ENOSPC,
            f"{root} has no room left ({full}): free some space and sync again; stored data is kept. "
            "If a table turns out to be damaged, archive.rebuild(name) restores it",
        )
    if match := _REFUSED_PATTERN.search(text):
        number = int(match[1] or match[2])
        return OSError(number, f"{root} cannot be accessed: {os.strerror(number)}")
    scheme = root.partition("://")[0] if "://" in root else ""
    names = _VARIABLES.get(_SCHEMES.get(scheme, scheme))
    if names is not None and _CREDENTIALS_PATTERN.search(text):
        return ConfigurationError(
            f"{root} cannot be opened ({_last_line(text)}): set {names} in the environment, or pass storage_options="
        )
    if scheme and type(error) is OSError and error.errno is None:
        code = _CODE_PATTERN.search(text)
        reason = code[1] if code else _last_line(text)
        return OSError(f"{root} cannot be reached ({reason}): check the bucket, its endpoint and the network")
    return error


def disk_full(error: BaseException) -> str | None:
    """Return what an error says about a full disk, whichever library raised it; `None` if it is another error."""
    full = _DISK_FULL_PATTERN.search(str(error))
    return None if full is None else full[0]


def _last_line(text: str) -> str:
    """Return the innermost cause, which is in the last line."""
    lines = [line.strip(" \t↳.") for line in text.splitlines() if line.strip(" \t↳.")]
    return visible(lines[-1] if lines else "no reason given")[:200]


def check_files(root: str, name: str, table: "DeltaTable") -> None:
    """Raise `DecodeError` if a file of the table is missing or has the wrong size.

    Some Parquet readers crash on a truncated file. Object stores have no half-written files.
    """
    for path, size in _files(table):
        file = Path(root) / name / path
        try:
            actual_size = file.stat().st_size
        except FileNotFoundError:
            actual_size = None
        if actual_size != size:
            problem = "is missing" if actual_size is None else f"has {actual_size} bytes, but {size} were written"
            raise DecodeError(f"{file} {problem}: {remedy(name)}")


def check_log(root: str, name: str) -> bool:
    """Return whether the folder of a table has a log; raise `DecodeError` if a commit is empty, which deltalake takes
    for one that changed nothing. A loss of power may leave such a file."""
    folder = Path(root, name, LOG)
    try:
        entries = os.listdir(folder)
    except FileNotFoundError:
        return False
    for entry in entries:
        # Another process may have removed an old entry meanwhile.
        with suppress(FileNotFoundError):
            if entry.endswith(".json") and not os.stat(folder / entry).st_size:
                raise error_of_log(root, name, f"{entry} is empty")
    return True


def recorded_versions(root: str) -> dict[str, int]:
    """Return the version of the log of each table in a folder by the last commit of `coverage`, if there is one."""
    folder = Path(root, "coverage", LOG)
    if (version := newest_version(root, "coverage")) < 0 or not (commit := folder / f"{version:020}.json").exists():
        return {}
    try:
        with commit.open(encoding="utf-8") as lines:
            info = next((line for line in lines if line.startswith('{"commitInfo"')), "{}")
        versions: dict[str, int] = json.loads(json.loads(info).get("commitInfo", {}).get(VERSIONS, "{}"))
    except (AttributeError, ValueError) as error:
        raise error_of_log(root, "coverage", error) from None
    return versions


def newest_version(root: str, name: str) -> int:
    """Return the last version in the log of a table in a folder, or -1."""
    try:
        entries = os.listdir(Path(root, name, LOG))
    except (FileNotFoundError, NotADirectoryError):
        return -1
    return max((int(entry[:20]) for entry in entries if entry[:20].isdigit()), default=-1)


def check_last_commits(root: str, name: str) -> None:
    """Raise `DecodeError` if the log of a table in a folder ends before the version that `coverage` has recorded."""
    # A commit by another process after this is a later version.
    recorded_version = recorded_versions(root).get(name, -1) if name in TABLES else -1
    if -1 < newest_version(root, name) < recorded_version:
        raise error_of_log(root, name, "its last commits are missing")


def error_of_log(root: str, name: str, reason: object) -> DecodeError:
    """Return the error to raise where the log of a table in a folder cannot be read."""
    first_line = visible(str(reason).partition("\n")[0])[:200]
    subject = f"the log of {Path(root) / name} is damaged ({first_line})"
    return DecodeError(f"{subject}: {'delete this folder, and ' if name in TABLES else ''}{remedy(name)}")


def is_from_a_reader(error: BaseException) -> bool:
    """Return whether a library that reads Parquet raised the error. pyarrow also raises `OSError` without a number."""
    return type(error).__module__.partition(".")[0] in _READERS or (type(error) is OSError and error.errno is None)


def find_damage(store: "Store", names: Iterable[str]) -> str | None:
    """Return a text about the first local file that cannot be read and what to do about it."""
    if not store.is_local:
        return None
    for name in names:
        if (table := store.open_checked(name)) is None:
            continue
        for path, _ in _files(table):
            file = Path(store.root) / name / path
            try:
                for _ in parquet.ParquetFile(file).iter_batches(_BATCH_SIZE):
                    pass
            except Exception as error:  # noqa: BLE001 - whatever the reader says, the file is what is wrong
                return f"{file} is damaged ({_last_line(str(error))}): {remedy(name)}"
    return None


def remedy(name: str) -> str:
    """Return what to do about a damaged table."""
    if name == "raw":
        return "restore it from a copy; other tables stay readable. archive.rebuild(name) does not work without it"
    if name in ("coverage", "corrections"):
        return f"restore {name} from a copy: archive.rebuild(name) cannot restore the archive's own records"
    if name not in TABLES:
        return f"the next sync makes {name} again once its folder is deleted"
    return f"archive.rebuild({name!r}) restores the table"


def _files(table: "DeltaTable") -> "list[tuple[str, int]]":
    actions = _arrow.import_table(table.get_add_actions())
    paths, sizes = (actions.column(name).to_pylist() for name in ("path", "size_bytes"))
    return [(unquote(path), size) for path, size in zip(paths, sizes, strict=True)]
