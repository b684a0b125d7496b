"""The key of pseudonyms: the user's own, or one that is passed."""

import os
import secrets
from contextlib import suppress

from .pseudonyms import Pseudonyms
from .state import state_folder

_KEY_FILE = "pseudonyms.key"


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
