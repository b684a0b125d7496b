"""The user's state folder, and the key of pseudonyms in it."""

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

from .pseudonyms import Pseudonyms

_KEY_FILE = "pseudonyms.key"


def state_folder() -> Path:
    """Return the folder of what sideline keeps for the user between two runs; it may not exist yet."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local") / "sideline"
    if sys.platform == "darwin":
        return home / "Library/Application Support/sideline"
    return Path(os.environ.get("XDG_STATE_HOME") or home / ".local/state") / "sideline"


def pseudonyms_of(key: object) -> Pseudonyms:
    """Return the pseudonyms of a key; `True` is the user's own key, which is made when it is first used."""
    if key is True:
        return Pseudonyms(_own_key())
    if not isinstance(key, (str, bytes)):
        raise ValueError("pseudonyms is a key (a str or bytes of at least 16 bytes), or True for your own key")
    return Pseudonyms(key)


def _own_key() -> bytes:
    path = state_folder() / _KEY_FILE
    with suppress(FileNotFoundError):
        return path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Linked when it is complete: of two processes one wins, and both read its key.
    temporary = path.with_name(f".{_KEY_FILE}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_hex(32).encode())
    with suppress(FileExistsError):
        os.link(temporary, path)
    temporary.unlink()
    return path.read_bytes()
