"""Renders the morning report: one static page with verdicts, the last night, and an archive's holes and changes."""

import os
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from os import PathLike
from typing import TYPE_CHECKING, Any

from .._client import ArchiveTable, store_of
from .._core import Payload, Table
from .._rows import cell, count_text, html, replaced_file, shorten, to_zone, visible, zone
from ..errors import SidelineError
from ._audits import Auditor
from ._last_night import STATS, Night, games_of_the_night, loads_and_shots
from ._libraries import pl
from ._life import PROBLEMS, SEVERITY, is_lacking
from ._read import columns_of, scan, to_views
from ._report import ArchiveInfo, hole_line
from ._schemas import internal_schemas
from ._store import Store
from ._writer import rows_to_arrow

if TYPE_CHECKING:
    from .._answers import Violations
    from . import Archive

MAX_ROWS = 100
"""Rows shown of a list."""
MAX_BODIES = 500
"""Bodies checked for unknown fields, the latest first."""

_NUMBER = re.compile(r"[\d,.]+%?")

MEANINGS = {
    "forbidden": "these credentials may not see it",
    "missing": "the service did not return it, or it could not be read",
    "late": "not there, although the game ended longer ago than this table usually takes",
    "degraded": "there, with a reason for doubt",
    "withdrawn": "the service no longer lists it",
    "pending": "the game is not over, or ended a short time ago",
    "provisional": "complete, but it may still be corrected",
    "available": "complete and final",
}
"""Of the verdicts, as in the page Answers of the documentation."""


@dataclass
class Facts:
    """The contents of the page."""

    info: ArchiveInfo
    made_at: datetime
    since: datetime | None
    """When the last report was made, or `None` if this is the first."""
    zone: tzinfo = UTC
    """The zone of all times of the page."""
    units: Counter[str] = field(default_factory=Counter)
    """By status."""
    requests: int = 0
    newest: dict[str, datetime | None] = field(default_factory=dict)
    """When a body of each operation was last fetched."""
    coverage: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    """By team and month: the units that are not holes, and all units."""
    corrections: list[dict[str, Any]] = field(default_factory=list)
    """The new ones, the latest first."""
    changes: set[tuple[str, datetime]] = field(default_factory=set)
    """All changes of bodies with corrections, and when each was seen."""
    unknown_fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Unknown fields by operation and path, with the number of bodies."""
    bodies: int = 0
    violations: list[dict[str, Any]] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    """Tables of games by their status in `Archive.status`."""
    worst: dict[str, str] = field(default_factory=dict)
    """The worst verdict of each game."""
    problems: list[dict[str, Any]] = field(default_factory=list)
    """The first rows of `Archive.status` that need attention."""
    games: dict[str, str] = field(default_factory=dict)
    """The teams of each game, by its id."""
    night: list[dict[str, Any]] = field(default_factory=list)
    """The games of the last night."""
    open_games: set[str] = field(default_factory=set)
    """Games that were not over when they were last seen."""
    tracked_night: Night | None = None
    """The last night with positions."""


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


def last_report_time(store: Store) -> datetime | None:
    """Return when the last report was written, or `None` if there has been no report."""
    table = store.open_checked("reports")
    batches = () if table is None else store.select(table, ["made_at"])
    return max((row["made_at"] for batch in batches for row in to_views(batch)), default=None)


def record_report(store: Store, facts: Facts) -> None:
    """Store when a report was made that has been written, and the corrections that it could read.

    A sync may store corrections after the report that it has seen before.
    """
    rows: list[dict[str, Any]] = [{"made_at": facts.made_at, "change": None, "seen_at": None}]
    rows += [{"made_at": facts.made_at, "change": change, "seen_at": at} for change, at in sorted(facts.changes)]
    try:
        store.replace("reports", lambda: rows_to_arrow(rows, "reports"), None)
    except OSError as error:
        message = f"the next report will not know of this one, because the archive cannot be written to: {error}"
        warnings.warn(message, stacklevel=4)


def zone_of_report(tz: str | None) -> tzinfo:
    """Return the zone that is given, else that of `SIDELINE_TZ`, else UTC."""
    if tz is not None:
        return zone(tz, "tz")
    name = os.environ.get("SIDELINE_TZ")
    return zone(name, "SIDELINE_TZ") if name else UTC


def gather(
    archive: "Archive",
    since: datetime | None,
    now: datetime,
    zone: tzinfo,
    judge: "Callable[[Sequence[Violations]], Table]",
) -> Facts:
    """Read the facts of the report from the archive; `judge` returns its verdicts after an audit.

    `since`: corrections since this time; `None`: since the last report.
    """
    from .._answers import merge_violations

    info = archive.info()
    store = store_of(archive)
    facts = Facts(info, now, since or last_report_time(store), zone)
    _count_units(archive, facts)
    auditor = Auditor(store)
    violations = list(auditor.of_events())
    facts.violations = merge_violations([*violations, *auditor.of_orphans()]).to_dicts()
    _count_verdicts(judge(violations), facts)
    facts.night = games_of_the_night(archive)
    _find_corrections(store, since, facts)
    _unknown_fields(archive, facts)
    facts.tracked_night = loads_and_shots(archive)
    return facts


def _find_corrections(store: Store, since: datetime | None, facts: Facts) -> None:
    rows = columns_of(store, "corrections", tuple(internal_schemas()["corrections"].names))
    facts.changes = set(rows.select("change", "seen_at").unique().iter_rows())
    if since is None:
        rows = rows.join(columns_of(store, "reports", ("change", "seen_at")), on=["change", "seen_at"], how="anti")
    else:
        rows = rows.filter(pl.col("seen_at") >= since)
    facts.corrections = rows.sort("seen_at", maintain_order=True).to_dicts()[::-1]


def _count_units(archive: "Archive", facts: Facts) -> None:
    """Read what `coverage` says: as columns, because a row for each unit of ten years does not fit into memory."""
    columns = ("operation", "status", "attempts", "fetched_at", "game_id", "final")
    units = columns_of(store_of(archive), "coverage", columns)
    facts.units.update(dict(units["status"].value_counts().iter_rows()))
    facts.requests = int(units["attempts"].sum())
    facts.newest = dict(units.group_by("operation").agg(pl.col("fetched_at").max()).iter_rows())
    is_open = (pl.col("operation") == "game") & ~pl.col("final").fill_null(False)
    facts.open_games = set(units.filter(is_open)["game_id"])
    is_stored = ~pl.col("status").is_in(list(filter(is_lacking, facts.units)))
    by_game = units.drop_nulls("game_id").group_by("game_id").agg(is_stored.sum().alias("stored"), pl.len())
    facts.coverage = _by_team_and_month(archive, by_game.iter_rows(), facts)


def _count_verdicts(status: Table, facts: Facts) -> None:
    verdicts = status.to_polars()
    facts.verdicts.update(verdicts["status"])
    for game, verdict in verdicts.select("game_id", "status").unique().iter_rows():
        facts.worst[game] = min(facts.worst.get(game, "available"), verdict, key=SEVERITY.index)
    facts.problems = verdicts.filter(pl.col("status").is_in(PROBLEMS)).head(MAX_ROWS).to_dicts()


def _by_team_and_month(
    archive: "Archive", units: Iterable[tuple[str, int, int]], facts: Facts
) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the stored and all units of each team and month, from those of each game."""
    games: dict[str, tuple[str, list[str]]] = {}
    names = ("home_team_id", "home_team_name", "away_team_id", "away_team_name")
    tables: tuple[tuple[ArchiveTable, str, str], ...] = (
        ("games", "game_id", "tipoff_at"),
        ("events", "game_id", "started_at"),
    )
    for table, key, at in tables:
        for game in scan(store_of(archive), table).select(key, at, *names).collect().iter_rows(named=True):
            if game[key] is None or game[at] is None:
                continue
            sides = [(game[f"{side}_team_name"], game[f"{side}_team_id"]) for side in ("home", "away")]
            teams = [str(name or f"team {number}") for name, number in sides if name or number]
            local = to_zone(game[at], facts.zone)
            games.setdefault(game[key], (f"{local:%Y-%m}", teams))
            facts.games.setdefault(game[key], f"{' – '.join(teams)}, {local:%Y-%m-%d}")
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for key, without_holes, total in units:
        month, teams = games.get(key, ("", []))
        for team in teams:
            # What is stored of a game that is not over is not all of it.
            counts[team][month][0] += 0 if key in facts.open_games else without_holes
            counts[team][month][1] += total
    return {
        team: {month: (have, total) for month, (have, total) in sorted(months.items())}
        for team, months in sorted(counts.items())
    }


def _unknown_fields(archive: "Archive", facts: Facts) -> None:
    body_rows = scan(store_of(archive), "raw").filter(pl.col("body").is_not_null())
    # The times alone first: the bodies of a season do not fit into memory.
    times = body_rows.select("stored_at").collect()["stored_at"].sort().tail(MAX_BODIES)
    bodies = (
        body_rows.filter(pl.col("stored_at") >= pl.lit(times.min(), times.dtype))
        .select("operation", "stored_at", "body")
        .sort("stored_at")
    )
    for operation, _, body in bodies.tail(MAX_BODIES).collect().iter_rows():
        facts.bodies += 1
        try:
            paths = Payload.from_bytes(operation, body).unknown_fields()
        except (SidelineError, ValueError):
            continue
        facts.unknown_fields.update((operation, path) for path in paths)


def render(facts: Facts) -> str:
    """Render the page."""
    return html(
        "report.html",
        title=f"Morning report: {visible(facts.info.root.rstrip('/').rpartition('/')[2])}",
        headline=_headline(facts),
        made=_moment(facts.made_at, facts.zone),
        since=_moment(facts.since, facts.zone) if facts.since else None,
        zone=str(facts.zone),
        tiles=_tiles(facts),
        sections=[
            _verdicts(facts),
            _night(facts),
            *_last_night(facts),
            _missing(facts),
            _corrections(facts),
            _audit(facts),
            _drift(facts),
            _heat_map(facts.coverage),
            _freshness(facts),
            _requests(facts),
        ],
    )


def _moment(at: datetime, zone: tzinfo) -> dict[str, str]:
    return {"iso": at.astimezone(UTC).isoformat(), "text": _minute(at, zone)}


def _minute(at: datetime, zone: tzinfo) -> str:
    return f"{to_zone(at, zone):%Y-%m-%d %H:%M %Z}"


def _local(at: datetime | None, zone: tzinfo) -> str:
    """Return a time of a table; its page says the zone."""
    return "" if at is None else f"{to_zone(at, zone):%Y-%m-%d %H:%M:%S}"


def _tiles(facts: Facts) -> list[dict[str, str]]:
    info = facts.info
    attention = sum(facts.verdicts[verdict] for verdict in PROBLEMS)
    tiles: list[tuple[str, str, bool | None]] = [
        ("need attention", f"{attention:,}", not attention),
        ("last fetched", _minute(info.fetched_at, facts.zone) if info.fetched_at else "never", None),
        ("games", f"{info.games:,}", None),
        ("holes", f"{len(info.holes):,}", not info.holes),
        ("new corrections", f"{len(facts.corrections):,}", None),
        ("unknown fields", f"{len(facts.unknown_fields):,}", not facts.unknown_fields),
        ("audit findings", f"{len(facts.violations):,}", not facts.violations),
    ]
    states = {None: "", True: "good", False: "bad"}
    return [{"name": name, "text": text, "state": states[is_good]} for name, text, is_good in tiles]


Section = dict[str, Any]
"""A title, texts before and notes after tables, a heat map and lines; see `report.html`."""


def _headline(facts: Facts) -> str:
    """Return what the archive can be used for, in a sentence."""
    worst = Counter(facts.worst.values())
    bad = sum(worst[verdict] for verdict in PROBLEMS)
    if not worst:
        return "No game is stored yet."
    if bad:
        return f"{count_text(bad, 'game')} of {sum(worst.values()):,} need{'s' * (bad == 1)} attention."
    if facts.info.holes:
        return f"No game needs attention, but the archive has {count_text(len(facts.info.holes), 'hole')}."
    if worst["pending"] or worst["provisional"]:
        return "Nothing is missing. Some numbers may still change: see the verdicts."
    return "Every game is complete."


def _verdicts(facts: Facts) -> Section:
    games, tables = Counter(facts.worst.values()), facts.verdicts
    rows = [(verdict, games[verdict], tables[verdict], MEANINGS[verdict]) for verdict in SEVERITY if tables[verdict]]
    lines = [
        (facts.games.get(row["game_id"], row["game_id"]), row["table"], row["status"], "; ".join(row["reasons"] or ()))
        for row in facts.problems
    ]
    shown_tables = []
    if rows:
        shown_tables.append(_table("Games by their worst verdict", ("verdict", "games", "tables", "meaning"), rows))
    if lines:
        total = sum(tables[verdict] for verdict in PROBLEMS)
        shown_tables.append(_table("What needs attention", ("game", "table", "verdict", "why"), lines, total))
    return {"title": "Verdicts", "texts": [] if rows else ["No game is stored yet."], "tables": shown_tables}


def _night(facts: Facts) -> Section:
    """Return the scores and leaders of the last night."""
    if not facts.night:
        return {"title": "Last night", "texts": ["The archive has no box score of a game."]}
    rows = []
    for game in facts.night:
        sides = [str(game[f"{side}_team_name"] or f"team {game[f'{side}_team_id']}") for side in ("away", "home")]
        points = [cell(game["points"][side]) or "?" for side in ("away", "home")]
        is_over = game["game_id"] not in facts.open_games
        leaders = [" ".join(map(cell, game["leaders"][stat])) if stat in game["leaders"] else "" for stat in STATS]
        score = "–".join(points) + ("" if is_over else ", not over")
        tipoff = game["tipoff_at"]
        start = f"{to_zone(tipoff, facts.zone):%Y-%m-%d %H:%M}" if tipoff else ""
        rows.append((" at ".join(sides), score, facts.worst.get(game["game_id"], ""), start, *leaders))
    heads = ("game", "score", "verdict", "tip-off", "points", "rebounds", "assists")
    return {"title": "Last night", "tables": [_table("Scores and leaders", heads, rows)]}


def _table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], total: int | None = None
) -> dict[str, Any]:
    """Return a table whose first column has the row headers; numbers are aligned to the right."""
    texts = [[_value(head, value) for head, value in zip(heads, row, strict=True)] for row in rows]
    cells = [[{"text": text, "is_number": bool(_NUMBER.fullmatch(text))} for text in row] for row in texts]
    left = (total or len(cells)) - len(cells)
    return {"caption": caption, "heads": list(heads), "rows": cells, "more": f"{left:,}" if left > 0 else ""}


def _value(head: str, value: Any) -> str:
    is_id = head == "player" or head.endswith("_id")
    if isinstance(value, int) and not isinstance(value, bool) and not is_id:
        return f"{value:,}"
    return shorten(cell(value), 200)


def _freshness(facts: Facts) -> Section:
    rows = [
        (operation, _local(at, facts.zone) or "never")
        for operation, at in sorted(facts.newest.items(), key=lambda item: item[0])
    ]
    return {
        "title": "Freshness",
        "tables": [
            _table("Last fetched", ("operation", "last fetched"), rows),
            _table("Rows of each table", ("table", "rows"), facts.info.rows.items()),
        ],
    }


def _heat_map(coverage: dict[str, dict[str, tuple[int, int]]]) -> Section:
    title = "Coverage by team and month"
    months = sorted({month for row in coverage.values() for month in row})
    if not months:
        return {"title": title, "texts": ["No game is stored yet."]}
    heat = [(visible(team), [_heat(row.get(month)) for month in months]) for team, row in coverage.items()]
    return {"title": title, "months": months, "heat": heat}


def _heat(counts: tuple[int, int] | None) -> dict[str, Any] | None:
    if counts is None:
        return None
    have, all_ = counts
    # 99.9 % of a thousand units is a hole, and must not be shown as 100 %.
    share = have / all_
    level = 4 if have == all_ else min(3, int(share * 4))
    percent = "100%" if have == all_ else f"{min(99, round(100 * share))}%"
    return {"level": level, "have": f"{have:,}", "all": f"{all_:,}", "percent": percent}


def _missing(facts: Facts) -> Section:
    holes, count = facts.info.holes, facts.info.unfinished
    title = "What is missing, and why"
    open_text = (
        [f"{count_text(count, 'game')} {'was' if count == 1 else 'were'} not over when last seen."] if count else []
    )
    if not holes:
        text = "There are no holes: every planned unit is stored, or the service has nothing of it."
        return {"title": title, "texts": [text, *open_text]}
    reasons = Counter(f"{hole['operation']} {hole['status']}" for hole in holes)
    more = [f"and {len(holes) - MAX_ROWS:,} more"] if len(holes) > MAX_ROWS else []
    return {
        "title": title,
        "texts": open_text,
        "tables": [_table("Holes by operation and status", ("kind", "holes"), reasons.most_common())],
        "lines": [shorten(hole_line(hole), 300) for hole in holes[:MAX_ROWS]],
        "notes": [*more, "The next sync requests them again."],
    }


def _corrections(facts: Facts) -> Section:
    title = "Corrections since the last report" if facts.since else "Corrections"
    if not facts.corrections:
        return {"title": title, "texts": ["No stored value has changed."]}
    heads = ("seen at", "table", "game", "player", "field", "old", "new")
    rows = [
        (
            _local(row["seen_at"], facts.zone),
            row["table"],
            facts.games.get(row["game_id"] or "", (row["game_id"] or "")[:8]),
            row["player_id"],
            row["field"],
            row["old"],
            row["new"],
        )
        for row in facts.corrections[:MAX_ROWS]
    ]
    return {
        "title": title,
        "tables": [_table("Values that changed, newest first", heads, rows, len(facts.corrections))],
    }


def _drift(facts: Facts) -> Section:
    scope = f"the {count_text(facts.bodies, 'body', 'bodies')} stored last"
    if not facts.unknown_fields:
        return {"title": "Schema drift", "texts": [f"There is no unknown field in {scope}."]}
    rows = [(f"{operation} {path}", count) for (operation, path), count in facts.unknown_fields.most_common(MAX_ROWS)]
    return {
        "title": "Schema drift",
        "tables": [_table(f"Unknown fields in {scope}", ("field", "bodies"), rows, len(facts.unknown_fields))],
    }


def _audit(facts: Facts) -> Section:
    if not facts.violations:
        return {"title": "Audit", "texts": ["No rule is violated."]}
    names = [name for name in facts.violations[0] if any(row[name] is not None for row in facts.violations)]
    rows = [
        [_local(row[name], facts.zone) if isinstance(row[name], datetime) else row[name] for name in names]
        for row in facts.violations[:MAX_ROWS]
    ]
    by_rule = Counter(row["rule"] for row in facts.violations).most_common()
    return {
        "title": "Audit",
        "tables": [
            _table("Findings by rule", ("rule", "findings"), by_rule),
            _table("Findings", names, rows, len(facts.violations)),
        ],
    }


def _last_night(facts: Facts) -> list[Section]:
    """Return loads and shots beside their coverage; nothing for an archive without positions."""
    night = facts.tracked_night
    if night is None or not night.loads:
        return []
    first, last = (_minute(night.starts[place], facts.zone) for place in (0, -1))
    texts = [f"Of {count_text(len(night.starts), 'session')} that began from {first} to {last}."]
    if night.holes:
        texts.append(
            f"The positions of {count_text(night.holes, 'session')} of that night or later are missing: see below."
        )
    teams = {game[f"{side}_team_id"]: game[f"{side}_team_name"] for game in facts.night for side in ("home", "away")}
    loads = [
        (
            row["player"] or row["player_id"],
            round(row["distance_m"]),
            f"{row['tracked_min']:.0f}",
            "" if row["peak_speed_mps"] is None else f"{row['peak_speed_mps']:.1f}",
            f"{row['seen_share']:.0%}",
        )
        for row in night.loads[:MAX_ROWS]
    ]
    shots = [
        (
            teams.get(row["team_id"]) or f"team {row['team_id']}",
            row["openness"].replace("_", " "),
            row["shots"],
            f"{row['efg']:.0%}",
            f"{row['known_share']:.0%}",
        )
        for row in night.shots
    ]
    heads = ("player", "metres", "minutes tracked", "peak m/s", "seen")
    tables = [_table("Loads, the farthest first", heads, loads, len(night.loads))]
    if shots:
        heads = ("team", "openness", "shots", "eFG", "with a known defender")
        tables.append(_table("Shots by openness", heads, shots))
    return [{"title": "Loads and shot quality", "texts": texts, "tables": tables}]


def _requests(facts: Facts) -> Section:
    rows = [*sorted(facts.units.items()), ("requests sent for them", facts.requests)]
    return {"title": "Units and requests", "tables": [_table("Units by status", ("status", "units"), rows)]}
