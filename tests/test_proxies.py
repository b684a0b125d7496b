"""Proxies between client and service, correct and incorrect ones: real, on loopback."""

from __future__ import annotations

import socket
import ssl
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from wire import Proxy, Serve, answering, drain, headers, listener, over_tls, proxy, read_head, relay, reset, saying

import sideline

Certified = Callable[..., ssl.SSLContext]


@dataclass
class Origin:
    """The service, which only a proxy can reach, because its name does not resolve."""

    ports: dict[str, int] = field(default_factory=dict)
    heads: list[bytes] = field(default_factory=list)


@pytest.fixture
def origin(tls_context: Certified) -> Iterator[Origin]:
    origin = Origin()
    plain = answering(origin.heads)
    with listener(over_tls(tls_context("service.invalid", "::1"), plain)) as secure, listener(plain) as insecure:
        origin.ports = {"service.invalid:443": secure.port, "service.invalid:8443": secure.port, "[::1]:443": secure.port, "service.invalid": insecure.port}
        yield origin


@pytest.fixture
def open_client(bundle: Path) -> Callable[..., sideline.Client]:
    def client(proxy: str | None = None, **more: Any) -> sideline.Client:
        default = {"username": "ann", "secret": "secret-canary", "api_key": "key-canary", "base_url": "https://service.invalid", "max_retries": 0}
        default |= {"broadcast_base_url": "https://service.invalid", "proxy": proxy, "ca_bundle": bundle}
        return sideline.Client(**default | more)

    return client


OpenClient = Callable[..., sideline.Client]


def everything(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))


def test_a_tunnel_carries_the_request_and_the_proxy_learns_the_host_alone(origin: Origin, open_client: OpenClient) -> None:
    with proxy(origin.ports) as between, open_client(between.address) as client:
        assert client.teams().to_dict() == {"teams": []}
        client.broadcast_teams()
    assert between.lines == ["CONNECT service.invalid:443 HTTP/1.1"] * 2
    assert headers(between.heads[0]) == {"host": "service.invalid:443", "user-agent": f"sideline/{sideline.__version__}"}
    assert [head.split(b"\r\n")[0] for head in origin.heads] == [b"GET /v1/data/teams HTTP/1.1", b"GET /broadcast/v1/games/teams?apikey=key%2Dcanary HTTP/1.1"]
    assert headers(origin.heads[0])["host"] == "service.invalid"
    assert headers(origin.heads[0])["authorization"].startswith('hmac username="ann"')
    for secret in (b"hmac", b"canary", b"apikey", b"/v1/data", b"ann"):
        assert secret not in between.client_bytes


@pytest.mark.parametrize(
    ("userinfo", "credentials"),
    [("ann:pw", "ann:pw"), ("ann:p%40s%3As%2F", "ann:p@s:s/"), ("ann", "ann:"), ("%C3%BCnal:%E2%9A%BD", "ünal:⚽"), ("ann:p@ss", "ann:p@ss")],
)
@pytest.mark.parametrize("base_url", ["https://service.invalid", "http://service.invalid"])
def test_a_proxy_is_given_the_credentials_of_its_address_and_the_service_is_not(
    origin: Origin, open_client: OpenClient, userinfo: str, credentials: str, base_url: str
) -> None:
    with proxy(origin.ports, credentials=credentials) as between:
        with open_client(between.address.replace("//", f"//{userinfo}@"), base_url=base_url, allow_http=True) as client:
            assert client.teams().status == 200
    assert "proxy-authorization" not in headers(origin.heads[0])
    assert "authorization" in headers(origin.heads[0])


@pytest.mark.parametrize("userinfo", ["", "ann:pw-canary@", "ann:pw%2Dcanary@"])
def test_a_proxy_that_refuses_the_credentials_is_used_once_and_says_what_to_do(
    origin: Origin, open_client: OpenClient, userinfo: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with proxy(origin.ports, credentials="ann:another") as between:
        with open_client(between.address.replace("//", f"//{userinfo}"), max_retries=3) as client, pytest.raises(sideline.ConnectError) as excinfo:
            client.teams()
        assert between.listener.connections == 1
    assert "the proxy requires authentication (status 407)" in str(excinfo.value)
    assert "http://user:password@host:port" in str(excinfo.value)
    assert "canary" not in everything(excinfo.value) + repr(client) + caplog.text


def test_a_forwarding_proxy_gets_the_whole_address_and_the_path_is_signed_as_the_service_gets_it(open_client: OpenClient) -> None:
    with sideline.Simulator(seed=1, teams=4, games=8) as service:
        service.credentials.add("ann", "secret-canary")
        with proxy({"service.invalid": int(service.base_url.rpartition(":")[2])}) as between:
            with open_client(between.address, base_url="http://service.invalid:80/", allow_http=True) as client:
                assert client.teams().status == 200
        assert between.lines == ["GET http://service.invalid/v1/data/teams HTTP/1.1"]
        assert service.requests[-1].headers["host"] == "service.invalid"


def test_a_forwarding_proxy_that_refuses_the_credentials_says_what_to_do(origin: Origin, open_client: OpenClient) -> None:
    with proxy(origin.ports, credentials="ann:another") as between:
        address = between.address.replace("//", "//ann:pw-canary@")
        with open_client(address, base_url="http://service.invalid", allow_http=True, max_retries=3) as client, pytest.raises(sideline.ApiError) as excinfo:
            client.teams()
        assert between.listener.connections == 1
    assert (type(excinfo.value), excinfo.value.status, excinfo.value.attempts) == (sideline.ApiError, 407, 1)
    assert "http://user:password@host:port" in str(excinfo.value)
    assert "canary" not in everything(excinfo.value)


def test_a_proxy_that_repeats_what_it_was_sent_makes_no_text_with_a_secret(open_client: OpenClient) -> None:
    def echo(connection: socket.socket) -> None:
        head = read_head(connection)
        connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + head[head.index(b"?") :])

    def echo_credentials(connection: socket.socket) -> None:
        credentials = headers(read_head(connection))["proxy-authorization"]
        connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n" + credentials.encode() + b" is ann:pw-canary")

    plain = {"base_url": "http://service.invalid", "broadcast_base_url": "http://service.invalid", "allow_http": True}
    for serve in (echo, echo_credentials):
        with listener(serve) as between, open_client(f"http://ann:pw-canary@127.0.0.1:{between.port}", **plain) as client:
            with pytest.raises(sideline.ServerError) as excinfo:
                client.broadcast_teams()
        for secret in ("canary", "key%2D", "YW5uOnB3LWNhbmFyeQ"):
            assert secret not in everything(excinfo.value)
        assert "***" in excinfo.value.message


# -- the environment


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("scheme", ["http://", ""])
def test_the_proxy_of_the_environment_is_used(origin: Origin, open_client: OpenClient, monkeypatch: pytest.MonkeyPatch, variable: str, scheme: str) -> None:
    with proxy(origin.ports, credentials="ann:pw") as between:
        monkeypatch.setenv(variable, between.address.replace("http://", f"{scheme}ann:pw@"))
        with open_client() as client:
            assert client.teams().status == 200


def test_a_proxy_for_http_is_not_used_for_https(origin: Origin, open_client: OpenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxy(origin.ports) as between:
        monkeypatch.setenv("HTTP_PROXY", between.address)
        with open_client() as client, pytest.raises(sideline.ConnectError):
            client.teams()
        assert between.listener.connections == 0
        with open_client(base_url="http://service.invalid", allow_http=True) as client:
            client.teams()


def test_the_environment_is_read_when_the_client_is_built(origin: Origin, open_client: OpenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxy(origin.ports) as between:
        with open_client() as before:
            monkeypatch.setenv("HTTPS_PROXY", between.address)
            with pytest.raises(sideline.ConnectError):
                before.teams()
        with open_client() as after:
            monkeypatch.delenv("HTTPS_PROXY")
            assert after.teams().status == 200


@pytest.mark.parametrize(
    ("no_proxy", "connections"),
    [
        ("service.invalid", 0),
        ("other, .invalid", 0),
        ("invalid", 0),
        ("*", 0),
        ("SERVICE.INVALID", 0),
        ("vice.invalid", 1),
        ("127.0.0.1,localhost", 1),
        ("", 1),
    ],
)
@pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
def test_the_hosts_of_no_proxy_are_connected_directly(
    origin: Origin, open_client: OpenClient, monkeypatch: pytest.MonkeyPatch, variable: str, no_proxy: str, connections: int
) -> None:
    with proxy(origin.ports) as between:
        monkeypatch.setenv("HTTPS_PROXY", between.address)
        monkeypatch.setenv(variable, no_proxy)
        with open_client() as client:
            if connections:
                client.teams()
            else:
                with pytest.raises(sideline.ConnectError, match="dns|lookup"):
                    client.teams()
        assert between.listener.connections == connections


def test_a_proxy_that_is_given_beats_the_environment(origin: Origin, open_client: OpenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "*")
    with proxy(origin.ports) as between, open_client(between.address) as client:
        assert client.teams().status == 200


def test_an_unusable_proxy_of_the_environment_is_never_bypassed(open_client: OpenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://ann:canary@127.0.0.1:1080")
    with open_client() as client, pytest.raises(sideline.ConfigurationError, match="ALL_PROXY") as excinfo:
        client.teams()
    assert "canary" not in everything(excinfo.value)
    with sideline.Simulator(seed=1, teams=4, games=8) as service, service.client() as client:
        assert client.teams().status == 200


# -- proxies of other kinds


def test_a_proxy_may_have_an_ipv6_literal(origin: Origin, open_client: OpenClient) -> None:
    with proxy(origin.ports, host="::1", credentials="ann:pw") as between, open_client(between.address.replace("//", "//ann:pw@")) as client:
        assert between.address.startswith("http://[::1]:")
        assert client.teams().status == 200


def test_a_tunnel_leads_to_a_host_with_a_port(origin: Origin, open_client: OpenClient) -> None:
    with proxy(origin.ports) as between, open_client(between.address, base_url="https://service.invalid:8443") as client:
        client.teams()
    assert between.lines == ["CONNECT service.invalid:8443 HTTP/1.1"]
    assert headers(origin.heads[0])["host"] == "service.invalid:8443"


def test_an_ipv6_literal_in_a_tunnel_is_refused_at_once_with_what_to_do(origin: Origin, open_client: OpenClient) -> None:
    """reqwest cannot (its issue 3094). When this fails, it can: `INVALID_SERVER_NAME` in src/transport/attempt_error.rs can go."""
    with proxy(origin.ports) as between, open_client(between.address, base_url="https://[::1]", max_retries=3) as client:
        with pytest.raises(sideline.ConnectError, match="IPv6 address.*NO_PROXY"):
            client.teams()
    assert between.lines == ["CONNECT [::1]:443 HTTP/1.1"]


def test_a_proxy_may_itself_be_reached_over_tls(origin: Origin, open_client: OpenClient, tls_context: Certified) -> None:
    with proxy(origin.ports, context=tls_context("127.0.0.1"), credentials="ann:pw") as between:
        with open_client(between.address.replace("//", "//ann:pw@")) as client:
            assert client.teams().status == 200
    with proxy(origin.ports, context=tls_context("proxy.invalid")) as between, open_client(between.address, max_retries=3) as client:
        with pytest.raises(sideline.ConnectError, match=r"not valid for name .*127\.0\.0\.1"):
            client.teams()
        assert between.listener.connections == 1


# -- proxies that fail


@contextmanager
def failing(open_client: OpenClient, serve: Serve, **more: Any) -> Iterator[tuple[sideline.Client, Proxy]]:
    with listener(serve) as between, open_client(f"http://127.0.0.1:{between.port}", **more) as client:
        yield client, Proxy(listener=between)


PAGE = b"<html><title>Log in to the hotel's network</title></html>"
FAILING: dict[str, tuple[Serve, str]] = {
    "an error": (saying(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"), "could not connect through the proxy"),
    "a refusal with a page": (saying(b"HTTP/1.1 403 Forbidden\r\n\r\n" + PAGE), "could not connect through the proxy"),
    "no HTTP": (saying(b"\x00\xff\x15 garbage\r\n\r\n"), "could not connect through the proxy"),
    "a head without end": (saying(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 4_000), "could not connect through the proxy"),
    "half a head": (saying(b"HTTP/1.1 200 O"), "could not connect through the proxy"),
    "nothing": (saying(), "could not connect through the proxy"),
    "a reset": (lambda connection: (read_head(connection), reset(connection))[1], "could not connect"),
    "a page of its own": (saying(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE), "handshake"),
    "a page in place of the service": (saying(b"HTTP/1.1 200 OK\r\n\r\n", lambda c: c.recv(9999), b"HTTP/1.1 200 OK\r\n\r\n" + PAGE), "does not speak TLS"),
    "an end after its consent": (saying(b"HTTP/1.1 200 OK\r\n\r\n"), "handshake"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAILING)
def test_a_proxy_that_responds_wrongly_is_a_connect_error_that_names_it(open_client: OpenClient, fault: str) -> None:
    serve, text = FAILING[fault]
    with failing(open_client, serve) as (client, between):
        start = time.monotonic()
        with pytest.raises(sideline.ConnectError) as excinfo:
            client.teams()
        assert time.monotonic() - start < 5
        assert between.listener.connections == 1
    assert text in str(excinfo.value)
    assert "proxy" in str(excinfo.value)
    assert "canary" not in everything(excinfo.value)


@pytest.mark.parametrize("serve", [drain, saying(b"HTTP/1.1 200 OK\r\n", drain), saying(b"HTTP/1.1 200 OK\r\n\r\n", drain)])
def test_a_proxy_that_hangs_ends_within_the_connect_timeout(open_client: OpenClient, serve: Serve) -> None:
    with failing(open_client, serve, timeout=sideline.Timeout(connect=0.5, read=20, total=20)) as (client, _):
        start = time.monotonic()
        with pytest.raises(sideline.RequestTimeout, match="connect timeout.*proxy"):
            client.teams()
        assert time.monotonic() - start < 15


def test_a_forwarding_proxy_that_hangs_ends_within_the_read_timeout(open_client: OpenClient) -> None:
    more = {"base_url": "http://service.invalid", "allow_http": True, "timeout": sideline.Timeout(connect=5, read=0.5, total=20)}
    with failing(open_client, drain, **more) as (client, _), pytest.raises(sideline.RequestTimeout, match="read timeout"):
        client.teams()


def test_a_forwarding_proxy_that_responds_itself_is_never_data(open_client: OpenClient) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE
    with failing(open_client, saying(page), base_url="http://service.invalid", allow_http=True) as (client, _):
        with pytest.raises(sideline.DecodeError, match="text/html.*hotel.*proxy"):
            client.teams()


def test_a_proxy_that_is_down_is_named_and_not_bypassed(open_client: OpenClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed_listener:
        port = closed_listener.getsockname()[1]
    with open_client(f"http://127.0.0.1:{port}") as client, pytest.raises(sideline.ConnectError, match="could not connect through the proxy.*refused"):
        client.teams()


def test_a_proxy_that_recovers_is_tried_again(origin: Origin, open_client: OpenClient) -> None:
    responses = iter([saying(b"HTTP/1.1 503 Busy\r\n\r\n"), saying(b"HTTP/1.1 200 OK\r\n\r\n")])
    with proxy(origin.ports) as between:

        def serve(connection: socket.socket) -> None:
            later = next(responses, None)
            if later:
                later(connection)
                return
            with socket.create_connection(("127.0.0.1", between.listener.port)) as upstream:
                relay(connection, upstream, bytearray())

        with failing(open_client, serve, max_retries=2) as (client, outer):
            assert client.teams().status == 200
            assert outer.listener.connections == 3
