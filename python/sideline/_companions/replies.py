"""Turns rows and the verdicts of their games into structured content, and into text of limited length."""

import csv
import io
import math
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, TypedDict

Row = dict[str, Any]

NOT_SERVED = "positions and loads of persons are served only with sideline mcp --allow tracking"

_MAX_GAMES = 5
"""Games whose reasons the text lists."""


class Answer(TypedDict):
    """The structured content of every answer."""

    rows: list[dict[str, Any]]
    verdicts: dict[str, str]
    synced_at: str | None
    truncated: int


@dataclass(frozen=True)
class Result:
    """What a tool read: rows, and of which tables and games they are."""

    rows: Sequence[Row]
    scope: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    """For each table the ids of its games; `None`: all of them."""
    left_out: int = 0
    """Rows beyond the limit."""
    picture: bytes | None = None
    notes: Sequence[str] = ()
    """What the rows are without."""


@dataclass(frozen=True)
class Judgement:
    """How reliable the games of an answer are."""

    verdicts: dict[str, str]
    reasons: dict[str, str]
    """For each game that is not available."""
    synced_at: datetime | None
    notes: Sequence[str]
    """What the archive does not have."""


def plain_row(row: Mapping[str, Any]) -> Row:
    """Return a row in the types of JSON: times as ISO 8601, bytes as base64, and no number that JSON lacks."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat(timespec="milliseconds")
        case date():
            return value.isoformat()
        case bytes():
            return b64encode(value).decode()
        case float() if not math.isfinite(value):
            return str(value)
        case list() | tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return plain_row(value)
        case _:
            return value


def structured_content(result: Result, judgement: Judgement) -> Answer:
    """Return the structured content."""
    return {
        "rows": [plain_row(row) for row in result.rows],
        "verdicts": judgement.verdicts,
        "synced_at": None if judgement.synced_at is None else judgement.synced_at.isoformat(timespec="milliseconds"),
        "truncated": result.left_out,
    }


def text_of(content: Answer, judgement: Judgement, notes: Sequence[str], max_bytes: int) -> str:
    """Return the content as text: a warning first if a game is not available, then the rows as CSV."""
    warning, *reasons = _warning(judgement) or [""]
    lines = [*filter(None, [warning]), _summary(content)]
    table = _csv_lines(content["rows"])
    space = max_bytes - sum(len(line.encode()) + 1 for line in lines)
    for line in [*judgement.notes, *notes, *reasons]:
        # The reasons leave half of the text to the rows.
        if len(line.encode()) + 1 <= space - max_bytes // 2:
            lines.append(line)
            space -= len(line.encode()) + 1
    for place, line in enumerate(table):
        size, is_last = len(line.encode()) + 1, place + 1 == len(table)
        if size + (0 if is_last else len(_end(len(table))) + 1) > space + is_last:
            lines.append(_end(len(table) - max(place, 1)))
            break
        lines.append(line)
        space -= size
    return "\n".join(lines).encode()[:max_bytes].decode(errors="ignore")


def _end(count: int) -> str:
    return f"{count} more rows: raise max_text, or select less"


def _warning(judgement: Judgement) -> list[str]:
    doubtful = judgement.reasons
    if not doubtful:
        return []
    counts = Counter(judgement.verdicts[game] for game in doubtful)
    total = len(judgement.verdicts)
    first = (
        f"Warning: {len(doubtful)} of {total} game{'s' * (total != 1)} {'is' if len(doubtful) == 1 else 'are'} not "
        f"available: {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}."
    )
    lines = [f"{game}: {judgement.verdicts[game]}: {reason}" for game, reason in [*doubtful.items()][:_MAX_GAMES]]
    more = [f"{len(doubtful) - _MAX_GAMES} more: see the tool status"] if len(doubtful) > _MAX_GAMES else []
    return [first, *lines, *more]


def _summary(content: Answer) -> str:
    count, games, left_out = len(content["rows"]), len(content["verdicts"]), content["truncated"]
    parts = [f"{count} row{'s' * (count != 1)}"]
    if left_out:
        parts.append(f"{left_out} more left out by the limit")
    if games:
        parts.append(f"{games} game{'s' * (games != 1)}, last synced {content['synced_at'] or 'at an unknown time'}")
    return "; ".join(parts)


def _csv_lines(rows: Sequence[Row]) -> list[str]:
    """Return a line with the names of the columns, and a line for each row."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = []
    lists: list[list[Any]] = [names, *([row.get(name) for name in names] for row in rows)] if rows else []
    for values in lists:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="").writerow(values)
        lines.append(buffer.getvalue().replace("\r", "\\r").replace("\n", "\\n"))
    return lines
