"""Captures of the second service and of the simulator: the report, the pseudonyms, resuming, and the replay."""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from needs import needs
from service import NO_DATA, Features, Service, truncated

import sideline
from sideline._companions import Pseudonyms, capture
from sideline.errors import NotFound, PermissionDenied

pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), needs("polars")]

KEY = b"a key of at least 16 bytes"
SIZE: dict[str, Any] = {"teams": 3, "players": 6, "games": 3, "possessions": 4, "practices": 1, "days": 8}
SIGNED = ("stats", "stats_details", "possessions", "shots")


@pytest.fixture
def league() -> Iterator[Service]:
    with Service(seed=3, features=Features.everything(), **SIZE) as service:
        yield service


def run(service: Any, folder: Path, *, key: bytes | None = KEY, live: float = 0.3, **settings: Any) -> dict[str, Any]:
    """Capture a service; return the report."""
    options = service.client_options() if isinstance(service, Service) else {}
    client = sideline.Client(**options, max_retries=0) if options else service.client(max_retries=0)
    with client:
        capture(
            client,
            folder,
            pseudonyms=None if key is None else Pseudonyms(key),
            secrets=[service.secret, service.api_key],
            live_seconds=live,
            **settings,
        )
    report: dict[str, Any] = json.loads((folder / "capture.json").read_text(encoding="utf-8"))
    return report


def findings(report: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["finding"] for item in report["unknowns"]}


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {exchange["step"].partition("/")[0]: exchange["outcome"] for exchange in report["exchanges"]}


# The report names what the service has


def test_the_report_names_what_was_planted(league: Service, tmp_path: Path) -> None:
    league.faults.add("shots", change=lambda body: mark(body, "shots", {"status": "REVIEWED", "attributes": ["ALLEY_OOP"], "heat": 3}))
    league.faults.add("broadcast_stats", headers={"X-RateLimit-Remaining": "17", "X-Owner": "Ann Adams"})
    league.faults.add("game_events", change=lambda body: {"plays": [{"down": 3, "yards": 7.5}]})
    league.faults.add("possessions", change=NO_DATA["null root"])
    league.faults.add("play_by_play", change_bytes=truncated())
    league.faults.add("teams", change=lambda body: {**body, "next": "page-2"})
    league.credentials[league.username].privileges.discard("locations")
    league.live.heartbeat_every = 0.2
    with messages(league):
        report = run(league, tmp_path / "day-one", live=1.5)
    finding_by_name = findings(report)
    assert "REVIEWED" in finding_by_name["shot_statuses"] and "ALLEY_OOP" in finding_by_name["shot_attributes"]
    assert {"operation": "shots", "path": "teams[].player_shots[].shots[].heat"} in report["unknown_fields"]
    assert "x-ratelimit-remaining: 17" in finding_by_name["rate_limits"]
    assert finding_by_name["game_events_body"] == "{plays: [{down: number, yards: number}]}"
    assert finding_by_name["websocket_envelope"] == "{source: text, seq: number, data: object}"
    assert finding_by_name["websocket_sources"].startswith("markers") and finding_by_name["websocket_seq"] == "seq, in the envelope"
    assert finding_by_name["subscription_token_body"] == "{token: text}"
    assert re.fullmatch(r"0\.\d s between heartbeats \(\d+ seen\)", finding_by_name["heartbeat_interval"])
    assert "next" in finding_by_name["pagination"] and "locations 403" in finding_by_name["refusals"]
    assert finding_by_name["zone_polygons"] == "not seen" == finding_by_name["location_rate"]
    kinds = outcomes(report)
    assert (kinds["possessions"], kinds["play_by_play"], kinds["locations"], kinds["stats"]) == ("broken", "broken", "refused", "fetched")
    broken_exchange = next(exchange for exchange in report["exchanges"] if exchange["step"].startswith("possessions/"))
    assert "$.teams" in broken_exchange["finding"] and (tmp_path / "day-one" / broken_exchange["body"]).read_bytes().startswith(b'{"teams":null')
    owners = [exchange["headers"].get("x-owner") for exchange in report["exchanges"] if exchange["operation"] == "broadcast_stats"]
    assert owners == ["***"] and report["requests"] <= 200
    page = (tmp_path / "day-one" / "capture.html").read_text(encoding="utf-8")
    assert "websocket_envelope" in page and "REVIEWED" in page and "<script" not in page
    rules = {rule["rule"] for rule in report["audit"]["rules"] if rule["is_checked"]}
    assert rules and report["tables"]["teams: teams"]["rows"] == 3 == len(report["tables"]["teams: teams"]["first_rows"])


def mark(body: Any, name: str, members: dict[str, Any]) -> Any:
    """Add members to each object of a list, anywhere in a body."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key == name:
                for item in value:
                    item.update(members)
            else:
                mark(value, name, members)
    elif isinstance(body, list):
        for item in body:
            mark(item, name, members)
    return body


@contextmanager
def messages(league: Service) -> Iterator[None]:
    """Send messages to every stream that is open, with names and ids of the season."""
    stop = threading.Event()
    player = league.season.players[0]
    data = {"player_id": player.id, "last_name": player.last_name, "team": league.season.teams[0].name, "note": f"{player.first_name} scores"}

    def send() -> None:
        while not stop.wait(0.1):
            league.live.send(data, source="markers", numbered=True)
            league.live.send_event({"teams": [{"id": league.season.teams[0].id, "name": league.season.teams[0].name, "player": data}]})

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)


def test_a_dead_stream_and_an_empty_season_are_lines(tmp_path: Path) -> None:
    with Service(seed=1, teams=2, games=0, practices=0, upcoming=0) as empty:
        report = run(empty, tmp_path / "empty")
        kinds = outcomes(report)
        assert kinds["teams"] == "fetched" and kinds["game"] == kinds["live"] == "skipped"
        assert "broken" not in kinds.values()
    with Service(seed=1, features=Features.everything(), **SIZE) as service:
        service.live.refuse(503)
        report = run(service, tmp_path / "dead")
        kinds = outcomes(report)
        assert kinds["live"] == kinds["live_stats"] == "refused" and kinds["stats"] == "fetched"
        assert report["unknowns"]


def test_no_credential_leads_to_an_error_and_a_key_alone_to_the_broadcast_api(league: Service, tmp_path: Path) -> None:
    options = {name: value for name, value in league.client_options().items() if name not in ("username", "secret")}
    with sideline.Client(**options, max_retries=0) as client:
        state = capture(client, tmp_path / "key", pseudonyms=None, live_seconds=0.1)
    kinds = {exchange.step: exchange.outcome for exchange in state.exchanges}
    assert kinds["teams"] == "skipped" and kinds["broadcast_teams"] == "fetched"
    del options["api_key"]
    with sideline.Client(**options) as client, pytest.raises(sideline.ConfigurationError, match="SIDELINE_USERNAME"):
        capture(client, tmp_path / "none", pseudonyms=None)


def test_a_failure_is_tried_once_more_and_the_limit_of_requests_holds(league: Service, tmp_path: Path) -> None:
    league.faults.add("stats", status=503, body={"message": "busy"}, times=1)
    league.faults.add("shots", status=500, body={"message": "broken"})
    report = run(league, tmp_path / "one")
    assert outcomes(report)["stats"] == "fetched" and outcomes(report)["shots"] == "failed"
    request_count = len([request for request in league.requests.all() if request.operation != "live"])
    assert request_count - 1 <= report["requests"] <= request_count + 2
    before = len(league.requests.all())
    report = run(league, tmp_path / "two", live=0.1, max_requests=5)
    assert len(league.requests.all()) - before <= 8
    assert any("limit of 5 requests" in exchange["finding"] for exchange in report["exchanges"])


# A stopped capture


class Stop(BaseException):
    """Ends a walk as a kill would."""


def test_a_stopped_capture_resumes_without_requesting_bodies_again(league: Service, tmp_path: Path) -> None:
    lines: list[str] = []

    def stop_after(line: str) -> None:
        lines.append(line)
        if line.startswith("possessions/"):
            raise Stop

    with pytest.raises(Stop):
        run(league, tmp_path / "stopped", write_line=stop_after)
    first = json.loads((tmp_path / "stopped" / "capture.json").read_text())
    assert "unknowns" not in first
    second_report = run(league, tmp_path / "stopped")
    bodies = Counter(request.target for request in league.requests.all() if request.operation in (*SIGNED, "play_by_play", "locations", "game_events"))
    assert set(bodies.values()) == {1} and len(bodies) > 10
    straight = run(league, tmp_path / "straight")
    assert [exchange["step"] for exchange in second_report["exchanges"]] == [exchange["step"] for exchange in straight["exchanges"]]
    unstable = {"service_clock_offset", "heartbeat_interval"}
    same = {name: finding for name, finding in findings(second_report).items() if name not in unstable}
    assert same == {name: finding for name, finding in findings(straight).items() if name not in unstable}


@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_id_or_name_that_only_a_later_body_has_is_replaced(is_stopped: bool, league: Service, tmp_path: Path) -> None:
    late = {"id": 87654321, "name": "Zoltan Quimby"}
    early = {"rival": 87654321, "score": 87654320, "status": "QUIMBY", "quimby": 3, "rivals": [[87654321.0]], "note": "of 87654321"}
    league.faults.add("game_shots", change=lambda body: {**body, "early": early})
    league.faults.add("stats", change=lambda body: {**body, "late": late})

    def stop_after(line: str) -> None:
        if is_stopped and line.startswith("game_shots: fetched"):
            raise Stop

    with pytest.raises(Stop) if is_stopped else nullcontext():
        run(league, tmp_path / "capture", write_line=stop_after)
    report = run(league, tmp_path / "capture")
    assert sum(request.operation == "game_shots" for request in league.requests.all()) == 1
    pseudonyms = Pseudonyms(KEY)
    body = tmp_path / "capture" / next(exchange["body"] for exchange in report["exchanges"] if exchange["step"] == "game_shots")
    early_copy = json.loads(body.read_bytes())["early"]
    assert early_copy["rival"] == pseudonyms.number(87654321) and early_copy["rivals"] == [[float(pseudonyms.number(87654321))]]
    assert early_copy["score"] == 87654320, "no id"
    assert {"QUIMBY", "quimby"} & {*early_copy, *map(str, early_copy.values())} == set()
    before = body.read_bytes()
    run(league, tmp_path / "capture")
    assert body.read_bytes() == before


def test_another_service_mode_or_key_and_another_folder_are_refused(league: Service, tmp_path: Path) -> None:
    run(league, tmp_path / "day-one", live=0.1)
    with Service(seed=3, **SIZE) as other, pytest.raises(ValueError, match="another service"):
        run(other, tmp_path / "day-one")
    for key in (None, b"another key of 16 bytes"):
        with pytest.raises(ValueError, match="another service, mode or key"):
            run(league, tmp_path / "day-one", key=key)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("my notes")
    with pytest.raises(ValueError, match="holds no capture"):
        run(league, tmp_path / "mine")


# Pseudonyms


def spellings(text: str) -> set[bytes]:
    """A text as the scrubber knows it: plain, percent (once, twice), JSON, HTML, base64, hex."""
    raw = text.encode()
    percent = quote(text, safe="")
    texts = {text, percent, quote(percent, safe=""), json.dumps(text)[1:-1], html.escape(text), base64.b64encode(raw).decode()}
    texts |= {base64.urlsafe_b64encode(raw).decode().rstrip("="), raw.hex(), raw.hex().upper()}
    return {spelling.encode() for spelling in texts if len(spelling) >= 4}


def originals(league: Service) -> set[str]:
    """Names, ids and references of a season; short numbers are counts in their fields."""
    season = league.season
    names = {word for player in season.players for word in (f"{player.first_name} {player.last_name}", f"p-{player.id}", player.display_name)}
    names |= {word for player in season.players for word in (player.first_name, player.last_name) if len(word) >= 5}
    names |= {str(player.sensor) for player in season.players} | {value for player in season.players for _, value in player.services}
    names |= {team.name for team in season.teams} | {word for team in season.teams for word in team.name.split() if len(word) >= 5}
    names |= {team.reference_id for team in season.teams} | {game.reference_id for game in season.games if hasattr(game, "reference_id")}
    for event in season.played:
        names |= {event.id, event.court_id, event.facility_id, *(session.id for session in event.sessions)}
    names |= {f"/teams/{team.id}/" for team in season.teams} | {f"/players/{player.id}.png" for player in season.players}
    return {name for name in names if len(name) >= 4}


ID_FIELDS = re.compile(r"(?:.*_)?ids?|.*Ids?|pid|tid|sid|gid|fid|hid|tag|sensor|jersey_number|players|shotDefenders")


def field_values(value: Any, field: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a body with the names of their fields."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from field_values(member, name)
    elif isinstance(value, list):
        for element in value:
            yield from field_values(element, field)
    else:
        yield field, value


def keys_of(value: Any) -> Iterator[str]:
    """The keys of the objects of a body."""
    if isinstance(value, dict):
        yield from value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_of(member)


def unknown_keys(bodies: Iterable[Any]) -> set[str]:
    """The keys that would not stay if people had such names."""
    keys = {key for body in bodies for key in keys_of(body)}
    pseudonyms = Pseudonyms(KEY)
    pseudonyms.learn(json.dumps({"name": " ".join(keys).replace("_", " ")}).encode())
    return {key for key in keys if pseudonyms.object_key(key) != key}


@pytest.mark.parametrize("seed", [3, 4, *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(5, 23))])
def test_nothing_of_the_original_is_in_the_output(seed: int, tmp_path: Path) -> None:
    with Service(seed=seed, features=Features.everything(), **SIZE) as league:
        league.faults.add(
            "shots", change=lambda body: mark(body, "shots", {"coach": "Zoltan Quimby", "coach_id": 987654, "watch": [league.season.players[0].id]})
        )
        league.faults.add(
            "roster",
            when=lambda request: "game_event_id" in request.target,
            status=403,
            body={"status": 403, "message": "Restricted resource of Zoltan Quimby"},
        )
        with messages(league):
            report = run(league, tmp_path / "capture", live=0.5)
            plain = run(league, tmp_path / "plain", key=None, live=0.1)
        expected = originals(league) | {"Zoltan", "Quimby", "987654", league.secret, league.api_key, *league.live.tokens} - {"token-0"}
    data = {path: path.read_bytes() for path in (tmp_path / "capture").rglob("*") if path.is_file()}
    assert len(data) > 30
    leaks = {(path.name, name) for path, raw in data.items() for name in expected for spelling in spellings(name) if spelling in raw}
    assert leaks == set()
    plain_bytes = b"".join(path.read_bytes() for path in (tmp_path / "plain").rglob("*") if path.is_file())
    assert sum(name.encode() in plain_bytes for name in expected) > len(expected) / 2, "the search finds them in a plain capture"
    # Field by field: ids are replaced by the mapping, numbers of the game stay.
    pseudonyms = Pseudonyms(KEY)
    counts: Counter[str] = Counter()
    files = {exchange["operation"] + str(place): exchange for place, exchange in enumerate(plain["exchanges"])}
    for copy, original in zip(report["exchanges"], files.values(), strict=True):
        if original["outcome"] != "fetched" or original["operation"] == "get":
            continue
        sides = [json.loads((tmp_path / folder / entry["body"]).read_bytes()) for folder, entry in (("capture", copy), ("plain", original))]
        for (field, after), (_, before) in zip(*(field_values(side) for side in sides), strict=True):
            assert type(after) is type(before), (field, before, after)
            if isinstance(before, int) and not isinstance(before, bool) and ID_FIELDS.fullmatch(field):
                label = "jersey" if field == "jersey_number" else "id"
                assert after == pseudonyms.number(before, label) and (after != before or before == 0), field
                counts["ids"] += 1
            elif isinstance(before, int | float) and field != "watch":
                assert after == before, field
                counts["numbers"] += 1
    assert counts["ids"] > 500 and counts["numbers"] > 500


def test_a_plain_capture_keeps_bodies_byte_for_byte_except_tokens(league: Service, tmp_path: Path) -> None:
    league.faults.add("teams", change_bytes=lambda raw: raw.replace(b'"teams"', b'"start_token" : "abcdefgh", "teams"', 1) + b" \n")
    report = run(league, tmp_path / "plain", key=None)
    assert report["mode"] == "plain"
    texts = {exchange["step"]: (tmp_path / "plain" / exchange["body"]).read_bytes() for exchange in report["exchanges"] if exchange["body"]}
    assert texts["teams"].endswith(b"} \n") and b'"start_token" : "***"' in texts["teams"]
    assert json.loads(texts["_subscribe"]) == {"token": "***"}
    assert unknown_keys(map(json.loads, texts.values())) == {"start_token"}
    with sideline.Client(**league.client_options()) as client:
        league.faults.clear()
        assert texts["roster"] == client.roster(league.season.teams[0].id).raw
    output = b"".join(path.read_bytes() for path in (tmp_path / "plain").rglob("*") if path.is_file())
    secrets = [league.secret, league.api_key, *(token for token in league.live.tokens if token != "token-0")]
    assert not any(spelling in output for secret in secrets for spelling in spellings(secret))


# Replay


def test_the_tables_of_the_replay_equal_the_originals_under_the_mapping(league: Service, tmp_path: Path) -> None:
    # Words of the wire are names too.
    league.season.teams[0].name = "Team Shots Of State To Miss"
    run(league, tmp_path / "capture")
    pseudonyms = Pseudonyms(KEY)
    game = max((game for game in league.season.games if game.sessions), key=lambda game: game.tipoff)
    team_id, game_id, session_id = league.season.teams[0].id, game.id, game.sessions[0].id
    calls: list[tuple[Callable[[sideline.Client, Any, Any, Any], sideline.Payload], tuple[str, ...]]] = [
        (lambda client, team, game, session: client.teams(), ("teams",)),
        (lambda client, team, game, session: client.roster(team), ("players", "team", "special_services")),
        (lambda client, team, game, session: client.game(game), ("events", "sessions", "location_windows")),
        (lambda client, team, game, session: client.stats(session), ("player_stats", "box_score")),
        (lambda client, team, game, session: client.stats_details(session), ("stat_events",)),
        (lambda client, team, game, session: client.possessions(session), ("possessions", "possession_events", "possession_players")),
        (lambda client, team, game, session: client.shots(session), ("shots",)),
        (lambda client, team, game, session: client.game_shots(game), ("shots",)),
        (lambda client, team, game, session: client.play_by_play(game), ("play_by_play",)),
        (lambda client, team, game, session: client.follow(client.game(game).table("location_windows")["link"][0]), ("locations",)),
    ]
    ids = pseudonyms.number(team_id), pseudonyms.text(game_id), pseudonyms.text(session_id)
    counts = 0
    with (
        sideline.Client(**league.client_options()) as client,
        sideline.Simulator.from_capture(tmp_path / "capture") as service,
        service.client() as replay,
    ):
        for call, tables in calls:
            original, second_payload = call(client, team_id, game_id, session_id), call(replay, *ids)
            for name in tables:
                before, after = original.table(name), second_payload.table(name)  # type: ignore[call-overload]
                assert after.column_names == before.column_names and after.num_rows == before.num_rows
                for column in before.column_names:
                    expected = pseudonyms.column(column, before[column])
                    assert after[column] == expected, (name, column)
                    counts += len(expected)
    assert counts > 3000


def test_a_replay_checks_signatures_and_serves_refusals_lists_and_nothing_else(league: Service, tmp_path: Path) -> None:
    league.credentials[league.username].privileges.discard("shots")
    report = run(league, tmp_path / "capture")
    with sideline.Simulator.from_capture(tmp_path / "capture") as service:
        assert len(service.teams) == 3 and service.games
        with service.client(secret="wrong", max_retries=0) as stranger, pytest.raises(sideline.AuthenticationError):
            stranger.teams()
        with service.client(api_key="wrong", max_retries=0) as stranger, pytest.raises(sideline.AuthenticationError):
            stranger.broadcast_teams()
        with service.client(max_retries=0) as client:
            team = client.teams().table("teams")["team_id"][0]
            schedule = client.schedule("2020-01-01", "2030-01-01").table()
            game_id = next(exchange["context"]["game_id"] for exchange in report["exchanges"] if exchange["step"] == "game")
            assert game_id in schedule["game_id"] and client.find_team(client.teams().table()["name"][0]).num_rows
            session_id = client.game(game_id).table("sessions")["session_id"][0]
            with pytest.raises(PermissionDenied, match="No access to SHOTS data"):
                client.shots(session_id)
            for missing in (lambda: client.stats("other"), lambda: client.schedule("2001-01-01"), lambda: client.roster(team, reference="OTHER")):
                with pytest.raises(NotFound, match="Not captured"):
                    missing()
            assert client.box_score(game_id).num_rows > 0


def test_streams_are_replayed_at_their_pace(league: Service, tmp_path: Path) -> None:
    league.live.heartbeat_every = 0.3
    with messages(league):
        report = run(league, tmp_path / "capture", live=1.2)
    assert {stream["step"]: stream["outcome"] for stream in report["streams"]} == {"live": "fetched", "live_stats": "fetched"}
    with sideline.Simulator.from_capture(tmp_path / "capture") as service, service.client() as client:
        for step, path in (("live", client.live), ("live_stats", client.live_stats)):
            stream = next(stream for stream in report["streams"] if stream["step"] == step)
            lines = [json.loads(line) for line in (tmp_path / "capture" / stream["file"]).read_text(encoding="utf-8").splitlines()]
            texts = [line["text"] for line in lines if "text" in line]
            assert len(texts) > 3
            start = time.monotonic()
            with path(stream["game_id"], notices=False, recover="off") as updates:
                texts_again = [next(updates).text for _ in texts]
            elapsed = time.monotonic() - start
            assert texts_again == texts
            pace = (max(line["after_ms"] for line in lines if "text" in line) - lines[0]["after_ms"]) / 1000
            assert pace - 0.1 <= elapsed < pace + 3
        with pytest.raises(sideline.AuthenticationError), client.live(token="made-up", give_up_on=(401,)) as other_stream:
            list(other_stream)


ODD_MESSAGES = {
    "half of a pair": '{"source":"\\ud800","\\udfff":"\\udcff"}',
    "other ends of lines": '{"source":"clock","data":{"a":"\u2028\x85\u2029"}}',
    "deep": '{"source":"clock","data":' + "[" * 5000 + "]" * 5000 + "}",
    "long number": '{"source":"clock","id":' + "12" * 4000 + ',"note":"' + "3" * 8000 + '"}',
    "not UTF-8": b'{"source":"cl\xffck","caf\xe9":"\xe9t\xe9"}',
}


@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("name", ODD_MESSAGES)
def test_a_message_of_any_bytes_is_a_line_and_is_replayed(name: str, key: bytes | None, league: Service, tmp_path: Path) -> None:
    message = ODD_MESSAGES[name]
    raw = message if isinstance(message, bytes) else message.encode()
    stop = threading.Event()

    def send() -> None:
        while not stop.wait(0.05):
            league.live.send_frame(1 if isinstance(message, str) else 2, raw)
            league.live.send_raw(b"data: " + raw + b"\n\n", "sse")

    thread = threading.Thread(target=send)
    thread.start()
    try:
        report = run(league, tmp_path / "capture", key=key, live=0.5)
    finally:
        stop.set()
        thread.join(10)
    assert {stream["step"]: stream["outcome"] for stream in report["streams"]} == {"live": "fetched", "live_stats": "fetched"}
    with sideline.Simulator.from_capture(tmp_path / "capture") as service, service.client() as client:
        for stream in report["streams"]:
            open_stream = client.live if stream["step"] == "live" else client.live_stats
            with open_stream(stream["game_id"], notices=False, recover="off") as updates:
                replayed_raw = next(updates).raw
            if key is None:
                assert replayed_raw == raw
            elif isinstance(message, bytes):
                assert b"\xff" in replayed_raw and len(replayed_raw) == len(raw)
            else:
                assert len(replayed_raw) >= len(raw) - 100 and replayed_raw.isascii() == raw.isascii()


def test_impossible_times_and_ids_are_lines_of_the_report(league: Service, tmp_path: Path) -> None:
    odd_times = (10**18, -62_135_596_800_000, 253_402_300_799_999)

    def change(body: Any) -> Any:
        games = [game | {"tipoff_at": tipoff} for game, tipoff in zip(body["games"] * 3, odd_times, strict=False)]
        return body | {"games": [*games, *(game | {"event_id": "a/b"} for game in body["games"])]}

    league.faults.add("schedule", change=change)
    league.faults.add("game", change=lambda body: body | {"results": [session | {"started_at": 10**18} for session in body["results"]]})
    report = run(league, tmp_path / "capture")
    assert outcomes(report)["schedule"] == "fetched" and outcomes(report)["live"] == "skipped"
    assert {exchange["step"]: exchange["outcome"] for exchange in report["exchanges"]}["game"] in ("skipped", "failed")


def test_a_token_among_members_of_any_depth_is_masked(league: Service, tmp_path: Path) -> None:
    body = '{"token":"abcdefgh12345678","x":' + "[" * 5000 + "]" * 5000 + "}"
    league.faults.add("subscription_token", body=body)
    report = run(league, tmp_path / "capture", key=None)
    assert outcomes(report)["_subscribe"] == "broken"
    assert not any(b"abcdefgh12345678" in file.read_bytes() for file in (tmp_path / "capture").rglob("*") if file.is_file())


def test_a_capture_that_names_files_outside_its_folder_is_refused(league: Service, tmp_path: Path) -> None:
    run(league, tmp_path / "capture", live=0.1)
    file = tmp_path / "capture" / "capture.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["exchanges"][0]["body"] = "../../etc/passwd"
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match="outside the folder"):
        sideline.Simulator.from_capture(tmp_path / "capture")
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="not the report of a capture"):
        sideline.Simulator.from_capture(tmp_path / "capture")


def test_a_stream_that_is_watched_for_0_seconds_is_skipped_and_may_be_watched_later(league: Service, tmp_path: Path) -> None:
    outcome_by_step = outcomes(run(league, tmp_path / "capture", live=0.0))
    assert (outcome_by_step["live"], outcome_by_step["live_stats"]) == ("skipped", "skipped")
    assert {"live", "live_stats"}.isdisjoint(outcomes(run(league, tmp_path / "capture")))


# The command


def command(*arguments: object, environ: dict[str, str], state: Path) -> subprocess.CompletedProcess[str]:
    environ = {"XDG_STATE_HOME": str(state), "HOME": str(state), "PATH": "/usr/bin:/bin", **environ}
    line = [sys.executable, "-W", "error::DeprecationWarning", "-m", "sideline", *map(str, arguments)]
    return subprocess.run(line, env=environ, capture_output=True, text=True, timeout=120)


def test_the_command_captures_the_simulator_and_serves_the_capture(tmp_path: Path) -> None:
    options = ("--live", "0.5", "--requests-per-second", "100")
    with sideline.Simulator(seed=5, teams=4, games=12) as service:
        done = command("capture", tmp_path / "day-one", *options, environ=service.environ, state=tmp_path / "state")
        assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
        assert str(tmp_path / "day-one" / "capture.html") in done.stdout and "teams: fetched" in done.stderr
        second_run = command("capture", tmp_path / "day-one", "--plain", environ=service.environ, state=tmp_path / "state")
        assert second_run.returncode == 2 and "another service, mode or key" in second_run.stderr
        service.faults.add("/v1/data/stats/*", status=403, body={"status": 403, "message": "No access to STATS data", "shottrackerRequestId": "r1"})
        partial = command("capture", tmp_path / "partial", *options, "--plain", environ=service.environ, state=tmp_path / "state")
        assert partial.returncode == 3 and "refused" in partial.stderr
        secrets = (service.secret, service.api_key)
    output = b"".join(path.read_bytes() for folder in ("day-one", "partial") for path in (tmp_path / folder).rglob("*") if path.is_file())
    (key,) = (tmp_path / "state").rglob("pseudonyms.key")
    assert not any(secret.encode() in output for secret in (*secrets, key.read_text()))
    failure = command("simulate", "--from", tmp_path / "nothing", environ={}, state=tmp_path)
    assert failure.returncode == 1 and "holds no capture" in failure.stderr
    finding_by_name = findings(json.loads((tmp_path / "day-one" / "capture.json").read_text(encoding="utf-8")))
    assert finding_by_name["location_rate"] == "2 frames a second" and finding_by_name["ball_presence"] == "types PLAYER, BALL"


@pytest.mark.extended
def test_football_and_a_chosen_team_are_captured_and_replayed(tmp_path: Path) -> None:
    with sideline.Simulator(seed=3, sport="football", teams=4, games=12) as service, service.client() as client:
        teams = client.teams().table("teams")["team_id"]
        report = run(service, tmp_path / "football", team_id=teams[2])
        game = next(exchange for exchange in report["exchanges"] if exchange["step"] == "game")
        names = client.stats(client.game(past_game(client, teams[2])).table("sessions")["session_id"][0]).table("player_stats").column_names
    assert report["sport"] == "football" and game["outcome"] == "fetched"
    assert {exchange["outcome"] for exchange in report["exchanges"]} <= {"fetched", "skipped"}, outcomes(report)
    team = Pseudonyms(KEY).number(teams[2])
    roster = next(exchange for exchange in report["exchanges"] if exchange["step"] == "roster")
    assert f"/{team}" in roster["path"]
    with sideline.Simulator.from_capture(tmp_path / "football") as replay, replay.client() as client:
        game_id = game["context"]["game_id"]
        sides = client.game(game_id).table("events")
        assert team in (sides["home_team_id"][0], sides["away_team_id"][0])
        box_score = client.stats(client.game(game_id).table("sessions")["session_id"][0]).table("player_stats")
        assert box_score.num_rows > 20 and box_score.column_names == names
    bodies = [json.loads(file.read_bytes()) for file in (tmp_path / "football" / "bodies").iterdir()]
    assert all(key.startswith("INVENTED_") for key in unknown_keys(bodies))


def past_game(client: sideline.Client, team_id: int) -> str:
    """The last game of a team."""
    now = datetime.now(UTC)
    games = client.schedule(now - timedelta(days=60), now).table("games").to_dicts()
    return str(max((game for game in games if team_id in (game["home_team_id"], game["away_team_id"])), key=lambda game: game["tipoff_at"])["game_id"])


@pytest.mark.parametrize("arguments", [("--live", "-1"), ("--live", "soon"), ("--requests-per-second", "0"), ("--team", "x")])
def test_wrong_options_end_with_one_sentence(arguments: tuple[str, str], tmp_path: Path) -> None:
    done = command("capture", tmp_path / "x", *arguments, environ={}, state=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
