"""The record of an assistant's calls: `mcp-log.jsonl` in the user's state folder."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from .state import state_folder


def record_call(
    tool: str,
    arguments: Mapping[str, Any],
    *,
    tables: Iterable[str] = (),
    rows: int = 0,
    verdicts: Mapping[str, str] | None = None,
    error: str | None = None,
) -> None:
    """Append a line for one call, which only the user may read; `verdicts` are counted by status."""
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "tool": tool,
        "arguments": arguments,
        "tables": sorted(tables),
        "rows": rows,
        "verdicts": dict(Counter((verdicts or {}).values())),
        "error": error,
    }
    line = json.dumps(entry, ensure_ascii=False, default=str) + "\n"
    path = state_folder() / "mcp-log.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # One write: the lines of several servers do not mix.
        os.write(number, line.encode())
    finally:
        os.close(number)
