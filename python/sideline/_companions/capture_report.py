"""The report of a capture: what was unknown, and what was seen of it. Everything is read from the capture's files."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any

from .._answers import Tracking, audit
from .._core import Payload
from ..errors import SidelineError
from .capture_folder import Capture, CaptureFolder, payload_of

_FIRST_ROWS = 3
_MAX_VALUES = 40
_MAX_KEYS = 40
_MAX_DEPTH = 8

_OPEN_SETS = (
    *(("games", "status"), ("games", "type"), ("games", "gender"), ("games", "source"), ("sessions", "type")),
    *(("events", "game_type"), ("events", "source"), ("players", "position"), ("special_services", "type")),
    *(("player_stats", "stat"), ("stat_events", "stat"), ("stat_events", "period"), ("shots", "status")),
    *(("shots", "attributes"), ("shots", "period"), ("possession_events", "possession_type")),
    *(("possession_events", "details"), ("play_by_play", "classification"), ("play_by_play", "type")),
    *(("ball_screens", "source"), ("locations", "type")),
)
"""Columns whose values the service has never listed."""


class Facts:
    """The bodies and streams of a capture."""

    def __init__(self, store: CaptureFolder, capture: Capture) -> None:
        self.store, self.capture = store, capture
        self.payloads: dict[str, Payload] = {}
        for exchange in capture.exchanges:
            raw = store.body(exchange) if exchange.outcome in ("fetched", "broken") else None
            if raw is not None:
                self.payloads[exchange.step] = payload_of(exchange.operation, raw, exchange.context, capture.sport)
        self.lines = {stream.step: store.lines(stream) for stream in capture.streams}

    def of_operation(self, *operations: str) -> list[Payload]:
        """Return the payloads of some operations that can be read."""
        steps = [
            exchange.step
            for exchange in self.capture.exchanges
            if exchange.operation in operations and exchange.outcome == "fetched"
        ]
        return [self.payloads[step] for step in steps if step in self.payloads]

    def document(self, step: str) -> Any:
        """Return the JSON of a step's body; `None` without one."""
        payload = self.payloads.get(step)
        try:
            return None if payload is None else payload.to_dict()
        except SidelineError:
            return None

    @cached_property
    def tables(self) -> dict[str, dict[str, Any]]:
        """Return the rows and first rows of each table, by step and table."""
        tables = {}
        for step, payload in self.payloads.items():
            for name in payload.tables:
                try:
                    table = payload.table(name)
                except SidelineError:
                    continue
                tables[f"{step}: {name}"] = {"rows": table.num_rows, "first_rows": table.head(_FIRST_ROWS).to_dicts()}
        return tables

    def values(self, table: str, column: str) -> list[str]:
        """Return the values of a column in all bodies, the most frequent first."""
        counts: Counter[str] = Counter()
        for payload in self.payloads.values():
            if table not in payload.tables:
                continue
            try:
                values = payload.table(table, columns=[column])[column]
            except (SidelineError, ValueError):
                continue
            for value in values:
                counts.update(value if isinstance(value, list) else [] if value is None else [value])
        return [str(value) for value, _ in counts.most_common(_MAX_VALUES)]

    @cached_property
    def messages(self) -> list[Any]:
        """Return the messages of the websocket as JSON; `None` for other texts."""
        return [_json(line["text"]) for line in self.lines.get("live", []) if "text" in line]

    @cached_property
    def rates(self) -> dict[str, Any]:
        """Return what positions show of their sensors and clocks."""
        locations = self.of_operation("locations")
        if not locations:
            return {}
        sources = [self.of_operation(name) for name in ("shots", "stats_details", "possessions")]
        try:
            times = sorted(
                {time for payload in locations for time in payload.table("locations", columns=["t"])["t"] if time}
            )
            coverage = Tracking(locations, *sources).coverage().to_dicts()
        except (SidelineError, ValueError, ModuleNotFoundError):
            return {}
        steps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
        offsets = [row["offset_s"] for row in coverage if row["offset_s"] is not None]
        return {
            "rate_hz": round(1 / median(steps), 3) if steps else None,
            "types": self.values("locations", "type"),
            "offset_s": round(median(offsets), 2) if offsets else None,
        }


def report(store: CaptureFolder, capture: Capture) -> dict[str, Any]:
    """Return the report: the unknowns, and what each body has."""
    facts = Facts(store, capture)
    return {
        "unknowns": [
            {"name": name, "question": text, "seen": finding is not None, "finding": finding or "not seen"}
            for name, (text, find) in UNKNOWNS.items()
            for finding in [_safely(find, facts)]
        ],
        "unknown_fields": _unknown_fields(facts),
        "values": {
            f"{table}.{column}": values for table, column in _OPEN_SETS if (values := facts.values(table, column))
        },
        "rates": facts.rates,
        "statuses": dict(Counter(str(exchange.status) for exchange in capture.exchanges if exchange.status)),
        "headers": sorted({name.lower() for exchange in capture.exchanges for name in exchange.headers}),
        "tables": facts.tables,
        "audit": _audit(facts),
    }


def _safely(find: Callable[[Facts], str | None], facts: Facts) -> str | None:
    try:
        finding = find(facts)
        # Half of a pair of surrogates, which JSON can escape, has no place in a file.
        return None if finding is None else finding.encode("utf-8", "backslashreplace").decode()
    except (SidelineError, AttributeError, KeyError, TypeError, ValueError):
        # A body of another shape than any that is known.
        return None


def _unknown_fields(facts: Facts) -> list[dict[str, str]]:
    fields: dict[tuple[str, str], None] = {}
    for payload in facts.payloads.values():
        try:
            fields.update(dict.fromkeys((payload.operation, path) for path in payload.unknown_fields()))
        except (SidelineError, ValueError):
            continue
    return [{"operation": operation, "path": path} for operation, path in fields]


def _audit(facts: Facts) -> dict[str, Any]:
    sources = {
        "player_stats": facts.of_operation("stats"),
        "stat_events": facts.of_operation("stats_details"),
        "possessions": facts.of_operation("possessions"),
        "shots": facts.of_operation("shots"),
        "play_by_play": facts.of_operation("play_by_play"),
        "sessions": facts.of_operation("game"),
        "players": facts.of_operation("roster"),
        "locations": facts.of_operation("locations"),
    }
    try:
        violations = audit(**{name: payloads for name, payloads in sources.items() if payloads})  # type: ignore[arg-type]
    except (SidelineError, ValueError, ModuleNotFoundError) as error:
        return {"finding": f"not run: {error}", "rules": [], "violations": []}
    rules = [
        {"rule": run.rule, "is_checked": run.is_run, "rows": run.rows, "violations": run.violations}
        for run in violations.rules
    ]
    return {"finding": "", "rules": rules, "violations": violations.head(_MAX_VALUES).to_dicts()}


# Shapes


def shape(value: Any, depth: int = 0) -> str:
    """Return the members of a JSON value with their types; a list has the shape of its elements."""
    if depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        if len(value) > _MAX_KEYS or any(not name.isidentifier() for name in value):
            return f"{{*: {_shape_of_all(value.values(), depth)}}}"
        return f"{{{', '.join(f'{name}: {shape(member, depth + 1)}' for name, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{_shape_of_all(value, depth)}]"
    names = {bool: "boolean", int: "number", float: "number", str: "text", type(None): "null"}
    return names[type(value)]


def _shape_of_all(values: Iterable[Any], depth: int) -> str:
    return " | ".join(dict.fromkeys(shape(value, depth + 1) for value in list(values)[:_MAX_VALUES]))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# Unknowns: each returns what was seen, or `None`.


def _body(step: str) -> Callable[[Facts], str | None]:
    def find(facts: Facts) -> str | None:
        document = facts.document(step)
        return None if document is None else shape(document)

    return find


def _column(*columns: tuple[str, str]) -> Callable[[Facts], str | None]:
    def find(facts: Facts) -> str | None:
        values = [value for table, column in columns for value in facts.values(table, column)]
        return ", ".join(dict.fromkeys(values)) or None

    return find


def _find_nothing(_: Facts) -> None:
    """Return nothing: no documented request shows it."""


def _envelope(facts: Facts) -> str | None:
    objects = [message for message in facts.messages if isinstance(message, dict)]
    shapes = Counter(", ".join(f"{name}: {_kind(value)}" for name, value in message.items()) for message in objects)
    return "; ".join(f"{{{members}}}" for members, _ in shapes.most_common(8)) or None


def _kind(value: Any) -> str:
    return "object" if isinstance(value, dict) else "list" if isinstance(value, list) else shape(value)


def _sources(facts: Facts) -> str | None:
    sources = Counter(
        str(message["source"]) for message in facts.messages if isinstance(message, dict) and "source" in message
    )
    return ", ".join(f"{name} ({count})" for name, count in sources.most_common()) or None


def _seq(facts: Facts) -> str | None:
    for message in facts.messages:
        if isinstance(message, dict):
            for name, value in message.items():
                if name.lower().startswith("seq"):
                    return f"{name}, in the envelope"
                if isinstance(value, dict) and any(inner.lower().startswith("seq") for inner in value):
                    return f"in {name}"
    return None


def _keepalive(facts: Facts) -> str | None:
    texts = {
        line["text"][:80] for line in facts.lines.get("live", []) if "text" in line and "pong" in line["text"][:200]
    }
    if texts:
        return "; ".join(sorted(texts))
    frames = [line["heartbeat"] for line in facts.lines.get("live", []) if "heartbeat" in line]
    return f"control frames only ({len(frames)} seen)" if frames else None


def _close_codes(facts: Facts) -> str | None:
    codes = {line["close_code"] for line in facts.lines.get("live", []) if line.get("close_code")}
    return ", ".join(map(str, sorted(codes))) or None


def _heartbeat(facts: Facts) -> str | None:
    times = [line["after_ms"] for line in facts.lines.get("live_stats", []) if "heartbeat" in line]
    intervals = [later - earlier for earlier, later in pairwise(times)]
    return f"{median(intervals) / 1000:.1f} s between heartbeats ({len(times)} seen)" if intervals else None


def _refusals(facts: Facts) -> str | None:
    refusals = {
        f"{exchange.operation} {exchange.status}"
        for exchange in facts.capture.exchanges
        if exchange.outcome in ("refused", "failed") and exchange.status
    }
    return ", ".join(sorted(refusals)) or None


def _headers(*prefixes: str) -> Callable[[Facts], str | None]:
    def find(facts: Facts) -> str | None:
        headers = {
            f"{name.lower()}: {value}"
            for exchange in facts.capture.exchanges
            for name, value in exchange.headers.items()
            if name.lower().startswith(prefixes)
        }
        limits = [f"429 from {exchange.operation}" for exchange in facts.capture.exchanges if exchange.status == 429]
        return ", ".join(sorted(headers) + limits) or None

    return find


def _pagination(facts: Facts) -> str | None:
    names = {"next", "page", "offset", "cursor", "total", "limit", "_next", "has_more", "next_page"}
    pages = [
        f"{step}: {', '.join(sorted(names & document.keys()))}"
        for step in facts.payloads
        if isinstance(document := facts.document(step), dict) and names & document.keys()
    ]
    return "; ".join(pages) or None


def _events_root(facts: Facts) -> str | None:
    document = facts.document("team_events")
    if document is None:
        return None
    return "an array" if isinstance(document, list) else f"an object with {', '.join(list(document)[:5])}"


def _results_link(facts: Facts) -> str | None:
    document = facts.document("schedule") or {}
    games = [game for game in document["games"] if game.get("_results")]
    count = sum(str(game["event_id"]) in game["_results"] for game in games)
    return f"{count} of {len(games)} links of results end with the game's event_id" if games else None


def _rate(facts: Facts) -> str | None:
    rate = facts.rates.get("rate_hz")
    return None if rate is None else f"{rate:g} frames a second"


def _ball(facts: Facts) -> str | None:
    types = facts.rates.get("types")
    if not types:
        return None
    others = [name for name in types if name != "PLAYER"]
    return f"types {', '.join(types)}" + ("" if others else ": no ball")


def _offset(facts: Facts) -> str | None:
    offset = facts.rates.get("offset_s")
    return None if offset is None else f"positions are {offset:g} s behind the shots"


def _clock(facts: Facts) -> str | None:
    offsets = [exchange.clock_offset_s for exchange in facts.capture.exchanges if exchange.clock_offset_s is not None]
    return f"{median(offsets):+.1f} s from this machine's clock" if offsets else None


def _football(facts: Facts) -> str | None:
    return _column(("player_stats", "stat"))(facts) if facts.capture.sport == "football" else None


def _request_ids(facts: Facts) -> str | None:
    names = {
        name
        for exchange in facts.capture.exchanges
        for name in exchange.headers
        if "request" in name.lower() or name.lower().endswith("-id")
    }
    return ", ".join(sorted(names)) or None


UNKNOWNS: dict[str, tuple[str, Callable[[Facts], str | None]]] = {
    "websocket_envelope": ("members of a message of the websocket", _envelope),
    "websocket_sources": ("names of the websocket's sources", _sources),
    "websocket_seq": ("place of the sequence number", _seq),
    "websocket_keepalive": ("form of the websocket's pings and pongs", _keepalive),
    "websocket_close_codes": ("codes with which the service closes", _close_codes),
    "subscription_token_body": ("body of _subscribe", _body("_subscribe")),
    "subscription_token_lifetime": ("how long a token is valid", _find_nothing),
    "heartbeat_interval": ("interval of the event stream's heartbeats", _heartbeat),
    "broadcast_schedule_body": ("body of the Broadcast schedule", _body("broadcast_schedule_range")),
    "broadcast_teams_body": ("body of the Broadcast teams", _body("broadcast_teams")),
    "broadcast_colors_body": ("body of the jersey colors", _body("broadcast_colors")),
    "broadcast_stats_body": ("body of the Broadcast game stats", _body("broadcast_stats")),
    "broadcast_locomotion_body": ("body of the locomotion metrics", _body("broadcast_locomotion")),
    "broadcast_other_paths": ("paths of officials, reports, images, season stats, test pattern", _find_nothing),
    "lineups_body": ("parameters and body of the line-ups", _find_nothing),
    "assignments_history_body": ("body of the sensor assignments", _body("assignments_history")),
    "possessions_summary_body": ("body of the possessions summary", _body("possessions_summary")),
    "practice_body": ("body of a practice", _body("practice")),
    "video_actions_body": ("path and body of the video actions", _find_nothing),
    "game_events_body": ("body of the full game events", _body("game_events")),
    "game_stats_details_body": ("body of a game's stats details", _body("game_stats_details")),
    "football_statistics": ("codes of football's statistics", _football),
    "football_field_frame": ("coordinates of the football field", _find_nothing),
    "shot_attributes": ("attributes of shots", _column(("shots", "attributes"))),
    "shot_statuses": ("statuses of shots", _column(("shots", "status"))),
    "game_statuses": ("statuses of scheduled games", _column(("games", "status"))),
    "session_types": ("types of sessions", _column(("sessions", "type"))),
    "periods": ("labels of periods", _column(("stat_events", "period"), ("shots", "period"))),
    "stat_codes": ("codes of statistics", _column(("player_stats", "stat"), ("stat_events", "stat"))),
    "classifications": ("classifications of plays", _column(("play_by_play", "classification"))),
    "rate_limits": ("headers or statuses of rate limits", _headers("ratelimit", "x-ratelimit", "retry-after")),
    "refusals": ("statuses of refused operations", _refusals),
    "request_ids": ("headers with an id of the request", _request_ids),
    "pagination": ("members that page a list", _pagination),
    "zone_polygons": ("borders of the shot zones", _find_nothing),
    "changelog": ("a changelog of the service", _find_nothing),
    "events_root": ("root of the team events", _events_root),
    "results_link": ("whether _results names the event_id", _results_link),
    "location_rate": ("rate of the positions", _rate),
    "ball_presence": ("types of positions", _ball),
    "position_clock_offset": ("offset between the clocks of shots and positions", _offset),
    "service_clock_offset": ("offset of the service's clock", _clock),
}
"""The unknowns by their stable names, by which two captures can be compared."""
