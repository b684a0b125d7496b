"""Tables as aligned text and as HTML, from their dicts: no library is needed."""

from collections.abc import Callable, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sideline._core import Payload, Table

ROWS = 10
"""As many rows as a notebook shows."""


def cell(value: Any) -> str:
    """One value, short."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return " ".join(cell(element) for element in value)
    return str(value)


def aligned(table: "Table", columns: Sequence[str] | None = None, rows: int = 5, width: int = 24) -> str:
    """The first rows as text: numbers to the right, all else to the left."""
    names = list(columns or table.column_names)
    records = table.head(rows).to_dicts()
    lines = [names, *([shorten(cell(record[name]), width) for name in names] for record in records)]
    widths = [max(len(line[position]) for line in lines) for position in range(len(names))]
    numeric = [any(isinstance(record[name], (int, float)) for record in records) for name in names]
    justify: list[Callable[[str, int], str]] = [str.rjust if number else str.ljust for number in numeric]
    return "\n".join(
        "  ".join(justify[position](text, widths[position]) for position, text in enumerate(line)).rstrip()
        for line in lines
    )


def shorten(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def table_html(table: "Table", columns: Sequence[str] | None = None, rows: int = ROWS) -> str:
    """What a notebook shows of a table."""
    schema = table.schema
    names = list(columns or schema.names)
    heads = "".join(
        f'<th title="{escape(" ".join(filter(None, (field.type, field.unit, field.description))))}">'
        f"{escape(field.name)}</th>"
        for field in map(schema.__getitem__, names)
    )
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(shorten(cell(record[name]), 60))}</td>' for name in names)}</tr>"
        for record in table.head(rows).to_dicts()
    )
    count = f"{table.num_rows} rows, {len(schema)} columns"
    more = f", the first {rows} shown" if table.num_rows > rows else ""
    return (
        f"<div><b>{escape(table.name)}</b>: {count}{more}"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def payload_html(payload: "Payload") -> str:
    """What a notebook shows of a payload: what it is, and what can be asked of it."""
    facts = {
        "status": payload.status,
        "address": payload.url,
        "request id": payload.request_id,
        "bytes": payload._size,
        "tables": ", ".join(payload.tables) or "none: use to_dict()",
    }
    rows = "".join(
        f"<tr><th>{name}</th><td>{escape(str(value))}</td></tr>" for name, value in facts.items() if value is not None
    )
    return f"<div><b>{escape(payload.operation)}</b><table><tbody>{rows}</tbody></table></div>"
