"""A time that no calendar has costs its own row: what reads times answers for all others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from needs import ARCHIVE, library, needs, require
from service import Features, Service

import sideline

pl = library("polars")
require("polars", "pyarrow", extra="polars,arrow")

TIMES = (10**15, -(10**15), 9 * 10**18, 253_402_300_800_000)
"""The years 33658, -29719 and 285 million, and the first moment of the year 10000, in epoch milliseconds."""


@pytest.fixture
def league() -> Iterator[Service]:
    with Service(seed=3, now="2027-01-10T12:00:00Z", features=Features.everything()) as league:
        yield league


@pytest.fixture
def client(league: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**league.client_options(), max_retries=0) as client:
        yield client


def objects_with(name: str, node: Any) -> Iterator[dict[str, Any]]:
    """Each object that has a member of this name, without what it contains."""
    if isinstance(node, dict) and name in node:
        yield node
    else:
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from objects_with(name, child)


def replace_first(node: Any, name: str, *values: int) -> bool:
    """Put values in the first places of this name. Returns whether there are so many."""
    places = list(islice(objects_with(name, node), len(values)))
    for place, value in zip(places, values, strict=False):
        place[name] = value
    return len(places) == len(values)


def odd(payload: sideline.Payload, name: str, time: int, **ids: str) -> sideline.Payload:
    body = json.loads(payload.raw)
    assert replace_first(body, name, time)
    return sideline.Payload.from_bytes(payload.operation, json.dumps(body).encode(), **ids)


@pytest.fixture(params=TIMES, ids=str)
def time(request: pytest.FixtureRequest) -> int:
    moment: int = request.param
    return moment


@pytest.fixture
def shots(client: sideline.Client, league: Service, time: int) -> sideline.Payload:
    event = league.season.games[0]
    return odd(client.shots(event.sessions[0].id), "occurred_at", time, session_id=event.sessions[0].id, game_id=event.id)


def test_clips_have_every_other_row(shots: sideline.Payload, league: Service, time: int) -> None:
    start = league.season.games[0].sessions[0].start
    videos = [{"hls_file": name, "hls_video_start_timestamp": at, "hls_duration": 3600} for name, at in (("odd.m3u8", time), ("game.m3u8", start))]
    for rows in (shots, shots.to_pandas()) if time == TIMES[-1] else (shots,):
        clips = sideline.clips(rows, videos).to_polars()
        assert clips["reason"].to_list().count("outside the video") == 1
        assert set(clips["video"].drop_nulls()) == {"game.m3u8"}
        assert clips["video"].null_count() == 1
    table = sideline.Payload.from_bytes("videos", json.dumps({"videos": [{"hlsFile": "odd.m3u8", "hlsVideoStartTimestamp": time}]}).encode())
    assert set(sideline.clips(shots, table)["reason"]) == {"no video"}


def test_an_audit_reports_it(client: sideline.Client, league: Service, shots: sideline.Payload, time: int) -> None:
    event = league.season.games[0]
    game = client.game(event.id)
    violations = sideline.audit(shots=shots, sessions=game).to_polars().filter(rule="happens_inside_session")
    assert violations["found"].to_list() == ["<out of range>"]
    assert "a shot is at <out of range>, the session is from 2026" in violations["message"][0]
    for name in ("started_at", "ended_at"):
        rules = sideline.audit(sessions=odd(game, name, time)).to_polars()["rule"].to_list()
        assert set(rules) <= {"sessions_end_after_start", "windows_cover"}


@needs("matplotlib")
@pytest.mark.usefixtures("agg")
def test_charts_draw_it(shots: sideline.Payload) -> None:
    expected = sideline.plot.shot_chart(shots.to_polars().drop("occurred_at")).get_xlabel()
    assert sideline.plot.shot_chart(shots).get_xlabel() == expected
    assert sideline.plot.zones(shots).get_xlabel().startswith(expected)


@pytest.mark.parametrize("name", ["started_at", "ended_at"])
def test_a_game_is_tracked_by_its_windows(client: sideline.Client, league: Service, time: int, name: str) -> None:
    event = league.season.games[0]
    expected = client.tracking(event.id, progress=False).loads().num_rows

    def change(body: Any) -> Any:
        assert replace_first(body["results"], name, time)
        return body

    rule = league.faults.add("game", change=change)
    try:
        assert client.tracking(event.id, progress=False).loads().num_rows == expected > 0
    finally:
        league.faults.remove(rule)


def test_a_plan_of_a_session_of_half_a_century_is_refused(client: sideline.Client, league: Service) -> None:
    """It would be a million windows of locations."""
    event = league.season.games[0]
    rule = league.faults.add("game", change=lambda body: body if replace_first(body["results"], "started_at", 0) else None)
    try:
        with pytest.raises(sideline.IncompleteError, match=f"locations/{event.sessions[0].id}: not sent: .* from 1970-01-01 00:00:00"):
            client.plan("locations", game_ids=[event.id])
        assert len(client.plan("shots", game_ids=[event.id])) == len(event.sessions)
    finally:
        league.faults.remove(rule)


EDGES = (-62_135_596_800_000, 253_402_300_799_999)
"""The first and the last millisecond that Python has, in epoch milliseconds."""


@needs(*ARCHIVE)
@pytest.mark.parametrize(("operation", "name"), [("schedule", "tipoff_at"), ("team_events", "started_at"), ("team_events", "ended_at")])
def test_a_game_at_the_edge_of_the_calendar_ends_no_sync_and_no_report(
    client: sideline.Client, league: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, name: str
) -> None:
    archive = sideline.Archive(tmp_path / "season", client)
    have_both_edges = []

    def change(body: Any) -> Any:
        have_both_edges.append(replace_first(body, name, *EDGES))
        return body

    rule = league.faults.add(operation, change=change)
    try:
        for _ in range(3):
            archive.sync(start="2026-07-01", end="2027-06-01", on_error="keep", progress=False)
            assert archive.status().num_rows > 0
            league.advance(timedelta(days=8))
    finally:
        league.faults.remove(rule)
    assert any(have_both_edges)
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        assert "Scores and leaders" in archive.report(tz=zone).html
        monkeypatch.setenv("SIDELINE_TZ", zone)
        for table in ("games", "events"):
            rows = archive.sql(f"select tipoff_at from {table}" if table == "games" else f"select started_at, ended_at from {table}")
            assert str(rows)
            assert rows._repr_html_()
    assert archive.scan("shots").collect().height > 0


@needs(*ARCHIVE)
@pytest.mark.parametrize("duration", [timedelta.max, 10**12])
def test_a_duration_without_end_is_refused(client: sideline.Client, tmp_path: Path, duration: timedelta | int) -> None:
    archive = sideline.Archive(tmp_path / "season", client)
    archive.sync(start="2026-12-01", end="2027-01-01", progress=False)
    for call in (
        lambda: archive.sync(start="2026-12-01", end="2027-01-01", correction_window=duration),
        lambda: archive.status(correction_window=duration),
        lambda: archive.scan("shots", refresh=duration, start="2026-12-01"),
        lambda: archive.vacuum(retain=duration),
    ):
        with pytest.raises(ValueError, match=r"give at most 1,000 years, such as timedelta\(days=7\)"):
            call()
