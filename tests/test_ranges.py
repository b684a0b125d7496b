"""Long ranges: split into pieces that the service accepts, and merged without lost or duplicate rows."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from contract import operations
from independent import Answer, Asked, as_json, server

import sideline

# The bodies here are no more than the subject needs.
pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")

HALF_HOUR = 30 * 60_000


def ms(when: datetime) -> int:
    return int(when.timestamp() * 1000)


def asked_ranges(seen: Any) -> list[tuple[int, int]]:
    queries = [parse_qs(request.target.split("?")[1]) for request in seen.requests]
    return sorted((int(q["from"][0]), int(q["to"][0])) for q in queries)


def eight_months_after(moment: int) -> int:
    moment_start = datetime.fromtimestamp(moment / 1000, UTC)
    year, month = divmod(moment_start.month - 1 + 8, 12)
    last = (date(moment_start.year + year + (month + 1) // 12, (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return ms(moment_start.replace(year=moment_start.year + year, month=month + 1, day=min(moment_start.day, last)))


@pytest.mark.parametrize(
    ("start", "end", "pieces"),
    [
        ("2026-01-01", "2026-09-01", 1),
        ("2026-01-01", "2026-09-01T00:00:00.001Z", 2),
        ("2024-06-30", "2026-11-21", 4),
        ("2025-06-30T12:00:00Z", "2026-11-21", 3),
    ],
)
def test_a_long_range_is_requested_in_pieces_that_touch_and_cover(start: str, end: str, pieces: int) -> None:
    with server(lambda request: as_json({"events": []})) as seen, sideline.Client(username="a", secret="b", base_url=seen.base_url) as client:
        assert client.team_events(46, start, end).to_dict() == {"events": []}
    ranges = asked_ranges(seen)
    assert len(ranges) == pieces
    first = datetime.fromisoformat(start)
    last = datetime.fromisoformat(end)
    assert ranges[0][0] == ms(first if first.tzinfo else first.replace(tzinfo=UTC))
    assert ranges[-1][1] == ms(last if last.tzinfo else last.replace(tzinfo=UTC))
    assert all(first[1] == other[0] for first, other in zip(ranges, ranges[1:], strict=False))
    assert all(to <= eight_months_after(start) for start, to in ranges)


def event(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "results": [], "is_game_event": True} | more


@pytest.mark.parametrize("is_list", [False, True])
def test_events_are_joined_by_id(is_list: bool) -> None:
    split = ms(datetime(2026, 9, 1, tzinfo=UTC))

    def respond(request: Asked) -> Answer:
        late = f"from={split}" in request.target
        events = [event("edge", n=1.50), event("late")] if late else [event("early"), event("edge", n=1.50)]
        return as_json(events if is_list else {"events": events, "note": "first" if not late else "second"}, x_request_id="2" if late else "1")

    with server(respond) as seen, sideline.Client(username="a", secret="b", base_url=seen.base_url) as client:
        payload = client.team_events(46, "2026-01-01", "2026-11-01")
    body = payload.to_dict()
    assert [e["id"] for e in (body if is_list else body["events"])] == ["early", "edge", "late"]
    assert [row["event_id"] for row in payload.table("events").to_dicts()] == ["early", "edge", "late"]
    assert [len(part.table("events").to_dicts()) for part in payload.parts] == [2, 2]
    assert (payload.status, payload.headers["X-Request-Id"]) == (200, "1")


def test_a_range_of_locations_is_requested_in_windows_of_half_an_hour() -> None:
    start, end = 1_700_000_000_000, 1_700_000_000_000 + 75 * 60_000

    def loc(t: int, tag: str) -> dict[str, Any]:
        return {"t": t, "tag": tag, "pid": int(tag), "x": 1.0, "sid": "s-1"}

    def respond(request: Asked) -> Answer:
        query = parse_qs(request.target.split("?")[1])
        first, last = int(query["from"][0]), int(query["to"][0])
        assert query["id"] == ["s-1"]
        # Both ends inclusive: the border is sent twice.
        return as_json([{"locations": [loc(t, "1"), loc(t, "2")]} for t in range(first, last + 1, 5 * 60_000)])

    with server(respond) as seen, sideline.Client(username="a", secret="b", base_url=seen.base_url) as client:
        payload = client.locations("s-1", start, end)
    ranges = asked_ranges(seen)
    assert ranges == [(start, start + HALF_HOUR), (start + HALF_HOUR, start + 2 * HALF_HOUR), (start + 2 * HALF_HOUR, end)]
    rows = payload.table().to_dicts()
    expected = [(t, tag) for t in range(start, end + 1, 5 * 60_000) for tag in ("1", "2")]
    assert [(ms(row["t"]), row["tag"]) for row in rows] == expected
    assert sum(len(batch["locations"]) for batch in payload) == len(expected)


def test_a_season_of_locations_of_the_simulator_has_no_gap_and_no_double(service: sideline.Simulator, client: sideline.Client) -> None:
    session = client.game(service.games[0]["event_id"])["results"][0]
    payload = client.locations(session["id"], session["started_at"], session["ended_at"])
    assert len(payload.parts) > 1
    keys = [(row["t"], row["tag"], row["player_id"]) for row in payload.table().to_dicts()]
    assert len(keys) == len(set(keys))
    times = sorted({t for t, _, _ in keys})
    assert {b - a for a, b in zip(times, times[1:], strict=False)} == {times[1] - times[0]}


def test_one_failed_piece_fails_the_call() -> None:
    def respond(request: Asked) -> Answer:
        first = f"from={ms(datetime(2026, 1, 1, tzinfo=UTC))}" in request.target
        return as_json({"events": []}) if first else as_json({"status": 403, "message": "No access", "serviceRequestId": "r"}, 403)

    with server(respond) as seen, sideline.Client(username="a", secret="b", base_url=seen.base_url) as client:
        with pytest.raises(sideline.PermissionDenied):
            client.team_events(46, "2026-01-01", "2026-11-01")


# Ranges that hold nothing, of every operation that takes one.

SERVICE_RULES = ("team_events", "team_game_stats")
"""Operations whose rules the specification lists: they are refused in the service's words."""
EMPTY_RANGES = {
    "swapped": ("2026-12-01", "2026-11-01", "swap them", "from must be less than to"),
    "empty": ("2026-12-01", "2026-12-01", "start equals end.*the range is empty", "from must be less than to"),
    "before 1990": ("1989-06-01", "1989-07-01", "start is 1989-06-01.*from 1990 to 2100", "start is 1989-06-01.*from 1990 to 2100"),
    "after 2100": ("2101-06-01", "2101-07-01", "start is 2101-06-01.*from 1990 to 2100", "start is 2101-06-01.*from 1990 to 2100"),
}
RANGE_OPERATIONS = [operation for operation in operations() if {"start", "end"} <= {argument["name"] for argument in operation["arguments"]}]


def arguments_of(operation: dict[str, Any], start: str, end: str, first: Any) -> dict[str, Any]:
    """What the operation needs, with `first` in place of its ids."""
    arguments: dict[str, Any] = {"start": start, "end": end}
    for argument in operation["arguments"]:
        if argument["takes_many"]:
            arguments[argument["name"]] = first
        elif argument["is_required"] and argument["name"] not in arguments:
            arguments[argument["name"]] = argument["choices"][0] if argument["choices"] else 1
    return arguments


@pytest.mark.parametrize("kind", EMPTY_RANGES)
@pytest.mark.parametrize("operation", RANGE_OPERATIONS, ids=lambda operation: operation["name"])
def test_a_range_that_holds_nothing_is_refused_by_every_operation(operation: dict[str, Any], kind: str) -> None:
    start, end, general, of_service = EMPTY_RANGES[kind]
    message = of_service if operation["name"] in SERVICE_RULES else general
    takes_many = any(argument["takes_many"] for argument in operation["arguments"])
    options: dict[str, Any] = {"username": "a", "secret": "b", "api_key": "c"}

    async def request(base_url: str, arguments: dict[str, Any]) -> None:
        async with sideline.AsyncClient(**options, base_url=base_url, broadcast_base_url=base_url) as client:
            await getattr(client, operation["name"])(**arguments)

    with server(lambda _: as_json({})) as seen:
        for first in (1, [1, 2]) if takes_many else (1,):
            arguments = arguments_of(operation, start, end, first)
            with sideline.Client(**options, base_url=seen.base_url, broadcast_base_url=seen.base_url) as client:
                with pytest.raises(ValueError, match=message):
                    getattr(client, operation["name"])(**arguments)
            with pytest.raises(ValueError, match=message):
                asyncio.run(request(seen.base_url, arguments))
    assert list(seen.requests) == []


def test_operations_with_a_range_are_found() -> None:
    assert {operation["name"] for operation in RANGE_OPERATIONS} >= {"schedule", "broadcast_schedule", "matchup", "locations", *SERVICE_RULES}
