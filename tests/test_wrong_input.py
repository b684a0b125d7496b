"""Mistakes of new users and problems around them: one clear exception each."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from independent import as_json, server
from needs import library
from peers import HEAD, make_response, peer
from service import Service

import sideline

pd = library("pandas")


def make_client(base_url: str, **more: Any) -> sideline.Client:
    return sideline.Client(**{"username": "ann", "secret": "s3cret-canary", "api_key": "key-canary", "base_url": base_url, "max_retries": 0} | more)


@pytest.fixture
def nowhere() -> sideline.Client:
    """A client whose calls must be refused before a byte is sent: nothing listens there."""
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
    return make_client(f"http://127.0.0.1:{port}")


def test_a_naive_datetime_is_refused_with_what_to_write(nowhere: sideline.Client) -> None:
    with pytest.raises(ValueError, match="timezone") as excinfo:
        nowhere.schedule(datetime(2026, 11, 1))
    assert not isinstance(excinfo.value, sideline.SidelineError)


def test_an_iso_time_without_offset_is_refused(nowhere: sideline.Client) -> None:
    with pytest.raises(ValueError, match="Z"):
        nowhere.schedule("2026-11-01T20:00:00")


@pytest.mark.parametrize("call", [lambda c, at: c.schedule(at), lambda c, at: c.team_events(46, at - 86_400, at), lambda c, at: c.locations("s", at, at + 60)])
def test_epoch_seconds_are_refused(nowhere: sideline.Client, call: Callable[[sideline.Client, int], object]) -> None:
    with pytest.raises(ValueError, match=r"^start 1793(448000|534400) reads like seconds: in epoch milliseconds that time is 1793\d{6}000$"):
        call(nowhere, 1_793_534_400)


@pytest.mark.parametrize("call", [lambda c: c.team_events(46, 20, 10), lambda c: c.team_game_stats(46, start=20, end=10)])
def test_a_swapped_range_is_refused_in_the_services_words(nowhere: sideline.Client, call: Callable[[sideline.Client], object]) -> None:
    with pytest.raises(sideline.InvalidRequest) as excinfo:
        call(nowhere)
    assert (excinfo.value.status, excinfo.value.request_id) == (422, None)
    assert excinfo.value.rules == ["from must be less than to"]
    assert isinstance(excinfo.value, ValueError)


def test_a_range_of_sums_is_never_split(nowhere: sideline.Client) -> None:
    with pytest.raises(sideline.InvalidRequest) as excinfo:
        nowhere.team_game_stats(46, start="2026-01-01", end="2026-12-01")
    assert excinfo.value.rules == ["the range may not exceed 8 months"]


@pytest.mark.parametrize("session_id", ["a/b", "", ".", "..", "a b", "a?b", "a#b", "é", "a%2Fb", "a\n", "a\\b"])
@pytest.mark.parametrize("call", ["roster", "stats", "game", "possessions"])
def test_an_id_that_is_none_is_refused_before_a_byte_is_sent(nowhere: sideline.Client, call: str, session_id: str) -> None:
    with pytest.raises(ValueError) as excinfo:
        getattr(nowhere, call)(session_id)
    assert not isinstance(excinfo.value, sideline.SidelineError)


@pytest.mark.parametrize("call", [lambda c, at: c.schedule(at), lambda c, at: c.schedule("2026-11-01", at), lambda c, at: c.locations("s-1", at, at)])
def test_nat_is_refused_as_a_time(nowhere: sideline.Client, call: Callable[[sideline.Client, Any], object]) -> None:
    with pytest.raises(ValueError, match='^(start|end) "NaT" is not a time: write 2026-11-01'):
        call(nowhere, pd.NaT)


@pytest.mark.parametrize("session_id", [None, True, 1.5, b"x", object()])
def test_an_id_of_another_type_is_a_type_error(nowhere: sideline.Client, session_id: Any) -> None:
    with pytest.raises(TypeError):
        nowhere.stats(session_id)


@pytest.mark.parametrize("value", [b"46", bytearray(b"46"), memoryview(b"46")])
def test_bytes_are_not_accepted_as_numbers(nowhere: sideline.Client, value: Any) -> None:
    with pytest.raises(TypeError, match=f"team_ids is an id .*, not {type(value).__name__}"):
        nowhere.matchup(value, "2026-11-01", reference="ncaa", gender="MEN")
    with pytest.raises(TypeError, match=f"ids is a str or an int, not {type(value).__name__}"):
        nowhere.get("/v1/data/teams", {"ids": value})


@pytest.mark.parametrize("link", ["https://api.shottracker.com/other", "/v2/data/x", "/v1/data/../../x", "v1/data/teams", "", "/v1/data/%2e%2e/x"])
def test_a_link_that_leads_elsewhere_is_refused(nowhere: sideline.Client, link: str) -> None:
    with pytest.raises(ValueError):
        nowhere.follow(link)


@pytest.mark.parametrize(
    ("call", "variable"),
    [
        (lambda c: c.teams(), "SIDELINE_USERNAME"),
        (lambda c: c.broadcast_teams(), "SIDELINE_API_KEY"),
    ],
)
def test_a_missing_credential_names_its_variable_at_the_first_call(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[sideline.Client], object], variable: str
) -> None:
    for name in ("USERNAME", "SECRET", "API_KEY"):
        monkeypatch.delenv(f"SIDELINE_{name}", raising=False)
    with sideline.Client(base_url="http://127.0.0.1:9") as client, pytest.raises(sideline.ConfigurationError, match=variable):
        call(client)


def test_a_missing_secret_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIDELINE_SECRET", raising=False)
    with sideline.Client(username="ann", base_url="http://127.0.0.1:9") as client, pytest.raises(sideline.ConfigurationError, match="SIDELINE_SECRET"):
        client.teams()


@pytest.mark.parametrize(
    "settings",
    [
        {"environment": "prod"}, {"sport": "soccer"}, {"base_url": "http://example.com"}, {"base_url": "example.com"},
        {"base_url": "ftp://example.com"}, {"base_url": "https://user:pw@example.com"}, {"timeout": -1}, {"max_concurrency": 0},
        {"requests_per_second": 0}, {"secret": "a\nb"}, {"max_retries": -1}, {"ca_bundle": "/no/such/file"},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_setting_is_refused_when_the_client_is_built(settings: dict[str, Any]) -> None:
    with pytest.raises((sideline.ConfigurationError, ValueError)) as excinfo:
        sideline.Client(**{"username": "ann", "secret": "s"} | settings)
    assert str(excinfo.value)


@pytest.mark.parametrize("variable", ["SIDELINE_ENVIRONMENT", "SIDELINE_SPORT", "SIDELINE_BASE_URL", "SIDELINE_WEBSOCKET_URL"])
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "nonsense")
    with pytest.raises(sideline.ConfigurationError, match=f"^{variable} is "):
        sideline.Client()


@pytest.mark.parametrize("option", ["strict", "allow_http"])
@pytest.mark.parametrize("value", ["no", 1])
def test_a_flag_of_another_type_is_refused_when_the_client_is_built(option: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{option} is of the wrong type: {type(value).__name__}$"):
        sideline.Client(**{option: value})


def test_a_flag_may_be_none_and_a_batch_knows_it() -> None:
    with Service(seed=1) as second, sideline.Client(**second.client_options(), strict=None) as client:  # type: ignore[arg-type]
        assert client.stats([second.season.sessions()[0][1].id]).complete


@pytest.mark.parametrize("text", ["second-secret-0123456789", "a\x1b[31m", "x" * 100_000], ids=["secret", "control", "long"])
def test_an_id_among_many_is_shown_short_and_without_secrets(text: str) -> None:
    with Service(seed=1) as second, sideline.Client(**second.client_options(), max_retries=0) as client:
        part = client.plan("shots", session_ids=[text]).split(1)[0]
        for call in (lambda: client.stats([text]), lambda: client.plan("shots", game_ids=[text]), lambda: part.read(client)):
            with pytest.raises(sideline.IncompleteError) as excinfo:
                call()
            assert text not in str(excinfo.value)
            assert len(str(excinfo.value)) < 2_000


def test_a_long_name_is_refused_at_once_without_a_suggestion() -> None:
    payload = sideline.Payload.from_bytes("schedule", b'{"games": []}')
    start = time.monotonic()
    with pytest.raises(ValueError, match="it must be the name of a zone, such as America/New_York$"):
        payload.table(tz="America/" * 2_000)
    assert time.monotonic() - start < 1


def test_a_column_named_twice_is_refused(nowhere: sideline.Client) -> None:
    payload = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 46}]}')
    for call in (payload.table, payload.to_polars, nowhere.stats([]).table):
        with pytest.raises(ValueError, match='^columns has "team_id" twice: write each name once$'):
            call(columns=["team_id", "team_name", "team_id"])
    with pytest.raises(ValueError, match='^columns has "points" twice'):
        nowhere.plan("shots", session_ids=["s"], columns=["points", "points"])


def test_a_name_of_another_type_is_refused(nowhere: sideline.Client) -> None:
    payload = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 46}]}')
    with pytest.raises(TypeError, match="^columns is a list of names, not of int$"):
        payload.table(columns=[1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="^params is a mapping of names to values, not of int$"):
        nowhere.get("/v1/data/teams", {1: "a"})  # type: ignore[dict-item]


def test_a_zone_object_is_refused(nowhere: sideline.Client) -> None:
    for rows in (sideline.Payload.from_bytes("schedule", b'{"games": []}'), nowhere.game([])):
        with pytest.raises(ValueError, match=r"^tz is zoneinfo.ZoneInfo\(key='UTC'\); it must be the name of a zone, such as America/New_York"):
            rows.table(tz=ZoneInfo("UTC"))  # type: ignore[arg-type]


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(TypeError, match="user_name"):
        sideline.Client(user_name="ann")  # type: ignore[call-arg]


def test_plain_http_is_allowed_when_requested() -> None:
    sideline.Client(username="ann", secret="s", base_url="http://example.com", allow_http=True).close()


def test_an_unknown_session_is_not_found(client: sideline.Client) -> None:
    with pytest.raises(sideline.NotFound, match="Invalid id") as excinfo:
        client.stats("no-such-session")
    assert excinfo.value.status == 404
    assert excinfo.value.request_id and len(excinfo.value.request_id) == 36
    assert excinfo.value.attempts == 1


def test_a_credential_without_a_privilege_is_denied(service: sideline.Simulator, client: sideline.Client) -> None:
    service.credentials.add("no-stats", "pw", privileges={"stats": False})
    session = client.game(service.games[0]["event_id"])["results"][0]["id"]
    with make_client(service.base_url, username="no-stats", secret="pw") as no_stats:
        with pytest.raises(sideline.PermissionDenied, match="No access to STATS data"):
            no_stats.stats(session)
        assert no_stats.shots(session).status == 200


def test_a_wrong_secret_is_an_authentication_error(service: sideline.Simulator) -> None:
    with make_client(service.base_url, username=service.username) as impostor, pytest.raises(sideline.AuthenticationError, match="SIDELINE_SECRET") as excinfo:
        impostor.teams()
    assert excinfo.value.status == 401
    assert "canary" not in str(excinfo.value) + repr(excinfo.value)


def test_a_clock_ten_minutes_off_is_corrected_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    with sideline.Simulator(seed=1, teams=4, games=8) as service, service.client() as client:
        service.faults.add(clock_offset=600)
        assert client.teams().status == 200
        assert [r.status for r in service.requests] == [401, 200]
        client.teams()
        assert [r.status for r in service.requests] == [401, 200, 200]
    messages = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(messages) == 1
    assert messages[0].startswith("This machine's clock is 10.0 minutes behind the service's")
    assert messages[0].endswith("set this machine's clock")


def test_a_clock_that_cannot_be_corrected_is_named() -> None:
    date = "Mon, 01 Jan 2001 00:00:00 GMT"
    refusal = {"message": "HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication"}
    with server(lambda request: as_json(refusal, 401)) as seen, make_client(seen.base_url) as client:
        with pytest.raises(sideline.AuthenticationError):
            client.teams()
        assert len(seen.requests) <= 2
    body = b'{"message": "HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication"}'
    # Beyond 24 hours no offset is believed, so nothing is sent again.
    head = b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Type: application/json\r\nDate: " + date.encode() + b"\r\n"
    with peer([make_response(body, head)]) as host, make_client(host.base_url) as client:
        with pytest.raises(sideline.AuthenticationError, match="more than the 24 hours that sideline corrects: set this machine's clock"):
            client.teams()
        assert len(host.requests) == 1


def test_a_server_that_is_down(nowhere: sideline.Client) -> None:
    with pytest.raises(sideline.ConnectError, match="127.0.0.1"):
        nowhere.teams()


def test_a_host_that_does_not_exist() -> None:
    with make_client("https://no-such-host.invalid") as client, pytest.raises(sideline.ConnectError, match=r"no-such-host\.invalid"):
        client.teams()


def test_an_html_response() -> None:
    page = b"<html><title>Sign in to the hotel's network</title></html>"
    with peer([make_response(page, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")]) as seen, make_client(seen.base_url) as client:
        with pytest.raises(sideline.DecodeError, match="text/html"):
            client.teams()


@pytest.mark.parametrize("body", [b"", b"   ", b"OK", b"<html>"])
def test_a_body_that_is_not_json(body: bytes) -> None:
    with peer([make_response(body)]) as seen, make_client(seen.base_url) as client, pytest.raises(sideline.DecodeError):
        client.teams().to_dict()


def test_a_truncated_body_names_path_and_offset() -> None:
    body = b'{"teams": [{"id": 46, "name": "Kan'
    with peer([make_response(body)]) as seen, make_client(seen.base_url) as client:
        payload = client.teams()
    for read in (payload.table, payload.to_dict, payload.unknown_fields):
        with pytest.raises(sideline.DecodeError) as excinfo:
            read()
        assert excinfo.value.offset <= len(body)
    with pytest.raises(sideline.DecodeError) as excinfo:
        payload.table()
    assert (excinfo.value.path, excinfo.value.offset) == ("$.teams[0].name", len(body))


def test_a_body_that_does_not_fit_names_path_and_offset() -> None:
    body = b'{"teams": [{"id": 46}, {"id": "forty"}]}'
    payload = sideline.Payload.from_bytes("teams", body)
    with pytest.raises(sideline.DecodeError, match="number") as excinfo:
        payload.table()
    assert (excinfo.value.path, excinfo.value.offset) == ("$.teams[1].id", body.index(b'"forty"'))


@pytest.mark.parametrize("body", [{"teams": []}, [], Path("teams.json"), 5, None], ids=repr)
def test_an_object_without_bytes_is_no_body(body: Any) -> None:
    with pytest.raises(TypeError, match=f"^raw must be bytes, the body as it was sent, not {type(body).__name__.removesuffix('Type')}$"):
        sideline.Payload.from_bytes("teams", body)


def test_one_column_is_as_good_as_a_list_of_one() -> None:
    stats = sideline.Payload.from_bytes("stats", b'{"teams": []}')
    with make_client("http://127.0.0.1:9") as client:
        for table in (stats.table, client.stats([]).table):
            assert table("box_score", columns="PTS").column_names == ["PTS"]
            with pytest.raises(TypeError, match="^columns is a list of names, not int$"):
                table("box_score", columns=5)  # type: ignore[arg-type]
            assert table("box_score", columns=("PTS", "FG")).column_names == ["PTS", "FG"]


def test_a_negative_number_of_rows_is_refused() -> None:
    table = sideline.Payload.from_bytes("teams", b'{"teams": []}').table()
    assert table.head(0).num_rows == 0
    for number in (-1, -(10**30)):
        with pytest.raises(ValueError, match=f"^rows is {number}; "):
            table.head(number)


def test_a_table_has_no_more_rows_than_it_has() -> None:
    table = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 1}, {"id": 2}]}').table()
    assert [table.head(number).num_rows for number in (3, 2**63, 2**64, 10**30)] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    "invalid_seed",
    [None, {}, sideline.Payload.from_bytes("stats", b'{"teams": []}').table("box_score")],
    ids=lambda invalid_seed: type(invalid_seed).__name__,
)
def test_a_box_score_is_seeded_with_payloads(invalid_seed: Any) -> None:
    with pytest.raises(TypeError, match=f"^seed takes one payload at a time, not a {type(invalid_seed).__name__}$"):
        sideline.LiveBoxScore(invalid_seed)


def test_a_short_body_is_never_success() -> None:
    cut = HEAD + b"Content-Length: 100\r\n\r\n" + b'{"teams": []}'
    with peer([cut]) as seen, make_client(seen.base_url) as client:
        with pytest.raises(sideline.TransportError):
            client.teams()
    with peer([cut, make_response(b'{"teams": []}')]) as seen, make_client(seen.base_url, max_retries=1) as client:
        assert client.teams().to_dict() == {"teams": []}


@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_ends_before_a_byte_is_tried_again(reset: bool) -> None:
    with peer([None, make_response(b'{"teams": []}')], reset=reset) as seen, make_client(seen.base_url, max_retries=1) as client:
        assert client.teams().to_dict() == {"teams": []}
        assert seen.connections == 2


def test_a_server_that_stays_silent_is_a_timeout() -> None:
    silent = sideline.Timeout(connect=10, read=0.3, total=60)
    with peer([b"keep"]) as seen, make_client(seen.base_url, timeout=silent) as client:
        start = time.monotonic()
        with pytest.raises(sideline.RequestTimeout) as excinfo:
            client.teams()
        assert time.monotonic() - start < 20
        assert isinstance(excinfo.value, TimeoutError)


def test_a_body_that_stops_is_a_timeout() -> None:
    with (
        peer([b"keep" + HEAD + b"Content-Length: 100\r\n\r\n{"]) as seen,
        make_client(seen.base_url, timeout=sideline.Timeout(connect=1, read=0.3, total=5)) as client,
    ):
        with pytest.raises(sideline.RequestTimeout):
            client.teams()


@pytest.mark.parametrize(
    ("status", "attempts"), [(400, 1), (401, 1), (403, 1), (404, 1), (422, 1), (408, 3), (425, 3), (500, 2), (501, 1), (502, 3), (503, 3), (504, 3), (429, 3)]
)
def test_which_statuses_are_tried_again(status: int, attempts: int) -> None:
    body = {"status": status, "message": "a | b", "serviceRequestId": "0b6dfd45-7b0c-4c0e-9d0a-000000000001"}
    with server(lambda request: as_json(body, status, retry_after="0")) as seen, make_client(seen.base_url, max_retries=2) as client:
        with pytest.raises(sideline.ApiError) as excinfo:
            client.teams()
    assert len(seen.requests) == excinfo.value.attempts == attempts
    assert (excinfo.value.status, excinfo.value.request_id, excinfo.value.method) == (status, body["serviceRequestId"], "GET")
    if status in (400, 422):
        assert isinstance(excinfo.value, sideline.InvalidRequest)
        assert excinfo.value.rules == ["a", "b"]


def test_retry_after_beyond_the_deadline_gives_up_at_once() -> None:
    with server(lambda request: as_json({"message": "slow down"}, 429, retry_after="3600")) as seen, make_client(seen.base_url, max_retries=3) as client:
        start = time.monotonic()
        with pytest.raises(sideline.RateLimited):
            client.teams()
    assert len(seen.requests) == 1
    assert time.monotonic() - start < 5


def test_a_redirect_to_another_host_carries_nothing_there() -> None:
    with server(lambda request: as_json({})) as other:
        with server(lambda request: as_json({}, 302, location=other.base_url + "/v1/data/teams")) as seen, make_client(seen.base_url) as client:
            with pytest.raises(sideline.ApiError) as excinfo:
                client.teams()
    assert (type(excinfo.value), excinfo.value.status) == (sideline.ApiError, 302)
    assert other.requests == []


def test_a_redirect_to_the_same_origin_is_signed_again_and_has_no_referer() -> None:
    def redirect(request: Any) -> Any:
        return as_json({"teams": []}) if request.target == "/v1/data/teams2" else as_json({}, 302, location="/v1/data/teams2")

    with server(redirect) as seen, make_client(seen.base_url) as client:
        assert client.teams().to_dict() == {"teams": []}
    first, second = (request.headers for request in seen.requests)
    assert first["authorization"] != second["authorization"]
    assert "referer" not in second


def test_a_link_to_a_foreign_host_goes_to_the_configured_one() -> None:
    with server(lambda request: as_json([])) as foreign, server(lambda request: as_json([])) as host, make_client(host.base_url) as client:
        client.follow(foreign.base_url + "/v1/data/sensors/locations?id=s&from=1&to=2")
    assert [request.target for request in host.requests] == ["/v1/data/sensors/locations?id=s&from=1&to=2"]
    assert foreign.requests == []


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory() -> None:
    bomb = gzip.compress(b'"' + b"a" * (300 * 1024 * 1024) + b'"', 9)
    with peer([make_response(bomb, HEAD + b"Content-Encoding: gzip\r\n")]) as seen, make_client(seen.base_url) as client:
        with pytest.raises(sideline.TransportError, match="256 MiB"):
            client.teams()


def test_no_secret_is_in_any_text(service: sideline.Simulator) -> None:
    import pickle
    import traceback

    texts = []
    with make_client(service.base_url, username=service.username, broadcast_base_url=service.base_url) as client:
        texts += [repr(client), str(vars(client) if hasattr(client, "__dict__") else "")]
        texts.append(repr(pickle.dumps(client)))
        for call in (client.teams, client.broadcast_teams):
            try:
                call()
            except sideline.SidelineError as error:
                texts += ["".join(traceback.format_exception(error)), repr(error), str(error.__dict__), repr(pickle.dumps(error))]
    assert len(texts) == 11
    for text in texts:
        assert "canary" not in text


def test_the_broadcast_key_is_redacted_in_addresses(service: sideline.Simulator, client: sideline.Client) -> None:
    payload = client.broadcast_teams()
    assert service.api_key not in payload.url
    assert service.requests[-1].query == {"apikey": service.api_key}


# Lists of names, misspelt names, and what has ended.


def stats() -> sideline.Payload:
    players = [{"id": 7, "stats": {"PTS": 2}}, {"id": 8, "stats": {"PTS": 3}}]
    body = json.dumps({"teams": [{"id": 1, "name": "A", "player_stats": players}]})
    return sideline.Payload.from_bytes("stats", body.encode(), session_id="s")


def box_score() -> sideline.Table:
    return stats().table("box_score")


def test_one_source_is_a_list_of_one() -> None:
    with Service(teams=2, games=1) as second, sideline.Client(**second.client_options()) as client:
        with client.live(token="token-0", sources="stats", give_up_on=401):
            assert second.live.wait_for_connections(1).sources == ["stats"]


def test_one_statistic_is_a_list_of_one() -> None:
    library("matplotlib").use("agg")
    axes = sideline.plot.compare_players(box_score(), [7, 8], stats="PTS")
    assert "PTS" in {text.get_text() for text in axes.texts}


@pytest.mark.parametrize("statuses", ["404", 4.5])
@pytest.mark.parametrize("stream", ["live", "live_stats"])
def test_what_is_no_status_is_refused_by_its_name(nowhere: sideline.Client, stream: str, statuses: Any) -> None:
    with pytest.raises(TypeError, match=r"^give_up_on is one or more statuses, such as \(401, 403\), not (str|float)$"):
        getattr(nowhere, stream)("g", give_up_on=statuses)


MISSPELT: dict[str, Callable[[], object]] = {
    "shots": lambda: sideline.Archive("nothing").scan("shot"),  # type: ignore[arg-type]
    "box_score": lambda: sideline.Archive("nothing").export("sqlite:///x", tables="box_scor"),
    "PTS": lambda: sideline.SCHEMAS["box_score"]["PST"],
    "stats_details": lambda: sideline.Payload.from_bytes("stat_details", b"{}"),  # type: ignore[arg-type]
    "no_teleport": lambda: sideline.audit(player_stats=box_score(), thresholds={"no_telepor": 1}),
    "America/New_York": lambda: stats().table(tz="America/New_Yorc"),
    "player_id": lambda: sideline.metrics.effective_field_goal(box_score(), by="player_ids"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_name_is_suggested(name: str) -> None:
    with pytest.raises((ValueError, KeyError), match=rf"did you mean [^?]*\b{name}\b"):
        MISSPELT[name]()


@pytest.mark.parametrize(("module", "misspelling", "name"), [("sideline", "Clinet", "Client"), ("sideline.live", "LiveStraem", "LiveStream")])
def test_a_traceback_suggests_a_misspelt_attribute(module: str, misspelling: str, name: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import sideline\n{module}.{misspelling}"], capture_output=True, text=True, timeout=60)
    assert f"module '{module}' has no attribute '{misspelling}'. Did you mean: '{name}'?" in done.stderr


USES: dict[str, Callable[[sideline.LiveStream[Any]], object]] = {
    "with": lambda stream: stream.__enter__(),
    "serve": lambda stream: stream.serve(),
    "display": lambda stream: stream.display(),
    "for": lambda stream: list(stream),
}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda client: client.live_stats("g").display(every="1"), "every is a number of seconds or a timedelta, not str"),
        (lambda client: client.live_stats("g").batches(max_seconds=None), "max_seconds is a number of seconds or a timedelta, not NoneType"),
        (lambda client: client.live_stats("g").serve(delay_s="8"), "delay_s is a number of seconds or a timedelta, not str"),
        (lambda client: client.live_stats("g").serve(port="8080"), "port is a number from 0 to 65535, not str"),
        (lambda client: client.live_stats("g").serve(port=80.5), "port is a number from 0 to 65535, not float"),
        (lambda client: client.live_stats("g").serve(token=12345), "token is a str, not int"),
        (lambda client: client.live_stats("g").serve(host=None), "host is a str, not NoneType"),
        (lambda client: client.live("g", sources=None), "sources is a name or a list of names, not None"),
        (lambda client: client.live("g", sources=[5]), r"sources is a name or a list of names, not \[5\]"),
    ],
)
def test_an_option_of_a_stream_of_another_type_is_named(nowhere: sideline.Client, call: Callable[[sideline.Client], object], problem: str) -> None:
    with pytest.raises(TypeError, match=f"^{problem}"):
        call(nowhere)


@pytest.mark.parametrize("use", USES)
def test_a_closed_stream_says_so(nowhere: sideline.Client, use: str) -> None:
    stream = nowhere.live_stats("g")
    stream.close()
    with pytest.raises(sideline.StreamClosed, match="open another one"):
        USES[use](stream)


@pytest.mark.parametrize("method", ["to_csv", "to_parquet"])
def test_a_file_that_cannot_be_written_is_named(method: str, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "rows.out"
    with pytest.raises(FileNotFoundError) as error:
        getattr(box_score(), method)(path)
    assert error.value.filename == str(path)
