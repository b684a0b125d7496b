"""The user's folder for locks, keys and records of sideline."""

import os
import sys
from pathlib import Path


def state_folder() -> Path:
    """Return the folder of what sideline keeps for the user between two runs; it may not exist yet."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local") / "sideline"
    if sys.platform == "darwin":
        return home / "Library/Application Support/sideline"
    return Path(os.environ.get("XDG_STATE_HOME") or home / ".local/state") / "sideline"
