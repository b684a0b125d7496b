"""Problems of a new user's set-up, and the line of the doctor that reports each."""

from __future__ import annotations

import ast
import asyncio
import base64
import hashlib
import hmac
import os
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from service import Features, Service
from wire import Serve, answering, drain, listener, over_tls, proxy, relay

import sideline
from sideline.doctor import Report

Certified = Callable[..., ssl.SSLContext]
DAY = timedelta(days=1)

#: Of a service that is all there.
NAMES = [
    *("environment", "sport", "base_url", "websocket_url", "broadcast_base_url", "username", "secret", "api_key"),
    *("proxy", "DNS", "TCP", "TLS", "answer", "clock", "signature"),
    *("stats", "table", "shots", "locations", "websocket token", "websocket", "Broadcast key"),
]
SIGNED = ["signature", "stats", "table", "shots", "locations", "websocket token", "websocket"]


@pytest.fixture(scope="module")
def season() -> Iterator[sideline.Simulator]:
    """Its clock is the real one, as the doctor's is."""
    with sideline.Simulator(seed=5) as season:
        yield season


@pytest.fixture(autouse=True)
def _nothing_left(season: sideline.Simulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)
    yield
    season.faults.clear()


def make_client(port: int, **more: Any) -> sideline.Client:
    """A client of something that is not the service."""
    address = f"https://127.0.0.1:{port}"
    options = {"username": "ann", "secret": "secret-canary", "api_key": "key-canary", "base_url": address, "broadcast_base_url": address}
    return sideline.Client(**options | more)


def read_report(client: sideline.Client) -> Report:
    with client:
        report = client.doctor()
    text = repr(report) + report._repr_html_()
    assert "canary" not in text
    for check in report:
        assert "\n" not in check.found
        assert bool(check.advice) == (check.state in ("failed", "missing")), check
    return report


def names_in_state(report: Report, state: str = "failed") -> list[str]:
    return [check.name for check in report if check.state == state]


@pytest.fixture
def service_over_tls(season: sideline.Simulator) -> Callable[[ssl.SSLContext], Any]:
    """The whole service behind TLS."""

    def forward(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", int(season.base_url.rpartition(":")[2]))) as upstream:
            relay(connection, upstream, bytearray())

    @contextmanager
    def serve(context: ssl.SSLContext) -> Iterator[dict[str, Any]]:
        with listener(over_tls(context, forward, notify=False)) as seen:
            address = f"127.0.0.1:{seen.port}"
            yield {"base_url": f"https://{address}", "websocket_url": f"wss://{address}", "broadcast_base_url": f"https://{address}"}

    return serve


# -- nothing is wrong


def test_every_step_of_a_good_set_up_is_ok_and_it_takes_few_requests(season: sideline.Simulator) -> None:
    before = len(season.requests)
    report = read_report(season.client())
    assert [check.name for check in report] == NAMES
    assert names_in_state(report, "ok") == [name for name in NAMES if name != "TLS"]
    assert report.ok
    assert len(season.requests) - before <= 11
    assert report["clock"].found == "within 1 s of the service's"


def test_the_asynchronous_client_finds_the_same_and_leaves_its_loop_free(season: sideline.Simulator) -> None:
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    async def read_async_report(**more: Any) -> Report:
        ticking = asyncio.create_task(tick())
        async with season.async_client(**more) as client:
            report = await client.doctor()
        ticking.cancel()
        return report

    report = asyncio.run(read_async_report())
    assert [(check.name, check.state) for check in report] == [(check.name, check.state) for check in read_report(season.client())]
    turns = 0
    with listener(lambda connection: time.sleep(1)) as mute:
        assert names_in_state(asyncio.run(read_async_report(websocket_url=f"ws://127.0.0.1:{mute.port}"))) == ["websocket"]
    assert turns > 40


def test_a_verified_certificate_is_reported_with_issuer_and_days(
    service_over_tls: Any, season: sideline.Simulator, authority: trustme.CA, bundle: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", not_after=datetime.now(UTC) + 5.5 * DAY).configure_cert(context)
    with service_over_tls(context) as addresses:
        report = read_report(season.client(**addresses, ca_bundle=bundle))
    assert names_in_state(report, "ok") == [*NAMES[:8], "ca_bundle", *NAMES[8:]]
    assert "issued by 'trustme" in report["TLS"].found
    assert "for 5 more days" in report["TLS"].found
    assert "renew it soon" in report["TLS"].found


def test_the_string_to_sign_is_the_one_that_is_signed(season: sideline.Simulator) -> None:
    before = len(season.requests)
    detail = read_report(season.client())["signature"].found
    text = ast.literal_eval(detail[detail.index("'") :])
    seen = next(request for request in season.requests[before:] if "authorization" in request.headers)
    signed = "\n".join([f"date: {seen.headers['date']}", *text.split("\n")[1:]])
    expected = base64.b64encode(hmac.new(season.secret.encode(), signed.encode(), hashlib.sha1).digest()).decode()
    assert f'signature="{expected}"' in seen.headers["authorization"]


def test_a_closed_client_says_so(season: sideline.Simulator) -> None:
    client = season.client()
    client.close()
    with pytest.raises(sideline.SidelineError, match="closed"):
        client.doctor()


# -- settings


def test_settings_are_reported_with_their_source_and_secrets_by_their_length(season: sideline.Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDELINE_SECRET", "secret-canary ")
    monkeypatch.setenv("SIDELINE_API_KEY", "key-canary")
    report = read_report(sideline.Client(username="ann", base_url=season.base_url, broadcast_base_url=season.base_url))
    assert report["username"].found == "ann (argument)"
    assert report["secret"].found == "set (14 characters, with blanks around it) from SIDELINE_SECRET"
    assert report["api_key"].found == "set (10 characters) from SIDELINE_API_KEY"
    assert report["websocket_url"].found == "wss://api.shottracker.com (default)"
    assert "secret from SIDELINE_SECRET" in report["signature"].advice


def make_client_without(season: sideline.Simulator, *names: str) -> sideline.Client:
    return sideline.Client(**{name: value for name, value in season._options().items() if name not in names})


def test_a_missing_key_is_no_failure(season: sideline.Simulator) -> None:
    report = read_report(make_client_without(season, "api_key"))
    assert (report.ok, names_in_state(report), names_in_state(report, "skipped")) == (True, [], ["api_key", "TLS", "Broadcast key"])
    assert "only the Broadcast API needs it" in report["api_key"].found and "SIDELINE_API_KEY" in report["api_key"].found


def test_an_api_key_alone_needs_no_secret(season: sideline.Simulator) -> None:
    report = read_report(make_client_without(season, "username", "secret"))
    assert (report.ok, names_in_state(report), names_in_state(report, "skipped")) == (True, [], ["username", "secret", "TLS", *SIGNED])
    assert report["Broadcast key"].ok


def test_without_settings_the_doctor_fails_at_username_and_secret(season: sideline.Simulator) -> None:
    report = read_report(make_client_without(season, "username", "secret", "api_key"))
    assert names_in_state(report) == ["username", "secret"]


@pytest.mark.parametrize("name", ["username", "secret"])
def test_no_credential_fails_there_and_the_connection_is_checked_all_the_same(season: sideline.Simulator, name: str) -> None:
    report = read_report(make_client_without(season, name))
    assert names_in_state(report) == [name]
    assert f"SIDELINE_{name.upper()}" in report[name].advice
    assert names_in_state(report, "skipped") == ["TLS", *SIGNED]
    assert report["Broadcast key"].ok


# -- credentials


def test_a_wrong_secret_fails_at_the_signature(season: sideline.Simulator) -> None:
    report = read_report(season.client(secret="secret-canary"))
    assert names_in_state(report) == ["signature"]
    assert "SIDELINE_SECRET" in report["signature"].advice
    assert names_in_state(report, "skipped") == ["TLS", *SIGNED[1:]]


def test_a_wrong_key_fails_at_the_key(season: sideline.Simulator) -> None:
    report = read_report(season.client(api_key="key-canary"))
    assert names_in_state(report) == ["Broadcast key"]
    assert "SIDELINE_API_KEY" in report["Broadcast key"].advice


@pytest.mark.parametrize(("privileges", "missing"), [([], ["stats", "shots", "locations"]), (["shots"], ["stats", "locations"]), (["stats"], ["shots"])])
def test_a_privilege_that_is_not_granted_is_missing_and_no_failure(season: sideline.Simulator, privileges: list[str], missing: list[str]) -> None:
    season.credentials.add("intern", "secret-canary", privileges=privileges)
    report = read_report(season.client(username="intern", secret="secret-canary"))
    assert names_in_state(report, "missing") == missing
    assert report.ok
    assert "privilege" in report[missing[0]].advice


def test_a_table_is_decoded_and_positions_are_counted() -> None:
    with Service(seed=6, features=Features(subscription_token=True)) as service:
        before = len(service.requests.all())
        report = read_report(sideline.Client(**service.client_options()))
        assert "no unknown field" in report["table"].found and not report["table"].advice
        assert report["locations"].state == "ok" and "PLAYER" in report["locations"].found
        # Two beyond those of a report without a table and positions.
        assert len(service.requests.all()) - before <= 14
        service.faults.add("stats", change=lambda body: {**body, "mascot": "owl"})
        report = read_report(sideline.Client(**service.client_options()))
        assert "1 unknown fields (mascot)" in report["table"].found and "sideline capture" in report["table"].found
        assert report.ok
        service.faults.clear()
        service.faults.add("stats", change_bytes=lambda raw: raw[:-20])
        report = read_report(sideline.Client(**service.client_options()))
        assert names_in_state(report) == ["table"] and "sideline capture" in report["table"].advice


@pytest.mark.parametrize(("offset", "side"), [(600, "behind"), (-600, "ahead of")])
def test_a_wrong_clock_fails_at_the_clock_alone_for_the_client_allows_for_it(season: sideline.Simulator, offset: float, side: str) -> None:
    season.faults.add(clock_offset=offset)
    report = read_report(season.client())
    assert names_in_state(report) == ["clock"]
    assert f"10.0 minutes {side}" in report["clock"].found
    assert "set the clock" in report["clock"].advice


# -- the way there


def test_a_dead_host_fails_at_tcp() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
    report = read_report(make_client(port))
    assert names_in_state(report) == ["TCP"]
    assert names_in_state(report, "skipped") == ["TLS", "answer", "clock", *SIGNED, "Broadcast key"]
    assert "refused" in report["TCP"].found


def test_an_unknown_name_fails_at_dns() -> None:
    report = read_report(make_client(1, base_url="https://service.invalid", broadcast_base_url="https://service.invalid"))
    assert names_in_state(report) == ["DNS"]
    assert "service.invalid" in report["DNS"].advice


def test_an_unknown_authority_fails_at_tls_and_is_named(tls_context: Certified) -> None:
    heads: list[bytes] = []
    with listener(over_tls(tls_context("127.0.0.1"), answering(heads))) as seen:
        report = read_report(make_client(seen.port))
    assert names_in_state(report) == ["TLS"]
    assert "UnknownIssuer" in report["TLS"].found
    assert "issued by 'trustme" in report["TLS"].found
    assert "ca_bundle=" in report["TLS"].advice
    assert heads == []


def test_an_expired_certificate_fails_at_tls_with_its_day(authority: trustme.CA, bundle: Path) -> None:
    context, end = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), datetime.now(UTC) - DAY
    authority.issue_cert("127.0.0.1", not_before=end - 9 * DAY, not_after=end).configure_cert(context)
    with listener(over_tls(context, answering([]))) as seen:
        report = read_report(make_client(seen.port, ca_bundle=bundle))
    assert names_in_state(report) == ["TLS"]
    assert "certificate expired" in report["TLS"].found
    assert f"until {end:%Y-%m-%d}" in report["TLS"].found
    assert "clock" in report["TLS"].advice


def test_a_server_without_tls_fails_at_tls() -> None:
    with listener(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")) as seen:
        report = read_report(make_client(seen.port))
    assert names_in_state(report) == ["TLS"]


def test_a_handshake_without_end_fails_at_tls_for_the_port_responds() -> None:
    with listener(drain) as seen:
        report = read_report(make_client(seen.port, timeout=sideline.Timeout(connect=0.5, read=5, total=10)))
    assert names_in_state(report) == ["TLS"]


def test_a_server_that_says_nothing_fails_at_the_response(tls_context: Certified, bundle: Path) -> None:
    with listener(over_tls(tls_context("127.0.0.1"), drain)) as seen:
        report = read_report(make_client(seen.port, ca_bundle=bundle, timeout=sideline.Timeout(connect=5, read=0.5, total=10)))
    assert names_in_state(report) == ["answer"]
    assert "read timeout" in report["answer"].found


def test_a_page_in_the_services_place_fails_at_the_response(tls_context: Certified, bundle: Path) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: 12\r\n\r\n<html>log in"
    with listener(over_tls(tls_context("127.0.0.1"), answering([], page))) as seen:
        report = read_report(make_client(seen.port, ca_bundle=bundle))
    assert names_in_state(report)[0] == "answer"
    assert "not JSON" in report["answer"].found
    assert report["signature"].state == "skipped"


def test_a_service_in_trouble_fails_at_the_response(season: sideline.Simulator) -> None:
    season.faults.add("/v1/data/teams", status=501)
    report = read_report(season.client())
    assert names_in_state(report) == ["answer"]
    assert "request id" in report["answer"].found


def test_an_address_with_a_path_of_its_own_fails_at_the_response_and_names_base_url(season: sideline.Simulator) -> None:
    report = read_report(season.client(base_url=f"{season.base_url}/api"))
    assert names_in_state(report) == ["answer"]
    assert "base_url" in report["answer"].advice


# -- proxies


def test_a_proxy_is_reported_without_its_password(service_over_tls: Any, season: sideline.Simulator, tls_context: Certified, bundle: Path) -> None:
    with service_over_tls(tls_context("127.0.0.1", "service.invalid")) as addresses:
        place = addresses["base_url"].removeprefix("https://")
        with proxy({"service.invalid:443": int(place.rpartition(":")[2])}, credentials="ann:pw-canary") as between:
            address = between.address.replace("//", "//ann:pw-canary@")
            behind = {name: f"{value.split(':')[0]}://service.invalid" for name, value in addresses.items()}
            report = read_report(season.client(**behind, ca_bundle=bundle, proxy=address))
    assert names_in_state(report) == []
    assert report["proxy"].found == f"{between.address} (from proxy=)"
    assert report["DNS"].state == "skipped"


def test_a_proxy_that_inspects_tls_fails_at_tls(tls_context: Certified, monkeypatch: pytest.MonkeyPatch) -> None:
    with listener(over_tls(tls_context("service.invalid"), answering([]))) as inspecting:
        with proxy({"service.invalid:443": inspecting.port}) as between:
            monkeypatch.setenv("HTTPS_PROXY", between.address)
            report = read_report(make_client(1, base_url="https://service.invalid", broadcast_base_url="https://service.invalid"))
    assert names_in_state(report) == ["TLS"]
    assert report["proxy"].found == f"{between.address} (from HTTPS_PROXY)"
    assert "ca_bundle=" in report["TLS"].advice


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_proxy_that_wants_another_password_fails_at_the_proxy(scheme: str) -> None:
    url = f"{scheme}://service.invalid"
    with proxy({}, credentials="ann:another") as between:
        address = between.address.replace("//", "//ann:pw-canary@")
        report = read_report(make_client(1, base_url=url, broadcast_base_url=url, proxy=address, allow_http=True))
    assert names_in_state(report) == ["proxy"]
    assert "http://user:password@host:port" in report["proxy"].advice
    assert report["TCP"].state == "skipped"


def test_a_proxy_that_cannot_be_used_fails_at_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://ann:pw-canary@127.0.0.1:1080")
    report = read_report(make_client(1, base_url="https://service.invalid", broadcast_base_url="https://service.invalid"))
    assert names_in_state(report) == ["proxy"]
    assert "NO_PROXY" in report["proxy"].advice


def test_the_hosts_of_no_proxy_are_reported_as_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", ".invalid")
    report = read_report(make_client(1, base_url="https://service.invalid", broadcast_base_url="https://service.invalid"))
    assert names_in_state(report) == ["DNS"]
    assert report["proxy"].found == "none: direct"


# -- live


def refuses(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize("serve", [refuses, lambda connection: None])
def test_a_websocket_that_does_not_open_fails_there(season: sideline.Simulator, serve: Serve) -> None:
    with listener(serve) as seen:
        report = read_report(season.client(websocket_url=f"ws://127.0.0.1:{seen.port}"))
    assert names_in_state(report) == ["websocket"]
    assert f"ws://127.0.0.1:{seen.port}" in report["websocket"].found
    assert "websocket_url" in report["websocket"].advice


def test_no_token_fails_at_the_token(season: sideline.Simulator) -> None:
    season.faults.add("*/_subscribe", status=404)
    report = read_report(season.client())
    assert names_in_state(report) == ["websocket token"]
    assert report["websocket"].state == "skipped"


def test_without_a_schedule_there_is_one_failure(season: sideline.Simulator) -> None:
    season.faults.add("/v1/data/schedule/games", status=404)
    report = read_report(season.client())
    assert names_in_state(report) == ["schedule"]
    assert names_in_state(report, "skipped") == ["TLS", *SIGNED[1:]]


def test_teams_that_may_not_be_read_were_requested_with_a_good_signature(season: sideline.Simulator) -> None:
    season.faults.add("/v1/data/teams", status=403)
    report = read_report(season.client())
    assert (names_in_state(report), names_in_state(report, "missing")) == ([], ["teams"])
    assert report["signature"].ok


def test_a_season_without_games_skips_what_needs_one(season: sideline.Simulator) -> None:
    season.faults.add("/v1/data/schedule/games", status=200, body={"games": []})
    report = read_report(season.client())
    assert report.ok
    assert names_in_state(report, "skipped") == ["TLS", *SIGNED[1:]]


# -- how it is shown


def test_the_text_has_a_line_for_each_check_and_what_to_do_below(season: sideline.Simulator) -> None:
    report = read_report(season.client(secret="secret-canary", username="<b>"))
    lines = repr(report).splitlines()
    assert lines[0] == f"sideline doctor: {len(NAMES)} checks, 1 failed, 7 skipped"
    assert len(lines) == 1 + len(NAMES) + 1
    (at,) = [number for number, line in enumerate(lines) if line.startswith("failed   signature")]
    assert lines[at + 1].lstrip().startswith("-> Check the username and the secret")
    assert "<th>username</th><td>&lt;b&gt; (argument)</td>" in report._repr_html_()


@pytest.mark.parametrize("settings", [{}, {"SIDELINE_SECRET": "secret-canary"}, {"SIDELINE_SPORT": "soccer"}])
def test_the_command_prints_it_and_its_status_is_for_scripts(season: sideline.Simulator, settings: dict[str, str]) -> None:
    command = [sys.executable, "-W", "error", "-m", "sideline", "doctor"]
    done = subprocess.run(command, env=os.environ | season.environ | settings, capture_output=True, text=True, timeout=30)
    assert done.returncode == (1 if settings else 0)
    assert "canary" not in done.stdout + done.stderr
    if "SIDELINE_SPORT" in settings:
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    else:
        assert done.stderr == ""
        assert "from SIDELINE_SECRET" in done.stdout
        assert ("failed   signature" in done.stdout) == bool(settings)


# -- the gateway


def test_a_gateway_that_signs_the_query_is_recognised() -> None:
    with Service(seed=6, features=Features(subscription_token=True)) as service:
        report = read_report(sideline.Client(**service.client_options()))
        assert "query" not in [check.name for check in report]
        service.signs_query = True
        report = read_report(sideline.Client(**service.client_options()))
        assert report["signature"].state == "ok"
        assert names_in_state(report) == ["query"]
        assert "with a query are refused" in report["query"].found
        assert "Kong 3" in report["query"].advice
        assert {"stats", "shots"} <= set(names_in_state(report, "skipped"))
        # A secret that is wrong is nevertheless the secret's fault.
        report = read_report(sideline.Client(**service.client_options() | {"secret": "mistyped"}))
        assert names_in_state(report) == ["signature"]


def test_the_doctor_sends_no_token_to_the_documented_websocket(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []
    with Service(seed=6, features=Features(subscription_token=True)) as service, listener(answering(heads)) as between:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{between.port}")
        options = service.client_options()
        del options["websocket_url"]
        report = read_report(sideline.Client(**options))
    assert heads == []
    assert names_in_state(report) == ["websocket"]
    assert "without websocket_url=" in report["websocket"].found


def test_a_schedule_that_alone_is_refused_is_not_the_query_s_fault() -> None:
    with Service(seed=6) as service:
        service.faults.add("schedule", status=401, body={"message": "HMAC signature does not match"})
        report = read_report(sideline.Client(**service.client_options()))
        assert "schedule" in names_in_state(report)
        assert "query" not in [check.name for check in report]


def test_an_impossible_time_or_id_is_a_line_of_the_doctor() -> None:
    with Service(seed=6, games=3, features=Features(subscription_token=True)) as service:
        games = service.faults.add("schedule", change=lambda body: body | {"games": with_odd_times(body["games"])})
        report = read_report(sideline.Client(**service.client_options()))
        assert report.ok
        assert report["stats"].state == "ok"
        service.faults.remove(games)
        games = service.faults.add("schedule", change=lambda body: body | {"games": [game | {"event_id": "a/b"} for game in body["games"]]})
        report = read_report(sideline.Client(**service.client_options()))
        assert names_in_state(report) == ["websocket token"]
        assert "is not an id" in report["websocket token"].found
        service.faults.remove(games)
        for member, value, failed in (("id", "a/b", ["stats", "shots", "locations"]), ("started_at", 253_402_300_799_999, []), ("started_at", 10**18, [])):
            fault = service.faults.add(
                "game", change=lambda body, change=(member, value): body | {"results": [session | dict([change]) for session in body["results"]]}
            )
            assert names_in_state(read_report(sideline.Client(**service.client_options()))) == failed
            service.faults.remove(fault)


def with_odd_times(games: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The games, each of them also at times that Python does not have."""
    return games + [game | {"tipoff_at": at} for game in games for at in (10**18, -62_135_596_800_000)]


def test_a_timeout_bounds_each_request_of_the_doctor_and_of_a_plan() -> None:
    with Service(teams=2, games=1) as second, sideline.Client(**second.client_options(), max_retries=0) as client:
        second.faults.add(delay=20.0)
        start = time.monotonic()
        assert client.doctor(timeout=0.3)["answer"].state == "failed"
        for plan in (client.plan, client.season(2026).plan):
            selection: dict[str, Any] = {} if plan != client.plan else {"start": "2026-11-01", "end": "2026-11-02"}
            with pytest.raises(sideline.IncompleteError):
                plan("shots", timeout=timedelta(seconds=0.3), **selection)
        assert time.monotonic() - start < 15.0
