"""Streams over TLS and through proxies, correct and incorrect ones: real, on loopback."""

from __future__ import annotations

import base64
import hashlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import trustme
from wire import Serve, answering, drain, headers, listener, over_tls, proxy, read_head, relay, reset, saying

import sideline
from test_tls import each_untrusted_certificate, expired_certificate

Certified = Callable[..., ssl.SSLContext]

NOW = "2027-03-01T12:00:00Z"
QUICK: dict[str, Any] = {"retry_wait": 0.01, "max_wait": 0.02, "silence_limit": 5.0}
TOKEN, KEY = "token-canary", "key-canary"

STREAM_OPENERS: dict[str, Callable[..., sideline.LiveStream]] = {
    "event stream": lambda client, game, **more: client.live_stats(game, **QUICK | more),
    "websocket": lambda client, game, **more: client.live(token=TOKEN, **QUICK | more),
    "token of a websocket": lambda client, game, **more: client.live(game, sources=["stats"], **QUICK | more),
}
each_stream = pytest.mark.parametrize("open_stream", STREAM_OPENERS.values(), ids=STREAM_OPENERS)


@pytest.fixture(scope="module")
def season() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=3, teams=4, games=8, now=NOW) as season:
        season.streams.heartbeat = 0.05
        yield season


@pytest.fixture(scope="module")
def game_id(season: sideline.Simulator) -> str:
    return str(season.games[0]["event_id"])


def client_at(place: str, bundle: Path, **more: Any) -> sideline.Client:
    """A client to whom all three services are at one place."""
    addresses = {"base_url": f"https://{place}", "broadcast_base_url": f"https://{place}", "websocket_url": f"wss://{place}"}
    return sideline.Client(**{"username": "ann", "secret": "secret-canary", "api_key": KEY, "ca_bundle": bundle} | addresses | more)


def credentials_of(season: sideline.Simulator) -> dict[str, str]:
    """Credentials that the simulator accepts."""
    return {"username": season.username, "secret": season.secret, "api_key": season.api_key}


def to(season: sideline.Simulator, heads: list[bytes] | None = None) -> Serve:
    """Forwards to the simulator, and keeps the first bytes of each connection."""

    def serve(connection: socket.socket) -> None:
        first = read_head(connection)
        if heads is not None:
            heads.append(first)
        with socket.create_connection(("127.0.0.1", int(season.base_url.rpartition(":")[2]))) as upstream:
            upstream.sendall(first)
            relay(connection, upstream, bytearray())

    return serve


def secure(context: ssl.SSLContext, serve: Serve) -> Serve:
    # Forwarded data ends with its connection, without a close notice.
    return over_tls(context, serve, notify=False)


def until_it_ends(stream: sideline.LiveStream) -> tuple[list[Any], sideline.SidelineError]:
    items: list[Any] = []
    with pytest.raises(sideline.SidelineError) as excinfo:
        items.extend(stream)
    return items, excinfo.value


def losses(stream: sideline.LiveStream, count: int) -> list[sideline.live.Disconnected]:
    disconnections: list[sideline.live.Disconnected] = []
    with stream:
        for item in stream:
            if isinstance(item, sideline.live.Disconnected):
                disconnections.append(item)
                if len(disconnections) == count:
                    break
    return disconnections


def first(stream: sideline.LiveStream) -> Any:
    with stream:
        return next(item for item in stream if isinstance(item, sideline.Update)).to_dict()


# TLS.


def of_the_season(season: sideline.Simulator, game: str, open_stream: Callable[..., sideline.LiveStream], client: sideline.Client) -> sideline.LiveStream:
    if open_stream is STREAM_OPENERS["websocket"]:
        with season.client() as other_client:
            return client.live(token=other_client.subscription_token(game), sources=["stats"], **QUICK)
    return open_stream(client, game)


@each_stream
def test_a_stream_over_tls_is_the_same_stream(open_stream: Any, season: sideline.Simulator, game_id: str, tls_context: Certified, bundle: Path) -> None:
    heads: list[bytes] = []
    with listener(secure(tls_context("127.0.0.1"), to(season, heads))) as seen, season.client() as plain:
        with client_at(f"127.0.0.1:{seen.port}", bundle, **credentials_of(season)) as client:
            assert first(of_the_season(season, game_id, open_stream, client)) == first(of_the_season(season, game_id, open_stream, plain))
    assert all("referer" not in headers(head) for head in heads)
    if open_stream is not STREAM_OPENERS["event stream"]:
        assert headers(heads[-1])["upgrade"] == "websocket"


@each_stream
@each_untrusted_certificate
def test_a_certificate_that_cannot_be_trusted_ends_a_stream_at_once_with_its_cause(
    open_stream: Any, fault: Any, cause: str, advice: str, authority: trustme.CA, bundle: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    fault(authority, context)
    heads: list[bytes] = []
    with listener(over_tls(context, answering(heads))) as seen, client_at(f"127.0.0.1:{seen.port}", bundle) as client:
        stream = open_stream(client, "g", give_up_on=())
        items, error = until_it_ends(stream)
        assert (seen.connections, heads) == (1, [])
    assert type(error) is sideline.ConnectError
    assert cause in str(error)
    assert advice in str(error)
    assert [type(item) for item in items] == [sideline.live.Disconnected, sideline.live.Gap]
    assert cause in items[0].reason
    assert items[0].retry_at is None
    assert stream.state == "closed"


@each_stream
def test_a_certificate_that_becomes_bad_ends_a_stream_that_stood(
    open_stream: Any, season: sideline.Simulator, game_id: str, tls_context: Certified, authority: trustme.CA, bundle: Path
) -> None:
    bad = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    expired_certificate(authority, bad)
    serves = [secure(tls_context("127.0.0.1"), to(season))]
    with listener(lambda connection: serves[0](connection)) as seen, client_at(f"127.0.0.1:{seen.port}", bundle, **credentials_of(season)) as client:
        stream = of_the_season(season, game_id, open_stream, client)
        while not isinstance(next(stream), sideline.Update):
            pass
        serves[0] = over_tls(bad, drain)
        season.streams.cut()
        items, error = until_it_ends(stream)
    assert "certificate expired" in str(error)
    assert isinstance(items[-1], sideline.live.Gap)
    assert items[-1].end is None


@each_stream
def test_a_handshake_that_hangs_is_given_up_reported_and_tried_again(open_stream: Any, bundle: Path) -> None:
    began = time.monotonic()
    with (
        listener(drain) as seen,
        client_at(f"127.0.0.1:{seen.port}", bundle, timeout=sideline.Timeout(connect=0.3, read=9, total=0.3), max_retries=0) as client,
    ):
        disconnections = losses(open_stream(client, "g"), 2)
        assert seen.connections >= 2
    assert all("timeout" in loss.reason for loss in disconnections)
    assert all(loss.retry_at is not None for loss in disconnections)
    assert time.monotonic() - began < 30


@each_stream
def test_the_silence_limit_ends_a_handshake_that_hangs(open_stream: Any, bundle: Path) -> None:
    with listener(drain) as seen, client_at(f"127.0.0.1:{seen.port}", bundle) as client:
        assert losses(open_stream(client, "g", silence_limit=0.3), 1)[0].reason == "no response within 0.3 s"


@each_stream
@pytest.mark.parametrize("end", [lambda connection: None, reset, lambda connection: connection.sendall(b"\x16\x03\x03\x00\x7a\x02")])
def test_a_handshake_that_is_cut_is_reported_and_tried_again(
    open_stream: Any, end: Serve, season: sideline.Simulator, game_id: str, tls_context: Certified, bundle: Path
) -> None:
    def cut(connection: socket.socket) -> None:
        connection.recv(65536)
        end(connection)

    serves = iter([cut, cut])
    well = secure(tls_context("127.0.0.1"), to(season))
    with listener(lambda connection: next(serves, well)(connection)) as seen:
        with (
            client_at(f"127.0.0.1:{seen.port}", bundle, **credentials_of(season), max_retries=0) as client,
            of_the_season(season, game_id, open_stream, client) as stream,
        ):
            items = list(islice((item for item in stream if not isinstance(item, sideline.live.Recovered)), 5))
    assert [type(item) for item in items] == [sideline.live.Disconnected] * 2 + [sideline.live.Gap, sideline.live.Connected, sideline.Update]
    assert all("handshake" in item.reason or "connection" in item.reason.lower() for item in items[:2])


@each_stream
def test_a_peer_without_tls_is_named(open_stream: Any, bundle: Path) -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        drain(connection)

    with listener(serve) as seen, client_at(f"127.0.0.1:{seen.port}", bundle) as client:
        assert "does not speak TLS" in losses(open_stream(client, "g"), 1)[0].reason


# Proxies.


@contextmanager
def between(season: sideline.Simulator, tls_context: Certified, heads: list[bytes], **more: Any) -> Iterator[Any]:
    """A proxy to a service that only it can reach."""
    with listener(secure(tls_context("service.invalid"), to(season, heads))) as tls, listener(to(season, heads)) as plain:
        with proxy({"service.invalid:443": tls.port, "service.invalid:80": plain.port, "service.invalid": plain.port}, **more) as forwarder:
            yield forwarder


@each_stream
def test_a_tunnel_carries_a_stream_and_the_proxy_learns_the_host_alone(
    open_stream: Any, season: sideline.Simulator, game_id: str, tls_context: Certified, bundle: Path
) -> None:
    heads: list[bytes] = []
    with between(season, tls_context, heads, credentials="ann:pw") as forwarder:
        through = forwarder.address.replace("//", "//ann:pw@")
        with client_at("service.invalid", bundle, **credentials_of(season), proxy=through) as client:
            assert first(of_the_season(season, game_id, open_stream, client))
    assert set(forwarder.lines) == {"CONNECT service.invalid:443 HTTP/1.1"}
    assert all("proxy-authorization" in headers(head) for head in forwarder.heads)
    assert all("proxy-authorization" not in headers(head) for head in heads)
    for secret in (b"apikey", b"token", b"hmac", season.api_key.encode(), b"/live/"):
        assert secret not in forwarder.client_bytes


@each_stream
def test_a_forwarding_proxy_gives_the_service_no_credentials_of_its_own(
    open_stream: Any, season: sideline.Simulator, game_id: str, tls_context: Certified, bundle: Path
) -> None:
    heads: list[bytes] = []
    plain = {"base_url": "http://service.invalid", "broadcast_base_url": "http://service.invalid", "websocket_url": "ws://service.invalid", "allow_http": True}
    with between(season, tls_context, heads, credentials="ann:pw") as forwarder:
        with client_at("", bundle, **credentials_of(season) | plain, proxy=forwarder.address.replace("//", "//ann:pw@")) as client:
            assert first(of_the_season(season, game_id, open_stream, client))
    assert all("proxy-authorization" in headers(head) for head in forwarder.heads)
    assert all("proxy-authorization" not in headers(head) for head in heads)


@each_stream
@pytest.mark.parametrize("userinfo", ["", "ann:pw-canary@"])
def test_a_proxy_that_refuses_the_credentials_is_named_with_what_to_do(
    open_stream: Any, userinfo: str, season: sideline.Simulator, tls_context: Certified, bundle: Path
) -> None:
    with between(season, tls_context, [], credentials="ann:another") as forwarder:
        with client_at("service.invalid", bundle, proxy=forwarder.address.replace("//", f"//{userinfo}")) as client:
            loss = losses(open_stream(client, "g"), 1)[0]
    assert "the proxy requires authentication (status 407)" in loss.reason
    assert "http://user:password@host:port" in loss.reason
    assert "canary" not in repr(loss)


PAGE = b"<html><title>Log in to the hotel's network</title></html>"
LYING: dict[str, tuple[tuple[Any, ...], str]] = {
    "an error": ((b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",), "could not connect through the proxy"),
    "no HTTP": ((b"\x00\xff\x15 garbage\r\n\r\n",), "could not connect through the proxy"),
    "nothing": ((), "could not connect through the proxy"),
    "a page in place of the service": (
        (b"HTTP/1.1 200 OK\r\n\r\n", lambda connection: connection.recv(9999), b"HTTP/1.1 200 OK\r\n\r\n" + PAGE),
        "does not speak TLS",
    ),
    "an end after its consent": ((b"HTTP/1.1 200 OK\r\n\r\n",), "handshake"),
}


@each_stream
@pytest.mark.parametrize("lie", LYING)
def test_a_proxy_that_lies_is_named_and_nothing_of_it_is_an_update(open_stream: Any, lie: str, bundle: Path) -> None:
    script, text = LYING[lie]
    with listener(saying(*script)) as seen, client_at("service.invalid", bundle, proxy=f"http://127.0.0.1:{seen.port}", max_retries=0) as client:
        with open_stream(client, "g") as stream:
            items = [next(stream) for _ in range(2)]
            assert stream.stats.updates == 0
    assert [type(item) for item in items] == [sideline.live.Disconnected] * 2
    assert text in items[0].reason
    assert "proxy" in items[0].reason
    assert "canary" not in repr(items)


@each_stream
def test_a_proxy_with_a_certificate_of_its_own_making_reads_nothing(open_stream: Any, bundle: Path) -> None:
    """A proxy that terminates TLS, as in some networks, is refused unless its certificate authority is trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("service.invalid").configure_cert(context)
    heads: list[bytes] = []
    with listener(over_tls(context, answering(heads))) as inside, proxy({"service.invalid:443": inside.port}) as forwarder:
        with client_at("service.invalid", bundle, proxy=forwarder.address) as client:
            _, error = until_it_ends(open_stream(client, "g"))
    assert "UnknownIssuer" in str(error)
    assert heads == []


# Redirects.


@pytest.mark.parametrize("place", ["https://far.invalid{}", "http://127.0.0.1:{port}{}", "//far.invalid{}"])
@each_stream
def test_a_redirect_to_a_foreign_host_is_not_followed(open_stream: Any, place: str) -> None:
    elsewhere: list[bytes] = []
    with listener(answering(elsewhere)) as other:

        def serve(connection: socket.socket) -> None:
            target = read_head(connection).split(b" ")[1].decode()
            location = place.replace("{port}", str(other.port)).format(target)
            connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())

        with listener(serve) as seen:
            plain = f"http://127.0.0.1:{seen.port}"
            addresses = {"base_url": plain, "broadcast_base_url": plain, "websocket_url": plain.replace("http", "ws")}
            with sideline.Client(username="ann", secret="secret-canary", api_key=KEY, **addresses) as client:
                loss = losses(open_stream(client, "g"), 1)[0]
    assert elsewhere == []
    assert loss.status == 302
    assert "canary" not in repr(loss)


# Messages that the client has already buffered.


def test_messages_received_with_the_upgrade_response_need_no_further_byte() -> None:
    """More items than one read returns, and then silence: all are delivered without waiting for another byte."""

    def serve(connection: socket.socket) -> None:
        key = headers(read_head(connection))["sec-websocket-key"]
        accept = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
        response = f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        texts = [b'{"seq":%d}' % seq for seq in range(1, 101)]
        connection.sendall(response.encode() + b"".join(bytes([0x81, len(text)]) + text for text in texts))
        drain(connection)

    with listener(serve) as seen, sideline.Client(websocket_url=f"ws://127.0.0.1:{seen.port}") as client:
        with client.live(token=TOKEN, notices=False) as stream:
            items = [stream._core.next_within(2.0) for _ in range(100)]
    assert [item and item.seq for item in items] == list(range(1, 101))
