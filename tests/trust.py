"""Helpers of the proofs of the archive's promises: whether every difference from the truth is named, and killed writers."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from service import EMPTY, NO_DATA, Row, Season, Service, differences, ids_as_text, odd_value, truncated

import sideline

PARENTS: dict[str, tuple[str, ...]] = {
    "teams": ("teams",),
    "players": ("roster",),
    "special_services": ("roster",),
    "team": ("roster",),
    "games": ("schedule",),
    **dict.fromkeys(("events", "sessions", "location_windows"), ("game", "team_events")),
    **dict.fromkeys(("player_stats", "box_score"), ("stats",)),
    "stat_events": ("stats_details",),
    **dict.fromkeys(("possessions", "possession_events", "possession_players"), ("possessions",)),
    "shots": ("shots",),
    "locations": ("locations",),
    "play_by_play": ("play_by_play",),
    "ball_screens": ("ball_screens",),
}
"""Table → the operations whose bodies hold its rows."""

COMPARED_NAMES = [name for name in PARENTS if name not in ("locations", "play_by_play", "ball_screens")]
"""The tables of an archive by default of a service without additions."""

GOOD = {"fetched", "empty"}
LACKING = {"forbidden", "missing", "failed"}
"""The statuses of a hole."""


KINDS = (*(f"body: {name}" for name in NO_DATA), *(f"status: {status}" for status in (400, 403, 404, 422, 429, 500, 502, 503)))
KINDS += ("empty list", "truncated", "refused", "cut", "ids as text", "odd value", "no date", "odd date")
"""What can be wrong with a response."""

LIES = {"empty list", "odd value"}
"""Kinds that are well-formed and false: no client can name them."""


def fault_options(kind: str, seed: int) -> dict[str, Any]:
    """A kind as options of `service.faults.add`."""
    name, _, value = kind.partition(": ")
    match name:
        case "body":
            return {"change": NO_DATA[value]}
        case "status":
            return {"status": int(value), "body": {"status": int(value), "message": "broken"}, "headers": {"Retry-After": "0"}}
        case "empty list":
            return {"change": EMPTY}
        case "truncated":
            return {"change_bytes": truncated(0.7)}
        case "refused":
            return {"refuse": True}
        case "cut":
            return {"cut_at": 40}
        case "ids as text":
            return {"change": ids_as_text}
        case "odd value":
            return {"change": odd_value(random.Random(seed))}
        case "no date":
            return {"headers": {"Date": ""}}
        case "odd date":
            return {"headers": {"Date": "Thu, 01 Jan 2099 00:00:00 GMT"}}
    raise ValueError(kind)


Finding = tuple[str, str, Row]
"""A table, "missing" or "extra", and the row."""


class Memory:
    """Every game and team that a session ever belonged to, since reports may name sessions that the season no longer has."""

    def __init__(self) -> None:
        self.event_of: dict[str, str] = {}
        self.teams_of: dict[str, set[int]] = {}

    def note(self, season: Season) -> None:
        """To be called after each mutation."""
        for event in season.events:
            self.teams_of.setdefault(event.id, set()).update(event.team_ids)
            for session in event.sessions:
                self.event_of[session.id] = event.id

    def event(self, row: Row) -> str | None:
        """The row's game or practice. The `event_id` of a play is its own."""
        own_id = row.get("event_id")
        return (own_id if own_id in self.teams_of else None) or row.get("game_id") or self.event_of.get(row.get("session_id") or "")


def is_named(table: str, row: Row, accounts: Iterable[Row], memory: Memory) -> bool:
    """Whether an account names the row: a correction of its table, the hole of its own unit, or that of a list that alone leads to it.

    A withdrawn unit names nothing: its rows have left, and are no longer the truth.
    """
    event = memory.event(row)
    teams = memory.teams_of.get(event or "", {row.get("team_id")})
    teams_without_list: set[int | None] = set()
    for entry in accounts:
        operation = entry.get("operation")
        same_session = entry.get("session_id") is not None and entry["session_id"] == row.get("session_id")
        same_event = event is not None and (entry.get("game_id") == event or str(entry.get("unit", "")).endswith(f"/{event}"))
        if "field" in entry:
            same_team = entry.get("team_id") is not None and entry["team_id"] == row.get("team_id")
            if entry.get("table") == table and (same_session or same_event or same_team):
                return True
            continue
        if entry["status"] == "withdrawn":
            continue
        if operation in PARENTS[table]:
            # A list as a whole has no id of a row.
            is_of_list = all(entry.get(name) is None for name in ("session_id", "game_id", "team_id"))
            if same_session or same_event or is_of_list or (event is None and entry.get("team_id") == row.get("team_id")):
                return True
        if operation == "teams" and entry.get("team_id") is None:
            # Without the list of teams, the teams with events are unknown.
            return True
        if operation in ("game", "team_events") and same_event:
            return True
        if operation == "team_events" and entry.get("session_id") is None:
            teams_without_list.add(entry.get("team_id"))
    # The list of either team has its games.
    return event is not None and bool(teams) and teams <= teams_without_list


def is_denied(row: Row, service: Service) -> bool:
    """Whether a unit is withdrawn because of a 404 that is still the service's response."""
    is_withdrawn = row.get("status") == "withdrawn" and "returned 404" in (row["error"] or "")
    return is_withdrawn and any(fault.status == 404 and fault.operation in (None, row["operation"]) for fault in service.faults.rules())


def accounts(archive: sideline.Archive, report: Any) -> list[Row]:
    """Everything in which a sync of the whole season can report missing or changed data: only holes of the report count."""
    stored_rows = archive.scan("coverage").collect().to_dicts()
    rows = [row for row in (*report.coverage.to_dicts(), *stored_rows) if row["status"] not in (*GOOD, *LACKING)]
    return [*report.holes, *rows, *report.corrections.to_dicts()]


def untrue(archive: sideline.Archive, service: Service, tables: Iterable[str]) -> list[Finding]:
    """Every row that is missing or extra."""
    truth = service.truth(names=(table_names := list(tables)))
    findings: list[Finding] = []
    for table in table_names:
        difference = differences(rows_of(archive, table), truth[table])
        findings += [(table, "missing", row) for row in difference.missing] + [(table, "extra", row) for row in difference.extra]
    return findings


def find_unnamed(archive: sideline.Archive, report: Any, service: Service, memory: Memory, tables: Iterable[str]) -> list[Finding]:
    """Those of them that nothing names. The withdrawal of a unit names its rows as long as the service denies that there is such a unit."""
    named_rows = [{**row, "status": "denied"} if is_denied(row, service) else row for row in accounts(archive, report)]
    return [(table, kind, row) for table, kind, row in untrue(archive, service, tables) if not is_named(table, row, named_rows, memory)]


def rows_of(archive: sideline.Archive, table: str) -> list[Row]:
    """The rows of an archive's table; of `players`, which has those of the past too, the ones of now."""
    rows = archive.to_arrow(table).to_pylist()
    if table != "players":
        return rows
    return [{name: value for name, value in row.items() if not name.startswith("listed_")} for row in rows if row.get("listed_until") is None]


def describe(findings: list[Finding], limit: int = 6) -> str:
    """Differences as a text that fits a failure."""
    counts: dict[tuple[str, str], int] = {}
    for table, kind, _ in findings:
        counts[table, kind] = counts.get((table, kind), 0) + 1
    keys = ("session_id", "game_id", "event_id", "team_id", "player_id", "possession", "stat", "occurred_at")
    texts = (f"{table} {kind}: { {key: row[key] for key in keys if row.get(key) is not None} }" for table, kind, row in findings)
    first = list(dict.fromkeys(texts))[:limit]
    return "\n".join([", ".join(f"{count} {kind} in {table}" for (table, kind), count in counts.items()), *first])
