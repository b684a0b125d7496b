"""What commands print for scripts."""

import json
from datetime import datetime


def print_json(content: object) -> None:
    """Print a line of JSON, with escapes for characters that a terminal would obey."""
    text = json.dumps(content, ensure_ascii=False, default=_plain)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    print(text, flush=True)


def _plain(value: object) -> object:
    """Convert types that JSON lacks; times become ISO 8601."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def fields_of(row: object) -> dict[str, object]:
    """Return the fields of a dataclass."""
    return {name: getattr(row, name) for name in getattr(row, "__dataclass_fields__", ())}
