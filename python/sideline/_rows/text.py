"""Tables as aligned text, without any library."""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from .._core import Table

MAX_ROWS = 10
"""Number of rows shown."""
DEFAULT_LINE_LENGTH = 120
"""Characters of a line if the terminal does not state its width."""

_MAX_CELL_LENGTH = 24
"""Characters of a cell."""

_MIN_FIXED, _MAX_FIXED = 0.005, 1e16
"""Magnitudes that two decimals can show: a smaller one would be 0, and a larger one has digits that are not exact."""

NAME_COLUMNS = (
    *("team_name", "home_team_name", "away_team_name"),
    *("player_name", "first_name", "last_name", "display_name", "name"),
)
STATISTICS = ("PTS", "REB", "AST", "FG", "FGA", "FG3", "FGA3", "FT", "FTA", "TO", "STL", "BLK", "FL")
"""The headline statistics, in display order."""
_KEYS = ("team_id", "player_id")
_LAST_COLUMNS = ("is_team_total", "version", "games_played")
_UUID_PARTS = [8, 4, 4, 4, 12]
_UUID_CHARACTERS = frozenset("0123456789abcdefABCDEF-")


def visible(text: str) -> str:
    """Escape control characters, and characters that reorder or hide text."""
    return text if text.isprintable() else re.sub(_UNSAFE_CHARACTERS, _escape, text)


# None of them is printable. As a text, because to compile it takes longer than to show a table, and few texts need it.
_UNSAFE_CHARACTERS = (
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ud800-\\udfff\\ufeff\\ufff9-\\ufffb"
    "\\U000e0000-\\U000e007f]"
)


def _escape(match: "re.Match[str]") -> str:
    return match[0].encode("unicode_escape").decode()


def cell(value: Any) -> str:
    """Format a value in a short, printable form."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        if (name := os.environ.get("SIDELINE_TZ")) and str(value.tzinfo) == "UTC":
            from .zones import to_zone, zone

            value = to_zone(value, zone(name, "SIDELINE_TZ"))
        # `strftime` does not pad years before 1000 on every platform.
        text: str = value.replace(tzinfo=None).isoformat(" ", "seconds")
        return text
    if isinstance(value, float):
        if value and not _MIN_FIXED <= abs(value) < _MAX_FIXED:
            return f"{value:.2g}"
        # The sum makes 0 of -0.
        return f"{value + 0.0:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return " ".join(cell(element) for element in value)
    return visible(str(value))


def brief(value: Any) -> str:
    """Format like `cell`, but shorten a UUID to its first eight characters."""
    text = cell(value)
    return f"{text[:8]}…" if _is_uuid(text) else text


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and [*map(len, text.split("-"))] == _UUID_PARTS and _UUID_CHARACTERS.issuperset(text)


def order_columns(table: "Table", records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns in display order: names, statistics and columns with values before UUIDs and links.

    Columns selected by the user keep their order.
    """
    from .schemas import SCHEMAS

    names = table.column_names
    own_columns = SCHEMAS[table.name].names if table.name in SCHEMAS else []
    if set(names) < set(own_columns):
        return names

    def rank(name: str) -> tuple[bool, int, int]:
        values = [record[name] for record in records]
        is_empty = bool(values) and all(value is None or value == [] for value in values)
        if name in NAME_COLUMNS:
            return is_empty, 0, NAME_COLUMNS.index(name)
        if name in STATISTICS:
            return is_empty, 1, STATISTICS.index(name)
        if name in _KEYS:
            return is_empty, 2, 0
        if name.endswith(("link", "_url")):
            return is_empty, 6, 0
        if name.endswith("_id") or any(isinstance(value, str) and _is_uuid(value) for value in values):
            return is_empty, 5, 0
        return is_empty, 4 if name in _LAST_COLUMNS else 3, 0

    return sorted(names, key=rank)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether the value is a number, also one of NumPy; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def align(table: "Table", columns: Sequence[str], rows: int = 5) -> str:
    """Format columns of the first rows, with numbers aligned to the right."""
    return align_records(table.head(rows).to_dicts(), columns)


def align_records(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Format rows that are dicts, like `align`."""
    lines = [
        [*map(visible, names)],
        *([shorten(brief(record[name]), _MAX_CELL_LENGTH) for name in names] for record in records),
    ]
    widths = [max(len(line[position]) for line in lines) for position in range(len(names))]
    numeric = [any(is_number(record[name]) for record in records) for name in names]
    justify: list[Callable[[str, int], str]] = [str.rjust if number else str.ljust for number in numeric]
    return "\n".join(
        "  ".join(justify[position](text, widths[position]) for position, text in enumerate(line)).rstrip()
        for line in lines
    )


def shorten(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _terminal_width() -> int:
    """Return what `shutil.get_terminal_size` does, whose module takes longer to import than a first table to show."""
    try:
        width = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        width = 0
    if width <= 0 and sys.__stdout__ is not None:
        try:
            width = os.get_terminal_size(sys.__stdout__.fileno()).columns
        except (ValueError, OSError):  # closed, or not a terminal
            width = 0
    return width if width > 0 else DEFAULT_LINE_LENGTH


def table_text(table: "Table", line: int | None = None) -> str:
    """Format a table for `print`: as many columns as fit the terminal, names and statistics first."""
    line = max(40, _terminal_width() if line is None else line)
    records = table.head(MAX_ROWS).to_dicts()
    names = order_columns(table, records)
    visible_count = len(names)
    while visible_count > 1 and max(map(len, align_records(records, names[:visible_count]).splitlines())) > line:
        visible_count -= 1
    size = f"{visible(table.name)}: {count_text(table.num_rows, 'row')}, {count_text(len(names), 'column')}"
    left = (
        f"\n… columns not shown: {shorten(visible(', '.join(names[visible_count:])), line - 21)}"
        if visible_count < len(names)
        else ""
    )
    more = "\n…" if table.num_rows > len(records) else ""
    return f"{size}\n{align_records(records, names[:visible_count])}{more}{left}"


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun, whose plural ends with "s" unless another is given."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
