"""What commands print for scripts."""

import codecs
import json
from datetime import datetime
from io import TextIOWrapper
from typing import TextIO

_ESCAPES = "sideline.escapes"


def escape_missing_characters(output: TextIO) -> None:
    """Write characters that the encoding of an output lacks as JSON escapes, which are valid in JSON too."""
    if not isinstance(output, TextIOWrapper):
        return
    is_unicode = output.encoding.lower().startswith("utf")
    # The locale C lets undecodable bytes of file names through, and a user may have chosen another handler.
    if output.errors == "strict" or (output.errors == "surrogateescape" and not is_unicode):
        codecs.register_error(_ESCAPES, _escape)
        output.reconfigure(errors=_ESCAPES)


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


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
