"""The user's folder for locks, keys and records of sideline."""

import os
import sys
import tempfile
from pathlib import Path


def state_folder() -> Path:
    """Return a folder that no other user can write to."""
    if sys.platform == "win32":
        return Path(tempfile.gettempdir()) / "sideline"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "sideline"
