"""Renders the morning report: one static page with an archive's contents, holes and changes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._client import ArchiveTable
from .._core import Payload
from .._rows import cell, library, replaced_file, shorten, visible
from ..errors import SidelineError
from ._account import is_hole
from ._last_night import loads_and_shots
from ._report import ArchiveInfo, hole_line

if TYPE_CHECKING:
    from . import Archive

MAX_ROWS = 100
"""Rows shown of a list."""
MAX_BODIES = 500
"""Bodies checked for unknown fields, the latest first."""


@dataclass
class Facts:
    """The contents of the page."""

    info: ArchiveInfo
    made_at: datetime
    since: datetime | None
    """When the last report was made, or `None` if this is the first."""
    units: Counter[str] = field(default_factory=Counter)
    """By status."""
    requests: int = 0
    newest: dict[str, datetime | None] = field(default_factory=dict)
    """When a body of each operation was last fetched."""
    covered: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    """By team and month: the units that are not holes, and all units."""
    corrections: list[dict[str, Any]] = field(default_factory=list)
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Unknown fields by operation and path, with the number of bodies."""
    bodies: int = 0
    violations: list[dict[str, Any]] = field(default_factory=list)
    audit_error: str | None = None
    loads: list[dict[str, Any]] = field(default_factory=list)
    """Of the last night with positions."""
    shots: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class ArchiveReport:
    """A page about an archive: `html` is the whole page, and a notebook displays it.

    >>> archive.report().html.startswith("<!doctype html>")
    True
    """

    html: str
    """One static page that loads nothing."""

    def _repr_html_(self) -> str:
        style, _, rest = self.html.partition("</style>")
        return f"{style[style.index('<style>') :]}</style>{rest[rest.index('<main') : rest.index('</main>')]}</main>"

    def __repr__(self) -> str:
        return f"<sideline.ArchiveReport {len(self.html.encode()):,} bytes>"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page, whole or not at all; "-" is standard output.

        Raises `ValueError` for a link or a file that is not regular.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     archive.report().save(f"{folder}/report.html")
        """
        with replaced_file(path) as file:
            file.write(self.html)


def previous_report_time(path: Path) -> datetime | None:
    """Return when the report in a file was made, or `None` without one."""
    try:
        if not path.is_file():
            return None
        with path.open(encoding="utf-8", errors="replace") as file:
            head = file.read(600)
        found = head.partition('name="sideline-report" content="')[2].partition('"')[0]
        return datetime.fromisoformat(found) if found else None
    except (OSError, ValueError):
        return None


def gather(archive: "Archive", since: datetime | None, now: datetime) -> Facts:
    """Read the facts of the report from the archive."""
    info = archive.info()
    facts = Facts(info, now, since)
    rows = archive.scan("coverage").collect().to_dicts()
    facts.units.update(row["status"] for row in rows)
    facts.requests = sum(row["attempts"] for row in rows)
    for row in rows:
        before, at = facts.newest.get(row["operation"]), row["fetched_at"]
        facts.newest[row["operation"]] = at if before is None or (at is not None and at > before) else before
    facts.covered = _by_team_and_month(archive, rows)
    corrections = archive.corrections(since)
    facts.corrections = corrections.to_dicts()[::-1]
    _unknown_fields(archive, facts)
    try:
        facts.violations = archive.audit().to_dicts()
    except (SidelineError, ValueError, OSError) as error:
        facts.audit_error = str(error)
    facts.loads, facts.shots = loads_and_shots(archive)
    return facts


def _by_team_and_month(archive: "Archive", rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, tuple[int, int]]]:
    games: dict[str, tuple[str, list[str]]] = {}
    names = ("home_team_id", "home_team_name", "away_team_id", "away_team_name")
    tables: tuple[tuple[ArchiveTable, str, str], ...] = (
        ("games", "game_id", "tipoff_at"),
        ("events", "game_id", "started_at"),
    )
    for table, key, at in tables:
        for game in archive.scan(table).select(key, at, *names).collect().to_dicts():
            if game[key] is None or game[at] is None:
                continue
            sides = [(game[f"{side}_team_name"], game[f"{side}_team_id"]) for side in ("home", "away")]
            teams = [str(name or f"team {number}") for name, number in sides if name or number]
            games.setdefault(game[key], (f"{game[at]:%Y-%m}", teams))
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for row in rows:
        month, teams = games.get(row["game_id"], ("", []))
        for team in teams:
            counts[team][month][0] += not is_hole(row)
            counts[team][month][1] += 1
    return {
        team: {month: (have, all_) for month, (have, all_) in sorted(months.items())}
        for team, months in sorted(counts.items())
    }


def _unknown_fields(archive: "Archive", facts: Facts) -> None:
    pl = library("polars", "archive")
    stored = archive.scan("raw").filter(pl.col("body").is_not_null())
    # The times alone first: the bodies of a season do not fit into memory.
    times = stored.select("stored_at").collect()["stored_at"].sort().tail(MAX_BODIES)
    bodies = (
        stored.filter(pl.col("stored_at") >= times.min()).select("operation", "stored_at", "body").sort("stored_at")
    )
    for operation, _, body in bodies.tail(MAX_BODIES).collect().iter_rows():
        facts.bodies += 1
        try:
            paths = Payload.from_bytes(operation, body).unknown_fields()
        except (SidelineError, ValueError):
            continue
        facts.unknown.update((operation, path) for path in paths)


def render(facts: Facts) -> str:
    """Render the page."""
    info = facts.info
    title = f"Report of {visible(info.root)}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>Made {_moment(facts.made_at)}. {_last(facts)}</p>",
        _summary(facts),
        _freshness(facts),
        _last_night(facts),
        _heat_map(facts.covered),
        _holes(info.holes),
        _corrections(facts),
        _drift(facts),
        _audit(facts),
        _requests(facts),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="sideline-report" content="{facts.made_at.isoformat()}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f'<body><main class="sideline-report">\n{"".join(part for part in parts if part)}\n</main></body></html>\n'
    )


def _last(facts: Facts) -> str:
    return f"The last report was made {_moment(facts.since)}." if facts.since else "There is no report before this one."


def _moment(at: datetime | None) -> str:
    if at is None:
        return "never"
    text = at.astimezone(UTC)
    return f'<time datetime="{text.isoformat()}">{text:%Y-%m-%d %H:%M} UTC</time>'


def _summary(facts: Facts) -> str:
    info = facts.info
    tiles: list[tuple[str, str, bool | None]] = [
        ("last fetched", f"{info.fetched_at:%Y-%m-%d %H:%M} UTC" if info.fetched_at else "never", None),
        ("games", f"{info.games:,}", None),
        ("holes", f"{len(info.holes):,}", not info.holes),
        ("new corrections", f"{len(facts.corrections):,}", None),
        ("unknown fields", f"{len(facts.unknown):,}", not facts.unknown),
        (
            "audit findings",
            "not run" if facts.audit_error else f"{len(facts.violations):,}",
            not (facts.audit_error or facts.violations),
        ),
    ]
    shown = "".join(
        f'<div class="tile {"" if is_good is None else "good" if is_good else "bad"}"><dt>{name}</dt><dd>{text}'
        f"{'' if is_good is None else ' <small>ok</small>' if is_good else ' <small>look</small>'}</dd></div>"
        for name, text, is_good in tiles
    )
    return f'<dl class="tiles">{shown}</dl>'


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>\n"


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], total: int | None = None) -> str:
    """Render a table whose first column has the row headers; numbers are aligned to the right."""
    shown = list(rows)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{_value(first)}</th>{"".join(_cell(value) for value in rest)}</tr>'
        for first, *rest in shown
    )
    left = (total or len(shown)) - len(shown)
    more = f"<p>and {left:,} more</p>" if left > 0 else ""
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{more}"
    )


def _cell(value: Any) -> str:
    kind = ' class="number"' if isinstance(value, (int, float)) else ""
    return f"<td{kind}>{_value(value)}</td>"


def _value(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(shorten(cell(value), 200))


def _freshness(facts: Facts) -> str:
    rows = [
        (operation, at.replace(microsecond=0) if at else "never")
        for operation, at in sorted(facts.newest.items(), key=lambda one: one[0])
    ]
    unfinished = f"<p>{facts.info.unfinished:,} games were not over when they were last seen.</p>"
    sizes = _table("Rows of each table", ("table", "rows"), facts.info.rows.items())
    fetched = _table("Last fetched, in UTC", ("operation", "last fetched"), rows)
    return _section("Freshness", f'{unfinished}<div class="columns">{fetched}{sizes}</div>')


def _heat_map(covered: dict[str, dict[str, tuple[int, int]]]) -> str:
    months = sorted({month for row in covered.values() for month in row})
    if not months:
        return _section("Coverage by team and month", "<p>No game is stored yet.</p>")
    head = "".join(f'<th scope="col">{month}</th>' for month in months)
    body = "".join(
        f'<tr><th scope="row">{escape(visible(team))}</th>{"".join(_heat(row.get(month)) for month in months)}</tr>'
        for team, row in covered.items()
    )
    return _section(
        "Coverage by team and month",
        '<div class="scroll" tabindex="0"><table class="heat">'
        "<caption>Share of the planned units of each team's games that are stored</caption>"
        f'<thead><tr><th scope="col">team</th>{head}</tr></thead><tbody>{body}</tbody></table></div>',
    )


def _heat(counts: tuple[int, int] | None) -> str:
    if counts is None:
        return "<td></td>"
    have, all_ = counts
    # 99.9 % of a thousand units is a hole, and must not be shown as 100 %.
    share = have / all_
    level = 4 if have == all_ else min(3, int(share * 4))
    percent = "100%" if have == all_ else f"{min(99, round(100 * share))}%"
    return f'<td class="h{level}" title="{have:,} of {all_:,} units">{percent}</td>'


def _holes(holes: Sequence[dict[str, Any]]) -> str:
    if not holes:
        return _section("Holes", "<p>None: every planned unit is stored, or the service has nothing of it.</p>")
    reasons = Counter(f"{hole['operation']} {hole['status']}" for hole in holes)
    counts = _table("Holes by operation and status", ("kind", "holes"), reasons.most_common())
    items = "".join(f"<li>{escape(shorten(hole_line(hole), 300))}</li>" for hole in holes[:MAX_ROWS])
    more = f"<p>and {len(holes) - MAX_ROWS:,} more</p>" if len(holes) > MAX_ROWS else ""
    return _section("Holes", f"{counts}<ul>{items}</ul>{more}<p>The next sync requests them again.</p>")


def _corrections(facts: Facts) -> str:
    title = "Corrections since the last report" if facts.since else "Corrections"
    if not facts.corrections:
        return _section(title, "<p>None.</p>")
    heads = ("seen at", "table", "game", "player", "field", "old", "new")
    rows = [
        (
            row["seen_at"],
            row["table"],
            (row["game_id"] or "")[:8],
            row["player_id"],
            row["field"],
            row["old"],
            row["new"],
        )
        for row in facts.corrections[:MAX_ROWS]
    ]
    return _section(title, _table("Values that changed, newest first", heads, rows, len(facts.corrections)))


def _drift(facts: Facts) -> str:
    scope = f"Of the {facts.bodies:,} bodies that were stored last."
    if not facts.unknown:
        return _section("Schema drift", f"<p>No unknown field. {scope}</p>")
    rows = [(f"{operation} {path}", count) for (operation, path), count in facts.unknown.most_common(MAX_ROWS)]
    return _section("Schema drift", _table(f"Unknown fields. {scope}", ("field", "bodies"), rows, len(facts.unknown)))


def _audit(facts: Facts) -> str:
    if facts.audit_error:
        return _section("Audit", f"<p>The audit could not run: {escape(visible(facts.audit_error))}</p>")
    if not facts.violations:
        return _section("Audit", "<p>No rule is violated.</p>")
    names = [name for name in facts.violations[0] if any(row[name] is not None for row in facts.violations)]
    rows = [[row[name] for name in names] for row in facts.violations[:MAX_ROWS]]
    rules = _table(
        "Findings by rule", ("rule", "findings"), Counter(row["rule"] for row in facts.violations).most_common()
    )
    return _section("Audit", rules + _table("Findings", names, rows, len(facts.violations)))


def _last_night(facts: Facts) -> str:
    """Render loads and shots beside their coverage; nothing for an archive without positions."""
    if not facts.loads:
        return ""
    loads = [
        (
            row["player"] or row["player_id"],
            round(row["distance_m"]),
            f"{row['tracked_min']:.0f}",
            f"{row['peak_speed_mps']:.1f}",
            f"{row['seen_share']:.0%}",
        )
        for row in facts.loads[:MAX_ROWS]
    ]
    shots = [
        (
            f"team {row['team_id']}",
            row["openness"].replace("_", " "),
            row["shots"],
            f"{row['efg']:.0%}",
            f"{row['known_share']:.0%}",
        )
        for row in facts.shots
    ]
    heads = ("player", "metres", "minutes tracked", "peak m/s", "seen")
    tables = _table("Loads, the farthest first", heads, loads, len(facts.loads)) + _table(
        "Shots by openness", ("team", "openness", "shots", "eFG", "with a known defender"), shots
    )
    return _section("Last night with positions", f'<div class="columns">{tables}</div>')


def _requests(facts: Facts) -> str:
    rows = [*sorted(facts.units.items()), ("requests sent for them", facts.requests)]
    return _section("Units and requests", _table("Units by status", ("status", "units"), rows))


STYLE = """
.sideline-report{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--page:#fff;--tile:#f6f8fa;--good:#116329;--bad:#a40e26;
font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:70rem;margin:0 auto;padding:1rem}
.sideline-report h1{font-size:1.5rem;overflow-wrap:anywhere}.sideline-report h2{font-size:1.15rem;margin-top:2rem}
.sideline-report .tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;margin:1rem 0}
.sideline-report .tile{background:var(--tile);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}
.sideline-report .tile dt{color:var(--soft);font-size:.85rem}.sideline-report .tile dd{margin:0;font-weight:600}
.sideline-report .good small{color:var(--good)}.sideline-report .bad small{color:var(--bad);font-weight:700}
.sideline-report .columns{display:flex;flex-wrap:wrap;gap:1rem 3rem}
.sideline-report .scroll{overflow-x:auto}.sideline-report table{border-collapse:collapse;font-size:.9rem}
.sideline-report caption{text-align:left;color:var(--soft);padding:.3rem 0}
.sideline-report th,.sideline-report td{text-align:left;padding:.25rem .7rem .25rem 0;vertical-align:top;
border-bottom:1px solid var(--line)}.sideline-report th[scope=row]{font-weight:500;white-space:nowrap}
.sideline-report td.number{text-align:right;font-variant-numeric:tabular-nums}
.sideline-report .heat td{padding:.25rem .6rem;text-align:center;border:2px solid var(--page);color:#111}
.sideline-report .h0{background:#e8602c}.sideline-report .h1{background:#f0a35e}.sideline-report .h2{background:#f7d488}
.sideline-report .h3{background:#cfe3f1}.sideline-report .h4{background:#7fb8dd}
.sideline-report li{overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){.sideline-report{--ink:#e6edf3;--soft:#9da7b1;--line:#30363d;--page:#0d1117;
--tile:#161b22;--good:#56d364;--bad:#ff7b72}body{background:#0d1117}}
"""
