"""Every form of address that a user may pass: where the request goes, and that the sent address is the signed one."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from independent import read, verify
from wire import answering, listener, over_tls, proxy, respond

import sideline

# The bodies here are no more than the subject needs.
pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")

V4, V6 = "127.0.0.1", "::1"

#: Address, where it listens, the Host header and the path before the operation's own. {} is the port.
ADDRESSES = [
    ("http://127.0.0.1:{}", V4, "127.0.0.1:{}", ""),
    ("http://127.0.0.1:{}/", V4, "127.0.0.1:{}", ""),
    ("http://127.0.0.1:{}//", V4, "127.0.0.1:{}", ""),
    ("HTTP://127.0.0.1:{}", V4, "127.0.0.1:{}", ""),
    ("  http://127.0.0.1:{}  ", V4, "127.0.0.1:{}", ""),
    ("http://127.1:{}", V4, "127.0.0.1:{}", ""),
    ("http://[::1]:{}", V6, "[::1]:{}", ""),
    ("http://[0:0:0:0:0:0:0:1]:{}/", V6, "[::1]:{}", ""),
    ("http://localhost:{}", V4, "localhost:{}", ""),
    ("http://LocalHost:{}", V4, "localhost:{}", ""),
    ("http://127.0.0.1:{}/gate/way", V4, "127.0.0.1:{}", "/gate/way"),
    ("http://127.0.0.1:{}/gate/way/", V4, "127.0.0.1:{}", "/gate/way"),
    ("http://[::1]:{}/gate", V6, "[::1]:{}", "/gate"),
    ("http://127.0.0.1:{}/Gate/v1/data", V4, "127.0.0.1:{}", "/Gate"),
    ("http://127.0.0.1:{}/v1/data/teams", V4, "127.0.0.1:{}", ""),
    ("http://127.0.0.1:{}/a/../b", V4, "127.0.0.1:{}", "/b"),
    ("http://127.0.0.1:{}/a b/ü", V4, "127.0.0.1:{}", "/a%20b/%C3%BC"),
    ("http://127.0.0.1:{}/a%20b/%2f;x=1@y:z", V4, "127.0.0.1:{}", "/a%20b/%2f;x=1@y:z"),
]


@pytest.mark.parametrize(("address", "interface", "host", "prefix"), ADDRESSES)
@pytest.mark.parametrize("argument", ["base_url", "SIDELINE_BASE_URL"])
def test_an_address_is_sent_and_signed_as_it_is_read(
    monkeypatch: pytest.MonkeyPatch, address: str, interface: str, host: str, prefix: str, argument: str
) -> None:
    heads: list[bytes] = []
    with listener(answering(heads), interface) as seen:
        address = address.format(seen.port)
        if argument.isupper():
            monkeypatch.setenv(argument, address)
        with sideline.Client(username="ann", secret="s3cret", **{} if argument.isupper() else {argument: address}) as client:
            payload = client.team_events(46, 1_800_000_000_001, 1_800_000_000_002)
    request = read(heads[0])
    assert request.target == f"{prefix}/v1/data/teams/46/events?from=1800000000001&to=1800000000002"
    assert request.headers["host"] == host.format(seen.port)
    assert verify(request, {"ann": "s3cret"}, time.time()) is None
    assert payload.url == f"http://{host.format(seen.port)}{request.target}"


@pytest.mark.parametrize(
    ("address", "place", "host"),
    [
        ("http://service.invalid", "service.invalid", "service.invalid"),
        ("http://Service.INVALID:80/", "service.invalid", "service.invalid"),
        ("http://service.invalid:443", "service.invalid:443", "service.invalid:443"),
        ("http://service.invalid.:81", "service.invalid.:81", "service.invalid.:81"),
        ("http://bücher.invalid", "xn--bcher-kva.invalid", "xn--bcher-kva.invalid"),
        ("http://Die.BÜCHER.invalid:81/prä", "die.xn--bcher-kva.invalid:81", "die.xn--bcher-kva.invalid:81"),
        ("http://under_score.invalid:81/pre", "under_score.invalid:81", "under_score.invalid:81"),
    ],
)
def test_a_name_is_sent_and_signed_in_lower_case_without_its_default_port(address: str, place: str, host: str) -> None:
    heads: list[bytes] = []
    with listener(answering(heads)) as seen, proxy({place: seen.port}) as between:
        with sideline.Client(username="ann", secret="s3cret", base_url=address, proxy=between.address, allow_http=True) as client:
            client.teams()
    request = read(heads[0])
    assert request.headers["host"] == host
    assert verify(request, {"ann": "s3cret"}, time.time()) is None


@pytest.mark.parametrize(
    ("address", "place", "host"),
    [
        ("https://service.invalid", "service.invalid:443", "service.invalid"),
        ("https://SERVICE.invalid:443/gate", "service.invalid:443", "service.invalid"),
        ("https://service.invalid:80", "service.invalid:80", "service.invalid:80"),
        ("https://service.invalid.", "service.invalid.:443", "service.invalid."),
        ("https://bücher.invalid", "xn--bcher-kva.invalid:443", "xn--bcher-kva.invalid"),
    ],
)
def test_a_name_is_certified_as_it_is_requested(tls_context: Callable[..., ssl.SSLContext], bundle: Path, address: str, place: str, host: str) -> None:
    heads: list[bytes] = []
    context = tls_context("service.invalid", "xn--bcher-kva.invalid")
    with listener(over_tls(context, answering(heads))) as seen, proxy({place: seen.port}) as between:
        with sideline.Client(username="ann", secret="s3cret", base_url=address, proxy=between.address, ca_bundle=bundle) as client:
            client.teams()
    request = read(heads[0])
    assert request.headers["host"] == host
    assert verify(request, {"ann": "s3cret"}, time.time()) is None


@pytest.mark.parametrize("location", ["/moved?x=a%40b", "http://LOCALHOST:{}/moved?x=a%40b", "//localhost:{}/moved?x=a%40b", "../../moved?x=a%40b#part"])
def test_a_redirect_of_the_same_server_is_signed_for_where_it_leads(location: str) -> None:
    heads: list[bytes] = []
    with listener(lambda connection: answering(heads, responses.pop(0))(connection)) as seen:
        redirect = b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % location.format(seen.port).encode()
        responses = [redirect, respond(b"/v1/data/teams")]
        with sideline.Client(username="ann", secret="s3cret", base_url=f"http://localhost:{seen.port}") as client:
            client.teams()
    request = read(heads[1])
    assert request.target == "/moved?x=a%40b"
    assert verify(request, {"ann": "s3cret"}, time.time()) is None


@pytest.mark.parametrize(
    "address",
    ["http://[::1", "http://[::1%eth0]:80", "https://host:port", "https://host:99999", "https://", "https://ho st", "//host"],
)
def test_an_invalid_address_is_refused_when_the_client_is_built(address: str) -> None:
    with pytest.raises(sideline.ConfigurationError, match="base_url"):
        sideline.Client(username="ann", secret="s", base_url=address)


def test_no_token_of_another_service_goes_to_the_documented_websocket(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []
    with listener(answering(heads, b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")) as seen:
        address = f"127.0.0.1:{seen.port}"
        with sideline.Client(username="ann", secret="s3cret", base_url=f"http://{address}") as client:
            for token in (None, "canary-token"):
                with pytest.raises(sideline.ConfigurationError, match="SIDELINE_WEBSOCKET_URL") as excinfo:
                    client.live("g", token=token)
                assert address in str(excinfo.value) and "wss://api.shottracker.com" in str(excinfo.value)
                assert "canary" not in str(excinfo.value)
            assert client.live(token="canary-token").state == "new", "it was issued elsewhere"
        assert not heads
        monkeypatch.setenv("SIDELINE_WEBSOCKET_URL", f"ws://{address}")
        with sideline.Client(username="ann", secret="s3cret", base_url=f"http://{address}") as client, client.live("g") as stream:
            assert isinstance(next(stream), sideline.live.Disconnected)
    assert heads
    monkeypatch.delenv("SIDELINE_WEBSOCKET_URL")
    for base_url in (None, "https://api.shottracker.com"):
        with sideline.Client(username="ann", secret="s3cret", base_url=base_url) as client:
            assert client.live("g").state == "new"
