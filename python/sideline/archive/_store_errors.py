"""Missing credentials, damaged files and a full disk, as errors that say what to do."""

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sideline._frames import library
from sideline._text import visible
from sideline.errors import ConfigurationError, DecodeError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_TO_SET = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (where it is not Amazon's: AWS_ENDPOINT_URL)",
    "gs": "GOOGLE_SERVICE_ACCOUNT (the path of a key file)",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_SCHEMES = {"s3a": "s3", "adl": "az", "abfs": "az", "abfss": "az"}

_REFUSED = re.compile(
    r"credential|IMDS|metadata service|token request|instance/service-accounts|Account must be|\b40[13]\b|Forbidden"
    r"|Unauthorized|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|region",
    re.IGNORECASE,
)
_FULL = re.compile(r"No space left on device|File too large|Disk quota exceeded|os error (?:28|27|122)\b")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def told(root: str, error: Exception) -> Exception:
    """The error to raise in place of one of deltalake's; the same one where there is nothing better to say."""
    text = _COLOUR.sub("", str(error))
    if full := _FULL.search(text):
        return OSError(
            errno.ENOSPC,
            f"{root} has no room left ({full[0]}): free some and sync again; what was stored is kept. "
            "Should a table turn out to be damaged, archive.rebuild(name) makes it anew",
        )
    scheme = root.partition("://")[0] if "://" in root else ""
    names = _TO_SET.get(_SCHEMES.get(scheme, scheme))
    if names is not None and _REFUSED.search(text):
        return ConfigurationError(
            f"{root} cannot be opened ({_last_line(text)}): set {names} in the environment, or give storage_options="
        )
    return error


def _last_line(text: str) -> str:
    """The innermost cause, which stands last."""
    lines = [line.strip(" \t↳.") for line in text.splitlines() if line.strip(" \t↳.")]
    return visible(lines[-1] if lines else "no reason given")[:200]


def check_files(root: str, name: str, table: "DeltaTable") -> None:
    """Raise `DecodeError` where a file of the table is gone or not as long as it was written.

    Readers of Parquet do not all survive a cut file. A store that is not a folder has no half files.
    """
    for path, size in _files(table):
        file = Path(root) / name / path
        try:
            found = file.stat().st_size
        except FileNotFoundError:
            found = None
        if found != size:
            what = "is gone" if found is None else f"has {found} bytes, but {size} were written"
            raise DecodeError(f"{file} {what}: {remedy(name)}")


def remedy(name: str) -> str:
    """What to do about a damaged table."""
    if name == "raw":
        return "restore it from a copy; other tables stay readable. No archive.rebuild(name) works without the bodies"
    if name in ("coverage", "corrections"):
        return f"restore {name} from a copy: it is the archive's own record, which archive.rebuild(name) does not make"
    return f"archive.rebuild({name!r}) makes the table anew"


def _files(table: "DeltaTable") -> "list[tuple[str, int]]":
    actions = library("pyarrow", "archive").table(table.get_add_actions())
    paths, sizes = (actions.column(name).to_pylist() for name in ("path", "size_bytes"))
    return [(unquote(path), size) for path, size in zip(paths, sizes, strict=True)]
