"""Files that are written whole or not at all."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from tempfile import mkstemp
from typing import TextIO


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a file that takes the place of the one at `path` once it is complete, in UTF-8.

    "-" is standard output, and so is a path that leads there. Raises `ValueError` for a link, a pipe, a device or
    another file that is not regular, and `OSError` where the file cannot be written; it is as before then.
    """
    target = Path(path)
    if str(path) == "-" or _is_standard_output(target):
        sys.stdout.flush()
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is None or sys.stdout.isatty():
            yield sys.stdout
            sys.stdout.flush()
            return
        file = TextIOWrapper(buffer, encoding="utf-8", newline="")
        try:
            yield file
        finally:
            file.detach()
        return
    with _replace_by(target) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def replaced_path(path: str | os.PathLike[str], suffix: str = "") -> Iterator[Path]:
    """As `replaced_file`, for a library that writes the file by its path; the suffix may tell it the format."""
    target = Path(path)
    if str(path) != "-" and not _is_standard_output(target):
        with _replace_by(target, suffix) as temporary:
            yield temporary
        return
    descriptor, name = mkstemp(suffix)
    os.close(descriptor)
    try:
        yield Path(name)
        sys.stdout.buffer.write(Path(name).read_bytes())
        sys.stdout.buffer.flush()
    finally:
        Path(name).unlink()


@contextmanager
def _replace_by(target: Path, suffix: str = "") -> Iterator[Path]:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(target.lstat().st_mode):
            raise ValueError(f"{target} is not a regular file: name another path, or - for standard output")
    try:
        descriptor, name = mkstemp(suffix, f".{target.name[:80]}.", target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    temporary = Path(name)
    try:
        yield temporary
        os.fsync(descriptor)
        _copy_mode(target, name)
        os.close(descriptor)
        descriptor = -1
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, name):
            raise OSError(error.errno, os.strerror(error.errno), str(target)) from None
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):
        return False


def _copy_mode(target: Path, temporary: str) -> None:
    """Give the new file the permissions of the old one, or those of a file that `open` makes."""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    Path(temporary).chmod(mode)
