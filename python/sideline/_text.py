"""Tables as aligned text and as HTML, from their dicts: no library is needed."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sideline._core import Payload, Schema, Table

ROWS = 10
"""As many rows as a notebook shows."""
COLUMNS = 20
"""As many columns, where none are named."""
CELL = 80
"""Characters of a cell in a notebook."""
LEFT = ' style="text-align:left"'
LINE = 120
"""Characters of a line of text."""


def visible(text: str) -> str:
    """Text whose control characters, and those that reorder or hide what stands beside them, are escaped."""
    return text if text.isprintable() and not _HIDDEN.search(text) else _HIDDEN.sub(_escaped, text)


_HIDDEN = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ud800-\\udfff\\ufeff\\ufff9-\\ufffb"
    "\\U000e0000-\\U000e007f]"
)


def _escaped(found: "re.Match[str]") -> str:
    return found[0].encode("unicode_escape").decode()


def cell(value: Any) -> str:
    """One value, short and printable."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        # `strftime` does not fill the years before 1000 everywhere.
        return value.replace(tzinfo=None).isoformat(" ", "seconds")
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return " ".join(cell(element) for element in value)
    return visible(str(value))


def is_number(value: Any) -> bool:
    """Whether it stands to the right: True and False are words."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def aligned(table: "Table", columns: Sequence[str] | None = None, rows: int = 5, width: int = 24) -> str:
    """The first rows as text: numbers to the right, all else to the left."""
    names = list(columns or table.column_names)
    records = table.head(rows).to_dicts()
    lines = [[*map(visible, names)], *([shorten(cell(record[name]), width) for name in names] for record in records)]
    widths = [max(len(line[position]) for line in lines) for position in range(len(names))]
    numeric = [any(is_number(record[name]) for record in records) for name in names]
    justify: list[Callable[[str, int], str]] = [str.rjust if number else str.ljust for number in numeric]
    return "\n".join(
        "  ".join(justify[position](text, widths[position]) for position, text in enumerate(line)).rstrip()
        for line in lines
    )


def shorten(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def table_text(table: "Table") -> str:
    """What `print` shows of a table: as many of its first columns as fit in a line."""
    names = table.column_names
    shown = len(names)
    while shown > 1 and max(map(len, aligned(table, names[:shown]).splitlines())) > LINE:
        shown -= 1
    size = f"{visible(table.name)}: {_count(table.num_rows, 'row')}, {_count(len(names), 'column')}"
    left = (
        f"\n… columns not shown: {shorten(visible(', '.join(names[shown:])), LINE - 22)}" if shown < len(names) else ""
    )
    more = "\n…" if table.num_rows > 5 else ""
    return f"{size}\n{aligned(table, names[:shown])}{more}{left}"


def table_html(table: "Table", columns: Sequence[str] | None = None, rows: int = ROWS) -> str:
    """What a notebook shows of a table."""
    schema = table.schema
    names = list(columns or schema.names[:COLUMNS])
    records = table.head(rows).to_dicts()
    # Notebooks set all to the right, which is for numbers.
    numeric = {name for name in names if any(is_number(record[name]) for record in records)}
    side = {name: "" if name in numeric else LEFT for name in names}
    heads = "".join(
        f'<th{side[field.name]} title="{escape(" ".join(filter(None, (field.type, field.unit, field.description))))}">'
        f"{escape(visible(field.name))}</th>"
        for field in map(schema.__getitem__, names)
    )
    body = "".join(
        f"<tr>{''.join(f'<td{side[name]}>{escape(shorten(cell(record[name]), CELL))}</td>' for name in names)}</tr>"
        for record in records
    )
    size = [_count(table.num_rows, "row"), _count(len(schema), "column")]
    cut = [f"first {rows} rows"] if table.num_rows > rows else []
    if columns is None and len(schema) > COLUMNS:
        cut.append(f"first {COLUMNS} columns")
    more = f"; the {' and the '.join(cut)} shown" if cut else ""
    return (
        f"<div><b>{escape(visible(table.name))}</b>: {', '.join(size)}{more}"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def schema_html(schema: "Schema") -> str:
    """What a notebook shows of a schema: a line for each column."""
    rows = "".join(
        f"<tr><td{LEFT}>{escape(visible(field.name))}</td>"
        f"<td{LEFT}>{escape(field.type)}{'?' if field.nullable else ''}</td>"
        f"<td{LEFT}>{escape(field.unit or '')}</td><td{LEFT}>{escape(field.description or '')}</td></tr>"
        for field in schema
    )
    heads = "".join(f"<th{LEFT}>{name}</th>" for name in ("column", "type", "unit", "meaning"))
    about = f": {escape(schema.description)}" if schema.description else ""
    return (
        f"<div><b>{escape(visible(schema.name))}</b>{about}"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """What a notebook shows of anything else: a line for each fact that there is."""
    rows = "".join(
        f"<tr><th{LEFT}>{escape(visible(name))}</th><td{LEFT}>{escape(fact(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    return f"<div><b>{escape(visible(title))}</b><table><tbody>{rows}</tbody></table></div>"


def fact(value: object) -> str:
    """A fact as text, numbers in groups of three."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else visible(str(value))


def payload_html(payload: "Payload") -> str:
    """What a notebook shows of a payload: what it is, how fresh, and what can be asked of it."""
    at, elapsed = payload.fetched_at, payload.elapsed
    took = "" if elapsed is None else f", in {elapsed.total_seconds():.3f} s"
    return facts_html(
        payload.operation,
        {
            "status": payload.status,
            "address": payload.url,
            "request id": payload.request_id,
            "fetched": None if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC{took}",
            "answers joined": len(payload.parts) if len(payload.parts) > 1 else None,
            "bytes": payload._size,
            "fields in no table": len(payload._met) or None,
            "tables": ", ".join(payload.tables) or "none: use to_dict()",
        },
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
