"""What a notebook shows: parts in one template, which escapes every value."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._client import drift_of, size_of
from .._core import _Templates
from .text import MAX_ROWS, brief, cell, count_text, is_number, order_columns, shorten, visible

if TYPE_CHECKING:
    from .._core import Payload, Schema, Table

MAX_PAYLOAD_ROWS = 5
"""Number of rows shown of a payload."""
MAX_COLUMNS = 16
"""Number of columns shown by default."""
MAX_CELL_LENGTH = 80
"""Characters of a cell."""

Part = dict[str, Any]
"""A table, facts, checks, lines, notes or a link, with or without a title; see `notebook.html`."""


def html(template: str, **values: object) -> str:
    """Render a template of the package; its values are texts, numbers, lists and dicts."""
    return _templates().render(template, values)


@cache
def _templates() -> _Templates:
    return _Templates(Path(__file__).parent.parent / "templates")


def notebook_html(*parts: Part) -> str:
    """Render parts for a notebook."""
    return html("notebook.html", parts=parts)


def table_html(table: "Table", columns: Sequence[str] | None = None, rows: int = MAX_ROWS) -> str:
    """Format a table for a notebook."""
    return notebook_html(table_part(table, columns, rows))


def table_part(table: "Table", columns: Sequence[str] | None = None, rows: int = MAX_ROWS) -> Part:
    """Return the first rows of a table, and the main columns unless others are named."""
    schema = table.schema
    records = table.head(rows).to_dicts()
    names = list(columns or order_columns(table, records)[:MAX_COLUMNS])
    # Notebooks align everything to the right, which suits only numbers.
    numeric = {name for name in names if any(is_number(record[name]) for record in records)}
    cut = [f"first {rows} rows"] if table.num_rows > rows else []
    if columns is None and len(schema) > MAX_COLUMNS:
        cut.append(f"{MAX_COLUMNS} main columns")
    more = f"; the {' and the '.join(cut)} shown" if cut else ""
    return {
        "title": visible(table.name),
        "about": f": {count_text(table.num_rows, 'row')}, {count_text(len(schema), 'column')}{more}",
        "columns": [
            {
                "name": visible(field.name),
                "title": " ".join(filter(None, (field.type, field.unit, field.description))),
                "is_number": field.name in numeric,
            }
            for field in map(schema.__getitem__, names)
        ],
        "rows": [[_cell(record[name], name in numeric) for name in names] for record in records],
    }


def _cell(value: Any, is_numeric: bool) -> dict[str, Any]:
    full, short = cell(value), shorten(brief(value), MAX_CELL_LENGTH)
    is_cut = isinstance(value, str) and full != short and len(full) < 200
    return {"text": short, "title": full if is_cut else "", "is_number": is_numeric}


def rows_part(title: str, about: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Part:
    """Return rows without a `Table`; numbers are aligned to the right."""
    cells = [[{"text": fact(value), "title": "", "is_number": is_number(value)} for value in row] for row in rows]
    columns = [
        {"name": name, "title": "", "is_number": bool(cells) and cells[0][place]["is_number"]}
        for place, name in enumerate(names)
    ]
    return {"title": title, "about": about, "columns": columns, "rows": cells}


def schema_html(schema: "Schema") -> str:
    """Format a schema for a notebook, with a line for each column."""
    rows = [
        (field.name, f"{field.type}{'?' if field.nullable else ''}", field.unit or "", field.description or "")
        for field in schema
    ]
    about = f": {schema.description}" if schema.description else ""
    return notebook_html(rows_part(visible(schema.name), about, ("column", "type", "unit", "meaning"), rows))


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """Format facts for a notebook, with a line for each."""
    return notebook_html(facts_part(title, facts))


def facts_part(title: str, facts: Mapping[str, object]) -> Part:
    """Return facts with a line for each that is not `None`."""
    lines = [(visible(name), fact(value)) for name, value in facts.items() if value is not None]
    return {"title": visible(title), "about": "", "facts": lines}


def fact(value: object) -> str:
    """Format a fact, with digits in groups of three."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else visible(str(value))


def payload_html(payload: "Payload") -> str:
    """Format a payload for a notebook: its facts, and the first rows of its first table."""
    at, elapsed = payload.fetched_at, payload.elapsed
    duration = "" if elapsed is None else f", in {elapsed.total_seconds():.3f} s"
    facts = facts_part(
        payload.operation,
        {
            "status": payload.status,
            "address": payload.url,
            "request id": payload.request_id,
            "fetched": None if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC{duration}",
            "responses merged": len(payload.parts) if len(payload.parts) > 1 else None,
            "bytes": size_of(payload),
            "unknown fields": len(drift_of(payload)) or None,
            "tables": ", ".join(payload.tables) or "none: use to_dict()",
        },
    )
    return notebook_html(*_first_rows(payload), facts)


def _first_rows(payload: "Payload") -> list[Part]:
    from ..errors import SidelineError

    if not payload.tables:
        return []
    try:
        return [table_part(payload.table(), rows=MAX_PAYLOAD_ROWS)]
    except SidelineError as error:
        # An error here would hide the facts too.
        return [{"notes": [visible(str(error))]}]
